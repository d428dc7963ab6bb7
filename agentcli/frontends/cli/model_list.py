"""Print models with windows and prices, and renew the lists of endpoints and the figures of the table."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import islice
from typing import Any

from agentcli.core.errors import InputError
from agentcli.core.model import ModelSpec
from agentcli.core.text.words import plural
from agentcli.frontends.cli.arguments import ENDPOINTS
from agentcli.frontends.opening import program_of
from agentcli.program.command_line.output import say, say_json
from agentcli.program.command_line.printing import Column, print_table
from agentcli.program.model_lists import local_servers, refresh
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.providers import catalog, model_figures
from agentcli.providers.capabilities import limits
from agentcli.providers.endpoint_lists import EndpointList, age
from agentcli.providers.settings import BUILT_IN

SHOWN = 100
"""Models shown of one endpoint's list."""
REFUSED = 5
"""Maximum models to list whose prices are ignored."""
ALL = "all"
"""The name for every model."""
OFF = "off"
"""The word instead of a file that returns to the built-in table."""


def list_models(json: bool, local: bool, refresh: str, forget: str) -> None:
    """List models with context window and price."""
    program = program_of(Options())
    if forget:
        _forget(program, forget)
    elif refresh == ENDPOINTS:
        _ask_endpoints(program)
    elif refresh:
        _refresh(program, refresh)
    elif local:
        _list_local(program, json)
    else:
        _list(program, json)


def _list(program: Program, json: bool) -> None:
    models = program.models
    lists = [models.listed_by(settings.name) for settings in (*models.with_lists, *models.vendors)]
    known = _known(program, lists, None if json else SHOWN)
    if json:
        lacking = {name: sorted(learnt.lacking) for name, learnt in models.memory.all().items()}
        say_json([{**_model(spec), "lacking": lacking.get(spec.name, [])} for spec in known])
        return
    _print_models(known)
    for line in _remarks(program, known, lists):
        say(line)


def _known(program: Program, lists: Iterable[EndpointList], most: int | None) -> Sequence[ModelSpec]:
    """Return the models of the table, of the configuration, and at most so many of each list."""
    listed = catalog.models()
    tables = (name for name in program.config.models if program.models.known_spec(name) is not None)
    configured = (name for name in tables if not any(name in (m.name, m.id) for m in listed))
    known = [program.models.spec(name) for name in (*(m.name for m in listed), *configured)]
    named = {spec.name for spec in known}
    for each in lists:
        known += [spec for spec in islice(program.models.listed_specs(each), most) if spec.name not in named]
    return known


def _print_models(known: Iterable[ModelSpec]) -> None:
    rows = [
        [
            m.name,
            m.window,
            m.max_output,
            *((f"{p.input:.2f}", f"{p.output:.2f}", f"{p.cache_read:.3f}") if (p := m.prices) else ("?",) * 3),
        ]
        for m in known
    ]
    numbers = ("window", "output", "in $", "out $", "cached $")
    print_table((Column("model", style="bold"), *(Column(name, numeric=True) for name in numbers)), rows)


def _remarks(program: Program, known: Iterable[ModelSpec], lists: Sequence[EndpointList]) -> Iterator[str]:
    """Yield the lines below the table."""
    models = program.models
    for model in known:
        yield from _dates(model)
    for name, learnt in sorted(models.memory.all().items()):
        yield f"{name} {limits(name, learnt, models.memory.days)}"
    for each in lists:
        yield from _about_list(each)
    if any(not each.time for each in lists):
        providers = ", ".join(each.provider for each in lists)
        yield f"`agentcli models --refresh` asks endpoints for their models: {providers}"
    figures = models.figures
    if figures.models:
        yield f"Windows and prices of {plural(len(figures.models), 'model')} are from {figures.source}, read on {figures.day}."
    aliases = {**catalog.ALIASES, **program.config.aliases}
    yield "\nAliases: " + ", ".join(f"{short} = {name}" for short, name in aliases.items())
    yield from models.alias_faults()
    yield from models.table_faults()


def _about_list(found: EndpointList) -> Iterator[str]:
    if found.models:
        more = f", {len(found.models) - SHOWN:,} more with --json" if len(found.models) > SHOWN else ""
        yield f"{found.provider} listed {plural(len(found.models), 'model')} {age(found)}{more}."
    yield from found.warnings()


def _list_local(program: Program, json: bool) -> None:
    servers = local_servers(program.models.providers, program.env)
    if json:
        say_json([dataclasses.asdict(server) for server in servers])
        return
    rows = [[name, window or "?"] for server in servers for name, window in server.models.items()]
    if rows:
        print_table((Column("model", style="bold"), Column("window", numeric=True)), rows)
        say(f"\nUse one: agentcli -m {rows[0][0]}")
    for server in servers:
        if server.answers and not server.models:
            say(f"{server.title} answers at {server.url} but lists no models.")
    for server in servers:
        if not server.answers:
            say(f"{server.title} is not running at {server.url}. Start it: {server.start}")


def _ask_endpoints(program: Program) -> None:
    asked = refresh(program.models)
    for line in asked.told:
        say(line)
    for line in asked.warnings:
        print(f"warning: {line}", file=sys.stderr)
    if not asked.told and not asked.warnings:
        say("No endpoint is configured, and no service has a key. See `agentcli help models`.")


def _forget(program: Program, name: str) -> None:
    """Forget the findings about a model, or about all. Raises InputError if there are none."""
    memory = program.models.memory
    known = sorted(memory.all())
    found = known if name == ALL else [each for each in known if each in (name, _full_name(program, name))]
    if not found:
        listed = f" Something is known about: {', '.join(known)}." if known else " Nothing is known about any model."
        raise InputError(f"No limits were found for {name}.{listed}")
    for each in found:
        memory.forget_all(each)
        say(f"Forgotten: the limits of {each}. The next request tries everything again.")


def _full_name(program: Program, name: str) -> str:
    spec = program.models.known_spec(name)
    return spec.name if spec else name


def _refresh(program: Program, source: str) -> None:
    path = program.dirs.state / model_figures.FILE
    if source == OFF:
        path.unlink(missing_ok=True)
        say("Windows and prices are from the built-in table again.")
        return
    known = {*BUILT_IN, *program.models.providers}
    found = model_figures.parsed(model_figures.read(source), source, date.today().isoformat(), known)
    model_figures.keep(path, found)
    if found.refused:
        names = ", ".join(found.refused[:REFUSED]) + (", …" if len(found.refused) > REFUSED else "")
        print(
            f"warning: The prices of {plural(len(found.refused), 'model')} are left out, because they are not between $0 and $100,000 per million tokens: {names}",
            file=sys.stderr,
        )
    say(
        f"Read windows and prices of {plural(len(found.models), 'model')}. `agentcli models --refresh off` returns to the built-in table."
    )


def _dates(model: ModelSpec) -> Iterator[str]:
    """Yield lines about a model's announced changes."""
    for change in model.price_changes:
        prices = change.prices
        yield f"{model.name} from {change.since}: in ${prices.input:g}, out ${prices.output:g}, cached ${prices.cache_read:g}"
    if model.retires:
        yield f"{model.name} ends on {model.retires}" + (f"; successor {model.successor}" if model.successor else "")


def _model(spec: Any) -> dict[str, Any]:
    return {"name": spec.name, **dataclasses.asdict(spec)}
