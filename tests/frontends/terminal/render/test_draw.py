from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.event import Retrying
from agentcli.core.message import FOR_MODEL, ToolResult, Usage
from agentcli.core.record import TodoItem
from agentcli.core.subagent_result import spending
from agentcli.frontends.plain.narration import narrate
from agentcli.frontends.terminal.dialogs.dialogs import Dialog
from agentcli.frontends.terminal.render.diff import lines as diff_lines
from agentcli.frontends.terminal.render.draw import draw, recent, tail
from agentcli.frontends.terminal.render.facts import Running, Status, Work
from agentcli.frontends.terminal.render.frame import Edit, Size
from agentcli.frontends.terminal.render.input_box import dialog_lines, input_lines, rows_of
from agentcli.frontends.terminal.render.markdown import lines as markdown
from agentcli.frontends.terminal.render.markdown_blocks import Block, Blocks
from agentcli.frontends.terminal.render.pieces import Called, Note, Printed, Reply, Thought, UserMessage
from agentcli.frontends.terminal.render.scrollback import render
from agentcli.frontends.terminal.render.state import State, update
from agentcli.frontends.terminal.render.status_line import status_line
from agentcli.frontends.terminal.style import DARK, MUTE, PLAIN, Look
from agentcli.program.commands import Choice, Item
from agentcli.system.cells import clip, fit, width, wrap
from tests.tables import each_row

ODD = st.text(alphabet="ab 日本語😀한\u05d0\u0627é\t-*`|#>\n", max_size=120)
SIZES = st.builds(Size, st.integers(20, 100), st.integers(6, 40))


@given(ODD, st.integers(10, 80))
def test_wrapping_keeps_every_letter_and_fits(text: str, columns: int) -> None:
    text = text.replace("\t", " ")
    rows = wrap(text, columns)
    assert all(width(row) <= columns for row in rows)
    assert "".join("".join(rows).split()) == "".join(text.split())


@given(ODD, st.integers(2, 40))
def test_clipping_and_fitting_give_the_width_that_was_asked_for(text: str, columns: int) -> None:
    line = text.replace("\n", "").replace("\t", "")
    assert width(clip(line, columns)) <= columns
    assert width(fit(line, columns)) == columns


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


@given(
    SIZES,
    st.text(alphabet="ab 日\n", max_size=300),
    st.integers(0, 300),
    st.integers(0, 20),
    st.sampled_from(["", "dialog", "entry", "busy"]),
)
def test_the_live_part_is_lower_and_narrower_than_the_terminal(
    size: Size, text: str, cursor: int, menu: int, kind: str
) -> None:
    state = State(
        status=Status("demo/demo", "ask", 5, 10, cost=1.0, session="日本" * 20),
        queue=("one\ntwo",) * 9,
        notice="日本語 " * 30,
    )
    if kind == "busy":
        running = tuple(Running(f"c{n}", "read " + "日本" * 30, 0.0, "x" * 200 + "\ny") for n in range(8))
        todo = tuple(TodoItem("step " * 30) for _ in range(20))
        state = replace(state, running=running, todo=todo, work=Work("Working", 0.0, 1000, 2000))
    elif kind:
        choices = tuple(Choice("日本" * 40, "detail " * 10) for _ in range(15))
        state = replace(
            state,
            dialog=Dialog(
                "title " * 30, ("body " * 40,) * 20, choices, 3, "> " if kind == "entry" else None, "hint " * 40
            ),
        )
    edit = Edit(text, min(cursor, len(text)), tuple(Item("/word" * n, "help " * 20) for n in range(menu)), menu - 1)
    live = draw(state, edit, size, Look(), ["tail"] * 14, 10.0)
    assert 0 < len(live.lines) < max(size.rows, 3)
    assert all(width(line) <= size.columns for line in live.lines)
    assert 0 <= live.cursor[0] < len(live.lines)
    assert 0 <= live.cursor[1] < size.columns


def test_in_a_low_window_choices_lose_their_details_before_the_question_is_lost() -> None:
    choices = tuple(Choice(f"choice {n}", "what it means, " * 4) for n in range(3))
    dialog = Dialog("Which one of these?", choices=choices, hint="1-3 or Enter")
    rows = {
        height: draw(State(dialog=dialog), Edit(), Size(30, height), Look(MUTE), [], 0.0).lines for height in (8, 12)
    }
    assert [row for row in rows[8] if row.startswith("─")] == ["─ Which one of these? ───────"]
    assert [row.strip() for row in rows[8][1:]] == ["❯ 1. choice 0", "2. choice 1", "3. choice 2", "1-3 or Enter"]
    assert rows[12][0].startswith("─ Which one")
    assert sum("what it means" in row for row in rows[12]) == 3


