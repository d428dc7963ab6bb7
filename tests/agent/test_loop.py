"""A turn, whatever the model, the tools and the user do in it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Prompt
from agentcli.agent.session import AgentSession
from agentcli.agent.settings import AgentSettings
from agentcli.agent.spending import RunLimits
from agentcli.core.errors import LimitReached
from agentcli.core.event import Recorded, TextDelta, TurnEnded
from agentcli.core.message import Text, ToolCall, ToolResult
from agentcli.core.record import Failure, Todo, TodoItem
from agentcli.providers.scripted.model import Fault, Reply, call, say
from tests.agent.open_session import Person, ended, messages, open_session, results, say_to

STOPPED = "The user interrupted the turn before this message."


def test_a_turn_goes_on_until_the_model_asks_for_no_more_tools(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello\n")
    session = open_session(tmp_path, [say("I look.", call("read", file_path="a.txt")), say("It says hello.")])
    events = say_to(session, "what does a.txt say?")
    assert ended(events).text == "It says hello."
    assert [message.role for message in messages(session)] == ["user", "assistant", "assistant"]
    assert [(result.name, result.status) for result in results(session)] == [("read", "success")]
    assert "hello" in results(session)[0].output


def test_a_changed_todo_list_is_announced_before_the_result_of_its_call(tmp_path: Path) -> None:
    change = call("todo", todos=[{"content": "find the bug", "status": "in_progress"}])
    session = open_session(tmp_path, [say("", change), say("Planned.")])
    bodies = [event.record.body for event in say_to(session, "go") if isinstance(event, Recorded)]
    [listed] = [n for n, body in enumerate(bodies) if isinstance(body, Todo)]
    assert bodies[listed] == Todo((TodoItem("find the bug", "in_progress"),))
    assert isinstance(bodies[listed + 1], ToolResult)


def test_what_the_user_said_is_recorded_before_anything_is_sent(tmp_path: Path) -> None:
    session = open_session(tmp_path, [Reply(fault=Fault("auth"))])
    events = say_to(session, "keep this")
    assert ended(events).ending == "failed"
    assert messages(session)[0].text == "keep this"


def reminders(session: AgentSession) -> list[str]:
    return [part.text for m in messages(session) for part in m.parts if isinstance(part, Text) and part.synthetic]


def test_empty_and_malformed_replies_are_counted_together(tmp_path: Path) -> None:
    broken = say("", call("write", file_path="a.txt", content="x"), stop="malformed_call")
    session = open_session(tmp_path, [say(""), broken, say(""), broken, say("too late")], mode="yolo")
    last = ended(say_to(session, "go"))
    assert (last.ending, last.steps) == ("failed", 4)
    assert "malformed call of write" in str(last.error)
    assert not (tmp_path / "a.txt").exists()


def test_a_malformed_call_is_told_by_its_tool_and_how_to_go_on(tmp_path: Path) -> None:
    broken = say("", call("write", file_path="a.txt", content="x"), stop="malformed_call")
    session = open_session(tmp_path, [broken, say("Then not.")])
    assert ended(say_to(session, "go")).text == "Then not."
    [told] = [text for text in reminders(session) if "malformed" in text]
    assert "call of write" in told
    assert "write the beginning, then add the rest with edit" in told


def test_the_count_of_malformed_replies_starts_anew_after_a_call_that_ran(tmp_path: Path) -> None:
    broken = say("", stop="malformed_call")
    work = [[broken] * 3 + [say("", call("list", path=f"{n}"))] for n in range(3)]
    session = open_session(tmp_path, [*(reply for step in work for reply in step), *[broken] * 3, say("Done.")])
    last = ended(say_to(session, "go"))
    assert (last.ending, last.text, last.steps) == ("done", "Done.", 16)


def test_an_empty_reply_is_paid_for_in_the_books(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say(""), say("Now I know.")])
    events = say_to(session, "go")
    failures = [e.record.body for e in events if isinstance(e, Recorded) and isinstance(e.record.body, Failure)]
    assert len(failures) == 1
    assert session.history.usage.prompt > failures[0].usage.prompt > 0


def test_empty_replies_with_work_between_them_do_not_end_a_turn(tmp_path: Path) -> None:
    work = [say("", call("list", path=f"{n}")) for n in range(3)]
    session = open_session(tmp_path, [reply for step in work for reply in (say(""), step)] + [say(""), say("Done.")])
    assert (ended(say_to(session, "go")).ending, ended(say_to(session, "go")).text) == ("done", "Done.")


@pytest.mark.parametrize("most", [1, 3, 10])
def test_pauses_without_end_end_the_turn(tmp_path: Path, most: int) -> None:
    session = open_session(tmp_path, lambda _: say("Wait.", stop="pause"), max_pauses=most)
    last = ended(say_to(session, "go"))
    assert (last.ending, last.steps, last.text) == ("incomplete", most, "Wait.")
    assert "continue" in str(last.error)


def test_pauses_with_replies_between_them_go_on(tmp_path: Path) -> None:
    pauses = [say("Wait.", stop="pause")] * 2
    session = open_session(tmp_path, [*pauses, say("", call("list")), *pauses, say("Done.")], max_pauses=3)
    assert ended(say_to(session, "go")).text == "Done."


def test_a_reply_that_recites_is_asked_for_once_more_in_other_words(tmp_path: Path) -> None:
    recited = say("It was the best of times", stop="recitation")
    assert ended(say_to(open_session(tmp_path, [recited, say("In my words.")]), "go")).text == "In my words."
    last = ended(say_to(open_session(tmp_path, [recited] * 2), "go"))
    assert (last.ending, last.steps, last.text) == ("refused", 2, recited.parts[0].text)  # type: ignore[union-attr]
    assert "word for word" in str(last.error)


def test_a_turn_that_never_got_a_whole_answer_is_kept_as_failed(tmp_path: Path) -> None:
    session = open_session(tmp_path, lambda _: say("Half", stop="max_tokens"))
    events = say_to(session, "go")
    (failure,) = [e.record.body for e in events if isinstance(e, Recorded) and isinstance(e.record.body, Failure)]
    assert failure.message == str(ended(events).error)
    assert "agent.max_output" in failure.message


def test_a_stream_that_breaks_runs_none_of_its_calls(tmp_path: Path) -> None:
    broken = Reply((Text("I write."), call("write", file_path="a.txt", content="x")), fault=Fault("auth", after=99))
    session = open_session(tmp_path, [broken], mode="yolo")
    assert ended(say_to(session, "go")).ending == "failed"
    assert not (tmp_path / "a.txt").exists()
    assert messages(session)[-1].stop == "error"


def test_calls_that_only_read_run_together_and_are_answered_in_order(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text(name * 3)
    calls = [call("read", file_path=f"{name}.txt") for name in "abc"]
    session = open_session(tmp_path, [say("All three.", *calls), say("Read.")])
    say_to(session, "go")
    assert sorted(result.output.strip()[-3:] for result in results(session)) == ["aaa", "bbb", "ccc"]
    assert {result.call_id for result in results(session)} == {c.call_id for c in messages(session)[1].calls}


def test_an_unknown_tool_and_a_wrong_input_are_answered_not_fatal(tmp_path: Path) -> None:
    wrong = say("Hm.", call("fly", where="up"), call("read", path="a.txt"), ToolCall("", "read", {"file_path": 7}))
    session = open_session(tmp_path, [wrong, say("I see.")])
    assert ended(say_to(session, "go")).text == "I see."
    assert [result.status for result in results(session)] == ["error"] * 3
    assert "There is no tool 'fly'" in results(session)[0].output


def test_an_interrupt_keeps_what_came_and_the_next_turn_works(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("word " * 200, rate=2_000), say("Yes?")])

    async def interrupted() -> list[object]:
        interrupt, seen = asyncio.Event(), []
        async for event in session.turn(Prompt("talk"), interrupt):
            seen.append(event)
            if isinstance(event, TextDelta) and len(seen) > 20:
                interrupt.set()
        return seen

    seen = asyncio.run(interrupted())
    assert isinstance(seen[-1], TurnEnded)
    assert seen[-1].ending == "interrupted"
    assert messages(session)[-1].stop == "interrupted"
    assert messages(session)[-1].text.startswith("word word")
    assert ended(say_to(session, "hello?")).text == "Yes?"
    assert STOPPED in str(messages(session)[-2].parts)
    say_to(session, "again")
    assert STOPPED not in str(messages(session)[-2].parts)


def test_the_model_is_told_of_an_interrupt_before_its_reply_began(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("Yes?")])
    interrupt = asyncio.Event()
    interrupt.set()

    async def turn() -> None:
        async for _ in session.turn(Prompt("first"), interrupt):
            pass

    asyncio.run(turn())
    say_to(session, "second")
    assert [
        ("first" in str(one.parts), STOPPED in str(one.parts)) for one in messages(session) if one.role == "user"
    ] == [
        (True, False),
        (False, True),
    ]


def test_whoever_interrupts_at_a_question_has_not_said_no(tmp_path: Path) -> None:
    interrupt = asyncio.Event()

    async def leaves(_: object) -> ApprovalResponse:
        interrupt.set()
        return ApprovalResponse("no")

    session = open_session(tmp_path, [say("", call("write", file_path="a.txt", content="x"))], person=leaves)  # type: ignore[arg-type]

    async def turn() -> None:
        async for _ in session.turn(Prompt("go"), interrupt):
            pass

    asyncio.run(turn())
    assert [(result.status, result.output) for result in results(session)] == [
        ("interrupted", "Not run: the user interrupted before it began.")
    ]


def test_an_interrupt_while_a_command_runs_kills_it_and_answers_its_call(tmp_path: Path) -> None:
    slow = say("I wait.", call("bash", command="echo begun; sleep 30"), call("bash", command="touch never"))
    session = open_session(tmp_path, [slow, say("Stopped.")], mode="yolo")

    async def interrupted() -> float:
        interrupt = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.call_later(1.0, interrupt.set)
        began = loop.time()
        async for _ in session.turn(Prompt("wait"), interrupt):
            pass
        return loop.time() - began

    assert asyncio.run(interrupted()) < 10
    assert [result.status for result in results(session)] == ["interrupted", "interrupted"]
    assert not (tmp_path / "never").exists()
    say_to(session, "go on")
    assert STOPPED not in str(messages(session)), "the results of its calls tell it"


def test_a_limit_ends_the_turn_before_the_request_that_would_break_it(tmp_path: Path) -> None:
    script = [say(f"{n}", call("list")) for n in range(9)]
    session = open_session(tmp_path, script, run_limits=RunLimits(turns=3))
    last = ended(say_to(session, "go"))
    assert (last.ending, last.steps) == ("limit", 3)
    assert isinstance(last.error, LimitReached)
    assert len(results(session)) == 3


def test_a_turn_may_take_as_many_steps_as_it_needs_unless_a_setting_limits_them(tmp_path: Path) -> None:
    work = [say("", call("list", path=f"{n}")) for n in range(9)]
    assert AgentSettings().max_steps == 0
    last = ended(say_to(open_session(tmp_path, [*work, say("Done.")], max_steps=0), "go"))
    assert (last.ending, last.steps) == ("done", 10)
    last = ended(say_to(open_session(tmp_path, work, max_steps=5), "go"))
    assert (last.ending, last.steps) == ("limit", 5)
    assert "agent.max_steps" in str(last.error)


def test_what_the_user_adds_meanwhile_is_heard_at_the_next_step(tmp_path: Path) -> None:
    session = open_session(
        tmp_path, lambda request: say("Heard.") if "also b" in str(request.messages) else say("1", call("list"))
    )

    async def steered() -> list[object]:
        seen = []
        async for event in session.turn(Prompt("do a"), asyncio.Event()):
            if isinstance(event, TextDelta) and not any(isinstance(before, TextDelta) for before in seen):
                session.steer(Prompt("also b"))
            seen.append(event)
        return seen

    seen = asyncio.run(steered())
    assert isinstance(seen[-1], TurnEnded)
    assert seen[-1].error is None
    assert seen[-1].text == "Heard."


class Broken(Person):
    """A person's front end with a bug."""

    async def __call__(self, ask: ApprovalRequest) -> ApprovalResponse | None:
        raise RuntimeError("a bug")


def test_a_bug_in_the_middle_of_a_turn_leaves_no_call_without_its_answer(tmp_path: Path) -> None:
    script = [say("Both.", call("list"), call("bash", command="touch made")), say("On I go.")]
    session = open_session(tmp_path, script, person=Broken())
    with pytest.raises(RuntimeError, match="a bug"):
        say_to(session, "go")
    assert session.history.open_calls == ()
    assert len(results(session)) == 2
    assert ended(say_to(session, "go on")).ending == "done"
