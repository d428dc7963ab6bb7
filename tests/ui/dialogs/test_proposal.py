from __future__ import annotations

import json

import pytest

from agentcli.agent.ports import ApprovalRequest
from agentcli.core.message import ToolCall
from agentcli.ui.dialogs.proposal import editable, preview, taken, title
from agentcli.ui.render.cells import ESCAPE
from agentcli.ui.style import PLAIN, Look

LOOK = Look(PLAIN, folder="/home/me/shop")
COMMAND = ApprovalRequest(
    ToolCall("c", "bash", {"command": "make", "description": "Build it"}), "$ make", "", "make", "command"
)
WRITE = ApprovalRequest(
    ToolCall("c", "write", {"file_path": "/home/me/shop/a.py", "content": "x = 1\n"}),
    "Write /home/me/shop/a.py",
    "",
    "",
    "diff",
)
EDIT = ApprovalRequest(
    ToolCall("c", "edit", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}),
    "Edit a.py",
    "",
    "",
    "diff",
)
OTHER = ApprovalRequest(
    ToolCall("c", "web_fetch", {"url": "https://example.org/"}),
    "Fetch example.org",
    "",
    '{"url": "https://example.org/"}',
)


def test_a_command_is_asked_about_with_what_it_is_for_and_shown_once() -> None:
    assert title(COMMAND, None, LOOK) == "Run this command?"
    assert [row.removeprefix("\x1b[2m").removesuffix("\x1b[0m") for row in preview(COMMAND, None, 80, LOOK)] == [
        "  Build it",
        "  $ make",
    ]


def test_a_long_command_hangs_under_its_beginning_and_is_whole() -> None:
    ask = ApprovalRequest(
        ToolCall("c", "bash", {"command": "echo one two three four"}), "", "", "echo one two three four", "command"
    )
    assert preview(ask, None, 20, LOOK) == ["  $ echo one two ", "    three four"]


def test_a_file_is_named_as_it_is_called_in_the_working_folder() -> None:
    assert title(WRITE, None, LOOK) == "Write a.py?"


@pytest.mark.parametrize(
    ("ask", "key", "ending"),
    [(COMMAND, "command", ".sh"), (WRITE, "content", ".py"), (EDIT, "new_string", ".py"), (OTHER, "", ".json")],
)
def test_what_is_changed_is_the_text_itself_where_there_is_one(ask: ApprovalRequest, key: str, ending: str) -> None:
    part = editable(ask, None)
    assert (part.key, part.ending) == (key, ending)
    changed = taken(ask, None, part, part.text)
    assert changed == ask.call.input


def test_an_editor_neither_adds_nor_takes_the_last_newline() -> None:
    part = editable(WRITE, None)
    assert taken(WRITE, None, part, "x = 3")["content"] == "x = 3\n"
    assert taken(EDIT, None, editable(EDIT, None), "x = 3\n")["new_string"] == "x = 3"


def test_a_change_that_changes_nothing_says_so() -> None:
    assert "stays as it is" in preview(EDIT, None, 80, LOOK)[0]


def test_what_was_changed_is_shown_as_it_would_be_and_marked() -> None:
    changed = taken(EDIT, None, editable(EDIT, None), "x = 3")
    assert title(EDIT, changed, LOOK).endswith("(changed by you)")
    rows = ESCAPE.sub("", "\n".join(preview(EDIT, changed, 80, LOOK)))
    assert "- x = 1" in rows
    assert "+ x = 3" in rows
    assert "make -j" in "\n".join(preview(COMMAND, {"command": "make -j"}, 80, LOOK))


def test_an_input_that_is_no_object_is_refused() -> None:
    part = editable(OTHER, None)
    assert taken(OTHER, None, part, json.dumps({"url": "https://b.example/"})) == {"url": "https://b.example/"}
    for text in ("[]", "not json"):
        with pytest.raises(ValueError, match=r"."):
            taken(OTHER, None, part, text)
