"""Slash command on the instruction files: show them, read them again, add a line."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.agent.project.instructions import NAMES
from agentcli.core.errors import InputError, StoreError, UsageError
from agentcli.core.sanitise import safe_line
from agentcli.core.streams import closing
from agentcli.frontends.commands.notes import LOCAL, keep_out_of_git, own_instructions, present_text, with_line
from agentcli.program.commands import Choice, Context, Item, Output, Said, Terminal, command
from agentcli.system import probe
from agentcli.system.locked_file import update

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession


def _arguments(context: Context) -> Sequence[Item]:
    return [
        Item("add", "add a line"),
        Item("propose", "ask the model which lines to add"),
        Item("reload", "read the files again"),
    ]


@command("Context", arguments=_arguments)
async def memory(context: Context, argument: str) -> AsyncIterator[Output]:
    """Show, reload or extend the instruction files: /memory [add TEXT, propose or reload]

    Files are read from your config folder first, then from the repository's root down. In each folder the first of
    these is read: AGENTS.override.md, AGENTS.md, CLAUDE.md, .claude/CLAUDE.md, GEMINI.md. Then come AGENTS.local.md and
    CLAUDE.local.md. `@path` in them imports another file. Instruction files of deeper folders are read when a call
    touches the folder.

    `add` asks where TEXT goes: for this project, for you in this project alone, or for all your projects.

    `propose` asks the model which lines of this conversation are worth keeping. It shows them, and adds them to
    AGENTS.local.md if you agree. The question counts towards the cost, but is not part of the session.
    """
    word, _, text = argument.partition(" ")
    if word == "add" and text.strip():
        await _add(context, context.only_in_terminal("/memory add"), " ".join(text.split()))
    elif argument == "propose":
        from agentcli.frontends.commands.memory_proposal import propose

        async with closing(propose(context)) as outputs:
            async for output in outputs:
                yield output
    elif argument == "reload":
        yield Said(_reload(context.session))
    elif argument:
        raise UsageError("Use /memory, /memory add TEXT, /memory propose or /memory reload.")
    else:
        yield Said([*_listed(context.session)])


def _listed(session: AgentSession) -> Iterator[str]:
    instructions = session.parts.instructions.now
    nested = list(dict.fromkeys(session.parts.nested_files))
    if not instructions.files and not nested:
        yield "No instruction files (AGENTS.md, CLAUDE.md, GEMINI.md) found. /init writes an AGENTS.md."
    for path, tokens in instructions.files:
        source = instructions.imported.get(path)
        yield f"{path}  ({tokens:,} tokens{f', imported by {source}' if source is not None else ''})"
    yield from (f"{path}  (read when its folder was touched)" for path in nested)
    yield from instructions.notes


def _reload(session: AgentSession) -> Sequence[str]:
    before, text = dict(session.parts.instructions.now.files), session.parts.instructions.now.text
    session.parts.instructions.reread()
    now = dict(session.parts.instructions.now.files)
    lines = [f"New: {path}" for path in now if path not in before]
    lines += [f"Gone: {path}" for path in before if path not in now]
    lines += [f"Changed: {path}" for path in now if path in before and now[path] != before[path]]
    if session.parts.instructions.now.text == text:
        return ["Nothing has changed."]
    return [*(lines or ["Changed."]), "The model learns it with your next prompt; the next session begins with it."]


async def _add(context: Context, terminal: Terminal, text: str) -> None:
    """Add a line to the file that the person chooses, after showing the change."""
    cwd = context.session.cwd
    places = (in_force(cwd), cwd / LOCAL, own_instructions(context.program.dirs))
    about = ("this project, for everybody who works on it", "this project, for you alone", "all your projects")
    choices = [Choice(str(path), why) for path, why in zip(places, about, strict=True)]
    chosen = await terminal.pick("Where does the line go?", choices)
    if chosen is None:
        return
    file = places[chosen]
    before = present_text(file)
    diff = difflib.unified_diff(before.splitlines(), with_line(before, text).splitlines(), lineterm="", n=2)
    if not await terminal.confirm(f"Change {file}?", [safe_line(line) for line in list(diff)[2:]]):
        return
    lock = places[2].with_name(".instructions.lock")  # the project has no instruction file any more
    try:
        await asyncio.to_thread(update, file, lambda present: with_line(present, text), lock=lock)
        if file.name == LOCAL:
            await asyncio.to_thread(keep_out_of_git, cwd, lock)
    except StoreError as error:
        raise InputError(f"{error} Write the line there yourself.") from error
    context.session.parts.instructions.reread()
    terminal.say(f"Added to {file}. The model gets it with your next prompt.")


def in_force(folder: Path) -> Path:
    """Return the instruction file that applies in a folder, or the path for a new one."""
    return next((folder / name for name in NAMES if probe.is_file(folder / name)), folder / "AGENTS.md")
