"""A new session that begins with a handoff of another: everything that matters is in it, and recall reaches the rest."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.session import AgentSession
from agentcli.core.errors import InputError
from agentcli.core.journal import SessionText
from agentcli.core.message import Message, Text, ToolCall, ToolResult
from agentcli.core.record import Compaction, Pin, Todo, TodoItem
from agentcli.core.tasks import emitted
from agentcli.core.text.passage import Passage
from agentcli.frontends.opening import program_of
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.tools.recall import recall
from tests.context.snapshot.statements import RULE, TOPICS, told


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    (tmp_path / "work").mkdir()
    return program_of(Options(cwd=str(tmp_path / "work"), model="script:echo"))


def worked(program: Program) -> AgentSession:
    session = program.sessions.new()
    for record in told().records:
        session.journal.append(record.body)
    session.journal.append(Todo((TodoItem("Mend read_line", "in_progress"),)))
    session.journal.append(Pin(2))
    return session


def handed_off(program: Program, session: AgentSession, following: str = "mend fold_scope") -> AgentSession:
    async def write() -> None:
        async for _ in emitted(partial(session.compactor.hand_off, asyncio.Event(), following=following)):
            pass

    asyncio.run(write())
    assert session.compactor.handoff is not None
    return program.sessions.hand_off(session, session.compactor.handoff)


def recalled(session: AgentSession, **given: Any) -> str:
    return asyncio.run(recall(session.core.ctx, "r1", **given)).output


def first_request(session: AgentSession) -> str:
    request = session.conversation.builder.request()
    return "\n".join(str(getattr(part, "text", "")) for message in request.messages for part in message.parts)


def test_the_new_session_begins_with_what_matters(program: Program) -> None:
    old = worked(program)
    before = [*old.journal.records()]
    fresh = handed_off(program, old)
    text = first_request(fresh)
    assert RULE in text
    assert "[IN PROGRESS] Mend read_line" in text
    assert "mend fold_scope" in text
    assert "<state_snapshot>" in text
    assert fresh.history.todo == old.history.todo
    assert fresh.history.turn == old.history.turn
    assert [record.body for record in old.journal.records()][: len(before)] == [record.body for record in before]
    assert not any(isinstance(record.body, Message | ToolResult) for record in fresh.journal.records())


@pytest.mark.full
def test_rules_from_before_a_compaction_without_a_ledger_are_handed_off(program: Program) -> None:
    """A session of another program was compacted there: only its records know what the user demanded."""
    old = worked(program)
    last = old.history.last_seq
    old.journal.append(Compaction("auto", "compressed", "auto", (1, last), last + 1, "They work on a compiler."))
    old.journal.append(Message("user", (Text("go on"),), 9))
    assert RULE not in first_request(old)
    assert RULE in first_request(handed_off(program, old))


def test_recall_reaches_the_records_of_the_one_before(program: Program) -> None:
    fresh = handed_off(program, worked(program))
    for name, module, count in TOPICS:
        assert f"{count} rounds" in recalled(fresh, pattern=f"test_{module}.py::test_{name}")
        assert f"{name} in src/{module}.py gives up" in recalled(fresh, pattern=name, role="assistant")
    hit = recalled(fresh, pattern="def read_line").splitlines()[0]
    assert hit.startswith("[-")
    assert "gives up after 21 rounds" in recalled(fresh, id=hit.split()[0][1:])
    assert "gives up after 21 rounds" in recalled(fresh, id="call_1")


@pytest.mark.full
def test_it_is_the_same_after_it_was_closed_and_opened(program: Program) -> None:
    old = worked(program)
    fresh = handed_off(program, old)
    fresh.journal.append(Message("user", (Text("go on"),), fresh.history.turn + 1))
    before, name = first_request(fresh), fresh.journal.id
    spent = fresh.history.usage
    fresh.close()
    old.close()
    again = program.sessions.open(program.store.find(name, program.project))
    assert first_request(again) == before
    assert again.history.usage == spent
    assert program.store.find(name, program.project).parent is not None
    assert "21 rounds" in recalled(again, pattern="def read_line", since=1) or recalled(again, id="call_1")


@pytest.mark.full
def test_its_ledger_and_rules_go_on(program: Program) -> None:
    fresh = handed_off(program, worked(program))
    turn = fresh.history.turn + 1
    fresh.journal.append(Message("user", (Text("Always run ruff."),), turn))
    fresh.journal.append(Message("assistant", (ToolCall("n1", "read", {"file_path": "/w/new.py"}),), turn, "d", "d"))
    fresh.journal.append(ToolResult("n1", "read", "success", "x = 1\n" * 30_000))
    fresh.journal.append(Message("assistant", (Text("done"),), turn, "d", "d"))
    for later in (1, 2):
        fresh.journal.append(Message("user", (Text("and then?"),), turn + later))
        fresh.journal.append(Message("assistant", (Text("That is all. " * 1_500),), turn + later, "d", "d"))

    async def compact() -> None:
        async for _ in emitted(partial(fresh.compactor.compact, asyncio.Event(), trigger="manual")):
            pass

    asyncio.run(compact())
    text = first_request(fresh)
    assert RULE in text
    assert "Always run ruff." in text
    assert "/w/src/lexer.py" in text
    newest = fresh.history.compaction
    assert newest is not None
    assert isinstance(newest.body, Compaction)
    assert "/w/new.py" in [fact["path"] for fact in newest.body.ledger["files"]]


@pytest.mark.full
def test_the_handoff_itself_is_not_taken_back(program: Program) -> None:
    fresh = handed_off(program, worked(program))
    with pytest.raises(InputError, match="handoff"):
        fresh.compactor.undo()


@pytest.mark.full
def test_a_handoff_of_a_handoff_reaches_both(program: Program) -> None:
    second = handed_off(program, worked(program))
    turn = second.history.turn + 1
    second.journal.append(Message("user", (Text("what is the port?"),), turn))
    second.journal.append(Message("assistant", (Text("The port is 4711."),), turn, "d", "d"))
    third = handed_off(program, second, "")
    found = {passage.seq: passage for passage in SessionText(third.journal).passages()}
    assert all(seq < 0 for seq, passage in found.items() if passage.role != "summary")
    assert "4711" in recalled(third, pattern="port is")
    assert "21 rounds" in recalled(third, pattern="def read_line") or "21 rounds" in recalled(third, id="call_1")
    seqs = [passage.seq for passage in found.values() if isinstance(passage, Passage)]
    assert len(seqs) == len(set(seqs))


def test_nothing_can_be_handed_off_before_anything_was_said(program: Program) -> None:
    with pytest.raises(InputError, match="no messages yet"):
        handed_off(program, program.sessions.new())
