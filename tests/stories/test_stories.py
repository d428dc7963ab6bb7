"""The stories on the screen, as they were recorded. `python -m tests.stories` records them anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.stories import STORIES
from tests.stories.story import Story, normalised, recorded

ALWAYS = "first_minutes"
"""The story that is played in every run; the others take too long for that."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name != ALWAYS)) for name in STORIES])
def test_a_story_goes_as_it_was_recorded(tmp_path: Path, name: str) -> None:
    expected = recorded(name)
    with Story(tmp_path, expected) as story:
        STORIES[name](story)
    assert list(story.scenes) == list(expected)


def test_what_differs_from_run_to_run_is_left_out() -> None:
    rows = [
        "",
        "ask · sonnet · 3.7k/968k ▕█       ▏         main",
        "3s · 12k in, 321 out · $0.01",
        "  agentcli resume 20261122-115507-4f9pbfm ",
    ]
    assert normalised(rows, Path("/nowhere")).split("\n") == [
        "ask · sonnet · USED/WINDOW  main",
        "TIME · IN in, OUT out",
        "  agentcli resume SESSION",
    ]
