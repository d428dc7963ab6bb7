"""Finished pieces of a session, each printed once to the scrollback."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.event import Event, Recorded, TurnEnded
from agentcli.core.message import CHANGED, FOR_MODEL, MORE_CHANGED, Message, Text, ToolCall, ToolResult, Usage
from agentcli.core.record import Record
from agentcli.core.subagent_result import spending
from agentcli.frontends.plain.narration import narrate
from agentcli.frontends.run.findings import CHANGES, Finding
from agentcli.frontends.terminal.render.calls import called
from agentcli.frontends.terminal.render.markdown import lines as markdown
from agentcli.frontends.terminal.render.markdown_blocks import Block
from agentcli.frontends.terminal.render.pieces import Called, Findings, Note, Printed, Reply, Thought, UserMessage
from agentcli.frontends.terminal.render.scrollback import render
from agentcli.frontends.terminal.render.state import State, update
from agentcli.frontends.terminal.style import DARK, MUTE, Look
from agentcli.system.cells import width
from tests.frontends.terminal.render.test_draw import ODD


@given(ODD, st.integers(20, 100))
def test_no_printed_line_is_wider_than_the_terminal(text: str, columns: int) -> None:
    result = ToolResult("c", "bash", "error", text, metadata={"exit_code": 1}, ended=100)
    edit = ToolResult("c", "edit", "success", "", metadata={"diff": f"--- a/x\n+++ b/x\n@@ -1,1 +1,2 @@\n+{text}\n"})
    pieces = (
        UserMessage(text), Reply(Block(text)), Thought(text, 3.0), Called(text.replace("\n", " "), result), Called("edit x", edit),
        Note("warn", text), Printed((text.replace("\n", " "),)),
    )  # fmt: skip
    look = Look(DARK, thinking=True)
    for line in render(pieces, columns, look, markdown):
        assert width(line.expandtabs(8)) <= columns


def test_long_output_of_a_failed_command_keeps_its_head_and_its_end_with_a_count() -> None:
    result = ToolResult("c", "bash", "error", "\n".join(f"line {n}" for n in range(30)), metadata={"exit_code": 1})
    shown = render([Called("$ make", result)], 80, Look(MUTE, output_lines=3), markdown)
    assert [row.strip() for row in shown[1:]] == [
        "line 0",
        "line 1",
        "… 24 more lines (Ctrl-O)",
        *(f"line {n}" for n in range(26, 30)),
    ]
    passed = replace(result, status="success")
    rows = render([Called("$ make", passed)], 80, Look(MUTE, output_lines=3), markdown)
    assert [row.strip() for row in rows[1:]] == ["… 27 earlier lines (Ctrl-O)", "line 27", "line 28", "line 29"]


def test_the_files_that_a_command_changed_are_under_it_in_one_line() -> None:
    changed = [
        {"path": "src/a.py", "additions": 3, "deletions": 1},
        {"path": "/other/b.py", "created": True, "additions": 2, "deletions": 0},
        {"path": "old.bin", "deleted": True},
    ]
    result = ToolResult("c", "bash", "success", "ok", metadata={"exit_code": 0, CHANGED: changed})
    piece = Called("$ make", result)
    files = ["src/a.py +3 −1", "/other/b.py new +2 −0", "old.bin deleted"]
    assert not piece.folds
    assert render([piece], 80, Look(MUTE), markdown) == ["● $ make · exit 0, 1 line", f"  {' · '.join(files)}", "  ok"]
    assert render([piece], 40, Look(MUTE), markdown)[1:-1] == ["  src/a.py +3 −1 · 2 more"]
    assert called(piece, 80, Look(MUTE), markdown, whole=True)[1:-1] == [f"  {file}" for file in files]
    many = replace(piece, result=replace(result, metadata={**result.metadata, MORE_CHANGED: 1_500}))
    assert render([many], 40, Look(MUTE), markdown)[1:-1] == ["  src/a.py +3 −1 · 1,502 more"]
    assert narrate(many, Look(MUTE))[1:-1] == [f"Changed: {file}" for file in (*files, "1,500 more")]
    assert Called("$ ls", replace(result, metadata={"exit_code": 0, CHANGED: "?"})).folds


def test_wrapped_lines_that_are_left_out_are_counted_as_rows() -> None:
    result = ToolResult("c", "bash", "success", "\n".join(["word " * 40] * 4), metadata={"exit_code": 0})
    head, left, *_ = render([Called("$ make", result)], 60, Look(MUTE), markdown)
    assert head.endswith("exit 0, 4 lines")
    assert left.startswith("  … ")
    assert left.endswith(" earlier rows (Ctrl-O)")


def test_what_only_the_model_needs_is_not_shown() -> None:
    hint = " Do not try another way to the same end."
    result = ToolResult("c", "bash", "denied", "The user said no to this call." + hint, metadata={FOR_MODEL: hint})
    assert render([Called("$ make", result)], 80, Look(MUTE), markdown) == ["⊘ $ make · denied"]
    said = replace(result, output="The user said no: use ninja", metadata={})
    assert render([Called("$ make", said)], 80, Look(MUTE), markdown) == ["⊘ $ make · denied", "  You said: use ninja"]


def test_a_diff_has_the_numbers_of_the_file() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -10,3 +10,3 @@\n same\n-old\n+new\n same\n"
    shown = render(
        [Called("edit x.py", ToolResult("c", "edit", "success", "", metadata={"diff": diff}))], 80, Look(DARK), markdown
    )
    assert any("   11 - old" in line for line in shown)
    assert any("   11 + new" in line for line in shown)


@pytest.mark.parametrize("displayed", [False, True])
def test_findings_that_an_edit_brought_are_below_it(displayed: bool) -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1,1 +1,2 @@\n same\n+new\n"
    found = "New findings of `ruff`:\nx.py:2:1: E1 \x1b[31mbad"
    piece = Called("Edit x.py", ToolResult("c", "edit", "success", "", metadata={"diff": diff, "findings": found}))
    rows = render([replace(piece, displayed=displayed)], 80, Look(MUTE), markdown)
    assert rows[-2:] == ["  New findings of `ruff`:", "  x.py:2:1: E1 \\x1b[31mbad"]
    assert narrate(replace(piece, displayed=displayed), Look())[-2:] == [row.strip() for row in rows[-2:]]


def test_the_result_of_a_subagent_says_how_many_tools_and_tokens_it_took() -> None:
    calls = {"calls": ['Search "cart"', "Read cart.py"]}
    spent = {"agent": "explore", **calls, **spending("demo", Usage(input=16_000, output=500), None)}
    row = render(
        [Called("explore: find it", ToolResult("c", "task", "success", "Found.", metadata=spent))],
        80,
        Look(MUTE),
        markdown,
    )[0]
    assert row == "● explore: find it · 2 tool uses, 16k tokens"


ASKED = Message("user", (Text(f"How\n\n{CHANGES}\n+x", True, "reminder"), Text("Review the working tree.")))


ANSWER = Message("assistant", (Text("1. **[high] src/cart.py:42** The total ignores the count."),))


def after(*events: Event) -> State:
    state = State()
    for event in events:
        state = update(state, event, 0.0)
    return state


def recorded(message: Message) -> Recorded:
    return Recorded(Record(1, "1", "2026-01-01T00:00:00Z", "", message))


def test_the_list_follows_the_answer_to_a_review_and_no_other() -> None:
    reading = Message("assistant", (Text("I look at b.py:1."), ToolCall("c", "read", {})))
    done = after(recorded(ASKED), recorded(reading), recorded(ANSWER), TurnEnded("done"))
    assert [one.findings for one in done.finished if isinstance(one, Findings)] == [
        (Finding("high", "src/cart.py", 42, "The total ignores the count."),)
    ]
    other = replace(ASKED, parts=(Text("What is wrong?"),))
    for events in ([other, ANSWER], [ASKED]):
        state = after(*map(recorded, events), TurnEnded("done"))
        assert not any(isinstance(one, Findings) for one in state.finished)
    assert not any(
        isinstance(one, Findings) for one in after(recorded(ASKED), recorded(ANSWER), TurnEnded("interrupted")).finished
    )
