"""The commands and their options, as typer sees them."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import getdoc
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from agentcli import __version__
from agentcli.app.options import LAST, Options
from agentcli.cli.arguments import prepared
from agentcli.cli.flags import (
    AddDir,
    AgentName,
    Allow,
    AppendPrompt,
    AppendPromptFile,
    Cwd,
    Deny,
    Fork,
    Format,
    Handoff,
    MaxCost,
    MaxTime,
    MaxTokens,
    MaxTurns,
    McpConfig,
    Mode,
    Model,
    NoSession,
    Output,
    Plain,
    Print,
    PromptText,
    SessionId,
    Set,
    SystemPrompt,
    SystemPromptFile,
    Trust,
    by_option,
    taking,
)
from agentcli.cli.lazy_typer import convert_lazily, listed, reduced
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import UsageError

_HELP_NAMES = ["-h", "--help"]
_HELP = frozenset(_HELP_NAMES)


class _Agentcli(TyperGroup):
    """The program's own help: it names the options of a session, which come without a command."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """A prompt may stand where a command does."""
        return ["[OPTIONS] [PROMPT]", "|", self.subcommand_metavar]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The options of a session, then the commands."""
        self.commands["run"].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


@dataclass(frozen=True, slots=True)
class SessionFlags:
    """The flags that every session takes."""

    prompt_flag: PromptText = None
    print: Print = False
    model: Model = ""
    mode: Mode = ""
    allow: Allow = None
    deny: Deny = None
    cwd: Cwd = ""
    add_dir: AddDir = None
    mcp_config: McpConfig = None
    output_format: Output = Format.text
    max_turns: MaxTurns = None
    max_cost: MaxCost = None
    max_tokens: MaxTokens = None
    max_time: MaxTime = None
    system_prompt: SystemPrompt = None
    system_prompt_file: SystemPromptFile = None
    append_system_prompt: AppendPrompt = ""
    append_system_prompt_file: AppendPromptFile = None
    agent: AgentName = ""
    settings: Set = None
    no_session: NoSession = False
    session_id: SessionId = ""
    fork: Fork = False
    handoff: Handoff = None
    trust: Trust = False
    plain: Plain = False


def _options(flags: SessionFlags, prompt: str | None, session: str | None) -> Options:
    """The flags of a run as one value; files named by flags are read here."""
    given = by_option(flags)
    message = given.pop("prompt_flag")
    if message is not None and prompt is not None:
        raise UsageError(
            f"There are two prompts, {message!r} and {prompt!r}. Put quotes around a prompt of several words."
        )
    for name in ("system_prompt", "append_system_prompt"):
        file = given.pop(f"{name}_file")
        given[name] = _read(file) if file else given[name]
    given["print"] = given["print"] or message is not None
    given["output_format"] = given["output_format"].value
    if given["fork"] and session is None:
        raise UsageError(
            "--fork needs a session to copy. "
            "Name one with `agentcli resume SESSION --fork`, or use the newest with `agentcli -c --fork`."
        )
    if given["session_id"] and session is not None:
        raise UsageError("--session-id is for a new session; to go on with one: agentcli resume ID.")
    if given["handoff"] is not None and (session is None or not given["print"]):
        raise UsageError(
            "--handoff needs a session and -p: agentcli resume SESSION --handoff TEXT -p PROMPT. "
            "In the terminal, use /handoff."
        )
    return Options(prompt=message if message is not None else prompt, session=session, **given)


@taking(SessionFlags, "flags")
def run(
    flags: SessionFlags,
    prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help="first message")] = None,
    go_on: Annotated[bool, typer.Option("-c", "--continue", help="resume the newest session of this project")] = False,
) -> Options:
    """Open a session in the current folder, or answer one prompt with -p."""
    return _options(flags, prompt, LAST if go_on else None)


@taking(SessionFlags, "flags")
def resume(
    flags: SessionFlags,
    session: Annotated[str | None, typer.Argument(metavar="SESSION", help="id, unique prefix, or name")] = None,
    prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help="next message")] = None,
    last: Annotated[bool, typer.Option("--last", help="resume the newest session of this project")] = False,
) -> Options:
    """Resume a session."""
    if last and session is not None:
        if prompt is not None or len(session.split()) == 1:
            raise UsageError(
                f"Which session, the newest or {session!r}? Leave out --last or {session!r}. "
                f'To send a message to the newest one: agentcli -c "{session}".'
            )
        prompt = session
    return _options(flags, prompt, LAST if last else session or "")


def completion(shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish")]) -> None:
    """Print a completion script for your shell.

    It completes commands, options, sessions, models and settings.
    """
    # It is answered before this parser is loaded, and stands here for the help and for what is mistyped.


def demo(
    prompt_flag: PromptText = None,
    print: Print = False,
    output_format: Output = Format.text,
    plain: Plain = False,
) -> Options:
    """Play a session with a scripted model; needs no key.

    It works on a temporary copy of a small broken project.
    """
    return Options(print=print or prompt_flag is not None, output_format=output_format.value, plain=plain, demo=True)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Can't read {path}: {error}") from error


def invoke(arguments: list[str]) -> Options | int:
    """Parse the command line: the options of a run, or the exit code of any other command, which has run then.

    Raises UsageError for what makes no sense.
    """
    arguments = prepared(arguments, {*_OWN, *_PLACES})
    group = _group(arguments)
    try:
        if _HELP.intersection(arguments):
            return _helped(group, arguments)
        asked = group.main(arguments, "agentcli", standalone_mode=False)
        return asked if isinstance(asked, Options) else int(asked or 0)
    except typer.Exit as stop:
        return stop.exit_code
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except typer.TyperException as error:
        raise UsageError(_complaint(error)) from error


def _helped(group: TyperGroup, arguments: list[str]) -> Options | int:
    """Run a command line that asks for help; on a terminal the help has colours."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        asked = group.main(arguments, "agentcli", standalone_mode=False)
    # An argument's metavar says what it is; typer puts its type beside it.
    plain = _TYPES.sub(lambda found: " " * len(found[0]), text.getvalue())
    shown = _RANGE.sub("", plain).replace("Show this message and exit.", "show this help")
    if sys.stdout.isatty():
        from agentcli.cli.printing import print_help

        print_help(shown)
    else:
        print(shown, end="")
    return asked if isinstance(asked, Options) else int(asked or 0)


