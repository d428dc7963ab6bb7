from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agentcli.core.event import Recorded, Warned
from agentcli.core.message import Message
from agentcli.frontends.terminal.input.attachments import with_attachments
from agentcli.frontends.terminal.turns import farewell, missing_files, with_warnings
from agentcli.providers.scripted.model import say
from agentcli.sessions.in_memory import MemorySession
from tests.agent.open_session import open_session


def test_the_jobs_that_end_with_a_session_are_told() -> None:
    jobs = [SimpleNamespace(id="job-1", command="make all\n\x1b[2J")]
    session: Any = SimpleNamespace(
        core=SimpleNamespace(jobs=SimpleNamespace(running=lambda: jobs)), journal=MemorySession()
    )
    program: Any = SimpleNamespace(sessions=SimpleNamespace(choosing=False))
    assert [line.startswith("Ended job-1: make all") for line in farewell(program, session)] == [True]
    assert "\x1b" not in "".join(farewell(program, session))


def test_a_mention_that_names_no_file_is_told_from_people_and_decorators(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "a.py").touch()
    text = (
        "see @a.py, @src/ and @src. But @nofile.txt, @src/b and (@~/none.md) @home @app.route('/x') @list[int] me@x.org"
    )
    assert missing_files(text, tmp_path) == [
        "@nofile.txt: no such file, sent as text",
        "@src/b: no such file, sent as text",
        "@~/none.md: no such file, sent as text",
    ]


def test_lines_of_a_file_are_not_missing(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    assert missing_files("see @a.py:1-2 and @b.py:3", tmp_path) == ["@b.py:3: no such file, sent as text"]


def test_a_resource_of_a_server_is_no_missing_file(tmp_path: Path) -> None:
    assert missing_files("see @docs:note://a/1", tmp_path, ["docs"]) == []
    assert len(missing_files("see @docs:note://a/1", tmp_path)) == 1


def test_the_warning_follows_the_prompt(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("What file?")])
    text = "look at @nofile.txt"

    events: list[object] = []

    async def keep(event: object) -> None:
        events.append(event)

    async def run() -> None:
        warned = await with_warnings(keep, text, tmp_path)
        await session.run(with_attachments(text, tmp_path), asyncio.Event(), warned)

    asyncio.run(run())
    warned = [n for n, event in enumerate(events) if isinstance(event, Warned)]
    assert [events[n].message for n in warned] == ["@nofile.txt: no such file, sent as text"]  # type: ignore[attr-defined]
    before = events[warned[0] - 1]
    assert isinstance(before, Recorded)
    assert isinstance(before.record.body, Message)
