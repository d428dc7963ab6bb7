"""Entry point: print the version, paint the prompt before heavy imports, then run the command line."""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, NoReturn, TextIO

from agentcli import __version__


def main(arguments: list[str] | None = None) -> int:
    """Run the program with these arguments (default: the command line's) and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if "nt" in sys.builtin_module_names:
        return _on_windows(given)
    closed = _open_what_is_closed()
    _wait_for_the_other_end()
    if sys.stderr is sys.__stderr__:
        sys.stderr = _stderr()
    for stream in (sys.stdout, sys.stderr):
        _write_anything(stream)
    _print_no_values()
    # Registered early, so that it runs late.
    atexit.register(_end_undisturbed)
    try:
        code = _run(given)
        sys.stdout.flush()
    except KeyboardInterrupt as stop:
        _end_undisturbed()  # another signal would interrupt what follows
        from agentcli.frontends.cli import stopped

        return stopped(stop, given)
    except BrokenPipeError:
        # The reader closed the pipe. Keep Python from reporting it again when it flushes stdout on exit.
        _write_nowhere()
        return 0
    except OSError as error:
        unwritable = (*_FULL, errno.EBADF) if "stdout" in closed else _FULL
        if error.errno not in (unwritable if error.filename is None else _REFUSALS):
            raise
        from agentcli.core.sanitise import safe_line

        _write_nowhere()
        what, cure = "can't write the output", ""
        if error.filename is not None:
            what = f"can't use {safe_line(os.fsdecode(error.filename))}"
            cure = " Free some space there, make it writable, or choose another place."
        print(f"agentcli: {what}: {error.strerror}.{cure}", file=sys.stderr)
        return 1
    except EOFError as error:
        if not _in_import(error):
            raise
        where = sys.pycache_prefix or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        print(f"agentcli: {_CUT_OFF} Delete the __pycache__ folders in {where}, and try again.", file=sys.stderr)
        return 1
    return code


def _on_windows(arguments: list[str]) -> int:
    """Print the version, the help or a page of the manual. Say of anything else that it runs in WSL."""
    for stream in (sys.stdout, sys.stderr):
        _write_anything(stream)
    if arguments[:1] == ["help"] or not {"-h", "--help", "-V", "--version"}.isdisjoint(arguments):
        from agentcli.frontends.cli import run

        return run(arguments)
    if arguments[:1] == ["doctor"]:
        if "--json" in arguments:
            import json

            print(json.dumps([{"what": "system", "ok": False, "detail": _WINDOWS}]))
        else:
            print(f"fail  system: {_WINDOWS}")
    else:
        print(f"agentcli: {_WINDOWS}", file=sys.stderr)
    return 1


_WINDOWS = (
    "agentcli runs on Windows in WSL. Install WSL with `wsl --install`, then agentcli in it; see `agentcli help start`."
)


def process(run: Callable[[], int] = main) -> NoReturn:
    """Run `main` (or another function) as this whole process, and exit with the code that it returns."""
    ended: list[int] = []
    # Registered first, so that it runs last, after everything that has to be cleaned up.
    atexit.register(_exit, ended)
    ended.append(run())
    sys.exit(ended[0])


def _print_no_values() -> None:
    """Print unexpected errors without the values in their messages: Python would print arguments and settings, which may be secrets."""

    def shown(_: object, error: BaseException | None, trace: TracebackType | None) -> None:
        from agentcli.system.logs import print_error

        print_error(error, trace)

    sys.excepthook = shown
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = lambda found: shown(None, found.exc_value, found.exc_traceback)


_CUT_OFF = (
    "a compiled Python file is incomplete: the disk was full, or the size of files limited, when Python wrote it."
)


def _in_import(error: EOFError) -> bool:
    """Return True if Python's import system raised the error.

    Python before 3.12.9 keeps a compiled file of which it could write a part.
    """
    step = error.__traceback__
    while step and step.tb_next:
        step = step.tb_next
    return step is not None and step.tb_frame.f_code.co_filename.startswith("<frozen importlib")


_FULL = (errno.ENOSPC, errno.EDQUOT)
_REFUSALS = (*_FULL, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST)
"""Errors by which a system refuses a file or folder: a traceback would not help."""


def _end_undisturbed() -> None:
    """Ignore signals that would change the exit code: nothing is left to be stopped."""
    import signal

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _exit(ended: Sequence[int]) -> None:
    """Exit without clearing memory object by object, 3 to 5 % of a one-shot: the operating system frees it.

    After an exception there is no code, and Python ends as usual.
    """
    if not ended:
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # Python reports it, with an exit code of its own
    os._exit(ended[0])


_OBJECTS = 200_000
"""Number of objects made before Python looks for garbage among the youngest: more than a start makes.

