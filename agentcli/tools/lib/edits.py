"""Changes of a file by edit, multi_edit and write: the new content, written at once, and the report.

An exact match that occurs once proves that the model knows the place. For any other match, the model must have read the
current content.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace as replace_value
from typing import NamedTuple

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.sanitise import replace_surrogates
from agentcli.core.text.encodings import Encoding, decode, encode, with_newlines
from agentcli.core.text.truncate import clip
from agentcli.core.text.words import plural
from agentcli.core.tool import ToolContext, ToolOutput
from agentcli.system import probe
from agentcli.tools.lib.diff import Diff, changed_ranges, lines_changed, unified
from agentcli.tools.lib.files import (
    changing,
    knowledge,
    load_if_there,
    may_show,
    remember,
    remember_part,
    replace,
    require_seen,
)
from agentcli.tools.lib.matching import Match, find, overlaps_itself, unescaped
from agentcli.tools.lib.paths import FileHandle, locate, missing
from agentcli.tools.lib.refused_edits import already_there, contexts, nearest, refuse_omissions
from agentcli.tools.lib.replacement import replacement
from agentcli.tools.seen_files import READ_IT, UNSEEN, Knowledge

_EXCERPT, _WIDTH = 30, 200
"""Maximum lines shown after an edit whose outcome the model cannot know, and characters of each."""


class Change(NamedTuple):
    """A text to replace in a file, once or everywhere."""

    old_string: str
    new_string: str
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class _Source:
    """A file before an edit: its text and encoding, its name for people, and what the model knows of it."""

    text: str
    name: str
    encoding: Encoding
    known: Knowledge = "current"
    shown: bool = True
    """True if a refusal may show lines of the file."""


@dataclass(frozen=True, slots=True)
class _Applied:
    """A text after a change, with the number of replacements and the allowance that found them."""

    text: str
    places: int
    found_by: str
    unescaped: bool = False


def edit_file(ctx: ToolContext, path: str, changes: Sequence[Change]) -> ToolOutput:
    """Make the changes in order, all or none. Raises ToolError."""
    with changing(ctx, path, make=changes[0].old_string == "") as handle:
        source, after, notes = _changed(ctx, handle, changes)
        data = encode(after, source.encoding, handle.display)
        created = load_if_there(ctx, handle) is None
        replace(handle, data)
        seen = _remembered(ctx, handle, source.known, data)
    diff = unified(replace_surrogates(source.text), replace_surrogates(after), handle.display, created)
    return ToolOutput(
        f"{'Created' if created else 'Edited'} {handle.display}: {_report(source, notes, replace_surrogates(after), diff)}",
        metadata={
            "path": str(handle.path),
            "diff": diff.text,
            "additions": diff.additions,
            "deletions": diff.deletions,
            "created": created,
            **({"seen": seen} if seen else {}),
        },
    )


def edit_preview(ctx: ToolContext, path: str, changes: Sequence[Change]) -> str:
    """Return the unified diff of all changes together. Raises ToolError if they are impossible."""
    target = locate(ctx, path)
    if not probe.exists(target.path) and changes and changes[0].old_string == "":
        return unified(
            "", _in_order(_Source("", target.display, Encoding()), changes)[0], target.display, created=True
        ).text
    with changing(ctx, path) as handle:
        source, after, _ = _changed(ctx, handle, changes)
    return unified(replace_surrogates(source.text), replace_surrogates(after), handle.display).text


def write_file(ctx: ToolContext, path: str, content: str) -> ToolOutput:
    """Write a whole file. Raises ToolError if the model has not seen what it replaces."""
    with changing(ctx, path, make=True) as handle:
        old = load_if_there(ctx, handle)
        if old:
            require_seen(ctx, handle, old)
        before, encoding, after = _contents(old, content)
        refuse_omissions(handle.display, before, after, "content")
        data = encode(after, encoding, handle.display)
        replace(handle, data)
        seen = remember(ctx, handle.path, data)
    diff = unified(replace_surrogates(before), replace_surrogates(after), handle.display, old is None)
    count = after.count("\n") + (not after.endswith("\n") and bool(after))
    return ToolOutput(
        f"{'Created' if old is None else 'Replaced'} {handle.display} ({plural(count, 'line')}).",
        metadata={
            "path": str(handle.path),
            "diff": diff.text,
            "additions": diff.additions,
            "deletions": diff.deletions,
            "created": old is None,
            "seen": seen,
        },
    )


def write_preview(ctx: ToolContext, path: str, content: str) -> str:
    """Return the unified diff of writing a file; creates no missing folders."""
    target = locate(ctx, path)
    if not probe.exists(target.path):
        return unified("", content, target.display, created=True).text
    with changing(ctx, path) as handle:
        before, _, after = _contents(load_if_there(ctx, handle), content)
    return unified(replace_surrogates(before), replace_surrogates(after), target.display).text


def _contents(old: bytes | None, content: str) -> tuple[str, Encoding, str]:
    """Return the text before, its encoding, and the text after, with the file's line endings."""
    decoded = decode(old) if old else None
    if decoded is None:
        return "", Encoding(), content
    before, encoding = decoded
    endings = set(re.findall(r"\r\n|\n|\r", before))
    if len(endings) == 1 and "\r" not in content:
        content = with_newlines(content, endings.pop())
    return before, encoding, content


