"""`agentcli context`: what fills the window, what a policy would do, and how policies compare."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, cast

import typer

from agentcli.app.options import LAST, Options
from agentcli.app.program import Program
from agentcli.cli.output import say, say_json
from agentcli.context.cache_health import explain_miss, health_of
from agentcli.context.compaction.record import Summary, SummaryTask
from agentcli.context.forecast import forecast
from agentcli.context.lab import window_report
from agentcli.context.policies import plan as plan_now
from agentcli.context.policies.plans import Plan
from agentcli.context.settings import POLICIES, PolicyName
from agentcli.context.view import view
from agentcli.context.window import Window, limits_of, window_of
from agentcli.core.history import History
from agentcli.core.model import ModelSpec
from agentcli.tools.registry import TRAITS

HORIZONS = "0,5,80"
"""Horizons with a point of their own where all policies are compared."""
HORIZONS_HELP = (
    f"more points for auto: its compact_horizon, with commas between; {HORIZONS} where all policies are compared"
)
ALL_POLICIES = ",".join(POLICIES)

app = typer.Typer(help="The context lab.", no_args_is_help=True, rich_markup_mode=None)

Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Session = Annotated[str, typer.Argument(metavar="SESSION", help="full id, unique prefix, or name; default: the newest")]
Sessions = Annotated[list[str], typer.Argument(metavar="SESSION", help="full ids, unique prefixes, or names")]
Model = Annotated[str, typer.Option("-m", "--model", help="as if this model were in use")]
Policy = Annotated[str, typer.Option("-p", "--policy", help="auto, gemini, opencode, regions or sliding")]
Policies = Annotated[str, typer.Option("--policies", help="their names, with commas between")]
Cwd = Annotated[str, typer.Option("-C", "--cwd", help="the folder whose project is meant")]
Set = Annotated[list[str] | None, typer.Option("--set", help="key=value: a setting for this run; repeatable")]


@app.command()
def show(session: Session = "", json: Json = False, model: Model = "", settings: Set = None, cwd: Cwd = "") -> None:
    """What fills a session's window, and its messages with tokens, trust and fate."""
    program = _program(cwd, model, settings)
    past = program.past(session or LAST)
    history = past.history
    window = _window(program, history)
    counts = window.counter
    tools = counts.overhead((), program.tools_of(history))
    report = window_report.show(window, _plan(program, history, "", False), tools=tools)
    records, spec = list(past.records()), program.spec_for(history)
    health = explain_miss(health_of(records, spec, TRAITS, window.settings.cache.thrash), records, spec)
    if json:
        more = {"estimator": counts.rule.name, "hit_rate": round(health.hit_rate, 4), "misses": health.misses}
        say_json({**report.to_json(), **more})
        return
    say("\n".join(report.lines(shutil.get_terminal_size((100, 24)).columns)))
    say(f"\n{counts.description()}")
    say(f"Cache: {health.hit_rate:.1%} of all input was read from it. {health.warning()}".rstrip())


@app.command()
def plan(
    session: Session = "",
    policy: Policy = "",
    force: Annotated[bool, typer.Option("--force", help="as if asked for with /compress")] = False,
    json: Json = False,
    model: Model = "",
    settings: Set = None,
    cwd: Cwd = "",
) -> None:
    """What a policy would do with a session now, calling no model."""
    program = _program(cwd, model, settings)
    planned = window_report.plan_json(_plan(program, program.past(session or LAST).history, policy, force))
    if json:
        say_json(planned)
        return
    for key, value in planned.items():
        say(f"{key:22} {f'{len(value)}: {_short(value)}' if isinstance(value, list) and key != 'reasons' else value}")


