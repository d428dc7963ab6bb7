"""Slash commands on settings: config, keys."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import UsageError
from agentcli.core.sanitise import safe_line
from agentcli.core.text.words import instead
from agentcli.frontends.commands.base import CommandContext, terminal_command
from agentcli.frontends.terminal.dialogs.dialogs import start_of
from agentcli.manual import page
from agentcli.program.commands import Choice, Context, Item
from agentcli.program.config import parsed
from agentcli.program.config.toml import set_key, toml_value

if TYPE_CHECKING:
    from agentcli.program.program import Program

LISTED = 40
"""Settings that a search lists at most."""
BUILT_IN = "built-in"
_SWITCH = ("true", "false")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting."""

    key: str
    value: str
    """Its value as text."""
    origin: str
    """The place that sets it."""
    choices: tuple[str, ...] = ()
    """Its possible values, if they are few."""
    about: str = ""
    """What it does."""


def keys_of_settings(context: Context) -> Sequence[Item]:
    """Return the settings as completions."""
    return [Item(one.key, _about(one)) for one in settings(context.program)]


@terminal_command("Terminal", at_once=True, arguments=keys_of_settings)
async def config(context: CommandContext, argument: str) -> None:
    """Search and change settings, and see where they come from: /config [KEY [VALUE]]

    Without an argument, choose from all settings; type part of a name, value or origin to filter. Words that are not a key list the
    settings that contain them. Changes go to your config.toml; its comments are kept.
    """
    found = await asyncio.to_thread(lambda: [*settings(context.program)])
    known = {one.key: one for one in found}
    key, _, value = argument.partition(" ")
    if not argument:
        chosen = await context.pick("Settings", [Choice(one.key, _about(one), about=one.about) for one in found])
        if chosen is not None:
            await _edit(context, found[chosen])
    elif value and key in known:
        context.say(await asyncio.to_thread(change, context.program, key, value.strip()))
    elif key in known:
        await _edit(context, known[key])
    else:
        listed = _matching(found, argument)
        if len(listed) == 1:
            await _edit(context, listed[0])
        else:
            _list(context, listed)


@terminal_command("Terminal", at_once=True, former="keys")
async def keys(context: CommandContext, _: str) -> None:
    """List the keys: /help keys

    `[ui.keys]` in config.toml changes them.
    """
    context.list_keys()


def _matching(found: Sequence[Setting], words: str) -> Sequence[Setting]:
    """Return the settings that contain all words. Raises UsageError without a match."""
    listed = [one for one in found if all(word in f"{one.key} {_about(one)}".lower() for word in words.lower().split())]
    if not listed:
        raise UsageError(
            f"No setting contains {words}.{instead(words.split()[0], [one.key for one in found], '/config lists them.')}"
        )
    return listed


def _list(context: CommandContext, listed: Sequence[Setting]) -> None:
    theme = context.look.theme
    for one in listed[:LISTED]:
        origin = "" if one.origin == BUILT_IN else theme.paint("dim", f"  # {safe_line(one.origin)}")
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
    context.say(await asyncio.to_thread(change, context.program, setting.key, value))


def _about(setting: Setting) -> str:
    return setting.value if setting.origin == BUILT_IN else f"{setting.value} · {setting.origin}"


def settings(program: Program) -> Iterator[Setting]:
    """Every setting in force."""
    few, origins, about = program.config.schema.choices(_SWITCH), program.config.origins, _descriptions()
    for key, value in program.config.items():
        origin = origins.get(key, BUILT_IN)
        yield Setting(key, toml_value(value), origin, tuple(few.get(key, ())), about.get(key, ""))


_DESCRIBED = re.compile(r"- `(?P<key>[\w.]+)` = `.*?`.*?: (?P<about>.*)")


def _descriptions() -> Mapping[str, str]:
    """Return what each setting does, from the manual."""
    text = page("configuration")
    return {line["key"]: line["about"].replace("`", "") for line in map(_DESCRIBED.fullmatch, text.split("\n")) if line}


def change(program: Program, key: str, text: str) -> str:
    """Write a setting to the user's config.toml and read it again; return a line about the value in force.

    Raises ConfigError for an unknown key or an invalid value.
    """
    file, schema = program.dirs.config_file, program.config.schema
    wanted = parsed(schema, key, text)
    set_key(file, schema.steps(key), wanted)
    program.reload()
    now, origin = program.config.get(key), program.config.origins.get(key, BUILT_IN)
    if now != wanted:
        return f"{key} = {toml_value(wanted)} is in {file}, but {origin} has {toml_value(now)}, which wins."
    return f"{key} = {toml_value(wanted)}, written to {file}. New sessions have it (/clear)."
