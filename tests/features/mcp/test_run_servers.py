"""Servers in a run of the whole program: what may be started, and that nothing which they do changes what was sent."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse
from agentcli.agent.session import AgentSession
from agentcli.core.errors import ConfigError, ToolError
from agentcli.core.mcp_servers import ServerState
from agentcli.core.message import Message, Text, ToolResult
from agentcli.features.mcp.commands import server_rows
from agentcli.features.mcp.run import servers_of
from agentcli.program.front_end import FrontEnd
from agentcli.program.program import Program
from agentcli.providers.scripted.model import Reply, call, say
from tests.features.mcp.running import fake, is_alive, pids, until
from tests.features.mcp.server_runs import ATTENDED, closing, define, head, options, program, turn
from tests.loopback.plan import Asked
from tests.loopback.server import Loopback


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def states(session: AgentSession) -> list[ServerState]:
    asyncio.run(session.prepare(asyncio.Event()))
    return [replace(state, instructions="") for state in session.servers]


def test_servers_of_a_trusted_project_are_started_and_have_ended_with_the_run(project: Path) -> None:
    define(project, one=fake())
    with program(options(project)) as run:
        assert states(run.sessions.new()) == [ServerState("one", "connected", tools=5, origin=".mcp.json")]
        told = [line.split() for line in (project / "fake.log").read_text().splitlines()]
        (pid,) = [int(words[1]) for words in told if words[0] == "start"]
        assert is_alive(pid)
    assert not is_alive(pid)


def test_the_only_server_ends_once_it_is_defined_no_longer(project: Path) -> None:
    define(project, one=fake())
    with program(options(project)) as run:
        states(run.sessions.new())
        (pid,) = pids(project)
        (project / ".mcp.json").unlink()
        assert states(run.sessions.new()) == []
        asyncio.run(until(lambda: not is_alive(pid)))


def test_without_trust_or_approval_no_process_exists_and_one_warning_names_them(project: Path) -> None:
    define(project, one=fake(), two=fake())
    for trust in (False, True):
        with program(options(project, trust=False)) as run:
            if trust:
                from agentcli.program.project import TRUSTED
                from agentcli.program.trust import trust as remember

                remember(project, run.dirs.state / TRUSTED)
            session = run.sessions.new()
            expected = ["not approved", "not approved"] if trust else []
            assert [state.status for state in states(session)] == expected
            (warning,) = [note for note in session.notes if "one" in note and "two" in note]
            assert "run with --trust" in warning
    assert not (project / "fake.log").exists()


def test_an_approved_server_is_started_until_its_definition_changes(project: Path) -> None:
    from agentcli.program.project import TRUSTED
    from agentcli.program.trust import trust

    define(project, one=fake())
    with program(options(project, trust=False)) as run:
        trust(project, run.dirs.state / TRUSTED)
        run.approvals.decide([(one, True) for one in run.definitions()])
        assert [state.status for state in states(run.sessions.new())] == ["connected"]
    define(project, one=fake("chatter"))
    with program(options(project, trust=False)) as run:
        assert [state.status for state in states(run.sessions.new())] == ["not approved"]


def test_a_server_that_waits_was_declined_or_is_disabled_says_so(project: Path) -> None:
    from agentcli.program.project import TRUSTED
    from agentcli.program.trust import trust

    define(project, new=fake(), refused=fake("chatter"), off=fake(disabled=True))
    with program(options(project, trust=False)) as run:
        trust(project, run.dirs.state / TRUSTED)
        run.approvals.decide([(one, False) for one in run.definitions() if one.name == "refused"])
        session = run.sessions.new()
        assert {state.name: str(state) for state in session.servers} == {
            "new": "waits for approval (`/extensions hooks approve` asks about it)",
            "refused": "was declined (`/extensions hooks approve` asks about it)",
            "off": "disabled: .mcp.json disables it",
        }
        assert {state.name: state.status for state in session.servers} == {
            "new": "not approved",
            "refused": "not approved",
            "off": "disabled",
        }
        assert session.core.setup.servers is not None
        assert session.core.setup.servers.obstacle("mcp__new__x").startswith(
            "Server new is not connected: it waits for"
        )
        with pytest.raises(ToolError, match="Server off is not connected"):
            asyncio.run(session.core.setup.servers.restart("off"))
    assert not (project / "fake.log").exists()


def test_the_nearest_definition_wins_and_one_that_is_not_approved_stands_in_no_other_s_way(project: Path) -> None:
    with program(options(project)) as run:
        define(run.dirs.config, "mcp.json", one={"command": "user"}, two={"command": "user"})
        define(project, ".gemini/settings.json", one={"command": "gemini"})
        define(project, ".mcp.json", one={"command": "claude"})
        define(project, ".agentcli/mcp.json", one={"command": "own"})
        found = servers_of(run).configured().servers
        assert {name: server.command for name, server in found.items()} == {"one": "own", "two": "user"}
    given = options(project, trust=False, mcp_config=('{"mcpServers": {"two": {"command": "flag"}}}',))
    with program(given) as run:
        assert {name: server.command for name, server in servers_of(run).configured().servers.items()} == {
            "one": "user",
            "two": "flag",
        }
        servers_of(run).add({"one": {"command": "editor"}, "two": {"command": "editor"}}, "the editor")
        found = servers_of(run).configured().servers
        assert {(server.command, server.scope) for server in found.values()} == {("editor", "editor")}


def test_a_broken_file_of_the_project_is_a_warning_and_a_broken_flag_ends_the_run(project: Path) -> None:
    (project / ".mcp.json").write_text('{"mcpServers": {\n  "one": {"command" "x"}\n}}')
    with program(options(project)) as run:
        (note,) = [note for note in run.sessions.new().notes if ".mcp.json" in note]
        assert note == ".mcp.json line 2: expected ':' — its servers are left out."
    with program(options(project, mcp_config=("{",))) as run, pytest.raises(ConfigError, match="--mcp-config line 1"):
        run.sessions.new()


def _says(asked: Asked) -> Reply:
    """A call where the newest prompt asks for one by `call NAME`, else a word."""
    wanted = re.search(r"^call (\w+)", asked.last_text, re.MULTILINE)
    return Reply((call("mcp_call", tool=wanted[1], arguments={"text": "hello"}),)) if wanted else say("Done.")


@pytest.mark.parametrize(
    ("model", "more"),
    [
        ("anthropic/claude-sonnet-5", ()),
        pytest.param("google/gemini-3.8-flash", (), marks=pytest.mark.full),
        pytest.param("openai/gpt-6.2-sol", (), marks=pytest.mark.full),
        pytest.param("openai/gpt-6.2-sol", ("providers.openai.wire=chat",), marks=pytest.mark.slow),
    ],
)
def test_nothing_that_servers_do_changes_the_beginning_of_a_request(
    project: Path, model: str, more: tuple[str, ...]
) -> None:
    define(project, steady=fake("changes"), dies=fake(env={"FAKE_NAME": "dies"}), late=fake("late"))
    with Loopback(_says) as server:
        given = options(project, model=model, settings=("mcp.wait=0", "agent.titles=false", *more))
        with program(given, front_end=ATTENDED, **server.env) as run:
            session = run.sessions.new()
            asyncio.run(closing(session, _twelve_turns(project, run, session)))
            journal, heads = session.journal, [head(asked) for asked in server.requests]
        (project / ".mcp.json").unlink()
        with program(given, front_end=ATTENDED, **server.env) as run:
            again = run.sessions.session_for(journal)
            asyncio.run(closing(again, turn(again, "call mcp__steady__echo")))
            resumed = [head(asked) for asked in server.requests][len(heads) :]
        assert len(heads) > 12
        assert {*heads, *resumed} == {heads[0]}
        _, *later = [
            entry.body.usage
            for entry in journal.history.entries
            if isinstance(entry.body, Message) and entry.body.usage
        ]
        assert sum(usage.cache_read for usage in later) / sum(usage.prompt for usage in later) >= 0.97
        outputs = [entry.body.output for entry in journal.history.entries if isinstance(entry.body, ToolResult)]
        assert outputs[:3] == ["hello", "hello", "hello"]
        assert len(outputs) == 4
        assert outputs[-1] == "Server steady is not connected: it is not configured here."
        reminders = "\n".join(
            part.text
            for entry in journal.history.entries
            if isinstance(entry.body, Message)
            for part in entry.body.parts
            if isinstance(part, Text) and part.synthetic
        )
        assert "Server late is connected, 5 tools." in reminders
        assert "Server dies has ended" in reminders
        assert "Server steady has changed its tools. new: mcp__steady__new" in reminders


_LONG = " It goes on." * 800
"""What lifts the first prompt over the least that providers cache."""


async def _twelve_turns(project: Path, run: Program, session: AgentSession) -> None:
    servers = servers_of(run).connected()
    assert servers is not None
    servers.start()

    def status(name: str) -> str:
        return next(state.status for state in servers.states() if state.name == name)

    await until(lambda: status("steady") == status("dies") == "connected")
    for number in range(12):
        match number:
            case 2:
                (project / "go").touch()
                await until(lambda: status("late") == "connected")
            case 4:
                tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "new")]
                (project / "tools.json").write_text(json.dumps(tools))
            case 6:
                await until(lambda: any("changed its tools" in line for line in servers.changes()))
                _kill(project, "dies")
                await until(lambda: any("dies has ended" in line for line in servers.changes()))
        name = {3: "late", 5: "steady", 8: "dies"}.get(number)
        more = _LONG if number == 0 else ""
        await turn(session, f"call mcp__{name}__echo" if name else f"Prompt {number}.{more}")


def _kill(project: Path, name: str) -> None:
    pids = [line.split()[1:] for line in (project / "fake.log").read_text().splitlines() if line.startswith("start")]
    for pid, *of in pids:
        if of == [name]:
            os.kill(int(pid), signal.SIGKILL)


def test_a_server_that_hangs_keeps_nobody_waiting(project: Path) -> None:
    define(project, hangs=fake("silent"))
    with program(options(project, settings=("mcp.wait=0",)), front_end=ATTENDED) as run:
        began = time.monotonic()
        session = run.sessions.new()
        asyncio.run(turn(session, "hi"))
        assert [state.status for state in session.servers] == ["connecting"]
        assert time.monotonic() - began < 60


def test_doctor_lists_each_server_with_its_file_and_what_is_wrong_with_it(project: Path) -> None:
    define(
        project,
        works=fake(),
        gone={"command": "no-such-program"},
        off={"command": "x", "disabled": True},
        unset={"url": "https://x/mcp", "headers": {"A": "${NOT_SET}"}},
        bad={"comand": "x"},
    )
    with program(options(project)) as run:
        rows = {(name, ok, text.partition(": ")[2] or text) for name, ok, text in server_rows(run)}
    assert {(name, ok) for name, ok, _ in rows} == {
        ("server works", True),
        ("server gone", False),
        ("server off", False),
        ("server unset", False),
        ("servers", False),
    }
    assert ("server gone", False, "no-such-program was not found") in rows
    assert ("server unset", False, "it needs $NOT_SET, which is not set") in rows
    with program(options(project, trust=False)) as run:
        (row,) = server_rows(run)
    assert row[2].startswith("Servers were not read, since this folder is not trusted: .mcp.json (servers: ")


@pytest.mark.full
@pytest.mark.parametrize(
    ("own", "asked"), [("one", ["mcp__one__echo"]), ("o__ne", ["mcp__one__echo"]), ("other", [])], ids=str
)
def test_a_projects_server_with_the_name_of_the_users_own_gets_none_of_its_allow_rules(
    project: Path, own: str, asked: list[str]
) -> None:
    questions: list[str] = []

    async def person(request: ApprovalRequest) -> ApprovalResponse:
        questions.append(request.call.name)
        return ApprovalResponse("once")

    define(project, **{"o_ne" if own == "o__ne" else "one": fake(trustHints=True)})
    name = "mcp__o_ne__echo" if own == "o__ne" else "mcp__one__echo"
    with Loopback([say("", call("mcp_call", tool=name, arguments={"text": "hi"})), say("ok")]) as server:
        given = options(project, model="anthropic/claude-haiku-4-5", allow=(), settings=("agent.titles=false",))
        with program(given, front_end=FrontEnd(person), **server.env) as run:
            define(run.dirs.config, "mcp.json", **{own: fake()})
            (run.dirs.config / "config.toml").write_text('[permissions]\nallow = ["mcp__one", "mcp__o_ne"]\n')
            run.reload()
            session = run.sessions.new()
            asyncio.run(closing(session, turn(session, "go")))
            told = [note for note in session.notes if "takes the place of your own" in note]
    assert questions == [each.replace("one", "o_ne") if own == "o__ne" else each for each in asked]
    assert len(told) == len(asked)


def test_a_project_cannot_have_its_servers_hints_trusted(project: Path) -> None:
    define(project, one=fake(trustHints=True))
    with program(
        options(project, allow=(), mcp_config=(json.dumps({"mcpServers": {"two": fake(trustHints=True)}}),))
    ) as run:
        session = run.sessions.new()
        states(session)
        assert session.core.setup.servers is not None
        assert {tool.name for tool in session.core.setup.servers.tools() if tool.reads} == {"mcp__two__peek"}
