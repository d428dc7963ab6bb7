"""One prompt in an unattended run: the answer to stdout, the exit code to the shell."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import select
import signal
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from threading import Thread
from typing import TYPE_CHECKING

from agentcli.agent.session import AgentSession
from agentcli.core.errors import HANGUP, INTERRUPTED, TERMINATED, AgentError, InputError, ModelError
from agentcli.core.event import Noticed, TurnEnded
from agentcli.frontends.headless.commands import print_command, turn_of
from agentcli.frontends.headless.output import Headless
from agentcli.frontends.run.events import SCHEMA_VERSION, InitEvent, ServerStatus
from agentcli.frontends.run.results import conclusion
from agentcli.frontends.terminal.reading import reading, reports_on
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.system.logs import error_text

if TYPE_CHECKING:
    from agentcli.program.feature import WrapTurn

STDIN_WAIT = 3.0
"""Seconds without input on stdin after which a run reports that it waits.

If a prompt was given and stdin is not a pipe, it continues without input.
"""
MOST_STDIN = 100_000_000
"""Maximum bytes of stdin; more is refused."""
TWICE = 1.0
"""A second Ctrl-C within this many seconds ends the program at once."""
STUCK = 4.0
"""Seconds after which a write counts as having no reader, once the run is to end."""
LIFELINE = "AGENTCLI_LIFELINE"
"""Variable with the number of a pipe's end.

When the other end closes, the program that started this run has ended, and the run ends as by SIGTERM.
"""


def print_mode(program: Program, options: Options) -> int:
    """Answer one prompt without a REPL. The result is printed last, also before an unexpected error is raised."""
    # Read before the loop runs, so that a signal can interrupt the wait for stdin.
    with program.preparing():
        texts = options.prompts("" if options.goal and options.prompt is None else read_prompt(options.prompt))
        for text in texts:
            print_command(text, program, _own(options, text))
        around = program.wraps()  # refuses unusable options before anything starts
    front = Headless(options.output_format)
    try:
        return asyncio.run(_print(program, options, texts, around, front))
    except (AgentError, BrokenPipeError):
        raise
    except Exception as error:
        # An unexpected error keeps its traceback; the output's reader still gets the final result, without values in
        # it.
        with contextlib.suppress(OSError):
            front.finish(error=AgentError(error_text(error)))
        raise


async def _print(
    program: Program, options: Options, texts: Sequence[str], around: Sequence[WrapTurn], front: Headless
) -> int:
    interrupt = asyncio.Event()
    with _signals(interrupt, front) as caught:
        with program.preparing(), reports_on() as report:
            session = program.sessions.begin(reading(report))
        await session.prepare(interrupt)
        front.begin(init_event(session))
        for note in session.notes:
            front.warn(note)
        if options.handoff is not None:
            session = await _handed_off(program, session, options.handoff, interrupt, front)
        try:
            late = at_time_limit(session, interrupt)
            ended = await _say(program, session, texts, around, interrupt, front)
            if late is not None:
                late.cancel()
            return _finish(session, ended, front, caught)
        finally:
            await session.end("other")
            program.close_parts()


def init_event(session: AgentSession) -> InitEvent:
    """Return the first event of a run with this session."""
    return InitEvent(
        schema_version=SCHEMA_VERSION,
        session_id=session.journal.id,
        model=session.core.model.name,
        cwd=str(session.cwd),
        mode=session.core.approval.mode,
        tools=tuple(str(tool["name"]) for tool in session.history.tools),
        mcp_servers=tuple(ServerStatus(state.name, state.status) for state in session.servers),
        sandbox=session.core.setup.permissions.sandbox,
    )


async def _handed_off(
    program: Program, session: AgentSession, following: str, interrupt: asyncio.Event, front: Headless
) -> AgentSession:
    """Return a new session that continues this one, or this one if the handoff was interrupted."""
    await session.compactor.hand_off(interrupt, front.heard, following)
    if session.compactor.handoff is None:
        return session
    fresh = program.sessions.hand_off(session, session.compactor.handoff)
    front.show(Noticed(f"Session {fresh.journal.id} continues {session.journal.id}:\n{session.compactor.handoff.text}"))
    front.goes_on_as(fresh.journal.id)
    await session.end("clear")
    return fresh


async def _say(
    program: Program,
    session: AgentSession,
    texts: Sequence[str],
    around: Sequence[WrapTurn],
    interrupt: asyncio.Event,
    front: Headless,
) -> TurnEnded:
    """Send one prompt after the other, as long as each is answered; `around` wraps the last one's turn."""
    ended = TurnEnded("failed")
    for number, text in enumerate(texts, 1):
        own, wrapping = _own(program.options, text), around if number == len(texts) else ()
        ended = await turn_of(program, session, text, own, wrapping)(interrupt, front.heard)
        if ended.ending != "done":
            break
    return ended


def _own(options: Options, text: str) -> str | None:
    """Return the part of a prompt given as an argument, if input was piped in before it.

    Return None for all of it.
    """
    given = options.prompt
    return given if given not in (None, "-") and text.endswith(str(given)) else None