@each_row(
    ("size", "chosen", "shown"),
    [
        (Size(30, 6), 0, ["─ Run this command? ─────────", "❯ 1. Yes, once", "  2. Yes, for this session", "  3. No", "  Esc no"]),
        (Size(20, 5), 0, ["Run this command?", "❯ 1. Yes, once", "  2. Yes, for this", "     session"]),
        (Size(20, 5), 2, ["Run this command?", "❯ 3. No", "  Esc no", "Not valid"]),
        (Size(12, 5), 0, ["Run this", "command?", "❯ 1. Yes,", "     once"]),
        (Size(12, 3), 0, ["Run this c…", "❯ 1. Yes,"]),
    ],
)  # fmt: skip
def test_in_a_tiny_window_the_question_and_its_choices_are_the_last_to_go(
    size: Size, chosen: int, shown: list[str]
) -> None:
    choices = (Choice("Yes, once"), Choice("Yes, for this session"), Choice("No"))
    body = ("it deletes", "  (2 lines, shown above)")
    dialog = Dialog("Run this command?", body, choices, chosen, hint="Esc no", note="make may change files")
    live = draw(State(dialog=dialog, notice="Not valid" * (chosen == 2)), Edit(), size, Look(MUTE), ["tail"], 0.0)
    assert [line.rstrip() for line in live.lines] == shown
    assert live.lines[live.cursor[0]].startswith("❯")


def test_in_a_low_window_the_list_of_steps_leaves_room_for_the_running_command() -> None:
    todo = tuple(TodoItem(f"step {n}", "completed" if n < 5 else "pending") for n in range(9))
    state = State(running=(Running("a", "$ make", 0.0),), todo=todo, work=Work("Working", 0.0))
    lines = draw(state, Edit(), Size(30, 10), Look(MUTE), [], 0.5).lines
    assert [line.strip() for line in lines[1:6]] == [
        "○ $ make",
        "✔ step 4",
        "☐ step 5",
        "☐ step 6",
        "✻ Running… (0s · Esc to inte…",
    ]


def test_in_a_narrow_window_names_of_models_are_whole() -> None:
    names = [*(f"anthropic/claude-sonnet-4-{n}" for n in range(3)), "google/gemini-4-flash-preview"]
    dialog = Dialog(
        "Which model?", (), tuple(Choice(name, "1M window · $2 in, $10 out") for name in names), numbered=False
    )
    lines, _ = dialog_lines(dialog, Edit(), Size(40, 20), MUTE)
    assert [name for name in names if any(name in line for line in lines)] == names


def test_the_list_of_steps_is_apart_from_the_text_above_it() -> None:
    state = State(todo=(TodoItem("one"), TodoItem("two")), work=Work("Working", 0.0))
    lines = [line.strip() for line in draw(state, Edit(), Size(40, 24), Look(MUTE), ["text"], 0.5).lines]
    assert lines[:4] == ["text", "", "☐ one", "☐ two"]


@given(st.text(alphabet="ab日\n\t", max_size=60), st.integers(4, 30), st.data())
def test_the_cursor_stands_before_the_letter_it_belongs_to(text: str, columns: int, data: st.DataObject) -> None:
    cursor = data.draw(st.integers(0, len(text)))
    rows, (row, column) = rows_of(text, columns, cursor)
    before, _ = rows_of(text[:cursor], columns, cursor)
    if cursor < len(text) and text[cursor] != "\n" and not rows[row].startswith(before[-1]):
        assert column == 0  # the letter had to go to the next row
    else:
        assert rows[:row] == before[:row]
        assert column == width(before[-1]) or column == 0


@pytest.mark.parametrize(("text", "shown"), [("می\u200cروم", "می\u200cروم"), ("a\u200cb", "a·b"), ("a\u202eb", "a·b")])
def test_the_input_shows_joiners_that_letters_need_and_a_dot_for_other_invisible_characters(
    text: str, shown: str
) -> None:
    assert rows_of(text, 20, 0)[0] == [shown]


def test_the_status_line_leaves_out_what_does_not_fit() -> None:
    status = Status("demo/demo", "ask", 4_200, 10_000, cost=0.5, branch="main", hit_rate=0.9, jobs=1)
    assert (
        status_line(status, 80, MUTE)
        == "ask · demo · 4.2k/10k ▕███▍    ▏".ljust(47) + "$0.50 · cache 90% · 1 job · main"
    )
    assert status_line(status, 40, MUTE) == "ask · demo · 4.2k/10k     $0.50 · 1 job"
    assert status_line(status, 24, MUTE) == "ask · demo · 4.2k/10k"


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


