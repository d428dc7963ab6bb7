"""`agentcli batch`: many tasks, each with its own agent in its own worktree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentcli.extras.batch.flags import BatchFlags
from agentcli.program.command_line.flags import (
    Json,
    taking,
)

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
Out = Annotated[Path, typer.Argument(metavar="OUT", help="the folder of the batch")]
Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="tasks (default: all)")]


@app.command("run")
@taking(BatchFlags)
def run(asked: BatchFlags) -> int:
    """Start or continue a batch.

    Each task runs in its own worktree, in the sandbox; its result is a commit. Run the same command again to
    continue: finished tasks are not repeated, and interrupted ones continue in their sessions. See `agentcli help batch`.
    """
    from agentcli.extras.batch import commands

    return commands.run(asked)


@app.command("status")
def status(out: Out, json_: Json = False) -> None:
    """Show the progress of a batch, also while it runs."""
    from agentcli.extras.batch import commands

    commands.status(out, json_)


@app.command("report")
def report(
    out: Out,
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="html, jsonl or swebench")] = "html",
) -> None:
    """Write results.jsonl, report.html and a page for each session.

    It prints the path of report.html. With --format jsonl or swebench it prints lines. Those of swebench are
    predictions for its harness, one for each finished task.
    """
    from agentcli.extras.batch import commands

    commands.report(out, form)


@app.command("compare")
def compare(
    outs: Annotated[list[Path], typer.Argument(metavar="OUT...", help="folders of batches")], json_: Json = False
) -> None:
    """Compare batches, or the variants of one.

    It shows pass rates, their difference, cost, tokens, steps, time and tasks that flipped.

    The others are compared with the first. Rates have Wilson's interval of 95 %. If both have the same tasks, runs of
    the same task are compared in pairs (Newcombe's paired interval). This interval is narrower because it does not
    count how hard tasks are. Otherwise the runs count as independent.
    """
    from agentcli.extras.batch import commands

    commands.compare(outs, json_)


@app.command("show")
def show(out: Out, id: Annotated[str, typer.Argument(metavar="ID", help="a task")]) -> None:
    """Show a task: its attempts, answer and files."""
    from agentcli.extras.batch import commands

    commands.show(out, id)


@app.command("stop")
def stop(out: Out, ids: Ids = None) -> None:
    """Stop a running batch, or some of its tasks; `run` continues it."""
    from agentcli.extras.batch import commands

    commands.stop(out, ids)


@app.command("merge")
def merge(
    out: Out,
    ids: Ids = None,
    into: Annotated[
        str, typer.Option("--into", metavar="BRANCH", help="merge into this branch (default: agentcli/NAME)")
    ] = "",
) -> int:
    """Merge the results of passed tasks into a branch.

    Nothing is checked out. Conflicting results are left out and listed with their files; the exit code is 1 then.
    """
    from agentcli.extras.batch import commands

    return commands.merge(out, ids, into)


@app.command("clean")
def clean(out: Out) -> None:
    """Remove the worktrees and refs of a batch.

    Its folder and sessions stay.
    """
    from agentcli.extras.batch import commands

    commands.clean(out)
