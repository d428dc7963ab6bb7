"""Deny rules about reading hold for what a person brings, for subagents, and for the environment of commands."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentcli.agent.session import AgentSession
from agentcli.core.errors import InputError
from agentcli.core.event import TurnEnded
from agentcli.frontends.terminal.input.attachments import with_attachments
from agentcli.permissions.rules import parse_rules
from agentcli.permissions.sandbox import detect
from agentcli.providers.scripted.model import say
from tests.agent.open_session import ended, messages, open_session, say_to
from tests.e2e.program import Program
from tests.features.mcp.played_servers import STATUS, Played

SECRET = "the-secret-of-the-house"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "secrets/deep").mkdir(parents=True)
    (folder / "secrets/key.txt").write_text(f"{SECRET}\nmore\n")
    (folder / "plain.txt").write_text("plain\n")
    (folder / "link.txt").symlink_to("secrets/key.txt")
    return folder


def session_in(work: Path) -> AgentSession:
    return open_session(work, lambda _: say("Done."), rules=parse_rules(deny=["read(secrets/**)"]))


def told(session: AgentSession, text: str, work: Path) -> TurnEnded:
    async def turn() -> Sequence[object]:
        return [event async for event in session.turn(with_attachments(text, work), asyncio.Event())]

    return ended(asyncio.run(turn()))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "mention",
    ["secrets/key.txt", "secrets/key.txt:1-1", "./secrets/../secrets/key.txt", "secrets", "secrets/deep", "link.txt"],
)
def test_a_denied_file_is_not_attached_and_nothing_is_sent(mention: str, work: Path) -> None:
    session = session_in(work)
    end = told(session, f"look at @{mention}", work)
    assert isinstance(end.error, InputError)
    assert "the rule read(secrets/**) from config keeps it from being read" in str(end.error)
    assert not messages(session)


def test_other_files_and_the_folder_above_are_attached(work: Path) -> None:
    session = session_in(work)
    assert told(session, "look at @plain.txt and @.", work).error is None
    assert SECRET not in repr(messages(session))


def test_a_denied_file_is_not_added_to_a_running_turn(work: Path) -> None:
    with pytest.raises(InputError, match="keeps it from being read"):
        session_in(work).steer(with_attachments("see @secrets/key.txt", work))


@pytest.mark.skipif(not detect().masks, reason="no sandbox here hides files")
def test_a_command_of_the_person_that_the_model_sees_shows_no_denied_file(tmp_path: Path) -> None:
    program = Program(tmp_path)
    (program.work / "secrets").mkdir()
    (program.work / "secrets/key.txt").write_text(f"{SECRET}\n")
    program.config('[permissions]\ndeny = ["read(secrets/**)"]\n')
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": [{"text": "Well."}]}))
    with program.terminal("-m", f"script:{script}", "--plain") as t:
        t.until("> ")
        t.send("!cat secrets/key.txt\r", until="!!cat secrets/key.txt shows it only to you")
        t.send("!cat sec*/k*; echo over-$((40 + 2))\r", until="over-42")
        assert SECRET.encode() not in t.raw
        t.send("!!cat secrets/key.txt\r", until=SECRET)


def test_a_resource_with_the_address_of_a_denied_file_is_not_read(work: Path) -> None:
    servers = Played(STATUS)
    session = open_session(work, lambda _: say("ok"), servers=servers, rules=parse_rules(deny=["read(secrets/**)"]))
    for uri in (
        f"file://{work}/secrets/key.txt",
        f"file://{work}/secrets/../secrets/key%2Etxt",
        f"file://localhost{work}/link.txt",
    ):
        assert "keeps it from being read" in str(ended(say_to(session, f"see @git:{uri}")).error)
    assert not messages(session)
    assert ended(say_to(session, "see @git:note://1")).error is None


def test_a_review_leaves_denied_files_out_of_the_changes(tmp_path: Path) -> None:
    program = Program(tmp_path)
    odd = "secrets/ä é.txt"
    for name in ("secrets/key.txt", "plain.txt", odd):
        (program.work / name).parent.mkdir(exist_ok=True)
        (program.work / name).write_text("before\n")
    for words in ("init -q", "add plain.txt secrets/key.txt", "-c user.name=a -c user.email=b commit -qm first"):
        subprocess.run(["git", *words.split()], cwd=program.work, check=True, capture_output=True)
    for name in ("secrets/key.txt", "plain.txt", odd):
        (program.work / name).write_text("changed\n" if name == "plain.txt" else f"{SECRET}\n")
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": [{"text": "Fine."}]}))
    program.ask("-p", "/review", "-m", f"script:{script}", "--deny", "read(secrets/**)")
    sent = json.dumps(program.records())
    assert "+changed" in sent
    assert "left out: 2 files that deny rules keep from being read" in sent
    assert SECRET not in sent


def test_an_instruction_file_imports_no_denied_file(tmp_path: Path) -> None:
    program = Program(tmp_path)
    (program.work / "secrets").mkdir()
    (program.work / "secrets/key.txt").write_text(f"{SECRET}\n")
    (program.work / "plain.md").write_text("Use tabs.\n")
    (program.work / "AGENTS.md").write_text("See @secrets/key.txt and @plain.md here.\n")
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": [{"text": "Fine."}]}))
    program.ask("-p", "go", "-m", f"script:{script}", "--trust", "--deny", "read(secrets/**)")
    sent = json.dumps(program.records())
    assert "Use tabs." in sent
    assert SECRET not in sent
