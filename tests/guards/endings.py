"""The judge of the end of a turn: a turn that is cut before its first change is undone, and true final messages are not.

Stopped: recorded turns that led to a change, ended with what the model said before its first one. Hindered: recorded last messages with the
deeds of their turn: answers, reports, reviews, done work.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentcli.agent.ending import Deeds, undone
from tests.guards import Figures, material


def figures() -> Iterator[Figures]:
    """Yield a row for each half."""
    held = material("endings")
    for half in ("tuned", "unseen"):
        bad, good = held[f"bad_{half}"], held[f"good_{half}"]
        stopped = sum(_is_undone(task, text, acted=False) for task, text in bad)
        hindered = sum(_is_undone(task, text, acted=acted) for task, acted, text in good)
        yield Figures(f"ends of turns, {half} half", stopped, len(bad), hindered, len(good), held["source"])


def _is_undone(task: str, text: str, *, acted: bool) -> bool:
    return any(reason.undone for reason in undone(text, Deeds(acted=acted), task))
