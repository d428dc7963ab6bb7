"""Apply a patch to its files, with the allowances of `edit` for each hunk: all or nothing."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.sanitise import replace_surrogates
from agentcli.core.subagent_result import FILES
from agentcli.core.text.encodings import Encoding, decode, encode, newline_style, with_newlines
from agentcli.core.text.patch import FileChange, Hunk, PatchError, parse
from agentcli.core.tool import ToolContext, ToolOutput
from agentcli.system import probe
from agentcli.tools.lib.diff import Diff, lines_changed, unified
from agentcli.tools.lib.files import changing, knowledge, load_if_there, remember, remember_part, replace
from agentcli.tools.lib.matching import Match, find
from agentcli.tools.lib.paths import FileHandle, locate, missing
from agentcli.tools.lib.refused_edits import already_there, nearest, refuse_omissions
from agentcli.tools.lib.replacement import replacement
from agentcli.tools.seen_files import READ_IT, UNSEEN, Knowledge


@dataclass(slots=True)
class _File:
    """A file that a patch touches.

    `before` and `after` are its current and planned content, None where there is no file. `known` says how much of it
    the model has seen.
    """

    display: str
    before: bytes | None
    after: bytes | None
    known: Knowledge = "current"
    note: str = ""
    target: str = ""
    """The name of the file that it was moved to."""


def apply(ctx: ToolContext, text: str) -> ToolOutput:
    """Apply a patch to its files, all or none. Raises ToolError."""
    with ExitStack() as stack:
        files, handles = _planned(ctx, text, stack)
        changed = {path: file for path, file in files.items() if file.after != file.before}
        if not changed:
            raise ToolError("The patch changes no file.")
        _write(ctx, changed, handles)
        seen: dict[str, str] = {}
        for path, file in changed.items():
            seen |= _remembered(ctx, path, file)
    return _output(changed, seen)


def diff_of(ctx: ToolContext, text: str) -> str:
    """Return the unified diff of all files of a patch. Raises ToolError if the patch is impossible."""
    with ExitStack() as stack:
        return "".join(_diff(file).text for file in _planned(ctx, text, stack)[0].values())


def _planned(ctx: ToolContext, text: str, stack: ExitStack) -> tuple[dict[Path, _File], dict[Path, FileHandle]]:
    """Return a patch's files with their new content, and the open handles of files whose folder exists.

    The files are locked until the stack is closed.
    """
    try:
        changes = parse(text)
    except PatchError as error:
        raise ToolError(f"{error} Nothing was changed.") from None
    targets = {path: locate(ctx, path) for path in dict.fromkeys(path for each in changes for path in each.paths)}
    files: dict[Path, _File] = {}
    handles: dict[Path, FileHandle] = {}
    # In the order of paths: two patches then never wait for each other.
    for name, target in sorted(targets.items(), key=lambda item: item[1].path):
        if target.path in files:
            continue
        if probe.is_dir(target.path.parent):
            handle = handles[target.path] = stack.enter_context(changing(ctx, name))
            data = load_if_there(ctx, handle)
            known: Knowledge = "current" if data is None else knowledge(ctx, target.path, data)
            files[target.path] = _File(target.display, data, data, known)
        else:
            files[target.path] = _File(target.display, None, None)
    for change in changes:
        path = targets[change.path].path
        _plan(change, files, path, targets[change.move_to].path if change.move_to else path, handles)
    return files, handles


def _plan(
    change: FileChange, files: dict[Path, _File], path: Path, target: Path, handles: Mapping[Path, FileHandle]
) -> None:
    file = files[path]
    if change.kind == "add":
        _require_known(file)
        refuse_omissions(file.display, _text(file)[0] if file.after else "", change.content, "the patch")
        file.after = encode(change.content, Encoding(), file.display)
        return
    if file.after is None:
        raise missing(handles[path]) if path in handles else ToolError(f"{file.display} does not exist.")
    if change.kind == "delete":
        file.after = None
        return
    if file.display.lower().endswith(".ipynb"):
        raise ToolError(f"{file.display} is a notebook; text edits break its JSON. Change it with bash and a script.")
    text, encoding = _text(file)
    result = patched(text, change.hunks, file.display)
    if file.known != "current" and not result.proven:
        raise ToolError(
            f"{file.display} {UNSEEN[file.known]}, and the patch has more than one place in it, or none but by "
            f"{' and '.join(result.allowances) or 'order'}. Nothing was changed. {READ_IT[file.known]}, then change it."
        )
    if result.text == text and target == path:
        raise ToolError(f"The patch does not change {file.display}.")
    _settle(file, files[target], encode(result.text, encoding, file.display), result)


def _settle(file: _File, target: _File, data: bytes, result: Patched) -> None:
    """Plan the new content of a file; if it moves, that is another file."""
    if target is not file:
        _require_known(target)
        file.after, file.target = None, target.display
        target.known = file.known
    target.after = data
    if result.allowances:
        target.note = f"matched ignoring {' and '.join(result.allowances)}"


def _require_known(file: _File) -> None:
    """Require that the model has seen a file whose content it replaces."""
    if file.after and file.after == file.before and file.known != "current":
        raise ToolError(f"{file.display} exists and {UNSEEN[file.known]}. {READ_IT[file.known]}, then change it.")


def _text(file: _File) -> tuple[str, Encoding]:
    decoded = decode(file.after or b"")
    if decoded is None:
        raise ToolError(f"Can't edit {file.display}: it is a binary file.")
    return decoded


def _write(ctx: ToolContext, files: Mapping[Path, _File], handles: Mapping[Path, FileHandle]) -> None:
    """Write all files; after a failure, restore those already written."""
    done: list[Path] = []
    try:
        for path, file in files.items():
            _put(ctx, path, handles, file.after)
            done.append(path)
    except (ToolError, OSError) as error:
        for path in done:
            with contextlib.suppress(ToolError, OSError):
                _put(ctx, path, handles, files[path].before)
        if isinstance(error, ToolError):
            raise
        raise ToolError(f"Can't change {files[path].display}: {error.strerror}. Nothing was changed.") from error


def _put(ctx: ToolContext, path: Path, handles: Mapping[Path, FileHandle], data: bytes | None) -> None:
    if path in handles:
        _put_at(handles[path], data)
        return
    with changing(ctx, str(path), make=data is not None) as handle:
        _put_at(handle, data)


def _put_at(handle: FileHandle, data: bytes | None) -> None:
    if data is None:
        os.unlink(handle.name, dir_fd=handle.folder)
    else:
        replace(handle, data)


def _remembered(ctx: ToolContext, path: Path, file: _File) -> dict[str, str]:
    if file.after is None:
        return {}
    if file.known == "current":
        return remember(ctx, path, file.after)
    if file.known != "unread":
        remember_part(ctx, path, file.after)
    return {}


def _output(files: Mapping[Path, _File], seen: Mapping[str, str]) -> ToolOutput:
    diffs = {path: _diff(file) for path, file in files.items()}
    moved = {file.target for file in files.values() if file.target}
    lines = [line for path, file in files.items() if (line := _line(file, moved, diffs[path]))]
    rows = [
        {
            "path": str(path),
            "additions": diffs[path].additions,
            "deletions": diffs[path].deletions,
            "created": file.before is None,
            **({"deleted": True} if file.after is None else {}),
        }
        for path, file in files.items()
    ]
    # One file is reported as an edit of it.
    about = rows[0] if len(rows) == 1 and not rows[0].get("deleted") else {FILES: rows}
    diff = "".join(diff.text for diff in diffs.values())
    return ToolOutput("\n".join(lines), metadata={**about, "diff": diff, **({"seen": dict(seen)} if seen else {})})


def _line(file: _File, moved: set[str], diff: Diff) -> str:
    """Return the result's line about a file; empty for the new name of a moved one."""
    note = f" ({file.note})" if file.note else ""
    if file.target:
        return f"Moved {file.display} to {file.target}"
    if file.after is None:
        return f"Deleted {file.display}"
    if file.before is None:
        return "" if file.display in moved and not note else f"Created {file.display}{note}"
    where = lines_changed(diff)
    return f"Edited {file.display}{note}{where and f': {where}'}"


