"""Whole files: reading, atomic replacement, and a record of the content that the model has seen."""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace as replace_value
from pathlib import Path
from weakref import WeakValueDictionary

from agentcli.core.errors import ToolError
from agentcli.core.sanitise import replace_surrogates
from agentcli.core.text.encodings import decode
from agentcli.core.text.secrets import is_secret_file
from agentcli.core.tool import ToolContext, ToolOutput
from agentcli.system.disk import temporary_name
from agentcli.tools.lib.paths import FileHandle, open_parent, open_regular
from agentcli.tools.seen_files import READ_IT, UNSEEN, Knowledge, SeenFiles


class _Lock:
    """A lock that a weak reference can point to."""

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()


_locks: WeakValueDictionary[Path, _Lock] = WeakValueDictionary()
_guard = threading.Lock()


@contextmanager
def changing(ctx: ToolContext, path: str, make: bool = False) -> Iterator[FileHandle]:
    """Open a file handle under the file's lock, which is the same for all names of the file."""
    with open_parent(ctx, path, make) as handle:
        with _guard:
            lock = _locks.setdefault(handle.path, _Lock())
        with lock.lock:
            yield handle


def load(ctx: ToolContext, handle: FileHandle) -> bytes:
    """Return the content of a file of at most `file_bytes`. Raises ToolError if it is larger or not a regular file."""
    with os.fdopen(open_regular(handle), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > ctx.limits.file_bytes:
            raise ToolError(
                f"{handle.display} has {size:,} bytes, more than the {ctx.limits.file_bytes:,} that are changed in one go. Use bash."
            )
        return file.read()


def load_if_there(ctx: ToolContext, handle: FileHandle) -> bytes | None:
    """Return the content, preferring an unsaved buffer; None if there is no file yet."""
    if (buffer := ctx.scope.buffers.get(handle.path)) is not None:
        return buffer
    try:
        os.stat(handle.name, dir_fd=handle.folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return load(ctx, handle)


def remember(ctx: ToolContext, path: Path, data: bytes) -> dict[str, str]:
    """Record that the model has seen this content; return that as a result's metadata, from which a resume restores it."""
    return {replace_surrogates(str(path)): _seen(ctx).remember(path, data)}


def remember_part(ctx: ToolContext, path: Path, data: bytes) -> None:
    """Record that the model knows this change to a file whose content it has not seen."""
    _seen(ctx).remember_part(path, data)


def knowledge(ctx: ToolContext, path: Path, data: bytes) -> Knowledge:
    """Return the model's knowledge of the present content."""
    return _seen(ctx).knowledge(path, data)


def _seen(ctx: ToolContext) -> SeenFiles:
    """Return the files that the model has seen; none without a session."""
    return ctx.service(SeenFiles) or SeenFiles()


def may_show(ctx: ToolContext, path: Path) -> bool:
    """Return True for a file whose lines an answer may show unread: it is in the workspace, and not secret."""
    return not is_secret_file(str(path)) and any(root in path.parents for root in ctx.roots)


def require_seen(ctx: ToolContext, handle: FileHandle, data: bytes) -> None:
    """Raise ToolError unless the model has seen the present content."""
    known = knowledge(ctx, handle.path, data)
    if known != "current":
        raise ToolError(f"{handle.display} {UNSEEN[known]}. {READ_IT[known]}, then change it.")


def with_files_seen(ctx: ToolContext, command: str, result: ToolOutput) -> ToolOutput:
    """Return a command's result; files that it shows completely count as seen, as if the read tool had shown them."""
    from agentcli.context.ledger.shell_effects import effects  # 3 ms that only a command needs

    texts = (command, result.output, re.sub(r"(?m)^ *\d+\t", "", result.output))
    seen: dict[str, str] = {}
    for path in dict.fromkeys(effect.path for effect in effects(command) if effect.kind != "deleted"):
        seen |= _seen_by_command(ctx, path, texts)
    return replace_value(result, metadata={**result.metadata, "seen": seen}) if seen else result


def _seen_by_command(ctx: ToolContext, path: str, texts: tuple[str, ...]) -> dict[str, str]:
    try:
        with open_parent(ctx, path) as handle:
            size = os.stat(handle.name, dir_fd=handle.folder, follow_symlinks=False).st_size
            if size > 4 * max(len(text) for text in texts):
                return {}
            data = load(ctx, handle)
            decoded = decode(data)
            content = decoded[0].replace("\r\n", "\n").rstrip("\n") if decoded else None
            if content is None or not any(content in text for text in texts):
                return {}
            return remember(ctx, handle.path, data)
    except (ToolError, OSError):
        return {}


def replace(handle: FileHandle, data: bytes) -> None:
    """Replace or create a file atomically: readers see all of the old or all of the new content.

    Mode bits and, if permitted, the owner remain. Raises ToolError; then nothing has changed.
    """
    temporary = temporary_name(handle.name)
    old = _stat(handle)
    try:
        fd = os.open(
            temporary,
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
            0o600 if old else 0o666,
            dir_fd=handle.folder,
        )
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                _keep_attributes(file.fileno(), old)
                file.flush()
                os.fsync(file.fileno())
            os.rename(temporary, handle.name, src_dir_fd=handle.folder, dst_dir_fd=handle.folder)
        except OSError:
            os.unlink(temporary, dir_fd=handle.folder)
            raise
    except OSError as error:
        raise ToolError(f"Can't write {handle.display}: {error.strerror}. Nothing was changed.") from error


def _stat(handle: FileHandle) -> os.stat_result | None:
    try:
        found = os.stat(handle.name, dir_fd=handle.folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise ToolError(f"{handle.display} is not a regular file. Nothing was changed.")
    if not found.st_mode & 0o222:
        raise ToolError(f"{handle.display} is read-only. Nothing was changed.")
    return found


def _keep_attributes(fd: int, old: os.stat_result | None) -> None:
    if old is None:
        return
    fresh = os.fstat(fd)
    if (fresh.st_uid, fresh.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):  # the file then belongs to the program's user, as with any editor
            os.fchown(fd, old.st_uid, old.st_gid)
    os.fchmod(fd, stat.S_IMODE(old.st_mode))
