"""Open a file or URL in the user's browser, if there is one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from shutil import which

PROMPTLY = 1.0
"""Seconds after which a browser that has not failed counts as started."""


def browser(env: Mapping[str, str] = os.environ) -> str:
    """Return the program that opens a page: BROWSER, else the desktop's own; empty if there is no desktop."""
    if chosen := env.get("BROWSER", "").split(os.pathsep)[0]:
        return which(chosen, path=env.get("PATH")) or ""
    if sys.platform == "darwin":
        return "/usr/bin/open"
    names = ["wslview"] if "WSL_DISTRO_NAME" in env else []
    names += ["xdg-open"] if env.get("DISPLAY") or env.get("WAYLAND_DISPLAY") else []
    return next((found for name in names if (found := which(name, path=env.get("PATH")))), "")


def open_page(page: Path | str, env: Mapping[str, str] = os.environ) -> bool:
    """Show a file or a URL in the browser. Return False if there is none, or if it fails at once."""
    program = browser(env)
    if not program:
        return False
    nothing = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            [program, str(page)],
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            env=dict(env),
            start_new_session=True,
        )
        return process.wait(PROMPTLY) == 0
    except subprocess.TimeoutExpired:
        process.returncode = 0  # it keeps running; avoids a warning about an unfinished process
        return True
    except OSError:
        return False
