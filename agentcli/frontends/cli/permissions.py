"""`agentcli permissions`: show the rules in force, and explain their decision about a call without running it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from agentcli.core.errors import UsageError
from agentcli.core.sanitise import safe_line
from agentcli.frontends.opening import program_of, project_of
from agentcli.program.command_line.flags import InFolder, Json
from agentcli.program.command_line.output import say_json
from agentcli.program.command_line.printing import Column, print_styled, print_table
from agentcli.program.options import Options

if TYPE_CHECKING:
    from agentcli.permissions.decide import Decision
    from agentcli.permissions.rules import Rules
    from agentcli.program.workspace import WorkspacePolicy

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Mode = Annotated[str, typer.Option(metavar="MODE", help="use this mode")]
Allow = Annotated[list[str] | None, typer.Option(metavar="RULE", help="add this rule; repeatable")]
Deny = Annotated[list[str] | None, typer.Option(metavar="RULE", help="add this rule; repeatable")]


@app.command()
def show(json: Json = False) -> None:
    """List the mode and the rules."""
    from agentcli.program.config.general import General

    program = program_of(Options())
    rules = program.workspace_policy.rules()
    rows = [[kind, str(rule), rule.origin] for kind, rule in rules.listed()]
    if json:
        listed = [{"decision": kind, "rule": rule, "origin": origin} for kind, rule, origin in rows]
        say_json({"mode": program.config[General].mode, "rules": listed})
        return
    mode, sandbox = program.config[General].mode, program.workspace_policy.sandbox.report
    print_styled([("Mode: ", ""), (mode, "bold"), (f". {sandbox}{'' if rows else ' No rules set.'}", "")])
    if rows:
        print_table((Column("decision", style="bold"), Column("rule", wraps=True), Column("from", style="dim")), rows)


@app.command()
def remove(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="a rule as `permissions show` lists it")],
    cwd: InFolder = "",
) -> None:
    """Remove a rule that "always" has saved for this project."""
    from agentcli.program.saved_rules import SavedRules

    project = project_of(Options(cwd=cwd))
    SavedRules(project.dirs.sessions, project.cwd).remove(rule)
    print_styled([(f"Removed {safe_line(rule)}.", "")])


@app.command()
def explain(
    command: Annotated[
        str, typer.Argument(metavar="COMMAND", help="a shell command; with --json, - reads calls from stdin")
    ],
    json: Annotated[
        bool, typer.Option("--json", help='read {"id", "tool", "input"} and print a decision, one a line')
    ] = False,
    mode: Mode = "",
    allow: Allow = None,
    deny: Deny = None,
    cwd: InFolder = "",
) -> None:
    """Explain whether a command may run.

    Nothing is run.
    """
    from agentcli.core.message import ToolCall
    from agentcli.permissions.decide import decide, explain_lines

    program = program_of(Options(mode=mode, allow=tuple(allow or ()), deny=tuple(deny or ()), cwd=cwd))
    policy, chosen = program.workspace_policy, program.selection.mode()
    rules, workspace = _rules(policy), policy.workspace()
    if json:
        lines = (line.decode("utf-8", "replace") for line in sys.stdin.buffer) if command == "-" else [command]
        for line in explain_lines(lines, program.traits, rules, chosen, workspace):
            print(line, flush=True)
        return
    if command == "-":
        raise UsageError("To read calls from stdin, add --json.")
    _print_decision(decide(ToolCall("explain", "bash", {"command": command}), program.traits, rules, chosen, workspace))


def _rules(policy: WorkspacePolicy) -> Rules:
    """Return the rules in force, including the flags' timed rules."""
    from agentcli.permissions.rules import Rules

    given = Rules(allow=tuple(each.rule for each in policy.timed.rules) if policy.timed is not None else ())
    return policy.rules() + given


def _print_decision(decision: Decision) -> None:
    from agentcli.frontends.terminal.dialogs.proposal import all_covered, wider

    print_styled([(decision.decision, _COLOURS[decision.decision]), (f": {decision.rule}", "")])
    print_styled([(decision.why, "")])
    if decision.always:
        print_styled([("“Always allow … in this project” would save: ", "dim"), (safe_line(decision.always), "")])
    if programs := decision.programs():
        choice = f"“Always allow here {all_covered(programs)}” would save: "
        print_styled([(choice, "dim"), (safe_line(", ".join(programs)), "")])
    if decision.prefixes:
        choice = f"“Always allow {wider(decision.prefixes)}” would save: "
        print_styled([(choice, "dim"), (safe_line(", ".join(decision.prefixes)), "")])
    elif decision.unsaved and not decision.always and not programs:
        print_styled([(f"No rule can be saved for it: {decision.unsaved}.", "dim")])


_COLOURS = {"allow": "bold green", "ask": "bold yellow", "deny": "bold red"}
