"""Sessions of every schema ever written are read. A change of the schema adds a sample here and changes none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agentcli.core.history import fold
from agentcli.core.message import File, Image, Message, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import KINDS, SCHEMA, Compaction, TodoItem
from agentcli.sessions.integrity import check
from agentcli.sessions.recovery import retrace
from agentcli.sessions.store import Store
from tests.sessions.bodies import user

SAMPLES = sorted(Path(__file__).parents[2].joinpath("sessions", "samples").iterdir())
ID, PROJECT = "20260102-030400-0000000", "project-0123456789"


@pytest.fixture(params=SAMPLES, ids=lambda path: path.name)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    store = Store(tmp_path / "sessions")
    shutil.copytree(request.param, store.root / PROJECT / ID)
    return store


def test_there_is_a_sample_of_every_schema_and_kind() -> None:
    raws = [json.loads(path.read_bytes()) for sample in SAMPLES for path in sample.glob("records/*.json")]
    assert {raw["schema"] for raw in raws} == set(range(1, SCHEMA + 1))
    assert {raw["kind"] for raw in raws} == set(KINDS.values())


def test_a_sample_is_in_order_and_nothing_in_it_is_lost(store: Store) -> None:
    report = check(store.root / PROJECT / ID)
    assert report.problems == ()
    assert report.records == len([*(store.root / PROJECT / ID / "records").iterdir()]) >= 22


def test_a_sample_says_what_it_said_when_it_was_written(store: Store) -> None:
    session = store.open(PROJECT, ID)
    history = session.history
    assert [entry.seq for entry in history.entries] == [2, 15, 19, 20]
    assert isinstance(history.compaction.body, Compaction)
    assert history.compaction.body.snapshot == "# Snapshot\nso far"
    assert history.compaction.body.ledger == {"files": ["a.py"]}
    assert history.pins == {2}
    assert (history.model, history.mode, history.title, history.name) == (
        "anthropic/claude-x",
        "ask",
        "Fixing the tests",
        "fixing",
    )
    assert history.system == ("You are agentcli.",)
    assert history.tools[0]["name"] == "read"
    assert history.todo == (TodoItem("look", "completed", "Looking"), TodoItem("fix"))
    assert history.turn == 2
    assert history.entries[1].body.text == "Done \U0001f600 ünïcode \u2028 \ud800."
    assert session.info.usage == Usage(301, 61, 15, 3000, 150)
    assert session.append(user("more", 3)).seq == history.last_seq + 1
    session.close()


def test_every_part_of_a_sample_is_understood(store: Store) -> None:
    session = store.open(PROJECT, ID, read_only=True)
    bodies = {record.seq: record.body for record in session.records()}
    prompt, asked, failed, read = bodies[2], bodies[4], bodies[5], bodies[6]
    assert isinstance(prompt, Message)
    assert prompt.parts[1:] == (
        File("text/plain", "src/a.py", "a = 1\n"),
        Image("image/png", "aGk=", "shot.png"),
        Text("Be brief.", True, "reminder"),
    )
    assert isinstance(asked, Message)
    assert asked.parts[0] == Thinking("let me look", "c2ln", {"anthropic": {"x": 1}})
    assert asked.parts[3] == ToolCall(
        "toolu_2", "read", {"file_path": "a.py"}, {"google": {"thought_signature": "eA=="}}
    )
    assert (asked.usage, asked.cost, asked.stop) == (Usage(100, 20, 5, 1000, 50), 0.0125, "tool_use")
    assert isinstance(failed, ToolResult)
    assert (failed.status, failed.truncated, failed.started, failed.ended) == ("error", True, 1.5, 2.5)
    assert session.output(failed.output_file) == "1 failed, in full\n"
    assert isinstance(read, ToolResult)
    assert read.images == (Image("image/png", "aGk="),)


def test_a_sample_folds_whole_to_what_its_tail_does(store: Store) -> None:
    session = store.open(PROJECT, ID, read_only=True)
    assert fold(session.records()) == session.history


def test_a_sample_s_glance_can_be_rebuilt(store: Store) -> None:
    [before] = store.list()
    (store.root / PROJECT / ID / "session.json").unlink()
    rebuilt = retrace(store.root / PROJECT / ID)
    assert (rebuilt.title, rebuilt.name, rebuilt.parent, rebuilt.usage, rebuilt.summary, rebuilt.cost) == (
        before.title,
        before.name,
        before.parent,
        before.usage,
        before.summary,
        before.cost,
    )
