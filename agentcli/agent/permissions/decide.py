"""Whether a call may run: a pure function of the call, the rules, the mode and the place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from agentcli.agent.permissions.commands import Looks
from agentcli.agent.permissions.nature import Nature, nature_of
from agentcli.agent.permissions.place import Place
from agentcli.agent.permissions.rules import Rules
from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.core.tool import Traits


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a call may run, by which rule, and why.

    `always` is the exact rule that "always" would save; where none may be saved, `unsaved` names the check that would
    still stand.
    """

    decision: Literal["allow", "ask", "deny"]
    rule: str
    why: str
    always: str = ""
    unsaved: str = ""
    path: Path | None = None
    """The resolved path that was decided about, for a tool that takes one: what is allowed is this path and no other."""
    machine: Looks = ""
    """Whether a command that only reads looks at the machine, which no sandbox shows."""


def decide(call: ToolCall, tools: Mapping[str, Traits], rules: Rules, mode: Mode, place: Place) -> Decision:
    """Deny before ask, ask before allow, and all of them before what the mode would do. Reads links and git config, runs nothing.

    `tools` are the traits of all tools, since a rule about one of them may cover another.
    """
    nature = nature_of(call, tools, rules, place)
    return replace(_decided(nature, mode, place), path=nature.path, machine=nature.machine)


def _decided(nature: Nature, mode: Mode, place: Place) -> Decision:
    if nature.refused:
        return Decision("deny", "limits", nature.refused)
    if nature.denied:
        return Decision("deny", f"deny {nature.denied}", f"a rule from {nature.denied.origin} forbids it")
    if mode == "plan" and nature.changes and not nature.harmless:
        return Decision(
            "deny", "mode plan", f"plan mode is on, where nothing is changed: {nature.why or 'this is no pure read'}"
        )
    if nature.protected:
        return Decision("ask", "protected path", nature.protected, unsaved="what is protected is asked about each time")
    if nature.asked:
        why = f"a rule from {nature.asked.origin} asks"
        return Decision("ask", f"ask {nature.asked}", why, unsaved=f"the rule {nature.asked} still asks")
    if nature.obscure and (nature.allowed or mode in ("auto", "yolo")):
        return Decision("ask", "deny rules", nature.obscure, unsaved=nature.obscure)
    if nature.allowed:
        return Decision("allow", f"allow {nature.allowed}", f"a rule from {nature.allowed.origin} allows it")
    if nature.harmless:
        return Decision("allow", "read-only", nature.harmless)
    return _by_mode(nature, mode, place)


def _by_mode(nature: Nature, mode: Mode, place: Place) -> Decision:
    if mode == "yolo":
        return Decision("allow", "mode yolo", "everything runs that no rule forbids")
    if nature.edits_inside and mode in ("auto-edit", "auto"):
        return Decision("allow", f"mode {mode}", "edits inside the workspace are free")
    if nature.ordinary and mode == "auto" and place.sandboxed:
        return Decision("allow", "mode auto", "the sandbox holds and this only reads, builds or tests")
    return Decision(
        "ask", f"mode {mode}", nature.why or "this tool may change something", nature.always, nature.unsaved
    )
