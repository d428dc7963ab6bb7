"""What was typed in earlier sessions, in all projects: one JSON line each, shared by all running programs."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path

KEPT = 5_000
"""Prompts that are read back; the file is cut down to them when it has grown to twice as many."""


@dataclass(frozen=True, slots=True)
class Typed:
    """One prompt and the folder it was typed in."""

    text: str
    folder: str = ""


def load(file: Path, kept: int = KEPT) -> list[Typed]:
    """The newest prompts, oldest first; lines that cannot be read are passed over."""
    try:
        raw = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [typed for line in raw.rstrip("\n").split("\n")[-kept:] if (typed := _parse(line)) is not None]


def append(file: Path, typed: Typed, kept: int = KEPT) -> None:
    """Remember one more. A history that cannot be written is not worth an error: nothing happens then."""
    line = json.dumps({"text": typed.text, "folder": typed.folder}, ensure_ascii=False) + "\n"
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError:
        return
    with os.fdopen(descriptor, "r+b") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX)
            stream.write(line.encode(errors="replace"))
            stream.flush()
            _shorten(file, kept)
        except OSError:
            return


def _shorten(file: Path, kept: int) -> None:
    # Looking into the file each time would cost more than it saves: a prompt is seldom under 20 bytes.
    if file.stat().st_size < kept * 2 * 20:
        return
    lines = file.read_bytes().splitlines(keepends=True)
    if len(lines) > 2 * kept:
        with file.open("r+b") as stream:
            stream.write(b"".join(lines[-kept:]))
            stream.truncate()


def _parse(line: str) -> Typed | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return None
    return Typed(value["text"], str(value.get("folder", "")))
