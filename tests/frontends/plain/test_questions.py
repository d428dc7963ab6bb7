"""Approvals of the plain terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse
from agentcli.core.errors import ToolError
from agentcli.core.message import ToolCall
from agentcli.frontends.plain.questions import PlainAsking
from agentcli.frontends.terminal.style import PLAIN, Look

COMMAND = ApprovalRequest(ToolCall("c", "bash", {"command": "make"}), "$ make", "", "make", "command")
EDIT = ApprovalRequest(
    ToolCall("c", "edit", {"file_path": "a.py", "new_string": "x = 2"}), "Edit a.py", "", "-x = 1\n+x = 2\n", "diff"
)


@pytest.mark.parametrize(
    ("rule", "offered"),
    [
        ("bash(make *)", "6 always allow `make …` in this project"),
        ("mcp__time__*", "6 always allow every tool of the server time in this project"),
    ],
)
def test_a_wider_rule_is_offered_as_what_it_allows(rule: str, offered: str) -> None:
    gone = Person()
    asyncio.run(PlainAsking(gone).approve(replace(COMMAND, prefixes=(rule,))))
    assert offered in gone.asked[0]


def test_a_rule_for_edits_is_offered_as_what_it_allows() -> None:
    gone = Person()
    gone.approve(replace(EDIT, always="edit(./a.py)"))
    assert "3 always allow edits of a.py in this project" in gone.asked[0]


class Person:
    """Someone at a plain terminal, who types these lines; `said` is all that was printed."""

    def __init__(self, *lines: str) -> None:
        self._lines = [*lines]
        self.look = Look(PLAIN)
        self.said: list[str] = []
        self.asked: list[str] = []

    def approve(self, ask: ApprovalRequest) -> ApprovalResponse:
        return asyncio.run(PlainAsking(self).approve(ask))

    def say(self, *lines: str) -> None:
        self.said.extend(lines)

    async def ask(self, question: str) -> str | None:
        return await self.answer(question)

    async def answer(self, question: str) -> str | None:
        self.asked.append(question)
        return self._lines.pop(0) if self._lines else None


def test_a_changed_call_is_shown_whole_before_it_is_asked_about_again() -> None:
    async def revise(given: Mapping[str, Any]) -> ApprovalRequest:
        if "4" in given["new_string"]:
            raise ToolError("The file has changed.")
        change = "" if given["new_string"] == "x = 1" else f"-x = 1\n+{given['new_string']}\n"
        return replace(EDIT, title="Edit b.py", preview=change)

    person = Person("e", "x = 3", "e", "", "e", "x = 1", "e", "x = 4", "1")
    answer = person.approve(replace(EDIT, revise=revise))
    title = "Permission needed: Edit b.py? (changed by you)"
    assert person.said == [
        "", "Permission needed: Edit a.py?", "-x = 1", "+x = 2", "It is: x = 2",
        "", title, "-x = 1", "+x = 3", "It is: x = 3", "It is: x = 3",
        "", title, "(the file stays as it is)", "It is: x = 1",
        "", "Permission needed: edit? (changed by you)", "file_path: a.py", "new_string: x = 4",
        "The file has changed.",
    ]  # fmt: skip
    assert answer.input == {"file_path": "a.py", "new_string": "x = 4"}


def test_a_rule_of_several_lines_stays_in_the_line_of_the_question() -> None:
    person = Person("1")
    person.approve(replace(COMMAND, always="bash(make\nmake x)", prefixes=("bash(make\t*)",)))
    assert person.asked == [
        r"1 yes, 2 yes for this session, 3 always allow `make\nmake x` in this project, 4 no, "
        r"6 always allow bash(make\t*) in this project, 7 always allow `make\nmake x` in every project? "
    ]


def test_only_a_call_that_may_be_changed_is_offered_for_it() -> None:
    person = Person("e", "1")
    assert person.approve(COMMAND).choice == "once"
    assert person.asked == ["1 yes, 4 no? "] * 2


def test_only_what_is_offered_is_taken_for_an_answer() -> None:
    ruled = replace(COMMAND, always="bash(make)", session="bash(make)", prefixes=("bash(make *)",))
    person = Person("edits", "5", "8", "1")
    assert person.approve(ruled).choice == "once"
    assert person.said[-3:] == ["Please answer with one of the numbers."] * 3


def test_whole_programs_are_offered_by_number_and_by_letter() -> None:
    for word in ("10", "p"):
        person = Person(word)
        assert person.approve(replace(COMMAND, programs=("bash(frob *)",))).choice == "programs"
        assert "10 always allow here `frob` with any arguments and code (whatever you can do)" in person.asked[0]


def test_a_folder_is_offered_in_place_of_the_session() -> None:
    person = Person("2", "8")
    asked = replace(COMMAND, session="bash(make)", folders=(Path("/home/me/lib"),))
    assert person.approve(asked).choice == "folder"
    assert person.asked == ["1 yes, 8 yes and add /home/me/lib to this session, 4 no? "] * 2


def test_an_answer_that_lasts_for_the_session_comes_first_and_keeps_its_number() -> None:
    person = Person("2")
    asked = replace(COMMAND, session="bash(x)", grants=("network(box.example.org)",), lasting=True)
    assert person.approve(asked).choice == "session"
    assert person.asked == ["2 yes and box.example.org in this session, 1 yes, 4 no? "]


def test_all_calls_of_a_reply_are_allowed_also_where_the_first_was_changed() -> None:
    async def revise(given: Mapping[str, Any]) -> ApprovalRequest:
        return replace(COMMAND, preview=given["command"])

    person = Person("e", "make -j", "5", "y")
    answer = person.approve(replace(COMMAND, others=(EDIT,), revise=revise))
    assert (answer.choice, answer.input) == ("all", {"command": "make -j"})
    assert "5 all 2 of this reply" in person.asked[2]
