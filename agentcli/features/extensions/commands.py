"""Slash commands about extensions: the list, and loading again what files define."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from agentcli.core.model import ToolSchema
from agentcli.core.record import Settings
from agentcli.core.text.words import none_of, plural
from agentcli.features.extensions.loading import Extension
from agentcli.features.extensions.run import LoadedRun, run_of
from agentcli.program.commands import Context, Output, Said, command
from agentcli.tools.function_tool import Contexts

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.core.tool import Tool
    from agentcli.program.program import Program

NONE = none_of("extensions", "extensions")


@command("Extensions", at_once=True, values=("",), tab="extensions")
async def extensions(ctx: Context, _: str) -> AsyncIterator[Output]:
    """List extensions, skills, agents, plugins, hooks and tools: /extensions [LIST]

    `reload` reads them, settings and commands again.
    """
    yield Said([*lines(run_of(ctx.program), ctx.program, ctx.session.core.builder.counter.text)])


@command("Extensions", values=("",), former="reload")
async def reload(ctx: Context, _: str) -> AsyncIterator[Output]:
    """Read extensions, settings, skills, commands again: /extensions reload

    Changed extensions are imported again and keep their state. New tools are sent from the next request on.
    """
    program, session = ctx.program, ctx.session
    program.reload()
    loaded = run_of(program)
    await asyncio.to_thread(loaded.refresh, True)
    if not loaded.all:
        yield Said(["Settings, skills and commands were read again.", *lines(loaded, program)])
        return
    if session.core.ctx.service(Contexts) is None:
        if ctx.terminal is None:
            yield Said(["This session began without extensions. The next one has them."])
            return
        session = await _reopened(ctx, session)
    _offer(session, loaded.present_tools())
    yield Said([*lines(loaded, program)])


async def _reopened(ctx: Context, session: AgentSession) -> AgentSession:
    """Open the session again, with the extensions that it has begun without."""
    from agentcli.program.consent import reopened

    settled = reopened(ctx.program, session, "Restart agentcli to load them: this session is not stored.")
    await ctx.only_in_terminal("/extensions reload").move_to(settled)
    return settled


def _offer(session: AgentSession, tools: Sequence[Tool]) -> None:
    """Give a session the current tools of extensions, and record them if the model was told of others."""
    core, prepare = session.core, session.parts.way.prepare
    offered = {tool.name: tool for tool in tools}
    gone = prepare.brought - offered.keys()
    prepare.replace_brought(offered)
    core.traits.update({name: tool.traits for name, tool in offered.items()})
    recorded = core.journal.history.tools
    names = {*offered, *gone}
    now = (*(raw for raw in recorded if raw["name"] not in names), *(tool.schema.raw for tool in tools))
    if recorded and [*now] != [*recorded]:
        core.record(Settings(tools=now))
        core.builder.tools = tuple(map(ToolSchema.recorded, core.journal.history.tools))


def lines(loaded: LoadedRun, program: Program, tokens: Callable[[str], int] | None = None) -> Iterator[str]:
    """Yield a line for each extension, and one for each fault. `tokens` counts the tokens of a text."""
    for one in loaded.all:
        yield line(one, tokens)
    waiting = loaded.waiting()
    yield from (f"{one.name}  not approved ({one.file}). /extensions hooks approve asks about it." for one in waiting)
    yield from loaded.left_out
    if not loaded.all and not waiting:
        yield NONE


def line(one: Extension, tokens: Callable[[str], int] | None = None, *, with_fault: bool = True) -> str:
    """Return what an extension adds, the tokens of its tools, what it has used, and its newest fault."""
    used = f" · {plural(one.calls, 'call')}, {one.seconds:.2f} s" if one.calls else ""
    if one.tools and tokens is not None:
        size = sum(tokens(json.dumps(tool.tool().schema.raw)) for tool in one.tools)
        used = f" · {size:,} tokens in each request{used}"
    state = " · off" if one.off else ""
    faults = f" · {one.faults[-1]}" if one.faults and with_fault else ""
    return f"{one.name}  {'; '.join(added(one)) or 'adds nothing'} ({one.source.path}){used}{state}{faults}"


def added(one: Extension) -> Sequence[str]:
    """Return what an extension adds, by kind, with its settings."""
    kinds = {
        "tools": [tool.name for tool in one.tools],
        "commands": [f"/{use.name}" for _, use in one.commands],
        "events": [*dict.fromkeys(use.event for _, use in one.handlers)],
        "around turns": [function.__name__ for function in one.around],
        "search engine": [one.engine.__name__] if one.engine is not None else [],
        "settings": [each.name for each in dataclasses.fields(one.settings)] if one.settings is not None else [],
    }
    return [f"{kind} {', '.join(names)}" for kind, names in kinds.items() if names]


COMMANDS = (extensions, reload)
