"""Print what fills the context window of a session, and what compaction would do."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

from agentcli.context import window_report
from agentcli.context.cache_health import CacheHealth, explain_miss, health_of
from agentcli.context.policies import plan as plan_now
from agentcli.context.policies.plans import Plan
from agentcli.context.room import forecast
from agentcli.context.settings import ContextSettings, PolicyName
from agentcli.context.view import view
from agentcli.context.window import Window, missing, window_of
from agentcli.core.errors import InputError
from agentcli.core.history import History
from agentcli.core.model import ToolSchema
from agentcli.core.sanitise import safe_line
from agentcli.frontends.opening import program_of
from agentcli.frontends.terminal.render.window_chart import overview
from agentcli.frontends.terminal.style import choose_theme
from agentcli.program.command_line.output import say, say_json
from agentcli.program.command_line.printing import Column, console, on_terminal, print_styled, print_table
from agentcli.program.command_line.progress import Progress
from agentcli.program.options import LAST, Options
from agentcli.program.program import Program
from agentcli.sessions.session import Session as StoredSession


def show(session: str, json: bool, model: str, settings: list[str] | None, cwd: str) -> None:
    """Show what fills the context window of a session."""
    program = _program(cwd, model, settings)
    with Progress("Reading records") as progress:
        past = program.sessions.past(session or LAST, progress.of)
        progress.next("Counting tokens")
        report, health, window = _reported(program, past)
    if json:
        more = {"estimator": window.counter.rule.name, "hit_rate": round(health.hit_rate, 4), "misses": health.misses}
        say_json({**report.to_json(), **more})
        return
    _print_window(report, window.limits.model)
    say(f"\n{window.counter.description()}")
    say(f"Cache: {health.hit_rate:.1%} of all input was read from it. {health.warning()}".rstrip())


def _reported(program: Program, past: StoredSession) -> tuple[window_report.WindowReport, CacheHealth, Window]:
    """Return the report on a session's window, the health of its cache, and the window."""
    history = past.history
    window = _window(program, history)
    tools = window.counter.overhead((), [*map(ToolSchema.recorded, history.tools)])
    report = window_report.show(window, forecast(history, window, datetime.now(UTC)), tools=tools)
    records, spec = list(past.records()), program.selection.spec_for(history)
    health = health_of(records, spec, program.traits, window.settings.cache.thrash)
    return report, explain_miss(health, records, spec), window


def plan(session: str, policy: str, force: bool, json: bool, model: str, settings: list[str] | None, cwd: str) -> None:
    """Show what compaction would do now; calls no model."""
    program = _program(cwd, model, settings)
    planned = window_report.plan_json(_plan(program, program.sessions.past(session or LAST).history, policy, force))
    if json:
        say_json(planned)
        return
    _print_plan(planned)


def _print_window(report: window_report.WindowReport, model: str) -> None:
    """Print the window as a chart on a terminal, else as a table; then its messages."""
    if on_terminal(sys.stdout):
        screen = console()
        print("\n".join(overview(report, safe_line(model), screen.width, choose_theme("auto", os.environ))))
    else:
        share = f" ({report.used / report.usable:.0%})" if report.usable else ""
        print(f"{report.used:,} of {report.usable:,} usable tokens{share}; context window {report.window:,}")
        shares = [[kind, tokens, f"{tokens / max(1, report.usable):.1%}"] for kind, tokens in report.shares.items()]
        print_table((Column("part"), Column("tokens", numeric=True), Column("share", numeric=True)), shares)
        print(f"In the provider's cache: {report.cached:,} tokens")
    print()
    tiers, states = window_report.TIERS, {"kept": "in context"}
    rows = [
        [f"#{row.seq}", row.turn, row.tokens, tiers[row.tier], states.get(row.fate, row.fate), row.text]
        for row in report.rows
    ]
    print_table(_MESSAGES, rows)


_MESSAGES = (
    Column("#", style="dim", numeric=True), Column("turn", numeric=True, from_width=90), Column("tokens", numeric=True),
    Column("role", from_width=60), Column("state"), Column("message", fills=True),
)  # fmt: skip


def _print_plan(planned: Mapping[str, Any]) -> None:
    """Print a plan for people: no field without a value, messages as ranges of numbers."""
    trigger = planned["trigger"]
    facts = [
        ("Policy", planned["policy"]),
        ("Trigger", trigger or "nothing to do"),
        ("Tokens", f"{planned['tokens_before']:,} now, about {planned['tokens_after_estimate']:,} after"),
        ("Summarised", _ranges(planned["summarised"])),
        ("Kept", _ranges(planned["kept"])),
        ("Pinned", _ranges(planned["pinned"])),
        ("Cleared", ", ".join(planned["cleared"])),
    ]
    for name, text in facts:
        if text:
            print_styled([(f"{name}: ", "bold"), (text, "")])
    for reason in planned["reasons"]:
        print_styled([("- ", "dim"), (reason, "")])


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers of messages: `#2–7, #9`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"#{first}" if first == last else f"#{first}–{last}" for first, last in runs)


def _program(cwd: str, model: str, settings: list[str] | None) -> Program:
    return program_of(Options(cwd=cwd, model=model, settings=tuple(settings or ())))


def _plan(program: Program, history: History, policy: str, force: bool) -> Plan:
    window = _window(program, history, policy)
    return plan_now(window, forced=True) if force else forecast(history, window, datetime.now(UTC))


def _window(program: Program, history: History, policy: str = "") -> Window:
    """Return the current window of a session, under this policy or its own."""
    name, spec = policy or program.selection.policy_of(history), program.selection.spec_for(history)
    if why := missing(policy, spec):
        raise InputError(why)
    context = replace(program.config[ContextSettings], policy=cast(PolicyName, name))
    return window_of(view(history), spec, program.counts_for(history, policy), context, program.traits)
