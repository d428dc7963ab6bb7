"""Entry point: prints the version, paints the prompt before anything heavy is imported, then runs the command line."""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import sys
from typing import Any, TextIO

from agentcli import __version__


def main(arguments: list[str] | None = None) -> int:
    """Run the program with these arguments (default: the command line's) and return its exit code."""
    _open_what_is_closed()
    _wait_for_the_other_end()
    if sys.stderr is sys.__stderr__:
        sys.stderr = _stderr()
    for stream in (sys.stdout, sys.stderr):
        _write_anything(stream)
    given = sys.argv[1:] if arguments is None else arguments
    # Registered first, so that it comes last.
    atexit.register(_end_undisturbed)
    try:
        code = _run(given)
        sys.stdout.flush()
    except KeyboardInterrupt as stop:
        from agentcli.cli import stopped

        return stopped(stop, given)
    except BrokenPipeError:
        # Whoever read us has left. Python would complain once more when it flushes stdout on exit.
        _write_nowhere()
        return 0
    except OSError as error:
        if error.errno not in (_FULL if error.filename is None else _REFUSALS):
            raise
        from agentcli.core.sanitise import safe_line

        _write_nowhere()
        what, cure = "can't write the output", ""
        if error.filename is not None:
            what = f"can't use {safe_line(os.fsdecode(error.filename))}"
            cure = " Free some space there, make it writable, or choose another place."
        print(f"agentcli: {what}: {error.strerror}.{cure}", file=sys.stderr)
        return 1
    return code


_FULL = (errno.ENOSPC, errno.EDQUOT)
_REFUSALS = (*_FULL, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST)
"""Errors by which a system refuses a file or folder: there is nothing to be found in a traceback."""


def _end_undisturbed() -> None:
    """Nothing is left to be done but to end with the exit code, which a signal would now replace, and memory goes with the process."""
    import signal

    gc.freeze()  # else garbage is looked for among all objects, several times: a sixth of the time of a short command
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _run(arguments: list[str]) -> int:
    if arguments in (["--version"], ["-V"]):
        print(f"agentcli {__version__}")
        return 0
    from agentcli.core.garbage import AT_START, collect_after

    collect_after(AT_START)
    early = None
    if _opens_editor(arguments):
        # The prompt is painted before anything else is looked at, and taken back if it turns out to be wrong.
        from agentcli.ui.terminal.early import possible, start

        early = start() if possible() else None
    else:
        _stop_at_signals()
    from agentcli.cli import run

    return run(arguments, early)


class _Beside(io.FileIO):
    """stderr: what stands beside the output is dropped where nobody reads it or no disk takes it, and ends no run."""

    def write(self, data: Any) -> int:
        """Write the bytes, if that can be done."""
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def _stderr() -> TextIO:
    file = io.BufferedWriter(_Beside(2, "w", closefd=False))
    return io.TextIOWrapper(file, errors="backslashreplace", line_buffering=True)


def _write_anything(stream: TextIO) -> None:
    """Programs get UTF-8 whatever the locale; a model's text may hold what no encoding has, such as half of a surrogate pair."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")


def _stop_at_signals() -> None:
    """Until somebody sees to signals, SIGTERM and SIGHUP end a run as Ctrl-C does: with a result."""
    import signal

    def stop(number: int, _: object) -> None:
        raise KeyboardInterrupt(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, stop)


def _open_what_is_closed() -> None:
    """Have stdin, stdout and stderr be open: a session's file must never get the number of one that was closed."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest number that is free is this one: those below have been seen to.
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - open for as long as we run


def _wait_for_the_other_end() -> None:
    """Have stdin, stdout and stderr block: where another program has switched that off, Python drops what a full pipe does not take."""
    for number in range(3):
        os.set_blocking(number, True)


def _write_nowhere() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _opens_editor(arguments: list[str]) -> bool:
    """True if an editor will open, judging by the arguments alone."""
    if any(argument.startswith(NO_EDITOR) for argument in arguments):
        return False
    words = [argument for argument in arguments if not argument.startswith("-")]
    return not words or words[0] not in OTHER_COMMANDS


NO_EDITOR = ("-p", "--print", "--prompt", "-h", "--help", "-V", "--version", "--plain")
OTHER_COMMANDS = (
    "sessions",
    "context",
    "permissions",
    "models",
    "tools",
    "config",
    "doctor",
    "stats",
    "completion",
    "help",
    "auth",
    "acp",
    "mcp",
    "hooks",
    "skills",
    "agents",
    "import-config",
    "plugins",
    "batch",
)

if __name__ == "__main__":
    sys.exit(main())
