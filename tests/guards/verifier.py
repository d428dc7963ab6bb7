"""The check of compaction summaries: what a model summarised truly stays as a fact, and what nobody said or did never becomes one.

Stopped: an invention is struck, listed as unverified, or marked. Hindered: an item of a real summary does not stand whole and unmarked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import cycle
from typing import Any

from agentcli.context.snapshot.anchors import Source
from agentcli.context.snapshot.verify import Evidence, verified_text
from agentcli.core.record import VerbatimText
from tests.context.snapshot.consents import cases
from tests.guards import Figures, material

QUOTES_THE_USER = re.compile(r'The user said \(turn \d+\): "')
MARKED = re.compile(r"\[(?:no|a) record [^\]]*\]")
CODE = re.compile(r"`([^`]+)`")
NUMBER = re.compile(r"\b\d{2,}\b")
VERDICTS = {"passes": "fails", "passed": "failed", "fails": "passes", "failed": "passed", "failing": "passing", "passing": "failing"}  # fmt: skip


def figures() -> Iterator[Figures]:
    """Yield a row for the real items beside invented consents, and one beside items with another session's names, numbers and verdicts."""
    held = material("verifier")
    sessions = held["good"]
    evidence = [_evidence(session) for session in sessions]
    items = [(item, shown) for session, shown in zip(sessions, evidence, strict=True) for item in session["items"]]
    hindered = sum(not _stands(item, shown) for item, shown in items)
    consents = [each.text for case in cases() for each in case.statements if not each.true]
    given = [(text, shown) for shown in evidence for text in consents]
    stopped = sum(not _is_fact(text, shown) for text, shown in given)
    source = f"{len(items)} items of {len(sessions)} sessions: {held['source']}"
    yield Figures("summaries: invented consents, 15 languages", stopped, len(given), hindered, len(items), source)
    swapped = list(_swapped(sessions, evidence))
    stopped = sum(not _is_fact(text, shown) for text, shown in swapped)
    yield Figures("summaries: swapped names, numbers, verdicts", stopped, len(swapped), hindered, len(items), source)


def _evidence(session: dict[str, Any]) -> Evidence:
    records = [
        Source(text, seq, step, who, head or "", turn) for who, head, seq, step, turn, text in session["records"]
    ]
    said = [VerbatimText(seq, turn, text) for seq, turn, text in session["said"]]
    return Evidence(records, user_texts=said)


def _stands(text: str, shown: Evidence) -> bool:
    """Return True if a line stands whole and without a mark, maybe in the user's own words."""
    left, unverified, struck = verified_text(text, shown)
    return bool(left) and not unverified and not struck and not MARKED.search(left)


def _is_fact(text: str, shown: Evidence) -> bool:
    """Return True if a line stands whole, without a mark, in its own words."""
    left, _, _ = verified_text(text, shown)
    quoted = QUOTES_THE_USER.search(left) is not None and _plain(text) not in _plain(left)
    return _stands(text, shown) and not quoted


def _plain(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _swapped(sessions: list[dict[str, Any]], evidence: list[Evidence]) -> Iterator[tuple[str, Evidence]]:
    """Yield items with a name, a number or a verdict of another session, which the records here do not hold."""
    for n, (session, shown) in enumerate(zip(sessions, evidence, strict=True)):
        here = _plain(" ".join(record[-1] for record in session["records"]) + " ".join(session["items"]))
        others = [item for other, each in enumerate(sessions) if other != n for item in each["items"]]
        names = cycle(
            [name for item in others for name in CODE.findall(item) if _plain(name) not in here] or ["absent_name"]
        )
        for item in session["items"]:
            if CODE.search(item):
                name = next(names)
                yield CODE.sub(lambda _, name=name: f"`{name}`", item, count=1), shown
            elif number := NUMBER.search(item):
                yield item.replace(number[0], f"{int(number[0]) + 7919}", 1), shown
            elif verdict := next((word for word in VERDICTS if re.search(rf"\b{word}\b", item)), ""):
                yield re.sub(rf"\b{verdict}\b", VERDICTS[verdict], item), shown
