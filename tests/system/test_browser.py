"""The browser that opens a page."""

from __future__ import annotations

import os
import time
from pathlib import Path

from agentcli.system.browser import browser, open_page


def script(folder: Path, name: str, body: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_without_a_desktop_there_is_none(tmp_path: Path) -> None:
    script(tmp_path, "xdg-open", "exit 0")
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert browser(env) == ""
    assert not open_page(tmp_path / "page.html", env)
    assert browser({**env, "DISPLAY": ":0"}) == str(tmp_path / "xdg-open")
    assert browser({**env, "BROWSER": "no-such-browser", "DISPLAY": ":0"}) == ""


def test_the_named_one_gets_the_file(tmp_path: Path) -> None:
    named = script(tmp_path, "named", f'echo "$1" > {tmp_path}/opened')
    assert open_page(tmp_path / "page.html", {"PATH": os.environ["PATH"], "BROWSER": str(named)})
    ends = time.monotonic() + 10
    while not (tmp_path / "opened").exists() and time.monotonic() < ends:
        time.sleep(0.02)
    assert (tmp_path / "opened").read_text() == f"{tmp_path}/page.html\n"


def test_one_that_fails_at_once_is_told(tmp_path: Path) -> None:
    failing = script(tmp_path, "failing", "exit 3")
    assert not open_page(tmp_path / "page.html", {"PATH": os.environ["PATH"], "BROWSER": str(failing)})
