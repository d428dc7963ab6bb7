"""One prompt through the Python API: its events, its result, its options."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from contextlib import aclosing
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

import agentcli
from agentcli.frontends.headless.print_mode import print_mode
from agentcli.frontends.opening import program_of
from agentcli.frontends.run.events import to_json
from agentcli.program.options import Options
from tests.frontends.python.embedded import calls, environment, options, script, workspace
from tests.tables import each_row


def test_the_events_of_a_run_begin_with_init_and_end_with_the_result(tmp_path: Path) -> None:
    async def main() -> list[agentcli.AnyEvent]:
        return [event async for event in agentcli.query("hi", **options(tmp_path, "hello"))]

    first, *between, last = asyncio.run(main())
    assert isinstance(first, agentcli.InitEvent)
    assert first.schema_version == 1
    assert [event.text for event in between if isinstance(event, agentcli.MessageEvent) and not event.delta] == [
        "hi",
        "hello",
    ]
    assert isinstance(last, agentcli.Result)
    assert (last.status, last.text, last.exit_code, last.session_id) == ("success", "hello", 0, first.session_id)
    with pytest.raises(FrozenInstanceError):
        last.text = "other"  # type: ignore[misc]


def test_the_events_are_the_lines_of_stream_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    (workspace(tmp_path) / "a.txt").write_text("alpha")
    replies = (calls("read", file_path="a.txt"), calls("bash", command="rm a.txt"), "done")
    env = environment(tmp_path)

    async def main() -> list[agentcli.AnyEvent]:
        return [event async for event in agentcli.query("hi", **options(tmp_path, *replies))]

    ours = [to_json(event) for event in asyncio.run(main())]
    asked = Options(
        prompt="hi",
        print=True,
        model=script(tmp_path, *replies),
        cwd=str(workspace(tmp_path)),
        output_format="stream-json",
    )
    capsys.readouterr()
    print_mode(program_of(asked, env), asked)
    theirs = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    changing = ("timestamp", "session_id", "duration_ms", "model")
    assert json.loads(json.dumps([without(line, changing) for line in ours])) == [
        without(line, changing) for line in theirs
    ]
    assert [list(line) for line in ours] == [list(line) for line in theirs]


def without(line: dict[str, object], names: tuple[str, ...]) -> dict[str, object]:
    return {name: value for name, value in line.items() if name not in names}


def test_nothing_is_written_to_stdout_or_stderr_and_the_process_stays_as_it_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import os
    import signal

    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)]
    before = (os.getcwd(), dict(os.environ), handlers)
    replies = (calls("bash", command="echo loud; rm -rf x"), calls("recall", pattern="l+oud"), "done")
    result = asyncio.run(agentcli.run("hi", **options(tmp_path, *replies, mode="ask")))
    after = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)]
    assert (os.getcwd(), dict(os.environ), after) == before
    assert [denial.name for denial in result.denials] == ["bash"]
    assert tuple(capfd.readouterr()) == ("", "")


def test_a_run_that_fails_has_a_result_with_its_exit_code(tmp_path: Path) -> None:
    result = asyncio.run(agentcli.run("hi", **options(tmp_path, calls("list"), "done", max_turns=1)))
    assert (result.status, result.subtype, result.exit_code) == ("error", "limit", 53)
    with pytest.raises(agentcli.AgentError) as caught:
        result.raise_for_status()
    assert caught.value.exit_code == 53


@each_row(
    ("wrong", "code", "message"),
    [
        ({"modle": "x"}, 2, "Did you mean model or mode"),
        ({"max_cost": float("nan")}, 2, "max_cost must be a number from 0 on, not nan"),
        ({"max_cost": -1}, 2, "max_cost must be a number"),
        ({"fork": True}, 2, "fork needs a session"),
        ({"tools": [3]}, 2, "is not a tool"),
    ],
)
def test_options_that_make_no_sense_are_refused_at_once(wrong: dict[str, object], code: int, message: str) -> None:
    with pytest.raises(agentcli.AgentError, match=message) as caught:
        agentcli.query("hi", **wrong)  # type: ignore[arg-type]
    assert caught.value.exit_code == code


@each_row(
    ("wrong", "code", "message"),
    [
        ({"model": ""}, 41, "No API key"),
        ({"cwd": "/there/is/none"}, 2, "is not a folder"),
        ({"resume": "nosuchsession"}, 42, "Unknown session"),
        ({"set": {"agent.max_steps": "many"}}, 52, "agent.max_steps"),
        ({"mode": "wild"}, 2, "Unknown mode"),
        ({"allow": "no_tool"}, 2, "does not exist"),
    ],
)
def test_what_keeps_a_session_from_being_opened_is_an_error_with_its_exit_code(
    wrong: dict[str, object], code: int, message: str, tmp_path: Path
) -> None:
    with pytest.raises(agentcli.AgentError, match=message) as caught:
        asyncio.run(agentcli.run("hi", **{**options(tmp_path, "hello"), **wrong}))
    assert caught.value.exit_code == code


def test_a_run_in_a_thread_with_a_loop_of_its_own_and_one_in_a_running_loop_are_both_right(tmp_path: Path) -> None:
    results: list[agentcli.Result] = []
    given = options(tmp_path, calls("bash", command="echo $((6 * 7))"), "done", mode="yolo")
    thread = threading.Thread(target=lambda: results.append(asyncio.run(agentcli.run("hi", **given))))

    async def main() -> agentcli.Result:
        thread.start()
        return await agentcli.run("hi", **given)

    results.append(asyncio.run(main()))
    thread.join(30)
    assert [(result.status, result.text) for result in results] == [("success", "done")] * 2


def test_a_reader_that_leaves_ends_the_run_and_the_session_can_be_resumed(tmp_path: Path) -> None:
    given = options(tmp_path, "a b c " * 50)

    async def main() -> agentcli.Result:
        async with aclosing(agentcli.query("hi", **given)) as events:
            async for event in events:
                if isinstance(event, agentcli.MessageEvent) and event.delta:
                    break
        return await agentcli.run("and now", **{**given, "resume": True})

    assert asyncio.run(main()).status == "success"


def test_a_cancelled_run_ends_its_turn_and_leaves_the_session_resumable(tmp_path: Path) -> None:
    given = options(tmp_path, calls("bash", command="sleep 60"), "done", mode="yolo")

    async def main() -> agentcli.Result:
        called = asyncio.Event()

        async def read() -> None:
            async for event in agentcli.query("hi", **given):
                if isinstance(event, agentcli.ToolCallEvent):
                    called.set()

        running = asyncio.create_task(read())
        await called.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return await agentcli.run("go on", **{**given, "resume": True, "model": script(tmp_path, "done")})

    assert asyncio.run(main()).text == "done"


@pytest.mark.parametrize(
    "moment", ["init", "message", "usage", "permission", "tool_call", "tool_result"], ids=lambda moment: f"at {moment}"
)
def test_cancelled_at_any_moment_a_run_leaves_a_session_that_goes_on(moment: str, tmp_path: Path) -> None:
    given = options(tmp_path, calls("bash", command="touch a"), "one", mode="yolo")

    async def main() -> agentcli.Result:
        ids: list[str] = []

        async def read() -> None:
            async for event in agentcli.query("hi", **given):
                ids.extend([event.session_id] if isinstance(event, agentcli.InitEvent) else [])
                if event.type == moment:
                    running.cancel()
                    await asyncio.sleep(60)

        async with agentcli.Session(**{**given, "session_id": "kept-session"}) as other:
            [event async for event in other.say("this one goes on")]
            running = asyncio.create_task(read())
            with pytest.raises(asyncio.CancelledError):
                await running
            resumed = {**given, "model": script(tmp_path, "done")}
            return await agentcli.run("go on", **resumed, **({"resume": ids[0]} if moment != "init" else {}))

    assert asyncio.run(main()).text == "done"


def test_a_prompt_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(agentcli.AgentError, match="No prompt") as caught:
        asyncio.run(agentcli.run(" \n", **options(tmp_path, "hello")))
    assert caught.value.exit_code == 42


def test_the_time_limit_ends_a_run_with_its_own_error(tmp_path: Path) -> None:
    given = options(tmp_path, {"text": "late", "delay": 60}, max_time=0.1)
    result = asyncio.run(agentcli.run("hi", **given))
    assert (result.exit_code, result.subtype) == (53, "limit")