def _remembered(ctx: ToolContext, handle: FileHandle, known: Knowledge, data: bytes) -> dict[str, str]:
    """Count the new content as seen if the old one was; otherwise only the edit's own part."""
    if known == "current":
        return remember(ctx, handle.path, data)
    if known != "unread":
        remember_part(ctx, handle.path, data)
    return {}


def _changed(ctx: ToolContext, handle: FileHandle, changes: Sequence[Change]) -> tuple[_Source, str, list[_Applied]]:
    if handle.name.lower().endswith(".ipynb"):
        raise ToolError(
            f"{handle.display} is a notebook; text edits break its JSON. Change it with bash and a script (python with nbformat or json)."
        )
    source = _source(ctx, handle, may_be_new=changes[0].old_string == "")
    after, notes = _in_order(source, changes)
    if after == source.text:
        raise ToolError(f"The edits do not change {handle.display}.")
    return source, after, notes


def _source(ctx: ToolContext, handle: FileHandle, may_be_new: bool) -> _Source:
    data = load_if_there(ctx, handle)
    if data is None and may_be_new:
        return _Source("", handle.display, Encoding())
    if data is None:
        raise missing(handle)
    decoded = decode(data)
    if decoded is None:
        raise ToolError(f"Can't edit {handle.display}: it is a binary file.")
    known = knowledge(ctx, handle.path, data)
    return _Source(decoded[0], handle.display, decoded[1], known, known != "unread" or may_show(ctx, handle.path))


def _in_order(source: _Source, changes: Sequence[Change]) -> tuple[str, list[_Applied]]:
    text, notes = source.text, []
    for n, change in enumerate(changes, 1):
        where = f"Edit {n} of {len(changes)}: " if len(changes) > 1 else ""
        refuse_omissions(source.name, text, change.new_string, f"{where}new_string" if where else "new_string")
        applied = _apply(text, change, source, where)
        text = applied.text
        notes.append(applied)
    return text, notes


def _apply(text: str, change: Change, source: _Source, where: str) -> _Applied:
    if change.old_string == change.new_string:
        raise ToolError(f"{where}old_string and new_string are the same. Nothing was changed.")
    if not change.old_string:
        if text:
            raise ToolError(
                f"{where}old_string is empty, but {source.name} is not. Give the text to replace, or use write. Nothing was changed."
            )
        return _Applied(change.new_string, 1, "exact")
    matches, found_by = find(text, change.old_string)
    if not matches and (plain := _unescaped(text, change)):
        return replace_value(_apply(text, plain, source, where), unescaped=True)
    if not matches:
        raise ToolError(_not_found(text, change, source, where))
    if source.known != "current" and (found_by != "exact" or (change.replace_all and len(matches) > 1)):
        raise ToolError(_not_proven(text, change, source, where, matches, found_by))
    if len(matches) > 1 and not change.replace_all:
        lines = ", ".join(str(text.count("\n", 0, match.start) + 1) for match in matches[:20])
        raise ToolError(
            f"{where}old_string occurs {len(matches)} times in {source.name} (lines {lines}). "
            "Add surrounding lines to make it unique, or set replace_all. Nothing was changed."
            + (f"\n{contexts(text, matches)}" if source.shown else "")
        )
    if not change.replace_all and overlaps_itself(text, matches[0], change.old_string):
        raise ToolError(
            f"{where}old_string occurs more than once in {source.name}, one place overlapping the next. "
            "Add surrounding lines to make it unique. Nothing was changed."
        )
    if not change.replace_all and _made_before(text, matches[0], change):
        raise ToolError(
            f"{where}{already_there(text, change.new_string)} This edit was made before. Nothing was changed. "
            "To add the same once more, quote the lines as they are now in old_string."
        )
    return _Applied(_put(text, matches, change), len(matches), found_by)


