"""Slash commands on settings: model, mode, appearance, keys."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agentcli.agent.settings import EFFORTS, with_effort
from agentcli.core.errors import UsageError
from agentcli.core.model import ModelSpec
from agentcli.core.record import MODE_SUMMARIES, MODES, in_mode
from agentcli.core.text.words import one_of
from agentcli.frontends.commands.base import CommandContext, terminal_command
from agentcli.frontends.terminal.dialogs.dialogs import Filter, start_of
from agentcli.frontends.terminal.style import THEMES, choose_theme, count
from agentcli.program.commands import Choice, Context, Item
from agentcli.providers.catalog import ALIASES

if TYPE_CHECKING:
    from agentcli.program.program import Program

FEW = 10
"""Models of a provider that are all listed."""
IN_USE, NO_KEY = " · in use", " · no key"
OWN = "default"
"""Word for the effort that the model chooses itself."""


def models(context: Context) -> Sequence[Item]:
    """Return the models as completions."""
    from agentcli.program.model_lists import known_models

    program = context.program
    return [
        *(Item(alias, f"= {name}") for alias, name in program.config.aliases.items()),
        *(Item(one.name, _about(one)) for one in known_models(program.models)),
    ]


def modes(context: Context) -> Sequence[Item]:
    """Return the modes as completions."""
    return [Item(one, MODE_SUMMARIES[one]) for one in MODES]


def efforts(context: Context) -> Sequence[Item]:
    """Return the levels of thinking as completions."""
    return [Item(OWN, "the model's own"), *map(Item, EFFORTS)]


def themes(context: Context) -> Sequence[Item]:
    """Return the themes as completions."""
    return [Item(one) for one in THEMES]


@terminal_command("Model and permissions", arguments=models)
async def model(context: CommandContext, name: str) -> None:
    """Switch the model: /model [NAME or NAME:EFFORT]

    Without a name, choose from a list: the newest of each family, and others by their names.
    """
    if not name:
        context.say(*await _refreshed(context.program))
        name, level = await _chosen(context)
        if not name:
            return
    else:
        name, level = with_effort(name)
        level = level or context.session.core.builder.effort
    context.show_events(context.session.switch(model=name))
    spec, builder = context.session.core.model, context.session.core.builder
    effort = f", effort {level or OWN}" if level != builder.effort else ""
    builder.effort = level
    context.say(f"Model: {spec.name}{effort}, with a window of {spec.window:,} tokens.")


async def _chosen(context: CommandContext) -> tuple[str, str]:
    """Let the person choose a model, and with the arrows an effort; no name if they choose none."""
    newest, older = _by_age(context.program)
    found, now = [*newest, *older], context.session.core.model.name
    found.sort(key=lambda one: one.name != now)
    names, levels = [one.name for one in found], (OWN, *EFFORTS)
    level = levels.index(context.session.core.builder.effort or OWN)
    shown, at = len(newest) + (now not in (one.name for one in newest)), start_of(names, now)
    roles = _roles(newest)
    choices = [Choice(one.name, _details(one, roles, context)) for one in found]

    def title(key: str = "") -> str:
        nonlocal level
        level = min(max(level + {"right": 1, "left": -1}.get(key, 0), 0), len(levels) - 1)
        return f"Which model? Effort: {levels[level]}"

    arrows = {"left": "less effort", "right": "more"}
    picked = await context.choose(title(), choices, at, arrows, Filter(shown=shown if older else 0, turns=title))
    return ("", "") if picked is None else (names[picked[0]], levels[level] if level else "")


def _by_age(program: Program) -> tuple[list[ModelSpec], list[ModelSpec]]:
    """Return the newest model of each family, which an alias names, and all others.

    Models of a provider without any count as new if they are few. Those without a key come last.
    """
    from agentcli.program.model_lists import known_models

    models, lacking = known_models(program.models), program.models.lacking_keys
    ranks = [*dict.fromkeys([*program.config.aliases.values(), *ALIASES.values()])]
    listed = Counter(one.provider for one in models)
    families = {name.partition("/")[0] for name in ranks}
    few = {provider for provider, count in listed.items() if count <= FEW and provider not in families}
    newest = [one for one in models if one.name in ranks or one.provider in few]
    newest.sort(key=lambda one: (one.provider in lacking, ranks.index(one.name) if one.name in ranks else -1))
    return newest, [one for one in models if one not in newest]


def _roles(newest: Sequence[ModelSpec]) -> Mapping[str, str]:
    """Return what each of a vendor's newest models is for, as its price suggests."""
    roles: dict[str, str] = {}
    priced = [one for one in newest if one.prices and one.prices.input]
    for provider in {one.provider for one in priced}:
        cheap, *others = sorted((one for one in priced if one.provider == provider), key=_price)
        roles |= {one.name: "for everyday work" for one in others}
        if others:
            roles |= {cheap.name: "fast and cheap", others[-1].name: "for the hardest tasks"}
    return roles


