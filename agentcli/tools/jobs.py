"""Background jobs: commands that run while the model does other work, and the tools that read and stop them."""

from __future__ import annotations

import asyncio
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.schema import Unlisted
from agentcli.core.tasks import run_beside
from agentcli.core.tool import Behaviour, ToolContext, ToolLimits, ToolOutput, Traits
from agentcli.tools.entry import Entry

if TYPE_CHECKING:
    from agentcli.system.process import Command, Ended
    from agentcli.tools.lib.output_buffer import OutputBuffer


class Listener(ABC):
    """Reads the output of a background job as it comes."""

    @abstractmethod
    def add(self, piece: memoryview) -> None:
        """Take a piece of the output."""

    @abstractmethod
    async def finish(self) -> None:
        """Hear that the output has ended."""

    @abstractmethod
    def news(self) -> Sequence[str]:
        """Return texts for the model that are new since the last call."""

    @property
    @abstractmethod
    def wakes_with(self) -> str:
        """The line with which the output wakes the model now; empty if it does not."""


@dataclass(frozen=True, slots=True)
class Wakes:
    """The service of `wake_on`."""

    watch: Callable[[Job, str, float], None]
    """Wakes the model with lines of a job that match a pattern. Its last argument limits a search in seconds.

    Raises ToolError for an invalid pattern.
    """


@dataclass(slots=True)
class Job:
    """A command in the background. `ended` is None while it runs; `started` is in monotonic seconds."""

    id: str
    command: str
    capture: OutputBuffer
    fresh: bytearray = field(default_factory=bytearray)
    missed: int = 0
    ended: Ended | None = None
    reported: bool = False
    started: float = field(default_factory=time.monotonic)
    task: asyncio.Task[None] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Metadata of the result that first shows the job's end."""
    end_shown: bool = False
    """True once a result has shown the job's end."""
    listener: Listener | None = None
    awaited: bool = False
    """True if an unattended run waits for its end."""
    at_end: Callable[[], str] = str
    """Returns a note for the model about what the command left behind, once it has ended."""

    @property
    def state(self) -> str:
        """The state: `running`, `done`, `failed (exit code 2)` or `stopped`."""
        if self.ended is None:
            return "running"
        if self.ended.why != "exit":
            return "stopped"
        return "done" if self.ended.exit_code == 0 else f"failed (exit code {self.ended.exit_code})"


