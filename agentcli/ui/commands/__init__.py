"""The slash commands: a table from name to function, with help from the docstrings."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType

from agentcli.core.errors import UsageError
from agentcli.ui.commands import context, files, model, program, reports, sessions
from agentcli.ui.commands.stage import Stage
from agentcli.ui.draw import Item

Command = Callable[[Stage, str], Awaitable[None]]
Arguments = Callable[[Stage], Sequence[Item]]


async def help_(stage: Stage, name: str) -> None:
    """List the commands, or tell more about one: /help [COMMAND]"""
    if name:
        command = find(name.lstrip("/"))
        stage.say(*inspect.cleandoc(command.__doc__ or "").splitlines())
        return
    wide = max(map(len, COMMANDS)) + 3
    stage.say(*(f"/{one}".ljust(wide) + summary(one) for one in COMMANDS), "? on an empty line lists the keys.")


COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "help": help_,
        "compress": context.compress,
        "uncompress": context.uncompress,
        "prune": context.prune,
        "context": context.context,
        "pin": context.pin,
        "unpin": context.unpin,
        "undo": files.undo,
        "redo": files.redo,
        "rewind": context.rewind,
        "resume": sessions.resume,
        "sessions": sessions.sessions,
        "rename": sessions.rename,
        "new": sessions.new,
        "clear": sessions.new,
        "fork": sessions.fork,
        "model": model.model,
        "mode": model.mode,
        "permissions": program.permissions,
        "tools": reports.tools,
        "todo": reports.todo,
        "tasks": reports.tasks,
        "cost": reports.cost,
        "cache": reports.cache,
        "stats": program.stats,
        "budget": program.budget,
        "memory": reports.memory,
        "init": files.init,
        "diff": reports.diff_,
        "copy": reports.copy,
        "export": files.export,
        "why": reports.why,
        "theme": model.theme,
        "raw": model.raw,
        "vim": model.vim,
        "editor": model.editor,
        "doctor": program.doctor,
        "quit": sessions.quit_,
    }
)
ARGUMENTS: Mapping[str, Arguments] = MappingProxyType(
    {
        "help": lambda stage: [Item(name, summary(name)) for name in COMMANDS],
        "model": model.models,
        "mode": model.modes,
        "theme": model.themes,
        "resume": sessions.known,
        "prune": lambda stage: [Item("undo", "take back the newest prune")],
    }
)


async def run(stage: Stage, line: str) -> None:
    """Run a line that begins with a slash. Raises UsageError with the nearest names when there is no such command."""
    name, _, rest = line.strip().removeprefix("/").partition(" ")
    await find(name)(stage, rest.strip())


def is_command(text: str) -> bool:
    """Whether a line is meant as a command: a slash and a word. `/usr/bin is empty` is none."""
    return text.startswith("/") and "/" not in text.split()[0][1:]


def find(name: str) -> Command:
    """The command of that name. Raises UsageError with the nearest names."""
    if name in COMMANDS:
        return COMMANDS[name]
    near = difflib.get_close_matches(name, COMMANDS, n=3, cutoff=0.5) or [
        one for one in COMMANDS if one.startswith(name[:2])
    ]
    hint = f" Did you mean {' or '.join('/' + one for one in near[:3])}?" if near else " /help lists them."
    raise UsageError(f"There is no command /{name}.{hint}")


def summary(name: str) -> str:
    """A command's help in one line."""
    return inspect.cleandoc(COMMANDS[name].__doc__ or "").split("\n")[0].partition(": /")[0]
