"""Calls written as text: what encoders of others write for a call is read as that call, and texts that quote the forms, or use none, are not.

Stopped: calls that would be lost as text, read as they were meant. Hindered: instructions that quote a form, and last messages of recorded
sessions, in which a call is found.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentcli.agent.calls.stages import Prepare
from agentcli.agent.ports import FoundTools
from agentcli.core.message import Part, Text, ToolCall
from agentcli.tools.registry import TRAITS, tools
from tests.guards import Figures, material


def figures() -> Iterator[Figures]:
    """Yield a row for each half of the forms, and one for texts without calls."""
    held = material("calls_as_text")
    with tempfile.TemporaryDirectory() as folder:
        prepare = Prepare({tool.name: tool for tool in tools()}, FoundTools(dict(TRAITS)), Path(folder))
        meant = [[call] for call in held["meant"]] + [held["meant"][:2]]
        good = held["good"]
        hindered = sum(prepare.with_written([Text(text)], "") is not None for text in good)
        for half in ("tuned", "unseen"):
            written = [
                (text, calls)
                for texts in held[f"bad_{half}"].values()
                for text, calls in zip(texts, meant, strict=True)
            ]
            read = sum(_read(prepare.with_written([Text(text)], "")) == _plain(calls) for text, calls in written)
            yield Figures(f"written calls, {half} half", read, len(written), hindered, len(good), held["source"])
        recorded = material("endings")
        last = [
            each[-1] for half in ("tuned", "unseen") for each in (*recorded[f"good_{half}"], *recorded[f"bad_{half}"])
        ]
        hindered = sum(prepare.with_written([Text(text)], "") is not None for text in last)
        yield Figures("messages without calls", 0, 0, hindered, len(last), recorded["source"])


def _read(parts: tuple[Part, ...] | None) -> list[tuple[str, dict[str, Any]]]:
    return [(part.name, dict(part.input)) for part in parts or () if isinstance(part, ToolCall)]


def _plain(calls: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    return [(name, given) for name, given in calls]
