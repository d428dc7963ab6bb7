"""The causes of a turn's cost: they add up to it, and each is named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.agent.costs.spending import spendings
from agentcli.agent.costs.turns import TurnCost, turn_costs
from agentcli.core.dataclass import replace
from agentcli.core.message import Message, Text, ToolResult, Usage
from agentcli.core.model import ModelSpec, Prices
from agentcli.core.record import Compaction, Failure, Prune, Record, Settings, Title, Undo
from agentcli.core.subagent_result import spending

PRICES = Prices(
    3.0, 15.0, 0.3, 3.75, over=200_000, over_input=6.0, over_output=22.5, over_cache_read=0.6, over_cache_write=7.5
)
CLAUDE = ModelSpec("anthropic", "claude", "anthropic", prices=PRICES)
FREE = ModelSpec("local", "free", "anthropic")
SPECS = {CLAUDE.name: CLAUDE, FREE.name: FREE}


class Story:
    """Records of a session, a second apart unless `at` says otherwise."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.seconds, self.turn = 0, 0
        self.add(Settings(system=("You are a test. " * 200,), tools=({"name": "read", "parameters": {}},)))

    def add(self, body: Any) -> Record:
        self.seconds += 1
        time = f"2026-01-01T{self.seconds // 3600:02}:{self.seconds // 60 % 60:02}:{self.seconds % 60:02}.000Z"
        self.records.append(Record(len(self.records) + 1, "", time, "", body))
        return self.records[-1]

    def user(self, text: str = "go on") -> None:
        self.turn += 1
        self.add(Message("user", (Text(text),), self.turn))

    def reply(self, usage: Usage, *, model: ModelSpec = CLAUDE, text: str = "so") -> None:
        cost = model.cost(usage)
        self.add(Message("assistant", (Text(text),), self.turn, model.provider, model.id, usage, cost, "end_turn"))

    def newest(self) -> TurnCost:
        return turn_costs(self.records, SPECS.get)[-1]


def warm() -> Story:
    """A session whose cache has 50,000 tokens, as a new turn begins."""
    story = Story()
    story.user()
    story.reply(Usage(0, 100, 0, 0, 50_000))
    return story


def sent_again(story: Story) -> str:
    [cause] = [cause for cause in story.newest().causes if cause.kind == "lost"]
    return cause.text


USAGES = st.builds(Usage, *[st.integers(0, 300_000)] * 2, st.just(0), *[st.integers(0, 300_000)] * 2)


@given(st.lists(st.tuples(USAGES, st.booleans(), st.integers(0, 4)), min_size=1, max_size=8))
def test_the_causes_add_up_to_what_was_recorded(steps: list[tuple[Usage, bool, int]]) -> None:
    story = Story()
    for usage, known, between in steps:
        story.user()
        story.add(ToolResult("c", "read", "success", "x" * between * 9_000))
        story.reply(usage, model=CLAUDE if known else FREE)
        story.add(
            [Prune((), 0, "x"), Title("a"), Failure("cut", CLAUDE.name, usage, 0.5), Settings(mode="plan"), Title("b")][
                between
            ]
        )
    recorded = sum(record.body.cost or 0.0 for record in story.records if isinstance(record.body, Message | Failure))
    found = turn_costs(story.records, SPECS.get)
    assert sum(turn.cost or 0.0 for turn in found) == pytest.approx(recorded)
    for turn in found:
        assert sum(cause.cost or 0.0 for cause in turn.causes) == pytest.approx(turn.cost or 0.0)
    for one in spendings(story.records, SPECS.get):
        assert 0 <= one.lost <= one.usage.input + one.usage.cache_write


def test_a_cache_that_expired_is_a_cause_with_both_times() -> None:
    story = warm()
    story.seconds += 720
    story.user()
    story.reply(Usage(10, 100, 0, 0, 51_000))
    text = sent_again(story)
    assert (
        text
        == "sent again in full, 50,000 tokens: the cache had expired, 12 min after the request before (it lasts 5 min)"
    )
    [cause] = [cause for cause in story.newest().causes if cause.kind == "lost"]
    assert cause.cost == pytest.approx(50_000 * 3.75 / 1e6)


