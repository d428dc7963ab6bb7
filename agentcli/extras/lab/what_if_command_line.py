"""`agentcli stats what-if`: what a session would have cost with another model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentcli.core.errors import UsageError
from agentcli.core.sanitise import safe_line
from agentcli.core.text.plural import plural
from agentcli.program.command_line.flags import InProject, Json, Set
from agentcli.program.command_line.output import say, say_json
from agentcli.program.command_line.printing import Column, print_table
from agentcli.program.command_line.progress import Progress
from agentcli.program.options import Options

if TYPE_CHECKING:
    from agentcli.core.model import ModelSpec
    from agentcli.extras.lab.what_if import Estimate

Session = Annotated[str, typer.Argument(metavar="SESSION", help="id, unique prefix, or name")]
OtherModel = Annotated[
    str, typer.Option("-m", "--model", metavar="MODEL", help="provider/model or alias to compare with")
]
NOTE = "The requests, their sizes and the replies are those of the session; another model may count tokens differently and take other steps."


def what_if(
    session: Session, model: OtherModel = "", json: Json = False, settings: Set = None, cwd: InProject = ""
) -> None:
    """Show a session's cost with another model.

    Its prices and cache rules are applied to the session's requests; needs no key.
    """
    from agentcli.extras.lab.what_if import what_if as replayed
    from agentcli.frontends.opening import program_of

    if not model:
        raise UsageError("With which model? Add -m MODEL; `agentcli models` lists them.")
    program = program_of(Options(cwd=cwd, settings=tuple(settings or ())))
    models = program.models
    other = models.spec(model)
    info = program.sessions.chosen(session)

    def own(name: str) -> ModelSpec:
        from agentcli.core.model import ModelSpec

        return models.known_spec(name) or ModelSpec(*name.partition("/")[::2])

    with Progress("Replaying") as progress:
        records = list(progress.of(info.records)(program.store.records(info)))
        found = replayed(records, lambda _: other, lambda spec, usage, _: spec.cost(usage))
        check = replayed(records, own, lambda spec, usage, record: models.price(spec.name, usage, record.time))
    if not found.requests:
        raise UsageError(f"Session {info.id} has no replies with reported tokens.")
    if json:
        say_json({"session": info.id, "model": other.name, **_json(found), "own_model": _json(check)})
        return
    _print(safe_line(info.name or info.title or info.id), safe_line(info.model), other.name, found, check)


def _print(title: str, recorded: str, other: str, found: Estimate, check: Estimate) -> None:
    from agentcli.core.costs import money

    say(f"{title}: {plural(found.requests, 'request')}, charged {money(found.total_charged)}")
    say(f"with {other}: {money(found.total)}{_compared(found.total, found.total_charged)}\n")
    columns = (
        Column("tokens"),
        Column(f"{recorded or 'its model'}, replayed", numeric=True),
        Column(other, numeric=True),
    )
    print_table(columns, _rows(check, found))
    if check.charged and check.cost is not None:
        say(
            f"\nReplayed with its own model, the replies cost {money(check.cost)}{_compared(check.cost, check.charged)}."
        )
    say(NOTE)


def _rows(check: Estimate, found: Estimate) -> list[list[str]]:
    from agentcli.core.costs import money

    one, other = check.usage, found.usage
    counts = {
        "fresh": (one.input, other.input),
        "written to the cache": (one.cache_write, other.cache_write),
        "read from the cache": (one.cache_read, other.cache_read),
        "output": (one.output, other.output),
    }
    costs = {
        "cost of the replies": (check.cost, found.cost),
        "summaries, subagents …": (check.beside or 0.0, found.beside or 0.0),
    }
    rows = [[name, f"{first:,}", f"{second:,}"] for name, (first, second) in counts.items()]
    return rows + [[name, money(first), money(second)] for name, (first, second) in costs.items()]


def _compared(cost: float | None, charged: float | None) -> str:
    if cost is None or not charged:
        return ""
    share = f"{abs(cost - charged) / charged:.1%}"
    if share == "0.0%":
        return " (as charged)"
    return f" ({share} {'more' if cost > charged else 'less'} than was charged)"


def _json(found: Estimate) -> dict[str, Any]:
    from agentcli.core.codec.encode import usage_to_json

    return {
        "requests": found.requests,
        "usage": usage_to_json(found.usage),
        "replies_cost": found.cost,
        "other_cost": found.beside,
        "cost": found.total,
        "charged": found.total_charged,
    }
