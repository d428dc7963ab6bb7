"""Sessions share a process, not its state: environment, interruption, threads, slow patterns, connections."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import agentcli
from agentcli.permissions.shell.syntax.parse import parser
from agentcli.providers.http import tls_context
from tests.e2e.program import ROOT
from tests.frontends.python.embedded import calls, environment, options, script, workspace


def outputs(events: list[agentcli.AnyEvent]) -> list[str]:
    return [event.output for event in events if isinstance(event, agentcli.ToolResultEvent)]


async def all_of(**given: Any) -> list[agentcli.AnyEvent]:
    return [event async for event in agentcli.query("hi", **given)]


def test_commands_and_hooks_read_the_environment_of_their_session_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONLY_OF_THE_PROCESS", "yes")
    hook = "echo hook-$MARK-$ONLY_OF_THE_PROCESS >> seen.txt"
    settings = {"hooks": {"PreToolUse": [{"matcher": "bash", "hooks": [{"type": "command", "command": hook}]}]}}

    async def main() -> list[list[agentcli.AnyEvent]]:
        runs = []
        for mark in ("a", "b"):
            folder = tmp_path / mark
            (folder / ".agentcli").mkdir(parents=True)
            (folder / ".agentcli" / "hooks.json").write_text(json.dumps(settings))
            env = environment(tmp_path, MARK=mark)
            model = script(tmp_path, calls("bash", command="echo $MARK-$ONLY_OF_THE_PROCESS"), "done")
            runs.append(all_of(cwd=folder, env=env, model=model, mode="yolo", trust=True))
        return await asyncio.gather(*runs)

    assert [outputs(run) for run in asyncio.run(main())] == [["a-\n"], ["b-\n"]]
    assert [(tmp_path / mark / "seen.txt").read_text() for mark in ("a", "b")] == ["hook-a-\n", "hook-b-\n"]


def test_keys_and_settings_come_from_the_environment_of_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of-the-process")
    with pytest.raises(agentcli.AgentError) as caught:
        asyncio.run(agentcli.run("hi", cwd=workspace(tmp_path), env=environment(tmp_path), model="sonnet"))
    assert caught.value.exit_code == 41
    given = options(tmp_path, calls("list"), "done")
    given["env"]["AGENTCLI_MODE"] = "plan"
    first = asyncio.run(all_of(**given))[0]
    assert isinstance(first, agentcli.InitEvent)
    assert first.mode == "plan"


def test_path_of_the_process_stays_as_it_is_though_it_leads_into_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = workspace(tmp_path) / "bin"
    own.mkdir()
    for name in ("bash", "git", "bwrap"):
        (own / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/fooled\n")
        (own / name).chmod(0o755)
    (workspace(tmp_path) / ".git").mkdir()
    path = f"{own}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    given = options(tmp_path, calls("bash", command="echo $PATH"), "done", mode="yolo")
    assert outputs(asyncio.run(all_of(**given))) == [f"{path}\n"]
    assert os.environ["PATH"] == path
    assert not (tmp_path / "fooled").exists()


def test_a_pattern_without_end_holds_up_no_other_session(tmp_path: Path) -> None:
    line = calls("bash", command="echo " + "a" * 60 + "!")
    slow = options(tmp_path, line, calls("recall", pattern="(a+)+$"), "done", mode="yolo")
    slow["set"] = {"tools.pattern_seconds": 60}
    quick = options(tmp_path, calls("list"), calls("recall", pattern="x+"), "done")

    async def main() -> None:
        searching = asyncio.Event()

        async def read() -> None:
            async for event in agentcli.query("hi", **slow):
                if isinstance(event, agentcli.ToolCallEvent) and event.name == "recall":
                    searching.set()

        waiting = asyncio.create_task(read())
        await searching.wait()
        assert (await agentcli.run("hi", **quick)).text == "done"
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()

    asyncio.run(main())


def test_a_pattern_without_end_is_given_up_in_a_thread_as_well(tmp_path: Path) -> None:
    line = calls("bash", command="echo " + "a" * 60 + "!")
    given = options(tmp_path, line, calls("recall", pattern="(a+)+$"), "done", mode="yolo")
    given["set"] = {"tools.pattern_seconds": 0.2}
    found: list[list[str]] = []
    thread = threading.Thread(target=lambda: found.append(outputs(asyncio.run(all_of(**given)))))
    thread.start()
    thread.join(60)
    assert "takes longer than 0.2 s" in found[0][1]


def test_the_interruption_of_one_session_leaves_the_others(tmp_path: Path) -> None:
    async def main() -> None:
        given = options(tmp_path, calls("bash", command="while [ ! -e go ]; do sleep 0.05; done"), "done", mode="yolo")
        async with agentcli.Session(**given) as one, agentcli.Session(**given) as other:
            started, results = [asyncio.Event(), asyncio.Event()], {}

            async def read(session: agentcli.Session, running: asyncio.Event) -> None:
                async for event in session.say("hi"):
                    if isinstance(event, agentcli.ToolCallEvent):
                        running.set()
                    results[session.id] = event

            reading = [
                asyncio.create_task(read(session, event)) for session, event in zip((one, other), started, strict=True)
            ]
            for event in started:
                await event.wait()
            one.interrupt()
            await reading[0]
            (workspace(tmp_path) / "go").touch()
            await reading[1]
            ends = [results[session.id] for session in (one, other)]
            assert [end.subtype for end in ends if isinstance(end, agentcli.Result)] == ["interrupted", "done"]

    asyncio.run(main())


def test_the_tls_settings_are_loaded_once_and_parsers_belong_to_their_thread() -> None:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.extend((tls_context(), parser())))
    thread.start()
    thread.join(30)
    assert found[0] is tls_context()
    assert found[1] is not parser()
    assert parser() is parser()


def test_the_private_files_of_the_process_s_home_stay_private_under_another_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path / "real"
    (real / ".ssh").mkdir(parents=True)
    (real / ".ssh" / "id").write_text("key")
    monkeypatch.setenv("HOME", str(real))
    given = options(tmp_path, calls("read", file_path=f"{real}/.ssh/id"), "done", allow="read", add_dir=[real])
    result = asyncio.run(agentcli.run("hi", **given))
    assert ["is private" in denial.why for denial in result.denials] == [True]


def test_sessions_that_are_closed_leave_no_open_files_behind(tmp_path: Path) -> None:
    given = options(tmp_path, calls("bash", command="sleep 60", run_in_background=True), "done", mode="yolo")

    async def main() -> list[int]:
        counts = []
        for _ in range(3):
            async with agentcli.Session(**given) as session:
                async for _event in session.say("hi"):
                    pass
            counts.append(len(os.listdir("/dev/fd")))
        return counts

    first, *_, last = asyncio.run(main())
    assert last <= first


@pytest.mark.full
def test_the_program_around_a_session_has_the_whole_sdk(tmp_path: Path) -> None:
    """A session uses a copy without most of it."""
    program = f"""
import asyncio
import agentcli
from agentcli.providers.scripted.model import say
from tests.loopback import Loopback

async def main(env):
    await agentcli.run("hi", cwd={str(workspace(tmp_path))!r}, env={environment(tmp_path)!r} | env, model="haiku")
    import anthropic
    print(hasattr(anthropic.AnthropicFoundry, "messages"))
    client = anthropic.AsyncAnthropic(api_key="k", base_url=env["ANTHROPIC_BASE_URL"])
    asked = {{"model": "claude-haiku-4-5", "max_tokens": 100, "messages": [{{"role": "user", "content": "hi"}}]}}
    async with client.beta.messages.stream(**asked) as stream:
        print((await stream.get_final_message()).content[0].text)

with Loopback(lambda _: say("hello")) as server:
    asyncio.run(main(server.env))
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert ran.stdout.splitlines() == ["True", "hello"], ran.stderr
