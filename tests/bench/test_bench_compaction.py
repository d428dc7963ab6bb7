"""The session behind the comparison of compactions: what a probe counts, what the summariser leaves out, and when it ends."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from agentcli.core.message import ToolCall
from tests.bench.imperfect import AGENTCLI
from tests.bench.long_session import FILLER, Fact, LongSession, facts, filler, is_summary, probed, texts_of
from tests.loopback import Asked

SUMMARISE = "Your task is to create a detailed summary of the conversation."


def asked(*texts: str, tools: bool = True, padding: int = 50_000) -> Asked:
    body: dict[str, Any] = {"model": "m", "system": "x" * padding, "messages": [{"role": "user", "content": text} for text in texts]}  # fmt: skip
    if tools:
        body["tools"] = [{"name": "read"}]
    return Asked("anthropic", "/v1/messages", {}, json.dumps(body).encode(), 0)


def test_there_are_a_hundred_facts_and_none_shows_another() -> None:
    planted = facts()
    assert Counter(fact.kind for fact in planted) == {"rule": 20, "value": 30, "done": 20, "open": 20, "last": 10}
    assert len({fact.shown for fact in planted}) == 100
    for fact in planted:
        others = "\n".join(other.said for other in planted if other is not fact)
        assert fact.shown not in others
        assert facts(2) != planted


def test_a_probe_asks_what_a_request_shows() -> None:
    done = Fact("done", "the report on x", "out/x.md", "The report on x is written.", by_file="out/x.md")
    later = Fact("open", "the report on y", "report on y", "", "The report on y is written.", "out/y.md")
    assert done.is_shown("CREATED out/x.md")
    assert done.is_repeated("Write the report on x.")
    assert not done.is_repeated("Write the report on x. The report on x is written.")
    assert not done.is_repeated("Nothing is known."), "a task that is forgotten is not done again"
    assert later.is_shown("Later: the report on y.")
    assert not later.is_shown("Later: the report on y. The report on y is written.")


def test_a_request_for_a_summary_is_recognised_with_and_without_tools() -> None:
    assert is_summary(asked("Go.", SUMMARISE))
    assert is_summary(asked("Go.", SUMMARISE, tools=False))
    assert not is_summary(asked("The summary below covers what came before."))
    assert not is_summary(asked(SUMMARISE, padding=10)), "a short one asks for a title"


def test_the_summariser_leaves_facts_out_and_tells_some_wrongly(tmp_path: Path) -> None:
    session = LongSession(AGENTCLI, tmp_path, facts())
    seen = "\n".join(fact.said for fact in session.planted)
    told = session.summary(asked(), seen)
    kept = [fact for fact in session.planted if fact.told in told]
    assert 30 < len(kept) < 75
    assert any(fact.wrong and fact.wrong in told for fact in session.planted)
    assert not [fact for fact in session.planted if fact.told in session.summary(asked(), "nothing")]


def test_the_session_ends_with_a_compaction_after_all_work_is_done(tmp_path: Path) -> None:
    session = LongSession(AGENTCLI, tmp_path, facts())
    calls: list[ToolCall] = []
    while prompt := session.prompt():
        for _ in range(40):
            calls += [part for part in session(asked(prompt)).parts if isinstance(part, ToolCall)]
        session(asked(prompt, SUMMARISE))
        session(asked(prompt))
    assert session.compactions == 3
    written = {call.input["file_path"] for call in calls if call.name == "write"}
    assert written == {fact.by_file for fact in session.planted if fact.kind == "done"}
    found = probed(session)
    assert found is not None
    assert found.right["last"] == (10, 10)
    assert found.right["rule"][0] < 20, "only the last prompt was in the request"


def test_files_that_fill_the_window_differ() -> None:
    assert len(filler(1)) > FILLER
    assert filler(1) != filler(2)
    assert texts_of({"a": ["x", {"b": "y"}], "c": 3}) == "x\ny"
