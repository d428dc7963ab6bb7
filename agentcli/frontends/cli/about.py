"""`agentcli tools`, `config`, `doctor`, `update`: the program about itself."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentcli import __version__
from agentcli.core.errors import UsageError
from agentcli.core.sanitise import safe, safe_line
from agentcli.core.text.words import plural
from agentcli.frontends.opening import program_of
from agentcli.program.command_line.flags import InFolder, Json, Set, Trust
from agentcli.program.command_line.output import confirmed, say, say_json
from agentcli.program.command_line.printing import Column, console, on_terminal, print_table
from agentcli.program.command_line.progress import Progress
from agentcli.program.extras import extra
from agentcli.program.options import Options

if TYPE_CHECKING:
    from agentcli.program.doctor import Finding
    from agentcli.program.live_check import Answer
    from agentcli.program.program import Program

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
        str, typer.Option("--from", metavar="claude", help="only list what works differently than in Claude Code")
    ] = "",
    cwd: InFolder = "",
) -> None:
    """Check keys, endpoints, folders, tools and sessions."""
    if coming_from:
        _say_differences(coming_from, cwd, json)
        return
    from agentcli.program.doctor import diagnose

    with Progress("Checking records") as progress:
        findings = diagnose(program_of, Options(cwd=cwd), live, progress.of)
    readable = all(finding.ok for finding in findings if finding.what == "configuration" and finding.needed)
    answers = _asked_live(program_of(Options(cwd=cwd)), yes) if live and readable else []
    if json:
        entries = [{"what": f.what, "ok": f.ok, "detail": f.detail} for f in findings]
        say_json([*entries, *map(_live_json, answers)])
    else:
        for finding in findings:
            _say_finding(finding)
        _say_live(answers)
    if not all(finding.ok for finding in findings if finding.needed):
        raise typer.Exit(1)


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


def _say_differences(name: str, cwd: str, json: bool) -> None:
    """Print what works differently here from another program's files.

    The folder counts as trusted for it; nothing is started.
    """
    if name != "claude":
        raise UsageError(f"--from takes claude, not {name!r}.")
    found = extra("differences from claude")(program_of(Options(cwd=cwd, trust=True)))
    if json:
        entries = [{"thing": one.thing, "detail": one.detail} for one in found.differences]
        say_json({"differences": entries, "same": found.same, "importable": found.importable})
        return
    for one in found.differences:
        say(str(one))
    say(f"{plural(found.same, 'thing')} {'behaves' if found.same == 1 else 'behave'} the same.")
    if found.importable:
        say(f"{plural(found.importable, 'entry')} of ~/.claude: only after `agentcli import-config claude`.")


_VERDICTS = {"ok": "green", "warn": "yellow", "FAIL": "bold red"}


def _say_finding(finding: Finding) -> None:
    if not on_terminal(sys.stdout):
        say(finding.line)
        return
    from rich.table import Table
    from rich.text import Text

    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_column(width=5)
    row.add_column(overflow="fold")
    verdict, text = finding.verdict, Text.assemble((safe(finding.what), "bold"), f"  {safe(finding.detail)}")
    row.add_row(Text(verdict, style=_VERDICTS[verdict]), text)
    console().print(row)


def _asked_live(program: Program, agreed: bool) -> Sequence[Answer]:
    """Send one small real request to each provider after the person agrees, and return the answers; none without
    agreement.
    """
    from agentcli.program import live_check as live

    probes = live.probes(program)
    if not probes:
        return []
    print(live.offer(probes), file=sys.stderr)
    if not agreed and not (sys.stdin.isatty() and sys.stderr.isatty()):
        print("Not sent: no terminal to ask on. Use --yes to send them.", file=sys.stderr)
        return []
    return live.ask(program, probes) if agreed or confirmed("Send them?") else []


def _say_live(answers: Sequence[Answer]) -> None:
    from agentcli.program.live_check import CAPABILITIES
    from agentcli.providers.capabilities import SCHEMA

    heads = ["model", "seconds", *(name.removeprefix(SCHEMA).replace("_", " ") for name in CAPABILITIES)]
    rows = [[one.model, f"{one.seconds:.1f}", *one.capabilities] for one in answers if not one.error]
    if rows:
        say()
        print_table([Column(head, style="bold" * (n == 0)) for n, head in enumerate(heads)], rows)
    for one in answers:
        if one.error:
            say(f"FAIL  request to {one.model}: {one.error}")


def _live_json(answer: Answer) -> dict[str, Any]:
    from agentcli.program.live_check import CAPABILITIES

    capabilities = dict(zip(CAPABILITIES, answer.capabilities, strict=False))
    return {
        "what": f"request to {answer.model}",
        "ok": not answer.error,
        "detail": answer.error,
        "capabilities": capabilities,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return dict(value) if hasattr(value, "items") else value
