"""Pictures from the clipboard, read through the system's clipboard programs."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from agentcli.core.errors import InputError
from agentcli.core.images import ENDINGS, mime_of
from agentcli.system.programs import find_program

SECONDS = 3.0
"""Maximum seconds for a program that delivers an image; then it is ended."""
KEPT = 100
"""Pictures that stay in their folder; older ones are removed."""
LARGEST = 50_000_000
"""Size limit of a picture, in bytes."""

_APPLE = "get the clipboard as «class PNGf»"
_HEX = re.compile(rb"\xc2\xabdata PNGf([0-9A-F]+)\xc2\xbb")
_NO_PROGRAM = (
    "No program found that reads images from the clipboard. Install wl-clipboard (Wayland), xclip (X11) or pngpaste (macOS), "
    "or name the image's file: @shot.png"
)


async def save_picture(folder: Path, env: Mapping[str, str] = os.environ) -> Path:
    """Save the clipboard's image in `folder`; return the file. Raises InputError if there is none."""
    commands = _commands(env)
    if not commands:
        raise InputError(_NO_PROGRAM)
    for command in commands:
        data = _unwrapped(await _output(command, env))
        if mime := mime_of(data):
            return _save(folder, data, ENDINGS[mime])
    raise InputError("No image on the clipboard. Copy one, or name its file: @shot.png")


def _commands(env: Mapping[str, str]) -> list[list[str]]:
    """Return the available clipboard commands, in order of preference."""
    ways: list[list[str]] = []
    if env.get("WAYLAND_DISPLAY"):
        ways += [["wl-paste", "--no-newline", "--type", mime] for mime in ENDINGS]
    if env.get("DISPLAY"):
        ways += [["xclip", "-selection", "clipboard", "-o", "-t", mime] for mime in ENDINGS]
    ways += [["pngpaste", "-"], ["osascript", "-e", _APPLE]]
    return [[program, *way[1:]] for way in ways if (program := find_program(way[0], path=env.get("PATH")))]


async def _output(command: list[str], env: Mapping[str, str]) -> bytes:
    none = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=none, stdout=asyncio.subprocess.PIPE, stderr=none, env=dict(env)
        )
    except OSError:
        return b""
    try:
        async with asyncio.timeout(SECONDS):
            data, _ = await process.communicate()
    except TimeoutError:
        return b""
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return data if len(data) <= LARGEST else b""


def _unwrapped(data: bytes) -> bytes:
    """Decode AppleScript's hexadecimal output."""
    found = _HEX.match(data)
    return bytes.fromhex(found[1].decode()) if found else data


def _save(folder: Path, data: bytes, ending: str) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / (hashlib.sha256(data).hexdigest()[:12] + ending)
    with open(file, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as stream:
        stream.write(data)
    for old in sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime)[:-KEPT]:
        old.unlink(missing_ok=True)
    return file
