"""Options of `agentcli batch run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentcli.core.dataclass import dataclass
from agentcli.program.command_line.flags import (
    Allow,
    Deny,
    Format,
    MaxCost,
    MaxTime,
    MaxTurns,
    Set,
    Trust,
)


@dataclass(frozen=True, slots=True)
class BatchFlags:
    """The options of `agentcli batch run`."""

    tasks: Annotated[Path | None, typer.Argument(metavar="TASKS", help="a file of JSON lines: id, prompt, …")] = None
    out: Annotated[Path | None, typer.Argument(metavar="OUT", help="folder of the batch (default: ./batch-TIME)")] = (
        None
    )
    each: Annotated[
        str, typer.Option("--each", metavar="GLOB", help="make a task of each file; then only OUT is given")
    ] = ""
    prompt: Annotated[
        str, typer.Option("-p", "--prompt", metavar="TEXT", help="with --each: the prompt; {path} is the file")
    ] = ""
    workers: Annotated[
        int | None,
        typer.Option("-j", "--workers", min=1, metavar="N", help="tasks that run at the same time (default: 4)"),
    ] = None
    cap: Annotated[
        float | None, typer.Option("--max-cost-total", min=0, metavar="USD", help="stop at this total cost in USD")
    ] = None
    attempts: Annotated[
        int, typer.Option(min=1, metavar="N", help="try a task up to N times until its check passes")
    ] = 1
    together: Annotated[
        bool, typer.Option("--together", help="make all attempts at the same time; the best counts")
    ] = False
    check: Annotated[str, typer.Option(metavar="CMD", help="a task passes if this command exits with 0")] = ""
    setup: Annotated[str, typer.Option(metavar="CMD", help="run this command in each tree first")] = ""
    only: Annotated[str, typer.Option(metavar="IDS", help="run only these tasks, separated by commas")] = ""
    isolate: Annotated[
        str, typer.Option(metavar="HOW", help="what each task gets: a worktree, clone, copy or none")
    ] = "worktree"
    unboxed: Annotated[bool, typer.Option("--unboxed", help="run without the sandbox")] = False
    keep: Annotated[str, typer.Option(metavar="WHICH", help="worktrees to keep: failed, all or none")] = "failed"
    retry: Annotated[
        list[str] | None, typer.Option(metavar="WHICH", help="repeat failed, lost or limited tasks, or an id")
    ] = None
    shard: Annotated[str, typer.Option(metavar="I/N", help="run every N-th task from number I on, counted from 0")] = ""
    engine: Annotated[str, typer.Option(metavar="ENGINE", help="run tasks with local, ray or MODULE:FUNCTION")] = (
        "local"
    )
    ray_address: Annotated[
        str, typer.Option("--ray-address", metavar="ADDRESS", help="join a Ray cluster (default: one on this machine)")
    ] = ""
    warm: Annotated[bool, typer.Option("--warm", help="fork agents from a process with their imports done")] = False
    dry: Annotated[bool, typer.Option("--dry-run", help="check everything, start nothing")] = False
    form: Annotated[
        Format, typer.Option("-o", "--output-format", metavar="FORMAT", help="text, json or stream-json")
    ] = Format.text
    models: Annotated[
        list[str] | None,
        typer.Option("-m", "--model", metavar="MODEL", help="provider/model or alias; several run each task with each"),
    ] = None
    repeat: Annotated[int, typer.Option(min=1, metavar="N", help="run each task N times, as separate runs")] = 1
    prompt_files: Annotated[
        list[str] | None,
        typer.Option("--system-prompt-file", metavar="FILE", help="replace the system prompt; several run with each"),
    ] = None
    max_cost: MaxCost = None
    max_turns: MaxTurns = None
    max_time: MaxTime = None
    allow: Allow = None
    deny: Deny = None
    settings: Set = None
    trust: Trust = False
