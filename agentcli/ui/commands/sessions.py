"""Slash commands on sessions."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from agentcli.core.errors import UsageError
from agentcli.sessions.tree import nested, stem
from agentcli.ui.commands.base import CommandContext
from agentcli.ui.commands.definition import command
from agentcli.ui.dialogs.dialogs import Choice
from agentcli.ui.render.frame import Item


def known(stage: CommandContext) -> Sequence[Item]:
    """Sessions as completions."""
    return [Item(str(one.get("name") or one.get("id", "")), _label(one)) for one in _others(stage)]


@command(arguments=known)
async def resume(stage: CommandContext, selector: str) -> None:
    """Go on with another session: /resume [SESSION]

    By id, the beginning of an id, or name; without one you choose from this project's.
    """
    if not selector:
        others = await asyncio.to_thread(_others, stage)
        if not others:
            raise UsageError("This project has no other session.")
        chosen = await stage.pick("Go on with which session?", [Choice(_label(one), _detail(one)) for one in others])
        if chosen is None:
            return
        selector = str(others[chosen]["id"])
    if selector == stage.desk.journal.id:
        raise UsageError("This session is open already.")
    stage.move_to(stage.host.open(selector))


@command(at_once=True)
async def sessions(stage: CommandContext, _: str) -> None:
    """List this project's sessions, newest first, each with its branches below it: /sessions"""
    found = {str(one.get("id", "")): one for one in await asyncio.to_thread(stage.host.sessions)}
    tree = nested({each: str((one.get("parent") or {}).get("session", "")) for each, one in found.items()})
    here = stage.desk.journal.id
    lines = [
        f"{each}  {stem(depth)}{_label(found[each])}  ({_detail(found[each])}{', open here' if each == here else ''})"
        for depth, each in tree
    ]
    stage.say(*(lines or ["No session yet."]))


@command(at_once=True)
async def rename(stage: CommandContext, name: str) -> None:
    """Give this session a name to resume it by: /rename NAME"""
    if not name:
        raise UsageError("Say the name: /rename NAME")
    if any(one.get("name") == name for one in await asyncio.to_thread(_others, stage)):
        raise UsageError(f"Another session is called {name} already. Say another name.")
    stage.tell(stage.desk.rename(name))
    stage.say(f"This session is called {name} from now on: agentcli resume {shlex.quote(name)}")


@command()
async def new(stage: CommandContext, _: str) -> None:
    """Begin a new session; this one is kept: /new"""
    stage.move_to(stage.host.new())


@command()
async def clear(stage: CommandContext, _: str) -> None:
    """Begin a new session; this one is kept: /clear"""
    stage.move_to(stage.host.new())


@command()
async def fork(stage: CommandContext, _: str) -> None:
    """Go on in a copy of this session: /fork"""
    if not stage.desk.history.turn:
        raise UsageError("Nothing was said in this session yet, so there is nothing to copy.")
    stage.move_to(stage.host.fork(stage.desk))


@command(at_once=True, aliases=("exit",))
async def quit_(stage: CommandContext, _: str) -> None:
    """Leave; the session is kept: /quit"""
    stage.leave()


def _others(stage: CommandContext) -> list[Mapping[str, Any]]:
    return [one for one in stage.host.sessions() if one.get("id") != stage.desk.journal.id]


def _label(session: Mapping[str, Any]) -> str:
    return str(session.get("name") or session.get("title") or session.get("id", ""))


def _detail(session: Mapping[str, Any]) -> str:
    times = session.get("time") or {}
    updated = str(times.get("updated", "")) if isinstance(times, Mapping) else ""
    place = str(session.get("place") or "")
    return " · ".join(filter(None, (updated[:16].replace("T", " "), str(session.get("model", "")), place)))
