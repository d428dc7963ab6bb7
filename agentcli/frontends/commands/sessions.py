"""Slash commands on sessions."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from agentcli.core.errors import INTERRUPTED, AgentError, InputError, UsageError
from agentcli.core.text.words import none_of, plural
from agentcli.frontends.commands.base import CommandContext, terminal_command
from agentcli.frontends.terminal.dialogs.dialogs import Filter, matching
from agentcli.program.commands import Acted, Choice, Context, Item, Output, Said, command
from agentcli.sessions.info import ago, local_minute
from agentcli.sessions.tree import nested, stem

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.program.program import Program


def known(context: Context) -> Sequence[Item]:
    """Return the sessions as completions."""
    return [
        Item(str(one.get("name") or one.get("id", "")), _label(one))
        for one in _resumable(context.program, context.session)
    ]


@terminal_command("Sessions", arguments=known)
async def resume(context: CommandContext, selector: str) -> None:
    """Resume another session: /resume [SESSION or WORDS]

    By id, unique prefix, or name; otherwise choose from this project's sessions, whose contents are searched, too.
    Ctrl-R renames the one under the cursor, Ctrl-X moves it to the trash.
    """
    if selector == context.session.journal.id:
        raise UsageError("This session is already open.")
    others = await asyncio.to_thread(_resumable, context.program, context.session)
    if not selector and not others:
        raise UsageError("This project has no other session.")
    if selector:
        try:
            await context.move_to(context.program.sessions.named(selector))
            return
        except InputError:
            if not _matches(others, selector) and not await asyncio.to_thread(
                context.program.sessions.passages, selector
            ):
                raise
    while wanted := await _chosen(context, selector):
        try:
            await context.move_to(context.program.sessions.named(wanted))
            return
        except AgentError as error:
            if not context.program.sessions.choosing:
                raise
            context.warn(str(error))


def _matches(sessions: Sequence[Mapping[str, Any]], words: str) -> bool:
    return bool(matching([_choice(one) for one in sessions], words))


async def _chosen(context: CommandContext, words: str) -> str:
    """Ask for one of these sessions, at first only those that match the words, and return its id.

    Return an empty id if the person chooses none. That ends a program that began with the question.
    """
    start, on = 0, ""
    while others := await asyncio.to_thread(_resumable, context.program, context.session):
        start = next((n for n, one in enumerate(others) if one["id"] == on), min(start, len(others) - 1))
        places = {str(one["id"]): n for n, one in enumerate(others)}
        by = Filter(words, partial(_contents, context.program.sessions.passages, places))
        chosen = await context.choose("Resume which session?", [_choice(one) for one in others], start, _ACTS, by)
        if chosen is None:
            break
        start, key = chosen
        one = others[start]
        on = str(one["id"])
        if not key:
            return on
        try:
            await _act(context, one, key)
        except AgentError as error:
            context.warn(str(error))
    if context.program.sessions.choosing:
        context.say("No session chosen.")
        context.leave(INTERRUPTED if context.interrupted else 0)
    return ""


_RENAME, _DELETE = "c-r", "c-x"
_ACTS = {_RENAME: "rename", _DELETE: "delete"}
"""Keys of the list of sessions."""


async def _act(context: CommandContext, one: Mapping[str, Any], key: str) -> None:
    """Rename a session, or move it to the trash once the person confirms."""
    program = context.program
    store, session_id = program.store, str(one["id"])
    if key == _RENAME:
        name = await context.enter("Name of the session", str(one.get("name") or ""))
        if name:
            await asyncio.to_thread(lambda: store.rename(store.find(session_id), name, program.project))
    elif await context.confirm(
        f"Move “{_label(one)}” to the trash?", [f"agentcli sessions delete --undo {session_id} restores it."]
    ):
        await asyncio.to_thread(lambda: store.delete(store.find(session_id)))


def _contents(passages: Callable[[str], Mapping[str, str]], places: Mapping[str, int], words: str) -> Mapping[int, str]:
    return {places[one]: text for one, text in passages(words).items() if one in places}


def _choice(session: Mapping[str, Any]) -> Choice:
    """Return a session as a choice: its title, then when, where and how large; its newest prompt below the list."""
    times, prompts = session.get("time") or {}, session.get("prompts")
    last = str(session.get("last") or "")
    facts = (
        ago(str(times.get("updated", ""))) if isinstance(times, Mapping) else "",
        str(session.get("branch") or ""),
        plural(prompts, "prompt") if isinstance(prompts, int) and prompts else "",
        str(session.get("model", "")).rpartition("/")[2],
        str(session.get("place") or ""),
    )
    return Choice(
        _label(session),
        " · ".join(filter(None, facts)),
        about=f"Last: {last}" if last not in ("", session.get("title")) else "",
    )


@command("Sessions", at_once=True, former="sessions")
async def sessions(context: Context, _: str) -> AsyncIterator[Output]:
    """List this project's sessions, newest first, with their forks: /resume"""
    found = {str(one.get("id", "")): one for one in await asyncio.to_thread(context.program.sessions.listed)}
    tree = nested({each: str((one.get("parent") or {}).get("session", "")) for each, one in found.items()})
    here = context.session.journal.id
    lines = [
        f"{each}  {stem(depth)}{_label(found[each])}  ({_detail(found[each])}{', open here' if each == here else ''})"
        for depth, each in tree
    ]
    yield Said(lines or [none_of("sessions", "sessions")])