def test_a_long_line_of_a_diff_is_shown_to_its_end() -> None:
    diff = f"--- a/x\n+++ b/x\n@@ -1,1 +1,2 @@\n same\n+{'a' * 100}END\n"
    rows = diff_lines(diff, 40, PLAIN)
    assert all(width(row) <= 40 for row in rows)
    assert "".join(row.strip() for row in rows).endswith("END")


def test_the_status_line_tells_the_facts_that_were_chosen_in_their_order() -> None:
    status = Status(
        "m",
        "ask",
        42,
        100,
        hit_rate=0.876,
        sandbox="bubblewrap",
        session="s",
        order=("cache", "mode", "session", "sandbox"),
    )
    assert status_line(status, 80, MUTE) == "cache 88% · ask · s · bubblewrap"


def test_the_mode_has_a_colour_and_a_window_that_is_nearly_full_another() -> None:
    status = Status("m", "yolo", 30_000, 100_000, soft=70_000)
    assert status_line(status, 80, DARK).startswith("\x1b[31myolo\x1b[0m")
    assert "compacts" not in status_line(status, 80, DARK)
    near = status_line(replace(status, used=57_000), 80, DARK)
    assert "\x1b[33m57k/100k ▕████▌   ▏ compacts at 70%\x1b[0m" in near


def test_a_tail_that_is_cut_says_so() -> None:
    reply, _ = Blocks().feed("\n".join(f"line {n}" for n in range(30)))
    rows = tail(State(reply=reply), Size(80, 24), Look(MUTE, tail_rows=5), markdown)
    assert rows == ["⋮", "line 26", "line 27", "line 28", "line 29"]


def test_the_blank_line_above_a_paragraph_is_there_from_its_first_row_on() -> None:
    reply, _ = Blocks().feed("One.\n\nTwo arr")
    assert tail(State(reply=reply), Size(80, 24), Look(MUTE), markdown) == ["", "Two arr"]


def test_a_picker_leaves_room_for_the_details_and_shows_the_chosen_one_whole() -> None:
    about = "1M window · $3 in, $15 out · in use"
    models = Dialog(
        "Which?", choices=(Choice("anthropic/sonnet-5-5", about), Choice("x", "y")), entry=":", numbered=False
    )
    assert f"  {about}" in dialog_lines(models, Edit(), Size(50, 24), MUTE)[0]
    assert sum(about in line for line in dialog_lines(models, Edit(), Size(80, 24), MUTE)[0]) == 1
    titled = Dialog("Which?", choices=(Choice("a title " * 9, "2026-11-23 03:10"),), entry=":", numbered=False)
    assert dialog_lines(titled, Edit(), Size(70, 24), MUTE)[0][-1].endswith("…  2026-11-23 03:10")


def test_in_a_narrow_picker_the_labels_are_whole_and_the_chosen_ones_details_below() -> None:
    models = tuple(Choice(f"anthropic/claude-sonnet-4-{n}", "1M window · in use") for n in range(5, 7))
    rows, _ = dialog_lines(Dialog("Which?", choices=models, entry=":", numbered=False), Edit(), Size(30, 10), MUTE)
    assert rows[-3:] == ["❯ anthropic/claude-sonnet-4-5", "  anthropic/claude-sonnet-4-6", "  1M window · in use"]


def test_a_detail_that_is_wider_than_the_screen_is_wrapped() -> None:
    choices = (Choice("ask", "asks before it changes or runs anything · in use"), Choice("plan", ""))
    rows, _ = dialog_lines(Dialog("Which?", choices=choices, entry=":", numbered=False), Edit(), Size(45, 24), MUTE)
    assert rows[-2:] == ["  asks before it changes or runs anything · ", "  in use"]


def test_the_tail_takes_a_third_of_the_screen_and_less_where_its_rows_are_wide() -> None:
    reply, _ = Blocks().feed("\n".join(f"line {n} of many" for n in range(30)))
    wide, _ = Blocks().feed("many words " * 200)
    for columns, rows, high in ((80, 24, 8), (80, 60, 14), (40, 12, 4)):
        assert len(tail(State(reply=reply), Size(columns, rows), Look(MUTE), markdown)) == high
    assert len(tail(State(reply=wide), Size(200, 60), Look(MUTE), markdown)) == 6


