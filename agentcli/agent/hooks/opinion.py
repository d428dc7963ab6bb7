"""Opinions of hooks about a call, within their limits: they may forbid and ask; they may allow only calls about which just the mode would ask."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agentcli.agent.hooks.outcome import Outcome
from agentcli.context.inject import wrap
from agentcli.core.message import ToolResult
from agentcli.core.record import Mode

if TYPE_CHECKING:
    from agentcli.permissions.decide import Decision


def swayed(decision: Decision, outcome: Outcome, mode: Mode) -> Decision:
    """Return the decision with the answer of hooks about the call counted in."""
    answer, by = outcome.verdict.answer, outcome.names
    why = outcome.verdict.reason or f"the hook {by} {_VERBS[answer]}"
    rule = f"hook:{by}"
    match answer:
        case "deny":
            return replace(decision, decision="deny", rule=rule, why=f"A hook ({by}) blocked this call: {why}")
        case "ask" if decision.decision == "allow":
            return replace(decision, decision="ask", rule=rule, why=why, unsaved=f"the hook {by} still asks")
        case "allow" if may_allow(decision, mode):
            return replace(decision, decision="allow", rule=rule, why=why)
        case _:
            return decision


def may_allow(decision: Decision, mode: Mode) -> bool:
    """Return True if a hook may answer in place of the person: no rule, protected path or plan mode causes the question."""
    return decision.decision == "ask" and decision.rule.startswith("mode ") and mode != "plan"


def with_hook_output(result: ToolResult, outcome: Outcome) -> ToolResult:
    """Return the result as the model sees it: replaced if a hook says so, with the hooks' additions at its end. The original stays in the metadata."""
    verdict = outcome.verdict
    added = "\n\n".join(filter(None, [verdict.reason if verdict.blocks else "", verdict.context]))
    output = _replaced(verdict.output)
    if output is not None:
        result = replace(result, output=output, metadata={**result.metadata, "hook_replaced": result.output})
    if not added:
        return result
    return replace(result, output=f"{result.output}\n{wrap('post-tool-use-hook', added)}".lstrip("\n"))


def _replaced(output: object) -> str | None:
    match output:
        case str():
            return output
        case {"stdout": str(text)}:
            return text
        case _:
            return None


_VERBS = {"": "says nothing", "allow": "allows it", "ask": "asks", "deny": "forbids it"}
