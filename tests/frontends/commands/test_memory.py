"""/memory: the files in force, where a line goes, and what the model learns of it."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from agentcli.agent.ports import Prompt
from agentcli.core.message import Message, Text
from agentcli.frontends.opening import program_of
from agentcli.program.options import Options
from tests.frontends.terminal.contexts import ScriptedContext
from tests.frontends.terminal.slash import type_


@pytest.fixture
def context(tmp_path: Path) -> ScriptedContext:
    work = tmp_path / "work"
    work.mkdir()
    subprocess.run(["git", "init", "-q", work], check=True)
    (work / "AGENTS.md").write_text("Be brief. @more.md @none.md\n")
    (work / "more.md").write_text("Use tabs.\n")
    env = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    program = program_of(
        Options(cwd=str(work), no_session=True, model="script:echo", trust=True), {**env, "HOME": str(tmp_path)}
    )
    context = ScriptedContext(session=program.sessions.new())
    context.program = program
    return context


def say(context: ScriptedContext, text: str) -> list[str]:
    """Send a prompt; the reminders that go with it."""

    async def drive() -> None:
        async for _ in context.session.turn(Prompt(text), asyncio.Event()):
            pass

    asyncio.run(drive())
    prompts = [entry.body for entry in context.session.history.entries if isinstance(entry.body, Message)]
    last = [message for message in prompts if message.is_prompt][-1]
    return [part.text for part in last.parts if isinstance(part, Text) and part.synthetic]


def test_files_imports_and_what_was_not_imported_are_shown(context: ScriptedContext, tmp_path: Path) -> None:
    text = "\n".join(type_(context, "/memory"))
    assert f"{tmp_path / 'work'}/AGENTS.md  (" in text
    assert f"imported by {tmp_path / 'work'}/AGENTS.md)" in text
    assert "@none.md is not imported: there is no such file." in text


@pytest.mark.parametrize(
    ("choice", "file"), [(0, "work/AGENTS.md"), (1, "work/AGENTS.local.md"), (2, "config/agentcli/AGENTS.md")]
)
def test_a_line_is_added_where_the_person_says_and_told_with_the_next_prompt(
    context: ScriptedContext, tmp_path: Path, choice: int, file: str
) -> None:
    say(context, "hello")
    system = context.session.history.system
    context.answers = [choice, 1]
    type_(context, "/memory add Run   make check")
    assert (tmp_path / file).read_text().endswith("## Notes\n\n- Run make check\n")
    assert any("Run make check" in text for text in say(context, "next"))
    assert context.session.history.system == system
    excluded = (tmp_path / "work/.git/info/exclude").read_text()
    assert ("AGENTS.local.md" in excluded) is (choice == 1)


def test_a_line_goes_to_the_file_that_counts_in_the_folder(context: ScriptedContext, tmp_path: Path) -> None:
    (tmp_path / "work/AGENTS.md").rename(tmp_path / "work/CLAUDE.md")
    context.answers = [0, 1]
    type_(context, "/memory add Run make check")
    assert not (tmp_path / "work/AGENTS.md").exists()
    assert (tmp_path / "work/CLAUDE.md").read_text().startswith("Be brief.")
    assert (tmp_path / "work/CLAUDE.md").read_text().endswith("- Run make check\n")


def test_in_a_worktree_the_local_file_is_kept_out_of_git_as_well(tmp_path: Path) -> None:
    who = ["-c", "user.name=n", "-c", "user.email=e"]
    for command in (
        ["init", "-q"],
        [*who, "commit", "-q", "--allow-empty", "-m", "First"],
        ["worktree", "add", "../tree"],
    ):
        (tmp_path / "repo").mkdir(exist_ok=True)
        subprocess.run(["git", *command], cwd=tmp_path / "repo", check=True, capture_output=True)
    env = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    options = Options(cwd=str(tmp_path / "tree"), no_session=True, model="script:echo", trust=True)
    program = program_of(options, {**env, "HOME": str(tmp_path)})
    context = ScriptedContext(session=program.sessions.new())
    context.program = program
    context.answers = [1, 1]
    type_(context, "/memory add Mine")
    assert (tmp_path / "tree/AGENTS.local.md").exists()
    status = subprocess.run(["git", "status", "--porcelain"], cwd=tmp_path / "tree", capture_output=True, text=True)
    assert status.stdout == ""


def test_nothing_is_written_without_a_yes(context: ScriptedContext, tmp_path: Path) -> None:
    before = (tmp_path / "work/AGENTS.md").read_text()
    for context.answers in ([], [0], [0, 0]):
        type_(context, "/memory add Run make check")
    assert (tmp_path / "work/AGENTS.md").read_text() == before


def test_reload_says_what_has_changed(context: ScriptedContext, tmp_path: Path) -> None:
    assert type_(context, "/memory reload")[-1] == "Nothing has changed."
    (tmp_path / "work/AGENTS.md").write_text("Be brief.\n")
    (tmp_path / "work/AGENTS.local.md").write_text("Mine.\n")
    text = "\n".join(type_(context, "/memory reload"))
    assert f"New: {tmp_path / 'work'}/AGENTS.local.md" in text
    assert "more.md" in text
