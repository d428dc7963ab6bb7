import json
import time
from pathlib import Path

import pytest

from agentcli.permissions.explain import explain_lines
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules, parse_rules
from agentcli.tools.registry import TRAITS
from tests.permissions.corpus import commands, make_workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def test_each_line_gets_one_answer_with_its_id(workspace: Workspace) -> None:
    questions = [
        {"id": "a", "tool": "bash", "input": {"command": "ls"}},
        {"id": 7, "tool": "bash", "input": {"command": "rm x"}},
        {"id": "c", "tool": "read", "input": {"file_path": ".env"}},
        {"id": "d", "tool": "unheard_of", "input": {}},
    ]
    lines = [json.dumps(question) + "\n" for question in questions]
    answers = [
        json.loads(line)
        for line in explain_lines([*lines, "\n", "nonsense", '{"id":1}', "[]"], TRAITS, Rules(), "ask", workspace)
    ]
    assert [answer["id"] for answer in answers] == ["a", 7, "c", "d", None, 1, None]
    assert [answer["decision"] for answer in answers] == ["allow", "ask", "ask", "ask", "deny", "deny", "deny"]
    assert all(set(answer) == {"id", "decision", "rule", "why"} and answer["why"] for answer in answers)


def test_whatever_a_line_holds_the_answer_is_json(workspace: Workspace) -> None:
    lines = [
        "\ufeff" + json.dumps({"id": 1, "tool": "bash", "input": {"command": "ls"}}),
        '{"id": NaN, "tool": 3}',
        "[" * 90_000,
    ]
    answers = [
        json.loads(line, parse_constant=pytest.fail) for line in explain_lines(lines, TRAITS, Rules(), "ask", workspace)
    ]
    assert [(answer["id"], answer["decision"]) for answer in answers] == [(1, "allow"), ("NaN", "deny"), (None, "deny")]


def test_input_of_the_wrong_kind_is_never_allowed(workspace: Workspace) -> None:
    for given in ({"command": 5}, {"command": None}, {}, {"command": ["ls"]}, {"command": {"a": 1}}):
        (line,) = explain_lines(
            [json.dumps({"id": 1, "tool": "bash", "input": given})], TRAITS, Rules(), "yolo", workspace
        )
        assert json.loads(line)["decision"] == "deny"
    for given in ({"file_path": 5}, {}, {"path": "x"}):
        (line,) = explain_lines(
            [json.dumps({"id": 1, "tool": "write", "input": given})], TRAITS, Rules(), "yolo", workspace
        )
        assert json.loads(line)["decision"] == "deny"


def test_a_decision_takes_well_under_a_screen_frame(workspace: Workspace) -> None:
    lines = [json.dumps({"id": 1, "tool": "bash", "input": {"command": command}}) for command in commands("safe.txt")]
    list(explain_lines(lines[:1], TRAITS, Rules(), "ask", workspace))
    start = time.perf_counter()
    count = sum(1 for _ in explain_lines(lines, TRAITS, Rules(), "ask", workspace))
    taken = time.perf_counter() - start
    start = time.perf_counter()
    for line in lines:
        for _ in range(40):
            json.loads(line)
    assert count == len(lines)
    assert taken < 40 * (time.perf_counter() - start), "a decision should cost no more than reading some JSON"


def test_rules_are_shown_strongest_first_with_their_origin() -> None:
    rules = parse_rules(allow=["bash(npm test)"], ask=["bash(git *)"]) + parse_rules(
        deny=["edit(*.lock)"], origin="flag"
    )
    assert [(kind, str(rule), rule.origin) for kind, rule in rules.listed()] == [
        ("deny", "edit(*.lock)", "flag"),
        ("ask", "bash(git *)", "config"),
        ("allow", "bash(npm test)", "config"),
    ]
