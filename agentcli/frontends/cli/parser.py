"""Typer's parser of commands and options, loading only the commands that a command line needs.

By default typer reads every command's annotations. It also makes a pydantic converter for every option, given or not.
Both take longer than the rest of a short command.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Mapping, Sequence
from copy import copy
from enum import Enum
from importlib import import_module
from inspect import getdoc
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_name

from agentcli import __version__
from agentcli.core.annotation import Choice, hints_of, read
from agentcli.core.errors import UsageError
from agentcli.core.text.words import did_you_mean, instead, near_names
from agentcli.frontends.cli.arguments import prepared
from agentcli.frontends.cli.other_names import instead_of
from agentcli.frontends.opening import program_of
from agentcli.program.command_line import OPENER
from agentcli.program.extras import extra
from agentcli.program.options import Options

if TYPE_CHECKING:
    from agentcli.program.program import Program

_HELP_NAMES = ["-h", "--help"]
_HELP = frozenset(_HELP_NAMES)


class _Stopped(BaseException):
    """A signal, by number, as an exception that typer does not mistake for Ctrl-C."""


class _Agentcli(TyperGroup):
    """The program's own help, which includes the options of a session, used without a command."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command. A signal raises _Stopped."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise _Stopped(*stop.args) from None

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the pieces of the usage line: a prompt may replace a command."""
        return ["[OPTIONS] [PROMPT]", "|", self.subcommand_metavar]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options of a session, then the commands."""
        self.commands["run"].format_options(ctx, formatter)
        for group, names in _GROUPS.items():
            shown = {name: self.commands[name] for name in names if not self.commands[name].hidden}
            wide = formatter.width - 6 - max(map(len, _PLACES))
            rows = [(name.ljust(max(map(len, _PLACES))), one.get_short_help_str(wide)) for name, one in shown.items()]
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)


def invoke(arguments: list[str]) -> Options | int:
    """Parse the command line: return the options of a run, or run any other command and return its exit code.

    Raises UsageError for invalid arguments.
    """
    OPENER.set(_program_of)
    arguments = with_default(prepared(arguments, COMMANDS))
    group = _group(arguments)
    try:
        if _HELP.intersection(arguments):
            return _helped(group, arguments) or _helped_on_default(arguments)
        asked = group.main(arguments, "agentcli", standalone_mode=False)
        return asked if isinstance(asked, Options) else int(asked or 0)
    except typer.Exit as stop:
        return stop.exit_code
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except _Stopped as stopped:
        raise KeyboardInterrupt(*stopped.args) from None
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):
            raise stop.__context__ from None  # typer treats a closed pipe as a failure
        raise
    except typer.TyperException as error:
        raise UsageError(_complaint(error, _named(group, arguments))) from error


def _program_of(options: Options) -> Program:
    return program_of(options)


_DEFAULTS: Mapping[str, str] = {"agents": "show", "bench": "run", "serve": "run", "stats": "show"}
"""Groups whose most used command may be omitted, with its name."""


def with_default(arguments: list[str]) -> list[str]:
    """Return the arguments with their group's default command, if they contain none of its commands."""
    first, *rest = arguments or [""]
    if first not in _DEFAULTS or (rest and rest[0] in _HELP):
        return arguments
    names = {command.name for command in _command(first).registered_commands}
    return arguments if rest and rest[0] in names else [first, _DEFAULTS[first], *rest]


def _helped(group: TyperGroup, arguments: list[str]) -> Options | int:
    """Run a command line that requests help; on a terminal the help has colours."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        asked = group.main(arguments, "agentcli", standalone_mode=False)
    # An argument's metavar suffices; typer adds its type.
    plain = _TYPES.sub(lambda found: " " * len(found[0]), text.getvalue())
    shown = _RANGE.sub("", plain).replace("Show this message and exit.", "show this help")
    if sys.stdout.isatty():
        from agentcli.program.command_line.printing import print_help

        print_help(shown)
    else:
        print(shown, end="")
    return asked if isinstance(asked, Options) else int(asked or 0)


def _helped_on_default(arguments: list[str]) -> Options | int:
    """Run the help of a group's default command, after the help of the group."""
    first, *rest = arguments
    if first not in _DEFAULTS or len(rest) != 1:
        return 0
    print(f"\nWithout a command, `agentcli {first}` is `agentcli {first} {_DEFAULTS[first]}`:\n")
    return invoke([first, _DEFAULTS[first], *rest])


_TYPES = re.compile(r"(?<=\S) <(?:str|list\[str\])>(?=  |$)", re.MULTILINE)
_RANGE = re.compile(r"\s+\[x>=0\]")


def _named(group: TyperGroup, arguments: Sequence[str]) -> str:
    """Return the command that these arguments name, as the parser writes it: `agentcli sessions list`."""
    command: Any = group
    path = ["agentcli"]
    for word in arguments:
        if not isinstance(command, TyperGroup) or word not in command.commands:
            break
        command = command.commands[word]
        path.append(word)
    return " ".join(path)


