"""A subagent works in a session of its own, with the permissions and the budgets of its parent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.agent.delegation.kinds import settings_for
from agentcli.agent.delegation.subagents import unfinished
from agentcli.agent.ports import ApprovalResponse, Prompt
from agentcli.agent.project.prompt_files import BUILT_IN, STEPS
from agentcli.agent.session import AgentSession
from agentcli.agent.settings import AgentSettings
from agentcli.agent.spending import RunLimits
from agentcli.context.ledger.ledger import Ledger
from agentcli.context.settings import BudgetLimit, BudgetSettings
from agentcli.core.event import (
    Event,
    Noticed,
    PermissionDecided,
    Recorded,
    ToolProgress,
    ToolStarted,
    UsageReported,
    Warned,
)
from agentcli.core.message import Message, Text, ToolCall, ToolResult, Usage
from agentcli.core.model import Model, Prices, Request, StreamEvent
from agentcli.core.on_demand import OnDemand
from agentcli.core.record import Compaction, Record
from agentcli.core.subagent_result import calls_of
from agentcli.program.prompt_files.discover import discover
from agentcli.providers.scripted.model import Reply, call, say
from agentcli.sessions.checkpoints.changes import Changes
from agentcli.sessions.in_memory import MemorySession
from agentcli.sessions.info import Parent
from agentcli.sessions.session import Session
from agentcli.sessions.store import Store
from tests.agent.open_session import DEMO, Person, ended, open_session, results, say_to
from tests.context.folding import folded
from tests.counted import counted
from tests.features.mcp.played_servers import STATUS, Played
from tests.tables import each_row

SEND = call("task", "t1", description="find it", prompt="Where is the parser?")
Tell = Callable[[Request], Reply]


def is_child(request: Request) -> bool:
    return any("You are a subagent" in block for block in request.system)


def report(result: ToolResult) -> str:
    """The report of a subagent without the line that says how to continue with it."""
    text, _, last = result.output.rpartition("\n")
    assert last == f'[task(resume="{result.metadata["session"]}") goes on with this subagent]'
    return text


def steps(request: Request) -> int:
    return sum(turn.role == "assistant" for turn in request.messages)


def last_output(request: Request) -> str:
    return next(
        part.output for turn in reversed(request.messages) for part in turn.parts if isinstance(part, ToolResult)
    )


def family(parent: list[Reply], child: list[Reply]) -> Tell:
    """Parent and child each play their own list."""

    def reply(request: Request) -> Reply:
        script = child if is_child(request) else parent
        return script[min(steps(request), len(script) - 1)]

    return reply


def on_disk(tmp_path: Path, script: Tell, **more: object) -> tuple[Path, Store, AgentSession]:
    work = tmp_path / "work"
    work.mkdir()
    store = Store(tmp_path / "sessions")
    journal = store.create(work)
    kept = store.checkpoints(journal, [work])

    def child(parent: Session) -> Session:
        return store.create(work, parent=Parent(parent.id, parent.history.last_seq, "subagent"))

    session = open_session(
        work,
        script,
        journal=journal,
        child=child,
        changes=lambda _: lambda append: OnDemand(lambda: Changes(journal, kept, append), lambda: True),
        **more,  # type: ignore[arg-type]
    )
    return work, store, session


def test_a_subagent_that_never_gave_a_whole_answer_reports_an_error_with_what_it_said(tmp_path: Path) -> None:
    session = open_session(tmp_path, family([say("", SEND), say("Ah.")], [say("It may be in", stop="max_tokens")]))
    assert ended(say_to(session, "go")).ending == "done"
    (result,) = results(session)
    assert result.status == "error"
    assert "ran into its output limit 4 times in a row" in result.output
    assert report(result).endswith("It may be in")


def test_a_subagent_repeats_no_warning_of_its_parent(tmp_path: Path) -> None:
    servers = Played(STATUS)
    servers.failed["git"] = "needs $TOKEN, which is not set"
    script = family([say("", SEND), say("", SEND), say("Done.")], [say("Found.")])
    events = say_to(open_session(tmp_path, script, servers=servers), "go")
    assert [event.message for event in events if isinstance(event, Warned)] == [
        "Server git failed: needs $TOKEN, which is not set."
    ]


def test_the_last_words_of_a_subagent_are_the_result_of_the_call(tmp_path: Path) -> None:
    script = family(
        [say("I send somebody.", SEND), say("It is in parser.py.")],
        [say("Looking.", call("list")), say("In parser.py:3.")],
    )
    session = open_session(tmp_path, script)
    events = say_to(session, "go")
    assert ended(events).text == "It is in parser.py."
    [result] = results(session)
    assert (result.name, result.status, report(result), result.title) == (
        "task",
        "success",
        "In parser.py:3.",
        "Task: find it",
    )
    assert any(isinstance(event, ToolProgress) and event.call_id == "t1" for event in events)
    assert any(isinstance(event, ToolProgress) and event.calls == 1 and event.tokens for event in events)
    assert len(calls_of(result)) == 1
    assert not any(isinstance(event, ToolStarted) and event.call.name == "list" for event in events)


def test_a_subagent_sees_its_task_alone_and_has_no_subagents_of_its_own(tmp_path: Path) -> None:
    seen: list[Request] = []

    def script(request: Request) -> Reply:
        if not is_child(request):
            return say("", SEND) if steps(request) == 0 else say("Done.")
        seen.append(request)
        return say("Found.")

    say_to(open_session(tmp_path, script), "the secret of the conversation")
    [request] = seen
    words = repr(request.messages)
    assert "Where is the parser?" in words
    assert "secret" not in words
    assert not {"task", "ask_user", "exit_plan"} & {tool.name for tool in request.tools}


def test_what_a_subagent_spends_is_its_parents_to_pay(tmp_path: Path) -> None:
    script = family(
        [Reply((SEND,), usage=Usage(100, 10)), Reply(say("Done.").parts, usage=Usage(200, 10))],
        [Reply(say("Found.").parts, usage=Usage(1_000, 50))],
    )
    session = open_session(tmp_path, script, model=replace(DEMO, prices=Prices(1, 1)))
    events = say_to(session, "go")
    assert session.history.usage == Usage(1_300, 70)
    assert session.history.cost == pytest.approx(1_370 / 1e6)
    assert any("(subagents)" in line for line in session.report.costs())
    reported = [event for event in events if isinstance(event, UsageReported)]
    assert [(event.kind, event.usage.input) for event in reported] == [
        ("reply", 100),
        ("subagent", 1_000),
        ("reply", 200),
    ]


def test_its_session_stands_under_its_parent_and_is_never_the_newest(tmp_path: Path) -> None:
    work, store, session = on_disk(tmp_path, family([say("", SEND), say("Done.")], [say("Found.")]))
    say_to(session, "go")
    infos = {info.id: info for info in store.list(store.project_id(work))}
    [child] = [info for info in infos.values() if info.parent]
    assert child.parent is not None
    assert (child.parent.session, child.parent.kind) == (session.journal.id, "subagent")
    assert results(session)[0].metadata["session"] == child.id
    newest = store.newest(store.project_id(work))
    assert newest is not None
    assert newest.id == session.journal.id
    assert child.usage.total < newest.usage.total


def test_its_edits_are_asked_about_counted_and_taken_back_with_its_parent(tmp_path: Path) -> None:
    person = Person(ApprovalResponse("once"))
    write = call("write", file_path="a.txt", content="one\ntwo\n")
    work, store, session = on_disk(
        tmp_path, family([say("", SEND), say("Done.")], [say("", write), say("Written.")]), person=person
    )
    say_to(session, "go")
    assert (work / "a.txt").read_text() == "one\ntwo\n"
    assert person.asked[0].why.startswith("A subagent asks (find it).")
    assert "+one" in session.report.diff()
    summary = store.find(session.journal.id).summary
    assert (summary.additions, summary.files) == (2, 1)
    fact = folded(Ledger(cwd=str(work)), session.journal.records()).file("a.txt")
    assert fact is not None
    assert (fact.state, fact.additions) == ("CREATED", 2)
    session.undo_stack.undo()
    assert not (work / "a.txt").exists()


def test_what_nobody_allows_is_denied_and_told(tmp_path: Path) -> None:
    write = call("write", "w1", file_path="a.txt", content="x")
    session = open_session(tmp_path, family([say("", SEND), say("Done.")], [say("", write), say("I may not write.")]))
    events = say_to(session, "go")
    assert not (tmp_path / "a.txt").exists()
    [denied] = [event for event in events if isinstance(event, PermissionDecided) and event.decision == "deny"]
    assert denied.call_id == "w1"


def test_several_work_side_by_side(tmp_path: Path) -> None:
    both = [call("task", f"t{n}", description=f"part {n}", prompt=f"part {n}") for n in (1, 2)]
    child = [say("", call("bash", command="sleep 0.3")), say("Found.")]
    session = open_session(tmp_path, family([say("", *both), say("Done.")], child), mode="yolo")
    events = say_to(session, "go")
    answered = [
        n for n, event in enumerate(events) if isinstance(event, Recorded) and isinstance(event.record.body, ToolResult)
    ]
    began = [n for n, event in enumerate(events) if isinstance(event, ToolProgress) and "sleep" in event.text]
    assert len(began) == len(answered) == 2
    assert max(began) < min(answered)


def test_an_explorer_changes_nothing_and_in_plan_mode_there_are_only_explorers(tmp_path: Path) -> None:
    seen: list[set[str]] = []
    answered: list[str] = []
    tries = ("touch x", "ls | wc -l")

    def script(request: Request) -> Reply:
        if is_child(request):
            step = steps(request)
            answered.extend([last_output(request)] if step else [])
            seen.extend([] if step else [{tool.name for tool in request.tools}])
            return say("", call("bash", command=tries[step])) if step < len(tries) else say("Found.")
        sent = ToolCall("t1", "task", {"description": "look", "prompt": "look", "agent": "explore"})
        return say("", sent if seen == [] else SEND) if steps(request) == 0 else say("Done.")

    say_to(open_session(tmp_path, script, mode="yolo"), "go")
    say_to(open_session(tmp_path, script, mode="plan"), "go")
    assert seen[0] == seen[1] == {"read", "glob", "grep", "list", "bash", "web_fetch", "recall"}
    assert [answer.partition(":")[0] for answer in answered] == ["This agent only reads", "0\n"] * 2
    assert not (tmp_path / "x").exists()


def test_an_unknown_kind_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    sent = call("task", description="look", prompt="look", agent="wizard")
    session = open_session(tmp_path, family([say("", sent), say("Done.")], [say("Found.")]))
    say_to(session, "go")
    assert (results(session)[0].status, "general, explore" in results(session)[0].output) == ("error", True)


def test_the_budget_of_an_agent_stops_the_subagent_and_not_its_parent(tmp_path: Path) -> None:
    budget = BudgetSettings(agent=BudgetLimit(tokens=4_000))
    child = [Reply((call("list"),), usage=Usage(3_900, 10)), say("Found.")]
    session = open_session(tmp_path, family([say("", SEND), say("I do it myself.")], child), budget=budget)
    assert ended(say_to(session, "go")).text == "I do it myself."
    assert results(session)[0].status == "error"
    assert "agent budget of 4,000 tokens" in results(session)[0].output


def test_a_subagent_cannot_spend_what_its_parent_no_longer_has(tmp_path: Path) -> None:
    budget = BudgetSettings(session=BudgetLimit(tokens=5_000))
    parent = [Reply((SEND,), usage=Usage(3_000, 10)), say("Done.")]
    child = [Reply((call("list"),), usage=Usage(1_900, 10)), say("Found.")]
    session = open_session(tmp_path, family(parent, child), budget=budget)
    last = ended(say_to(session, "go"))
    assert "session budget of 5,000 tokens" in results(session)[0].output
    assert last.ending == "limit"


def test_the_limits_of_a_run_hold_for_its_subagents(tmp_path: Path) -> None:
    child = [Reply((call("list"),), usage=Usage(1_000, 10)), say("Found.")]
    session = open_session(tmp_path, family([say("", SEND), say("Done.")], child), run_limits=RunLimits(tokens=900))
    last = ended(say_to(session, "go"))
    assert "--max-tokens" in results(session)[0].output
    assert last.ending == "limit"
    rest = RunLimits(5, 1.0, 100).rest(2, Usage(30), 0.25)
    assert (rest.turns, rest.cost, rest.tokens) == (3, 0.75, 70)


def test_an_interrupt_ends_a_subagent_and_keeps_what_it_said(tmp_path: Path) -> None:
    child = [say("Half of it is done.", call("bash", command="sleep 30"))]
    session = open_session(tmp_path, family([say("", SEND), say("Done.")], child), mode="yolo")

    async def interrupted() -> list[Event]:
        interrupt, events = asyncio.Event(), list[Event]()
        async for event in session.turn(Prompt("go"), interrupt):
            events.append(event)
            if isinstance(event, ToolProgress) and "sleep" in event.text:
                interrupt.set()
        return events

    events = asyncio.run(asyncio.wait_for(interrupted(), 20))
    assert ended(events).ending == "interrupted"
    [result] = results(session)
    assert result.status == "interrupted"
    assert "Half of it is done." in result.output


REVIEWER = "---\nname: rev\ndescription: Reviews.\n{}---\nYou review code."


def reviewing(
    tmp_path: Path, head: str, child: list[Reply], *calls: ToolCall, **more: object
) -> tuple[AgentSession, list[Request]]:
    """A session whose `rev` a file defines; with the requests that its subagents made."""
    file = tmp_path / "home/.claude/agents/rev.md"
    file.parent.mkdir(parents=True)
    file.write_text(REVIEWER.format(head))
    asked: list[Request] = []
    play = family([say("", *(calls or (to_rev("t1"),))), say("Ah.")], child)

    def script(request: Request) -> Reply:
        if is_child(request):
            asked.append(request)
        return play(request)

    session = open_session(
        tmp_path,
        script,
        prompt_files=lambda: discover(None, tmp_path / "home", tmp_path / "config"),
        **more,  # type: ignore[arg-type]
    )
    return session, asked


def to_rev(call_id: str, **more: object) -> ToolCall:
    return call("task", call_id, description="review", prompt="Look.", agent="rev", **more)


def test_an_agent_of_a_file_has_its_text_as_system_prompt_and_its_tools_alone(tmp_path: Path) -> None:
    head = "tools: Glob, Grep, LS, Read, NotebookRead, Bash(git *), Agent\ndisallowedTools: Bash\nmodel: sonnet\neffort: low\n"
    session, asked = reviewing(tmp_path, head, [say("Fine.")])
    said = [event.message for event in say_to(session, "go") if isinstance(event, Noticed)]
    assert said == ["Agent rev goes without tools that do not exist here: NotebookRead."]
    assert report(results(session)[0]) == "Fine."
    assert asked[0].system[0] == "You review code."
    assert [tool.name for tool in asked[0].tools] == ["read", "glob", "grep", "list", "task"]
    assert asked[0].model.id == session.core.model.id
    assert asked[0].options["effort"] == "low"


def test_an_agent_that_may_not_edit_has_no_tool_for_several_edits_either(tmp_path: Path) -> None:
    session, asked = reviewing(tmp_path, "disallowedTools: Edit, Write\n", [say("Fine.")])
    say_to(session, "go")
    assert not {"edit", "multi_edit", "write"} & {tool.name for tool in asked[0].tools}


def test_an_agent_without_a_tool_that_exists_is_answered_with_its_tools(tmp_path: Path) -> None:
    session, asked = reviewing(tmp_path, "tools: NotebookRead, LSP\n", [say("Fine.")])
    say_to(session, "go")
    assert results(session)[0].output == "Agent rev lists no tool that exists here: NotebookRead, LSP."
    assert not asked


def test_a_wrong_kind_is_answered_with_the_near_ones(tmp_path: Path) -> None:
    wrong = call("task", "t1", description="d", prompt="p", agent="revv")
    session, _ = reviewing(tmp_path, "", [say("Fine.")], wrong)
    say_to(session, "go")
    assert results(session)[0].output == (
        "There is no kind of agent 'revv'. Did you mean rev? Use one of: rev, general, explore."
    )


def test_an_agent_stops_after_its_steps_and_begins_with_its_skills(tmp_path: Path) -> None:
    skill = tmp_path / "home/.claude/skills/pdf/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\ndescription: d\n---\nBody of pdf.")
    session, asked = reviewing(
        tmp_path, "maxTurns: 1\nskills: pdf, none\n", [say("", call("list", "l1")), say("Late.")]
    )
    say_to(session, "go")
    assert "agent.max_steps" in results(session)[0].output
    assert any("Body of pdf." in part.text for part in asked[0].messages[0].parts if isinstance(part, Text))


class Meeting:
    """A model whose subagents wait for one another before they are answered."""

    def __init__(self, model: Model, count: int) -> None:
        self._model, self._barrier, self.spec = model, asyncio.Barrier(count), model.spec

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """The events of the model, once all are there."""
        if is_child(request):
            async with asyncio.timeout(60):
                await self._barrier.wait()
        async for event in self._model.stream(request):
            yield event

    async def count(self, request: Request) -> int | None:
        """Nothing is counted."""
        return None


@pytest.mark.parametrize("count", [3, 8])
def test_subagents_of_one_reply_work_at_the_same_time(count: int, tmp_path: Path) -> None:
    agents = [call("task", f"t{n}", description="d", prompt=f"p{n}") for n in range(count)]
    script = family([say("", *agents), say("Done.")], [say("Fine.")])
    session = open_session(tmp_path, script, wrapped=lambda model: Meeting(model, count))
    say_to(session, "go")
    assert [report(result) for result in results(session)] == ["Fine."] * count


def test_a_subagent_of_a_subagent_sends_none(tmp_path: Path) -> None:
    session, asked = reviewing(tmp_path, "tools: Agent, Read\n", [say("", to_rev("t2")), say("Fine.")])
    say_to(session, "go")
    assert [[tool.name for tool in request.tools] for request in asked] == [
        ["read", "task"],
        ["read"],
        ["read"],
        ["read", "task"],
    ]


def test_in_plan_mode_an_agent_of_a_file_only_looks(tmp_path: Path) -> None:
    session, asked = reviewing(tmp_path, "tools: Bash, Read, Write\n", [say("Fine.")], mode="plan")
    say_to(session, "go")
    assert [tool.name for tool in asked[0].tools] == ["read", "bash"]


@pytest.mark.parametrize("stored", [True, False])
def test_a_former_subagent_goes_on_with_what_it_knows_and_its_costs_count_once(stored: bool, tmp_path: Path) -> None:
    asked: list[Request] = []

    def script(request: Request) -> Reply:
        if is_child(request):
            asked.append(request)
            return say(f"Report {len(asked)}.", usage=Usage(input=100, output=10))
        done = [part for message in request.messages for part in message.parts if isinstance(part, ToolResult)]
        resume = {1: done[0].output.split('"')[1] if done else "", 2: "nobody"}
        if len(done) == 3:
            return say("Done.")
        work = {"description": "find it", "prompt": "Where?", "resume": resume.get(len(done), "")}
        return say("", call("task", f"t{len(done)}", **work))

    if stored:
        stores: list[Store] = []

        def reopened(parent: Session, id: str) -> Session | None:
            info = next((info for info in stores[0].list(None) if info.id == id), None)
            return stores[0].open(info.project_id, info.id) if info else None

        _, store, session = on_disk(tmp_path, script, reopen=reopened)
        stores.append(store)
    else:
        session = open_session(tmp_path, script)
    say_to(session, "go")
    first, second, third = results(session)
    assert (report(first), report(second)) == ("Report 1.", "Report 2.")
    assert second.metadata["session"] == first.metadata["session"]
    assert asked[1].messages[0] == asked[0].messages[0]
    assert asked[1].system == asked[0].system
    assert second.metadata["spent"]["usage"]["input"] == 100
    assert third.output == f"There is no subagent nobody of this session. Ids: {first.metadata['session']}."


def test_a_former_subagent_is_found_by_its_newest_report_whatever_came_before(tmp_path: Path) -> None:
    work = {"description": "find it", "prompt": "Where?"}
    read: list[str] = []

    class Watched(MemorySession):
        def records(self, newest_first: bool = False) -> Iterator[Record]:
            for record in super().records(newest_first):
                read.append(record.kind)
                yield record

    def script(request: Request) -> Reply:
        if is_child(request):
            return say("Found.")
        if isinstance(request.messages[-1].parts[-1], ToolResult):
            return say("Done.")
        sent = [result.metadata["session"] for result in results(session)[20:]]
        return say("", call("task", f"t{len(sent)}", **work, resume=sent[-1] if sent else ""))

    journal = Watched()
    journal.append(Message("user", (Text("go"),), 1))
    for number in range(20):
        journal.append(Message("assistant", (call("read", f"r{number}", file_path="a.py"),), 1))
        journal.append(ToolResult(f"r{number}", "read", "success", "x"))
    session = open_session(tmp_path, script, journal=journal)
    say_to(session, "find it", "again")
    assert [report(result) for result in results(session)[20:]] == ["Found.", "Found."]
    assert read.count("tool_result") == 1


def test_a_subagent_whose_result_was_compacted_away_has_ended(tmp_path: Path) -> None:
    work = {"description": "find it", "prompt": "Where?"}
    known: list[str] = []

    def script(request: Request) -> Reply:
        if is_child(request):
            return say("Found.", usage=Usage(input=100, output=10))
        if isinstance(request.messages[-1].parts[-1], ToolResult):
            return say("Done.")
        return say("", call("task", f"t{len(known)}", **work, resume=known[-1] if known else ""))

    session = open_session(tmp_path, script)

    async def say_both() -> None:
        async for _ in session.turn(Prompt("go"), asyncio.Event()):
            pass
        known.append(str(results(session)[-1].metadata["session"]))
        last = session.history.last_seq
        gone = Compaction("manual", "compressed", "auto", (1, last), last + 1, "So far.", carry=session.history.carry)
        session.conversation.record(gone)
        assert not results(session)
        async for _ in session.turn(Prompt("go on"), asyncio.Event()):
            pass

    asyncio.run(say_both())
    assert report(results(session)[-1]) == "Found."


@pytest.mark.parametrize("background", [False, True])
def test_subagents_that_a_crash_interrupted_are_told_once_and_go_on_with_all_their_costs(
    background: bool, tmp_path: Path
) -> None:
    store = Store(tmp_path / "sessions")
    parent = store.create(tmp_path)
    work = {"description": "find it", "prompt": "Where?", "agent": "explore"}
    parent.append(Message("user", (Text("go"),), 1))
    parent.append(Message("assistant", (call("task", "t1", **work), call("task", "t2", **work)), 1))
    parent.append(ToolResult("t1", "task", "success", "found", metadata={"session": "other"}))
    if background:
        parent.append(ToolResult("t2", "task", "success", "as job-1", metadata={"job": "job-1", "agent": "explore"}))
    child = store.create(tmp_path, parent=Parent(parent.id, 2, "subagent"))
    child.append(Message("user", (Text("Where?"),), 1))
    child.append(Message("assistant", (Text("Half."),), 1, usage=Usage(input=70, output=7), cost=0.5))
    for one in (child, parent):
        one.close()  # as after a kill: no result was written
    asked: list[Request] = []

    def script(request: Request) -> Reply:
        if is_child(request):
            return say("All of it.", usage=Usage(input=100, output=10))
        asked.append(request)
        return (
            say("", call("task", "t3", **{**work, "prompt": "Go on.", "resume": child.id}))
            if len(asked) == 1
            else say("Ok.")
        )

    def opened(_: object, id: str) -> Session:
        return store.open(child.info.project_id, id)

    session = open_session(
        tmp_path,
        script,
        journal=store.open(parent.info.project_id, parent.id),
        reopen=opened,
        children=lambda _, since: [("other", "Where?"), (child.id, "Where?")],
    )
    events = say_to(session, "resume them", "and now?")
    notices = [event.message for event in events if isinstance(event, Noticed) and "interrupted" in event.message]
    assert notices == [
        "A subagent was interrupted when the program ended (find it). The model is told, and can resume them."
    ]
    texts = [part.text for message in asked[-1].messages for part in message.parts if isinstance(part, Text)]
    told = [text for text in texts if "were interrupted" in text]
    assert len(told) == 1
    assert f'- task(resume="{child.id}"): find it (agent explore)' in told[0]
    assert '"other"' not in told[0]
    result = results(session)[-1]
    assert report(result) == "All of it."
    assert (result.metadata["agent"], result.metadata["session"]) == ("explore", child.id)
    assert result.metadata["spent"]["usage"]["input"] == 170
    session.close()


def test_a_subagent_in_the_background_is_a_job_and_a_run_without_a_person_waits_for_it(tmp_path: Path) -> None:
    begun = call("task", "t1", description="find it", prompt="Where?", run_in_background=True)
    said: list[str] = []

    def script(request: Request) -> Reply:
        if is_child(request):
            return say("In parser.py.")
        last = request.messages[-1].parts[-1]
        said.append(last.output if isinstance(last, ToolResult) else getattr(last, "text", ""))
        replies = [
            say("", begun),
            say("I go on meanwhile."),
            say("", call("bash_output", "o1", id="job-1")),
            say("It is in parser.py."),
        ]
        return replies[min(len(said), len(replies)) - 1]

    session = open_session(tmp_path, script, attended=False)
    assert ended(say_to(session, "go")).text == "It is in parser.py."
    assert said[1].startswith("The subagent works in the background as job-1.")
    assert "Background job job-1 (agent general: find it) has ended: done." in said[2]
    output = results(session)[1]
    assert "In parser.py." in output.output
    assert output.metadata["spent"]["model"] == session.core.model.name


def test_the_end_of_a_subagent_in_the_background_begins_a_turn_by_itself(tmp_path: Path) -> None:
    begun = call("task", "t1", description="find it", prompt="Where?", background=True)

    def script(request: Request) -> Reply:
        if is_child(request):
            return say("In parser.py.", delay=0.3)
        last = request.messages[-1].parts[-1]
        if isinstance(last, ToolResult):
            return say("I go on meanwhile.")
        return say("It has ended.") if "has ended" in getattr(last, "text", "") else say("", begun)

    session = open_session(tmp_path, script)
    seen: list[Event] = []

    async def story() -> list[str]:
        async def show(event: Event) -> None:
            seen.append(event)

        texts = [(await session.run(Prompt("go"), asyncio.Event(), show)).text]
        assert (session.is_due(), session.goes_on()) == (False, True)
        await asyncio.wait([job.task for job in session.core.jobs.running() if job.task is not None])
        assert session.is_due()
        due = await session.due(asyncio.Event(), seen.extend)
        assert isinstance(due, Prompt)
        texts.append((await session.run(due, asyncio.Event(), show)).text)
        assert (session.is_due(), session.goes_on()) == (False, False)
        return texts

    assert asyncio.run(story()) == ["I go on meanwhile.", "It has ended."]
    assert "Woken by job-1, which has ended" in [one.message for one in seen if isinstance(one, Noticed)]


@each_row(("own", "limit", "steps"), [(0, 0, STEPS), (7, 0, 7), (0, 5, 5), (7, 5, 5)])
def test_every_subagent_has_a_limit_of_steps(own: int, limit: int, steps: int) -> None:
    kind = replace(BUILT_IN["general"], max_steps=own)
    assert settings_for(kind, AgentSettings(max_steps=limit)).max_steps == steps


# Subagents that were at work when the program ended are found without reading what was reported before they were sent.


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
