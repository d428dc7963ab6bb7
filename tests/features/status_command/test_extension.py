"""The status command: what it reads, the line that is shown of it, and what becomes of one that hangs, floods or fails."""

from __future__ import annotations

import asyncio
import gc
import json
import time
import warnings
from pathlib import Path

import pytest

from agentcli.core.sanitise import coloured
from agentcli.extension import Completed
from agentcli.features.extensions.executing import execute
from agentcli.features.extensions.session import SHOWN
from agentcli.features.status_command.extension import facts
from agentcli.frontends.terminal import status_facts
from agentcli.frontends.terminal.render.facts import Status
from agentcli.providers.scripted.model import say
from agentcli.system.cells import ESCAPE
from tests.agent.open_session import open_session, say_to


def ran(command: str, folder: Path) -> Completed:
    return asyncio.run(execute(command, json.dumps({"model": {"display_name": "a"}}), 2, folder))


def test_a_command_of_the_person_reads_stdin_and_its_stdout_is_returned(tmp_path: Path) -> None:
    script = "n=$(sed 's/.*display_name[^a-z]*//; s/[^a-z].*//'); echo error >&2; printf '%s\\nmore\\n' $n"
    assert ran(script, tmp_path) == Completed("a\nmore\n")
    assert ran("pwd; exit 3", tmp_path) == Completed(f"{tmp_path}\n", 3)


@pytest.mark.full
@pytest.mark.parametrize(
    ("command", "failure"),
    [
        ("sleep 60", "It took more than 2 s and was stopped."),
        ("sleep 60 & sleep 60", "It took more than 2 s and was stopped."),
        ("yes x", "It printed more than 1,000,000 bytes and was stopped."),
        ("head -c 100000000 /dev/zero", "It printed more than 1,000,000 bytes and was stopped."),
    ],
)
def test_one_that_hangs_or_floods_is_stopped_and_named(command: str, failure: str, tmp_path: Path) -> None:
    began = time.monotonic()
    assert ran(command, tmp_path) == Completed(failure, None)
    assert time.monotonic() - began < 30


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    assert "No such file" in ran("true", tmp_path / "gone").output


def test_git_in_it_starts_no_program_of_the_repository(tmp_path: Path) -> None:
    ran(
        'git init -q . && git config core.fsmonitor "touch $PWD/owned" && touch a && git add a; git status >&2; echo ok',
        tmp_path,
    )
    assert not (tmp_path / "owned").exists()


@pytest.mark.full
@pytest.mark.filterwarnings("error")
def test_one_that_is_given_up_has_ended_before_its_event_loop_does(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()  # what other tests left

    async def run() -> None:
        script = asyncio.create_task(execute("touch started; sleep 60", "", 2, tmp_path))
        while not (tmp_path / "started").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        script.cancel()
        await asyncio.gather(script, return_exceptions=True)

    asyncio.run(run())
    gc.collect()  # a process that still ran would be complained about


def test_a_line_keeps_its_colours_and_is_cut() -> None:
    assert coloured("plain\x07", SHOWN) == "plain\\x07"
    assert (
        coloured("\x1b[1;31mred\x1b[0m \x1b]8;;http://evil\x07x", SHOWN)
        == "\x1b[1;31mred\x1b[0m \\x1b]8;;http://evil\\x07x\x1b[0m"
    )
    assert len(ESCAPE.sub("", coloured("\x1b[31m" + "x" * 10_000, SHOWN))) == SHOWN


def test_the_facts_have_the_keys_of_claude_code(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("One.")])
    before = facts(status_facts.facts(session, Status(), 0.0), str(tmp_path))
    assert before["context_window"]["current_usage"] is None
    assert before["cost"]["total_cost_usd"] == 0
    say_to(session, "hello")
    name = session.core.model.name
    told = json.loads(json.dumps(facts(status_facts.facts(session, Status(model=name, used=100), 2.5), str(tmp_path))))
    assert told["session_id"] == session.journal.id
    assert told["cwd"] == told["workspace"]["current_dir"] == str(tmp_path)
    assert told["model"] == {"id": session.core.model.id, "display_name": session.core.model.id}
    assert told["cost"]["total_duration_ms"] == 2500
    window = told["context_window"]
    assert window["total_output_tokens"] == window["current_usage"]["output_tokens"] > 0
    assert window["used_percentage"] + window["remaining_percentage"] == 100
    assert told["agentcli"]["model"] == name
