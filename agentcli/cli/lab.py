"""`agentcli context`: what fills the window, what a policy would do, and how policies compare."""

from __future__ import annotations

from typing import Annotated

import typer

from agentcli.app import Program
from agentcli.cli.tables import say, say_json
from agentcli.context.limits import limits_of
from agentcli.context.policies import plan as plan_by
from agentcli.context.view import view
from agentcli.options import LAST, Options

app = typer.Typer(help="The context lab.", no_args_is_help=True, rich_markup_mode=None)

Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Selector = Annotated[
    str, typer.Argument(metavar="[SESSION]", help="full id, unique prefix, or name; default: the newest")
]
Model = Annotated[str, typer.Option("-m", "--model", help="as if this model were in use")]
Cwd = Annotated[str, typer.Option("-C", "--cwd", help="the folder whose project is meant")]
Set = Annotated[list[str] | None, typer.Option("--set", help="key=value: a setting for this run; repeatable")]


@app.command()
def plan(
    selector: Selector = "",
    policy: Annotated[str, typer.Option("-p", "--policy", help="auto, gemini, opencode, regions or sliding")] = "",
    force: Annotated[bool, typer.Option("--force", help="as if asked for with /compress")] = False,
    json: Json = False,
    model: Model = "",
    settings: Set = None,
    cwd: Cwd = "",
) -> None:
    """What a policy would do with a session now, calling no model."""
    program = Program(Options(cwd=cwd, model=model, settings=tuple(settings or ())))
    history = program.history(selector or LAST)
    context = program.config.context
    counts = program.counts_for(history)
    limits = limits_of(program.spec_for(history), context)
    made = plan_by(policy or context.policy, view(history), limits, counts, context, forced=force)
    from agentcli.context.lab.shown import plan_json

    if json:
        say_json(plan_json(made))
        return
    for key, value in plan_json(made).items():
        say(f"{key:22} {value}")
