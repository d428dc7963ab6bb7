"""Slash commands that work in an editor."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import MappingProxyType

from acp.schema import AvailableCommand, AvailableCommandInput, UnstructuredCommandInput

from agentcli.agent.session import AgentSession
from agentcli.core.dataclass import dataclass
from agentcli.core.event import CompactionEnded, Event, Noticed, Pruned, TurnEnded
from agentcli.core.sanitise import safe
from agentcli.ui.commands.extensions import items

_LINE = re.compile(r"\s*/([a-z][a-z-]*)(?:\s+(.*\S))?\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """A command: `run(session, argument, interrupt)` yields its events; `hint` is what may follow its name."""

    name: str
    summary: str
    run: Callable[[AgentSession, str, asyncio.Event], AsyncIterator[Event]]
    hint: str = ""


async def _compress(session: AgentSession, focus: str, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    why = ""
    async for event in session.compactor.compact(interrupt, "manual", focus=focus):
        yield event
        why = event.why if isinstance(event, CompactionEnded) else why
    yield TurnEnded("interrupted" if interrupt.is_set() else "done", why)


def _at_once(act: Callable[[AgentSession], Sequence[Event]]) -> Callable[..., AsyncIterator[Event]]:
    """A command that acts without waiting for anything; its notices are its answer."""

    async def run(session: AgentSession, _: str, __: asyncio.Event) -> AsyncIterator[Event]:
        events = act(session)
        said = [event.message for event in events if isinstance(event, Noticed)]
        said += [f"Cleared {len(event.call_ids)} outputs." for event in events if isinstance(event, Pruned)]
        for event in events:
            if not isinstance(event, Noticed):
                yield event
        window = f"The window holds {session.report.window().used:,} tokens."
        yield TurnEnded("done", "\n".join([*said, window]))

    return run


def _report(lines: Callable[[AgentSession], Sequence[str]]) -> Callable[..., AsyncIterator[Event]]:
    """A command that answers with a report, set as it is."""

    async def run(session: AgentSession, _: str, __: asyncio.Event) -> AsyncIterator[Event]:
        text = "\n".join(lines(session))
        yield TurnEnded("done", f"```\n{safe(text)}\n```")

    return run


def _context(session: AgentSession) -> Sequence[str]:
    report = session.report.context()
    shares = {"used": report.used, **{kind: size for kind, size in report.shares.items() if size}}
    wide = max(map(len, shares))
    sizes = [f"{kind.ljust(wide)}  {size:>9,}" for kind, size in shares.items()]
    return [f"Context window of {session.model.name}, in tokens", *sizes, "", *session.report.counting()]


_IN_ORDER = (
    Command("compress", "Replace the older part of the conversation by a summary", _compress, "what it must keep"),
    Command("uncompress", "Take back the newest compaction", _at_once(lambda session: session.compactor.undo())),
    Command("context", "Show the contents of the context window", _report(_context)),
    Command("cost", "Show the cost of this session", _report(lambda session: session.report.costs())),
    Command(
        "undo",
        "Put files back as they were before the newest change",
        _at_once(lambda session: session.undo_stack.undo()),
    ),
    Command("redo", "Take back the newest undo", _at_once(lambda session: session.undo_stack.redo())),
)
COMMANDS: Mapping[str, Command] = MappingProxyType({command.name: command for command in _IN_ORDER})


def available(session: AgentSession) -> list[AvailableCommand]:
    """The commands as the protocol lists them, then the skills and commands that files define, which are prompts."""
    own = [_listed(command.name, command.summary, command.hint) for command in _IN_ORDER]
    from_files = [
        _listed(item.label, item.detail or item.label, "what it is about") for item in items(session, COMMANDS)
    ]
    return [*own, *from_files]


def _listed(name: str, summary: str, hint: str) -> AvailableCommand:
    given = AvailableCommandInput(root=UnstructuredCommandInput(hint=hint)) if hint else None
    return AvailableCommand(name=name, description=summary, input=given)


def command_in(text: str) -> tuple[Command, str] | None:
    """The command that a prompt is, with its argument; None for a prompt for the model."""
    found = _LINE.fullmatch(text)
    command = COMMANDS.get(found[1]) if found else None
    if found is None or command is None or (found[2] and not command.hint):
        return None
    return command, found[2] or ""