class Jobs:
    """Background jobs of one session; the agent passes them to its calls as `ToolContext.jobs` and closes them at the
    end.
    """

    def __init__(self, most: int = 20) -> None:
        self._jobs: dict[str, Job] = {}
        self._most = most
        self._watched: set[asyncio.Event] = set()

    def start(self, command: str, prepared: Command, limits: ToolLimits, keep: Callable[[str], str]) -> Job:
        """Start a command. Raises ToolError if too many are running."""
        from agentcli.tools.lib.output_buffer import OutputBuffer

        if self.full:
            raise ToolError(f"{len(self.running())} background jobs are running, the maximum. Stop one with bash_stop.")
        job = self._new(command, OutputBuffer(limits, keep))
        job.task = run_beside(_run(job, prepared, limits.bash_output))
        return job

    @contextmanager
    def watched(self) -> Iterator[asyncio.Event]:
        """Yield an event while a command is awaited; it is set when the user sends the command to the background."""
        away = asyncio.Event()
        self._watched.add(away)
        try:
            yield away
        finally:
            self._watched.discard(away)

    def send_away(self) -> bool:
        """Send awaited commands to the background; return False if there is none."""
        for away in self._watched:
            away.set()
        return bool(self._watched)

    def adopt(
        self,
        command: str,
        capture: OutputBuffer,
        process: asyncio.Task[Ended],
        started: float,
        *,
        awaited: bool = False,
    ) -> Job:
        """Make a job of a command that has been running since `started` (monotonic seconds).

        Its output must go to the job's `Fresh`.
        """
        job = self._new(command, capture)
        job.started, job.awaited = started, awaited
        job.task = run_beside(_finish(job, process))
        return job

    def all(self) -> Sequence[Job]:
        """Return every job of the session, oldest first."""
        return tuple(self._jobs.values())

    def running(self) -> Sequence[Job]:
        """Return the jobs that have not ended."""
        return [job for job in self._jobs.values() if job.ended is None]

    @property
    def has_listener(self) -> bool:
        """True if the output of a job is listened to."""
        return any(job.listener is not None for job in self._jobs.values())

    @property
    def full(self) -> bool:
        """True if no further command may run in the background."""
        return len(self.running()) >= self._most

    def get(self, id: str) -> Job:
        """Return the job of this id. Raises ToolError if there is none."""
        if id not in self._jobs:
            known = ", ".join(self._jobs) or "none"
            raise ToolError(f"There is no background job {id}: they end with agentcli. Jobs: {known}.")
        return self._jobs[id]

    def finished(self) -> Sequence[Job]:
        """Return the jobs that ended since the last call, each once, to report them to the model."""
        news = [job for job in self._jobs.values() if job.ended is not None and not job.reported]
        for job in news:
            job.reported = True
        return news

    def news(self) -> Sequence[str]:
        """Return texts for the model: news of listeners, and a line about each job that ended since the last call."""
        heard = [text for job in self._jobs.values() if job.listener is not None for text in job.listener.news()]
        return [*heard, *map(_end_of, self.finished())]

    def waking(self) -> Sequence[str]:
        """Return the jobs that wake the model now, each with its line or its end.

        Subagents do so with their ends, and commands only if a listener waits for them.
        """
        found = []
        for job in self._jobs.values():
            line = job.listener.wakes_with if job.listener is not None else ""
            over = job.ended is not None and not job.reported and (job.awaited or job.listener is not None)
            found += [f"{job.id}: {line}" if line else f"{job.id}, which has ended"] if line or over else []
        return found

    async def wait_for_awaited(self) -> bool:
        """Wait until an awaited job has an end that the model does not know; return False if there is none."""
        awaited = [job for job in self._jobs.values() if job.awaited and not job.reported]
        if any(job.ended is not None for job in awaited):
            return True
        running = [job.task for job in awaited if job.task is not None and not job.task.done()]
        if running:
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        return bool(running)

    async def stop(self, id: str) -> Job:
        """End a job with all its processes."""
        job = self.get(id)
        if job.task is not None and not job.task.done():
            job.task.cancel()
            await asyncio.wait([job.task])
        return job

    def abandon(self) -> None:
        """Tell all jobs to end, without waiting for any."""
        for job in self._jobs.values():
            if job.task is not None and not job.task.done():
                job.task.cancel()

    async def close(self) -> None:
        """End all jobs."""
        await asyncio.gather(*(self.stop(job.id) for job in self._jobs.values()))

    def _new(self, command: str, capture: OutputBuffer) -> Job:
        job = Job(f"job-{len(self._jobs) + 1}", command, capture)
        self._jobs[job.id] = job
        return job


def _end_of(job: Job) -> str:
    return f"Background job {job.id} ({job.command}) has ended: {job.state}. bash_output shows what it printed."


def ended_job(text: str) -> tuple[str, int | None] | None:
    """Return the id and exit code of the job whose end a text reports; None for any other text.

    The code of a stopped job is None. Claude Code reports it in an element with the job's id.
    """
    found = re.match(
        r"(?s)Background job (\S+) \(.*\) has ended: (?:(done)|stopped|failed \(exit code (-?\d+)\))\.", text
    ) or re.match(r"(?s)\s*<task-notification>\s*<task-id>([\w-]+)<()(?:.*\(exit code (\d+)\)|)", text)
    return (found[1], 0 if found[2] else int(found[3]) if found[3] else None) if found else None