_TYPES = re.compile(r"(?<=\S) <(?:str|list\[str\])>(?=  |$)", re.MULTILINE)
_RANGE = re.compile(r"\s+\[x>=0\]")


def _complaint(error: typer.TyperException) -> str:
    """The message of a parser error, with the names of the option and of the command whose help to read."""
    context: Any = getattr(error, "ctx", None)
    command = context.command_path.removesuffix(" run") if context else "agentcli"
    named = not context or context.invoked_subcommand or error.format_message().startswith("No such")
    if not named and isinstance(context.command, TyperGroup):
        message = f"`{command}` needs a command: {', '.join(context.command.commands)}."
    else:
        message = error.format_message().replace("Value error, ", "")
    if command == "agentcli" and message.startswith("Got unexpected extra argument"):
        message += ": put quotes around a prompt of several words."
    message = message.removesuffix("?.") + "?" * message.endswith("?.")
    return f"{message}{'' if message.endswith(('.', '?')) else '.'} See `{command} --help`."


def whole_group() -> TyperGroup:
    """The command line with all that belongs to it."""
    return _group(["--help"], whole=True)


_PLACES: Mapping[str, tuple[str, str]] = {
    "models": ("agentcli.cli.models:list_models", "List models with context window and price."),
    "tools": ("agentcli.cli.about:list_tools", "List the tools the model can use."),
    "doctor": ("agentcli.cli.about:doctor", "Check keys, endpoints, folders, tools and sessions."),
    "stats": ("agentcli.cli.about:stats", "Show tokens and cost per model and per day."),
    "help": ("agentcli.cli.help:help_command", "Read the manual, by topic or with --search."),
    "sessions": ("agentcli.cli.sessions:app", "List, search, fork, export and import sessions."),
    "context": ("agentcli.cli.context:app", "Inspect and compare the use of the context window."),
    "permissions": ("agentcli.cli.permissions:app", "Show which calls run without asking."),
    "hooks": ("agentcli.cli.extensions.hooks:app", "List hooks, and test them with an event."),
    "mcp": ("agentcli.cli.extensions.mcp:app", "List, add, try and remove MCP servers, and log in to them."),
    "auth": ("agentcli.cli.auth:app", "Store, list and remove API keys."),
    "batch": ("agentcli.cli.batch:app", "Run many tasks, each in its own worktree."),
    "acp": ("agentcli.cli.extensions.acp:acp", "Work for an editor, over the Agent Client Protocol."),
    "import-config": (
        "agentcli.cli.extensions.import_config:import_config",
        "Take over servers, hooks, rules and instructions of other programs.",
    ),
    "skills": ("agentcli.cli.extensions.skills:skills", "List and check skills."),
    "agents": ("agentcli.cli.extensions.skills:agents", "List the agents that files define."),
    "config": ("agentcli.cli.about:config", "Show and change settings."),
    "plugins": ("agentcli.cli.extensions.plugins:app", "Add and remove plugins."),
}
"""Groups of commands and single ones: the place of the definition, which is imported only if the command line names it, and the line in the help."""


_OWN: Mapping[str, Callable[..., Any]] = {"run": run, "resume": resume, "completion": completion, "demo": demo}
"""Commands that are defined here."""


def _group(arguments: list[str], *, whole: bool = False) -> TyperGroup:
    """The command line, as far as these arguments need it: the command that they name, or the list of all where they ask for help."""
    app = typer.Typer(
        cls=_Agentcli,
        name="agentcli",
        help="A coding agent for the terminal. Without a command it opens a session in the current folder; PROMPT is the first message.",
        epilog="`agentcli COMMAND --help` for details, `agentcli help` for the manual, --version for the version.",
        add_completion=False,
        no_args_is_help=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": _HELP_NAMES, "max_content_width": 100},
    )
    app.callback(invoke_without_command=True)(_main)
    first = arguments[0] if arguments else ""
    for name, own in _OWN.items():
        if whole or name == first or (name == "run" and first in _HELP):
            app.command(name, hidden=name == "run")(own)
        elif first in _HELP:
            app.command(name, help=getdoc(own))(listed)
    for name, (place, line) in _PLACES.items():
        if whole or name == first:
            module, _, attribute = place.partition(":")
            command = getattr(import_module(module), attribute)
            if name == "help":
                command = command(lambda words: invoke([*words, "--help"]), whole_group)
            if isinstance(command, typer.Typer):
                app.add_typer(command if whole else reduced(command, arguments[1:]), name=name, help=line)
            else:
                app.command(name)(command)
        elif first in _HELP:
            app.command(name, help=line)(listed)
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    convert_lazily(group, _HELP_NAMES)
    return group


def _main(version: Annotated[bool, typer.Option("-V", "--version", help="print the version")] = False) -> None:
    if version:
        print(f"agentcli {__version__}", file=sys.stdout)
        raise typer.Exit
