"""Compare context policies on recorded sessions, and a session's cost with another model."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcli.agent.compaction.run import summarise
from agentcli.agent.compaction.snapshot import Brief
from agentcli.agent.compaction.summariser import Summariser
from agentcli.context.compaction.record import Summary, SummaryTask
from agentcli.context.settings import POLICIES, PROVIDER, ContextSettings
from agentcli.context.window import limits_of, missing
from agentcli.core.codec.encode import usage_to_json
from agentcli.core.costs import money
from agentcli.core.dataclass import replace
from agentcli.core.errors import InputError, UsageError
from agentcli.core.history import History
from agentcli.core.model import ModelSpec
from agentcli.core.sanitise import safe_line
from agentcli.core.text.words import plural
from agentcli.extras.lab import page, plot
from agentcli.extras.lab import points as price_points
from agentcli.extras.lab.compare import COLUMNS, ORACLE, TENTHS, Report
from agentcli.extras.lab.compare import compare as compare_policies
from agentcli.extras.lab.flags import CompareFlags
from agentcli.extras.lab.points import Point, numbers, text_bars
from agentcli.extras.lab.replay import Setup
from agentcli.extras.lab.what_if import Estimate
from agentcli.extras.lab.what_if import what_if as replayed
from agentcli.frontends.opening import program_of
from agentcli.program.command_line.output import say, say_json
from agentcli.program.command_line.printing import Column, on_terminal, print_styled, print_table
from agentcli.program.command_line.progress import Progress
from agentcli.program.options import Options
from agentcli.program.program import Program


def compare(sessions: list[str], asked: CompareFlags) -> None:
    """Replay sessions under several policies; needs no key."""
    program = program_of(Options(cwd=asked.cwd, model=asked.model, settings=tuple(asked.settings or ())))
    past = {name: program.sessions.past(name) for name in sessions}
    recorded = {name: list(session.records()) for name, session in past.items()}
    setups = {name: _setup(program, session.history, asked.summariser) for name, session in past.items()}
    found = compare_policies(recorded, _playable(asked.policies, asked.horizons, setups), setups)
    first = next(iter(found.played))
    series = {name: played.sizes for name, played in found.played[first].items()}
    marks = _marks(setups[first])
    drawn = price_points.points(found)
    if asked.json:
        say_json(found.to_json())
    else:
        _print_comparison(found)
        if unused := nothing_happened(found, setups):
            say(unused)
        else:
            say("\n".join([*plot.text_plot(series), ""]))
            _print_bars(drawn)
    if asked.svg:
        _write(asked.svg, plot.svg(series, first, marks))
    if asked.points:
        _write(asked.points, price_points.svg_bars(drawn, _title(sessions)))
    if asked.html:
        _write(asked.html, page.html(found, marks))


_STYLES = ("blue", "red", "green", "yellow", "magenta", "cyan", "bright_magenta", "bright_blue")
"""Colours of policies on a terminal, in the order of the plot's; the oracle is dim."""


def _print_bars(drawn: Sequence[Point]) -> None:
    """Print the bars, each policy in its own colour, and the caption."""
    colours = numbers(drawn)
    lines = text_bars(drawn)
    bars = len(drawn) if len(lines) > len(drawn) else 0
    for point, bar in zip(drawn[:bars], lines, strict=False):
        style = "dim" if point.name == ORACLE else _STYLES[colours[point.name] % len(_STYLES)]
        print_styled([(bar, style)])
    say("\n".join(lines[bars:]))


def nothing_happened(found: Report, setups: Mapping[str, Setup]) -> str:
    """Return the line for sessions in which no policy edits anything, with the largest prompt; empty if one does."""
    played = [each for policies in found.played.values() for each in policies.values()]
    if any(each.compactions or each.prunes for each in played):
        return ""
    peak, window = max((each.peak for each in played), default=0), max(each.model.window for each in setups.values())
    return f"No policy would have acted ({peak / 1_000:.0f}k of {window / 1_000:.0f}k)."


def _setup(program: Program, history: History, summariser: str) -> Setup:
    setup = Setup(program.selection.spec_for(history), program.traits, program.config[ContextSettings])
    return replace(setup, summarise=_written_by(program, summariser, setup.model)) if summariser else setup


def _marks(setup: Setup) -> dict[str, int]:
    """Return the lines of a plot, in tokens."""
    limits = limits_of(setup.model, setup.settings)
    return {"soft": limits.soft, "hard": limits.hard, "window": limits.window}


def _named(policies: str, horizons: str) -> list[str]:
    """Return the policies to play, `auto` also with each horizon."""
    named: list[str] = []
    for policy in map(str.strip, policies.split(",") if policies else POLICIES):
        more = filter(None, map(str.strip, horizons.split(","))) if policy == "auto" else ()
        named += [policy, *(f"auto@{horizon}" for horizon in more)]
    return list(dict.fromkeys(named))


