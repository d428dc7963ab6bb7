"""`permissions explain`: what would be decided and why, running nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from agentcli.agent.permissions.decide import Decision, decide
from agentcli.agent.permissions.place import Place
from agentcli.agent.permissions.rules import Rules
from agentcli.core.codec import dumps
from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.core.tool import Effect

EFFECTS: Mapping[str, Effect] = {
    "read": "read",
    "list": "read",
    "glob": "read",
    "grep": "read",
    "write": "write",
    "edit": "write",
    "multi_edit": "write",
    "bash": "run",
    "bash_output": "none",
    "bash_stop": "none",
    "web_fetch": "network",
    "todo": "none",
    "ask_user": "ask",
    "task": "none",
    "exit_plan": "ask",
    "recall": "none",
}
"""What each built-in tool may do to the world; a tool that is not named here is taken to run programs."""


def explain(
    call: ToolCall, rules: Rules, mode: Mode, place: Place, effects: Mapping[str, Effect] = EFFECTS
) -> Decision:
    """What would be decided about a call."""
    return decide(call, effects.get(call.name, "run"), rules, mode, place)


def explain_lines(
    lines: Iterable[str], rules: Rules, mode: Mode, place: Place, effects: Mapping[str, Effect] = EFFECTS
) -> Iterator[str]:
    """One JSON answer for each line that holds a JSON question; a line that holds none is answered with a denial."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        yield dumps(_answer(line, number, rules, mode, place, effects))


def _answer(
    line: str, number: int, rules: Rules, mode: Mode, place: Place, effects: Mapping[str, Effect]
) -> dict[str, object]:
    question: dict[str, object] = {}
    try:
        read = json.loads(line.removeprefix("\ufeff"), parse_constant=str)
        if not isinstance(read, dict):
            raise TypeError("it is no object")
        question = read
        name, values = read.get("tool"), read.get("input")
        if not isinstance(name, str) or not isinstance(values, dict):
            raise TypeError("tool must be a string and input an object")
    except (ValueError, TypeError, RecursionError) as error:
        why = f'line {number} is no {{"id", "tool", "input"}} object: {error}'
        return {"id": question.get("id"), "decision": "deny", "rule": "unreadable", "why": why}
    decision = explain(ToolCall(str(question.get("id") or number), name, values), rules, mode, place, effects)
    return {"id": question.get("id"), "decision": decision.decision, "rule": decision.rule, "why": decision.why}
