"""Starts a run: with a person at a terminal, or without one."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import select
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from threading import Timer
from typing import TYPE_CHECKING

from agentcli.agent.desk import OpenDesk
from agentcli.agent.masking import Masking, known_secrets
from agentcli.app import Program
from agentcli.core.errors import CredentialsError, InputError, LimitReached
from agentcli.core.event import TurnEnded
from agentcli.options import Options
from agentcli.paths import folder
from agentcli.providers.connect import warm
from agentcli.ui.attach import prompt as with_attachments
from agentcli.ui.headless import INTERRUPTED, TERMINATED, Headless

if TYPE_CHECKING:
    from agentcli.ui.early import EarlyTerminal
    from agentcli.ui.terminal import Terminal

STDIN_WAIT = 3.0
"""Seconds to wait for the first byte of piped input when a prompt was given as well."""
WARM_AFTER = 0.3
"""Seconds after which the SDK is imported in the background: the editor comes first."""
LOG_BYTES = 1_000_000
"""A longer log is put aside when a run begins; one former log is kept."""
TWICE = 1.0
"""A second Ctrl-C within this many seconds ends the program at once."""


def _log_to(program: Program) -> None:
    """What goes wrong inside goes to a file, masked: nothing but the front end may write to the terminal."""
    path = folder(program.places.state) / "agentcli.log"
    with contextlib.suppress(OSError):
        if path.exists() and path.stat().st_size > LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
        handler = logging.FileHandler(path, encoding="utf-8", delay=True)
        handler.addFilter(Masking(known_secrets(program.env)))
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        logging.getLogger().addHandler(handler)
        logging.captureWarnings(True)


def start(options: Options, early: EarlyTerminal | None = None) -> int:
    """Run as the command line asks and return the exit code. Raises InputError where a person is needed and nobody is there.

    `early` is a terminal that shows the prompt already, and echoes keys while we load.
    """
    if options.demo:
        from agentcli.demo import play

        return play(options, early)
    if options.session == "" and options.print:
        raise InputError("Which session? Give an id, a unique beginning of one, or a name; or use --last.")
    return run_options(options, early)


def run_options(options: Options, early: EarlyTerminal | None = None) -> int:
    """Run with these options and return the exit code."""
    if options.print:
        program = Program(options)
        _log_to(program)
        return print_mode(program, options)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError("There is no terminal to talk on. Use -p for a prompt without one.")
    return repl(options, early)


def repl(options: Options, early: EarlyTerminal | None = None) -> int:
    """A session with a person at a terminal."""
    try:
        load = partial(_sit_down, options, early)
        program, terminal, desk = early.during(load) if early else load()
    except CredentialsError as error:
        if early is not None:
            early.leave()
        return _offer_demo(error, options)
    # The SDK takes a second to import: that happens while the person types, not while the first answer is waited for.
    warming = Timer(WARM_AFTER, warm, [desk.model.kind])
    warming.daemon = True
    warming.start()
    return asyncio.run(terminal.run(program, desk, (_first(options), *options.then)))


def _sit_down(options: Options, early: EarlyTerminal | None) -> tuple[Program, Terminal, OpenDesk]:
    """Everything a session needs, loaded and put together."""
    from agentcli.ui.settings import from_config
    from agentcli.ui.terminal import Terminal

    program = Program(options)
    _log_to(program)
    terminal = Terminal(from_config(program.setting, program.places.state), early)
    program.approve, program.ask = terminal.approve, terminal.ask_user
    # Without a name, `resume` opens a fresh session and lets the person pick.
    return program, terminal, program.new() if options.session == "" else program.begin()


def _first(options: Options) -> str:
    return "/resume" if options.session == "" else options.prompt or ""


def _offer_demo(error: CredentialsError, options: Options) -> int:
    """Without a key: how to set one, and something to look at meanwhile."""
    print(error, file=sys.stderr)
    try:
        answer = input("Start the demo now? [y/N] ")
    except EOFError:
        answer = ""
    if answer.strip().lower() not in ("y", "yes"):
        return error.exit_code
    return start(Options(demo=True, plain=options.plain))


def print_mode(program: Program, options: Options) -> int:
    """One prompt without a REPL. Whatever happens, the result is printed last."""
    return asyncio.run(_print(program, options, Headless(options.output_format)))


async def _print(program: Program, options: Options, front: Headless) -> int:
    interrupt = asyncio.Event()
    with _signals(interrupt) as caught:
        text = read_prompt(options.prompt)
        desk = program.begin()
        front.begin(
            session_id=desk.journal.id,
            model=desk.model.name,
            cwd=str(desk.cwd),
            mode=desk.mode,
            tools=[tool.name for tool in desk.tools],
            sandbox=desk.sandbox,
        )
        for warning in program.config.warnings:
            front.warn(warning)
        try:
            late = _at_time_limit(desk, interrupt)
            ended = await _say(desk, (text, *options.then), interrupt, front)
            if late is not None:
                late.cancel()
            return _finish(desk, ended, front, caught)
        finally:
            desk.close()


async def _say(desk: OpenDesk, texts: Sequence[str], interrupt: asyncio.Event, front: Headless) -> TurnEnded:
    """One prompt after the other, as long as each is answered."""
    ended = TurnEnded("failed")
    for text in texts:
        command, _, focus = text.partition(" ")
        compacting = command == "/compress"
        said = with_attachments(text, desk.cwd)
        async for event in desk.compress(focus, interrupt) if compacting else desk.turn(said, interrupt):
            front.show(event)
            if isinstance(event, TurnEnded):
                ended = event
        if ended.ending != "done":
            break
    return ended


def _finish(desk: OpenDesk, ended: TurnEnded, front: Headless, caught: list[int]) -> int:
    match ended.ending:
        case "done":
            return front.finish()
        case "interrupted" if not caught:
            seconds = desk.talk.allowance.seconds or 0.0
            return front.finish(error=LimitReached(f"The limit of {seconds:g} s (--max-time) is reached."))
        case "interrupted":
            return front.finish(
                exit_code=caught[0], subtype="interrupted" if caught[0] == INTERRUPTED else "terminated"
            )
        case "refused":
            return front.finish(exit_code=1, subtype="refused")
        case _:
            return front.finish(error=ended.error)


def _at_time_limit(desk: OpenDesk, interrupt: asyncio.Event) -> asyncio.TimerHandle | None:
    left = desk.talk.allowance.left()
    return None if left is None else asyncio.get_running_loop().call_later(left, interrupt.set)


def read_prompt(given: str | None) -> str:
    """What to ask: piped stdin first, then the prompt; `-` or nothing reads stdin alone. Raises InputError when it is empty."""
    alone = given is None or given == "-"
    piped = "" if sys.stdin is None or sys.stdin.isatty() else _stdin(wait=None if alone else STDIN_WAIT)
    words = "" if alone else given or ""
    text = "\n\n".join(part for part in (piped.strip("\n"), words) if part.strip())
    if not text.strip():
        raise InputError("There is no prompt: give one after -p, or pipe it in.")
    return text


def _stdin(wait: float | None) -> str:
    """All of stdin. With a wait, an end that stays open without sending anything counts as empty."""
    if wait is not None and not select.select([sys.stdin], [], [], wait)[0]:
        print("agentcli: nothing came on stdin, going on without it.", file=sys.stderr)
        return ""
    return sys.stdin.buffer.read().decode("utf-8", errors="replace")


@contextlib.contextmanager
def _signals(interrupt: asyncio.Event) -> Iterator[list[int]]:
    """SIGINT and SIGTERM end the turn in good order; the list holds the exit code they ask for. Twice ends at once."""
    loop = asyncio.get_running_loop()
    caught: list[int] = []
    when: list[float] = []

    def stop(code: int) -> None:
        now = time.monotonic()
        if when and now - when[-1] < TWICE:
            os._exit(code)
        when.append(now)
        caught.append(code)
        interrupt.set()

    codes = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED, signal.SIGHUP: 129}
    for number, code in codes.items():
        loop.add_signal_handler(number, stop, code)
    try:
        yield caught
    finally:
        for number in codes:
            loop.remove_signal_handler(number)
