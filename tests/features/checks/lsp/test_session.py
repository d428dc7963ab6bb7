"""Language servers in a session: new diagnostics after edits, questions, renames, and servers that misbehave."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentcli.agent.ports import ApprovalResponse, Prompt
from agentcli.agent.session import AgentSession
from agentcli.agent.setup import Sandboxes
from agentcli.core.errors import ToolError
from agentcli.core.event import Event, Noticed, Warned
from agentcli.core.message import ToolCall
from agentcli.core.on_demand import OnDemand
from agentcli.core.tool import Boxed, ToolLimits, ToolOutput
from agentcli.features.checks.commands import rows
from agentcli.features.checks.lsp.configured import UNTRUSTED, LanguageServer
from agentcli.features.checks.lsp.server import Patience, Server
from agentcli.features.checks.lsp.session import SessionServers
from agentcli.frontends.sections import SCHEMA
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import parse_rules
from agentcli.program.config import load
from agentcli.providers.scripted.model import call, say
from agentcli.sessions.checkpoints.changes import Changes
from agentcli.sessions.store import Store
from agentcli.tools.lsp import LanguageServers
from tests.agent.open_session import Person, open_session, results
from tests.sampling import sampled
from tests.tables import each_row

FAKE = Path(__file__).with_name("fake_server.py")
RUNNERS: list[asyncio.Runner] = []


@pytest.fixture(autouse=True)
def one_loop() -> Iterator[None]:
    """One event loop for all that a test runs: a server stays in its loop."""
    with asyncio.Runner() as runner:
        RUNNERS.append(runner)
        yield
        RUNNERS.clear()


class Approved:
    def allows(self, _: object) -> bool:
        return True


def program(folder: Path, how: str, **more: Any) -> Any:
    entry = {
        "command": sys.executable,
        "args": [str(FAKE), how],
        "extensionToLanguage": {".txt": "text"},
        "settings": {"lint": {"level": "all"}},
        **more,
    }
    plugin = SimpleNamespace(name="fake", lsp={"fake": entry}, variables={})
    return SimpleNamespace(
        config=load(SCHEMA, None, None, {}, more={"lsp": True}),
        approvals=Approved(),
        plugins=([plugin], []),
        trusted=True,
        cwd=folder,
        dirs=SimpleNamespace(config=folder / "config"),
        given_env={"PATH": ""},
    )


def opened(
    folder: Path,
    how: str,
    *replies: Sequence[ToolCall] | str,
    mode: Any = "yolo",
    patience: Patience | None = None,
    **more: Any,
) -> AgentSession:
    script = [say(reply) if isinstance(reply, str) else say("", *reply) for reply in replies]
    made = partial(SessionServers, program(folder, how), patience=patience)
    return open_session(folder, script, mode=mode, features=[made], off=(), **more)


def turn(session: AgentSession) -> list[Event]:
    async def collect() -> list[Event]:
        return [event async for event in session.turn(Prompt("go"), asyncio.Event())]

    return RUNNERS[0].run(collect())


def warnings(events: Sequence[Event]) -> list[str]:
    return [event.message for event in events if isinstance(event, Warned)]


def write(path: str, text: str) -> ToolCall:
    return call("write", file_path=path, content=text)


def edit(path: str, old: str, new: str) -> ToolCall:
    return call("edit", file_path=path, old_string=old, new_string=new)


def asked(session: AgentSession, *given: Any) -> ToolOutput:
    servers = session.core.ctx.service(LanguageServers)
    assert servers is not None
    return RUNNERS[0].run(servers.ask("c1", *given))


def until(said: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not said():
        assert time.monotonic() < deadline
        RUNNERS[0].run(asyncio.sleep(0.02))


def test_an_edit_gets_the_diagnostics_that_it_brought(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("bad old\nfine\n")
    session = opened(
        tmp_path, "", [edit("a.txt", "bad old", "top\nbad old")], [edit("a.txt", "fine", "a bad line")], "Done."
    )
    servers = session.core.ctx.service(LanguageServers)
    asked(
        session, "symbols", str(tmp_path / "a.txt"), 0, "", ""
    )  # it runs before the first edit, which then has its answer in time
    assert not warnings(turn(session))
    moved, brought = (result.output for result in results(session))
    late = "\n".join(servers.news()) if servers is not None else ""  # type: ignore[attr-defined]
    assert "E1" not in moved
    assert "a.txt:3:3: error: bad is not good [E1]" in brought + late
    assert "hint" not in brought + late
    session.close()


@pytest.mark.slow  # it has failed where the machine was cold, for a reason that is not known
def test_a_server_that_is_silent_about_clean_files_still_tells_what_a_later_edit_brought(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("fine\n")
    session = opened(
        tmp_path, "terse", [edit("a.txt", "fine", "good")], [edit("a.txt", "good", "bad")], "Done.", "Seen."
    )
    servers: Any = session.core.ctx.service(LanguageServers)
    turn(session)
    told = "".join(result.output for result in results(session))
    until(lambda: bool(servers.late) or "E1" in told)
    assert "a.txt:1:1: error: bad is not good [E1]" in told + "".join(servers.late)
    session.close()


@pytest.mark.full
def test_findings_of_a_server_that_still_loads_the_project_are_not_new(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("bad\nfine\n")
    session = opened(tmp_path, "loading", [edit("a.txt", "fine", "good")], "Done.")
    turn(session)
    servers: Any = session.core.ctx.service(LanguageServers)
    [document] = servers.all[0].documents.values()
    until(lambda: document.known is not None and document.known[0] == "bad\ngood\n")
    assert not servers.late
    assert "E1" not in results(session)[0].output
    session.close()


def test_reading_a_file_starts_its_server_so_that_the_first_edit_has_its_findings_in_time(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("bad old\n")
    session = opened(tmp_path, "", [call("read", file_path="a.txt")], "Read.", [edit("a.txt", "old", "bad")], "Done.")
    servers: Any = session.core.ctx.service(LanguageServers)
    turn(session)
    until(lambda: any(document.known for document in servers.all[0].documents.values()))
    turn(session)
    _, edited = results(session)
    assert edited.output.endswith("New findings of `fake`:\na.txt:1:5: error: bad is not good [E1]")
    session.close()


@pytest.mark.full
def test_findings_that_come_before_the_turn_ends_let_the_model_continue(tmp_path: Path) -> None:
    slow_reply = say("Done.", delay=4.0)
    made = partial(SessionServers, program(tmp_path, "slow"))
    script = [say("", write("a.txt", "bad\n")), slow_reply, say("Mended.")]
    session = open_session(tmp_path, script, mode="yolo", features=[made], off=())
    noticed = [event.message for event in turn(session) if isinstance(event, Noticed)]
    assert noticed == ["Findings came after the model's last edit: it is told of them."]
    *_, told, last = (entry.body for entry in session.history.entries)
    assert "a.txt:1:1: error: bad is not good [E1]" in str(told)
    assert "Mended." in str(last)
    session.close()


@pytest.mark.full
def test_diagnostics_that_come_late_are_told_with_a_later_result_and_delay_no_edit(tmp_path: Path) -> None:
    session = opened(tmp_path, "slow", [write("a.txt", "bad\n")], "Done.", "Seen.")
    began = time.monotonic()
    turn(session)
    assert time.monotonic() - began < 2.5 + 5  # 3 s of its own, and a slow machine
    assert "E1" not in results(session)[0].output
    servers: Any = session.core.ctx.service(LanguageServers)
    until(lambda: bool(servers.late))
    turn(session)
    assert "a.txt:1:1: error: bad is not good [E1]" in str(session.history.entries[-2].body) + str(
        session.history.entries[-3].body
    )
    session.close()


@each_row(
    ("operation", "answer"),
    [
        ("definition", "a.txt:1: 𝛼 total = 1"),
        ("references", "a.txt:1: 𝛼 total = 1\na.txt:2: 𝛼 x = total"),
        ("hover", "**total**: int\\x1b[31m"),
        ("symbols", "outer (line 1)\n  inner (line 2)"),
    ],
)
def test_questions_are_answered_with_places_and_their_lines(tmp_path: Path, operation: str, answer: str) -> None:
    (tmp_path / "a.txt").write_text("𝛼 total = 1\n𝛼 x = total\n")
    session = opened(tmp_path, "")
    assert asked(session, operation, str(tmp_path / "a.txt"), 2, "total", "").output == answer
    session.close()


def test_a_line_of_a_file_that_deny_rules_name_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text("secret total\n")
    session = opened(tmp_path, "", rules=parse_rules(deny=["read(key.txt)"]))
    assert asked(session, "references", str(tmp_path / "key.txt"), 1, "total", "").output == "key.txt:1"
    refused = opened(
        tmp_path,
        "",
        [call("lsp", operation="hover", file_path="key.txt", line=1, symbol="total")],
        "Done.",
        rules=parse_rules(deny=["read(key.txt)"]),
    )
    turn(refused)
    assert results(refused)[0].status == "denied"
    session.close()
    refused.close()


def test_a_rename_is_one_edit_that_is_asked_about_and_undone(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    before = "𝛼 total = 1\nsame\n𝛼 x = total\nsame\nsubtotal"
    file.write_text(before)
    rename = call("lsp", operation="rename", file_path="a.txt", line=1, symbol="total", new_name="sum")
    store = Store(tmp_path / "store")
    journal = store.create(tmp_path)
    kept = store.checkpoints(journal, [tmp_path])

    def changes(_: Any) -> Any:
        return lambda append: OnDemand(lambda: Changes(journal, kept, append), lambda: True)

    person = Person(ApprovalResponse("yes"))
    session = opened(tmp_path, "", [rename], "Done.", mode="ask", person=person, journal=journal, changes=changes)
    turn(session)
    [result] = results(session)
    assert result.status == "success", result.output
    [ask] = person.asked
    assert ask.call.name == "apply_patch"
    assert result.output.startswith("Renamed in 2 places. ")
    assert file.read_text() == before.replace(" total", " sum")
    assert session.core.checkpointer is not None
    session.core.checkpointer.undo()
    assert file.read_text() == before
    session.close()


def test_a_rename_writes_nothing_outside_the_workspace(tmp_path: Path) -> None:
    for folder in ("work", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text("total\n")
    rename = call("lsp", operation="rename", file_path="a.txt", line=1, symbol="total", new_name="sum")
    session = opened(tmp_path / "work", "elsewhere", [rename], "Done.", mode="yolo")
    turn(session)
    [result] = results(session)
    assert (result.status, "outside the workspace" in result.output, "`edit`" in result.output) == ("error", True, True)
    assert (tmp_path / "other/a.txt").read_text() == "total\n"
    session.close()


def test_a_rename_that_the_person_refuses_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("total\n")
    rename = call("lsp", operation="rename", file_path="a.txt", line=1, symbol="total", new_name="sum")
    session = opened(tmp_path, "", [rename], "Done.", mode="ask", person=Person(ApprovalResponse("no")))
    turn(session)
    assert (tmp_path / "a.txt").read_text() == "total\n"
    session.close()


@pytest.mark.parametrize("how", sampled(["dies", "floods", "nonsense", "silent", "mute", "refuses"], 2))
def test_a_server_that_misbehaves_is_named_once_and_the_edits_stand(tmp_path: Path, how: str) -> None:
    contents = [str(n) for n in range(5)]
    patience = Patience(start=0.5) if how == "silent" else None
    session = opened(tmp_path, how, *([write("a.txt", text)] for text in contents), "Done.", patience=patience)
    events = turn(session)
    servers: Any = session.core.ctx.service(LanguageServers)
    if how in ("dies", "floods", "nonsense", "silent"):
        until(lambda: bool(servers.all[0].off))
        until(lambda: bool(warnings(events)) or bool(events.extend(session.core.printed.take())))
        assert len(warnings(events)) == 1
        why = "it did not start (it breaks the protocol)" if how == "nonsense" else "it ended 3 times"
        assert f"The language server fake is off: {why}" in warnings(events)[0]
    else:
        assert not warnings(events)
    assert [result.status for result in results(session)] == ["success"] * 5
    assert all("\n\n" not in result.output for result in results(session))
    assert (tmp_path / "a.txt").read_text() == "4"
    session.close()


def test_a_question_to_a_server_that_drips_ends_in_time_whatever_waits_before_it(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("total = 1\n")
    session = opened(tmp_path, "drips", patience=Patience(start=30, question=0.5))
    servers: Any = session.core.ctx.service(LanguageServers)
    began = time.monotonic()
    with pytest.raises(ToolError, match=r"The language server fake did not answer within 0\.5 s\."):
        asked_after_reading(servers, tmp_path)
    assert time.monotonic() - began < 10
    session.close()


def asked_after_reading(servers: Any, folder: Path) -> ToolOutput:
    async def run() -> ToolOutput:
        servers.shown(folder / "b.txt")  # it has the server's lock until the server has started
        await asyncio.sleep(0)
        output: ToolOutput = await servers.ask("c1", "hover", str(folder / "a.txt"), 1, "total", "")
        return output

    return RUNNERS[0].run(run())


@pytest.mark.parametrize(
    ("failures", "starts", "off"),
    [(0, 1, ""), (2, 3, ""), (9, 3, "it did not start (exit code 1, bwrap: gone)")],
)
def test_a_sandbox_that_fails_before_the_server_starts_is_built_again(
    tmp_path: Path, failures: int, starts: int, off: str
) -> None:
    server, made = sandboxed(tmp_path, failures, 'read -rN 1 -u 9; exec 9<&-; exec "$@"')
    if off:
        with pytest.raises(ToolError, match=re.escape(off)):
            RUNNERS[0].run(server.connected())
    else:
        RUNNERS[0].run(server.connected())
    assert (len(made), server.off) == (starts, off)
    server.close()


def test_a_server_that_ends_in_its_complete_sandbox_is_not_started_twice(tmp_path: Path) -> None:
    server, made = sandboxed(tmp_path, 0, "read -rN 1 -u 9; exit 3")
    with pytest.raises(ToolError, match=r"exit code 3"):
        RUNNERS[0].run(server.connected())
    assert len(made) == 1


def sandboxed(folder: Path, failures: int, script: str) -> tuple[Server, list[Sequence[str]]]:
    """Return a server in a sandbox that first fails so often, then runs a script; and the commands of its sandboxes."""
    made = list[Sequence[str]]()

    def own(argv: Sequence[str], _: bool) -> Boxed:
        made.append(argv)
        begins = "echo bwrap: gone >&2; exit 1" if len(made) <= failures else script
        return Boxed(["bash", "-c", begins, "bash", *argv], {9: b"."}, read_last=9)

    core: Any = SimpleNamespace(
        ctx=SimpleNamespace(roots=(), env={"PATH": os.environ["PATH"]}),
        setup=SimpleNamespace(
            workspace=Workspace(folder),
            permissions=SimpleNamespace(sandboxes=lambda *_: Sandboxes(own=own)),
            settings=SimpleNamespace(limits=ToolLimits()),
        ),
    )
    defined = LanguageServer("fake", sys.executable, (str(FAKE), ""), {".txt": "text"}, {})
    return Server(core, defined, Patience()), made


def test_a_server_that_is_not_there_is_named_once(tmp_path: Path) -> None:
    session = open_session(
        tmp_path,
        [say("", write("a.txt", "1")), say("", write("a.txt", "2")), say("Done.")],
        mode="yolo",
        features=[partial(SessionServers, program(tmp_path, "", command="no-such-server"))],
    )
    [warned] = warnings(turn(session))
    assert "no-such-server is not on PATH" in warned
    session.close()
    [row] = rows(program(tmp_path, "", command="no-such-server", args=[]))
    assert row == (
        "language server fake",
        False,
        "no-such-server for .txt (plugin fake): no-such-server is not installed",
    )


def test_in_an_untrusted_folder_no_server_starts_and_a_warning_says_so(tmp_path: Path) -> None:
    untrusted = program(tmp_path, "")
    untrusted.trusted = False
    (tmp_path / "a.txt").write_text("fine\n")
    script = [say("", edit("a.txt", "fine", "bad")), say("Done.")]
    made = partial(SessionServers, untrusted)
    session = open_session(tmp_path, script, mode="yolo", features=[made], off=())
    assert warnings(turn(session)) == [UNTRUSTED]
    [result] = results(session)
    assert result.status == "success"
    assert "findings" not in result.output
    session.close()