async def bash_output(
    ctx: ToolContext, call_id: str, id: str, wait: int = 0, wake_on: Annotated[str, Unlisted()] = ""
) -> ToolOutput:
    from agentcli.core.text.terminal import console_text
    from agentcli.core.text.truncate import truncate_bytes

    job = _jobs(ctx).get(id)
    if wake_on and job.ended is None:
        if (wake := ctx.service(Wakes)) is None:
            raise ToolError("wake_on is not available here.")
        wake.watch(job, wake_on, ctx.limits.pattern_seconds)
    if job.task is not None and (seconds := waiting_time(wait, ctx.limits)):
        await asyncio.wait([job.task], timeout=seconds)
    text = console_text(bytes(job.fresh))
    missed = f"[{job.missed:,} bytes before this are left out{job.capture.where()}]\n" if job.missed else ""
    job.fresh.clear()
    job.missed = 0
    job.reported = job.reported or job.ended is not None
    more = job.metadata if job.ended is not None and not job.end_shown else {}
    job.end_shown = job.end_shown or job.ended is not None
    exit_code = job.ended.exit_code if job.ended else None
    output = truncate_bytes(text, ctx.limits.bash_output, "left out")
    woken = f"\n[you are told when it prints a line that matches {wake_on}, and when it ends]" if wake_on else ""
    return ToolOutput(
        f"[{job.id}: {job.state}]\n{missed}{output or '(nothing new)'}{woken if job.ended is None else ''}",
        truncated=bool(missed),
        output_file=job.capture.file,
        metadata={"job": job.id, "state": job.state, "exit_code": exit_code, **more},
    )


async def bash_stop(ctx: ToolContext, call_id: str, id: str) -> ToolOutput:
    jobs = _jobs(ctx)
    already = jobs.get(id).ended is not None
    job = await jobs.stop(id)
    job.reported = True
    return ToolOutput(
        f"[{job.id}: {'had already ended, ' if already else ''}{job.state}]",
        metadata={"job": job.id, "state": job.state},
    )


def waiting_time(given: int, limits: ToolLimits) -> float:
    """Return the seconds to wait for a command, at most `bash_timeout_max`; 0 if none are given.

    A number below 1,000 means seconds, a larger one milliseconds: models used to other programs write 30 or 120.
    """
    seconds = given if given < 1_000 else given / 1_000
    return min(max(0.0, float(seconds)), limits.bash_timeout_max)


def output_title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Output of job-1`."""
    return f"{'Wait for' if given.get('wait') else 'Output of'} {given.get('id', '')}"


def stop_title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Stop job-1`."""
    return f"Stop {given.get('id', '')}"


@dataclass(frozen=True, slots=True)
class Fresh:
    """A sink that captures a job's output, and keeps the newest `limit` bytes until the model has seen them."""

    job: Job
    limit: int
    enough: int = 0

    def add(self, piece: memoryview, skipped: int) -> None:
        self.job.capture.add(piece, skipped)
        if self.job.listener is not None:
            self.job.listener.add(piece)
        fresh = self.job.fresh
        fresh += piece
        surplus = len(fresh) - self.limit
        if surplus > 0:
            del fresh[:surplus]
            self.job.missed += surplus


async def _run(job: Job, prepared: Command, limit: int) -> None:
    from agentcli.system.process import Ended, run

    try:
        ended = await run(prepared, Fresh(job, limit), None, None)
        await _note_end(job)
        if job.listener is not None:
            await job.listener.finish()
        job.ended = ended
    except ToolError as error:
        job.fresh += str(error).encode()
        job.ended = Ended("exit", None, 0.0)
    finally:
        job.capture.close()


async def _note_end(job: Job) -> None:
    if note := await asyncio.to_thread(job.at_end):
        job.fresh += f"\n{note}\n".encode()


async def _finish(job: Job, process: asyncio.Task[Ended]) -> None:
    from agentcli.system.process import Ended

    try:
        ended = await process  # cancelling this lets the process end, in its own time
        await _note_end(job)
        if job.listener is not None:
            await job.listener.finish()
        job.ended = ended
    except ToolError as error:
        job.fresh += str(error).encode()
        job.ended = Ended("exit", None, 0.0)
    finally:
        job.capture.close()


def _jobs(ctx: ToolContext) -> Jobs:
    jobs = ctx.service(Jobs)
    if jobs is None:
        raise ToolError("There are no background jobs here.")
    return jobs


BASH_OUTPUT = Entry("bash_output", bash_output, output_title, Traits("none", behaviour=Behaviour(polls=True)))
BASH_STOP = Entry("bash_stop", bash_stop, stop_title, Traits("none"))
