from __future__ import annotations

from dataclasses import replace

from agentcli.core.event import CallDelta, CompactionStarted, Retrying, TextDelta, ThinkingDelta, ToolStarted
from agentcli.core.message import ToolCall, ToolResult
from agentcli.frontends.plain.narration import TITLE, began, ended, narrate
from agentcli.frontends.terminal.render.facts import Work
from agentcli.frontends.terminal.render.markdown_blocks import TABLE_ROWS, Blocks
from agentcli.frontends.terminal.render.pieces import Called, Reply
from agentcli.frontends.terminal.render.state import State, update
from agentcli.frontends.terminal.style import Look

LOOK = Look(folder="/home/me")
CALL = ToolCall("c1", "read", {"file_path": "/home/me/a.py"})


def test_what_begins_is_told_once() -> None:
    state = State().begin("Working", 0.0)
    lines: list[str] = []
    for event in (
        ThinkingDelta("a"), ThinkingDelta("b"), CallDelta("c1", "read", "{"), CallDelta("c1", "read", "}"), ToolStarted(CALL, "Read /home/me/a.py"),
        CompactionStarted("auto", 10),
    ):  # fmt: skip
        before, state = state, update(state, event, 0.0)
        lines += began(before, state, LOOK)
    assert lines == ["Thinking.", "Writing a call: read.", "Running: Read a.py", "Compressing."]


def test_each_retry_is_a_line() -> None:
    state = State().begin("Working", 0.0)
    lines: list[str] = []
    for event in (Retrying(1, 3.0, "Overloaded"), TextDelta("a"), Retrying(2, 6.0, "Overloaded")):
        before, state = state, update(state, event, 0.0)
        lines += began(before, state, LOOK)
    assert lines == [
        "Overloaded. Retrying in 3 s (attempt 1). Ctrl-C stops it.",
        "Overloaded. Retrying in 6 s (attempt 2). Ctrl-C stops it.",
    ]


def test_the_end_of_a_turn_tells_what_it_took() -> None:
    assert ended(Work("Working", 0.0, 1200, 30), 5.0) == "Finished after 5s, 1,200 tokens in, 30 out."
    estimated = Work("Working", 0.0, 1200, 30, estimated=True)
    assert ended(estimated, 5.0) == "Finished after 5s, 1,200 tokens in, about 30 out."
    assert ended(Work("Working", 0.0), 5.0) == "Finished after 5s."


def test_what_was_printed_in_pieces_reads_as_it_was_written() -> None:
    text = "\n".join(["| n |", "|---|", *(f"| {n} |" for n in range(TABLE_ROWS + 5))])
    state, done = Blocks().feed(text)
    assert [line for block in (*done, *state.end()) for line in narrate(Reply(block), LOOK)] == ["", *text.split("\n")]


def test_a_long_title_is_cut_and_nothing_else_is() -> None:
    result = ToolResult("c", "bash", "error", "\n".join(map(str, range(30))), metadata={"exit_code": 1})
    lines = narrate(Called("$ " + "x" * 200, result), LOOK)
    assert len(lines[0]) < TITLE + 30
    assert lines[6:9] == ["5", "(10 more lines left out)", "16"]
    assert lines[-1] == "29"
    assert (
        narrate(replace(Called("$ x", result), result=replace(result, status="success")), LOOK)[0]
        == "Done: $ x, exit 1, 30 lines"
    )


def test_the_answer_of_a_server_is_told_from_its_beginning() -> None:
    result = ToolResult("c", "mcp__git__log", "success", "\n".join(map(str, range(30))))
    lines = narrate(Called("git log()", result), LOOK)
    assert lines[:2] == ["Done: git log()", "0"]
    assert lines[-2:] == ["19", "(10 more lines left out)"]
