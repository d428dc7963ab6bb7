"""Session files compressed with Zstandard, as Codex stores old ones (`rollout-*.jsonl.zst`)."""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from agentcli.core.errors import InputError
from agentcli.system import probe

SUFFIX = ".zst"
_MAGIC = b"\x28\xb5\x2f\xfd"


class CompressedFile(InputError):
    """The error for a compressed file that no installed library unpacks."""


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader | io.BytesIO]:
    """Open a file for reading; unpack it if it is compressed.

    Raises CompressedFile if Python has no Zstandard (from 3.14 on, or the package `zstandard`). Raises InputError if
    the file is unreadable, at once or later.
    """
    try:
        with path.open("rb") as file:
            packed = file.read(len(_MAGIC)) == _MAGIC
            file.seek(0)
            yield io.BytesIO(_unpacked(file.read(), path)) if packed else file
    except OSError as error:
        raise InputError(f"Can't read {path}: {error.strerror}.") from error


def is_unpacked(path: Path) -> bool:
    """Return True if a file is compressed and lies beside its unpacked version."""
    return path.suffix == SUFFIX and probe.is_file(path.with_suffix(""))


def _unpacked(data: bytes, path: Path) -> bytes:
    try:
        library = import_module("compression.zstd")
        unpack = library.decompress
    except ImportError:
        library, unpack = _package(path)
    try:
        return bytes(unpack(data))
    except library.ZstdError as error:
        raise InputError(f"{path} is compressed and damaged: {error}.") from error


def _package(path: Path) -> tuple[Any, Callable[[bytes], bytes]]:
    try:
        library = import_module("zstandard")
    except ImportError as error:
        raise CompressedFile(
            f"{path} is compressed. Unpack it with `zstd -d {shlex.quote(str(path))}`, then import it again."
        ) from error
    return library, lambda data: library.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