def _complaint(error: typer.TyperException, named_here: str) -> str:
    """Return a parser error's message, with the option and the command whose help to read.

    `named_here` is the command on the command line: an option without its value has no context.
    """
    context: Any = getattr(error, "ctx", None)
    command = (context.command_path if context else named_here).removesuffix(" run")
    named = not context or context.invoked_subcommand or error.format_message().startswith("No such")
    if not named and isinstance(context.command, TyperGroup):
        message = f"`{command}` needs a command: {', '.join(context.command.commands)}."
    else:
        message = error.format_message().replace("Value error, ", "")
    if message.startswith("No such option"):
        meant = did_you_mean(_near_options(getattr(error, "option_name", ""), context))
        if command in ("agentcli", "agentcli resume") and (ours := instead_of(getattr(error, "option_name", ""))):
            meant = f" {ours}"
        if not meant and command == "agentcli mcp add":
            meant = " Options of the server's command come after --"
        message = f"{error.message}.{meant}"
    if command == "agentcli" and message.startswith("Got unexpected extra argument"):
        message += ": put quotes around a prompt of several words."
    if unknown := _NO_COMMAND.match(message):
        message = unknown[0] + instead(unknown[1], context.command.commands)
    if unknown := _NO_CHOICE.search(message):
        message += instead(unknown[1], re.findall(r"'(.+?)'", unknown[2]))
    return f"{message}{'' if message.endswith(('.', '?')) else '.'} See `{command} --help`."


_NO_COMMAND = re.compile(r"No such command '(.*?)'\.")
_NO_CHOICE = re.compile(r"'([^']*)' is not one of (.*)")


def _near_options(name: str, context: Any) -> list[str]:
    """Return the options of a command that are near to an unknown long one."""
    options = [name for option in context.command.params for name in option.opts if name.startswith("--")]
    return [f"--{near}" for near in near_names(name[2:], [each[2:] for each in options])] if name[2:] else []


def whole_group() -> TyperGroup:
    """Return the command line with all its commands and options."""
    return _group(["--help"], whole=True)


_GROUPS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "": {"run": ("agentcli.frontends.cli.run_commands:run", "")},
    "Sessions": {
        "resume": ("agentcli.frontends.cli.run_commands:resume", "Resume a session."),
        "sessions": ("agentcli.frontends.cli.sessions:app", "List, search, fork, export and import sessions."),
        "agents": (
            "agentcli.frontends.cli.prompt_files:agents",
            "Show all sessions by what they want; answer and merge.",
        ),
        "ps": ("agentcli.frontends.serve.command_line:ps", "List the sessions that run on this machine."),
        "attach": ("agentcli.frontends.serve.command_line:attach", "Follow a running session, answer and steer it."),
        "serve": ("agentcli.frontends.serve.command_line:serve", "Show the sessions of this machine in a browser."),
        "acp": ("agentcli.frontends.cli.acp:acp", "Serve an editor over the Agent Client Protocol."),
    },
    "Models and money": {
        "auth": ("agentcli.frontends.cli.auth:app", "Log in to a provider; store, list and remove API keys."),
        "models": ("agentcli.frontends.cli.models:list_models", "List models with context window and price."),
        "stats": ("agentcli.features.costs.command_line:app", "Show tokens and cost of sessions."),
        "context": ("agentcli.frontends.cli.context:app", "Inspect and compare the use of the context window."),
    },
    "Your project": {
        "permissions": ("agentcli.frontends.cli.permissions:app", "Show which calls run without asking."),
        "tools": ("agentcli.frontends.cli.about:list_tools", "List the tools the model can use."),
        "hooks": ("agentcli.features.hooks.command_line:app", "List hooks, and test them with an event."),
        "extensions": ("agentcli.features.extensions.command_line:app", "Add, list and try extensions in Python."),
        "skills": ("agentcli.frontends.cli.prompt_files:skills", "List and check skills."),
        "plugins": ("agentcli.frontends.cli.plugins:app", "Add and remove plugins."),
        "mcp": ("agentcli.features.mcp.command_line:app", "List, add, try and remove MCP servers, and log in to them."),
    },
    "Many tasks": {
        "batch": ("", "Run many tasks, each in its own worktree."),
        "bench": ("", "Measure models and prompts on a set of tasks."),
    },
    "This program": {
        "help": ("agentcli.frontends.cli.help:help_command", "Read the manual, or search it."),
        "demo": ("agentcli.frontends.cli.run_commands:demo", "Play a session with a scripted model; needs no key."),
        "doctor": ("agentcli.frontends.cli.about:doctor", "Check keys, endpoints, folders, tools and sessions."),
        "config": ("agentcli.frontends.cli.about:config", "Show and change settings."),
        "import-config": ("", "Import the configuration of other programs."),
        "update": ("agentcli.frontends.cli.about:update", "Update agentcli with the tool that installed it."),
        "completion": (
            "agentcli.frontends.cli.run_commands:completion",
            "Print or install a completion script for your shell.",
        ),
    },
}
"""Groups of commands and single commands, in the order of the help.

Each command has its place and its line in the help.

The place is the definition's, imported only if the command line contains it. An empty place means that an extra defines
the command.
"""
_PLACES: Mapping[str, tuple[str, str]] = {name: place for group in _GROUPS.values() for name, place in group.items()}
COMMANDS = frozenset(_PLACES)
"""The names of all commands and groups."""