def test_an_edit_of_the_conversation_is_the_cause_of_what_is_sent_again() -> None:
    edits = {
        "a compaction replaced the older part": Compaction("auto", "compressed", "auto", snapshot="s"),
        "old outputs were cleared": Prune(("a",), 900, "asked for"),
        "an edit was undone": Undo(3),
        "the session was rewound": Undo(3, "rewind"),
        "the account changed to work": Settings(account="work"),
        "the system prompt or the tools changed": Settings(system=("Another.",)),
    }
    for cause, edit in edits.items():
        story = warm()
        story.add(edit)
        story.user()
        story.reply(Usage(10, 100, 0, 20_000, 30_000))
        assert sent_again(story).endswith(f", 30,000 tokens: {cause}")


def test_another_model_has_nothing_of_the_cache() -> None:
    story = warm()
    story.user()
    story.reply(Usage(52_000, 100), model=replace(FREE, prices=PRICES))
    assert sent_again(story).endswith("50,000 tokens: the model changed to local/free")


def test_without_an_edit_on_record_the_provider_is_the_cause() -> None:
    story = warm()
    story.user()
    story.reply(Usage(10, 100, 0, 0, 51_000))
    assert "50,000 tokens: the provider did not find it in its cache" in sent_again(story)


def test_a_cache_without_marks_that_keeps_most_is_no_cause() -> None:
    gemini = replace(CLAUDE, cache_explicit=False)
    story = Story()
    story.user()
    story.reply(Usage(50_000, 100))
    story.user()
    story.reply(Usage(10_000, 100, 0, 41_000))
    found = turn_costs(story.records, lambda _: gemini)[-1]
    assert {cause.kind for cause in found.causes} == {"new", "read", "output"}


def test_a_large_output_is_named_and_small_ones_are_not() -> None:
    story = warm()
    story.user()
    for n, size in enumerate((80_000, 60_000, 44_000, 40_000, 36_000, 400)):
        story.add(ToolResult(f"c{n}", "bash", "success", "x" * size, title=f"cat {n}.log"))
    story.reply(Usage(0, 10, 0, 50_000, 65_100))
    named = [cause.text for cause in story.newest().causes if cause.kind == "large output"]
    assert named[0].startswith("large output, 20,000 tokens: ")
    assert named[0].endswith("bash cat 0.log")
    assert len(named) == 4
    assert any(text.startswith("2 more large outputs, 1") for text in named)


def test_requests_beside_the_conversation_and_retries_are_causes() -> None:
    story = warm()
    story.user()
    story.add(Failure("The reply was cut off; it was asked for again.", CLAUDE.name, Usage(10, 5), 0.03))
    story.add(Failure("The reply was cut off; it was asked for again.", CLAUDE.name, Usage(10, 5), 0.04))
    story.add(ToolResult("t", "task", "success", "x", metadata=spending(CLAUDE.name, Usage(100, 5), 0.2)))
    story.add(Compaction("auto", "compressed", "auto", usage=Usage(70, 7), cost=0.1, model="anthropic/small"))
    story.reply(Usage(0, 10, 0, 50_000, 100))
    text = "\n".join(story.newest().lines())
    assert "retries, 2 requests, 30 tokens" in text
    assert "subagents, 105 tokens" in text
    assert "summaries, 77 tokens" in text
    assert "$0.2000" in text


def test_without_prices_the_parts_are_in_tokens() -> None:
    story = Story()
    story.user()
    story.reply(Usage(10_000, 100), model=FREE)
    head, *rest = story.newest().lines()
    assert head == "Turn 1, price unknown in 1 request:"
    assert rest == ["  new in the prompt, 10,000 tokens", "  replies, 100 tokens"]


def test_hostile_titles_and_prompts_stay_in_their_line() -> None:
    story = Story()
    story.user("\x1b[2Jboo\nnew line\u202e")
    story.add(ToolResult("c", "x\x1b]0;t\x07", "success", "x" * 90_000, title="a\nb\x1b[31m" + "y" * 500))
    story.reply(Usage(0, 10, 0, 0, 30_000))
    lines = [*story.newest().lines(), story.newest().line]
    assert all(line.isprintable() for line in lines)
    assert all(len(line) < 160 for line in lines)


def test_of_turns_with_one_number_after_a_rewind_the_newer_is_explained() -> None:
    story = warm()
    story.add(Undo(1, "rewind"))
    story.turn = 0
    story.user("another way")
    story.reply(Usage(0, 7, 0, 50_000, 10))
    former, newest = turn_costs(story.records, SPECS.get)
    assert (former.number, former.prompt) == (1, "“go on”")
    assert (newest.number, newest.prompt) == (1, "“another way”")
