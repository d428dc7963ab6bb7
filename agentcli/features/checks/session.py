"""Checks in a session: they run around each edit, whose result gets the new findings."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentcli.agent.calls.call import Call, Run, Stage, edited_later
from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart, Unfinished
from agentcli.agent.reply import ReplyBuilder
from agentcli.agent.tool_context import offer
from agentcli.agent.unreadable import shared_sandboxes
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import AgentError
from agentcli.core.event import Warned
from agentcli.core.sanitise import safe_line
from agentcli.core.tasks import start_task, watch_task
from agentcli.core.text.terminal import console_text
from agentcli.core.tool import Boxed
from agentcli.features.checks.configured import Check, configured, in_force
from agentcli.program.config.general import General
from agentcli.program.project import Project
from agentcli.system import probe
from agentcli.system.bounded import run_bounded
from agentcli.system.process import Command
from agentcli.system.programs import environment, find_program
from agentcli.tools.lib.findings import Finding, findings_in, line_shift, new_findings, report

CHARACTERS = 4_000
"""Maximum characters that checks add to one result."""
FILE_BYTES = 5_000_000
"""Size of a file from which it is not checked."""
FILES = 5
"""Maximum files of one edit that are checked."""
FOUND = 1
"""Exit code with which a check, such as a formatter, may report a finding without a line."""
UNTRUSTED = (
    "Checks load code of the folder: none runs until you trust this folder. `agentcli --trust` does for one run."
)
NOT_FOUND = (126, 127)
"""Exit codes of a shell that cannot start a program."""
SECONDS = 10.0
"""Seconds by which checks may delay one edit, all of them together."""
OUTPUT = 1_000_000
"""Maximum bytes that a check may print."""
_HELD = r"(?i)read-only file system|EROFS|permission denied|operation not permitted|EACCES|EPERM"
"""Errors of a program that may not write, or open a socket."""


@dataclass(frozen=True, slots=True)
class Known:
    """Findings of a check, and the content of the file that it has seen."""

    content: bytes | None
    findings: Sequence[Finding]


@dataclass(frozen=True, slots=True)
class _Job:
    """One check of one file: its line, and the state before the edit; None if the check gave none."""

    check: Check
    path: Path
    line: str
    before: Known | None = None


class ChecksSession(SessionPart):
    """Checks of a session's edits: commands, and language servers if they are on."""

    name = "checks"

    def __init__(self, program: Project, core: SessionCore) -> None:
        checks = SessionChecks(program, core)
        self._servers = SessionPart()
        if program.config[General].lsp:
            from agentcli.features.checks.lsp.session import SessionServers

            self._servers = SessionServers(program, core)
        self.stages = [CheckStage(core, checks), *self._servers.stages]
        self.services = [offer(SessionChecks, checks), *self._servers.services]

    def news(self) -> Sequence[str]:
        return self._servers.news()

    def before_end(self, reply: ReplyBuilder) -> Unfinished:
        return self._servers.before_end(reply)

    def closed(self) -> None:
        self._servers.closed()


class SessionChecks:
    """Checks of one session, with their last findings. A check that fails is reported once, and off from then on."""

    def __init__(self, program: Project, core: SessionCore) -> None:
        """Warn about checks of a folder that is not trusted."""
        if not program.trusted and configured(program):
            core.printed.add(Warned(UNTRUSTED))
        self.all: Sequence[Check] = in_force(program)
        self.stopped: dict[Check, str] = {}
        """Checks that are off, each with the reason."""
        self._core = core
        self._writing: set[str] = set()
        self._known: dict[tuple[Check, Path | None], Known] = {}
        self._waiting: dict[tuple[Check, Path], Known] = {}
        """States before edits that a later edit of the same reply follows."""

    def jobs(self, paths: Sequence[Path]) -> Sequence[_Job]:
        """Return the checks to run for files that an edit will change."""
        return [job for path in paths[:FILES] for job in self._jobs(path)]

    def _jobs(self, path: Path) -> Iterator[_Job]:
        cwd = self._core.setup.workspace.cwd.resolve()
        if not path.is_relative_to(cwd):
            return
        name = str(path.relative_to(cwd))
        for check in self.all:
            if check not in self.stopped and check.matches(name):
                yield _Job(check, path, check.line(name))

    async def before(self, jobs: Sequence[_Job], deadline: float) -> Sequence[_Job]:
        """Return the checks with their findings before the edit."""
        return await asyncio.gather(*(self._before(job, deadline) for job in jobs))

    async def _before(self, job: _Job, deadline: float) -> _Job:
        waiting = self._waiting.pop((job.check, job.path), None)
        if waiting is not None:
            return replace(job, before=waiting)
        content = await asyncio.to_thread(_content, job.path)
        known = self._known.get(_key(job))
        if known is not None and (known.content == content or not job.check.by_file):
            return replace(job, before=Known(content, known.findings))
        if content is None and job.check.by_file:
            return replace(job, before=Known(None, ()))
        found = await self._run(job, deadline)
        return replace(job, before=Known(content, found)) if found is not None else job

    def wait(self, jobs: Sequence[_Job]) -> None:
        """Leave the checks to a later edit."""
        for job in jobs:
            if job.before is not None:
                self._waiting[(job.check, job.path)] = job.before

    async def after(self, jobs: Sequence[_Job], deadline: float) -> str:
        """Return the text about the checks' new findings; empty if there are none."""
        texts = await asyncio.gather(*(self._after(job, deadline) for job in jobs if job.before is not None))
        return "\n".join(filter(None, texts))

    async def _after(self, job: _Job, deadline: float) -> str:
        content = await asyncio.to_thread(_content, job.path)
        if (content is None and job.check.by_file) or job.check in self.stopped:
            return ""
        found = await self._run(job, deadline)
        if found is None:
            return ""
        self._known[_key(job)] = Known(content, found)
        assert job.before is not None
        old, new = ((text or b"").split(b"\n") for text in (job.before.content, content))
        moved = line_shift([*map(_text, old)], [*map(_text, new)])
        fresh = new_findings(job.before.findings, found, moved)
        return report(job.line, fresh) if fresh else ""

    async def _run(self, job: _Job, deadline: float) -> Sequence[Finding] | None:
        """Run a check and return its findings; None if it gave none, for a reason that is reported once."""
        ran = await run_check(self._core, job.line, deadline, self._writing)
        trouble = ran.trouble
        if not trouble and ran.exit_code in NOT_FOUND:
            trouble = f"could not run: {safe_line(ran.output.strip())[:200]}"
        found = () if trouble else findings_in(ran.output)
        if not trouble and not any(finding.line for finding in found):
            if ran.exit_code == 0:
                return ()
            if ran.exit_code == FOUND:
                return found
            trouble = f"ended with exit code {ran.exit_code} and names no line: {safe_line(ran.output.strip())[:200]}"
        if trouble:
            self._stop(job.check, trouble)
            return None
        return found

    def _stop(self, check: Check, why: str) -> None:
        if check not in self.stopped:
            self.stopped[check] = why
            text = f"The check `{safe_line(check.command)}` {why}. It is off for the rest of this session."
            self._core.printed.add(Warned(text))


