from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.window import reference, size_of
from agentcli.core.event import Event, PermissionDecided, Recorded, TextDelta, ThinkingDelta, TurnEnded, UsageReported
from agentcli.core.message import Message, Text, ToolResult, Usage
from agentcli.core.record import Body, Record, Todo, TodoItem
from agentcli.core.tool import NO_OUTPUT
from agentcli.frontends.terminal.render.draw import draw
from agentcli.frontends.terminal.render.frame import Edit, Size
from agentcli.frontends.terminal.render.markdown import lines as markdown
from agentcli.frontends.terminal.render.pieces import Called, UserMessage
from agentcli.frontends.terminal.render.scrollback import as_it_is, render
from agentcli.frontends.terminal.render.state import State, update
from agentcli.frontends.terminal.style import MUTE, PLAIN, Look
from agentcli.system.cells import width

DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"


def recorded(body: Body) -> Record:
    return Record(1, "1", "2026-01-01T00:00:00Z", "", body)


def test_what_came_of_a_call_is_told_without_colours_too() -> None:
    marks = [
        render([Called("x", ToolResult("c", "bash", status, ""))], 80, Look(PLAIN), markdown)[0][0]
        for status in ("success", "error", "denied", "interrupted")
    ]
    assert marks == ["●", "✗", "⊘", "⊘"]


def test_a_title_takes_the_room_that_there_is() -> None:
    result = ToolResult("c", "bash", "success", "", metadata={"exit_code": 0})
    (head,) = render([Called("$ " + "x" * 60, result)], 80, Look(MUTE), markdown)
    assert head == "● $ " + "x" * 60 + " · exit 0"


def test_the_exit_code_is_told_once() -> None:
    result = ToolResult("c", "bash", "error", "oh\n[exit code 3]", metadata={"exit_code": 3})
    assert render([Called("$ x", result)], 80, Look(MUTE), markdown) == ["✗ $ x · exit 3", "  oh"]


def test_a_command_that_printed_nothing_has_no_count_of_lines() -> None:
    result = ToolResult("c", "bash", "success", NO_OUTPUT, metadata={"exit_code": 0})
    assert render([Called("$ x", result)], 80, Look(MUTE), markdown) == ["● $ x · exit 0", "  (no output)"]


def test_the_count_of_folded_lines_fits_in_the_window() -> None:
    result = ToolResult("c", "bash", "success", "x\n" * 3000, metadata={"exit_code": 0})
    rows = render([Called("$ x", result)], 30, Look(MUTE), markdown)
    assert rows[1] == "  … 2995 earlier lines"
    assert all(width(row) <= 30 for row in rows)


def test_a_change_that_was_shown_to_be_approved_is_not_printed_again() -> None:
    result = ToolResult("c", "edit", "success", "", metadata={"diff": DIFF, "additions": 1, "deletions": 1})
    assert render([Called("Edit x.py", result, displayed=True)], 80, Look(MUTE), markdown) == [
        "● Edit x.py · +1 −1, as shown above"
    ]
    assert len(render([Called("Edit x.py", result)], 80, Look(MUTE), markdown)) == 3


def printed(*events: Event, columns: int = 80) -> list[str]:
    """What a turn with these events prints."""
    state = State()
    for event in events:
        state = update(state, event, 0.0)
    return render(state.settle().finished, columns, Look(MUTE), markdown)


def live(*events: Event) -> Sequence[str]:
    """What is drawn below the scrollback while a turn with these events works."""
    state = State().begin("Working", 0.0)
    for event in events:
        state = update(state, event, 0.0)
    return draw(state, Edit(), Size(80, 40), Look(MUTE), (), 0.0).lines


def ran(call_id: str, name: str, title: str, **more: Any) -> Recorded:
    return Recorded(recorded(ToolResult(call_id, name, "success", more.pop("output", ""), title=title, **more)))


def test_calls_that_read_are_one_line() -> None:
    files = [ran(f"r{n}", "read", f"Read src/{name}.py", metadata={"lines": 9}) for n, name in enumerate("abca")]
    assert printed(TextDelta("Look.\n\n"), *files, ran("l", "list", "List src")) == [
        *("", "Look.", ""),
        "● Read src/a.py, src/b.py, src/c.py · List src",
    ]
    assert printed(*files, ran("g", "grep", 'Search "x"'), columns=30)[1:] == ["● Read 3 files, searched for …"]