Hardly any imported or read object is garbage. With 50,000 the search takes a twelfth of a start, and with the default
of 700 a twelfth more.
"""


def _run(arguments: list[str]) -> int:
    if arguments in (["--version"], ["-V"]):
        print(f"agentcli {__version__}")
        return 0
    gc.set_threshold(_OBJECTS)
    early = None
    if _opens_editor(arguments):
        # The prompt is painted before any other check, and removed if it turns out to be wrong.
        from agentcli.frontends.terminal.early import possible, start

        early = start() if possible() else None
    else:
        _stop_at_signals()
    from agentcli.frontends.cli import run

    return run(arguments, early)


class _Beside(io.FileIO):
    """stderr that drops its text if it is closed or its disk is full, and never ends a run."""

    def write(self, data: Any) -> int:
        """Write the bytes, or drop them if that fails."""
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def _stderr() -> TextIO:
    file = io.BufferedWriter(_Beside(2, "w", closefd=False))
    return io.TextIOWrapper(file, errors="backslashreplace", line_buffering=True)


def _write_anything(stream: TextIO) -> None:
    """Write UTF-8 for programs whatever the locale.

    Replace what no encoding has in a model's text, such as half of a surrogate pair.
    """
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")


def _stop_at_signals() -> None:
    """Make SIGTERM and SIGHUP end a run as Ctrl-C does, with a result, until the run installs its own handlers."""
    import signal

    def stop(number: int, _: object) -> None:
        raise KeyboardInterrupt(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, stop)


def _open_what_is_closed() -> list[str]:
    """Open stdin, stdout and stderr if they are closed, so that a session's file never gets one of their numbers.

    Return the names of the closed ones. A closed stdout still cannot be written, so that the caller learns that there is no answer.
    """
    closed = []
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            # This is the lowest free number: the lower ones are open by now.
            os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_RDWR)
            closed.append(name)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - open for as long as we run
    return closed


def _wait_for_the_other_end() -> None:
    """Make stdin, stdout and stderr block.

    If another program has switched that off, Python drops the part that a full pipe does not accept.
    """
    for number in range(3):
        os.set_blocking(number, True)


def _write_nowhere() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _opens_editor(arguments: list[str]) -> bool:
    """Return True if an editor will open, judging by the arguments alone."""
    if any(argument.startswith(NO_EDITOR) for argument in arguments):
        return False
    words = [argument for argument in arguments if not argument.startswith("-")]
    return not words or words[0] not in OTHER_COMMANDS


NO_EDITOR = ("-w", "--worktree", "--bg", "-p", "--print", "--prompt", "-h", "--help", "-V", "--version", "--plain")
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
    "ps",
    "attach",
    "serve",
    "mcp",
    "extensions",
    "hooks",
    "skills",
    "agents",
    "import-config",
    "update",
    "plugins",
    "batch",
    "bench",
)

if __name__ == "__main__":
    # `python -m` has put the start folder first. A project's module there would be imported for one of the same name.
    with suppress(OSError):  # a folder that is gone
        if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:
            del sys.path[0]
    process()
