"""The slash command that explains the others and opens the manual."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from agentcli import manual
from agentcli.ui.commands import extensions
from agentcli.ui.commands.base import CommandContext
from agentcli.ui.commands.definition import command
from agentcli.ui.commands.outputs import Context, Output, Said
from agentcli.ui.render.frame import Item
from agentcli.ui.render.markdown import document


def _names(ctx: CommandContext) -> Sequence[Item]:
    topics = [Item(topic, "manual") for topic in manual.TOPICS if topic not in ctx.host.commands.all]
    return [
        *(Item(name, one.summary) for name, one in ctx.host.commands.all.items()),
        *extensions.items(ctx.session, ctx.host.commands.all),
        *topics,
    ]


@command(where="everywhere", at_once=True, arguments=_names)
async def help_(ctx: Context, name: str) -> AsyncIterator[Output]:
    """List the commands, explain one, or open the manual: /help [COMMAND or TOPIC]"""
    topic = name.lower()
    if topic in manual.TOPICS and ctx.host.commands.known_as(topic) not in ctx.host.commands.all:
        yield _page(topic)
        return
    if (
        name
        and ctx.host.commands.known_as(name.lstrip("/")) not in ctx.host.commands.all
        and (lines := extensions.explained(ctx.session, name))
    ):
        yield Said(lines)
        return
    if name:
        one = ctx.host.commands.find(name.lstrip("/"))
        when = "It acts at once, even during a turn." if one.at_once else "During a turn, it waits until the turn ends."
        yield Said([*one.paragraphs, *([when] if ctx.terminal is not None else [])])
        if topic in manual.TOPICS:
            yield Said([""])
            yield _page(topic)
        return
    listed = ctx.host.commands.everywhere if ctx.terminal is None else ctx.host.commands.all
    wide = max(map(len, ctx.host.commands.all)) + 3
    yield Said(
        [
            *(f"/{name}".ljust(wide) + one.summary for name, one in listed.items()),
            *extensions.listed(ctx.session, ctx.host.commands.all, wide),
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
