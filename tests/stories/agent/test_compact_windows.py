"""Work of any shape goes on in windows far too small for it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.window import limits_of
from agentcli.core.errors import ModelError
from agentcli.core.record import Trigger
from tests.agent.compaction.compacting import CHEAP, MAIN, Answers, compress, ended, session, shown, snapshot
from tests.context.story import Story
from tests.tables import each_row

GOOD = snapshot("Fix the parser.", "- The parser is recursive.", "", "", "1. [TODO] go on")
ANSWERS: tuple[str | Exception, ...] = (GOOD, GOOD, "", ModelError("down", "network"))


def work_in_a_small_window(seed: int) -> int:
    """Prompts, parallel calls and outputs of all sizes; the view is compacted at the hard mark. Returns how often it was."""
    chance = random.Random(seed)
    window = chance.choice([8_000, 12_000, 16_000, 32_000])
    small = replace(MAIN, window=window, max_output=chance.choice([2_000, 8_000]))
    limits, counts, story = limits_of(small, ContextSettings()), TokenCounter(), Story()
    journal = session(story)
    compactions = 0
    for turn in range(chance.randint(1, 3)):
        story.user(
            f"Please go on with part {turn} of the parser. " + "It is a long story. " * chance.choice([0, 5, 60])
        )
        for step in range(chance.randint(5, 25)):
            calls = [story.call("read", file_path=f"f{turn}_{step}_{n}.py") for n in range(chance.randint(1, 3))]
            story.says("Let me look at it. " * chance.choice([1, 10, 100]), *calls)
            for call in calls:
                story.result(call, "def x(): return 1\n" * chance.choice([5, 50, 300, 2_500]))
            for record in story.records[len(list(journal.records())) - compactions :]:
                journal.append(record.body)
            size = counts.prompt(shown(journal))
            if size <= limits.hard:
                continue
            trigger: Trigger = "auto" if size <= limits.usable else "overflow"
            model = Answers(chance.choice(ANSWERS), spec=replace(CHEAP, window=window))
            events = compress(journal, model, main=small, trigger=trigger, counts=counts)
            compactions = len(list(journal.records())) - len(story.records)
            assert counts.prompt(shown(journal)) <= limits.usable, ended(events)
        story.says("Done with this part.")
    return compactions


@pytest.mark.full
@each_row("seed", range(4))
def test_work_goes_on_in_a_window_that_is_too_small(seed: int) -> None:
    work_in_a_small_window(seed)


@pytest.mark.slow
@each_row("seed", range(4, 100))
def test_work_of_any_shape_goes_on_in_a_window_that_is_too_small(seed: int) -> None:
    work_in_a_small_window(seed)


def test_these_windows_really_are_too_small() -> None:
    assert work_in_a_small_window(0) > 3