def test_calls_that_change_no_file_fold_to_one_line_and_failures_and_diffs_stay() -> None:
    files = [ran(f"r{n}", "read", f"Read {name}.py") for n, name in enumerate("abcd")]
    runs = [ran(f"b{n}", "bash", f"$ make {n}", output="ok", metadata={"exit_code": 0}) for n in range(2)]
    bad = Recorded(recorded(ToolResult("x", "bash", "error", "no rule", title="$ make x", metadata={"exit_code": 2})))
    edit = ran("e", "edit", "Edit a.py", metadata={"diff": DIFF, "additions": 1, "deletions": 1})
    shown = printed(*files, *runs, bad, edit, runs[0], TextDelta("Done.\n\n"))
    assert shown[:5] == [
        "",
        "● Read 4 files, ran 3 commands · 1 failed (Ctrl-O)",
        "✗ $ make x · exit 2",
        "  no rule",
        "",
    ]
    assert shown[5] == "● Edit a.py · +1 −1"
    assert shown[-4:] == ["", "● $ make 0 · exit 0, 1 line", "", "Done."]


def test_the_newest_call_shows_its_output_while_the_turn_works() -> None:
    output = "\n".join(f"line {n}" for n in range(30))
    harmless = PermissionDecided("b", "bash", "allow", "read-only")
    rows = {
        "failed": live(Recorded(recorded(ToolResult("b", "bash", "error", output, metadata={"exit_code": 1})))),
        "done": live(ran("a", "bash", "$ y"), ran("b", "bash", "$ x", output=output, metadata={"exit_code": 0})),
        "only reads": live(harmless, ran("b", "bash", "$ x", output=output, metadata={"exit_code": 0})),
    }
    assert {how: sum("  line" in row for row in shown) for how, shown in rows.items()} == {
        "failed": 10,
        "done": 5,
        "only reads": 2,
    }
    assert "● $ y" in rows["done"]


def test_a_turn_ends_with_its_list_its_duration_its_tokens_and_its_cost() -> None:
    state = State().begin("Working", 0.0)
    events = (
        Recorded(recorded(Todo((TodoItem("read", "completed"), TodoItem("mend"))))),
        UsageReported(Usage(input=8_000, output=400), 0.008, 8_000),
        UsageReported(Usage(input=900, output=15), 0.004, 900),
        TurnEnded("done"),
    )
    for now, event in enumerate(events):
        state = update(state, event, 45.0 * now)
    assert render(state.finished, 80, Look(MUTE), markdown) == [
        "",
        "  ✔ read",
        "  ☐ mend",
        "",
        "2m 15s · 8.9k in, 415 out · $0.01",
    ]


def test_what_an_interrupted_turn_received_and_cost_is_not_told_as_exact() -> None:
    state = State().begin("Working", 0.0)
    for event in (
        TextDelta("x" * 400),
        Recorded(recorded(Message("assistant", (Text("x" * 400),), stop="interrupted"))),
        UsageReported(Usage(input=900, output=1), 0.004, 900),
        TurnEnded("interrupted"),
    ):
        state = update(state, event, 1.0)
    assert render(state.finished, 80, Look(MUTE), markdown)[-1] == "1s · 900 in, about 100 out · at least $0.0040"


def test_a_thought_that_came_in_one_piece_took_the_time_since_the_model_was_asked() -> None:
    state = update(State(), Recorded(recorded(Message("user", (Text("go"),)))), 10.0)
    for event in (ThinkingDelta("Hm."), TextDelta("So.\n\n")):
        state = update(state, event, 14.0)
    assert "∴ Thought for 4s (Ctrl-T)" in render(state.finished, 80, Look(MUTE), markdown)


