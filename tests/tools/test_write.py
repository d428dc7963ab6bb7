"""Writing whole files."""

from __future__ import annotations

import pytest

from tests.tools.conftest import Call
from tests.tools.workplace import Bench


def test_a_new_file_is_made_with_its_folders(call: Call, ctx: Bench) -> None:
    outcome = call("write", file_path="a/b/c.py", content="x\ny\n")
    assert (ctx.cwd / "a/b/c.py").read_text() == "x\ny\n"
    assert outcome.metadata["created"] is True
    assert outcome.metadata["additions"] == 2
    assert outcome.metadata["diff"] == "--- /dev/null\n+++ b/a/b/c.py\n@@ -0,0 +1,2 @@\n+x\n+y\n"


def test_a_file_the_model_has_not_read_is_not_overwritten(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a").write_text("precious")
    assert "has not been read" in call("write", file_path="a", content="x").output
    assert (ctx.cwd / "a").read_text() == "precious"
    call("read", file_path="a")
    assert call("write", file_path="a", content="x").metadata["created"] is False
    assert (ctx.cwd / "a").read_text() == "x"


def test_what_was_written_may_be_edited_at_once(call: Call, ctx: Bench) -> None:
    call("write", file_path="a", content="x\n")
    assert call("edit", file_path="a", old_string="x", new_string="y").status == "success"


def test_encoding_and_newlines_of_a_replaced_file_survive(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    call("read", file_path="a")
    call("write", file_path="a", content="three\nfour\n")
    assert (ctx.cwd / "a").read_bytes() == b"\xef\xbb\xbfthree\r\nfour\r\n"


def test_a_read_only_file_is_left_alone(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a").write_text("x")
    (ctx.cwd / "a").chmod(0o444)
    call("read", file_path="a")
    assert "read-only" in call("write", file_path="a", content="y").output
    assert (ctx.cwd / "a").read_text() == "x"


def test_a_lone_surrogate_is_refused_and_nothing_is_left(call: Call, ctx: Bench) -> None:
    assert call("write", file_path="a", content="x\ud800").status == "error"
    assert list(ctx.cwd.iterdir()) == []


@pytest.mark.parametrize("name", ["n" * 255, "\N{GRINNING FACE}" * 63])
def test_a_file_with_the_longest_name_is_written(call: Call, ctx: Bench, name: str) -> None:
    call("write", file_path=name, content="text\n")
    assert (ctx.cwd / name).read_text() == "text\n"
