"""`permissions explain`: decisions and their reasons, running nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from agentcli.core.codec.encode import dumps
from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.core.tool import Traits
from agentcli.permissions.decide import decide
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules


def explain_lines(
    lines: Iterable[str], tools: Mapping[str, Traits], rules: Rules, mode: Mode, workspace: Workspace
) -> Iterator[str]:
    """Answer each line with a JSON question by a line of JSON; answer any other line with a denial."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        yield dumps(_answer(line, number, tools, rules, mode, workspace))


def _answer(
    line: str, number: int, tools: Mapping[str, Traits], rules: Rules, mode: Mode, workspace: Workspace
) -> dict[str, object]:
    question: dict[str, object] = {}
    try:
        read = json.loads(line.removeprefix("\ufeff"), parse_constant=str)
        if not isinstance(read, dict):
            raise TypeError("it is not an object")
        question = read
        name, values = read.get("tool"), read.get("input")
        if not isinstance(name, str) or not isinstance(values, dict):
            raise TypeError("tool must be a string and input an object")
    except (ValueError, TypeError, RecursionError) as error:
        why = f'line {number} is not a {{"id", "tool", "input"}} object: {error}'
        return {"id": question.get("id"), "decision": "deny", "rule": "unreadable", "why": why}
    decision = decide(ToolCall(str(question.get("id") or number), name, values), tools, rules, mode, workspace)
    return {"id": question.get("id"), "decision": decision.decision, "rule": decision.rule, "why": decision.why}