def _playable(policies: str, horizons: str, setups: Mapping[str, Setup]) -> list[str]:
    """Return the policies to play that the models of all sessions allow. Raises InputError if a requested one is not
    among them.

    A replay requests no summaries from providers, so `provider` cannot be played.
    """
    named = _named(policies, horizons)
    models = [setup.model for setup in setups.values()]
    reasons = {name: next(filter(None, (missing(name, model) for model in models)), "") for name in named}
    if PROVIDER in reasons:
        reasons[PROVIDER] = "A replay asks no provider for summaries, so it can't compare the policy provider."
    if policies and (why := next(filter(None, reasons.values()), "")):
        raise InputError(why)
    return [name for name in named if not reasons[name]]


def _title(sessions: list[str]) -> str:
    return sessions[0] if len(sessions) == 1 else f"{len(sessions)} sessions"


def _write(file: str, text: str) -> None:
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"Can't write {file}: {error.strerror}.") from error
    print(f"Written to {file}.", file=sys.stderr)


def _print_comparison(found: Report) -> None:
    """Print a table for each session. On a terminal each policy is a column: there are fewer policies than measures."""
    for title, rows in found.tables():
        print_styled([(title, "bold")])
        if on_terminal(sys.stdout):
            measures, *columns = zip(COLUMNS, *rows, strict=True)
            head = (Column("", style="dim"), *(Column(name, numeric=True) for name in measures[1:]))
            print_table(head, columns)
        else:
            print_table([Column(name, numeric=n > 0) for n, name in enumerate(COLUMNS)], rows)
        if title in found.played:
            print()
            print_table([Column(name, numeric=n > 0) for n, name in enumerate(TENTHS)], found.tenths(title))
        print()


def _written_by(program: Program, name: str, main: ModelSpec) -> Callable[[SummaryTask], Summary]:
    """Summaries by a real model. Each has its own connection, because each runs in its own event loop."""
    calls = program.config[ContextSettings].max_summary_calls

    def write(task: SummaryTask) -> Summary:
        brief, form = Brief(task.window, main), task.form
        summariser = Summariser(program.models.connect(name), calls, longest=form.reply_tokens, margin=form.margin)
        return asyncio.run(summarise(task, brief, summariser)).summary

    return write


SAME_REQUESTS = "Requests, sizes and replies are the session's own; another model may count tokens differently and take other steps."


def what_if(session: str, model: str, json: bool, settings: list[str] | None, cwd: str) -> None:
    """Show a session's cost with another model."""
    if not model:
        raise UsageError("With which model? Add -m MODEL; `agentcli models` lists them.")
    program = program_of(Options(cwd=cwd, settings=tuple(settings or ())))
    models = program.models
    other = models.spec(model)
    info = program.sessions.chosen(session)

    def own(name: str) -> ModelSpec:
        return models.known_spec(name) or ModelSpec(*name.partition("/")[::2])

    with Progress("Replaying") as progress:
        records = list(progress.of(info.records)(program.store.records(info)))
        found = replayed(records, lambda _: other, lambda spec, usage, _: spec.cost(usage))
        price = models.pricing()
        check = replayed(records, own, lambda spec, usage, record: price(spec.name, usage, record.time))
    if not found.requests:
        raise UsageError(f"Session {info.id} has no replies with reported tokens.")
    if json:
        say_json({"session": info.id, "model": other.name, **_estimate_json(found), "own_model": _estimate_json(check)})
        return
    _print_estimate(safe_line(info.name or info.title or info.id), safe_line(info.model), other.name, found, check)


def _print_estimate(title: str, recorded: str, other: str, found: Estimate, check: Estimate) -> None:
    say(f"{title}: {plural(found.requests, 'request')}, charged {money(found.total_charged)}")
    say(f"with {other}: {money(found.total)}{_difference(found.total, found.total_charged)}\n")
    columns = (
        Column("tokens"),
        Column(f"{recorded or 'its model'}, replayed", numeric=True),
        Column(other, numeric=True),
    )
    print_table(columns, _estimate_rows(check, found))
    if check.charged and check.cost is not None:
        say(
            f"\nReplayed with its own model, the replies cost {money(check.cost)}{_difference(check.cost, check.charged)}."
        )
    say(SAME_REQUESTS)


def _estimate_rows(check: Estimate, found: Estimate) -> list[list[str]]:
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


def _difference(cost: float | None, charged: float | None) -> str:
    if cost is None or not charged:
        return ""
    share = f"{abs(cost - charged) / charged:.1%}"
    if share == "0.0%":
        return " (as charged)"
    return f" ({share} {'more' if cost > charged else 'less'} than was charged)"


def _estimate_json(found: Estimate) -> dict[str, Any]:
    return {
        "requests": found.requests,
        "usage": usage_to_json(found.usage),
        "replies_cost": found.cost,
        "other_cost": found.beside,
        "cost": found.total,
        "charged": found.total_charged,
    }
