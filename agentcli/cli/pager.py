"""Long texts on a terminal go through the user's pager; anywhere else they are printed."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping

DEFAULT = "less"
LESS = "FRX"
"""What `less` is told where the user says nothing: leave short texts on the screen, as git has it."""


def page(texts: Iterable[str], env: Mapping[str, str] = os.environ) -> None:
    """Show texts, which must be safe for a terminal, as they come; a person who has seen enough stops them."""
    command = env.get("PAGER", DEFAULT).strip()
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or not _is_there(command):
        for text in texts:
            print(text)
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's while it runs
    try:
        _through(command, texts, {"LESS": LESS, **env})
    finally:
        signal.signal(signal.SIGINT, before)


def _through(command: str, texts: Iterable[str], env: Mapping[str, str]) -> None:
    pager = subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE, env=env)
    assert pager.stdin is not None
    try:
        for text in texts:
            pager.stdin.write((text + "\n").encode("utf-8", "replace"))
        pager.stdin.close()
    except BrokenPipeError:
        pass  # the person has seen enough
    finally:
        pager.wait()


def _is_there(command: str) -> bool:
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return bool(words) and shutil.which(words[0]) is not None