@app.command()
def compare(
    sessions: Sessions,
    policies: Policies = ALL_POLICIES,
    json: Json = False,
    svg: Annotated[str, typer.Option("--svg", help="write the plot of the first session to this file")] = "",
    summariser: Annotated[str, typer.Option("--summariser", help="write summaries with this model (costs money)")] = "",
    points: Annotated[str, typer.Option("--points", help="write price against retention to this file, as SVG")] = "",
    horizons: Annotated[str, typer.Option("--horizons", help=HORIZONS_HELP)] = "",
    html: Annotated[str, typer.Option("--html", help="write a page with tables and plots to this file")] = "",
    model: Model = "",
    settings: Set = None,
    cwd: Cwd = "",
) -> None:
    """Replay recorded sessions under several policies with the provider's cache emulated; needs no key."""
    from agentcli.context.lab import plot
    from agentcli.context.lab import points as price_points
    from agentcli.context.lab.compare import compare as compare_policies
    from agentcli.context.lab.replay import Setup

    program = _program(cwd, model, settings)
    past = {name: program.past(name) for name in sessions}
    recorded = {name: list(session.records()) for name, session in past.items()}
    context = program.config.context
    setups = {name: Setup(program.spec_for(session.history), TRAITS, context) for name, session in past.items()}
    if summariser:
        setups = {
            name: replace(setup, summarise=_written_by(program, summariser, setup.model))
            for name, setup in setups.items()
        }
    found = compare_policies(
        recorded, _named(policies, horizons or (HORIZONS if policies == ALL_POLICIES else "")), setups
    )
    first = next(iter(found.played))
    limits = limits_of(setups[first].model, context)
    series = {name: played.sizes for name, played in found.played[first].items()}
    if svg:
        Path(svg).write_text(plot.svg(series, first, limits.soft, limits.hard), encoding="utf-8")
    drawn = price_points.points(found.totals())
    if points:
        Path(points).write_text(price_points.svg_points(drawn, _title(sessions)), encoding="utf-8")
    if html:
        Path(html).write_text(plot.html(found, limits.soft, limits.hard), encoding="utf-8")
    if json:
        say_json(found.to_json())
    else:
        say("\n".join([*found.lines(), "", *plot.text_plot(series), "", *price_points.text_points(drawn)]))


def _named(policies: str, horizons: str) -> list[str]:
    """The policies to play; after `auto` the same with each horizon."""
    named: list[str] = []
    for policy in map(str.strip, policies.split(",")):
        more = filter(None, map(str.strip, horizons.split(","))) if policy == "auto" else ()
        named += [policy, *(f"auto@{horizon}" for horizon in more)]
    return list(dict.fromkeys(named))


def _title(sessions: list[str]) -> str:
    return sessions[0] if len(sessions) == 1 else f"{len(sessions)} sessions"


def _program(cwd: str, model: str, settings: list[str] | None) -> Program:
    return Program(Options(cwd=cwd, model=model, settings=tuple(settings or ())))


def _plan(program: Program, history: History, policy: str, force: bool) -> Plan:
    window = _window(program, history, policy)
    return plan_now(window, forced=True) if force else forecast(history, window, datetime.now(UTC))


def _window(program: Program, history: History, policy: str = "") -> Window:
    """The window of a session as it stands, under this policy or its own."""
    name = policy or program.policy_of(history)
    context = replace(program.config.context, policy=cast(PolicyName, name))
    return window_of(view(history), program.spec_for(history), program.counts_for(history, policy), context, TRAITS)


def _written_by(program: Program, name: str, main: ModelSpec) -> Callable[[SummaryTask], Summary]:
    """Summaries by a real model. Each gets a connection of its own, since each runs in an event loop of its own."""
    from agentcli.agent.compaction.brief import Brief
    from agentcli.agent.compaction.run import summarise
    from agentcli.agent.compaction.summariser import Summariser

    calls = program.config.context.max_summary_calls

    def write(task: SummaryTask) -> Summary:
        brief, form = Brief(task.window, main), task.form
        summariser = Summariser(program.models.connect(name), calls, longest=form.reply_tokens, margin=form.margin)
        return asyncio.run(summarise(task, brief, summariser)).summary

    return write


def _short(values: list[object]) -> str:
    return f"{values[0]} … {values[-1]}" if len(values) > 6 else ", ".join(map(str, values))
