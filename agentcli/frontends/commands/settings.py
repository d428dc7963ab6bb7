"""Slash commands on the program's settings: status, config, keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from agentcli.core.errors import UsageError
from agentcli.core.sanitise import safe_line
from agentcli.core.text.near import did_you_mean, near_names
from agentcli.frontends.commands.base import CommandContext, terminal_command
from agentcli.frontends.commands.outputs import Drawn
from agentcli.frontends.terminal.dialogs.dialogs import start_of
from agentcli.frontends.terminal.style import Look
from agentcli.program.commands import Choice, Context, Item, Output, Terminal, command
from agentcli.program.host import Setting
from agentcli.system.cells import wrap

LISTED = 40
"""Settings that a search lists at most."""


def keys_of_settings(context: Terminal) -> Sequence[Item]:
    """Return the settings as completions."""
    return [Item(one.key, _about(one)) for one in context.host.settings()]


@command("Cost and state", at_once=True)
async def status(context: Context, _: str) -> AsyncIterator[Output]:
    """Show version, model, endpoint, key, folder, mode and sandbox: /status"""
    facts = await asyncio.to_thread(context.host.status, context.session)
    wide = max(len(name) for name, _ in facts) + 2

    def drawn(columns: int, look: Look) -> Sequence[str]:
        lines = []
        for name, value in facts:
            first, *more = wrap(safe_line(value), max(columns - 1 - wide, 12))
            lines += [look.theme.paint("dim", name.ljust(wide)) + first, *(" " * wide + row for row in more)]
        return lines

    yield Drawn([f"{name.ljust(wide)}{value}" for name, value in facts], draw=drawn)


@terminal_command("Terminal", at_once=True, arguments=keys_of_settings)
async def config(context: CommandContext, argument: str) -> None:
    """Search and change settings, and see where they come from: /config [KEY [VALUE]]

    Without an argument, choose from all settings; type part of a name, value or origin to filter. Words that are not a key list the
    settings that contain them. Changes go to your config.toml; its comments are kept.
    """
    found = await asyncio.to_thread(context.host.settings)
    known = {one.key: one for one in found}
    key, _, value = argument.partition(" ")
    if not argument:
        chosen = await context.pick("Settings", [Choice(one.key, _about(one), about=one.about) for one in found])
        if chosen is not None:
            await _edit(context, found[chosen])
    elif value and key in known:
        context.say(await asyncio.to_thread(context.host.change, key, value.strip()))
    elif key in known:
        await _edit(context, known[key])
    else:
        listed = _matching(found, argument)
        if len(listed) == 1:
            await _edit(context, listed[0])
        else:
            _list(context, listed)


@terminal_command("Terminal", at_once=True)
async def keys(context: CommandContext, _: str) -> None:
    """List the keys: /keys

    `[ui.keys]` in config.toml changes them.
    """
    context.list_keys()


def _matching(found: Sequence[Setting], words: str) -> Sequence[Setting]:
    """Return the settings that contain all words. Raises UsageError without a match."""
    listed = [one for one in found if all(word in f"{one.key} {_about(one)}".lower() for word in words.lower().split())]
    if not listed:
        near = did_you_mean(near_names(words.split()[0], [one.key for one in found]))
        raise UsageError(f"No setting contains {words}.{near or ' /config lists them.'}")
    return listed


def _list(context: CommandContext, listed: Sequence[Setting]) -> None:
    theme = context.look.theme
    for one in listed[:LISTED]:
        origin = "" if one.origin == "built-in" else theme.paint("dim", f"  # {safe_line(one.origin)}")
        context.show(f"{safe_line(one.key)} = {safe_line(one.value)}{origin}")
    if len(listed) > LISTED:
        context.say(f"… {len(listed) - LISTED} more")


async def _edit(context: CommandContext, setting: Setting) -> None:
    """Ask for another value, then write it."""
    if setting.choices:
        now = setting.value.strip('"')
        offered = [Choice(one, "in force" if one == now else "") for one in setting.choices]
        chosen = await context.pick(f"{setting.key} ({setting.origin})", offered, start_of(setting.choices, now))
        value = None if chosen is None else setting.choices[chosen]
    else:
        value = await context.enter(
            setting.key,
            setting.value,
            " ".join(filter(None, [setting.about, f"Now {setting.value} ({setting.origin})."])),
        )
    if value is None or value == setting.value:
        return
    context.say(await asyncio.to_thread(context.host.change, setting.key, value))


def _about(setting: Setting) -> str:
    return setting.value if setting.origin == "built-in" else f"{setting.value} · {setting.origin}"
