"""Run the hooks of an event without a session, and show what they answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentcli.agent.hooks import Verdict
from agentcli.core.aliases import known_as
from agentcli.core.message import ToolCall
from agentcli.features.hooks.files import configured
from agentcli.features.hooks.loaded import loaded
from agentcli.features.hooks.runner import Ran
from agentcli.features.hooks.session_hooks import HookPlace, SessionHooks
from agentcli.features.hooks.settings import HookSettings
from agentcli.features.hooks.verdict import combined
from agentcli.program.command_line.output import say
from agentcli.program.program import Program
from agentcli.sessions.in_memory import MemorySession


def call_of(tool: str, given: Mapping[str, Any]) -> ToolCall:
    """Return a call of a tool by our name for it or another program's."""
    return ToolCall("test", known_as(tool) or tool, given)


def run_hooks(
    program: Program, event: str, subject: str, call: ToolCall | None, fields: Mapping[str, Any]
) -> Sequence[Ran]:
    """Run the hooks of an event with these fields; return how each ended."""
    return asyncio.run(_ran(program, event, subject, call, fields))


def verdict_of(ran: Sequence[Ran]) -> Verdict:
    """Return the verdict of all hooks together."""
    return combined([each.verdict for each in ran])


def say_all(ran: Sequence[Ran]) -> None:
    """Print the output of each hook, and the verdict."""
    whole = verdict_of(ran)
    for each in ran:
        _say(each)
    answer = ": ".join(filter(None, [whole.answer or "no objection", whole.reason]))
    say(f"Verdict: {answer}" if ran else "No hook matches.")


def as_json(event: str, ran: Sequence[Ran]) -> Mapping[str, Any]:
    """Return the hooks and their verdict as JSON."""
    whole = verdict_of(ran)
    return {"event": event, "answer": whole.answer, "reason": whole.reason, "hooks": [_as_json(each) for each in ran]}


async def _ran(
    program: Program, event: str, subject: str, call: ToolCall | None, fields: Mapping[str, Any]
) -> list[Ran]:
    place = HookPlace(
        MemorySession(),
        program.cwd,
        program.selection.mode,
        lambda: "",
        program.traits,
        program.workspace_policy.workspace(),
    )
    hooks = SessionHooks((*configured(program.config[HookSettings]), *loaded(program).hooks), place)
    try:
        return [*await hooks.test(event, subject, call, fields)]
    finally:
        hooks.close()


def _say(ran: Ran) -> None:
    say(f"{ran.hook.name} ({ran.hook.source}, {ran.seconds:.2f} s): {ran.result}")
    for name in ("context", "message"):
        if text := getattr(ran.verdict, name):
            say(f"  {name}: {text}")
    if ran.verdict.input is not None:
        say(f"  input: {json.dumps(dict(ran.verdict.input))}")


def _as_json(ran: Ran) -> dict[str, Any]:
    verdict = ran.verdict
    texts = {name: getattr(verdict, name) for name in ("answer", "reason", "context", "message", "failed")}
    return {"name": ran.hook.name, "source": ran.hook.source, "command": ran.hook.line, **texts, "input": verdict.input}
