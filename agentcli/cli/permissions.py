"""`agentcli permissions`: the rules in force, and what they say of a call, running nothing."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from agentcli.app.options import Options
from agentcli.app.program import Program
from agentcli.cli.output import say, say_json, table
from agentcli.core.errors import UsageError
from agentcli.core.message import ToolCall
from agentcli.permissions.decide import decide
from agentcli.permissions.explain import explain_lines
from agentcli.tools.registry import TRAITS

app = typer.Typer(help="What may run without asking.", no_args_is_help=True, rich_markup_mode=None)

Mode = Annotated[str, typer.Option(help="as if in this mode")]
Allow = Annotated[list[str] | None, typer.Option(help="as if this rule were given; repeatable")]
Deny = Annotated[list[str] | None, typer.Option(help="as if this rule were given; repeatable")]


@app.command()
def show(json: Annotated[bool, typer.Option("--json")] = False) -> None:
    """The mode and the rules in force, with where each came from."""
    program = Program(Options())
    rules = program.workspace_policy.rules()
    rows = [[kind, str(rule), rule.origin] for kind, rule in rules.listed()]
    if json:
        listed = [{"decision": kind, "rule": rule, "origin": origin} for kind, rule, origin in rows]
        say_json({"mode": program.config.general.mode, "rules": listed})
        return
    say(f"mode: {program.config.general.mode}")
    say(table(["decision", "rule", "from"], rows) if rows else "No rules: the mode alone decides.")


@app.command()
def explain(
    command: Annotated[str, typer.Argument(help="a shell command; - with --json reads calls from stdin")],
    json: Annotated[
        bool, typer.Option("--json", help='one {"id","tool","input"} a line in, one decision a line out')
    ] = False,
    mode: Mode = "",
    allow: Allow = None,
    deny: Deny = None,
    cwd: Annotated[str, typer.Option("-C", "--cwd", help="as if in this folder")] = "",
) -> None:
    """Say allow, ask or deny, by which rule, and why."""
    program = Program(Options(mode=mode, allow=tuple(allow or ()), deny=tuple(deny or ()), cwd=cwd))
    rules, chosen, workspace = program.workspace_policy.rules(), program.mode(), program.workspace_policy.workspace()
    if json:
        lines = (line.decode("utf-8", "replace") for line in sys.stdin.buffer) if command == "-" else [command]
        for line in explain_lines(lines, TRAITS, rules, chosen, workspace):
            print(line, flush=True)
        return
    if command == "-":
        raise UsageError("Reading calls from stdin needs --json.")
    decision = decide(ToolCall("explain", "bash", {"command": command}), TRAITS, rules, chosen, workspace)
    say(f"{decision.decision}: {decision.rule}")
    say(decision.why)
    if decision.always:
        say(f"“always” would save: {decision.always}")
    if decision.prefixes:
        say(f"“always, with other arguments too” would save: {', '.join(decision.prefixes)}")
    elif decision.unsaved and not decision.always:
        say(f"No rule can be saved for it: {decision.unsaved}.")
