"""The log: for its owner alone, and only where there is something to say."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest

from agentcli.system.logs import Masking, log_to, traceback_text
from agentcli.system.paths import AppDirs
from tests.tables import each_row


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


VALUE = "q7-Zk0_rW3x"


def opened(value: str) -> None:
    open(value).close()


def looked_up(value: str) -> None:
    {"known": 1}[value]


def converted(value: str) -> None:
    try:
        int(value)
    except ValueError as error:
        error.add_note(f"while reading `{value}`")
        raise RuntimeError(f"unusable: {value!r}") from error


def together(value: str) -> None:
    raise ExceptionGroup("two", [ValueError(f'bad "{value}"'), ExceptionGroup("more", [KeyError(value)])])


def caught(fails: Callable[..., object], *given: str) -> Exception:
    try:
        fails(*given)
    except Exception as error:  # noqa: BLE001 - of any kind
        return error
    raise AssertionError("nothing was raised")


@each_row("fails", [opened, looked_up, converted, together])
def test_a_value_in_a_message_is_left_out_and_the_place_stays(fails: Callable[[str], None]) -> None:
    error = caught(fails, VALUE)
    text = traceback_text(error)
    assert VALUE not in text
    assert f"in {fails.__name__}" in text
    assert type(error).__name__ in text


def test_words_of_the_code_and_names_of_files_stay(tmp_path: Path) -> None:
    def missing() -> None:
        {}["answer"]  # type: ignore[index]

    for fails, kept in (
        (missing, "KeyError: 'answer'"),
        (lambda: "".nothing, "'nothing'"),
        (tmp_path.read_text, repr(str(tmp_path))),
    ):  # type: ignore[attr-defined]
        assert kept in traceback_text(caught(fails))


def test_a_value_without_quotes_is_left_out_if_it_is_known() -> None:
    assert VALUE not in traceback_text(ValueError(f"refused {VALUE}: no"), [VALUE])


def test_the_log_quotes_no_value_of_an_error_in_any_form() -> None:
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(Masking())
    for name in ("agentcli.test", "asyncio"):
        log = logging.Logger(name)
        log.addHandler(handler)
        try:
            opened(VALUE)
        except OSError as error:
            log.warning("can't go on: %r", error)
            log.exception("it failed")
            if name == "asyncio":
                log.error(f"Task exception was never retrieved\nfuture: <Task exception={error!r}>")
    text = stream.getvalue()
    assert VALUE not in text
    assert "can't go on: FileNotFoundError: [Errno 2]" in text
    assert "Task exception was never retrieved" in text


def test_an_unexpected_error_of_the_program_shows_no_argument(tmp_path: Path) -> None:
    run = "from agentcli import __main__ as m; m._run = lambda given: open(given[1] + 'x' * 300); m.main()"
    ran = subprocess.run([sys.executable, "-c", run, "-p", VALUE], capture_output=True, text=True, cwd=tmp_path)
    assert (ran.returncode, VALUE in ran.stderr) == (1, False)
    assert "OSError: [Errno 36] File name too long: '…'" in ran.stderr
