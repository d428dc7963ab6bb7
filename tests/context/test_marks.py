"""Where in a window something begins by itself."""

from __future__ import annotations

from dataclasses import replace

from agentcli.context.limits import limits_of
from agentcli.context.marks import compacts_early_from, compacts_from
from agentcli.context.settings import ContextSettings, GeminiSettings
from agentcli.core.model import ModelSpec

LIMITS = limits_of(ModelSpec("m", "m", "demo", window=200_000, max_output=32_000), ContextSettings())


def test_auto_compacts_at_the_soft_mark_and_where_it_pays_from_its_floor_on() -> None:
    settings = ContextSettings(compact_floor=0.25, compact_least=20_000)
    assert compacts_from(LIMITS, settings) == LIMITS.soft
    assert compacts_early_from(LIMITS, settings) == LIMITS.usable // 4
    assert compacts_early_from(LIMITS, replace(settings, compact_least=60_000)) == 60_000


def test_what_is_switched_off_has_no_mark() -> None:
    assert compacts_early_from(LIMITS, ContextSettings(compact_horizon=0)) == 0
    assert compacts_early_from(replace(LIMITS, soft=20_000), ContextSettings()) == 0
    off = ContextSettings(autocompact=False)
    assert (compacts_from(LIMITS, off), compacts_early_from(LIMITS, off)) == (0, 0)


def test_every_other_policy_has_its_own_mark_and_none_before_it() -> None:
    gemini = ContextSettings(policy="gemini", gemini=GeminiSettings(limit=100_000, threshold=0.5))
    assert compacts_from(LIMITS, gemini) == 50_000
    assert compacts_from(LIMITS, ContextSettings(policy="opencode")) < LIMITS.window
    for policy in ("gemini", "opencode", "regions", "sliding"):
        settings = ContextSettings(policy=policy)
        assert compacts_from(LIMITS, settings) > 0
        assert compacts_early_from(LIMITS, settings) == 0
