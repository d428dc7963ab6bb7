"""Questions at the start of a session: trust, then each definition by its exact command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.session import AgentSession
from agentcli.frontends.opening import program_of
from agentcli.frontends.terminal.start_questions import IMPORT, NOT_LOADED, UNCHANGED, settle
from agentcli.program.options import Options
from agentcli.program.program import Program

EVIL = {"PreToolUse": [{"hooks": [{"type": "command", "command": "sh -c 'x'\x1b[2J"}]}]}
GIT = {"mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"]}}}


class Folder:
    """A repository with settings for other programs, and the program in it."""

    def __init__(self, home: Path) -> None:
        self.work = home / "work"
        (self.work / ".git").mkdir(parents=True)
        (self.work / ".claude").mkdir()
        self._home = home

    def define(self, permissions: dict[str, Any] | None = None, **hooks: Any) -> Folder:
        settings = {"hooks": hooks, **({"permissions": permissions} if permissions else {})}
        (self.work / ".claude" / "settings.json").write_text(json.dumps(settings))
        return self

    def serve(self) -> Folder:
        (self.work / ".mcp.json").write_text(json.dumps(GIT))
        return self

    def program(self) -> Program:
        env = {f"XDG_{kind}_HOME": str(self._home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
        options = Options(cwd=str(self.work), model="script:echo")
        return program_of(options, {**env, "HOME": str(self._home), "PATH": "/usr/bin:/bin"})


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def asked(program: Program, *answers: bool | int) -> tuple[list[str], list[AgentSession]]:
    """The questions, and the sessions that were moved to."""
    questions: list[str] = []
    moved: list[AgentSession] = []
    left = list(answers)

    async def confirm(title: str, body: Sequence[str]) -> bool:
        questions.append(" ".join([title, *body]))
        return bool(left.pop(0))

    async def move_to(session: AgentSession) -> None:
        moved.append(session)

    async def choose(title: str, body: Sequence[str], labels: Sequence[str]) -> int:
        questions.append(" ".join([title, *body, *labels]))
        answer = left.pop(0)
        return answer if answer is not True and answer is not False else 0 if answer else len(labels) - 1

    async def run() -> None:
        session = program.sessions.new()
        try:
            await settle(program, session, choose, confirm, questions.append, move_to)
        finally:
            (moved or [session])[-1].close()
            await program.close()

    asyncio.run(run())
    return questions, moved


def test_each_definition_is_asked_about_after_trust_with_its_exact_command_line(folder: Folder) -> None:
    program = folder.define(**EVIL).serve().program()
    questions, moved = asked(program, True, False, True)
    assert questions[1:] == [
        "Let this project start server git of .mcp.json? (1 of 2) uvx mcp-server-git",
        "Let this project start hook sh (PreToolUse) of .claude/settings.json? (2 of 2) sh -c 'x'\\x1b[2J",
    ]
    assert [program.approvals.allows(one) for one in program.definitions()] == [False, True]
    assert program.trusted
    assert len(moved) == 2


def test_without_trust_nothing_more_is_asked(folder: Folder) -> None:
    program = folder.define(**EVIL).program()
    assert asked(program, False)[0][1:] == [NOT_LOADED]
    assert not program.trusted


def test_rules_that_tighten_are_named_and_still_apply_without_trust(folder: Folder) -> None:
    rules = {"deny": ["Read(./secrets/**)"], "ask": ["Bash(make)"]}
    question, told = asked(folder.define(rules, **EVIL).program(), False)[0]
    assert "Its rules that deny or ask apply either way: " in question
    assert "secrets/**), ask bash(make)" in question
    assert told == f"{NOT_LOADED} Its 2 rules that deny or ask still apply."


def test_where_all_is_declined_the_session_stays(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    first = folder.define(**EVIL).program()
    asked(first, True, False)
    later = folder.serve().program()
    assert asked(later, False)[1] == []


@pytest.mark.parametrize(("answer", "saved"), [(0, False), (1, True), (2, False)])
def test_allow_rules_of_the_project_are_saved_only_by_the_answer_that_names_them(
    folder: Folder, answer: int, saved: bool
) -> None:
    program = folder.define({"allow": ["Bash(make test)", "Edit(src/**)"]}, **EVIL).program()
    questions, moved = asked(program, answer, False)
    assert "bash(make test), edit(" in questions[0]
    assert questions[0].endswith("Yes, load them Yes, also its 2 allow rules No, start without them")
    assert len(program.workspace_policy.saved.listed()) == (2 if saved else 0)
    assert len(moved) == (0 if answer == 2 else 1)


def test_without_allow_rules_there_are_two_answers(folder: Folder) -> None:
    questions = asked(folder.define(**EVIL).program(), True, False)[0]
    assert questions[0].endswith("Yes, load them No, start without them")


@pytest.mark.parametrize("taken", [True, False])
def test_the_settings_of_other_agents_are_offered_once_and_imported_only_after_a_yes(
    folder: Folder, tmp_path: Path, taken: bool
) -> None:
    (tmp_path / ".claude").mkdir()
    rules = {"deny": ["Bash(rm:*)"], "defaultMode": "plan"}
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"permissions": rules, "theme": "dark"}))
    (tmp_path / ".claude.json").write_text(json.dumps(GIT))
    (tmp_path / ".claude" / "CLAUDE.md").write_text("Be brief.")
    program = folder.program()
    questions, moved = asked(program, taken)
    assert questions[0].startswith(
        f"{IMPORT} Claude Code: 1 server, 1 permission rule, mode, theme, AGENTS.md {UNCHANGED}"
    )
    assert [session.core.approval.mode for session in moved] == (["plan"] if taken else [])
    assert (program.dirs.config / "mcp.json").exists() == taken
    assert questions[1].startswith("Imported 5 entries to " if taken else "Nothing was imported.")
    assert asked(folder.program()) == ([], [])
