"""Subagents that were at work when the program ended are found without reading what was reported before they were sent."""

from pathlib import Path

from agentcli.agent.delegation.subagents import unfinished
from agentcli.core.message import Message, Text, ToolResult
from agentcli.providers.scripted.model import call
from agentcli.sessions.session import Session
from agentcli.sessions.store import Store
from tests.counted import counted


def test_only_what_came_since_the_call_is_asked_for(tmp_path: Path) -> None:
    journal = Store(tmp_path / "sessions").create(tmp_path)
    work = {"description": "find it", "prompt": "Where?"}
    journal.append(Message("user", (Text("go"),), 1))
    for number in range(10):
        journal.append(Message("assistant", (call("task", f"t{number}", **work),), 1))
        if number < 9:
            journal.append(ToolResult(f"t{number}", "task", "success", "x", metadata={"session": f"s{number}"}))
    asked: list[int] = []

    def children(_: object, since: int) -> list[tuple[str, str]]:
        asked.append(since)
        return [("s9", "Where?")]

    with counted(Session.record) as calls:
        [found] = unfinished(journal, {"task"}, children)
    assert (found.id, found.description) == ("s9", "find it")
    assert asked == [journal.history.last_seq]
    assert calls[Session.record] == 1
    journal.close()
