"""The events of a Messages stream, joined into parts that are complete or absent."""

from __future__ import annotations

from typing import Any

from agentcli.core.message import Usage
from agentcli.core.model import EditsApplied
from agentcli.providers.anthropic.reply import Reply, to_usage
from tests.tables import each_row


@each_row(
    ("raw", "tier"),
    [
        ({"speed": "fast", "service_tier": "standard"}, "fast"),
        ({"speed": "standard", "service_tier": "priority"}, "priority"),
        ({"speed": "standard", "service_tier": "standard"}, ""),
        ({"speed": None, "service_tier": None}, ""),
        ({"speed": 3, "service_tier": ["x"]}, ""),
        ({"service_tier": "x" * 900}, "x" * 40),
    ],
)
def test_the_fast_mode_of_claude_is_a_tier_and_nonsense_is_none(raw: dict[str, Any], tier: str) -> None:
    assert to_usage({"input_tokens": 5, "output_tokens": 2, **raw}) == Usage(5, 2, tier=tier)


@each_row("managed", [None, [], {"applied_edits": None}, {"applied_edits": "x"}, "x"])
def test_what_is_no_report_is_none(managed: object) -> None:
    event = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "context_management": managed}
    assert not [step for step in Reply().read(event) if isinstance(step, EditsApplied)]


def test_edits_that_are_unknown_or_misshapen_count_for_nothing() -> None:
    edits = [7, None, "x", {"type": "later"}, {"type": "clear_tool_uses_20250919", "cleared_tool_uses": -3}]
    event = {"type": "message_delta", "delta": {}, "context_management": {"applied_edits": edits}}
    assert list(Reply().read(event)) == [EditsApplied()]


def test_an_empty_report_says_that_nothing_was_cleared() -> None:
    managed = {"applied_edits": []}
    event = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "context_management": managed}
    assert list(Reply().read(event)) == [EditsApplied()]
