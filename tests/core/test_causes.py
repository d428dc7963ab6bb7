"""The innermost cause of a failure."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from agentcli.core.causes import in_words, innermost


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
