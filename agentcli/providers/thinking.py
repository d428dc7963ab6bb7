"""Thinking budgets in tokens for models of style "budget", by effort."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

BUDGETS: Mapping[str, int] = MappingProxyType(
    {"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384, "xhigh": 24_576, "max": 24_576}
)
"""Tokens by effort. None of these models takes more than the largest."""
LEAST = 1_024
"""The smallest budget that the Messages API takes."""
_SHARE = 0.75
"""Maximum share of the output for thoughts: the rest is for the answer."""


def wanted_budget(options: Mapping[str, Any]) -> int | None:
    """Return the budget that a request asks for by `thinking_budget` or `effort`; None if it asks for none."""
    return int(options.get("thinking_budget") or BUDGETS.get(options.get("effort") or "", 0)) or None


def budget_within(options: Mapping[str, Any], max_tokens: int) -> int | None:
    """Return the wanted or default budget within a share of `max_tokens`; None if that is too little to think at all."""
    budget = min(wanted_budget(options) or BUDGETS["medium"], int(max_tokens * _SHARE))
    return budget if budget >= LEAST else None