def test_the_rows_of_a_long_thought_stand_still_while_it_grows() -> None:
    words = " ".join(f"word{n}" for n in range(2000))
    starts = {len(words[:n]) - len(recent(words[:n], 2000)) for n in range(4000, 6000, 7)}
    assert len(starts) == 1
    assert all(2000 <= len(recent(words[:n], 2000)) < 4000 for n in range(2000, len(words), 97))


def test_a_narrow_progress_line_keeps_how_to_interrupt() -> None:
    state = State(work=Work("Working", 0.0, 1000, 2000))
    line = draw(state, Edit(), Size(40, 15), Look(MUTE), [], 10.0).lines[0]
    assert line == "✻ Working… (10s · Esc to interrupt)"


def test_a_retry_is_one_line_that_counts_down() -> None:
    state = update(State(work=Work("Working", 0.0)), Retrying(4, 12.0, "Anthropic is overloaded (529)", 500.0), 10.0)

    def line(now: float, columns: int = 120) -> str:
        return draw(state, Edit(), Size(columns, 15), Look(MUTE), [], now).lines[0]

    begin = "✻ Anthropic is overloaded (529). Retrying in"
    assert line(10.0) == f"{begin} 12 s (attempt 4) · Esc to stop · gives up in 8 min 20 s"
    assert line(19.5) == f"{begin} 3 s (attempt 4) · Esc to stop · gives up in 8 min 20 s"
    assert line(10.0, 80) == f"{begin} 12 s (attempt 4) · Esc to stop"
    assert line(10.0, 66) == "✻ Anthropic is overlo… Retrying in 12 s (attempt 4) · Esc to stop"
    assert line(10.0, 50) == "✻ Retrying in 12 s (attempt 4) · Esc to stop"
    assert line(22.5) == "✻ Working… (22s · Esc to interrupt)"


def test_a_long_menu_says_how_much_more_there_is() -> None:
    items = tuple(Item(f"/command{n}") for n in range(30))
    lines, _ = input_lines(Edit("/", 1, items), Size(80, 24), PLAIN)
    assert "… 22 more" in lines[-1]
    lines, _ = input_lines(Edit("/", 1, items, 29), Size(80, 24), PLAIN)
    assert "/command29" in lines[-1]
    for chosen in (-1, 29):
        lines, _ = input_lines(Edit("/", 1, items, chosen, cut=True), Size(80, 24), PLAIN)
        assert "  … and more" in lines[-1]


def test_the_rule_that_always_would_save_is_shown_to_its_last_letter() -> None:
    rule = "Always: bash(git -C some/folder log --oneline --graph *)"
    dialog = Dialog("Run this command?", choices=(Choice("Yes, once"), Choice(rule)))
    live = draw(State(dialog=dialog), Edit(), Size(40, 15), Look(MUTE), [], 0.0)
    assert "".join(live.lines).replace(" ", "").endswith(rule.replace(" ", ""))


def test_the_end_of_a_long_list_stays_where_it_stands() -> None:
    nested = "\n".join(f"  - item {n}" for n in range(100))
    reply, _ = Blocks().feed(f"- top\n{nested}")
    rows = tail(State(reply=reply), Size(80, 24), Look(MUTE, tail_rows=4), markdown)
    assert rows == ["⋮", "  ◦ item 97", "  ◦ item 98", "  ◦ item 99"]


def test_a_completion_is_inserted_as_it_is_and_shown_safely() -> None:
    item = Item("na\x1b[2Jme", "\u202egnihton\x07")
    assert item.label == "na\x1b[2Jme"
    shown = "\n".join(input_lines(Edit("x", 1, (item,)), Size(120, 24), MUTE)[0])
    assert "na\\x1b[2Jme" in shown
    assert "\\u202egnihton\\x07" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_the_chosen_item_of_a_narrow_menu_has_its_details_below() -> None:
    items = (Item("/help", "List the commands, explain one, or open the manual"), Item("/undo", "Undo"))
    lines, _ = input_lines(Edit("/", 1, items, 0), Size(40, 15), MUTE)
    assert [line.strip() for line in lines[-2:]] == ["List the commands, explain one, or", "open the manual"]
    lines, _ = input_lines(Edit("/", 1, items, 1), Size(40, 15), MUTE)
    assert lines[-1].endswith("/undo  Undo")


def test_a_setting_in_a_narrow_window_has_its_value_beside_its_own_name() -> None:
    choices = (Choice("mode", '"ask"'), Choice("context.a_name_that_is_rather_long", "1"))
    lines, _ = dialog_lines(Dialog("Settings", choices=choices, numbered=False), Edit(), Size(40, 15), MUTE)
    assert '❯ mode  "ask"' in lines


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