def test_a_long_paste_that_was_said_is_folded_with_its_size() -> None:
    lines = render([UserMessage("\n".join(f"line {n}" for n in range(340)))], 80, Look(PLAIN), as_it_is)
    assert [line for line in lines if "line 9" in line]
    assert not [line for line in lines if "line 10" in line]
    assert "… 329 more lines, " in lines[-2]
    assert "line 339" in lines[-1]
    wide = render([UserMessage("x" * 10_000_000)], 80, Look(PLAIN), as_it_is)
    assert len(wide) < 40
    assert [line for line in wide if "… 9,997,600 more characters" in line]
    assert len(render([UserMessage("\n".join("abc"))], 80, Look(PLAIN), as_it_is)) == 4


def test_a_question_after_a_long_paste_is_shown() -> None:
    lines = render([UserMessage("log\n" * 340 + "What is wrong here?\n")], 80, Look(PLAIN), as_it_is)
    assert "What is wrong here?" in lines[-1]


def test_of_a_paste_too_large_for_the_window_the_beginning_is_shown_and_where_it_is_kept() -> None:
    text = "\n".join(f"line {n}" for n in range(5_000))
    message = Message("user", (Text(reference(text, "/s/in.txt", size_of(text, TokenCounter()), ContextSettings())),))
    lines = render(update(State(), Recorded(recorded(message)), 0.0).finished, 80, Look(MUTE), as_it_is)
    assert lines[1:3] == ["> line 0", "  line 1"]
    assert lines[10:12] == ["  line 9", "  … 4,990 more lines"]
    told = "· Too large to send whole: kept in /s/in.txt; its first and last lines are sent."
    assert " ".join(" ".join(lines[12:]).split()) == told


def test_the_todo_list_the_answers_and_the_plan_stay_to_be_read_above() -> None:
    def shown(name: str, output: str, **metadata: object) -> list[str]:
        result = ToolResult("c", name, "success", output, metadata=metadata)
        look = Look(MUTE, for_people=frozenset({"todo", "ask_user", "exit_plan"}))
        return render([Called("Title", result)], 80, look, as_it_is)

    # The list stands above the input while the turn runs, and is printed at its end.
    assert shown("todo", "[x] Read\n[>] Write", done=1, of=2) == ["● Title · 1 of 2 done"]
    assert shown("ask_user", "Which?\n→ red") == ["● Title", "  Which?", "  → red"]
    assert shown("exit_plan", "The user approves.", plan="# Plan\n1. Read") == [
        "● Title · approved",
        "  # Plan",
        "  1. Read",
    ]


def test_a_command_that_went_to_the_background_says_under_which_name() -> None:
    result = ToolResult("c", "bash", "success", "one\ntwo", metadata={"job": "job-1"})
    assert render([Called("$ x", result)], 80, Look(MUTE), markdown) == ["● $ x · in the background as job-1"]


def test_a_note_stands_apart_from_the_words_that_it_breaks_off() -> None:
    state = State()
    for event in (TextDelta("Half a sen"), TurnEnded("interrupted")):
        state = update(state, event, 0.0)
    assert render(state.finished, 80, Look(MUTE), markdown)[:3] == ["", "Half a sen", ""]


def test_a_note_stands_apart_from_the_output_of_a_call() -> None:
    told = printed(ran("b", "bash", "$ x", output="tick", metadata={"exit_code": 0}), TurnEnded("interrupted"))
    assert told == ["", "● $ x · exit 0, 1 line", "", "! Interrupted. Tell it what to do instead."]


def test_an_approved_plan_is_drawn_like_an_answer() -> None:
    result = ToolResult("p", "exit_plan", "success", "ok", metadata={"plan": "# Move\n\n- `db.py`, **cart**\n"})
    piece, look = Called("Plan ready: Move", result), Look(MUTE, for_people=frozenset({"exit_plan"}))
    assert render([piece], 80, look, markdown) == ["● Plan ready: Move · approved", "  Move", "", "  • db.py, cart"]
    assert render([piece], 80, look, as_it_is)[1:] == ["  # Move", "", "  - `db.py`, **cart**"]


def test_a_plan_that_nobody_was_asked_about_is_not_called_approved() -> None:
    result = ToolResult("p", "exit_plan", "success", "ok", metadata={"plan": "# Move", "approved": False})
    look = Look(MUTE, for_people=frozenset({"exit_plan"}))
    assert render([Called("Plan ready: Move", result)], 80, look, markdown)[0] == "● Plan ready: Move"
