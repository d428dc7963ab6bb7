"""The apply_patch tool: one patch that adds, changes, moves and deletes files, all of it or nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.sanitise import replace_surrogates
from agentcli.core.subagent_result import FILES
from agentcli.core.text.encodings import Encoding, decode, encode
from agentcli.core.tool import Subject, ToolContext, ToolOutput, Traits
from agentcli.system import probe
from agentcli.tools.entry import Entry

if TYPE_CHECKING:
    from agentcli.core.text.patch import FileChange
    from agentcli.tools.lib.diff import Diff
    from agentcli.tools.lib.patching import Patched
    from agentcli.tools.lib.paths import FileHandle
    from agentcli.tools.lib.seen_files import Knowledge

_NAMED = 3
"""Files that a title names."""


@dataclass(slots=True)
class _File:
    """A file that a patch touches: its content before and as planned, None where there is no file, and the model's knowledge of it."""

    display: str
    before: bytes | None
    after: bytes | None
    known: Knowledge = "current"
    note: str = ""
    target: str = ""
    """The name of the file that it was moved to."""


async def apply_patch(ctx: ToolContext, call_id: str, input: str) -> ToolOutput:
    return await asyncio.to_thread(_apply, ctx, input)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Edit a.py, b.py`."""
    from agentcli.core.text.patch import PatchError, touched

    paths: tuple[str, ...] = ()
    text = given.get("input")
    with contextlib.suppress(PatchError):
        paths = touched(text) if isinstance(text, str) else ()
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return f"Edit {', '.join(paths[:_NAMED])}{more}" if paths else ""


def preview(ctx: ToolContext, given: Mapping[str, Any]) -> str:
    """Return the unified diff of all files of a patch, for its approval. Raises ToolError if the patch is impossible."""
    with ExitStack() as stack:
        return "".join(_diff(file).text for file in _planned(ctx, given["input"], stack)[0].values())


def _apply(ctx: ToolContext, text: str) -> ToolOutput:
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


def _planned(ctx: ToolContext, text: str, stack: ExitStack) -> tuple[dict[Path, _File], dict[Path, FileHandle]]:
    """Return the files of a patch with the content that it gives them, and the open handles of files whose folder exists.

    The files are locked until the stack is closed.
    """
    from agentcli.core.text.patch import PatchError, parse
    from agentcli.tools.lib.files import changing, knowledge, load_if_there
    from agentcli.tools.lib.paths import locate

    try:
        changes = parse(text)
    except PatchError as error:
        raise ToolError(f"{error} Nothing was changed.") from None
    targets = {path: locate(ctx, path) for path in dict.fromkeys(path for each in changes for path in each.paths)}
    files: dict[Path, _File] = {}
    handles: dict[Path, FileHandle] = {}
    # In the order of their paths: two patches then never wait for each other.
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
    from agentcli.tools.lib.omission import refuse_omissions
    from agentcli.tools.lib.patching import patched
    from agentcli.tools.lib.paths import missing
    from agentcli.tools.lib.seen_files import READ_IT, UNSEEN

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
    """Plan the new content of a file, which is another file if it moves."""
    if target is not file:
        _require_known(target)
        file.after, file.target = None, target.display
        target.known = file.known
    target.after = data
    if result.allowances:
        target.note = f"matched ignoring {' and '.join(result.allowances)}"


def _require_known(file: _File) -> None:
    """Require that the model has seen a file whose content it replaces."""
    from agentcli.tools.lib.seen_files import READ_IT, UNSEEN

    if file.after and file.after == file.before and file.known != "current":
        raise ToolError(f"{file.display} exists and {UNSEEN[file.known]}. {READ_IT[file.known]}, then change it.")


def _text(file: _File) -> tuple[str, Encoding]:
    decoded = decode(file.after or b"")
    if decoded is None:
        raise ToolError(f"Can't edit {file.display}: it is a binary file.")
    return decoded


def _write(ctx: ToolContext, files: Mapping[Path, _File], handles: Mapping[Path, FileHandle]) -> None:
    """Write all files; after a failure, put back the ones already written."""
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
    from agentcli.tools.lib.files import changing

    if path in handles:
        _put_at(handles[path], data)
        return
    with changing(ctx, str(path), make=data is not None) as handle:
        _put_at(handle, data)


def _put_at(handle: FileHandle, data: bytes | None) -> None:
    from agentcli.tools.lib.files import replace

    if data is None:
        os.unlink(handle.name, dir_fd=handle.folder)
    else:
        replace(handle, data)


def _remembered(ctx: ToolContext, path: Path, file: _File) -> dict[str, str]:
    from agentcli.tools.lib.files import remember, remember_part

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
    lines = [line for file in files.values() if (line := _line(file, moved))]
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


def _line(file: _File, moved: set[str]) -> str:
    """Return the line of the result about a file; empty for the new name of a moved one."""
    note = f" ({file.note})" if file.note else ""
    if file.target:
        return f"Moved {file.display} to {file.target}"
    if file.after is None:
        return f"Deleted {file.display}"
    if file.before is None:
        return "" if file.display in moved and not note else f"Created {file.display}{note}"
    return f"Edited {file.display}{note}"


def _diff(file: _File) -> Diff:
    from agentcli.tools.lib.diff import unified

    texts = [decode(data or b"") for data in (file.before, file.after)]
    before, after = (replace_surrogates(text[0]) if text else "" for text in texts)
    return unified(before, after, file.display, created=file.before is None)


_GRAMMAR = r"""start: "*** Begin Patch" NL file+ "*** End Patch" NL?
file: added | deleted | updated
added: "*** Add File: " TEXT NL ("+" TEXT? NL)+
deleted: "*** Delete File: " TEXT NL
updated: "*** Update File: " TEXT NL moved? hunks?
moved: "*** Move to: " TEXT NL
hunks: (place | changed)+ ("*** End of File" NL)?
place: "@@" (" " TEXT)? NL
changed: /[-+ ]/ TEXT? NL
TEXT: /[^\r\n]+/
NL: /\n/
"""
"""The format as a Lark grammar, with which a provider can constrain the model."""
APPLY_PATCH = Entry(
    "apply_patch",
    apply_patch,
    title,
    Traits("write", Subject("input", "patch")),
    preview,
    grammar=_GRAMMAR,
)
