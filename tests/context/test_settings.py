"""Settings of the context: kinds of work, and shares of a window. Their numbers are in `tests/golden/defaults.json`."""

from __future__ import annotations

from agentcli.context.settings import PRESETS, ContextSettings, PruneSettings, RegionSettings


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
