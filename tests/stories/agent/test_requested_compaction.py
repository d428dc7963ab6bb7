"""A compaction that the model asks for, or the user with an approved plan, happens between two steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agentcli.agent.ports import ApprovalResponse
from agentcli.agent.session import AgentSession
from agentcli.context.settings import ContextSettings
from agentcli.core.event import CompactionEnded, Event
from agentcli.core.message import Text, ToolResult
from agentcli.core.model import Request
from agentcli.providers.scripted.model import Reply, call, say
from tests.agent.open_session import DEMO, Person, open_session, say_to

LARGE = replace(DEMO, window=40_000, max_output=4_000)
OFFER = "you may call the tool compress(focus)"


def files(folder: Path, count: int = 8) -> None:
    for n in range(count):
        rows = "".join(f"file {n} line {row} says something of its own\n" for row in range(200))
        (folder / f"f{n}.txt").write_text(rows)


def texts(request: Request) -> Sequence[str]:
    parts = [part for message in request.messages for part in message.parts]
    return [
        part.text if isinstance(part, Text) else part.output for part in parts if isinstance(part, Text | ToolResult)
    ]


def is_offered(request: Request) -> bool:
    return any(OFFER in text for text in texts(request))


class Reader:
    """Reads one file after the other, and asks for compactions as soon as it may; `asks` is how often in a row."""

    def __init__(self, asks: int = 1) -> None:
        self.seen: list[Request] = []
        self._asks = asks

    def __call__(self, request: Request) -> Reply:
        if not request.tools:
            return say("<state_snapshot><overall_goal>Read the files.</overall_goal></state_snapshot>")
        self.seen.append(request)
        if is_offered(request) and self._asks:
            self._asks -= 1
            return say("", call("compress", focus="the line numbers"))
        step = len(self.seen)
        return say("", call("read", file_path=f"f{step - 1}.txt")) if step <= 8 else say("All read.")


def results(session: AgentSession, name: str) -> Sequence[ToolResult]:
    found = (record.body for record in session.journal.records())
    return [body for body in found if isinstance(body, ToolResult) and body.name == name]


def ends(events: Sequence[Event]) -> Sequence[CompactionEnded]:
    return [event for event in events if isinstance(event, CompactionEnded)]


def test_above_half_of_the_window_the_model_may_ask_for_a_compaction(tmp_path: Path) -> None:
    files(tmp_path)
    reader = Reader()
    session = open_session(tmp_path, reader, model=LARGE, context=ContextSettings(soft=0.8, hard=0.9))
    events = say_to(session, "Read all files.")
    [ended] = ends(events)
    assert (ended.status, ended.trigger) == ("compressed", "auto")
    assert ended.tokens_before > 18_000 > ended.tokens_after
    assert [result.output for result in results(session, "compress")] == [
        "The conversation is compacted before your next step."
    ]
    at = next(n for n, request in enumerate(reader.seen) if is_offered(request))
    assert at > 2
    assert all(request.tools == reader.seen[0].tools for request in reader.seen), "the tools stay, so the cache does"
    assert "compress" not in {tool.name for tool in reader.seen[-1].tools}
    assert any("<state_snapshot>" in text for text in texts(reader.seen[at + 1]))


def test_a_session_below_half_is_told_nothing_and_may_not_compact(tmp_path: Path) -> None:
    replies = [say("", call("compress")), say("Then not.")]
    session = open_session(tmp_path, replies, model=LARGE)
    assert not ends(say_to(session, "Go."))
    [refused] = results(session, "compress")
    assert refused.status == "error"
    assert "nothing needs to be summarised below half" in refused.output


def test_a_second_request_right_after_a_compaction_is_refused(tmp_path: Path) -> None:
    files(tmp_path)
    session = open_session(tmp_path, Reader(), model=LARGE, context=ContextSettings(soft=0.8, hard=0.9))
    say_to(session, "Read all files.")
    assert "only" in session.compactor.ask("")


def test_a_user_who_compacts_alone_is_asked_for_no_compaction(tmp_path: Path) -> None:
    files(tmp_path, 4)
    reader = Reader()
    session = open_session(tmp_path, reader, model=LARGE, context=ContextSettings(autocompact=False))
    say_to(session, "Read all files.")
    assert not any(map(is_offered, reader.seen))
    assert "switched automatic compaction off" in session.compactor.ask("")


def test_a_plan_is_carried_out_after_a_compaction_that_keeps_its_words(tmp_path: Path) -> None:
    files(tmp_path)
    plan = "# Plan\n\n1. Rename `f0.txt` to `zero.txt`.\n2. Say so.\n"
    seen: list[Request] = []

    def script(request: Request) -> Reply:
        if not request.tools:
            return say("<state_snapshot><overall_goal>Rename.</overall_goal></state_snapshot>")
        seen.append(request)
        step = len(seen)
        if step <= 4:
            return say("", call("read", file_path=f"f{step}.txt"))
        return say("", call("exit_plan", plan=plan)) if step == 5 else say("Carried out.")

    person = Person(ApprovalResponse("compact"))
    session = open_session(tmp_path, script, model=LARGE, mode="plan", person=person)
    for policy in ("auto", "opencode"):
        seen.clear()
        builder = session.conversation.builder
        builder.settings = replace(builder.settings, policy=policy)
        session.core.approval.mode, person.answers = "plan", [ApprovalResponse("compact")]
        [ended] = ends(say_to(session, "Plan it."))
        assert ended.status == "compressed"
        assert session.core.approval.mode == "auto-edit"
        assert any(plan.strip() in text for text in texts(seen[-1])), policy
        assert len(seen[-1].messages) < len(seen[-2].messages)


def test_an_ordinary_approval_compacts_nothing(tmp_path: Path) -> None:
    replies = [say("", call("exit_plan", plan="# Plan")), say("Done.")]
    session = open_session(tmp_path, replies, mode="plan", person=Person(ApprovalResponse("session")))
    assert not ends(say_to(session, "Plan it."))
    assert results(session, "exit_plan")[0].output == "The user approves the plan. Carry it out."


def test_a_plan_after_a_short_talk_tells_that_nothing_is_summarised(tmp_path: Path) -> None:
    replies = [say("", call("exit_plan", plan="# Plan")), say("Done.")]
    session = open_session(tmp_path, replies, mode="plan", person=Person(ApprovalResponse("compact")))
    assert not ends(say_to(session, "Plan it."))
    said = results(session, "exit_plan")[0].output
    assert said.startswith("The user approves the plan. The conversation stays whole: Not enough to compact yet (")
    assert said.endswith("Carry the plan out.")
