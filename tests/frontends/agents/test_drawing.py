from __future__ import annotations

import pytest

from agentcli.frontends.agents.drawing import draw, question_lines
from agentcli.frontends.agents.view import View
from agentcli.frontends.terminal.render.frame import Size
from agentcli.frontends.terminal.style import DARK, MUTE
from agentcli.system.cells import width
from tests.frontends.agents.rows import approval, questions, row

ROWS = [
    row("fix-parser", "waits", questions=[approval()], seconds=75.0),
    row("docs", "works", doing="$ pytest -q", words="Let me look at the tests.", tokens=12_345, seconds=80.0),
    row("broken", "failed", shared=False, background=True, error="No key."),
    row(
        "a-very-long-name-of-a-session",
        "done",
        shared=False,
        background=True,
        last="It is fixed. " * 30,
        worktree="w",
        changes="3 files +10 −2",
    ),
    row("other", "idle", shared=False, last="日本語の長い言葉" * 20),
]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_every_line_fits_and_every_session_is_there(columns: int) -> None:
    for chosen in ROWS:
        view = View(ROWS, chosen.session)
        lines = draw(view, Size(columns, 30), DARK)
        assert len(lines) == 30
        assert max(map(width, lines)) < columns
    shown = "\n".join(draw(View(ROWS, "docs"), Size(120, 40), MUTE))
    for text in (
        "NEEDS YOU",
        "$ npm test",
        "1m 15s",
        "WORKS",
        "$ pytest -q",
        "12k $0.04 1m 20s",
        "No key.",
        "3 files +10 −2",
        "·?other",
    ):
        assert text in shown, text


def test_a_question_stands_below_its_session_with_a_key_for_each_answer() -> None:
    shown = "\n".join(draw(View(ROWS, "fix-parser"), Size(80, 24), MUTE))
    assert "Run this command?\n    npm may change files\n    $ npm test\n    1 Yes\n    2 Yes" in shown
    assert "1-3 answer" in shown
    asked = View([row("q", "waits", questions=[questions("Which colour?", "Other?")])], "q", answers=("red",))
    assert "Other? (2 of 2)\n    1 red  like a rose" in "\n".join(draw(asked, Size(80, 24), MUTE))


def test_a_long_question_says_what_is_cut_and_is_shown_whole() -> None:
    long = approval(preview="\n".join(f"line {n}" for n in range(40)))
    cut = question_lines(long, 0, 80, MUTE, 10)
    assert any("… 30 more lines: v shows the whole question" in line for line in cut)
    assert "line 39" in "\n".join(question_lines(long, 0, 80, MUTE))


def test_a_notice_is_shown_with_all_its_words() -> None:
    """What to do about a merge stands at its end."""
    notice = "Not merged: conflicts in b.txt. To merge it by hand: `git -C /home/ann/work merge agentcli/fix-login`."
    lines = draw(View(ROWS, "docs", notice), Size(80, 24), MUTE)
    assert (len(lines), max(map(width, lines)) < 80) == (24, True)
    assert notice.split() == " ".join(lines[-3:-1]).split()


def test_the_chosen_session_is_on_the_screen_however_many_there_are() -> None:
    rows = [row(f"s{n:03}", "works") for n in range(100)]
    for n in (0, 50, 99):
        shown = draw(View(rows, f"s{n:03}"), Size(80, 12), MUTE)
        assert any(line.startswith("❯") and f"s{n:03}" in line for line in shown)


def test_nothing_from_elsewhere_reaches_the_terminal_as_an_order() -> None:
    evil = "\x1b]0;x\x07\x1b[2J"
    rows = [row("a", "works", doing=evil, words=evil, title=evil), row("b", "failed", error=evil, name=evil)]
    rows += [row("c", "waits", questions=[approval(preview=evil, title=evil, subject=evil, why=evil)])]
    for chosen in "abc":
        assert not any("\x1b" in line or "\x07" in line for line in draw(View(rows, chosen), Size(80, 30), MUTE))


def test_without_sessions_it_says_how_to_start_one() -> None:
    assert any("agentcli --bg PROMPT" in line for line in draw(View(), Size(80, 24), MUTE))
