"""The lists of skills, agents and plugins, and what /help says of commands in files."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentcli.agent.project.prompt_files import PromptFiles
from agentcli.frontends.commands import prompt_files
from agentcli.program.commands import Item
from agentcli.program.prompt_files.discover import discover
from agentcli.program.prompt_files.plugins import Plugin
from tests.agent.open_session import open_session
from tests.frontends.terminal.contexts import ScriptedContext
from tests.frontends.terminal.slash import COMMANDS


def written(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def context(tmp_path: Path) -> ScriptedContext:
    """A context whose session has a skill, commands, an agent and a plugin."""
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    written(
        work / ".claude",
        skills__pdf__SKILL="---\ndescription: Reads \x1b[31mPDF.\n---\nRead.",
        commands__git__x="---\ndescription: Looks\nargument-hint: PATH\n---\nLook.",
        commands__undo="Mine.",
        agents__rev="---\nname: rev\ndescription: Reviews.\n---\nYou review.",
        skills__none__SKILL="# Nothing",
    )
    written(tmp_path / "plug", commands__go="Go.")
    plugin = Plugin("plug", tmp_path / "plug")

    def found() -> PromptFiles:
        return discover(work, tmp_path / "home", tmp_path / "config", [plugin])

    return ScriptedContext(session=open_session(work, [], prompt_files=found))


def said(context: ScriptedContext, line: str) -> str:
    context.output.clear()
    asyncio.run(COMMANDS.run(context, line))
    return "\n".join(context.output)


def test_skills_agents_and_plugins_are_listed_with_what_was_left_out(context: ScriptedContext) -> None:
    text = said(context, "/extensions skills")
    assert "pdf: Reads \\x1b[31mPDF. (" in text
    assert "has no description: left out." in text
    assert "rev: Reviews. (" in said(context, "/extensions agents")
    assert list(prompt_files.agent_items(context.session)) == [Item("@rev", "Reviews.")]
    assert said(context, "/extensions plugins").splitlines()[0] == "plug: go"


def test_help_lists_and_explains_commands_of_files_and_names_what_is_shadowed(context: ScriptedContext) -> None:
    text = said(context, "/help")
    assert "/git:x" in text
    assert "/plug:go" in text
    assert "is shadowed by ours; call it /project:undo." in text
    assert said(context, "/help git:x").startswith("Looks\n/git:x PATH\n")
    assert "/undo" in said(context, "/help undo").splitlines()[0]


def test_completion_offers_them_by_free_names(context: ScriptedContext) -> None:
    names = {item.name for item in COMMANDS.from_files(context.session)}
    assert names == {"git:x", "project:undo", "pdf", "plug:go"}
    assert not COMMANDS.is_command("/git:x a", context.session)
    assert COMMANDS.is_command("/undo", context.session)
