"""Receipts: a last message whose claim nothing proves is flagged, and one that is proven is not.

Stopped: recorded messages without the commands that proved them. Hindered: the same messages with all calls since the last edit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentcli.agent.proof import Step
from agentcli.agent.receipts import receipt
from tests.guards import Figures, material


def figures() -> Iterator[Figures]:
    """Yield a row for each part."""
    held = material("receipts") | material("receipts_others")
    for half, name in (
        ("unseen", "latest sessions"),
        ("later", "later sessions"),
        ("others", "other programs"),
        ("newest", "newest sessions"),
    ):
        good = [(one["text"], one["steps"]) for one in held[half]]
        bad = [(one["text"], [step for step in one["steps"] if not _shows(step)]) for one in held[half] if one["claim"]]
        stopped = sum(_flagged(*each) for each in bad)
        yield Figures(
            f"claims, {name}",
            stopped,
            len(bad),
            sum(_flagged(*each) for each in good),
            len(good),
            held.get(f"source {half}", held["source"]),
        )


def _shows(step: Mapping[str, Any]) -> bool:
    return "command" in step or "told" in step


def _flagged(text: str, steps: list[Mapping[str, Any]]) -> bool:
    return receipt(text, [Step(**step) for step in steps]).verified is False
