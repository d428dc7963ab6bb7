"""Commands of the bash tool.

Each has its own shell and sandbox, and is watched until all its processes have ended.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from agentcli.core.errors import ToolError
from agentcli.core.message import FOR_MODEL, Status
from agentcli.core.tasks import start_task
from agentcli.core.tool import (
    NO_OUTPUT,
    Boxed,
    LinePart,
    ToolContext,
    ToolLimits,
    ToolOutput,
    Wrap,
)
from agentcli.system.process import Command, Ended, Sink, Why, run
from agentcli.system.programs import environment, find_program, hardened
from agentcli.tools.jobs import Fresh, Job, Jobs, waiting_time
from agentcli.tools.lib.command_notes import (
    KEPT_IN,
    LACKS,
    NOBODY,
    REFUSED,
    blocked_by_sandbox,
    credentials_missing,
    hidden_in_pipe,
    hidden_unless_named,
    in_environment,
    is_held,
    made_protected,
    needs_terminal,
    notes_on,
    with_cause,
    with_protected_files,
    with_sandbox_notes,
)
from agentcli.tools.lib.files import with_files_seen
from agentcli.tools.lib.line_parts import TOLD, Surroundings, in_one
from agentcli.tools.lib.output_buffer import OutputBuffer

WAKES = 'bash_output(id, wake_on="REGEX") tells you of matching lines as they come.'
_MOVE = 'cd -- "$1" && shift && exec "$@"'
_TICK = 0.1
"""Seconds between two pieces of progress."""
_PROGRESS = 8_000
"""Maximum bytes of output shown as progress at each tick."""


async def run_command(ctx: ToolContext, call_id: str, command: str, timeout: int, *, background: bool) -> ToolOutput:
    """Run a command in the sandbox of the call.

    If it fails there and a person allows it, run it again outside. Raises ToolError.
    """
    sandbox = ctx.scope.sandbox
    prepared = _prepared(ctx, command, sandbox.wrap, sandbox.parts)
    if background:
        started = _in_background(ctx, call_id, command, prepared)
        return _left_later(ctx, started, sandbox.watch(True) if sandbox.watch is not None else tuple)
    outcome = await _watched(ctx, call_id, command, prepared, timeout)
    if LACKS in outcome.output and (note := await asyncio.to_thread(in_environment, outcome.output, ctx.roots)):
        return replace(outcome, output=f"{outcome.output.rstrip()}\n{note}")
    outcome = with_sandbox_notes(outcome, sandbox)
    hosts = sandbox.refused_hosts()
    refused = [why for why, outside in hosts.items() if outside]
    if sandbox.late_hosts is not None and "job" not in outcome.metadata and (late := await sandbox.late_hosts(command)):
        return replace(outcome, output=f"{outcome.output.rstrip()}\n{REFUSED.format(hosts='; '.join(late), next='')}")
    if note := hidden_unless_named(outcome, sandbox):
        return replace(outcome, output=f"{outcome.output.rstrip()}\n{note}")
    reason = blocked_by_sandbox(command, outcome, sandbox) if sandbox.wrap is not None else ""
    if not reason and outcome.status == "error" and outcome.metadata.get("exit_code"):
        reason = refused[0] if refused else credentials_missing(outcome.output) if sandbox.fetches(command) else ""
    leaves = await sandbox.escalate(command, f"it says “{reason}”") if reason and sandbox.escalate else False
    if not leaves:
        if reason and leaves is None and await asyncio.to_thread(is_held, reason, sandbox, ctx.cwd):
            sandbox.held(command, reason)
        after = NOBODY if leaves is None else KEPT_IN
        gated = sandbox.gated and not sandbox.fetches(command)
        outcome = with_cause(outcome, reason if sandbox.escalate else "", tuple(hosts), after, gated=gated)
        return await asyncio.to_thread(with_files_seen, ctx, command, outcome)
    again = with_sandbox_notes(
        await _run(ctx, call_id, command, _prepared(ctx, command, sandbox.outside), timeout), sandbox
    )
    return replace(
        again, output=f"[run again outside the sandbox, as the user allowed: it says “{reason}”]\n{again.output}"
    )


async def _run(ctx: ToolContext, call_id: str, command: str, prepared: Command, timeout: int) -> ToolOutput:
    seconds = waiting_time(timeout, ctx.limits) or ctx.limits.bash_timeout
    capture = OutputBuffer(ctx.limits, lambda text: ctx.keep_output(call_id, text), call_id)
    stream = _ProgressSink(capture, lambda text: ctx.progress(call_id, text))
    jobs, started = ctx.service(Jobs), time.monotonic()
    reached: list[Why] = []

    def goes_on(why: Why) -> bool:
        if jobs is None or jobs.full:
            return False
        reached.append(why)
        return True

    with (jobs or Jobs()).watched() as away:
        limits = seconds, ctx.limits.bash_idle
        process = start_task(run(prepared, stream, *limits, away, goes_on))
        sent_away = await _ends_or(away, process)
    if sent_away and jobs is not None:
        why = _as_job(reached[0] if reached else None, *limits)
        return _sent_away(jobs.adopt(command, capture, process, started), stream, why, ctx.limits)
    try:
        ended = await process
    finally:
        capture.close()
        stream.close()
    return _outcome(capture, ended, seconds, ctx.limits)


async def _ends_or(away: asyncio.Event, process: asyncio.Task[Ended]) -> bool:
    """Wait until the command ends or moves to the background; return True for the latter.

    Cancelling this ends the command.
    """
    sent = start_task(away.wait())
    try:
        await asyncio.wait((process, sent), return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        process.cancel()
    finally:
        sent.cancel()
    return away.is_set() and not process.done() and not process.cancelling()


def _as_job(reached: Why | None, seconds: float, idle: float) -> str:
    """Return why a command becomes a job, up to the job's id; the user's wish unless it `reached` a limit."""
    match reached:
        case "timeout":
            return f"still running after {seconds:g} s, as"
        case "idle":
            return f"nothing printed for {idle:g} s; if it waits for input, there is none. Still running as"
        case _:
            return "the user sent it to the background as"


def _sent_away(job: Job, stream: _ProgressSink, why: str, limits: ToolLimits) -> ToolOutput:
    stream.hand_over(Fresh(job, limits.bash_output))
    so_far = job.capture.text().rstrip("\n")
    hint = "; bash_output shows what follows or waits for it, bash_stop ends it; you are told when it ends"
    note = f"[{why} {job.id}{hint}]"
    return ToolOutput(
        "\n".join(filter(None, (so_far, note))),
        truncated=job.capture.cut,
        output_file=job.capture.file,
        metadata={"job": job.id, FOR_MODEL: hint},
    )


def _environment(ctx: ToolContext) -> dict[str, str]:
    """Return the environment, hardened for a command that runs unasked: no repository file may choose a program for it."""
    known = environment(ctx.env, ctx.limits.bash_secrets) | dict(ctx.scope.variables)
    return hardened(known, ctx.roots) if ctx.scope.sandbox.hardened else known


async def _watched(ctx: ToolContext, call_id: str, command: str, prepared: Command, timeout: int) -> ToolOutput:
    """Run a command, and report the protected files that it created.

    A command that becomes a job reports them at its end.
    """
    watch, ended = ctx.scope.sandbox.watch, False
    created = watch(False) if watch is not None else tuple
    try:
        outcome = await _run(ctx, call_id, command, prepared, timeout)
        ended = True
    finally:
        if not ended:
            created()
    if "job" in outcome.metadata:
        return _left_later(ctx, outcome, created)
    return with_protected_files(outcome, await asyncio.to_thread(created)) if watch is not None else outcome


def _left_later(ctx: ToolContext, outcome: ToolOutput, created: Callable[[], Sequence[str]]) -> ToolOutput:
    """Let a job report at its end which protected files it created."""
    if (jobs := ctx.service(Jobs)) is not None:
        jobs.get(outcome.metadata["job"]).at_end = lambda: made_protected(created())
    return outcome


def _prepared(ctx: ToolContext, command: str, wrap: Wrap | None, parts: Sequence[LinePart] = ()) -> Command:
    if not command.strip():
        raise ToolError("The command is empty.")
    if "\0" in command:
        raise ToolError("The command has a NUL character in it.")
    interactive = needs_terminal(command)
    if interactive:
        raise ToolError(
            f"{interactive} needs a terminal, and commands have none. "
            "Use the read and edit tools for files, or a program that does its work without asking."
        )
    shell = find_program("bash", ctx.roots, ctx.env.get("PATH")) or "/bin/bash"
    env = _environment(ctx)
    if parts and wrap is not None and ctx.scope.sandbox.recorder is not None:
        known = hardened(env, ctx.roots)
        around = Surroundings(
            shell, ctx.cwd, ctx.roots, env, known, ctx.scope.sandbox.recorder, ctx.scope.sandbox.leaving
        )
        boxed = in_one(parts, lambda text: _shell(ctx, shell, text), wrap, around)
        return Command((), ctx.cwd, env).within(boxed)
    argv = _shell(ctx, shell, command)
    boxed = wrap(argv) if wrap else Boxed(argv)
    if not re.search(_PIPE_OR_JOB, command) or "BASH_ENV" in env:
        return Command(argv, ctx.cwd, env).within(boxed)
    env["BASH_ENV"] = f"/dev/fd/{_READ_FIRST}"
    told = Command(argv, ctx.cwd, env, files={_READ_FIRST: _TELL_ENDS.encode()}, tells=TOLD)
    return told.within(boxed)


_PIPE_OR_JOB = r"\||(?<![&>])&(?![&>])"
_READ_FIRST = 198
"""The descriptor that bash reads before a command with pipes or jobs, which makes it report at its end."""
_TELL_ENDS = (
    f"exec {_READ_FIRST}<&-; unset BASH_ENV; "
    f"trap '{{ case $BASHPID in $$) printf %s \"${{PIPESTATUS[*]}};$(jobs -rp)\" >&{TOLD};; esac; }} 2>/dev/null' EXIT\n"
)
"""Makes bash report the exit code of each part of its last pipe, and the jobs that still run.

