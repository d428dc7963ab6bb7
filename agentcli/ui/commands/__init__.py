"""The slash commands: a table from name to function, with help from the docstrings."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType

from agentcli.core.errors import UsageError
from agentcli.ui.commands import context, files, model, program, reports, sessions
from agentcli.ui.commands.stage import Stage
from agentcli.ui.frame import Item

Command = Callable[[Stage, str], Awaitable[None]]
Arguments = Callable[[Stage], Sequence[Item]]


async def help_(stage: Stage, name: str) -> None:
    """List the commands, or tell more about one: /help [COMMAND]"""
    if name:
        name = known_as(name.lstrip("/"))
        when = (
            "It acts at once, also while a turn runs." if name in AT_ONCE else "While a turn runs it waits for its end."
        )
        stage.say(*inspect.cleandoc(find(name).__doc__ or "").splitlines(), when)
        return
    wide = max(map(len, COMMANDS)) + 3
    stage.say(
        *(f"/{one}".ljust(wide) + summary(one) for one in COMMANDS),
        "",
        "/help COMMAND tells more about one, ? on an empty line lists the keys.",
        "@path attaches a file, folder or picture, !cmd shows the model what a command prints, !!cmd does not.",
    )


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
        "compress": lambda stage: [Item("--preview", "only say what would be done")],
        "pin": context.prompt_numbers,
        "unpin": context.pinned_numbers,
        "rewind": context.prompt_numbers,
    }
)


AT_ONCE = frozenset(
    (
        "help", "context", "permissions", "tools", "todo", "tasks", "cost", "cache", "stats", "budget", "memory", "diff", "copy",
        "export", "why", "theme", "raw", "vim", "editor", "doctor", "mode", "sessions", "rename", "quit",
    )
)  # fmt: skip
"""Commands that change nothing under a running turn: they do not wait for its end."""
ALIASES: Mapping[str, str] = MappingProxyType({"compact": "compress", "exit": "quit"})
"""What other programs call the same."""


async def run(stage: Stage, line: str) -> None:
    """Run a line that begins with a slash. Raises UsageError where there is no such command, or where it takes no argument."""
    name, rest = _parted(line)
    command = find(name)
    if rest and usage(known_as(name)).count(" ") == 0:
        raise UsageError(f"/{name} takes nothing after it. /help {known_as(name)} tells what it does.")
    await command(stage, rest)


def is_command(text: str) -> bool:
    """Whether a line is meant as a command: a slash and a word. `/usr/bin is empty` is none."""
    return text.lstrip().startswith("/") and "/" not in text.split()[0][1:]


def acts_at_once(text: str) -> bool:
    """Whether a command does not wait for the end of a turn; what is no command is told at once as well."""
    name = known_as(_parted(text)[0])
    return name in AT_ONCE or name not in COMMANDS


def find(name: str) -> Command:
    """The command of that name. Raises UsageError with the nearest names."""
    if known_as(name) in COMMANDS:
        return COMMANDS[known_as(name)]
    near = difflib.get_close_matches(name.lower(), COMMANDS, n=3, cutoff=0.5) or [
        one for one in COMMANDS if name and one.startswith(name[:2].lower())
    ]
    hint = f" Did you mean {' or '.join('/' + one for one in near[:3])}?" if near else " /help lists them."
    raise UsageError(f"There is no command /{name}.{hint}")


def known_as(name: str) -> str:
    """The command's own name."""
    return ALIASES.get(name, name)


def usage(name: str) -> str:
    """How a command is typed, as its help says: its name, and what may come after it."""
    return "/" + inspect.cleandoc(COMMANDS[name].__doc__ or "").split("\n")[0].partition(": /")[2]


def _parted(line: str) -> tuple[str, str]:
    name, *rest = line.strip().removeprefix("/").split(None, 1) or [""]
    return name, rest[0].strip() if rest else ""


def summary(name: str) -> str:
    """A command's help in one line."""
    return inspect.cleandoc(COMMANDS[name].__doc__ or "").split("\n")[0].partition(": /")[0]
