"""Sessions of several turns through the Python API."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import agentcli
from agentcli.frontends.headless.print_mode import print_mode
from agentcli.frontends.opening import program_of
from agentcli.program.options import Options
from tests.frontends.python.embedded import calls, environment, options, script, workspace
from tests.tables import each_row


async def result_of(events: AsyncIterator[agentcli.AnyEvent]) -> agentcli.Result:
    *_, last = [event async for event in events]
    assert isinstance(last, agentcli.Result)
    return last


def texts(session: agentcli.Session) -> list[str]:
    return [event.text for event in session.history if isinstance(event, agentcli.MessageEvent)]


def test_a_session_has_several_turns_with_a_result_each_and_one_beginning(tmp_path: Path) -> None:
    async def main() -> None:
        async with agentcli.Session(**options(tmp_path, "one", "two")) as session:
            first = [event async for event in session.say("1")]
            second = [event async for event in session.say("2")]
            assert isinstance(first[0], agentcli.InitEvent)
            assert first[0].session_id == session.id
            assert not any(isinstance(event, agentcli.InitEvent) for event in second)
            assert [run[-1].text for run in (first, second) if isinstance(run[-1], agentcli.Result)] == ["one", "two"]
            assert texts(session) == ["1", "one", "2", "two"]
            assert (session.model, session.mode, session.cwd) == (first[0].model, "ask", workspace(tmp_path))
            assert session.usage.output > 0

    asyncio.run(main())


def test_an_interrupted_turn_has_a_result_and_the_session_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        given = options(tmp_path, calls("bash", command="sleep 60"), "and on", mode="yolo")
        async with agentcli.Session(**given) as session:
            last: agentcli.AnyEvent | None = None
            async for event in session.say("wait"):
                last = event
                if isinstance(event, agentcli.ToolCallEvent):
                    # From another thread, as a button would do it.
                    await asyncio.to_thread(session.interrupt)
            assert isinstance(last, agentcli.Result)
            assert (last.status, last.subtype, last.exit_code) == ("error", "interrupted", 130)
            assert [event.status for event in session.history if isinstance(event, agentcli.ToolResultEvent)] == [
                "interrupted"
            ]
            assert (await result_of(session.say("go on"))).text == "and on"

    asyncio.run(main())


def test_only_one_turn_runs_at_a_time_and_none_in_a_session_that_is_not_open(tmp_path: Path) -> None:
    async def main() -> None:
        session = agentcli.Session(**options(tmp_path, "one", "two"))
        with pytest.raises(agentcli.AgentError, match="not open"):
            await anext(session.say("early"))
        async with session:
            events = session.say("1")
            await anext(events)
            with pytest.raises(agentcli.AgentError, match="A turn is running"):
                await anext(session.say("2"))
            await events.aclose()
            assert (await result_of(session.say("3"))).status == "success"
        with pytest.raises(agentcli.AgentError, match="not open"):
            await anext(session.say("late"))
        with pytest.raises(agentcli.AgentError, match="already opened"):
            await session.open()

    asyncio.run(main())


def test_a_fork_goes_its_own_way_from_there(tmp_path: Path) -> None:
    async def main() -> None:
        async with agentcli.Session(**options(tmp_path, "one")) as session:
            with pytest.raises(agentcli.AgentError, match="has begun"):
                session.fork()
            await result_of(session.say("1"))
            async with session.fork() as copy:
                assert copy.id != session.id
                await result_of(copy.say("2"))
                assert texts(copy) == ["1", "one", "2", "one"]
            assert texts(session) == ["1", "one"]
        async with agentcli.Session(**options(tmp_path, "one", no_session=True)) as unstored:
            with pytest.raises(agentcli.AgentError, match="stored"):
                unstored.fork()

    asyncio.run(main())


def test_the_command_line_resumes_a_session_of_the_api_and_the_api_resumes_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)

    def lookup(key: str) -> str:
        """Look up a key."""
        return f"{key} is 7"

    given = options(tmp_path, calls("lookup", key="a"), "one", tools=[lookup])
    first = asyncio.run(agentcli.run("1", **given))
    asked = Options(
        prompt="2",
        print=True,
        session=first.session_id,
        cwd=str(given["cwd"]),
        model=script(tmp_path, "two"),
        output_format="json",
    )
    assert print_mode(program_of(asked, environment(tmp_path)), asked) == 0
    assert json.loads(capsys.readouterr().out)["session_id"] == first.session_id

    async def again() -> list[str]:
        async with agentcli.Session(**{**given, "resume": first.session_id}) as session:
            assert (await result_of(session.say("3"))).denials == ()
            return texts(session)

    assert asyncio.run(again()) == ["1", "one", "2", "two", "3", "one"]


def test_a_resumed_session_has_the_tools_that_are_given_now(tmp_path: Path) -> None:
    def lookup(key: str) -> str:
        """Look up a key."""
        return f"{key} is 7"

    first = asyncio.run(agentcli.run("1", **options(tmp_path, "one")))
    given = options(tmp_path, calls("lookup", key="a"), "two", tools=[lookup], resume=first.session_id)

    async def main() -> list[agentcli.AnyEvent]:
        return [event async for event in agentcli.query("2", **given)]

    init, *rest = asyncio.run(main())
    assert isinstance(init, agentcli.InitEvent)
    assert "lookup" in init.tools
    assert [event.output for event in rest if isinstance(event, agentcli.ToolResultEvent)] == ["a is 7"]


def test_a_session_that_is_open_elsewhere_cannot_be_opened_twice(tmp_path: Path) -> None:
    async def main() -> None:
        given = options(tmp_path, "one")
        async with agentcli.Session(**given) as session:
            await result_of(session.say("1"))
            with pytest.raises(agentcli.AgentError, match="open"):
                await agentcli.run("2", **{**given, "resume": session.id})

    asyncio.run(main())


@pytest.mark.parametrize("last", [agentcli.InitEvent, agentcli.MessageEvent, agentcli.Result])
def test_a_reader_may_break_off_anywhere_and_say_the_next_thing_at_once(last: type, tmp_path: Path) -> None:
    async def main() -> None:
        async with agentcli.Session(**options(tmp_path, "one " * 40, "two")) as session:
            async for event in session.say("1"):
                if isinstance(event, last):
                    break
            assert (await result_of(session.say("2"))).status == "success"
            assert texts(session)[0] == "1"
            assert "2" in texts(session)

    asyncio.run(main())


@each_row("how", ["idle", "turn", "closing"])
def test_a_session_whose_event_loop_has_ended_is_closed_from_another_one(how: str, tmp_path: Path) -> None:
    session = agentcli.Session(**options(tmp_path, calls("bash", command="sleep 60"), "done", mode="yolo"))
    kept: list[object] = []

    async def begin() -> None:
        await session.open()
        if how == "turn":
            events = session.say("go")
            kept.append(events)
            async for event in events:
                if isinstance(event, agentcli.ToolCallEvent):
                    return
        if how == "closing":
            kept.append(asyncio.create_task(session.close()))
            await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=lambda: loop.run_until_complete(begin()))
    thread.start()
    thread.join()
    for _ in range(2):
        asyncio.run(session.close())
    loop.run_until_complete(asyncio.sleep(0))
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0.1))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