@command("Sessions", at_once=True)
async def rename(context: Context, name: str) -> AsyncIterator[Output]:
    """Give this session a name to resume it by: /rename NAME"""
    if not name:
        raise UsageError("Give a name: /rename NAME")
    if any(one.get("name") == name for one in await asyncio.to_thread(_others, context.program, context.session)):
        raise UsageError(f"Another session is called {name} already. Choose another name.")
    yield Acted(context.session.rename(name))
    yield Said([f"Session renamed to {name}. To resume it: agentcli resume {shlex.quote(name)}"])


@terminal_command("Sessions", aliases=("new",))
async def clear(context: CommandContext, _: str) -> None:
    """Start a new session; this one is kept: /clear"""
    former = context.session
    await context.move_to(context.program.sessions.new("clear"))
    kept = f" Previous one: /resume {former.journal.id}" if former.history.turn else ""
    context.say(f"New session.{kept}")


@terminal_command("Sessions")
async def handoff(context: CommandContext, following: str) -> None:
    """Continue in a new session that starts with a summary: /handoff [WHAT COMES NEXT]

    You can read and edit the summary before it is used. In the new session, `recall` reaches all of this one.
    """
    session = context.session
    await context.play("Writing the handoff", partial(session.compactor.hand_off, following=following))
    made = session.compactor.handoff
    while made is not None:
        context.say(*made.text.splitlines())
        choice = await context.pick("Start a new session with this handoff?", _HANDOFF)
        if choice == 1:
            made = made.edited(await context.compose(made.text))
            continue
        if choice == 0:
            lasting = session.compactor.passing_rules
            await context.move_to(context.program.sessions.hand_off(session, made))
            if lasting:
                context.say(
                    "These rules apply only to this session; /memory add TEXT keeps one for every session:", *lasting
                )
        return


_HANDOFF = (Choice("Start it"), Choice("Edit the handoff first"), Choice("Stay here"))


@terminal_command("Sessions")
async def fork(context: CommandContext, _: str) -> None:
    """Continue in a copy of this session: /fork"""
    if not context.session.history.turn:
        raise UsageError("This session has no messages yet, so there is nothing to copy.")
    await context.move_to(context.program.sessions.fork(context.session))


@terminal_command("Sessions", at_once=True, values=("on", "off"))
async def remote(ctx: CommandContext, argument: str) -> None:
    """Share this session with your other programs here: /remote [on or off]

    `agentcli attach` and the page of `agentcli serve` follow it, answer its questions, steer and stop it. Only your own user can reach it. `ui.remote` shares every session. See /help serve.
    """
    sharing = ctx.sharing
    match argument:
        case "on":
            await sharing.begin()
            ctx.say(f"Shared. `agentcli attach {ctx.session.journal.id}` follows it.")
        case "off":
            await sharing.end()
            ctx.say("No longer shared.")
        case "":
            ctx.say("This session is shared." if sharing.is_on else "This session is not shared. /remote on shares it.")
        case _:
            raise UsageError("Use /remote on or /remote off.")


@terminal_command("Sessions", at_once=True, aliases=("exit",))
async def quit_(context: CommandContext, _: str) -> None:
    """Exit; the session is kept: /quit"""
    context.leave()


def _others(program: Program, session: AgentSession) -> list[Mapping[str, Any]]:
    return [one for one in program.sessions.listed() if one.get("id") != session.journal.id]


def _resumable(program: Program, session: AgentSession) -> list[Mapping[str, Any]]:
    """Return the other sessions to choose from, except subagents' sessions, which are resumed by their ids."""
    return [one for one in _others(program, session) if (one.get("parent") or {}).get("kind") != "subagent"]


def _label(session: Mapping[str, Any]) -> str:
    return str(session.get("name") or session.get("title") or session.get("id", ""))


def _detail(session: Mapping[str, Any]) -> str:
    times = session.get("time") or {}
    updated = local_minute(str(times.get("updated", ""))) if isinstance(times, Mapping) else ""
    place = str(session.get("place") or "")
    return " · ".join(filter(None, (updated, str(session.get("model", "")).rpartition("/")[2], place)))
