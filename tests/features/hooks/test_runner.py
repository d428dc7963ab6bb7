import asyncio
import json
import re
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.errors import ConfigError
from agentcli.core.event import Event, Warned
from agentcli.core.journal import Journal
from agentcli.features.hooks.files import Hook, configured
from agentcli.features.hooks.runner import Runner, before_compression
from agentcli.features.hooks.session_hooks import HookPlace, SessionHooks
from agentcli.features.hooks.settings import HookSettings
from agentcli.frontends.sections import SCHEMA
from agentcli.permissions.paths import Workspace
from agentcli.program.config import load
from tests.agent.compaction.compacting import Answers, compaction, compress, ended, long_story, session, snapshot
from tests.context.story import Story
from tests.tables import each_row

EVENT = before_compression("manual", "s1", Path("/tmp/s1"), policy="auto")


def hooks(command: str, timeout: float = 30.0, output: int = 4_000) -> Runner:
    return Runner([Hook("PreCompress", command, timeout=timeout)], output)


def around(journal: Journal, wanted: Runner) -> SessionHooks:
    """The hooks of a session with this journal."""
    cwd = Path.cwd()
    place = HookPlace(journal, cwd, lambda: "ask", lambda: "demo", {}, Workspace(cwd, (cwd,), home=cwd))
    return SessionHooks(wanted.hooks, place)


def run(wanted: Runner) -> str:
    return "\n".join(ran.warning for ran in asyncio.run(wanted.run(EVENT)))


def test_the_hook_gets_what_it_needs_to_save_a_copy(tmp_path: Path) -> None:
    assert run(hooks(f"cat > {tmp_path}/told.json")) == ""
    told = json.loads((tmp_path / "told.json").read_text())
    assert told == {
        "hook": "PreCompress",
        "trigger": "manual",
        "session_id": "s1",
        "transcript_path": "/tmp/s1",
        "policy": "auto",
    }


def test_a_hook_that_fails_is_named_and_quoted() -> None:
    assert run(hooks("echo no space left; exit 3")) == "The hook PreCompress failed with exit status 3: no space left"


