"""Questions that servers put to the person: forms, and pages that are opened only after a yes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.tool import Question
from agentcli.features.mcp.run import servers_of
from agentcli.program.front_end import FrontEnd
from tests.features.mcp.running import call, fake, settled, text
from tests.features.mcp.server_runs import define, options, program


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("form", "page")]
    (folder / "tools.json").write_text(json.dumps(tools))
    define(folder, one=fake())
    return folder


class Person:
    """Somebody who answers each question as laid down; `asked` are the questions."""

    def __init__(self, *answers: str, form: str = "Fill it in") -> None:
        self.answers, self.asked, self.questions = answers, list[str](), list[Question]()
        self.form, self.forms = form, list[str]()

    async def __call__(self, questions: Sequence[Question]) -> Sequence[str]:
        if [choice.label for choice in questions[0].choices] == ["Fill it in", "Decline"]:
            self.forms += [question.question for question in questions]
            return [self.form]
        self.asked += [question.question for question in questions]
        self.questions += questions
        return self.answers


def answered(project: Path, person: Any, tool: str, given: dict[str, str] | None = None, **env: str) -> dict[str, Any]:
    """The server's view of the answer to its question."""
    with program(options(project), front_end=FrontEnd(ask=person) if person is not None else None, **env) as run:
        servers = servers_of(run).connected()
        assert servers is not None
        settled(servers)
        found: dict[str, Any] = json.loads(text(call(servers, f"mcp__one__{tool}", **(given or {}))))
        return found


def test_a_form_is_filled_in_each_answer_in_its_type(project: Path) -> None:
    person = Person("Ada", "36", "1.5", "yes", "blue", "", "")
    answer = answered(project, person, "form")
    content = {"name": "Ada", "age": 36, "size": 1.5, "sure": True, "colour": "blue", "left": "as it was"}
    assert answer == {"action": "accept", "content": content}
    assert person.asked[0] == "one: Who are you? Your name"
    assert person.asked[1] == "one: Who are you? age — optional"
    assert person.asked[5] == "one: Who are you? left — optional, as it was if you skip it"


def test_choices_stand_there_by_their_names_and_the_server_gets_their_values(project: Path) -> None:
    person = Person("Ada", "", "", "", "", "", "", "Superman", "", "Saw, Axe, large")
    answer = answered(project, person, "form")
    content = {"name": "Ada", "left": "as it was", "hero": "h1", "pet": "p1", "tools": ["t1", "t2"]}
    assert answer == {"action": "accept", "content": content}
    hero, pet, tools = person.questions[-3:]
    assert [[choice.label for choice in one.choices] for one in (hero, pet, tools)] == [
        ["Superman", "h2"],
        ["Cats", "p2"],
        ["Saw", "Axe, large"],
    ]
    assert (hero.multiple, tools.multiple) == (False, True)
    assert pet.question.endswith("Cats if you skip it")


def test_a_long_form_is_shown_first_and_can_be_declined_as_a_whole(project: Path) -> None:
    person = Person("Ada", form="Decline")
    assert answered(project, person, "form") == {"action": "decline"}
    assert person.asked == []
    assert person.forms[0].startswith("one: Who are you? It asks for 10 things: Your name, age (optional), ")


def test_without_a_person_or_an_answer_that_it_needs_a_form_is_declined(project: Path) -> None:
    for person in (None, Person(), Person("", "36", "1.5", "yes", "blue", "", "")):
        assert answered(project, person, "form")["action"] == "decline"


@pytest.mark.parametrize(("said", "action", "opened"), [("Open it", "accept", True), ("No", "decline", False)])
def test_a_page_is_shown_first_and_opened_only_after_a_yes(project: Path, said: str, action: str, opened: bool) -> None:
    browser, trace = project.parent / "browser", project.parent / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" > {trace}\n')
    browser.chmod(0o755)
    url = "https://example.org/pay?for=it"
    person = Person(said)
    assert answered(project, person, "page", {"url": url}, BROWSER=str(browser))["action"] == action
    assert person.asked == [f"one wants to open {url} in your browser. Who are you?"]
    assert trace.exists() is opened
    if opened:
        assert trace.read_text().strip() == url


def test_an_address_that_is_no_page_of_the_web_is_declined_unasked(project: Path) -> None:
    person = Person("Open it")
    assert answered(project, person, "page", {"url": "file:///etc/passwd"})["action"] == "decline"
    assert person.asked == []
