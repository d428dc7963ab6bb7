"""Output of commands: texts, JSON, long texts through the user's pager, and yes-or-no questions."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any

from agentcli.core.sanitise import safe


def say(text: str = "") -> None:
    """Print text that may come from outside."""
    print(safe(text))


def aside(text: str, who: str = "note") -> None:
    """Print a line that is not part of the output, to stderr."""
    print(f"{who}: {safe(text)}", file=sys.stderr)


def say_json(value: Any) -> None:
    """Print a value for scripts; on a terminal, escape everything that is not ASCII."""
    import json

    print(json.dumps(value, indent=2, ensure_ascii=sys.stdout.isatty()))


DEFAULT = "less"
LESS = "FRX"
"""Flags of `less` if the user sets none: leave short texts on the screen, like git."""


def page(texts: Iterable[str], env: Mapping[str, str] = os.environ) -> None:
    """Print texts as they come: on a terminal through the user's pager, otherwise plainly.

    They must be safe for a terminal.
    """
    command = env.get("PAGER", DEFAULT).strip()
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or not _is_there(command):
        for text in texts:
            print(text)
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # leave Ctrl-C to the pager while it runs
    try:
        _through(command, texts, {"LESS": LESS, **env})
    finally:
        signal.signal(signal.SIGINT, before)


def _through(command: str, texts: Iterable[str], env: Mapping[str, str]) -> None:
    import subprocess

    pager = subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE, env=env)
    assert pager.stdin is not None
    try:
        for text in texts:
            pager.stdin.write((text + "\n").encode("utf-8", "replace"))
        pager.stdin.close()
    except BrokenPipeError:
        pass  # the person quit the pager
    finally:
        pager.wait()


def _is_there(command: str) -> bool:
    import shlex

    try:
        words = shlex.split(command)
    except ValueError:
        return False
    import shutil

    return bool(words) and shutil.which(words[0]) is not None


TYPED_AHEAD = 0.3
"""Seconds after a question appears during which keys are dropped, as in a session's dialogs."""


def confirmed(question: str) -> bool:
    """Ask on stderr and return True for yes; anything else, including the end of the input, means no."""
    return asked(f"{question} [y/N]: ") in ("y", "yes")


def asked(question: str) -> str:
    """Ask on stderr and return the answer in lower case; the end of the input is an empty one.

    Keys from before the question are dropped.
    """
    print(question, end="", file=sys.stderr, flush=True)
    if sys.stdin.isatty():
        import termios

        time.sleep(TYPED_AHEAD)
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    try:
        return input().strip().lower()
    except EOFError:
        print(file=sys.stderr)
        return ""