class CheckStage(Stage):
    """Runs checks around edits, within `SECONDS`. Only the last edit of a file in a reply is checked."""

    def __init__(self, core: SessionCore, checks: SessionChecks) -> None:
        self._core, self._checks = core, checks

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            jobs = self._checks.jobs(call.paths) if call.its_tool.traits.edits_files else ()
            if not jobs:
                return await run(call)
            began = time.monotonic()
            jobs = await self._checks.before(jobs, began + SECONDS)
            spent = time.monotonic() - began
            call = await run(call)
            if call.output is None or call.output.status != "success":
                return call
            if edited_later(call, self._core.traits):
                self._checks.wait(jobs)
                return call
            try:
                text = await self._checks.after(jobs, time.monotonic() + SECONDS - spent)
            except asyncio.CancelledError:
                return call  # the edit has taken effect
            text = text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]}…\n[more was left out]"
            return call.with_findings(text)

        return ran


def _key(job: _Job) -> tuple[Check, Path | None]:
    return job.check, job.path if job.check.by_file else None


def _content(path: Path) -> bytes | None:
    """Return the content of a file; None if there is none, or it is too large."""
    try:
        return path.read_bytes() if probe.is_file(path) and path.stat().st_size <= FILE_BYTES else None
    except OSError:
        return None


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Ran:
    """End of a check's command: its output, or in `trouble` the reason why that is meaningless."""

    output: str = ""
    exit_code: int | None = None
    trouble: str = ""


async def run_check(core: SessionCore, line: str, deadline: float, writing: set[str]) -> Ran:
    """Run a command line at most until a moment of the monotonic clock.

    It always runs in the sandbox if one works, in every mode, and never leaves it. It may write in the workspace only
    if it can't do without; `writing` are the lines known to need that. A command that must be stopped ends in the
    background.
    """
    ran = await _ran(core, line, deadline, writes=line in writing)
    if line not in writing and ran.exit_code and re.search(_HELD, ran.output):
        writing.add(line)
        ran = await _ran(core, line, deadline, writes=True)
    return ran


async def _ran(core: SessionCore, line: str, deadline: float, *, writes: bool) -> Ran:
    try:
        command = await asyncio.to_thread(_command, core, line, writes)
    except AgentError as error:
        return Ran(trouble=f"could not run: {error}")
    task = start_task(run_bounded(command, asyncio.Event(), kept=2 * OUTPUT, most=OUTPUT))
    try:
        await asyncio.wait({task}, timeout=max(0.0, deadline - time.monotonic()))
    finally:
        if not task.done():
            task.cancel()
            watch_task(task)
    if not task.done():
        return Ran(trouble=f"was stopped after {SECONDS:g} s, the longest that an edit waits for its checks")
    if (failure := task.exception()) is not None:
        return Ran(trouble=f"could not run: {failure}")
    ended = task.result()
    if ended.trouble:
        return Ran(trouble=ended.trouble)
    return Ran(console_text(ended.output), ended.exit_code)


def _command(core: SessionCore, line: str, writes: bool) -> Command:
    wrap = shared_sandboxes(line, core.approval.rules, "auto", core.setup).own
    shell = find_program("bash", core.ctx.roots, core.ctx.env.get("PATH")) or "/bin/bash"
    argv = [shell, "--noprofile", "--norc", "-c", line]
    boxed = wrap(argv, writes) if wrap is not None else Boxed(argv)
    env = environment(core.ctx.env, core.setup.settings.limits.bash_secrets) | dict(core.hooks.variables)
    return Command(argv, Path(core.ctx.cwd), env).within(boxed)
