"""`agentcli hooks`: list the hooks in force, and try them on an event."""

from __future__ import annotations

import json as json_module
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import UsageError
from agentcli.core.text.words import did_you_mean, near_names
from agentcli.features.hooks.files import EVENTS, configured
from agentcli.program.command_line import program_of
from agentcli.program.command_line.flags import InFolder, Json, taking
from agentcli.program.command_line.output import say, say_json
from agentcli.program.command_line.printing import Column, print_table
from agentcli.program.options import Options

if TYPE_CHECKING:
    from agentcli.agent.hooks import Ran
    from agentcli.core.message import ToolCall
    from agentcli.program.program import Program

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
    import asyncio

    from agentcli.core.aliases import known_as
    from agentcli.core.message import ToolCall
    from agentcli.features.hooks.verdict import combined

    if event not in EVENTS:
        near = did_you_mean(near_names(event, EVENTS)) or f" There are: {', '.join(EVENTS)}."
        raise UsageError(f"Unknown event {event!r}.{near}")
    program, tool = program_of(Options(cwd=asked.cwd, trust=asked.trust)), asked.tool
    call = ToolCall("test", known_as(tool) or tool, _object(asked.given, "--input")) if tool else None
    ran = asyncio.run(_ran(program, event, asked.matched, call, _object(asked.fields, "--fields")))
    whole = combined([each.verdict for each in ran])
    if asked.json:
        say_json(
            {"event": event, "answer": whole.answer, "reason": whole.reason, "hooks": [_as_json(each) for each in ran]}
        )
    else:
        for each in ran:
            _say(each)
        answer = ": ".join(filter(None, [whole.answer or "no objection", whole.reason]))
        say(f"Verdict: {answer}" if ran else "No hook matches.")
    if whole.blocks:
        raise typer.Exit(1)


async def _ran(
    program: Program, event: str, subject: str, call: ToolCall | None, fields: Mapping[str, Any]
) -> list[Ran]:
    from agentcli.features.hooks.loaded import loaded
    from agentcli.features.hooks.session_hooks import HookPlace, SessionHooks
    from agentcli.features.hooks.settings import HookSettings
    from agentcli.sessions.in_memory import MemorySession

    place = HookPlace(
        MemorySession(),
        program.cwd,
        program.selection.mode,
        lambda: "",
        program.traits,
        program.workspace_policy.workspace(),
    )
    hooks = SessionHooks((*configured(program.config[HookSettings]), *loaded(program).hooks), place)
    try:
        return [*await hooks.test(event, subject, call, fields)]
    finally:
        hooks.close()


def _say(ran: Ran) -> None:
    from agentcli.features.hooks.commands import result

    say(f"{ran.hook.name} ({ran.hook.source}, {ran.seconds:.2f} s): {result(ran)}")
    for name in ("context", "message"):
        if text := getattr(ran.verdict, name):
            say(f"  {name}: {text}")
    if ran.verdict.input is not None:
        say(f"  input: {json_module.dumps(dict(ran.verdict.input))}")


def _as_json(ran: Ran) -> dict[str, Any]:
    verdict = ran.verdict
    texts = {name: getattr(verdict, name) for name in ("answer", "reason", "context", "message", "failed")}
    return {"name": ran.hook.name, "source": ran.hook.source, "command": ran.hook.line, **texts, "input": verdict.input}


def _object(text: str, option: str) -> dict[str, Any]:
    try:
        value = json_module.loads(text)
    except ValueError as error:
        raise UsageError(f"{option} is not valid JSON: {error}.") from error
    if not isinstance(value, dict):
        raise UsageError(f"{option} is not a JSON object.")
    return value