def _diff(file: _File) -> Diff:
    texts = [decode(data or b"") for data in (file.before, file.after)]
    before, after = (replace_surrogates(text[0]) if text else "" for text in texts)
    return unified(before, after, file.display, created=file.before is None)


_BLANK_END = ("\n\n", "\r\n\r\n")
"""A blank line at the end of a file, which the format treats as the end of the previous line."""


@dataclass(frozen=True, slots=True)
class Patched:
    """A text after its hunks; `allowances` are the kinds of inexact matches.

    `proven` is true if each hunk matches exactly at one place only, after its anchors and the previous hunk.
    """

    text: str
    allowances: tuple[str, ...] = ()
    proven: bool = True


@dataclass(frozen=True, slots=True)
class _Place:
    """Span of a hunk in the text, its new text, and the kind of its match."""

    start: int
    end: int
    new: str
    found_by: str = "exact"
    only: bool = True


def patched(text: str, hunks: Sequence[Hunk], name: str) -> Patched:
    """Return the text with all hunks applied. Raises ToolError if a hunk has no place.

    `name` is the file's name in messages. A hunk is searched for after the previous one and its anchors. Of several
    places it gets the first, as the format defines.
    """
    places: list[_Place] = []
    after = 0
    for number, hunk in enumerate(hunks, 1):
        where = f"Hunk {number} of {len(hunks)}: " if len(hunks) > 1 else ""
        refuse_omissions(name, text, "\n".join(hunk.new), f"{where}the new lines" if where else "the patch")
        place = _place(text, hunk, after, places)
        if place is None:
            raise ToolError(_not_found(text, hunk, name, where))
        after = max(after, place.end)
        places.append(place)
    pieces, position = [], 0
    for place in sorted(places, key=lambda each: (each.start, each.end)):
        pieces += [text[position : place.start], place.new]
        position = place.end
    after_all = "".join([*pieces, text[position:]])
    if after_all.endswith(_BLANK_END) and not text.endswith(_BLANK_END):
        after_all = after_all[: -2 if after_all.endswith("\r\n") else -1]
    kinds = tuple(sorted({place.found_by for place in places} - {"exact"}))
    return Patched(after_all, kinds, not kinds and all(place.only for place in places))


