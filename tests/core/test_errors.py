"""Errors: the exit code of each, and which failures of a model are worth another request."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import get_args

import pytest

from agentcli.core import errors
from agentcli.core.errors import AgentError, Cause, IncompleteReply, ModelError, in_words, innermost
from tests.tables import each_row

PASSING = {"rate_limit", "overloaded", "network", "server", "bad_reply"}


@each_row(
    ("name", "code"),
    [
        ("AgentError", 1), ("UsageError", 2), ("CredentialsError", 41), ("InputError", 42), ("ConfigError", 52), ("LimitReached", 53),
        ("HookBlocked", 1), ("ContextError", 54), ("TrustError", 55), ("StoreError", 1), ("SessionBusy", 1), ("ToolError", 1),
    ],
)  # fmt: skip
def test_scripts_tell_failures_apart_by_exit_codes(name: str, code: int) -> None:
    error = getattr(errors, name)("No.")
    assert isinstance(error, AgentError)
    assert (error.exit_code, str(error)) == (code, "No.")


@pytest.mark.parametrize(("signal", "code"), [("HANGUP", 129), ("INTERRUPTED", 130), ("TERMINATED", 143)])
def test_a_run_that_a_signal_ended_has_the_exit_code_of_shells(signal: str, code: int) -> None:
    assert getattr(errors, signal) == code


def test_an_incomplete_reply_says_whether_asking_later_may_help() -> None:
    assert IncompleteReply("Cut.").exit_code == 1
    assert IncompleteReply("Cut.", transient=True).exit_code == 75


@each_row("cause", get_args(Cause))
def test_the_cause_of_a_models_failure_decides_its_exit_code(cause: Cause) -> None:
    expected = {"auth": 41, "too_long": 54}.get(cause, 75 if cause in PASSING else 1)
    assert ModelError("No.", cause).exit_code == expected


@each_row("cause", get_args(Cause))
def test_a_request_is_repeated_by_cause_or_by_the_providers_advice(cause: Cause) -> None:
    assert ModelError("No.", cause).retryable is (cause in PASSING)
    needs_another_request = cause in ("too_long", "too_large", "pairing", "signature")
    assert ModelError("No.", cause, should_retry=True).retryable is (not needs_another_request)
    assert ModelError("No.", cause, should_retry=False).retryable is False


def test_a_failure_of_a_model_is_brief_as_its_message_unless_told_otherwise() -> None:
    plain = ModelError("The server is busy.", "overloaded")
    assert (plain.brief, plain.answer, plain.status, plain.retry_after) == ("The server is busy", "", None, None)
    assert not plain.begun
    assert not plain.unstarted
    told = ModelError("The server is busy.", "overloaded", brief="busy", answer="529", status=529, retry_after=2.0)
    assert (told.brief, told.answer, told.status, told.retry_after) == ("busy", "529", 529, 2.0)


def test_a_cause_is_found_behind_what_wraps_it() -> None:
    cause = ConnectionRefusedError(111, "Connection refused")
    outer = ValueError("something failed")
    outer.__cause__ = ExceptionGroup("several", [cause, OSError("another")])
    assert innermost(ExceptionGroup("all", [outer])) is cause
    assert innermost(cause) is cause


def test_a_file_that_is_not_there_and_an_address_where_nobody_listens_are_told_without_numbers(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="none") as file:
        (tmp_path / "none").read_text()
    assert in_words(file.value) == "No such file or directory"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(OSError, match="failed") as refused:
        asyncio.run(asyncio.open_connection("127.0.0.1", port))
    assert in_words(refused.value) == "Connection refused"


@pytest.mark.parametrize(
    ("error", "words"), [(ValueError("it is odd"), "it is odd"), (TimeoutError(), "TimeoutError"), (OSError("x"), "x")]
)
def test_other_errors_speak_for_themselves(error: Exception, words: str) -> None:
    assert in_words(error) == words
