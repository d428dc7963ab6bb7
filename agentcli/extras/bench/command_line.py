"""`agentcli bench`: a set of tasks with checks, run with models, prompts and settings; rates with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentcli.extras.bench.flags import BenchFlags, Jobs
from agentcli.program.command_line.flags import Json, taking

app = typer.Typer(no_args_is_help=False, rich_markup_mode=None)
Named = Annotated[str, typer.Option("-m", "--model", metavar="MODEL", help="provider/model or alias")]
Count = Annotated[int | None, typer.Option("--tasks", min=1, metavar="N", help="run at most N tasks")]
Dry = Annotated[bool, typer.Option("--dry-run", help="print the command, start nothing")]


@app.command("run")
@taking(BenchFlags)
def run(asked: BenchFlags) -> int:
    """Run a set of tasks, and show the share that pass.

    It first shows the maximum cost, and asks whether to begin. The same command continues a stopped run; finished runs are not repeated. See
    `agentcli help bench`.
    """
    from agentcli.extras.bench import commands

    return commands.run(asked)


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(metavar="RUN", help="a folder of a run, or LAST")] = "LAST",
    task: Annotated[str, typer.Argument(metavar="TASK", help="a task, or one run of it")] = "",
    json_: Json = False,
) -> None:
    """Show the table of a run, and why runs failed.

    With TASK it shows the steps of its runs and the output of its check. For a single run it also shows the session.
    """
    from agentcli.extras.bench import commands

    commands.show(name, task, json_)


@app.command("export")
def export(
    name: Annotated[str, typer.Argument(metavar="RUN", help="a folder of a run, or LAST")] = "LAST",
    folder: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="write to this folder (default: in the run)")
    ] = None,
    keep_secrets: Annotated[bool, typer.Option("--keep-secrets", help="do not redact secrets")] = False,
) -> None:
    """Write a run as logs of Inspect AI.

    There is one for each variant; `inspect view` shows them.
    """
    from agentcli.extras.bench import commands

    commands.export(name, folder, keep_secrets)


@app.command("terminal-bench")
def terminal_bench(
    model: Named = "",
    tasks: Count = None,
    dataset: Annotated[str, typer.Option(metavar="NAME", help="a Harbor dataset")] = "terminal-bench@2.0",
    workers: Jobs = 4,
    package: Annotated[str, typer.Option(metavar="WHEEL", help="the wheel of agentcli to install in containers")] = "",
    dry: Dry = False,
) -> int:
    """Run Terminal-Bench with Harbor, and show the rate.

    Harbor runs through uvx, in containers of docker.
    """
    from agentcli.extras.bench.harbor_run import run_harbor

    return run_harbor(dataset, model, tasks or 0, workers, package, dry)


@app.command("swebench")
def swebench(
    model: Named = "",
    tasks: Count = None,
    dataset: Annotated[str, typer.Option(metavar="NAME", help="a Harbor dataset")] = "swebench-verified@1.0",
    workers: Jobs = 4,
    package: Annotated[str, typer.Option(metavar="WHEEL", help="the wheel of agentcli to install in containers")] = "",
    dry: Dry = False,
) -> int:
    """Run SWE-bench Verified with Harbor.

    Harbor runs through uvx, in containers of docker; the rate is shown.
    """
    from agentcli.extras.bench.harbor_run import run_harbor

    return run_harbor(dataset, model, tasks or 0, workers, package, dry)
