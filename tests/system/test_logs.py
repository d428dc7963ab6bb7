"""The log: for its owner alone, and only where there is something to say."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from agentcli.system.logs import Masking, log_to
from agentcli.system.paths import AppDirs


@pytest.fixture
def dirs(tmp_path: Path) -> Iterator[AppDirs]:
    root, before = logging.getLogger(), os.umask(0)
    had = list(root.handlers)
    yield AppDirs(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))
    os.umask(before)
    logging.captureWarnings(False)
    for handler in set(root.handlers) - set(had):
        root.removeHandler(handler)
        handler.close()


def test_the_log_is_made_when_there_is_something_to_say_and_for_its_owner_alone(dirs: AppDirs) -> None:
    log_to(dirs, {})
    assert not dirs.state.exists()
    logging.getLogger("agentcli.test").warning("something")
    log = dirs.state / "agentcli.log"
    assert "something" in log.read_text()
    assert (dirs.state.stat().st_mode & 0o777, log.stat().st_mode & 0o777) == (0o700, 0o600)


def test_a_run_that_keeps_nothing_has_no_log(dirs: AppDirs) -> None:
    log_to(dirs, {}, enabled=False)
    logging.getLogger("agentcli.test").warning("something")
    assert not dirs.state.exists()


def test_a_log_that_cannot_be_written_is_no_error(dirs: AppDirs) -> None:
    dirs.state.write_text("a file where the folder should be")
    log_to(dirs, {})
    logging.getLogger("agentcli.test").warning("something")
    assert dirs.state.is_file()


def test_a_log_holds_no_secret_not_even_in_a_traceback() -> None:
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(Masking(["correct horse"]))
    log = logging.Logger("test")
    log.addHandler(handler)
    log.warning("sent %s", "Authorization: Bearer aB3dE5gH7jK9mN1pQ3rS5")
    try:
        raise ValueError("bad key sk-ant-aB3dE5gH7jK9mN1pQ3rS5 for correct horse")
    except ValueError:
        log.exception("failed")
    assert "aB3dE5gH7jK9mN1pQ3rS5" not in stream.getvalue()
    assert "correct horse" not in stream.getvalue()
    assert "Traceback" in stream.getvalue()


def test_a_wrong_call_of_a_library_raises_nothing_into_it(dirs: AppDirs) -> None:
    log_to(dirs, {})
    log = logging.Logger("some.library")
    log.addHandler(logging.getLogger().handlers[-1])  # without those of the test framework, which do raise
    log.warning("%d of %d", "one")
    log.error("%s", Unprintable())
    log.warning("right")
    assert (dirs.state / "agentcli.log").read_text().endswith("WARNING some.library right\n")


class Unprintable:
    """A value that a library logs and that cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError("not ready")