def _price(model: ModelSpec) -> float:
    return model.prices.output if model.prices else 0.0


def _details(model: ModelSpec, roles: Mapping[str, str], context: CommandContext) -> str:
    lacks = NO_KEY if model.provider in context.program.models.lacking_keys else ""
    used = IN_USE if model.name == context.session.core.model.name else ""
    role = f"{roles[model.name]} · " if model.name in roles else ""
    return f"{role}{_about(model)}{lacks}{used}"


async def _refreshed(program: Program) -> Sequence[str]:
    """Query endpoints for their models if their lists are old; return warnings. Slow endpoints are not awaited."""
    from agentcli.program.model_lists import PATIENCE, refresh, stale

    models = program.models
    if program.options.no_session or not stale(models):
        return ()
    return (await asyncio.to_thread(refresh, models, PATIENCE)).warnings


@terminal_command("Model and permissions", arguments=efforts)
async def effort(context: CommandContext, level: str) -> None:
    """Switch how hard the model thinks: /effort [default|minimal|low|medium|high|xhigh|max]

    It applies to this session; set agent.effort to make it permanent. `default` is the model's own.
    """
    builder = context.session.core.builder
    levels = (OWN, *EFFORTS)
    if not level:
        now = builder.effort or OWN
        chosen = await context.pick(
            f"Effort: {now}", [Choice(one, IN_USE if one == now else "") for one in levels], start_of(levels, now)
        )
        if chosen is None:
            return
        level = levels[chosen]
    if level not in levels:
        raise UsageError(f"Unknown effort {level}.{one_of(level, levels)}")
    builder.effort = "" if level == OWN else level
    name = context.session.core.model.name
    unused = f" {name} does not think, so it has no effect." if context.session.core.model.thinking == "none" else ""
    context.say(f"Effort: {level}.{unused}")


@terminal_command("Model and permissions", at_once=True, arguments=modes)
async def mode(context: CommandContext, name: str) -> None:
    """Switch the permission mode: /mode [ask|auto-edit|plan|yolo|auto]"""
    if not name:
        now = context.session.core.approval.mode
        choices = [Choice(one, MODE_SUMMARIES[one] + (IN_USE if one == now else "")) for one in MODES]
        chosen = await context.pick("Which mode?", choices, start_of(MODES, now))
        if chosen is None:
            return
        name = MODES[chosen]
    context.show_events(context.session.switch(mode=name))
    context.say(in_mode(context.session.core.approval.mode))


@terminal_command("Terminal", at_once=True, arguments=themes, former="theme")
async def theme(context: CommandContext, name: str) -> None:
    """Switch the colours: /config theme [auto|dark|light|none]

    `auto` follows the terminal's background. It applies to this session; set ui.theme to make it permanent.
    """
    if not name:
        chosen = await context.pick("Theme", [Choice(one) for one in THEMES])
        if chosen is None:
            return
        name = THEMES[chosen]
    if name not in THEMES:
        raise UsageError(f"Unknown theme {name}.{one_of(name, THEMES)}")
    context.look = replace(context.look, theme=choose_theme(name, os.environ, context.look.light))
    context.say(f"Theme {name} for this session. Make it permanent: `agentcli config set ui.theme {name}`.")


@terminal_command("Terminal", at_once=True, former="raw")
async def raw(context: CommandContext, _: str) -> None:
    """Switch between Markdown source and rendered answers: /config raw"""
    context.look = replace(context.look, raw=not context.look.raw)
    context.say(f"Raw Markdown: {'on' if context.look.raw else 'off'}.")


@terminal_command("Terminal", at_once=True, former="vim")
async def vim(context: CommandContext, _: str) -> None:
    """Switch vi keys on or off: /config vim

    The prompt is `:` in command mode. It applies to this session; set ui.vi to make it permanent.
    """
    on = context.toggle_vi()
    value = str(on).lower()
    context.say(
        f"Vi mode {'on' if on else 'off'} for this session. Make it permanent: `agentcli config set ui.vi {value}`."
    )


@terminal_command("Terminal", at_once=True)
async def editor(context: CommandContext, _: str) -> None:
    """Write the next prompt in your editor: /editor"""
    context.draft(await context.compose(""))


def _about(model: ModelSpec) -> str:
    """Return the context window and, if known, prices in USD per million tokens."""
    prices = model.prices
    cost = f" · ${prices.input:g} in, ${prices.output:g} out" if prices and prices.input else ""
    return f"{count(model.window)} window{cost}"
