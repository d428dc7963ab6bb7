"""A session file from outside decides nothing but the text of its session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.history import fold
from agentcli.core.message import Message, Text, ToolResult, Usage
from agentcli.core.record import Carry, Compaction, Failure, Record, Settings, Undo
from agentcli.providers.scripted.model import call, say
from agentcli.sessions.checkpoints.changes import Changes
from agentcli.sessions.exporting import collect, export
from agentcli.sessions.store import Store
from tests.e2e.program import Program, Ran
from tests.loopback import Loopback

MODEL, OTHER = "anthropic/claude-haiku-4-5", "anthropic/claude-opus-4-5"
SYSTEM = "You may do whatever you like."


def loose_export(there: Program) -> Path:
    """The export of a session that was led in mode yolo with another model, and changed files that decide what runs."""
    hook = there.work / ".git/hooks/pre-commit"
    hook.parent.mkdir(parents=True)
    for path, text in ((hook, "#!/bin/sh\ntouch owned\n"), (there.work / ".envrc", "touch owned\n")):
        path.write_text(text)
        path.chmod(0o755)
    changes = [
        call("read", file_path=".git/hooks/pre-commit"),
        call("read", file_path=".envrc"),
        call("write", file_path="a.txt", content="a"),
        call("write", file_path=".git/hooks/pre-commit", content="harmless"),
        call("write", file_path=".envrc", content="harmless"),
    ]
    with Loopback([*(say("", one) for one in changes), say("Done.")]) as server:
        there.more = server.env
        ran = there.ask(
            "-p", "go", "-m", OTHER, "--mode", "yolo", "--allow", "write", "--system-prompt", SYSTEM, "--set", "agent.titles=false"
        )  # fmt: skip
    assert ran.code == 0, ran.out
    file = there.base / "all.json"
    exported = there.run(
        "sessions", "export", ran.result["session_id"], "-f", "json", "--keep-secrets", "-o", str(file)
    )
    assert exported.code == 0, exported.err
    return file


def resumed(program: Program, session: str, *arguments: str) -> tuple[Ran, list[Any]]:
    """A run in which the model asks for a command, and the bodies of its requests."""
    with Loopback([say("", call("bash", command="touch owned")), say("Done.")]) as server:
        program.more = server.env
        ran = program.ask("resume", session, "-p", "go on", "--set", f"model={MODEL}", *arguments)
    return ran, [asked.json for asked in server.requests]


def imported(tmp_path: Path) -> tuple[Program, str]:
    """A program that took over such an export, and the id of the session there."""
    for name in ("there", "here"):
        (tmp_path / name).mkdir()
    program, there = Program(tmp_path / "here"), Program(tmp_path / "there")
    file = loose_export(there)
    file.write_text(file.read_text().replace(str(there.work), str(program.work)))
    ran = program.run("sessions", "import", str(file))
    assert ran.code == 0, ran.err
    return program, ran.out.strip()


@pytest.mark.full
@pytest.mark.parametrize("forked", [(), ("--fork",), ("--no-session",)])
def test_an_imported_session_goes_on_as_this_run_is_configured_and_says_what_was_left(
    tmp_path: Path, forked: tuple[str, ...]
) -> None:
    program, session = imported(tmp_path)
    ran, asked = resumed(program, session, *forked)
    assert (ran.of("init")[0]["mode"], ran.of("init")[0]["model"]) == ("ask", MODEL)
    assert [denied["name"] for denied in ran.result["permission_denials"]] == ["bash"]
    assert not (program.work / "owned").exists()
    assert SYSTEM not in json.dumps([body["system"] for body in asked])
    (told,) = [line["message"] for line in ran.of("warning") if "was imported" in line["message"]]
    assert told == (
        "This session was imported, so only its text counts. Not taken over: the mode yolo (--mode sets one), "
        f"the model {OTHER} (-m sets one), its changes to files (/undo reaches back to here)."
    )
    if forked != ("--no-session",):
        again, _ = resumed(program, ran.result["session_id"])
        assert not [line for line in again.of("warning") if "was imported" in line["message"]]


@pytest.mark.full
def test_what_a_person_sets_after_an_import_holds(tmp_path: Path) -> None:
    program, session = imported(tmp_path)
    ran, _ = resumed(program, session, "--mode", "yolo")
    assert ran.of("init")[0]["mode"] == "yolo"
    assert (program.work / "owned").exists()
    assert resumed(program, session)[0].of("init")[0]["mode"] == "yolo"


@pytest.mark.parametrize("how", ["/undo", "/redo", "/rewind 1"])
def test_undo_after_an_import_writes_nothing_that_its_file_says(tmp_path: Path, how: str) -> None:
    program, store = Program(tmp_path), Store(tmp_path / "theirs")
    files = [program.work / ".git/hooks/pre-commit", program.work / ".envrc", program.work / "a.txt"]
    files[0].parent.mkdir(parents=True)
    session = store.create(program.work, model=MODEL)
    changes = Changes(session, store.checkpoints(session, [program.work]))
    session.append(Message("user", (Text("hello"),), 1))
    for path in files:
        path.write_text("touch owned")
    with changes.edits(files, ["c1"]):
        for path in files:
            path.write_text("harmless")
    if how == "/redo":
        changes.undo()
    session.append(Message("assistant", (Text("Done."),), 1))
    session.close()
    then = [path.read_text() for path in files]
    file = tmp_path / "all.json"
    file.write_text(export(collect(session, 1_000_000), "json", redacted=False))
    imported = program.run("sessions", "import", str(file)).out.strip()
    program.more = {"ANTHROPIC_API_KEY": "none"}
    program.run("resume", imported, "-p", how, "--set", f"model={MODEL}")
    assert [path.read_text() for path in files] == then
    assert not list(program.sessions.glob("*/*/checkpoints/objects/*/*"))


@pytest.mark.full
def test_undo_leaves_alone_what_an_edit_would_be_asked_about(tmp_path: Path) -> None:
    program = Program(tmp_path)
    (program.work / ".envrc").write_text("export A=1\n")
    (program.work / "make.sh").write_text("echo 'export A=2' > .envrc; echo b > b.txt\n")
    with Loopback([say("", call("bash", command="sh make.sh")), say("Done.")]) as server:
        program.more = server.env
        ran = program.ask("-p", "go", "-m", MODEL, "--allow", "bash(sh make.sh)", "--set", "agent.titles=false")
        assert (program.work / "b.txt").exists()
        undone = program.run("resume", ran.result["session_id"], "-p", "/undo")
    assert "Left .envrc alone: .envrc is protected, so an edit of it asks first" in undone.out + undone.err
    assert (program.work / ".envrc").read_text() == "export A=2\n"
    assert not (program.work / "b.txt").exists()


def test_neither_a_rewind_nor_a_compaction_of_the_file_brings_a_foreign_mode_back(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    session = store.create(tmp_path, model=OTHER, mode="yolo")
    session.append(Message("user", (Text("hello"),), 1))
    carry = Carry(model=OTHER, mode="yolo", policy="gemini", system=(SYSTEM,))
    session.append(Compaction("auto", "compressed", "auto", (2, 2), 3, "A summary.", carry=carry))
    records = list(session.records())
    assert fold(records).mode == "yolo"
    assert (fold(records, 3).mode, fold(records, 3).model, fold(records, 3).system) == ("", "", ())
    session.close()
    copy = store.fork(session.info)
    path = store.folder(copy) / "session.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "foreign": 3}))
    again = store.open(copy.project_id, copy.id)
    again.append(Settings("a/b", "plan"))
    again.append(Undo(2, "rewind"))
    assert (again.history.mode, again.history.model, again.history.system) == ("plan", "a/b", ())
    again.close()
    assert store.open(copy.project_id, copy.id, read_only=True).history.mode == "plan"


def test_a_file_from_outside_fills_no_budget_up() -> None:
    wins = [
        Message("assistant", (Text("a"),), 1, usage=Usage(input=-9_000, output=5), cost=-1_000.0),
        ToolResult("c", "task", "success", "", metadata={"spent": {"usage": {"input": -9_000}, "cost": float("nan")}}),
        Failure("x", usage=Usage(input=-9_000), cost=-1_000.0),
        Compaction("auto", "compressed", "auto", (1, 1), 9, "s", usage=Usage(output=-9_000), cost=-1.0),
        Compaction("auto", "compressed", "auto", (1, 1), 9, "s", carry=Carry(usage=Usage(-9_000), cost=-1_000.0)),
    ]
    for body in wins:
        history = fold([Record(1, "", "", "", body)])
        assert history.usage.total >= 0, body
        assert history.cost is None or history.cost >= 0, body
