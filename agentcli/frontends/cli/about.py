"""`agentcli tools`, `config`, `doctor`, `update`: the program about itself."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from agentcli import __version__
from agentcli.core.sanitise import safe, safe_line
from agentcli.frontends.opening import program_of
from agentcli.program.command_line.flags import InFolder, Json, Set, Trust
from agentcli.program.command_line.output import confirmed, say, say_json
from agentcli.program.command_line.printing import Column, console, on_terminal, print_table
from agentcli.program.options import Options

Key = Annotated[str, typer.Argument(metavar="KEY", help="such as context.policy")]

config = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def list_tools(
    json: Json = False,
    model: Annotated[str, typer.Option("-m", "--model", metavar="MODEL", help="list what this model is offered")] = "",
) -> None:
    """List the tools the model can use, or with --model the tools that it is offered.

    With a model, the list shows each tool's form and tokens.
    """
    from agentcli.frontends.features import FEATURES
    from agentcli.program.feature import tools_of

    known = tools_of(FEATURES)
    if model:
        _list_offered(model, json)
        return
    if json:
        say_json(
            [
                {"name": t.name, "description": t.schema.description, "parameters": dict(t.schema.parameters)}
                for t in known
            ]
        )
        return
    columns = (Column("tool", style="bold"), Column("effect"), Column("description", wraps=True))
    print_table(columns, [[t.name, t.traits.effect, _first_sentence(t.schema.description)] for t in known])


def _list_offered(name: str, json: bool) -> None:
    """List the tools that a session with a model begins with."""
    from agentcli.agent.setup import fitting
    from agentcli.context.tokens.estimators import Chars4
    from agentcli.core.codec.encode import dumps

    program = program_of(Options())
    model, tokens_of = program.models.spec(name), Chars4().size
    rows: list[tuple[str, str, int]] = []
    for tool in fitting(program.tools_with(servers=False), model, program.agent_settings):
        free = bool(tool.schema.grammar) and model.writes_freely
        form = "text by a grammar" if free else "JSON"
        left_out = "parameters" if free else "grammar"
        sent = {key: value for key, value in tool.schema.raw.items() if key != left_out}
        rows.append((tool.name, form, round(tokens_of(dumps(sent)))))
    if json:
        say_json([{"name": tool, "form": form, "tokens": tokens} for tool, form, tokens in rows])
        return
    columns = (Column("tool", style="bold"), Column("form"), Column("tokens", numeric=True))
    print_table(columns, [[tool, form, f"{tokens:,}"] for tool, form, tokens in rows])
    say(f"{model.name} ({model.family.name}): {len(rows)} tools, about {sum(row[2] for row in rows):,} tokens.")


def _first_sentence(text: str) -> str:
    """Return the first sentence of a description, which is written for the model."""
    return " ".join(text.split("\n\n")[0].split()).partition(". ")[0].rstrip(".") + "."


@config.command("show")
def show(
    origin: Annotated[bool, typer.Option("--origin", help="add where each value comes from")] = False,
    json: Json = False,
    settings_given: Set = None,
    trust: Trust = False,
    cwd: InFolder = "",
) -> None:
    """List all settings with their values, as TOML."""
    from agentcli.program.config.toml import toml_key, toml_value

    settings = program_of(Options(cwd=cwd, trust=trust, settings=tuple(settings_given or ()))).config
    for warning in settings.warnings:
        print(f"agentcli: {safe(warning)}", file=sys.stderr)
    values = {key: _plain(value) for key, value in settings.items()}
    if json:
        from_where = {
            key: {"value": value, "origin": settings.origins.get(key, "built-in")} for key, value in values.items()
        }
        say_json(from_where if origin else values)
        return
    say_toml(
        f"{toml_key(*settings.schema.steps(key))} = {toml_value(value)}"
        + (f"    # {settings.origins.get(key, 'built-in')}" if origin else "")
        for key, value in values.items()
    )


def say_toml(lines: Iterable[str]) -> None:
    """Print lines of TOML, on a terminal in colours."""
    text = safe("\n".join(lines))
    if not on_terminal(sys.stdout):
        print(text)
        return
    from rich.syntax import Syntax

    screen = console()
    screen.print(Syntax(text, "toml", theme="ansi_dark", background_color="default", word_wrap=True))


@config.command("get")
def get(key: Key, settings_given: Set = None, trust: Trust = False, cwd: InFolder = "") -> None:
    """Print one setting."""
    asked = Options(cwd=cwd, trust=trust, settings=tuple(settings_given or ()))
    value = _plain(program_of(asked).config.get(key))
    if isinstance(value, list | dict | bool):
        say_json(value)
    else:
        say(str(value))


@config.command("set")
def set_value(key: Key, value: Annotated[str, typer.Argument(metavar="VALUE")]) -> None:
    """Change a setting in your config.toml.

    Comments in the file stay.
    """
    from agentcli.frontends.sections import SCHEMA
    from agentcli.program.config import parsed
    from agentcli.program.config.toml import set_key, toml_value
    from agentcli.system.paths import app_dirs

    # Read nothing else, so that this command can correct an invalid value.
    wanted, file = parsed(SCHEMA, key, value), app_dirs().config_file
    set_key(file, SCHEMA.steps(key), wanted)
    say(f"Set {key} = {toml_value(_plain(wanted))} in {file}.")


@config.command("path")
def path() -> None:
    """Print the path of your config.toml."""
    from agentcli.system.paths import app_dirs

    print(app_dirs().config_file)


def doctor(
    json: Json = False,
    live: Annotated[
        bool, typer.Option("--live", help="ask each endpoint, and send one small paid request each if you agree")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="with --live: send the requests without asking")] = False,
    coming_from: Annotated[
        str,
        typer.Option(
            "--from", metavar="AGENT", help="only list what works differently than in this agent, such as claude or pi"
        ),
    ] = "",
    cwd: InFolder = "",
) -> None:
    """Check keys, endpoints, folders, tools and sessions."""
    from agentcli.frontends.cli import diagnosis

    diagnosis.doctor(json, live, yes, coming_from, cwd)


def update(yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False) -> int:
    """Update agentcli with the tool that installed it, after asking."""
    from agentcli.program.installation import installed, run

    found = installed()
    say(f"agentcli {__version__}, installed by {safe_line(found.how)}")
    if not found.upgrade:
        say("Install a newer version the same way. Settings, keys and sessions stay.")
        return 1
    say("To update it:")
    for command in found.upgrade:
        say(f"  {safe_line(shlex.join(command))}")
    return run(found.upgrade) if yes or confirmed("Run this?") else 1


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return dict(value) if hasattr(value, "items") else value
