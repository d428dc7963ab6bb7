"""The workflows in the manual are valid, and use inputs and outputs that the action has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from agentcli import manual
from tests.action.workflow import action

EXAMPLES = re.findall(r"```yaml\n(.*?)```", manual.page("ci"), re.DOTALL)


def steps(workflow: Mapping[Any, Any]) -> Iterator[Mapping[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job["steps"]


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_uses_what_the_action_has_and_puts_no_foreign_text_into_a_command(text: str) -> None:
    workflow = yaml.safe_load(text)
    assert workflow["permissions"]
    (use,) = [step for step in steps(workflow) if "actions/agentcli" in step.get("uses", "")]
    assert set(use["with"]) <= set(action()["inputs"])
    assert not [step["run"] for step in steps(workflow) if "${{" in step.get("run", "")]
    outputs = set(re.findall(r"steps\.agent\.outputs\.(\w+)", text))
    assert outputs <= set(action()["outputs"])
    checkout = next(step for step in steps(workflow) if "actions/checkout" in step.get("uses", ""))
    assert checkout["with"]["persist-credentials"] is False


def test_the_table_of_inputs_is_that_of_the_action() -> None:
    table = manual.page("ci").split("## What protects you")[0]
    assert set(re.findall(r"`(\w+)`", table)) >= {*action()["inputs"], *action()["outputs"]}
