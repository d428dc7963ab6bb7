"""Title of the terminal's tab (OSC 0), and the mark of progress that some terminals show in it (OSC 9;4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentcli.core.sanitise import safe_line
from agentcli.frontends.terminal.render.state import State

LONGEST = 60
"""Characters of a title."""
_PUSH, _POP = "\x1b[22;2t", "\x1b[23;2t"
"""Save the title of the terminal, and restore it."""
_PROGRESS = {"": "0", "works": "3", "waits": "4"}
"""State of the progress mark: none, working for an unknown time, needs attention."""
_MARKS = {"": "", "works": "● ", "waits": "? "}


class Tab:
    """Title and progress mark, which say whether the session works or waits for an answer.

    `write` sends a sequence to the terminal. Nothing is sent before the session is open, nor unless something changed.
    """

    def __init__(self, write: Callable[[str], None], environment: Mapping[str, str]) -> None:
        self._write = write
        self._progress = shows_progress(environment)
        self._shown = ""
        self._doing = ""

    def show(self, state: State, name: str) -> None:
        """Show the state of a session with this name; without a name nothing is known yet."""
        if not name:
            return
        doing = "waits" if state.dialog else "works" if state.work else ""
        title = f"{_MARKS[doing]}{safe_line(name)[:LONGEST]}"
        if title == self._shown:
            return
        self._write(("" if self._shown else _PUSH) + f"\x1b]0;{title}\a")
        if self._progress and doing != self._doing:
            self._write(f"\x1b]9;4;{_PROGRESS[doing]};0\a")
        self._shown, self._doing = title, doing

    def close(self) -> None:
        """Restore the title, and remove the mark."""
        if self._shown:
            self._write(_POP + ("\x1b]9;4;0;0\a" if self._progress and self._doing else ""))
        self._shown = self._doing = ""


def shows_progress(environment: Mapping[str, str]) -> bool:
    """Return True for a terminal known to show progress: others would show `4;3;0` as a notification."""
    if environment.get("TMUX") or environment.get("STY"):
        return False
    return environment.get("TERM_PROGRAM") == "ghostty" or bool(
        environment.get("WT_SESSION") or environment.get("ConEmuPID")
    )
