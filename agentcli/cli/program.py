"""`agentcli models`, `tools`, `config`, `doctor`, `stats`: the program about itself."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from agentcli.app import Program
from agentcli.cli.tables import say, say_json, table
from agentcli.options import Options

Json = Annotated[bool, typer.Option("--json", help="print JSON")]

config = typer.Typer(help="Settings.", no_args_is_help=True, rich_markup_mode=None)


def add_to(app: typer.Typer) -> None:
    """Hang these commands into the program's."""
    app.command()(models)
    app.command("tools")(list_tools)
    app.command()(doctor)
    app.command()(stats)
    app.add_typer(config, name="config")


def models(json: Json = False) -> None:
    """The models that are known: windows, output limits, prices in USD per million tokens."""
    from agentcli.providers import catalog

    known = catalog.models()
    if json:
        say_json([_model(spec) for spec in known])
        return
    rows = [
        [
            m.name,
            m.window,
            m.max_output,
            *((m.prices.input, m.prices.output, m.prices.cache_read) if m.prices else ("?",) * 3),
        ]
        for m in known
    ]
    say(table(["model", "window", "output", "in $", "out $", "cached $"], rows))
    say("\nAliases: " + ", ".join(f"{short} = {name}" for short, name in catalog.ALIASES.items()))


def _model(spec: Any) -> dict[str, Any]:
    import dataclasses

    return {"name": spec.name, **dataclasses.asdict(spec)}


def list_tools(json: Json = False) -> None:
    """The tools that the model sees."""
    from agentcli.tools.table import tools

    known = tools()
    if json:
        say_json(
            [
                {"name": t.name, "description": t.schema.description, "parameters": dict(t.schema.parameters)}
                for t in known
            ]
        )
        return
    rows = [[t.name, t.effect, t.schema.description.splitlines()[0]] for t in known]
    say(table(["tool", "effect", "what it does"], rows))


@config.command("show")
def show(
    origin: Annotated[bool, typer.Option("--origin", help="say where each value came from")] = False, json: Json = False
) -> None:
    """Every setting with its value in force."""
    settings = Program(Options()).config
    values = {key: _plain(value) for key, value in settings.items()}
    if json:
        from_where = {
            key: {"value": value, "origin": settings.origins.get(key, "built-in")} for key, value in values.items()
        }
        say_json(from_where if origin else values)
        return
    for key, value in values.items():
        say(f"{key} = {value!r}" + (f"    # {settings.origins.get(key, 'built-in')}" if origin else ""))


@config.command("get")
def get(key: str) -> None:
    """One setting."""
    value = _plain(Program(Options()).config.get(key))
    if isinstance(value, list | dict | bool):
        say_json(value)
    else:
        say(str(value))


@config.command("set")
def set_value(key: str, value: str) -> None:
    """Write a setting to your config.toml; comments in it stay."""
    from agentcli.config_file import set_key

    program = Program(Options(settings=(f"{key}={value}",)))
    program.config.get(key)
    set_key(program.places.config_file, key, program.config.get(key))
    say(f"{key} = {_plain(program.config.get(key))!r} in {program.places.config_file}")


@config.command("path")
def path() -> None:
    """Where your config.toml is, or would be."""
    print(Program(Options()).places.config_file)


def doctor(json: Json = False) -> None:
    """Look at everything that agentcli needs and say what is missing."""
    from agentcli.doctor import examine

    findings = examine(Program(Options()))
    if json:
        say_json([{"what": f.what, "ok": f.ok, "detail": f.detail} for f in findings])
    else:
        for finding in findings:
            say(f"{'ok  ' if finding.ok else 'look'}  {finding.what}: {finding.detail}")
    if not all(finding.ok for finding in findings if finding.needed):
        raise typer.Exit(1)


def stats(json: Json = False, all: Annotated[bool, typer.Option("--all", help="all projects")] = False) -> None:
    """Tokens and cost per model and per day."""
    from agentcli.stats import collect, lines

    program = Program(Options())
    found = collect(program.store.list(None if all else program.project))
    if json:
        say_json(found)
    else:
        say("\n".join(lines(found)))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return dict(value) if hasattr(value, "items") else value
