"""Receipts: a last message whose claim nothing proves is flagged, and one that is proven is not.

Stopped: recorded messages without the commands that proved them. Hindered: the same messages with all calls since the last edit.
Numbers of tests: stopped are those messages with a number that nothing shows, if their runs show any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentcli.agent.claims import counts_claimed
from agentcli.agent.proof import Step, ledger
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
    every = [one for half in ("unseen", "later", "others", "newest") for one in held[half]]
    counts = [(one, max(counts_claimed(one["text"]), default=0)) for one in every]
    counts = [(one, most) for one, most in counts if most]
    known = [(one, most) for one, most in counts if ledger(Step(**step) for step in one["steps"]).tests is not None]
    yield Figures(
        "numbers of tests",
        sum(
            _flagged(re.sub(rf"\b(?:{most}|{most:,})\b", f"{2 * most + 7}", one["text"]), one["steps"])
            for one, most in known
        ),
        len(known),
        sum(_flagged(one["text"], one["steps"]) for one, _ in counts),
        len(counts),
        "the messages above with a number of tests; bad: with twice that number and 7",
    )


def _shows(step: Mapping[str, Any]) -> bool:
    return "command" in step or "told" in step


def _flagged(text: str, steps: list[Mapping[str, Any]]) -> bool:
    return receipt(text, [Step(**step) for step in steps]).verified is False
