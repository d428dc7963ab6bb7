"""The cheap model gives a session a better title, once, and nobody notices when it cannot."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from agentcli.agent.session import AgentSession
from agentcli.agent.titles import cleaned
from agentcli.context.settings import BudgetSettings
from agentcli.core.event import Event, Recorded, UsageReported
from agentcli.core.message import Usage
from agentcli.core.model import ModelSpec, Prices
from agentcli.core.record import Title
from agentcli.providers.scripted.model import Fault, Reply, Script, ScriptedModel, call, say
from agentcli.sessions.store import Store
from tests.agent.open_session import DEMO, open_session, say_to

CHEAP: ModelSpec = replace(DEMO, id="cheap", prices=Prices(1.0, 5.0))
USED = Usage(input=1_000, output=100)


def titled(session: AgentSession) -> list[Event]:
    return list(asyncio.run(session.improve_title()))


def cheap(*script: Reply, seen: list[str] | None = None) -> ScriptedModel:
    def reply(request: object) -> Reply:
        if seen is not None:
            seen.append(request.messages[-1].parts[0].text)  # type: ignore[attr-defined]
        return script[0]

    made: Script = reply
    return ScriptedModel(CHEAP, made)


def test_a_finished_turn_gets_a_title_once_and_what_it_cost_is_counted(tmp_path: Path) -> None:
    store, seen = Store(tmp_path / "sessions"), list[str]()
    journal = store.create(tmp_path)
    model = cheap(say('"**Fixing the login test.**"\n', usage=USED), seen=seen)
    session = open_session(tmp_path, [say("It was the clock.")], journal=journal, summariser=model)
    say_to(session, "please look why test_login fails on Mondays")
    before = session.history.usage
    recorded, spent = titled(session)
    assert isinstance(recorded, Recorded)
    assert recorded.record.body == Title("Fixing the login test", model=CHEAP.name, usage=USED, cost=0.0015)
    assert isinstance(spent, UsageReported)
    assert (spent.kind, spent.usage, spent.cost) == ("title", USED, 0.0015)
    assert "test_login" in seen[0]
    assert "It was the clock." in seen[0]
    assert titled(session) == []
    assert session.history.usage == before + USED
    assert f"  {CHEAP.name} (titles): 1 request, $0.0015" in session.report.costs()
    session.close()
    (info,) = store.list()
    assert info.title == "Fixing the login test"
    assert info.usage == session.history.usage
    resumed = store.open(info.project_id, info.id)
    assert (resumed.history.title, resumed.history.usage) == (info.title, info.usage)
    assert resumed.record(recorded.record.seq) == recorded.record
    resumed.close()


def test_nothing_is_asked_before_an_answer_or_once_the_user_named_it_or_switched_it_off(tmp_path: Path) -> None:
    seen = list[str]()
    model = cheap(say("Never"), seen=seen)
    assert titled(open_session(tmp_path, [say("x")], summariser=model)) == []
    named = open_session(tmp_path, [say("x")], summariser=model)
    say_to(named, "go")
    named.rename("mine")
    assert titled(named) == []
    off = open_session(tmp_path, [say("x")], summariser=model, titles=False)
    say_to(off, "go")
    assert titled(off) == []
    assert seen == []


def test_a_session_without_a_cheap_model_or_with_a_spent_budget_asks_none(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("x")])
    say_to(session, "go")
    assert titled(session) == []
    seen = list[str]()
    spent = open_session(
        tmp_path,
        [say("x", usage=Usage(input=9_000, output=1))],
        summariser=cheap(say("Never"), seen=seen),
        budget=BudgetSettings(session=replace(BudgetSettings().session, tokens=9_001)),
    )
    say_to(spent, "go")
    assert titled(spent) == []
    assert seen == []


def test_a_model_that_fails_or_says_nothing_changes_no_title(tmp_path: Path) -> None:
    failing = open_session(tmp_path, [say("x")], summariser=cheap(Reply(fault=Fault("bad_request"))))
    say_to(failing, "go")
    assert not [event for event in titled(failing) if isinstance(event, Recorded) and event.record.body.title]
    mute = open_session(tmp_path, [say("x")], summariser=cheap(say("", usage=USED)))
    say_to(mute, "go")
    before = mute.history.usage
    titled(mute)
    assert (mute.history.title, mute.history.usage) == ("", before + USED)
    calls = open_session(tmp_path, [say("x")], summariser=cheap(say("", call("bash", command="touch oops"))))
    say_to(calls, "go")
    titled(calls)
    assert not (tmp_path / "oops").exists()


def test_a_title_is_one_short_line_without_the_marks_around_it() -> None:
    assert cleaned('\n# "Fix the parser"\n\nmore') == "Fix the parser"
    assert cleaned("Title: `Fix it.`") == "Fix it"
    assert cleaned("\x1b[31mred\x07") == "[31mred"
    assert cleaned("“”\n") == ""
    assert len(cleaned("word " * 100)) <= 61
