from __future__ import annotations

from pathlib import Path

from agentcli.core.journal import Journal
from agentcli.core.record import Undo
from agentcli.sessions.in_memory import MemorySession
from agentcli.sessions.session import Session
from agentcli.sessions.store import Store
from tests.sessions.bodies import compaction, reply, user


def scripted(journal: Journal) -> list[str]:
    journal.append(user("one"))
    journal.append(reply("two"))
    squeezed = journal.append(compaction(1, 3))
    journal.append(Undo(squeezed.seq))
    journal.append(user("three", 2))
    return [entry.body.text for entry in journal.history.entries]


def test_a_session_in_memory_behaves_like_one_on_disk(tmp_path: Path) -> None:
    session: Session = Store(tmp_path).create(tmp_path)
    memory = MemorySession()
    assert scripted(memory) == scripted(session) == ["one", "two", "three"]
    assert [record.body for record in memory.records()] == [record.body for record in session.records()]
    assert memory.record(2) == list(memory.records(newest_first=True))[-2]
    session.close()


def test_a_session_in_memory_keeps_outputs_and_has_no_folder() -> None:
    memory = MemorySession()
    assert memory.output(memory.keep_output("a", "text")) == "text"
    assert memory.folder is None
    assert memory.output("other") == ""


def test_a_session_in_memory_goes_on_with_one_on_disk_and_adds_nothing_to_it(tmp_path: Path) -> None:
    session = Store(tmp_path).create(tmp_path)
    scripted(session)
    output = session.keep_output("a", "text")
    stood = list(session.records())
    memory = MemorySession(session)
    added = memory.append(user("four", 3))
    assert [entry.body.text for entry in memory.history.entries] == ["one", "two", "three", "four"]
    assert (added.seq, memory.record(added.seq), memory.record(2)) == (len(stood) + 1, added, stood[1])
    assert memory.output(output) == "text"
    assert list(session.records()) == stood
    memory.close()
