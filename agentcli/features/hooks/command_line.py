"""`agentcli hooks`: list the hooks in force, and try them on an event."""

from __future__ import annotations

import json as json_module
from typing import Annotated, Any

import typer

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import UsageError
from agentcli.core.text.words import one_of
from agentcli.features.hooks.files import EVENTS
from agentcli.program.command_line import program_of
from agentcli.program.command_line.flags import InFolder, Json, taking
from agentcli.program.command_line.output import say, say_json
from agentcli.program.command_line.printing import Column, print_table
from agentcli.program.options import Options

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
Trust = Annotated[bool, typer.Option("--trust", help="trust this folder and approve its hooks, for this run")]


@app.command("list")
def list_hooks(cwd: InFolder = "", trust: Trust = False, json: Json = False) -> None:
    """List the hooks with their files."""
    from agentcli.features.hooks.commands import NO_HOOKS, listed

    hooks, notes = listed(program_of(Options(cwd=cwd, trust=trust)))
    rows = [[one.hook.event, one.hook.matcher or "*", one.hook.line, one.hook.source, one.state] for one in hooks]
    if json:
        names = ("event", "matcher", "command", "source", "state")
        say_json({"hooks": [dict(zip(names, row, strict=True)) for row in rows], "notes": list(notes)})
        return
    if rows:
        columns = (
            Column("event", style="bold"),
            Column("matcher"),
            Column("command", wraps=True),
            Column("from"),
            Column("state"),
        )
        print_table(columns, rows)
    for note in (*notes, *([] if rows else [NO_HOOKS])):
        say(note)


@dataclass(frozen=True, slots=True)
class TryFlags:
    """The flags of `agentcli hooks test`."""

    tool: Annotated[str, typer.Option(metavar="NAME", help="the tool that is called: bash or Bash")] = ""
    given: Annotated[str, typer.Option("--input", metavar="JSON", help="the tool's input")] = "{}"
    fields: Annotated[str, typer.Option("--fields", metavar="JSON", help="more fields of the event")] = "{}"
    matched: Annotated[
        str,
        typer.Option("--subject", metavar="TEXT", help="for events without a tool: what matchers are compared with"),
    ] = ""
    cwd: InFolder = ""
    trust: Trust = False
    json: Json = False


@app.command("test")
@taking(TryFlags)
def try_hooks(
    event: Annotated[str, typer.Argument(metavar="EVENT", help=f"one of {', '.join(EVENTS)}")], asked: TryFlags
) -> None:
    """Run the hooks of an event and print their output.

    The hooks really run; no tool does. Exit code 1 if they block.
    """
    from agentcli.features.hooks import trying

    if event not in EVENTS:
        raise UsageError(f"Unknown event {event!r}.{one_of(event, EVENTS)}")
    program = program_of(Options(cwd=asked.cwd, trust=asked.trust))
    call = trying.call_of(asked.tool, _object(asked.given, "--input")) if asked.tool else None
    ran = trying.run_hooks(program, event, asked.matched, call, _object(asked.fields, "--fields"))
    if asked.json:
        say_json(trying.as_json(event, ran))
    else:
        trying.say_all(ran)
    if trying.verdict_of(ran).blocks:
        raise typer.Exit(1)


def _object(text: str, option: str) -> dict[str, Any]:
    try:
        value = json_module.loads(text)
    except ValueError as error:
        raise UsageError(f"{option} is not valid JSON: {error}.") from error
    if not isinstance(value, dict):
        raise UsageError(f"{option} is not a JSON object.")
    return value
