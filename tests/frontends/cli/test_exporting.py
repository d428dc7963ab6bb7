"""The output of an export: to a pipe as it comes, to a terminal once no progress is drawn there any more."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stdout

import pytest

from agentcli.frontends.cli.exporting import _write


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("out", "early"), [(io.StringIO(), "one "), (Terminal(), "")])
def test_a_terminal_gets_the_text_once_it_is_whole_and_a_pipe_as_it_comes(out: io.StringIO, early: str) -> None:
    seen = []

    def pieces() -> Iterator[str]:
        yield "one "
        seen.append(out.getvalue())
        yield "two"

    with redirect_stdout(out):
        _write(pieces(), "", private=False)
    assert (seen, out.getvalue()) == ([early], "one two")
