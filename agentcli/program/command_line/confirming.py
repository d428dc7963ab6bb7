"""Yes-or-no questions of commands other than sessions. Keys typed before a question do not answer it."""

from __future__ import annotations

import sys
import time

TYPED_AHEAD = 0.3
"""Seconds after a question is shown during which keys are dropped, as in a session's dialogs."""


def confirmed(question: str) -> bool:
    """Ask on stderr and return whether the answer is yes; anything else, the end of the input included, is no."""
    print(f"{question} [y/N]: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.isatty():
        import termios

        time.sleep(TYPED_AHEAD)
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    try:
        answer = input()
    except EOFError:
        print(file=sys.stderr)
        return False
    return answer.strip().lower() in ("y", "yes")