def test_a_hook_that_hangs_is_stopped(tmp_path: Path) -> None:
    assert "was stopped after 0.2 seconds" in run(hooks(f"sleep 30; touch {tmp_path}/late", timeout=0.2))


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_nothing_of_a_hook_that_hangs_is_left_however_it_detached_itself(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    hook = f"setsid sh -c 'echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 1000' & sleep 1000"
    assert "was stopped" in run(hooks(hook, timeout=2))
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()


def test_a_long_input_that_nobody_reads_keeps_nobody_waiting(tmp_path: Path) -> None:
    long = before_compression("manual", "s1", None, more="x" * 1_000_000)
    [ran] = asyncio.run(hooks("exit 0", timeout=20).run(long))
    assert ran.warning == ""


def test_a_hook_that_shouts_is_not_listened_to_for_long() -> None:
    said = run(hooks("yes | head -c 3000000; exit 1", output=100))
    assert len(said) < 300


def test_a_hook_that_leaves_a_child_behind_holds_nothing_up(tmp_path: Path) -> None:
    assert run(hooks("sleep 30 & echo done", timeout=20)) == ""


def test_a_hook_that_ignores_its_input_is_no_failure() -> None:
    assert run(hooks("exec <&-; exit 0")) == ""


def test_no_hook_is_no_work() -> None:
    assert run(Runner()) == ""


def test_a_broken_hook_cannot_break_the_compaction() -> None:
    good = Answers(snapshot("Fix the parser.", "- It is slow."))
    journal = session(long_story())
    events = compress(journal, good, hooks=around(journal, hooks("exit 1")))
    assert ended(events).status == "compressed"
    assert [event.message for event in events if isinstance(event, Warned)] == [
        "The hook PreCompress failed with exit status 1. The compaction continues."
    ]


def test_the_hook_runs_before_anything_is_changed(tmp_path: Path) -> None:
    good = Answers(snapshot("Fix the parser.", "- It is slow."))
    journal = session(long_story())
    compress(journal, good, hooks=around(journal, hooks(f"cat > {tmp_path}/told")), trigger="overflow")
    assert json.loads((tmp_path / "told").read_text())["trigger"] == "auto"


def test_nothing_runs_where_there_is_nothing_to_compact(tmp_path: Path) -> None:
    story = Story()
    story.user("hi")
    journal = session(story)
    compress(journal, Answers("x"), hooks=around(journal, hooks(f"touch {tmp_path}/ran")))
    assert not (tmp_path / "ran").exists()


def test_an_interrupt_ends_a_hook_at_once_and_the_compaction_with_it(tmp_path: Path) -> None:
    journal, good = session(long_story()), Answers(snapshot("Fix the parser.", "- It is slow."))
    begun = tmp_path / "begun"

    async def story() -> list[Event]:
        interrupt = asyncio.Event()
        long = hooks(f"touch {begun}; sleep 1000", timeout=1000)

        async def stop() -> None:
            while not begun.exists():  # noqa: ASYNC110 (the hook is what we wait for, and it sets no event)
                await asyncio.sleep(0.01)
            interrupt.set()

        stopping = asyncio.create_task(stop())
        events = [event async for event in compaction(journal, good, hooks=around(journal, long), interrupt=interrupt)]
        await stopping
        return events

    assert ended(asyncio.run(story())).status == "failed_summary"
    assert good.requests == []
    assert journal.history.compaction is None


def test_every_hook_that_matches_runs_and_each_that_fails_is_told(tmp_path: Path) -> None:
    wanted = ("", "*", "manual", "auto, manual", "^man")
    unwanted = ("auto", "man", "^auto|x$")
    commands = [
        Hook("PreCompress", f"touch {tmp_path}/{number}; exit 1", matcher)
        for number, matcher in enumerate((*wanted, *unwanted))
    ]
    assert len([ran for ran in asyncio.run(Runner(commands).run(EVENT)) if ran.warning]) == len(wanted)
    assert {path.name for path in tmp_path.iterdir()} == {str(number) for number in range(len(wanted))}


def test_hooks_are_listed_in_the_configuration_or_named_by_their_old_setting(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[[hooks]]\nevent = "PreCompress"\nmatcher = "auto"\ncommand = "save"\ntimeout = 5\n')
    config = load(SCHEMA, file, env={"AGENTCLI_HOOKS__PRE_COMPRESS": "copy"})
    assert configured(config[HookSettings]) == (
        Hook("PreCompress", "copy"),
        Hook("PreCompress", "save", "auto", timeout=5),
    )
    assert config.origins["hooks.commands"] == str(file)


def test_a_projects_own_hooks_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[[hooks]]\nevent = "PreCompress"\ncommand = "evil"\n')
    config = load(SCHEMA, None, file, env={})
    assert configured(config[HookSettings]) == ()
    assert "a project may not set it" in config.warnings[0]


@each_row(
    ("entry", "told"),
    [
        ({"event": "PreCompres", "command": "x"}, "there is no event 'PreCompres'"),
        ({"event": "PreCompress"}, "has no command"),
        ({"event": "PreCompress", "comand": "x"}, "comand = 'x' is not valid"),
        ({"event": "PreCompress", "command": "x", "timeout": "1"}, "timeout = '1' is not valid"),
        ({"event": "PreCompress", "command": "x", "matcher": "("}, "is not a regular expression"),
    ],
)
def test_a_hook_that_makes_no_sense_is_an_error(entry: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        configured(HookSettings(commands=(entry,)))


def test_a_hook_that_no_thread_can_be_started_for_is_told_and_raises_nothing() -> None:
    before = threading.stack_size(1 << 46)  # more than any system has: no thread can be started
    try:
        told = run(hooks("cat"))
    finally:
        threading.stack_size(before)
    assert told == "" or "could not be started" in told


def test_a_hook_whose_input_is_nested_too_deep_is_told_and_raises_nothing() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    wanted = replace(hooks("cat"), input=lambda *_: {"deep": deep})
    assert "could not be started" in run(wanted)
    while deep:  # freed level by level, as the interpreter itself would not survive it otherwise
        deep = deep.pop()
