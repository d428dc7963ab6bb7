"""Tracebacks: the places and kinds of errors, and no value from outside."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

from agentcli.system.logs import Masking
from agentcli.system.tracebacks import traceback_text
from tests.tables import each_row

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
