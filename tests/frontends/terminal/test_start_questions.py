"""Questions at the start of a session: trust, then each definition by its exact command line."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from agentcli.frontends.terminal.start_questions import NOT_LOADED, settle
from agentcli.program.definition import Definition

EVIL = Definition("hook", "PreToolUse", ".claude/settings.json", "sh -c 'x'\x1b[2J", {})
GIT = Definition("server", "git", ".mcp.json", "uvx mcp-server-git", {})


class Folder:
    """A host of a folder with files to load and definitions to approve."""

    def __init__(self, untrusted: Sequence[str], undecided: Sequence[Definition], allowing: Sequence[str] = ()) -> None:
        self.untrusted, self.open, self.allowing = untrusted, undecided, allowing
        self.saved: Sequence[str] = ()
        self.tightening: Sequence[str] = ()
        self.decided: list[tuple[Definition, bool]] = []

    def unloaded(self, _: Any) -> Sequence[str]:
        return self.untrusted

    def offered_rules(self) -> Sequence[str]:
        return self.allowing

    def restrictions(self) -> Sequence[str]:
        return self.tightening

    def without_effect(self) -> str:
        return ""

    def trust(self, _: Any, allow: Sequence[str] = ()) -> str:
        self.untrusted, self.saved = (), allow
        return "trusted"

    def undecided(self, _: Any) -> Sequence[Definition]:
        return [] if self.untrusted else self.open

    def decide(self, session: Any, answers: Sequence[tuple[Definition, bool]]) -> str:
        self.decided = [*answers]
        return f"{session}, {sum(yes for _, yes in answers)} approved" if any(yes for _, yes in answers) else session


def asked(folder: Any, *answers: bool | int) -> tuple[list[str], list[str]]:
    """The questions, and the sessions that were moved to."""
    questions: list[str] = []
    moved: list[str] = []
    left = list(answers)

    async def confirm(title: str, body: Sequence[str]) -> bool:
        questions.append(" ".join([title, *body]))
        return bool(left.pop(0))

    async def move_to(session: str) -> None:
        moved.append(session)

    async def choose(title: str, body: Sequence[str], labels: Sequence[str]) -> int:
        questions.append(" ".join([title, *body, *labels]))
        answer = left.pop(0)
        return answer if answer is not True and answer is not False else 0 if answer else len(labels) - 1

    asyncio.run(settle(folder, "first", choose, confirm, questions.append, move_to))  # type: ignore[arg-type]
    return questions, moved


def test_each_definition_is_asked_about_after_trust_with_its_exact_command_line() -> None:
    folder = Folder(["settings"], [EVIL, GIT])
    questions, moved = asked(folder, True, False, True)
    assert questions[1:] == [
        "Let this project start hook PreToolUse of .claude/settings.json? (1 of 2) sh -c 'x'\\x1b[2J",
        "Let this project start server git of .mcp.json? (2 of 2) uvx mcp-server-git",
    ]
    assert folder.decided == [(EVIL, False), (GIT, True)]
    assert moved == ["trusted", "trusted, 1 approved"]


def test_without_trust_nothing_more_is_asked() -> None:
    folder = Folder(["settings"], [EVIL])
    assert asked(folder, False)[0][1:] == [NOT_LOADED]
    assert folder.decided == []


def test_rules_that_tighten_are_named_and_still_apply_without_trust() -> None:
    folder = Folder(["settings"], [])
    folder.tightening = ["deny read(./secrets/**)", "ask bash(make)"]
    question, told = asked(folder, False)[0]
    assert "Its rules that deny or ask apply either way: deny read(./secrets/**), ask bash(make)" in question
    assert told == f"{NOT_LOADED} Its 2 rules that deny or ask still apply."


def test_where_all_is_declined_the_session_stays() -> None:
    folder = Folder([], [EVIL])
    assert asked(folder, False)[1] == []


def test_allow_rules_of_the_project_are_saved_only_by_the_answer_that_names_them() -> None:
    rules = ["bash(make test)", "edit(src/**)"]
    for answer, saved in ((0, ()), (1, rules), (2, ())):
        folder = Folder(["settings"], [], rules)
        questions, moved = asked(folder, answer)
        assert "bash(make test), edit(src/**)" in questions[0]
        assert questions[0].endswith("Yes, load them Yes, also its 2 allow rules No, start without them")
        assert [*folder.saved] == [*saved]
        assert moved == ([] if answer == 2 else ["trusted"])


def test_without_allow_rules_there_are_two_answers() -> None:
    assert asked(Folder(["settings"], []), True)[0][0].endswith("Yes, load them No, start without them")