def _made_before(text: str, match: Match, change: Change) -> bool:
    """Return True if what an edit adds around its old text, more than blanks, is there already."""
    before, found, after = change.new_string.partition(change.old_string)
    added = bool(found and f"{before}{after}".strip()) and match.exact
    return added and text.endswith(before, 0, match.start) and text.startswith(after, match.end)


def _unescaped(text: str, change: Change) -> Change | None:
    """Return the change with escapes such as `\\n` replaced by their characters, if its old text then occurs once."""
    old = unescaped(change.old_string)
    if old == change.old_string or text.count(old) != 1:
        return None
    return change._replace(old_string=old, new_string=unescaped(change.new_string))


def _put(text: str, matches: Sequence[Match], change: Change) -> str:
    pieces, position = [], 0
    for match in matches:
        pieces += [text[position : match.start], replacement(text, match, change.old_string, change.new_string)]
        position = match.end
    return "".join([*pieces, text[position:]])


def _not_found(text: str, change: Change, source: _Source, where: str) -> str:
    """Return the refusal, with the nearest place unless its lines are not for the model."""
    since = "" if source.known == "current" else f", which {UNSEEN[source.known]}"
    there = already_there(text, change.new_string) if source.shown else ""
    head = f"{where}old_string is not in {source.name}{since}. Nothing was changed.{f' {there}' if there else ''}"
    hint = nearest(text, change.old_string) if source.shown else ""
    return (
        f"{head}\n{hint}"
        if hint
        else f"{head} {'Read it first' if source.known == 'unread' else 'Read the file again'}."
    )


def _not_proven(text: str, change: Change, source: _Source, where: str, matches: Sequence[Match], found_by: str) -> str:
    """Return the refusal of a match that is not exact and unique.

    The model has not seen the current content of the file.
    """
    only = f", and old_string is there only if {found_by} may differ" if found_by != "exact" else ""
    head = f"{where}{source.name} {UNSEEN[source.known]}{only}. Nothing was changed."
    places = contexts(text, matches) if not only else nearest(text, change.old_string)
    if only and "\n- " not in places:
        places = ""  # line endings or blanks, which no diff shows
    if not places or not source.shown:
        return f"{head} {READ_IT[source.known]}, then change it."
    return f"{head}{'' if only else f' {READ_IT[source.known]}, or replace these places one by one:'}\n{places}"


def _report(source: _Source, notes: Sequence[_Applied], after: str, diff: Diff) -> str:
    """Return a report such as `lines 572-603.`; it has the current lines if the model cannot know them."""
    places = plural(sum(note.places for note in notes), "replacement")
    allowances = sorted({note.found_by for note in notes} - {"exact"})
    why = [f"matched ignoring {' and '.join(allowances)}"] if allowances else []
    if any(note.unescaped for note in notes):
        why.append(r"with \n and the like in old_string and new_string read as line breaks")
    if source.known == "changed":
        why.append("the file had changed since you read it")
    if not why:
        where = lines_changed(diff)
        return f"{where}." if places == "1 replacement" and where else f"{places}{where and f', {where}'}."
    ranges, lines = _lines_now(after, diff)
    return f"{places} ({'; '.join(why)}; lines {ranges} now:)\n{lines}" if lines else f"{places} ({'; '.join(why)})."


def _lines_now(after: str, diff: Diff) -> tuple[str, str]:
    """Return the ranges of lines that the edits changed, with a few around them, and these lines."""
    lines = after.splitlines()
    excerpt: list[str] = []
    ranges = []
    for first, last in changed_ranges(diff):
        last = min(last, first + _EXCERPT - len(excerpt) - 1)
        if last < first:
            break
        ranges.append(f"{first}-{last}" if last > first else str(first))
        excerpt += [clip(line, _WIDTH) for line in lines[first - 1 : last]]
    return ", ".join(ranges), "\n".join(excerpt)
