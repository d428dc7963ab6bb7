"""Settings of all tests."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import settings

# How long an example takes depends on what else the machine does. A run repeats the examples of the run before;
# `--hypothesis-profile=search` looks for new ones, and prints the seed of what it finds.
settings.register_profile("agentcli", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("agentcli")

# What git knows about this machine's user decides nothing here: there is no name, and none is guessed from the host's.
os.environ["GIT_CONFIG_GLOBAL"] = os.devnull
os.environ["GIT_CONFIG_SYSTEM"] = str(Path(__file__).with_name("gitconfig"))


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
