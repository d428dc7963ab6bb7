from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.event import Retrying
from agentcli.core.message import ToolResult
from agentcli.core.record import TodoItem
from agentcli.frontends.terminal.dialogs.dialogs import Dialog
from agentcli.frontends.terminal.render.diff import lines as diff_lines
from agentcli.frontends.terminal.render.draw import draw, recent, tail
from agentcli.frontends.terminal.render.facts import Running, Status, Work
from agentcli.frontends.terminal.render.frame import Edit, Size
from agentcli.frontends.terminal.render.markdown import lines as markdown
from agentcli.frontends.terminal.render.markdown_blocks import Blocks
from agentcli.frontends.terminal.render.pieces import Called
from agentcli.frontends.terminal.render.state import State, update
from agentcli.frontends.terminal.style import MUTE, PLAIN, Look
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
        (Size(30, 6), 0, ["─ Run this command? ─────────", "❯ 1. Yes", "  2. Yes, for this session", "  3. No", "  Esc no"]),
        (Size(20, 5), 0, ["Run this command?", "❯ 1. Yes", "  2. Yes, for this", "     session"]),
        (Size(20, 5), 2, ["Run this command?", "❯ 3. No", "  Esc no", "Not valid"]),
        (Size(12, 5), 0, ["Run this", "command?", "❯ 1. Yes", "  2. Yes, for"]),
        (Size(12, 3), 0, ["Run this c…", "❯ 1. Yes"]),
    ],
)  # fmt: skip
def test_in_a_tiny_window_the_question_and_its_choices_are_the_last_to_go(
    size: Size, chosen: int, shown: list[str]
) -> None:
    choices = (Choice("Yes"), Choice("Yes, for this session"), Choice("No"))
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


def test_a_reply_is_below_the_call_before_it() -> None:
    call = Called("$ ls", ToolResult("a", "bash", "success", "a.py", metadata={"exit_code": 0}))
    state = State(reads=(call,), work=Work("Working", 0.0))
    lines = [line.strip() for line in draw(state, Edit(), Size(40, 24), Look(MUTE), ["It says"], 0.5).lines]
    assert lines[:3] == ["● $ ls · exit 0, 1 line", "a.py", "It says"]


def test_the_list_of_steps_is_apart_from_the_text_above_it() -> None:
    state = State(todo=(TodoItem("one"), TodoItem("two")), work=Work("Working", 0.0))
    lines = [line.strip() for line in draw(state, Edit(), Size(40, 24), Look(MUTE), ["text"], 0.5).lines]
    assert lines[:4] == ["text", "", "☐ one", "☐ two"]


def test_a_long_line_of_a_diff_is_shown_to_its_end() -> None:
    diff = f"--- a/x\n+++ b/x\n@@ -1,1 +1,2 @@\n same\n+{'a' * 100}END\n"
    rows = diff_lines(diff, 40, PLAIN)
    assert all(width(row) <= 40 for row in rows)
    assert "".join(row.strip() for row in rows).endswith("END")


def test_a_tail_that_is_cut_says_so() -> None:
    reply, _ = Blocks().feed("\n".join(f"line {n}" for n in range(30)))
    rows = tail(State(reply=reply), Size(80, 24), Look(MUTE, tail_rows=5), markdown)
    assert rows == ["⋮", "line 26", "line 27", "line 28", "line 29"]


def test_the_blank_line_above_a_paragraph_is_there_from_its_first_row_on() -> None:
    reply, _ = Blocks().feed("One.\n\nTwo arr")
    assert tail(State(reply=reply), Size(80, 24), Look(MUTE), markdown) == ["", "Two arr"]


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


def test_the_rule_that_always_would_save_is_shown_to_its_last_letter() -> None:
    rule = "Always: bash(git -C some/folder log --oneline --graph *)"
    dialog = Dialog("Run this command?", choices=(Choice("Yes"), Choice(rule)))
    live = draw(State(dialog=dialog), Edit(), Size(40, 15), Look(MUTE), [], 0.0)
    assert "".join(live.lines).replace(" ", "").endswith(rule.replace(" ", ""))


def test_the_end_of_a_long_list_stays_where_it_stands() -> None:
    nested = "\n".join(f"  - item {n}" for n in range(100))
    reply, _ = Blocks().feed(f"- top\n{nested}")
    rows = tail(State(reply=reply), Size(80, 24), Look(MUTE, tail_rows=4), markdown)
    assert rows == ["⋮", "  ◦ item 97", "  ◦ item 98", "  ◦ item 99"]
