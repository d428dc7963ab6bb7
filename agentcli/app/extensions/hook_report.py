"""Reports on hooks: those in force, those that wait for approval, and what is wrong with their files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentcli.agent.hooks.configured import configured
from agentcli.agent.hooks.outcome import Ran
from agentcli.agent.session import AgentSession
from agentcli.app.extensions.hooks import loaded, project_hooks
from agentcli.app.program import Program
from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import safe_line
from agentcli.integrations.hookfiles import Hook


@dataclass(frozen=True, slots=True)
class Listed:
    """One hook as it is listed: `state` is `active`, or says why it does not run."""

    hook: Hook
    state: str


def listed(program: Program) -> tuple[list[Listed], Sequence[str]]:
    """All hooks in the order in which they count, with the notes about what was left out."""
    found = loaded(program)
    own = [*configured(program.config.hooks), *found.hooks]
    waiting = [hook for hook in project_hooks(program).hooks if not program.approvals.allows(hook.definition)]
    return [*(Listed(hook, "active") for hook in own), *(Listed(hook, "not approved") for hook in waiting)], found.notes


def lines(program: Program, session: AgentSession) -> list[str]:
    """The hooks of a session for people, with the last result of each."""
    hooks, notes = listed(program)
    shown = [_line(one, session.hooks.last.get(one.hook)) for one in hooks]
    if any(one.state != "active" for one in hooks):
        shown.append("/hooks approve asks about those that are not approved.")
    return [*(shown or ["There are no hooks. `agentcli help hooks` tells how to write one."]), *notes]


def result(ran: Ran) -> str:
    """The result of a hook in a few words."""
    verdict = ran.verdict
    if verdict.failed:
        return verdict.failed
    said = {"deny": "blocked", "ask": "asked", "allow": "allowed", "": "no objection"}[verdict.answer]
    return f"{said}: {safe_line(verdict.reason)}" if verdict.reason else said


def rows(program: Program) -> Iterator[tuple[str, bool, str]]:
    """Rows of doctor: name, all well, detail; one for each hook, and one for each thing that is wrong."""
    hooks, notes = listed(program)
    for note in notes:
        yield "hooks", False, note
    for one in hooks:
        about = f"{_on(one.hook)} of {one.hook.source}: {safe_line(one.hook.line)}"
        yield f"hook {one.hook.name}", one.state == "active", f"{about} ({one.state})"


def _on(hook: Hook) -> str:
    return f"{hook.event} {safe_line(hook.matcher)}" if hook.matcher not in ("", "*") else hook.event


def _line(one: Listed, ran: Ran | None) -> str:
    last = f" · last: {result(ran)}" if ran is not None else ""
    state = "" if one.state == "active" else f" · {one.state}"
    return f"{_on(one.hook)}  {safe_line(one.hook.line)}  ({one.hook.source}){state}{last}"