_EPILOG = """\b
Examples:
  agentcli "why does the test fail?"    # a session with its first message
  git diff | agentcli -p "review this"  # one answer, then exit

`agentcli COMMAND --help` for details, `agentcli help` for the manual, --version for the version."""


def _group(arguments: list[str], *, whole: bool = False) -> TyperGroup:
    """Return the command line as far as these arguments need it.

    That is the requested command, or the list of all commands for help.
    """
    app = typer.Typer(
        cls=_Agentcli,
        name="agentcli",
        help="A coding agent for the terminal. Without a command it opens a session in the current folder; PROMPT is the first message.",
        epilog=_EPILOG,
        add_completion=False,
        no_args_is_help=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": _HELP_NAMES, "max_content_width": 100},
    )
    evaluate_annotations(_main)
    app.callback(invoke_without_command=True)(_main)
    first = arguments[0] if arguments else ""
    for name, (_, line) in _PLACES.items():
        if whole or name == first or (name == "run" and first in _HELP):
            command = _command(name)
            if name == "help":
                command = command(_show_help, whole_group)
            if isinstance(command, typer.Typer):
                app.add_typer(command if whole else reduced(command, arguments[1:]), name=name, help=line)
            else:
                evaluate_annotations(command)
                app.command(name, hidden=name == "run")(command)
        elif first in _HELP:
            app.command(name, help=line)(listed)
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    convert_lazily(group, _HELP_NAMES)
    return group


def _command(name: str) -> Any:
    """Import the definition of a command or of a group of them."""
    module, _, attribute = _PLACES[name][0].partition(":")
    return getattr(import_module(module), attribute) if module else extra(f"agentcli {name}")


def _show_help(words: list[str]) -> None:
    """Print the help of a command. Raises UsageError for an unknown one."""
    if words[0] not in _PLACES:  # the parser would mistake it for a prompt and print the prompt's help
        raise UsageError(f"Unknown command {words[0]}. See `agentcli --help`.")
    invoke([*words, "--help"])


def _main(version: Annotated[bool, typer.Option("-V", "--version", help="print the version")] = False) -> None:
    if version:
        print(f"agentcli {__version__}", file=sys.stdout)
        raise typer.Exit


def reduced(group: typer.Typer, arguments: list[str]) -> typer.Typer:
    """Return the group with only the command in its first argument.

    Without a first argument, return it with all commands, and with parameters only for those in the arguments.
    """
    made = copy(group)
    commands = {}
    for command in group.registered_commands:
        assert command.callback is not None
        commands[command.name or get_command_name(command.callback.__name__)] = command
    if arguments and arguments[0] in commands:
        commands = {arguments[0]: commands[arguments[0]]}
    made.registered_commands = []
    for name, command in commands.items():
        if name in arguments:
            evaluate_annotations(command.callback)
        else:
            command = copy(command)
            command.name, command.help, command.callback = name, getdoc(command.callback), listed
        made.registered_commands.append(command)
    return made


def evaluate_annotations(command: Any) -> None:
    """Evaluate a command's annotations, which are texts: typer would do so twice."""
    command.__annotations__ = hints_of(command)


def listed() -> None:
    """Do nothing: placeholder for a command in the list that the arguments do not contain."""


evaluate_annotations(listed)


def convert_lazily(command: TyperGroup | TyperCommand, help_option_names: list[str]) -> None:
    """Make typer convert only values of this command and its subcommands that do not have the declared type yet."""
    for inner in command.commands.values() if isinstance(command, TyperGroup) else ():
        assert isinstance(inner, TyperGroup | TyperCommand)
        convert_lazily(inner, help_option_names)
    # Typer creates the help option late, and caches it.
    asks_help = command.get_help_option(command.context_class(command, help_option_names=help_option_names))
    for parameter in (*command.params, asks_help):
        if getattr(parameter, "_runtime_param", parameter) is None and hasattr(parameter, "type_descriptor"):
            parameter._runtime_param = _Lazy(parameter.type_descriptor)  # type: ignore[union-attr]


class _Lazy:
    """Replaces typer's converter of a parameter; creates it on demand."""

    def __init__(self, descriptor: Any) -> None:
        self._descriptor = descriptor
        self._own: Any = None

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Convert the value to the command's type. Raises BadParameter."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if self._descriptor.annotation == list[str] and isinstance(value, list | tuple):
            return list(value)
        if self._needs_none(value):
            return value
        if self._own is None:
            from typer._coercion import build_runtime_param

            self._own = build_runtime_param(self._descriptor)
        return self._own.coerce(value, param=param, ctx=ctx)

    def _needs_none(self, value: Any) -> bool:
        annotation, info = self._descriptor.annotation, self._descriptor.parameter_info
        if isinstance(kind := read(annotation), Choice):
            return value in kind.values and info.parser is None
        plain = annotation in (str, bool, int, float) or (isinstance(annotation, type) and issubclass(annotation, Enum))
        return plain and type(value) is annotation and info.parser is None and not self._descriptor.is_ranged
