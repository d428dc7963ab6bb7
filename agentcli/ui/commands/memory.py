"""Slash command on the instruction files: show them, read them again, add a line."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence
from pathlib import Path

from agentcli.core.causes import in_words
from agentcli.core.errors import InputError, StoreError, UsageError
from agentcli.core.sanitise import safe_line
from agentcli.project.instructions import NAMES
from agentcli.sessions.project import project_root, read_repository
from agentcli.system.locked_file import update
from agentcli.ui.commands.base import CommandContext
from agentcli.ui.commands.definition import command
from agentcli.ui.dialogs.dialogs import Choice
from agentcli.ui.render.frame import Item

HEADING = "## Notes"
"""The section that added lines go to."""
LOCAL = "AGENTS.local.md"


def _arguments(context: CommandContext) -> Sequence[Item]:
    return [Item("add", "add a line"), Item("reload", "read the files again")]


@command(arguments=_arguments)
async def memory(context: CommandContext, argument: str) -> None:
    """Show, reload or extend the instruction files: /memory [add TEXT or reload]

    Files count from your config folder, then from the repository's root down: in each folder the first of AGENTS.override.md,
    AGENTS.md, CLAUDE.md, .claude/CLAUDE.md and GEMINI.md, then AGENTS.local.md and CLAUDE.local.md. `@path` in them imports another
    file. Instruction files of deeper folders are read when a call touches the folder.

    `add` asks where TEXT goes: for this project, for you in this project alone, or for all your projects.
    """
    word, _, text = argument.partition(" ")
    if word == "add" and text.strip():
        await _add(context, " ".join(text.split()))
    elif argument == "reload":
        _reload(context)
    elif argument:
        raise UsageError("Use /memory, /memory add TEXT or /memory reload.")
    else:
        _show(context)


def _show(context: CommandContext) -> None:
    session = context.session
    instructions = session.instructions
    nested = list(dict.fromkeys(session.nested_instructions))
    if not instructions.files and not nested:
        context.say("No instruction files (AGENTS.md, CLAUDE.md, GEMINI.md) found. /init writes an AGENTS.md.")
    for path, tokens in instructions.files:
        source = instructions.imported.get(path)
        context.say(f"{path}  ({tokens:,} tokens{f', imported by {source}' if source is not None else ''})")
    context.say(*(f"{path}  (read when its folder was touched)" for path in nested), *instructions.notes)


def _reload(context: CommandContext) -> None:
    session = context.session
    before, text = dict(session.instructions.files), session.instructions.text
    session.reread_instructions()
    now = dict(session.instructions.files)
    lines = [f"New: {path}" for path in now if path not in before]
    lines += [f"Gone: {path}" for path in before if path not in now]
    lines += [f"Changed: {path}" for path in now if path in before and now[path] != before[path]]
    if session.instructions.text == text:
        context.say("Nothing has changed.")
        return
    context.say(*(lines or ["Changed."]), "The model learns it with your next prompt; the next session begins with it.")


async def _add(context: CommandContext, text: str) -> None:
    """Add a line to the file that the person chooses, once the change was shown."""
    cwd = context.session.cwd
    places = (in_force(cwd), cwd / LOCAL, context.host.own_instructions())
    about = ("this project, for everybody who works on it", "this project, for you alone", "all your projects")
    choices = [Choice(str(path), why) for path, why in zip(places, about, strict=True)]
    chosen = await context.pick("Where does the line go?", choices)
    if chosen is None:
        return
    file = places[chosen]
    before = _text(file)
    diff = difflib.unified_diff(before.splitlines(), with_line(before, text).splitlines(), lineterm="", n=2)
    if not await context.confirm(f"Change {file}?", [safe_line(line) for line in list(diff)[2:]]):
        return
    lock = places[2].with_name(".instructions.lock")  # the project has no instruction file any more
    try:
        await asyncio.to_thread(update, file, lambda present: with_line(present, text), lock=lock)
        if file.name == LOCAL:
            await asyncio.to_thread(_exclude, cwd, lock)
    except StoreError as error:
        raise InputError(f"{error} Write the line there yourself.") from error
    context.session.reread_instructions()
    context.say(f"Added to {file}. The model learns it with your next prompt.")


def in_force(folder: Path) -> Path:
    """Return the instruction file that counts in a folder, or the path for a new one."""
    return next((folder / name for name in NAMES if (folder / name).is_file()), folder / "AGENTS.md")


def with_line(text: str, line: str) -> str:
    """Return the text with `- LINE` at the end of its section for notes; the section is added if it is missing."""
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    if HEADING not in lines:
        return "\n".join([*lines, *([""] if lines else []), HEADING, "", f"- {line}"]) + "\n"
    first = lines.index(HEADING) + 1
    end = next((n for n in range(first, len(lines)) if lines[n].startswith("#")), len(lines))
    while end > first and not lines[end - 1].strip():
        end -= 1
    return "\n".join([*lines[:end], *([""] if end == first else []), f"- {line}", *lines[end:]]) + "\n"


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8") if file.exists() else ""
    except (OSError, ValueError) as error:
        raise InputError(f"Can't read {file}: {in_words(error)}. Add the line yourself.") from error


def _exclude(cwd: Path, lock: Path) -> None:
    """Have git ignore the local file, by the repository's own list that no commit carries."""
    repository = read_repository(project_root(cwd))
    if repository is None:
        return

    def with_name(present: str) -> str:
        gap = "" if not present or present.endswith("\n") else "\n"
        return present if LOCAL in present.split("\n") else f"{present}{gap}{LOCAL}\n"

    file = Path(repository.common, "info", "exclude")
    file.parent.mkdir(exist_ok=True)
    update(file, with_name, lock=lock)
