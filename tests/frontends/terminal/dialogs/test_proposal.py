from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.ports import ApprovalRequest
from agentcli.core.errors import ToolError
from agentcli.core.message import ToolCall
from agentcli.frontends.terminal.dialogs.proposal import answers, editable, preview, question, revised, taken, title
from agentcli.frontends.terminal.render.frame import Edit, Size
from agentcli.frontends.terminal.render.input_box import dialog_lines
from agentcli.frontends.terminal.style import MUTE, PLAIN, Look
from agentcli.system.cells import ESCAPE, width
from tests.tables import each_row

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
    assert [row.removeprefix("\x1b[2m").removesuffix("\x1b[0m") for row in preview(COMMAND, 80, LOOK)] == [
        "  Build it",
        "  $ make",
    ]


def test_what_a_command_or_an_edit_hides_is_counted() -> None:
    hidden = "\ufe01" * 20 + "\u200d" * 3
    call = ToolCall("c", "bash", {"command": f"make{hidden} test"})
    shown = "\n".join(
        preview(replace(COMMAND, call=call, title=f"$ make{hidden} test", preview=f"make{hidden} test"), 80, LOOK)
    )
    assert "make⟨U+FE01×20 U+200D×3⟩ test" in shown
    diff = f"--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x = 1\n+x = 1  #{hidden}\n"
    assert "⟨U+FE01×20 U+200D×3⟩" in "\n".join(preview(replace(EDIT, preview=diff), 80, LOOK))


def test_a_command_that_asks_for_more_says_so() -> None:
    assert title(replace(COMMAND, title="Run it again outside the sandbox?"), None, LOOK) == (
        "Run it again outside the sandbox?"
    )
    assert title(replace(COMMAND, title="$ ls ?"), None, LOOK) == "Run this command?"
    assert title(replace(COMMAND, kind="plan", title="Plan ready"), None, LOOK) == "Plan ready"


def test_a_long_command_hangs_under_its_beginning_and_is_whole() -> None:
    ask = ApprovalRequest(
        ToolCall("c", "bash", {"command": "echo one two three four"}), "", "", "echo one two three four", "command"
    )
    assert preview(ask, 20, LOOK) == ["  $ echo one two ", "    three four"]


def test_each_reason_has_one_bullet_however_long_it_is() -> None:
    ask = replace(COMMAND, preview="rm a && git push", why="rm deletes files\ngit push uses the network")
    assert preview(ask, 20, LOOK)[-3:] == ["  · rm deletes files", "  · git push uses ", "    the network"]


def test_a_file_is_named_as_it_is_called_in_the_working_folder() -> None:
    assert title(WRITE, None, LOOK) == "Write a.py?"


