"""Unsaved buffers: files open in an editor with changes that are not on disk yet."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from agentcli.agent.checkpointing import Checkpointer
from agentcli.agent.ports import TextEditor
from agentcli.agent.tool_context import SessionToolContext
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.sanitise import replace_surrogates
from agentcli.core.text.encodings import Encoding, decode, newline_style, with_newlines
from agentcli.core.tool import CallScope, Tool

_UTF8 = "utf-8"


@dataclass(frozen=True, slots=True)
class _Buffer:
    """The text of a file in the editor, and the bytes that the file would have with it.

    `conflicts` is true if calls have changed the file on disk as well.
    """

    text: str
    content: bytes
    conflicts: bool


class EditorFiles:
    """The editor of a session and its subagents, and its files.

    For each file it remembers the text when buffer and disk last agreed, and whether it has changed since.
    """

    def __init__(self, editor: TextEditor) -> None:
        self.editor = editor
        self._agreed: dict[Path, str] = {}
        self._changed: set[Path] = set()

    def changed(self, paths: Iterable[Path]) -> None:
        """Record that calls change these files on disk: the editor may still have their old text."""
        self._changed.update(paths)

    def compared(self, path: Path, text: str, saved: bytes) -> _Buffer | None:
        """Compare the editor's text of a file with its `saved` content, and remember if they agree.

        Return the buffer. Return None if nothing is unsaved, or if the editor has not loaded our change yet.
        """
        content, fingerprint = content_of(text, saved), hashlib.sha256(text.encode()).hexdigest()
        if content is None:
            self._agreed[path] = fingerprint
            self._changed.discard(path)
            return None
        if path in self._changed and self._agreed.get(path) == fingerprint:
            return None  # the editor has not loaded the file again yet
        return _Buffer(text, content, path in self._changed)


class UnsavedBuffers:
    """Unsaved buffers of an editor, if a session has one.

    Tools read their content, and an edit saves them first. Only files in the workspace are queried. A file is read from
    disk if it is not UTF-8 text, or is larger than a tool reads. The same applies if it has changed on disk as well, or
    if the editor does not answer.
    """

    def __init__(
        self, files: EditorFiles | None, ctx: SessionToolContext, checkpointer: Checkpointer | None = None
    ) -> None:
        self._files, self._ctx, self._checkpointer = files, ctx, checkpointer
        self.edited: dict[Path, bytes] = {}
        """Unsaved content of files with a requested or running edit, until its end is shown."""

    async def contents(self, paths: Sequence[Path]) -> Mapping[Path, bytes]:
        """Return the content of files with unsaved changes, by resolved path."""
        found = {path: await self._buffer(path) for path in paths}
        return {path: buffer.content for path, buffer in found.items() if buffer is not None and not buffer.conflicts}

    async def for_edit(self, paths: Sequence[Path]) -> Mapping[Path, bytes]:
        """Return the content of the files to edit that have unsaved changes. Raises ToolError if they cannot be saved first."""
        found = {path: buffer for path in paths if (buffer := await self._to_edit(path)) is not None}
        for path, buffer in found.items():
            self._require_saving(path, buffer)
        return {path: buffer.content for path, buffer in found.items()}

    async def save(self, tool: Tool, paths: Sequence[Path], given: Mapping[str, Any]) -> None:
        """Have the editor save files that a call is about to change, so that file and buffer agree.

        Nothing is saved if the call cannot work. Raises ToolError if the call cannot work, or if the changes stay
        unsaved.
        """
        if self._files is None or not paths:
            return
        unsaved = await self.for_edit(paths)
        if unsaved:
            ctx = self._ctx.for_call(CallScope(tuple(paths), buffers=unsaved))
            await asyncio.to_thread(tool.preview, ctx, given)
        for path in unsaved:
            buffer = await self._to_edit(path)
            if buffer is None:
                continue
            checkpointer = self._require_saving(path, buffer)
            if not await checkpointer.save(path, partial(self._save, self._files.editor, path)):
                raise self._refusal(path, _UNSAVED)
        self._files.changed(paths)

    async def _save(self, editor: TextEditor, path: Path) -> bool:
        """Save the current text of a buffer: the person may have continued typing while this change waited.

        False if changes stay unsaved.
        """
        buffer = await self._to_edit(path)
        if buffer is None:
            return True
        self._require_saving(path, buffer)
        return await editor.save(path, buffer.text) and await self._buffer(path) is None

    async def _to_edit(self, path: Path | None) -> _Buffer | None:
        """Return the buffer of a file to edit, and record its content."""
        buffer = await self._buffer(path)
        if path is not None and buffer is not None:
            self.edited[path] = buffer.content
        elif path is not None:
            self.edited.pop(path, None)
        return buffer

    async def _buffer(self, path: Path | None) -> _Buffer | None:
        """Return the buffer of a file; None if it has no unsaved changes, or cannot be compared."""
        if self._files is None or path is None or not any(path.is_relative_to(root) for root in self._ctx.roots):
            return None
        saved = await asyncio.to_thread(_on_disk, self._ctx.for_call(CallScope((path,))), path)
        text = None if saved is None else await self._files.editor.text(path)
        if saved is None or text is None or len(text) > self._ctx.limits.file_bytes or not _is_text(text):
            return None
        return await asyncio.to_thread(self._files.compared, path, text, saved)

    def _require_saving(self, path: Path, buffer: _Buffer) -> Checkpointer:
        """Return the checkpointer for a buffer that may be saved: without one, the overwritten content could not be restored."""
        if buffer.conflicts:
            raise self._refusal(path, _CONFLICT)
        if self._checkpointer is None or self._files is None or not self._files.editor.saves:
            raise self._refusal(path, _UNSAVED)
        return self._checkpointer

    def _refusal(self, path: Path, why: str) -> ToolError:
        from agentcli.tools.lib.paths import locate

        return ToolError(why.format(locate(self._ctx.for_call(CallScope((path,))), str(path)).display))


_UNSAVED = (
    "{} has changes in the editor that are not saved. Nothing was changed. "
    "Ask the user to save it, read it again, then change it."
)
_CONFLICT = (
    "{} has been changed by a call, and has other changes in the editor that are not saved. Nothing was changed. "
    "Ask the user to save it or to load it from disk, read it again, then change it."
)


def content_of(text: str, saved: bytes) -> bytes | None:
    """Return the bytes of a file with the editor's text; None if the text is the same.

    `saved` is the file's content on disk. Editors may drop a byte order mark and the last line end, and use `\\n` for
    all line ends. That alone is no change.
    """
    before, encoding = _decoded(saved) or ("", Encoding())
    text = text.removeprefix("\ufeff")
    if _plain(text) == _plain(before):
        return None
    if before.endswith(("\n", "\r")) and text and not text.endswith(("\n", "\r")):
        text += "\n"
    if "\r" not in text:
        text = with_newlines(text, newline_style(before))
    return encoding.bom + text.encode()


def _on_disk(ctx: SessionToolContext, path: Path) -> bytes | None:
    """Return the content of a text file, empty for a missing file; None for anything else."""
    from agentcli.tools.lib.files import load_if_there
    from agentcli.tools.lib.paths import open_parent

    try:
        with open_parent(ctx, str(path)) as handle:
            data = load_if_there(ctx, handle) or b""
    except (ToolError, OSError):
        return None
    return data if _decoded(data) is not None else None


def _decoded(data: bytes) -> tuple[str, Encoding] | None:
    """Decode a file in undamaged UTF-8; return None for any other file, which an editor may read differently."""
    decoded = decode(data)
    return decoded if decoded and decoded[1].name == _UTF8 and _is_text(decoded[0]) else None


def _is_text(text: str) -> bool:
    """Return True for text that UTF-8 can encode, without the zero bytes that mark a binary file."""
    return "\0" not in text and replace_surrogates(text) == text


def _plain(text: str) -> str:
    return with_newlines(text, "\n").removesuffix("\n")
