"""The slash commands, by name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from agentcli import manual
from agentcli.core.errors import UsageError
from agentcli.core.text.near import NEAREST, did_you_mean, near_names
from agentcli.core.text.slash import name_and_argument
from agentcli.ui.commands import (
    changes,
    context,
    extensions,
    files,
    hooks,
    memory,
    model,
    program,
    reports,
    sessions,
    settings,
)
from agentcli.ui.commands import mcp as servers
from agentcli.ui.commands.base import CommandContext
from agentcli.ui.commands.definition import Command, command
from agentcli.ui.commands.outputs import Context, Output, Said
from agentcli.ui.input.completion import CommandCompletion
from agentcli.ui.render.frame import Item
from agentcli.ui.render.markdown import document

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession


def _names(ctx: CommandContext) -> Sequence[Item]:
    topics = [Item(topic, "manual") for topic in manual.TOPICS if topic not in COMMANDS]
    return [
        *(Item(name, one.summary) for name, one in COMMANDS.items()),
        *extensions.items(ctx.session, COMMANDS),
        *topics,
    ]


@command(where="everywhere", at_once=True, arguments=_names)
async def help_(ctx: Context, name: str) -> AsyncIterator[Output]:
    """List the commands, explain one, or open the manual: /help [COMMAND or TOPIC]"""
    topic = name.lower()
    if topic in manual.TOPICS and known_as(topic) not in COMMANDS:
        yield _page(topic)
        return
    if name and known_as(name.lstrip("/")) not in COMMANDS and (lines := extensions.explained(ctx.session, name)):
        yield Said(lines)
        return
    if name:
        one = find(name.lstrip("/"))
        when = "It acts at once, even during a turn." if one.at_once else "During a turn, it waits until the turn ends."
        yield Said([*one.paragraphs, *([when] if ctx.terminal is not None else [])])
        if topic in manual.TOPICS:
            yield Said([""])
            yield _page(topic)
        return
    listed = EVERYWHERE if ctx.terminal is None else COMMANDS
    wide = max(map(len, COMMANDS)) + 3
    yield Said(
        [
            *(f"/{name}".ljust(wide) + one.summary for name, one in listed.items()),
            *extensions.listed(ctx.session, COMMANDS, wide),
            "",
            f"/help COMMAND explains one{', ? on an empty line lists the keys' if ctx.terminal is not None else ''}.",
            f"/help TOPIC opens the manual: {', '.join(manual.TOPICS)}.",
            *(_INPUT if ctx.terminal is not None else ()),
        ]
    )


_INPUT = (
    "@path attaches a file, folder or picture. !cmd runs a command and shows the model its output, !!cmd only shows you.",
)


def _page(topic: str) -> Said:
    page = manual.page(topic)
    return Said(page.rstrip("\n").split("\n"), lambda columns, look: document(page, columns - 1, look))


_IN_ORDER = (
    help_,
    context.compress,
    context.uncompress,
    context.prune,
    context.context,
    context.pin,
    context.unpin,
    files.undo,
    files.redo,
    context.rewind,
    sessions.resume,
    sessions.sessions,
    sessions.rename,
    sessions.new,
    sessions.clear,
    sessions.handoff,
    sessions.fork,
    model.model,
    model.mode,
    settings.status,
    settings.config,
    settings.keys,
    program.permissions,
    hooks.hooks,
    servers.mcp,
    extensions.skills,
    extensions.agents,
    extensions.plugins,
    reports.tools,
    reports.todo,
    reports.tasks,
    reports.cost,
    reports.cache,
    program.stats,
    program.budget,
    memory.memory,
    files.init,
    changes.diff_,
    changes.review,
    changes.findings_,
    reports.copy,
    files.export,
    files.view,
    reports.why,
    model.theme,
    model.raw,
    model.vim,
    model.editor,
    program.doctor,
    sessions.quit_,
)
COMMANDS: Mapping[str, Command] = MappingProxyType({one.name: one for one in _IN_ORDER})
"""Every command by its own name, in the order in which /help lists them."""
EVERYWHERE: Mapping[str, Command] = MappingProxyType({name: one for name, one in COMMANDS.items() if one.yields})
"""The commands that work in every front end."""
_ALIASES = {alias: one.name for one in _IN_ORDER for alias in one.aliases}


async def run(ctx: CommandContext, line: str) -> None:
    """Run a command line `/name [argument]`. Raises UsageError for an unknown command or an unexpected argument."""
    name, rest = name_and_argument(line)
    found = find(name)
    found.check(rest, name)
    await found.run(ctx, rest)


def is_command(text: str, session: AgentSession) -> bool:
    """Return whether the text is a slash and a word. `/usr/bin is empty` is no command; the name of a command that a file defines begins a prompt."""
    if not text.lstrip().startswith("/") or "/" in text.split()[0][1:]:
        return False
    return known_as(name_and_argument(text)[0]) in COMMANDS or not session.extensions.is_entry(text.lstrip())


def from_files(session: AgentSession) -> Sequence[CommandCompletion]:
    """Return the commands and skills that files define, for completion."""
    return [CommandCompletion(item.label, item.detail) for item in extensions.items(session, COMMANDS)]


def resources(session: AgentSession) -> Sequence[Item]:
    """Return the resources of servers as a prompt mentions them."""
    return servers.resources(session)


def agents_of(session: AgentSession) -> Sequence[Item]:
    """Return the agents that files define, as `@name` at the start of a prompt."""
    return extensions.agent_items(session)


def acts_at_once(text: str) -> bool:
    """Return whether the command runs at once, without waiting for the end of the turn. Unknown commands are reported at once, too."""
    found = COMMANDS.get(known_as(name_and_argument(text)[0]))
    return found is None or found.at_once


def find(name: str) -> Command:
    """Return the command of that name. Raises UsageError with the nearest names."""
    if known_as(name) in COMMANDS:
        return COMMANDS[known_as(name)]
    near = near_names(name.lower(), COMMANDS) or [one for one in COMMANDS if name and one.startswith(name[:2].lower())]
    hint = did_you_mean([f"/{one}" for one in near[:NEAREST]]) or " /help lists them."
    raise UsageError(f"There is no command /{name}.{hint}")


def known_as(name: str) -> str:
    """Return the command's own name for an alias."""
    return _ALIASES.get(name, name)
