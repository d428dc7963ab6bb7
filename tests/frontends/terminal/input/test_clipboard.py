from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.frontends.terminal.input.clipboard import save_picture
from tests.tables import each_row

PNG = b"\x89PNG\r\n\x1a\n and the rest"


def program(folder: Path, name: str, script: str) -> dict[str, str]:
    """An environment in which a program of this name does what the script says."""
    folder.mkdir(exist_ok=True)
    (folder / "picture").write_bytes(PNG)
    (folder / name).write_text(f"#!/bin/sh\ncd {folder}\n{script}\n")
    (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin", "WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}


@pytest.mark.full
@each_row(
    ("name", "script"),
    [
        ("wl-paste", 'test "$3" = image/png && cat picture'),
        ("wl-paste", 'test "$3" = image/jpeg && cat picture'),
        ("xclip", 'test "$*" = "-selection clipboard -o -t image/png" && cat picture'),
        ("pngpaste", 'test "$1" = - && cat picture'),
        ("osascript", r"printf '\302\253data PNGf'; od -An -v -tx1 picture | tr -d ' \n' | tr a-f A-F; printf '\302\273\n'"),
    ],
)  # fmt: skip
def test_the_picture_is_taken_from_whatever_program_hands_it_over(tmp_path: Path, name: str, script: str) -> None:
    env = program(tmp_path / "bin", name, script)
    saved = asyncio.run(save_picture(tmp_path / "pictures", env))
    assert saved.read_bytes() == PNG
    assert saved.suffix == ".png"
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert stat.S_IMODE(saved.parent.stat().st_mode) == 0o700


@pytest.mark.full
@pytest.mark.parametrize("script", ["echo some text", "exit 1"])
def test_a_clipboard_without_a_picture_is_told(tmp_path: Path, script: str) -> None:
    env = program(tmp_path / "bin", "wl-paste", script)
    with pytest.raises(InputError, match="No image on the clipboard"):
        asyncio.run(save_picture(tmp_path / "pictures", env))
    assert not (tmp_path / "pictures").exists()


def test_without_a_program_it_says_which_to_install(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Install wl-clipboard"):
        asyncio.run(save_picture(tmp_path, {"PATH": str(tmp_path)}))
