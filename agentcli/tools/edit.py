"""The edit and multi_edit tools: replace text in a file that the model has read, exactly where it says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from agentcli.core.errors import ToolError
from agentcli.core.tool import ToolContext, ToolOutput
from agentcli.tools.lib.diff import unified
from agentcli.tools.lib.files import changing, load_if_there, missing, remember, replace, require_seen
from agentcli.tools.lib.matching import Match, find, nearest, overlaps_itself, replacement
from agentcli.tools.lib.paths import FileHandle, locate
from agentcli.tools.lib.text import Encoding, decode, encode, plural, replace_surrogates


@dataclass(frozen=True, slots=True)
class Replacement:
    """One change of a `multi_edit`."""

    old_string: str
    new_string: Annotated[str, "Empty to delete"]
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class _Applied:
    """A text after a change, with the number of replacements and the allowance that found them."""

    text: str
    places: int
    found_by: str


async def edit(
    ctx: ToolContext,
    call_id: str,
    file_path: str,
    old_string: str,
    new_string: Annotated[str, "Empty to delete"],
    replace_all: Annotated[bool, "Change every occurrence"] = False,
) -> ToolOutput:
    change = Replacement(old_string, new_string, replace_all)
    return await asyncio.to_thread(_edit, ctx, file_path, [change])


async def multi_edit(ctx: ToolContext, call_id: str, file_path: str, edits: list[Replacement]) -> ToolOutput:
    changes = [Replacement(**item) if isinstance(item, Mapping) else item for item in edits]
    if not changes:
        raise ToolError("edits is empty: there is nothing to change.")
    return await asyncio.to_thread(_edit, ctx, file_path, changes)


def title(given: Mapping[str, Any]) -> str:
    """`Edit a.py`."""
    return f"Edit {given.get('file_path', '')}"


def multi_title(given: Mapping[str, Any]) -> str:
    """`Edit a.py (3 changes)`."""
    edits = given.get("edits")
    return f"{title(given)} ({plural(len(edits), 'change')})" if isinstance(edits, list) else title(given)


def preview(ctx: ToolContext, given: Mapping[str, Any]) -> str:
    """The unified diff that an edit would make, for whoever must allow it. Raises ToolError where it cannot be made."""
    change = Replacement(given["old_string"], given["new_string"], bool(given.get("replace_all")))
    return _preview(ctx, given["file_path"], [change])


def multi_preview(ctx: ToolContext, given: Mapping[str, Any]) -> str:
    """The same for all changes of a `multi_edit` together."""
    return _preview(ctx, given["file_path"], [Replacement(**item) for item in given["edits"]])


def _preview(ctx: ToolContext, path: str, changes: Sequence[Replacement]) -> str:
    target = locate(ctx, path)
    if not target.path.exists() and changes and changes[0].old_string == "":
        return unified("", _in_order("", changes, target.display)[0], target.display, created=True).text
    with changing(ctx, path) as handle:
        _, before, after, _ = _changed(ctx, handle, changes)
    return unified(replace_surrogates(before), replace_surrogates(after), handle.display).text


def _edit(ctx: ToolContext, path: str, changes: Sequence[Replacement]) -> ToolOutput:
    with changing(ctx, path, make=changes[0].old_string == "") as handle:
        encoding, before, after, notes = _changed(ctx, handle, changes)
        data = encode(after, encoding, handle.display)
        created = load_if_there(ctx, handle) is None
        replace(handle, data)
        remember(ctx, handle.path, data)
    diff = unified(replace_surrogates(before), replace_surrogates(after), handle.display, created)
    return ToolOutput(
        f"{'Created' if created else 'Edited'} {handle.display}: {_sum(notes)}.",
        metadata={
            "path": str(handle.path),
            "diff": diff.text,
            "additions": diff.additions,
            "deletions": diff.deletions,
            "created": created,
        },
    )


def _changed(
    ctx: ToolContext, handle: FileHandle, changes: Sequence[Replacement]
) -> tuple[Encoding, str, str, list[_Applied]]:
    if handle.name.lower().endswith(".ipynb"):
        raise ToolError(
            f"{handle.display} is a notebook; text edits break its JSON. Change it with bash and a script (python with nbformat or json)."
        )
    encoding, before = _text_of(ctx, handle, may_be_new=changes[0].old_string == "")
    after, notes = _in_order(before, changes, handle.display)
    if after == before:
        raise ToolError(f"The edits leave {handle.display} as it is. Nothing was changed.")
    return encoding, before, after, notes


def _in_order(text: str, changes: Sequence[Replacement], name: str) -> tuple[str, list[_Applied]]:
    notes = []
    for n, change in enumerate(changes, 1):
        where = f"Edit {n} of {len(changes)}: " if len(changes) > 1 else ""
        applied = _apply(text, change, name, where)
        text = applied.text
        notes.append(applied)
    return text, notes


def _text_of(ctx: ToolContext, handle: FileHandle, may_be_new: bool) -> tuple[Encoding, str]:
    data = load_if_there(ctx, handle) if may_be_new else None
    if data is None:
        if may_be_new:
            return Encoding(), ""
        data = load_if_there(ctx, handle)
    if data is None:
        raise missing(handle)
    require_seen(ctx, handle, data)
    decoded = decode(data)
    if decoded is None:
        raise ToolError(f"{handle.display} is a binary file and cannot be edited as text.")
    return decoded[1], decoded[0]


def _apply(text: str, change: Replacement, name: str, where: str) -> _Applied:
    if change.old_string == change.new_string:
        raise ToolError(f"{where}old_string and new_string are the same. Nothing was changed.")
    if not change.old_string:
        if text:
            raise ToolError(
                f"{where}old_string is empty, but {name} is not. Give the text to replace, or use write. Nothing was changed."
            )
        return _Applied(change.new_string, 1, "exact")
    matches, found_by = find(text, change.old_string)
    if not matches:
        raise ToolError(_not_found(text, change, name, where))
    if len(matches) > 1 and not change.replace_all:
        lines = ", ".join(str(text.count("\n", 0, match.start) + 1) for match in matches[:20])
        raise ToolError(
            f"{where}old_string occurs {len(matches)} times in {name} (lines {lines}). "
            "Add surrounding lines to make it unique, or set replace_all. Nothing was changed."
        )
    if not change.replace_all and overlaps_itself(text, matches[0], change.old_string):
        raise ToolError(
            f"{where}old_string occurs more than once in {name}, one place overlapping the next. "
            "Add surrounding lines to make it unique. Nothing was changed."
        )
    return _Applied(_put(text, matches, change), len(matches), found_by)


def _put(text: str, matches: Sequence[Match], change: Replacement) -> str:
    pieces, position = [], 0
    for match in matches:
        pieces += [text[position : match.start], replacement(text, match, change.old_string, change.new_string)]
        position = match.end
    return "".join([*pieces, text[position:]])


def _not_found(text: str, change: Replacement, name: str, where: str) -> str:
    hint = nearest(text, change.old_string)
    return (
        f"{where}old_string is not in {name}. Nothing was changed.{chr(10) + hint if hint else ' Read the file again.'}"
    )


def _sum(notes: Sequence[_Applied]) -> str:
    places = plural(sum(note.places for note in notes), "replacement")
    allowances = sorted({note.found_by for note in notes} - {"exact"})
    return f"{places}, matched ignoring {' and '.join(allowances)}" if allowances else places