The exit code of bash is only that of the last part. A sandbox ends the jobs with bash, before anything outside counts
them. A signal may run the trap in a child, which reports nothing.
"""


def _shell(ctx: ToolContext, shell: str, command: str) -> Sequence[str]:
    """Return the words that run a command in a shell; a sandbox starts everything in the session's folder."""
    argv = [shell, "--noprofile", "--norc", "-c", command]
    if ctx.scope.folder is None:
        return argv
    # A privileged shell leaves BASH_ENV to the one that it becomes.
    return [shell, "--noprofile", "--norc", "-p", "-c", _MOVE, "bash", str(ctx.scope.folder), *argv]


def _in_background(ctx: ToolContext, call_id: str, command: str, prepared: Command) -> ToolOutput:
    jobs = ctx.service(Jobs)
    if jobs is None:
        raise ToolError("There are no background jobs here. Run it without run_in_background.")
    job = jobs.start(command, prepared, ctx.limits, lambda text: ctx.keep_output(call_id, text))
    hint = f" bash_output shows what it prints, bash_stop ends it; you are told when it ends. {WAKES}"
    return ToolOutput(
        f"Started in the background as {job.id}.{hint}",
        metadata={"job": job.id, FOR_MODEL: hint},
    )


def _outcome(capture: OutputBuffer, ended: Ended, seconds: float, limits: ToolLimits) -> ToolOutput:
    text = capture.text()
    exits, _, jobs = ended.told.partition(";")
    parts = _parts(exits)
    notes = notes_on(text, replace(ended, left=max(ended.left, len(jobs.split()))), seconds, limits)
    if not text and parts and ended.exit_code == 0:
        notes += hidden_in_pipe(parts["parts"])
    status: Status = "interrupted" if ended.why == "interrupted" else "success" if ended.exit_code == 0 else "error"
    if ended.why in ("timeout", "idle"):
        status = "error"
    body = text.rstrip("\n") if notes else text
    return ToolOutput(
        "\n".join([*([body] if body else []), *notes]) or NO_OUTPUT,
        status=status,
        truncated=capture.cut,
        output_file=capture.file,
        metadata={
            "exit_code": ended.exit_code,
            "seconds": round(ended.seconds, 3),
            "bytes": capture.size,
            **parts,
        },
    )


