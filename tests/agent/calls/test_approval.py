"""The stage of approval alone: rules, hooks and the person decide about one value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.approval import no_hooks
from agentcli.agent.calls.stages import ApprovalStage, Prepare
from agentcli.agent.hooks import Outcome, Verdict
from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, NothingFound
from agentcli.core.dataclass import replace
from agentcli.core.message import ToolCall
from agentcli.permissions.rules import parse_rules
from agentcli.tools.registry import TRAITS
from tests.agent.calls.passing import TOOLS, a_call, judged
from tests.agent.open_session import Person, open_session


def stage_of(folder: Path, person: Person, ask_hooks: Any = no_hooks, **session: Any) -> ApprovalStage:
    gate = open_session(folder, [], person=person, **session).core.approval
    prepare = Prepare(TOOLS, NothingFound(dict(TRAITS)), folder)
    return ApprovalStage(gate, prepare, ask_hooks)


def test_a_reading_call_is_allowed_on_its_path_and_nobody_is_asked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    person = Person()
    call = judged(stage_of(tmp_path, person), a_call("read", file_path="a.txt"))
    assert (call.paths, call.result, person.asked) == ((tmp_path / "a.txt",), None, [])
    assert call.decision is not None
    assert call.decision.decision == "allow"


@pytest.mark.parametrize(
    ("answer", "status"),
    [(ApprovalResponse("once"), None), (ApprovalResponse("no", "Use make."), "denied"), (None, "denied")],
)
def test_the_persons_answer_ends_the_call_or_lets_it_run(
    tmp_path: Path, answer: ApprovalResponse | None, status: str | None
) -> None:
    person = Person(answer)
    call = judged(stage_of(tmp_path, person), a_call("bash", command="touch a"))
    assert len(person.asked) == 1
    assert (call.result.status if call.result else None) == status
    assert ("Use make." in call.why_refused) is (answer is not None and answer.reason == "Use make.")


def test_a_rule_that_denies_asks_nobody(tmp_path: Path) -> None:
    person = Person(ApprovalResponse("once"))
    stage = stage_of(tmp_path, person, rules=parse_rules((), (), ["bash(touch *)"]))
    call = judged(stage, a_call("bash", command="touch a"))
    assert call.result is not None
    assert (call.result.status, person.asked) == ("denied", [])


def test_input_that_the_person_edited_is_what_will_run(tmp_path: Path) -> None:
    person = Person(ApprovalResponse("once", input={"command": "touch b"}))
    call = judged(stage_of(tmp_path, person), a_call("bash", command="touch a"))
    assert (call.call.input, call.asked.input) == ({"command": "touch b"}, {"command": "touch a"})


def test_the_later_calls_of_the_reply_are_offered_with_the_question(tmp_path: Path) -> None:
    person = Person(ApprovalResponse("once"))
    later = (ToolCall("c2", "bash", {"command": "touch b"}), ToolCall("c3", "nothing", {}))
    judged(stage_of(tmp_path, person), replace(a_call("bash", command="touch a"), later=later))
    assert [other.call.call_id for other in person.asked[0].others] == ["c2"]


@pytest.mark.parametrize(("answer", "asked"), [("allow", 0), ("deny", 0), ("", 1)])
def test_hooks_may_answer_in_place_of_the_person(tmp_path: Path, answer: Any, asked: int) -> None:
    person = Person(ApprovalResponse("once"))

    async def hooks(_: ApprovalRequest) -> Outcome:
        return Outcome(Verdict(answer, "A hook says so."))

    call = judged(stage_of(tmp_path, person, hooks), a_call("bash", command="touch a"))
    assert len(person.asked) == asked
    assert (call.result is not None) is (answer == "deny")