def _finish(session: AgentSession, ended: TurnEnded, front: Headless, caught: list[int]) -> int:
    how = conclusion(ended, session.core.spending.limits.seconds, caught[0] if caught else 0)
    journal, error, cure = session.journal, how.error, ""
    later = isinstance(error, ModelError) and (error.retryable or error.cause == "auth")
    if later and journal.folder is not None and not journal.trouble():
        cure = f"`agentcli resume {journal.id}` continues this run."
    return front.finish(error=error, subtype=how.subtype, exit_code=how.exit_code, cure=cure)


def at_time_limit(session: AgentSession, interrupt: asyncio.Event) -> asyncio.TimerHandle | None:
    """Let the run's time limit interrupt it; None if it has none."""
    left = session.core.spending.limits.left()
    return None if left is None else asyncio.get_running_loop().call_later(left, interrupt.set)


def read_prompt(given: str | None) -> str:
    """Read the whole prompt: piped stdin first, then `given`; `-` or nothing reads only stdin.

    Raises InputError if it is empty.
    """
    alone = given is None or given == "-"
    piped = "" if sys.stdin is None or sys.stdin.isatty() else _stdin(needed=alone)
    typed = "" if alone else given or ""
    text = "\n\n".join(part for part in (piped.strip("\n"), typed) if part.strip())
    if not text.strip():
        raise InputError("No prompt. Give one after -p, or pipe it in.")
    return text


def _stdin(needed: bool) -> str:
    """Read all of stdin.

    A pipe is read as long as a program has it open for writing. That program may work for minutes before it prints.

    Sockets and devices, which other programs keep open without using them, count as empty unless they are `needed`.
    """
    try:
        if not select.select([sys.stdin], [], [], STDIN_WAIT)[0]:
            if not needed and not stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
                print("agentcli: no input on stdin, continuing without it.", file=sys.stderr)
                return ""
            print("agentcli: waiting for piped input. To run without it, add </dev/null.", file=sys.stderr, flush=True)
        piped = sys.stdin.buffer.read(MOST_STDIN + 1)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise InputError(f"Can't read stdin: {error.strerror}.") from error
        return ""  # open for writing only, as under nohup
    if len(piped) > MOST_STDIN:
        raise InputError(
            f"There are more than {MOST_STDIN // 1_000_000} MB on stdin. Save them in a file and name it in the prompt."
        )
    if not piped:
        return ""
    from agentcli.core.text.terminal import console_text

    return console_text(piped)


@contextlib.contextmanager
def _signals(interrupt: asyncio.Event, front: Headless) -> Iterator[list[int]]:
    """Let SIGINT and SIGTERM end the turn in order; the yielded list gets their exit code. A second signal ends at once.

    So does a single signal if no program reads the output.
    """
    loop = asyncio.get_running_loop()
    stopping = _Stopping(interrupt, front)
    wanted = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED, signal.SIGHUP: HANGUP}
    # Signals ignored by nohup, or by a shell for background jobs, stay ignored.
    codes = {number: code for number, code in wanted.items() if signal.getsignal(number) != signal.SIG_IGN}
    for number, code in codes.items():
        loop.add_signal_handler(number, stopping.stop, code)
        signal.signal(number, lambda *_, code=code: stopping.hear(code))
    lifeline = _lifeline()

    def lost() -> None:
        loop.remove_reader(lifeline)
        stopping.stop(TERMINATED)

    if lifeline >= 0:
        loop.add_reader(lifeline, lost)
    try:
        yield stopping.caught
    finally:
        for number in codes:
            loop.remove_signal_handler(number)
        if lifeline >= 0:
            loop.remove_reader(lifeline)


class _Stopping:
    """Orderly end of a run at a signal; `caught` gets its exit code."""

    def __init__(self, interrupt: asyncio.Event, front: Headless) -> None:
        self._interrupt, self._front = interrupt, front
        self.caught: list[int] = []
        self._last = -TWICE

    def stop(self, code: int) -> None:
        """End the turn, or the process if another signal came just before."""
        now = time.monotonic()
        if now - self._last < TWICE:
            os._exit(code)
        self._last = now
        self.caught.append(code)
        self._end_if_stuck(code)
        self._interrupt.set()

    def hear(self, code: int) -> None:
        """Notice a signal that the loop does not, because a write waits for its reader."""
        if self._front.is_stuck(0):
            self._end_if_stuck(code)

    def _end_if_stuck(self, code: int) -> None:
        Thread(target=_end_once_stuck, args=(self._front, code), daemon=True).start()


def _end_once_stuck(front: Headless, code: int) -> None:
    """End the process once a write has waited for `STUCK` seconds; everything is stored."""
    while not front.is_stuck(STUCK):
        time.sleep(STUCK / 10)
    os._exit(code)


def _lifeline() -> int:
    """Return the descriptor of the pipe to watch; -1 if the environment has none."""
    given = os.environ.pop(LIFELINE, "")
    try:
        return int(given) if stat.S_ISFIFO(os.fstat(int(given)).st_mode) else -1
    except (ValueError, OSError):
        return -1