def _parts(told: str) -> dict[str, list[int]]:
    """Return the exits of the parts of the pipe with which a command ended, if it did."""
    exits = [int(word) for word in told.split() if word.isdigit()]
    return {"parts": exits} if len(exits) > 1 else {}


class _ProgressSink:
    """A sink that captures an output and reports progress.

    It reports once a tick, and only the newest bytes, so that large outputs do not slow the command.
    """

    def __init__(self, capture: OutputBuffer, show: Callable[[str], None]) -> None:
        self.capture = capture
        self._sink: Sink = capture
        self._show: Callable[[str], None] | None = show
        self._waiting = b""
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def enough(self) -> int:
        return self._sink.enough

    def add(self, piece: memoryview, skipped: int) -> None:
        self._sink.add(piece, skipped)
        if self._show is None:
            return
        self._waiting = bytes(piece[-_PROGRESS:]) if len(piece) >= _PROGRESS else (self._waiting + piece)[-_PROGRESS:]
        wait = self._last + _TICK - time.monotonic()
        if wait <= 0:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(wait, self._flush)

    def close(self) -> None:
        self._flush()

    def hand_over(self, sink: Sink) -> None:
        """Stop showing progress; send all further output to `sink`."""
        self._flush()
        self._sink, self._show = sink, None

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            self._last = time.monotonic()
            text, self._waiting = self._waiting.decode("utf-8", "replace"), b""
            if self._show is not None:
                self._show(text)
