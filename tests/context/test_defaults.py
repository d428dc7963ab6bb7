"""The numbers that the engine begins with. Benches chose them: a change of one is a decision, and shows here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from agentcli.context.settings import PRESETS, BudgetSettings, ContextSettings, PruneSettings, RegionSettings

CONTEXT = {
    "policy": "auto",
    "preset": "",
    "autocompact": True,
    "soft": 0.7,
    "hard": 0.9,
    "preserve": 0.3,
    "keep_recent": 12_000,
    "keep_recent_share": 0.125,
    "keep_answer_tokens": 4_000,
    "min_shrink": 0.1,
    "retry_growth": 0.1,
    "fit": 0.97,
    "keep_user_tokens": 20_000,
    "keep_user_share": 0.2,
    "whole_user_share": 0.05,
    "keep_piece_share": 0.5,
    "pins_share": 0.25,
    "max_summary_calls": 3,
    "compact_horizon": 20.0,
    "compact_floor": 0.2,
    "compact_least": 20_000,
    "compact_price": 0.0,
    "output_reserve": 32_000,
    "compression_model": {},
    "estimator": "calibrated",
    "large_input_tokens": 25_000,
    "large_input_share": 0.25,
    "large_input_lines": 20,
    "large_input_line": 500,
    "exact_count_margin": 0.03,
    "exact_count_seconds": 5.0,
    "prune.enabled": True,
    "prune.protect": 40_000,
    "prune.minimum": 20_000,
    "prune.turns": 2,
    "prune.estimator": "chars4",
    "prune.auto_protect": 10_000,
    "prune.memory_protect": 40_000,
    "prune.auto_turns": 0,
    "prune.horizon": 8.0,
    "prune.patience": 8.0,
    "prune.smallest": 100,
    "prune.inputs": True,
    "prune.input_least": 500,
    "prune.least": 2_000,
    "prune.protect_share": 0.25,
    "prune.minimum_share": 0.0625,
    "prune.protected_tools": ("todo", "skill"),
    "snapshot.share": 0.06,
    "snapshot.unverified": 20,
    "snapshot.decision_characters": 12_000,
    "snapshot.rules_share": 0.2,
    "snapshot.knowledge_share": 0.5,
    "snapshot.files_read": 24,
    "snapshot.files_changed": 24,
    "snapshot.code_tokens": 800,
    "snapshot.code_share": 0.04,
    "snapshot.folders": 12,
    "snapshot.commands": 120,
    "snapshot.lookups": 40,
    "snapshot.item_characters": 1_000,
    "snapshot.goal_characters": 300,
    "snapshot.sentence_characters": 2_000,
    "snapshot.reply_tokens": 16_000,
    "snapshot.expected_tokens": 1_500,
    "snapshot.margin": 0.1,
    "snapshot.clips": (16000, 6000, 2000),
    "snapshot.hard_clips": (800, 300, 100, 40),
    "snapshot.kept_tokens": 1_500,
    "snapshot.cleared_characters": 1_000,
    "snapshot.struck_items": 50,
    "snapshot.struck_characters": 400,
    "handoff.tokens": 5_000,
    "handoff.words": 1_500,
    "handoff.files_read": 20,
    "handoff.commands": 30,
    "handoff.reports": 12,
    "handoff.decision_characters": 6_000,
    "handoff.offered_after": 3,
    "ledger.files": 5_000,
    "ledger.commands": 5_000,
    "ledger.command_characters": 2_000,
    "ledger.reports": 40,
    "ledger.report_characters": 400,
    "ledger.decisions": 150,
    "ledger.decision_characters": 400,
    "ledger.rules": 100,
    "ledger.names": 600,
    "ledger.names_each": 10,
    "ledger.rule_characters": 1_000,
    "tiktoken.encodings": ("o200k_base", "cl100k_base"),
    "tiktoken.rate": 1.0,
    "cache.milestone": 2_000,
    "cache.thrash": 3,
    "auto.summary_share": 0.1,
    "auto.summary_least": 400,
    "auto.summary_most": 4_000,
    "auto.scratchpad": 1_000,
    "auto.air": 0.8,
    "auto.clipped": 400,
    "auto.lean": "price",
    "loss.enabled": True,
    "loss.half_life": 200,
    "loss.output_chance": 0.0005,
    "loss.command_chance": 0.003,
    "loss.lookup_chance": 0.0005,
    "loss.report_chance": 0.005,
    "loss.name_chance": 0.001,
    "loss.recall_price": 0.0,
    "loss.carry_price": 0.0,
    "loss.prompt_tokens": 25_000,
    "loss.token_rate": 0.3,
    "loss.names_tokens": 1_500,
    "loss.call_tokens": 80,
    "loss.recalled_tokens": 1_000,
    "loss.phase_share": 0.25,
    "loss.phases": True,
    "loss.questions": True,
    "gemini.estimator": "",
    "gemini.summary_tokens": 2_000,
    "gemini.threshold": 0.5,
    "gemini.preserve": 0.3,
    "gemini.pressure": 0.95,
    "gemini.limit": 1_048_576,
    "gemini.limits": {"gemini-1.5-pro": 2097152},
    "opencode.estimator": "",
    "opencode.summary_tokens": 2_000,
    "opencode.output_reserve": 32_000,
    "regions.estimator": "",
    "regions.soft": 0.7,
    "regions.hard": 0.9,
    "regions.aim": 0.5,
    "regions.keep_recent_tokens": 20_000,
    "regions.keep_recent_turns": 4,
    "regions.ratio": 5,
    "regions.slack": 200,
    "regions.buffer": 4_000,
    "regions.large_output": 10_000,
    "regions.small_output": 1_000,
    "sliding.estimator": "",
    "sliding.primers": 3,
    "sliding.recents": 20,
    "sliding.trigger": 0.75,
    "sliding.aim": 0.375,
    "sliding.window": 0,
    "sliding.budget": 0,
    "sliding.task_budget": 0,
    "sliding.max_history": 0,
    "sliding.summary_tokens": 400,
    "sliding.temperature": 0.2,
    "native.trigger": 100_000,
    "native.trigger_share": 0.5,
    "native.keep": 3,
    "native.clear_at_least": 20_000,
    "native.thinking_turns": 0,
}
BUDGET = {
    "session.tokens": 0,
    "session.cost": 0.0,
    "session.mode": "hard",
    "task.tokens": 0,
    "task.cost": 0.0,
    "task.mode": "hard",
    "agent.tokens": 0,
    "agent.cost": 0.0,
    "agent.mode": "hard",
    "warn_at": 0.8,
    "tell_below": 0.2,
    "pressure_from": (0.8, 0.85, 0.9, 0.95),
    "pressure_seconds": (0.05, 0.3, 0.75, 1.5),
}


def values(settings: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    for field in fields(settings):
        value = getattr(settings, field.name)
        if is_dataclass(value):
            yield from values(value, f"{above}{field.name}.")
        else:
            yield above + field.name, value


def test_the_engine_begins_with_these_numbers() -> None:
    assert dict(values(ContextSettings())) == CONTEXT


def test_no_budget_is_set_and_the_last_tenths_of_one_are_slowed_down() -> None:
    assert dict(values(BudgetSettings())) == BUDGET


def test_kinds_of_work_have_their_own_sliding_window() -> None:
    assert {name: dict(preset) for name, preset in PRESETS.items()} == {
        "qa": {"primers": 2, "recents": 10, "window": 30, "budget": 25_000},
        "debugging": {"primers": 5, "recents": 30, "window": 100, "budget": 75_000},
        "long": {"window": 75, "task_budget": 300_000, "max_history": 1_000},
    }


def test_a_small_window_protects_a_share_of_itself() -> None:
    settings = ContextSettings(prune=PruneSettings(auto_protect=1_000, protect_share=0.25))
    assert [settings.protected(usable) for usable in (0, 3_996, 4_000, 4_004, 9_999)] == [0, 999, 1_000, 1_000, 1_000]
    assert [ContextSettings().recent(usable) for usable in (0, 95_992, 96_000, 96_008)] == [0, 11_999, 12_000, 12_000]


def test_a_region_is_summarised_to_a_part_of_its_tokens() -> None:
    assert [RegionSettings(ratio=ratio).summary_of(100) for ratio in (-1, 0, 1, 2, 5)] == [100, 100, 100, 50, 20]
