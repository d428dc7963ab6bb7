"""Sums by day, project, model and tool count each request once, and add up to what was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.message import Message, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import Body, Compaction, Failure, Prune, Record, Settings, Title
from agentcli.core.subagent_result import spending
from agentcli.features.costs.stats import counted
from agentcli.features.costs.sums import By, Counted, Sum, sums, total
from agentcli.sessions.info import SessionInfo
from agentcli.sessions.store import Store
from tests.agent.costs.test_turns import CLAUDE, SPECS, USAGES, Story
from tests.sessions.bodies import reply, user

INFO = SessionInfo("s", "p", "/home/me/work")


def by(kind: By, records: Sequence[Record], since: str = "") -> dict[str, Sum]:
    return sums([Counted(INFO, records)], kind, SPECS.get, since)


def steps(story: Story, usage: Usage, *parts: Text | Thinking | ToolCall) -> None:
    cost = CLAUDE.cost(usage)
    story.add(Message("assistant", parts, story.turn, CLAUDE.provider, CLAUDE.id, usage, cost, "end_turn"))


BETWEEN: list[Body] = [
    Prune(("c0",), 9, "x"),
    Compaction("auto", "compressed", "auto", (1, 2), 2, "summary " * 30, usage=Usage(70, 7), cost=0.1, model="a/b"),
    Failure("cut", CLAUDE.name, Usage(10, 2), 0.3),
    Title("t", model="a/b", usage=Usage(4, 4), cost=0.01),
    ToolResult("t", "task", "success", "x" * 50, metadata=spending("a/b", Usage(100, 5), 0.2)),
    Settings(mode="plan"),
]


@pytest.mark.full
@given(st.lists(st.tuples(USAGES, st.integers(0, 5), st.integers(0, 9_000)), max_size=8))
def test_each_kind_of_sum_adds_up_to_what_was_recorded(made: list[tuple[Usage, int, int]]) -> None:
    story = Story()
    for n, (usage, between, size) in enumerate(made):
        story.user()
        story.add(BETWEEN[between])
        steps(story, usage, Thinking("hm"), Text("x" * (size % 7)), ToolCall(f"c{n}", "read", {"a": size}))
        story.add(ToolResult(f"c{n}", "read", "success", "y" * size))
    bodies = [record.body for record in story.records]
    costs = [body.cost or 0.0 for body in bodies if isinstance(body, Message | Compaction | Failure | Title)]
    costs += [0.2 for body in bodies if isinstance(body, ToolResult) and body.name == "task"]
    for kind in get_args(By):
        whole = total(by(kind, story.records).values())
        assert (whole.cost or 0.0) == pytest.approx(sum(costs))
        if kind != "tool":
            tokens = whole.tokens
        assert whole.tokens == pytest.approx(tokens)


def test_a_tool_pays_for_its_calls_and_for_its_output_in_each_later_request() -> None:
    story = Story()
    story.user("x" * 400)
    steps(story, Usage(0, 100, 0, 0, 1_000), ToolCall("c1", "read", {"file_path": "a"}))
    story.add(ToolResult("c1", "read", "success", "y" * 36_000))
    steps(story, Usage(0, 10, 0, 1_000, 9_000), ToolCall("c2", "bash", {"command": "true"}))
    story.add(ToolResult("c2", "bash", "success", "z" * 40))
    steps(story, Usage(0, 10, 0, 10_000, 20), Text("so"))
    found = by("tool", story.records)
    assert next(iter(found)) == "read"
    read = found["read"]
    assert (read.requests, found["bash"].requests) == (1, 1)
    assert read.cache_write == pytest.approx(9_000, rel=0.01)
    assert read.output == pytest.approx(100)
    assert 8_000 < read.cache_read < 10_500
    assert found["bash"].cache_write == pytest.approx(20, abs=1)
    assert found["(replies)"].output == pytest.approx(10)


def test_a_cleared_output_costs_nothing_more() -> None:
    sizes = []
    for cleared in (False, True):
        story = Story()
        story.user()
        steps(story, Usage(0, 10, 0, 0, 2_000), ToolCall("c1", "read", {}))
        story.add(ToolResult("c1", "read", "success", "y" * 36_000))
        steps(story, Usage(0, 10, 0, 2_000, 9_000), Text("a"))
        if cleared:
            story.add(Prune(("c1",), 9_000, "x"))
        story.user()
        steps(story, Usage(0, 10, 0, 2_000, 100), Text("b"))
        sizes.append(by("tool", story.records)["read"].cache_read)
    assert sizes[0] > 500
    assert sizes[1] < 20  # the call itself


def test_a_session_over_days_counts_on_each_of_them() -> None:
    story = Story()
    story.user()
    steps(story, Usage(10, 1), Text("a"))
    later = story.records[-1]
    next_day = Record(9, "", "2026-01-02T12:00:00Z", "", later.body)
    found = by("day", [*story.records, next_day])
    assert list(found) == ["2026-01-01", "2026-01-02"]
    assert list(by("day", [*story.records, next_day], "2026-01-02")) == ["2026-01-02"]


def test_models_of_one_session_are_told_apart() -> None:
    story = Story()
    story.user()
    story.reply(Usage(10, 1))
    story.add(Title("t", model="a/small", usage=Usage(4, 4), cost=0.01))
    assert set(by("model", story.records)) == {CLAUDE.name, "a/small"}
    assert by("project", story.records)["/home/me/work"].requests == 2


def test_what_a_fork_inherited_and_a_subagent_spent_count_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    session = store.create(tmp_path)
    for body in (user("begin"), reply("so"), user("more"), reply("so")):
        session.append(body)
    session.close()
    fork = store.open(session.info.project_id, store.fork(session.info).id)
    fork.append(user("else"))
    fork.append(reply("so"))
    fork.close()
    read = [Counted(info, store.records(info), after) for info, after in counted(store.list())]
    for kind in get_args(By):
        one = total(sums(read, kind, SPECS.get).values())
        assert one.cost == pytest.approx(0.03)
        read = [Counted(info, store.records(info), after) for info, after in counted(store.list())]


def test_a_damaged_record_costs_only_itself(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    session = store.create(tmp_path)
    for body in (user("begin"), reply("so"), user("more"), reply("so")):
        session.append(body)
    session.close()
    (broken,) = (store.folder(session.info) / "records").glob("000002-*")
    broken.write_text("{")
    assert total(sums([Counted(session.info, store.records(session.info))], "day", SPECS.get).values()).requests == 1
