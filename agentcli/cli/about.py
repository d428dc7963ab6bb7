"""`agentcli models`, `tools`, `config`, `doctor`, `stats`: the program about itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentcli.app.options import Options
from agentcli.app.program import Program
from agentcli.cli.output import say, say_json, table
from agentcli.core.sanitise import safe
from agentcli.paths import app_dirs

if TYPE_CHECKING:
    from agentcli.app.live import Answer
    from agentcli.core.model import ModelSpec

Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Cwd = Annotated[str, typer.Option("-C", "--cwd", metavar="DIR", help="as if in this folder")]
Trust = Annotated[bool, typer.Option("--trust", help="as if this folder were trusted")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="as if this were given; repeatable")]
Key = Annotated[str, typer.Argument(metavar="KEY", help="such as context.policy")]

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
    from agentcli.providers.capabilities import gaps

    program = Program(Options())
    listed = catalog.models()
    configured = (name for name in program.config.models if not any(name in (m.name, m.id) for m in listed))
    known = [program.models.spec(name) for name in (*(m.name for m in listed), *configured)]
    if json:
        lacking = {name: sorted(learnt.lacking) for name, learnt in program.memory.all().items()}
        say_json([{**_model(spec), "lacking": lacking.get(spec.name, [])} for spec in known])
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
    for line in (line for model in known for line in _dates(model)):
        say(line)
    for name, learnt in sorted(program.memory.all().items()):
        if missing := gaps(learnt):
            say(f"{name} {missing}")
    say("\nAliases: " + ", ".join(f"{short} = {name}" for short, name in catalog.ALIASES.items()))


def _dates(model: ModelSpec) -> Iterator[str]:
    """Lines about the changes that lie ahead of a model."""
    for change in model.price_changes:
        prices = change.prices
        yield f"{model.name} from {change.since}: in ${prices.input:g}, out ${prices.output:g}, cached ${prices.cache_read:g}"
    if model.retires:
        yield f"{model.name} ends on {model.retires}" + (f"; successor {model.successor}" if model.successor else "")


def _model(spec: Any) -> dict[str, Any]:
    import dataclasses

    return {"name": spec.name, **dataclasses.asdict(spec)}


def list_tools(json: Json = False) -> None:
    """The tools that the model sees."""
    from agentcli.tools.registry import tools

    known = tools()
    if json:
        say_json(
            [
                {"name": t.name, "description": t.schema.description, "parameters": dict(t.schema.parameters)}
                for t in known
            ]
        )
        return
    rows = [[t.name, t.traits.effect, t.schema.description.splitlines()[0]] for t in known]
    say(table(["tool", "effect", "what it does"], rows))


@config.command("show")
def show(
    origin: Annotated[bool, typer.Option("--origin", help="say where each value came from")] = False,
    json: Json = False,
    settings_given: Set = None,
    trust: Trust = False,
    cwd: Cwd = "",
) -> None:
    """Every setting with its value in force."""
    settings = Program(Options(cwd=cwd, trust=trust, settings=tuple(settings_given or ()))).config
    for warning in settings.warnings:
        print(f"agentcli: {safe(warning)}", file=sys.stderr)
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
def get(key: Key, settings_given: Set = None, trust: Trust = False, cwd: Cwd = "") -> None:
    """One setting."""
    asked = Options(cwd=cwd, trust=trust, settings=tuple(settings_given or ()))
    value = _plain(Program(asked).config.get(key))
    if isinstance(value, list | dict | bool):
        say_json(value)
    else:
        say(str(value))


@config.command("set")
def set_value(key: Key, value: Annotated[str, typer.Argument(metavar="VALUE")]) -> None:
    """Write a setting to your config.toml; comments in it stay."""
    from agentcli.config import parsed, steps
    from agentcli.config.edit import set_key

    # Nothing else is read: a value that is wrong where it stands can be put right by this very command.
    wanted, file = parsed(key, value), app_dirs().config_file
    set_key(file, steps(key), wanted)
    say(f"{key} = {_plain(wanted)!r} in {file}")


@config.command("path")
def path() -> None:
    """Where your config.toml is, or would be."""
    print(app_dirs().config_file)


def doctor(
    json: Json = False,
    live: Annotated[
        bool, typer.Option("--live", help="ask each endpoint; then, if you agree, one small paid request each")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="with --live, agree")] = False,
    cwd: Cwd = "",
) -> None:
    """Look at everything that agentcli needs and say what is missing."""
    from agentcli.app.doctor import diagnose

    findings = diagnose(Options(cwd=cwd), live)
    readable = all(finding.ok for finding in findings if finding.what == "configuration" and finding.needed)
    answers = _asked_live(Program(Options(cwd=cwd)), yes) if live and readable else []
    if json:
        entries = [{"what": f.what, "ok": f.ok, "detail": f.detail} for f in findings]
        say_json([*entries, *map(_live_json, answers)])
    else:
        for finding in findings:
            say(finding.line)
        _say_live(answers)
    if not all(finding.ok for finding in findings if finding.needed):
        raise typer.Exit(1)


def _asked_live(program: Program, agreed: bool) -> Sequence[Answer]:
    """The answers to one small real request a provider, once the person agrees; none where nobody does."""
    from agentcli.app import live

    probes = live.probes(program)
    if not probes:
        return []
    print(live.offer(probes), file=sys.stderr)
    if not agreed and not (sys.stdin.isatty() and sys.stderr.isatty()):
        print("Not sent: nobody is there to agree. --yes agrees.", file=sys.stderr)
        return []
    return live.ask(program, probes) if agreed or typer.confirm("Send them?", err=True) else []


def _say_live(answers: Sequence[Answer]) -> None:
    from agentcli.app.live import CAPABILITIES
    from agentcli.providers.capabilities import SCHEMA

    heads = ["model", "seconds", *(name.removeprefix(SCHEMA).replace("_", " ") for name in CAPABILITIES)]
    rows = [[one.model, f"{one.seconds:.1f}", *one.capabilities] for one in answers if not one.error]
    if rows:
        say("\n" + table(heads, rows))
    for one in answers:
        if one.error:
            say(f"FAIL  request to {one.model}: {one.error}")


def _live_json(answer: Answer) -> dict[str, Any]:
    from agentcli.app.live import CAPABILITIES

    capabilities = dict(zip(CAPABILITIES, answer.capabilities, strict=False))
    return {
        "what": f"request to {answer.model}",
        "ok": not answer.error,
        "detail": answer.error,
        "capabilities": capabilities,
    }


def stats(
    json: Json = False, all: Annotated[bool, typer.Option("--all", help="all projects")] = False, cwd: Cwd = ""
) -> None:
    """Tokens and cost per model and per day."""
    from agentcli.app.stats import collect, lines

    program = Program(Options(cwd=cwd))
    found = collect(program.store.list(None if all else program.project))
    if json:
        say_json(found.to_json())
    else:
        say("\n".join(lines(found)))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return dict(value) if hasattr(value, "items") else value
