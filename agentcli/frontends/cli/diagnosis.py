"""Check the installation, on request with real requests, and compare with Claude Code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer

from agentcli.core.errors import UsageError
from agentcli.core.sanitise import safe
from agentcli.core.text.words import one_of, plural
from agentcli.frontends.opening import program_of
from agentcli.program import live_check
from agentcli.program.command_line.output import confirmed, say, say_json
from agentcli.program.command_line.printing import Column, console, on_terminal, print_table
from agentcli.program.command_line.progress import Progress
from agentcli.program.doctor import Finding, diagnose
from agentcli.program.extras import extra
from agentcli.program.live_check import CAPABILITIES, Answer
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.providers.capabilities import SCHEMA


def doctor(json: bool, live: bool, yes: bool, coming_from: str, cwd: str) -> None:
    """Check keys, endpoints, folders, tools and sessions."""
    if coming_from:
        _say_differences(coming_from, cwd, json)
        return
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


def _say_differences(name: str, cwd: str, json: bool) -> None:
    """Print what works differently here from another program's files.

    The folder counts as trusted for it; nothing is started.
    """
    known = extra("programs with settings")
    if name not in known:
        raise UsageError(f"There is no program {name!r} to compare with.{one_of(name, known)}")
    found = extra("differences from other programs")(program_of(Options(cwd=cwd, trust=True)), name)
    if json:
        entries = [{"thing": one.thing, "detail": one.detail} for one in found.differences]
        say_json({"differences": entries, "same": found.same, "importable": found.importable})
        return
    for one in found.differences:
        say(str(one))
    say(f"{plural(found.same, 'thing')} {'behaves' if found.same == 1 else 'behave'} the same.")
    if found.importable:
        say(f"{plural(found.importable, 'entry')} of {name}: only after `agentcli import-config {name}`.")


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
    probes = live_check.probes(program)
    if not probes:
        return []
    print(live_check.offer(probes), file=sys.stderr)
    if not agreed and not (sys.stdin.isatty() and sys.stderr.isatty()):
        print("Not sent: no terminal to ask on. Use --yes to send them.", file=sys.stderr)
        return []
    return live_check.ask(program, probes) if agreed or confirmed("Send them?") else []


def _say_live(answers: Sequence[Answer]) -> None:
    heads = ["model", "seconds", *(name.removeprefix(SCHEMA).replace("_", " ") for name in CAPABILITIES)]
    rows = [[one.model, f"{one.seconds:.1f}", *one.capabilities] for one in answers if not one.error]
    if rows:
        say()
        print_table([Column(head, style="bold" * (n == 0)) for n, head in enumerate(heads)], rows)
    for one in answers:
        if one.error:
            say(f"FAIL  request to {one.model}: {one.error}")


def _live_json(answer: Answer) -> dict[str, Any]:
    capabilities = dict(zip(CAPABILITIES, answer.capabilities, strict=False))
    return {
        "what": f"request to {answer.model}",
        "ok": not answer.error,
        "detail": answer.error,
        "capabilities": capabilities,
    }
