"""The command line: flags in, exit code out."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from agentcli.core.errors import INTERRUPTED, AgentError
from agentcli.core.sanitise import safe

if TYPE_CHECKING:
    from agentcli.frontends.headless.output import Format
    from agentcli.frontends.terminal.early import EarlyTerminal
    from agentcli.program.options import Options


def run(arguments: list[str], early: EarlyTerminal | None = None) -> int:
    """Run the program and return its exit code. Every failure that a user can fix is one line on stderr.

    `early` is a terminal that already shows the prompt and echoes keys meanwhile.
    """
    try:
        with _restored(early):
            if arguments[:1] == ["sessions"]:
                from agentcli.frontends.cli.session_list import plainly

                if answer := plainly(arguments):
                    return answer()
            arguments, notes = _in_our_names(arguments)
            if notes and early is not None:
                early.leave()
                early = None
            for note in notes:
                print(f"agentcli: {note}", file=sys.stderr, flush=True)
            parsed = early.during(partial(_parse, arguments)) if early is not None else _parse(arguments)
            if isinstance(parsed, int):
                return parsed  # commands other than sessions have no early terminal
            from agentcli.frontends.cli.launch import start

            return start(parsed, early)
    except AgentError as error:
        return _fail(error, arguments)


def _in_our_names(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return the arguments without names of other agents, and a sentence about each that was there."""
    from agentcli.frontends.cli.arguments import plain_options

    if plain_options(arguments) is not None:
        return arguments, []
    from agentcli.frontends.cli.other_names import are_foreign, translated

    if not are_foreign(arguments):
        return arguments, []
    from agentcli.frontends.cli.parser import COMMANDS

    return translated(arguments, COMMANDS)


def stopped(stop: KeyboardInterrupt, arguments: list[str]) -> int:
    """Print the result for a script if Ctrl-C or another signal came before a session ran; return the exit code."""
    from agentcli.frontends.headless.output import Headless

    code = 128 + stop.args[0] if stop.args else INTERRUPTED
    subtype = "interrupted" if code == INTERRUPTED else "terminated"
    return Headless(_format(arguments)).finish(exit_code=code, subtype=subtype)


def _parse(arguments: list[str]) -> Options | int:
    """Return the options of a run, or the exit code of a command that has run already. Plain arguments need no parser."""
    from agentcli.frontends.cli.arguments import lone_word, plain_options

    if (options := plain_options(arguments)) is not None:
        return options
    if arguments[:1] == ["completion"]:
        from agentcli.frontends.cli.completion import complete

        complete(arguments[1:])
        return 0
    if arguments[:2] == ["agents", "run"] and len(arguments) == 3:
        from agentcli.frontends.agents.running import run_background

        return run_background(arguments[2])  # the parser's packages would stay in its memory
    from agentcli.frontends.cli.parser import COMMANDS, invoke

    if word := lone_word(arguments, COMMANDS):
        from agentcli.frontends.cli.other_commands import refuse_other

        refuse_other(word, COMMANDS)
    return invoke(arguments)


@contextlib.contextmanager
def _restored(early: EarlyTerminal | None) -> Iterator[None]:
    """Restore a terminal from raw mode; clear its prompt if the program did not take it over."""
    try:
        yield
    except BaseException:  # also after Ctrl-C: a terminal left in raw mode is unusable
        if early is not None:
            early.leave()
        raise
    if early is not None:
        early.restore()


def _fail(error: AgentError, arguments: list[str]) -> int:
    """Report what went wrong; for a script that reads JSON, as the result that it waits for."""
    format, notes = _format(arguments), getattr(error, "__notes__", ())
    if format == "text":
        for line in (*notes, str(error)):
            print(f"agentcli: {safe(line)}", file=sys.stderr, flush=True)
        return error.exit_code
    from agentcli.frontends.headless.output import Headless

    front = Headless(format)
    for note in notes:
        front.warn(note)
    return front.finish(error=error)


def _format(arguments: list[str]) -> Format:
    """Return the output format, read without a parser, because the parser itself may have failed."""
    wanted = ""
    for place, argument in enumerate(arguments):
        if argument in ("-o", "--output-format"):
            wanted = "".join(arguments[place + 1 : place + 2])
        elif argument.startswith(("--output-format=", "-o")):
            wanted = argument.removeprefix("--output-format=").removeprefix("-o").removeprefix("=")
    return "json" if wanted == "json" else "stream-json" if wanted == "stream-json" else "text"
