"""Settings of all tests."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.e2e.program import Program

# How long an example takes depends on what else the machine does. A run repeats the examples of the run before;
# `--hypothesis-profile=search` looks for new ones, and prints the seed of what it finds.
settings.register_profile("agentcli", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("agentcli")

# What git knows about this machine's user decides nothing here: there is no name, and none is guessed from the host's.
os.environ["GIT_CONFIG_GLOBAL"] = os.devnull
os.environ["GIT_CONFIG_SYSTEM"] = str(Path(__file__).with_name("gitconfig"))

# A program that compiled all its modules at each start would take a second longer each time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_configure(config: pytest.Config) -> None:
    """Leave the asserts of a whole run as written: each worker would need half a minute to rewrite those of all files."""
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and config.getoption("numprocesses", 0):
        os.environ["PYTEST_ADDOPTS"] = f"--assert=plain {os.environ.get('PYTEST_ADDOPTS', '')}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the command that shows the values of asserts."""
    if terminalreporter.stats.get("failed") and "--assert=plain" in os.environ.get("PYTEST_ADDOPTS", ""):
        terminalreporter.write_line("To see the values of the asserts: pytest --last-failed -n 0")


def _ignore(number: int, frame: FrameType | None) -> None:
    """Ignore a signal here alone: a handler, unlike SIG_IGN, does not outlive the start of another program."""


# `nohup`, and a shell that starts the tests in the background, have these ignored; programs that a test starts take them as usual.
for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _ignore)


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The time zone of a test, five hours behind UTC in winter."""
    monkeypatch.setenv("TZ", "EST5EDT,M3.2.0,M11.1.0")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Give the program in a home of its own."""
    from tests.e2e.program import Program

    return Program(tmp_path)