def _place(text: str, hunk: Hunk, after: int, taken: Sequence[_Place]) -> _Place | None:
    if not hunk.old:
        return _at_the_end(text, hunk)
    begin = _anchored(text, hunk.anchors, after)
    last_blank = hunk.old[-1] == "" and len(hunk.old) > 1
    for old, new in ((hunk.old, hunk.new), *([_without_last_blank(hunk)] if last_blank else [])):
        given = _joined(old)
        # Out of order, or with a missing anchor, a hunk has a place only if it is unique.
        for start in dict.fromkeys((after if begin is None else begin, 0)):
            matches, found_by = _matches(text, given, start, taken)
            if start == 0 and (begin is None or start < begin) and len(matches) > 1:
                continue
            if matches:
                at_end = [match for match in matches if match.end == len(text)] if hunk.at_end else []
                chosen = (at_end or matches)[0]
                return _Place(chosen.start, chosen.end, _new(text, chosen, given, new), found_by, len(matches) == 1)
    start = after if begin is None else begin
    alike = _ignoring_blanks(text, hunk.old, start, taken)
    if len(alike) != 1:
        return None
    return _Place(alike[0].start, alike[0].end, _new(text, alike[0], _joined(hunk.old), hunk.new), "indentation")


def _ignoring_blanks(text: str, old: Sequence[str], start: int, taken: Sequence[_Place]) -> list[Match]:
    """Return the places whose lines differ from the old ones only by surrounding blanks: models count spaces wrongly in
    context.
    """
    wanted = [line.strip(" \t") for line in old]
    spans = [(found.start(), found.end()) for found in re.finditer(r"[^\r\n]*(?:\r\n|\n|\r)", text)]
    lines = [text[begin:end].strip(" \t\r\n") for begin, end in spans]
    if not any(wanted):
        return []
    places = [
        Match(spans[n][0], spans[n + len(wanted) - 1][1])
        for n, line in enumerate(lines[: len(lines) - len(wanted) + 1])
        if line == wanted[0] and lines[n : n + len(wanted)] == wanted
    ]
    return [
        match
        for match in places
        if match.start >= start and all(match.end <= other.start or match.start >= other.end for other in taken)
    ]


def _matches(text: str, old: str, start: int, taken: Sequence[_Place]) -> tuple[list[Match], str]:
    """Return the matches of whole lines from a position on, without the spans of other hunks."""

    def fits(match: Match) -> bool:
        begins_line = match.start == 0 or text[match.start - 1] in "\r\n"
        free = all(match.end <= other.start or match.start >= other.end for other in taken)
        return begins_line and match.start >= start and free

    exact: list[Match] = []
    position = text.find(old, start)
    while position >= 0:
        match = Match(position, position + len(old), exact=True)
        exact += [match] if fits(match) else []
        position = text.find(old, position + 1)
    if exact and "\r" not in text:
        return exact, "exact"
    return find(text, old, fits)


def _anchored(text: str, anchors: Sequence[str], after: int) -> int | None:
    """Return the position after the anchors' lines, in order; None if one is missing."""
    for anchor in anchors:
        found, _ = _matches(text, f"{anchor}\n", after, ())
        if not found:
            found, _ = _matches(text, f"{anchor}\n", 0, ())
            found = found if len(found) == 1 else []
        if not found:
            return None
        after = found[0].end
    return after


def _at_the_end(text: str, hunk: Hunk) -> _Place:
    ending = newline_style(text)
    missing = ending if text and text[-1] not in "\r\n" else ""
    return _Place(len(text), len(text), missing + with_newlines(_joined(hunk.new), ending))


def _without_last_blank(hunk: Hunk) -> tuple[Sequence[str], Sequence[str]]:
    new = hunk.new[:-1] if hunk.new and hunk.new[-1] == "" else hunk.new
    return hunk.old[:-1], new


def _new(text: str, match: Match, old: str, new: Sequence[str]) -> str:
    """Return the new text for a match; whole deleted lines take their line ending with them."""
    return replacement(text, match, old, _joined(new)) if new else ""


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _not_found(text: str, hunk: Hunk, name: str, where: str) -> str:
    there = already_there(text, _joined(hunk.new)).replace("new_string", "What it adds")
    head = f"{where}these lines are not in {name}: {hunk.old[0].strip()[:80]!r} … Nothing was changed.{f' {there}' if there else ''}"
    hint = nearest(text, _joined(hunk.old), "your lines")
    return f"{head}\n{hint}" if hint else f"{head} Read the file again."