@each_row(
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
    assert "stays as it is" in preview(EDIT, 80, LOOK)[0]


def test_what_was_changed_is_shown_as_it_would_be_and_marked() -> None:
    async def revise(given: Mapping[str, Any]) -> ApprovalRequest:
        diff = f"@@ -7 +7 @@\n-x = 1\n+{given['new_string']}"
        return replace(EDIT, title=f"Edit {given['file_path']}", why="it is outside", preview=diff)

    changed = {**EDIT.call.input, "file_path": "../b.py", "new_string": "x = 3"}
    shown, trouble = asyncio.run(revised(replace(EDIT, revise=revise), changed))
    rows = [ESCAPE.sub("", row).split() for row in preview(shown, 80, LOOK)]
    assert (rows, trouble) == ([["7", "-", "x", "=", "1"], ["7", "+", "x", "=", "3"]], "")
    asked = question(shown, changed, LOOK)
    assert (asked.title, asked.note) == ("Edit ../b.py? (changed by you)", "+1 −1 · it is outside")


def test_a_change_that_cannot_be_made_is_shown_as_the_input_and_told() -> None:
    async def revise(_: Mapping[str, Any]) -> ApprovalRequest:
        raise ToolError("The text is not in the file.")

    changed = {**EDIT.call.input, "old_string": "nowhere"}
    shown, trouble = asyncio.run(revised(replace(EDIT, revise=revise), changed))
    assert trouble == "The text is not in the file."
    assert title(shown, changed, LOOK) == "edit? (changed by you)"
    assert "  old_string: nowhere" in preview(shown, 80, LOOK)


def test_only_a_call_that_may_be_changed_is_offered_for_it() -> None:
    async def revise(_: Mapping[str, Any]) -> ApprovalRequest:
        return COMMAND

    offered = [question(ask, None, LOOK) for ask in (COMMAND, replace(COMMAND, revise=revise))]
    assert [(dialog.editable, dialog.hint) for dialog in offered] == [(False, "Esc no"), (True, "e edit · Esc no")]


def test_an_input_that_is_no_object_is_refused() -> None:
    part = editable(OTHER, None)
    assert taken(OTHER, None, part, json.dumps({"url": "https://b.example/"})) == {"url": "https://b.example/"}
    for text in ("[]", "not json"):
        with pytest.raises(ValueError, match=r"."):
            taken(OTHER, None, part, text)


def labels(ask: ApprovalRequest, changed: dict[str, object] | None = None) -> list[str]:
    return [choice.label for choice in question(ask, changed, LOOK).choices]


def test_only_choices_that_can_be_chosen_are_listed() -> None:
    ruled = replace(COMMAND, always="bash(make)", session="bash(make)", prefixes=("bash(make *)",))
    assert labels(COMMAND) == ["Yes", "No, tell it what to do instead"]
    assert labels(ruled) == [
        "Yes", "Yes, for this session (exactly this command)", "Always allow `make` in this project",
        "Always allow `make …` in this project", "Always in every project…",
        "No, tell it what to do instead",
    ]  # fmt: skip
    whole = replace(ruled, programs=("bash(make *)", "bash(git *)"))
    assert labels(whole)[4] == (
        "Always allow here `git` but not pushes, nor what discards or deletes; "
        "`make` with any arguments and code (whatever you can do)"
    )
    assert "prefix" not in answers(replace(whole, programs=whole.prefixes), None)
    changes = replace(COMMAND, programs=("network(running:box.example.org)", "network(writing:gh/me/it)"))
    assert labels(changes)[1] == (
        "Always allow here `ssh box.example.org` with any command there (whatever you can do), but not what deletes or "
        "ends something by name; also copies by `scp` between there and the workspace; "
        "writing and closing pull requests and issues of me/it with gh"
    )
    own = replace(COMMAND, programs=("network(writing:gh)",))
    assert labels(own)[1] == "Always allow here writing and closing pull requests and issues of this repository with gh"
    server = replace(OTHER, always="mcp__time__now", prefixes=("mcp__time__*",))
    assert "Always allow every tool of the server time in this project" in labels(server)
    boxed = replace(COMMAND, session="bash(x)", prefixes=("sandbox(python3 *)", "sandbox(git stash *)"))
    assert "Always allow python3, git stash here (sandboxed)" in labels(boxed)
    outside = replace(COMMAND, session="bash(x)", folders=(Path("/home/me/lib"), Path("/home/me/app")))
    assert labels(outside)[1:-1] == ["Yes, and add /home/me/lib and /home/me/app to this session"]
    assert len(labels(ruled)) == len(answers(ruled, None))
    assert labels(ruled, {"command": "make -j"}) == labels(COMMAND)
    assert labels(replace(COMMAND, others=(WRITE,)))[-1] == "Yes to both (shows the other first)"


def test_an_answer_that_lasts_for_the_session_comes_first_where_it_saves_questions() -> None:
    lasting = replace(COMMAND, session="bash(x)", lasting=True)
    folder = replace(lasting, folders=(Path("/home/me/lib"),), why="the line leads outside the workspace")
    host = replace(lasting, grants=("network(box.example.org)",), why="ssh uses the network of box.example.org")
    read = replace(lasting, grants=("read(/home/me/.tool/**)",))
    push = replace(COMMAND, session="bash(x)", grants=("bash(git push origin main)",))
    assert labels(folder)[:2] == ["Yes, and add /home/me/lib to this session", "Yes"]
    assert labels(host)[:2] == ["Yes, and box.example.org in this session", "Yes"]
    by_ssh = replace(host, grants=("network(ssh:box.example.org)",))
    assert labels(by_ssh)[:2] == ["Yes, and reading box.example.org by ssh in this session", "Yes"]
    for rule, label in (
        ("network(container:web)", "using the container web"),
        (
            "network(container:./*)",
            "building, starting and using the project's containers (with the network and mounted folders)",
        ),
        ("network(reading:kubectl)", "reading with kubectl"),
        ("network(service:box.example.org/app)", "starting, stopping and reloading the service app on box.example.org"),
        ("bash(gh api graphql *ReviewThread*)", "answering and resolving threads of reviews"),
        ("bash(kill *)", "`kill` of processes by number"),
    ):
        assert labels(replace(host, grants=(rule,)))[:2] == [f"Yes, and {label} in this session", "Yes"]
    assert labels(read)[:2] == ["Yes, and reading /home/me/.tool/ in this session", "Yes"]
    assert labels(push)[:2] == ["Yes", "Yes, and `git push origin main` in this session"]
    opened = replace(COMMAND, grants=("read(./app/.env)",), unsaved="calls on protected files ask each time")
    assert labels(opened)[:2] == ["Yes", "Yes, and reading app/.env in this session"]
    chosen = [question(each, None, LOOK).chosen for each in (folder, host)]
    assert [labels(folder)[chosen[0]], labels(host)[chosen[1]]] == [labels(folder)[0], "No, tell it what to do instead"]


@each_row(
    ("ask", "first"),
    [
        (COMMAND, "Yes"),
        (EDIT, "Yes"),
        (replace(COMMAND, why="rm deletes files"), "No, tell it what to do instead"),
        (replace(COMMAND, why="git push uses the network"), "No, tell it what to do instead"),
        (replace(EDIT, why="writes outside the workspace"), "No, tell it what to do instead"),
        (OTHER, "No, tell it what to do instead"),
    ],
)
def test_it_starts_on_yes_but_for_what_cannot_be_taken_back(ask: ApprovalRequest, first: str) -> None:
    dialog = question(ask, None, LOOK)
    assert dialog.choices[dialog.chosen].label == first


def test_the_title_stands_in_the_rule_with_the_size_of_the_change_and_the_reason() -> None:
    ask = replace(
        EDIT, preview="--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n", why="changes a file", others=(WRITE,)
    )
    lines, _ = dialog_lines(question(ask, None, LOOK), Edit(), Size(80, 15), MUTE)
    assert lines[0].startswith("─ Edit a.py? ──")
    assert lines[0].endswith("── +1 −1 · changes a file · 1 of 2 ─")
    assert width(lines[0]) == 79
    narrow, _ = dialog_lines(question(ask, None, LOOK), Edit(), Size(30, 15), MUTE)
    assert narrow[0] == "─ Edit a.py? " + "─" * 16
    assert "".join(narrow[1:3]).replace(" ", "") == "+1−1·changesafile·1of2"


@pytest.mark.parametrize(
    ("why", "note"),
    [("it changes a file", "+0 −0"), ("A subagent asks (Tidy). it changes a file", "+0 −0 · A subagent asks (Tidy).")],
)
def test_what_the_preview_shows_by_itself_is_no_reason(why: str, note: str) -> None:
    assert question(replace(EDIT, why=why), None, LOOK).note == note


SERVER = ApprovalRequest(
    ToolCall("c", "mcp__git__log", {"path": "a.py", "count": 3, "text": "one\ncount: 9"}),
    "git log(path: a.py, count: 3, text: one\\ncount: 9)",
    "the server git may do anything with it",
    '{"path":"a.py","count":3,"text":"one\\ncount: 9"}',
)


def test_the_arguments_of_a_servers_tool_are_shown_once_and_a_text_can_not_pass_for_one() -> None:
    assert title(SERVER, None, LOOK) == "Call git log?"
    assert preview(SERVER, 60, LOOK) == ["  path: a.py", "  count: 3", "  text:", "      one", "      count: 9"]
    assert preview(replace(SERVER, preview="{}"), 60, LOOK) == []
    assert preview(replace(SERVER, preview="[1]"), 60, LOOK) == ["  [1]"]
    assert (
        title(replace(SERVER, title="Call mcp__git__log", call=ToolCall("c", "mcp_call", {})), None, LOOK)
        == "Call mcp__git__log?"
    )
