"""What is shown of a call before it is allowed is what it then does."""

from __future__ import annotations

from typing import Any

import pytest

from agentcli.core.errors import ToolError
from agentcli.tools.registry import tools
from tests.tools.conftest import Call
from tests.tools.workplace import Bench

TOOLS = {tool.name: tool for tool in tools()}
EDITS = [{"old_string": "one", "new_string": "ONE"}, {"old_string": "two", "new_string": "TWO"}]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("write", {"file_path": "a.txt", "content": "one\nthree\n"}),
        ("write", {"file_path": "new/b.txt", "content": "one\n"}),
        ("edit", {"file_path": "a.txt", "old_string": "two", "new_string": "2"}),
        ("edit", {"file_path": "new/c.txt", "old_string": "", "new_string": "fresh\n"}),
        ("multi_edit", {"file_path": "a.txt", "edits": EDITS}),
    ],
)
def test_the_preview_is_the_diff_that_follows(call: Call, ctx: Bench, name: str, given: dict[str, Any]) -> None:
    (ctx.cwd / "a.txt").write_text("one\r\ntwo\r\n")
    call("read", file_path="a.txt")
    before = sorted(ctx.cwd.rglob("*"))
    promised = TOOLS[name].preview(ctx, given)
    assert sorted(ctx.cwd.rglob("*")) == before
    assert promised == call(name, **given).metadata["diff"]


def test_a_command_is_shown_whole(ctx: Bench) -> None:
    assert TOOLS["bash"].preview(ctx, {"command": "a\nb  c"}) == "a\nb  c"


def test_an_edit_that_cannot_be_made_is_known_before_anybody_is_asked(ctx: Bench) -> None:
    (ctx.cwd / "a.txt").write_text("one\n")
    with pytest.raises(ToolError, match="has not been read yet"):
        TOOLS["edit"].preview(ctx, {"file_path": "a.txt", "old_string": "two", "new_string": "2"})
