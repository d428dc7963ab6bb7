from __future__ import annotations

import json
import re
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.frontends.terminal.preview import long_reply
from tests.terminal import Terminal

REPOSITORY = Path(__file__).parents[3]
PREVIEW = [sys.executable, "-m", "tests.frontends.terminal.preview"]


def starting(tmp_path: Path, columns: int = 80, rows: int = 24, **env: str) -> Terminal:
    command = [*PREVIEW, f"state={tmp_path}"]
    environment = {"EDITOR": "true", **env}
    return Terminal(command, columns=columns, rows=rows, cwd=str(REPOSITORY), env=environment, forked=True)


@contextmanager
def preview(tmp_path: Path, columns: int = 80, rows: int = 24, **env: str) -> Iterator[Terminal]:
    """The scripted session, once it can be typed into."""
    with starting(tmp_path, columns, rows, **env) as terminal:
        terminal.until("ask · demo")
        terminal.settle()
        yield terminal


def tags(rows: list[str]) -> Counter[str]:
    return Counter(re.findall(r"#\d{4}", "\n".join(rows)))


def last(rows: list[str]) -> str:
    """The input, above the status line."""
    return next(row for row in reversed(rows) if row.startswith(">"))


def test_every_block_reaches_the_scrollback_once_and_the_draft_survives(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("long 80 2000\r", until="#0003")
        t.send("дом", until="all done")
        t.settle()
        rows = t.history()
    assert tags(rows) == Counter(f"#{n:04}" for n in range(80))
    assert last(rows) == "> дом"


def test_a_resize_while_streaming_loses_no_block(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("long 120 2000\r")
        # Not its height: a shrinking pyte throws its upper rows away.
        for columns in (60, 100, 40, 80):
            t.settle(0.0, 0.3)
            t.resize(columns, 24)
        t.send("дом", until="all done")
        t.settle()
        rows_ = t.history()
    found = tags(rows_)
    assert set(found) == {f"#{n:04}" for n in range(120)}
    # pyte does not re-flow, so a row that got narrower may be left behind once a resize.
    assert sum(count - 1 for count in found.values()) <= 4
    assert last(rows_) == "> дом"


@pytest.mark.full
def test_far_fewer_bytes_are_written_than_a_redraw_would_take(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        before = len(t.raw)
        t.send("long 200 2000\r", until="all done")
        t.settle()
        assert len(t.raw) - before < 4 * len(long_reply(200).encode())


def test_an_approval_shows_the_diff_and_keeps_the_draft(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("both\r", until="#0001")
        t.send("my draft", until="> my draft")
        t.until("1. Yes")
        t.settle()
        assert any("+         prices = [item.price" in row for row in t.screen())
        assert "my draft" not in "\n".join(t.screen())
        time.sleep(0.1)
        t.send("2", until="answer session")
        t.settle()
        rows = t.history()
    assert last(rows) == "> my draft"
    assert not any("1. Yes" in row for row in rows)


@pytest.mark.full
def test_what_was_typed_before_the_question_does_not_answer_it(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        # Held back, the program cannot read: all of this is in the terminal before the question is.
        t.send("run\r")
        t.signal(signal.SIGSTOP)
        t.send("1111y1")
        t.signal(signal.SIGCONT)
        t.until("1. Yes")
        t.settle(0.8)
        assert any("1. Yes" in row for row in t.screen())
        t.send("n", until="What should it do instead?")


@pytest.mark.full
def test_a_question_amid_a_sentence_is_not_answered_by_the_rest_of_it(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("both\r", until="#0001")
        ends = time.monotonic() + 20
        while "1. Yes" not in "\n".join(t.screen()) and time.monotonic() < ends:
            t.send("y", at_once=True)
            t.settle(0.05, 0.05)
        for _ in range(5):
            t.send("y", at_once=True)
            t.settle(0.05, 0.05)
        t.settle(0.8, 0.8)
        assert "1. Yes" in "\n".join(t.screen())
        t.send("y", until="answer once")


@pytest.mark.full
def test_a_no_carries_the_words_that_say_what_to_do_instead(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("edit\r", until="1. Yes")
        t.send("n", until="What should it do instead?")
        t.send("use integers\r", until="answer no use integers")


def test_a_command_too_long_for_the_screen_is_shown_whole_before_it_is_approved(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("long-command\r", until="1. Yes")
        rows = "\n".join(t.history())
        assert all(f"echo line {n} of a long command" in rows for n in range(60))


@pytest.mark.full
def test_a_proposed_command_can_be_changed_before_it_runs(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("run\r", until="1. Yes")
        t.send("e", until="Change the command")
        t.send(" -k cart\r", until="$ pytest -q -k cart")
        t.until("1. Yes")
        t.send("1", until="● bash pytest -q -k cart · exit 0")


@pytest.mark.full
def test_escapes_from_a_tool_are_not_obeyed(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("run\r", until="1. Yes")
        t.send("y", until="exit 0, 11 lines")
        t.settle()
        t.send("\x0f", until="line 39")
        t.settle()
        red = t.screen().index("  red")
        assert t.picture().buffer[red][2].fg == "default"


@pytest.mark.full
@pytest.mark.parametrize("key", ["\x1b", "\x03"])
def test_a_turn_is_interrupted_and_what_came_is_kept(tmp_path: Path, key: str) -> None:
    with preview(tmp_path) as t:
        t.send("long 400 500\r", until="#0005")
        t.send(key, until="Interrupted.")
        t.settle()
        rows = t.history()
        assert "#0005" in "\n".join(rows)
        t.send("still here\r", until="You said: still here")


def test_a_message_sent_while_it_works_waits_for_its_turn_and_can_be_taken_back(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("slow\r", until="Waiting for something")
        t.send("first queued\t", until="After this turn: first queued")
        t.send("second queued\t", until="After this turn: second queued")
        t.send("\x1b[A", until="> second queued")
        t.gone("After this turn: second queued")
        t.send("\x1b", until="You said: first queued")


def test_ctrl_d_leaves_and_says_how_to_come_back(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("\x04")
        assert t.wait() == 0
        assert "agentcli resume 20260101-0001" in "\n".join(t.history())


def test_page_keys_go_through_a_menu_and_a_long_draft_and_leave_earlier_prompts_alone(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("hello\r", until="You said: hello")
        t.settle()
        t.send("/", until="/model")
        t.send("\x1b[6~")
        t.gone("/model ")
        t.until("❯ /")
        t.send("\x1b[5~" * 9, until="❯ /help")
        t.send("\x03")
        t.gone("/model")
        t.send("\n".join(f"line {n}" for n in range(15)), until="  line 14")
        t.send("\x1b[5~" * 3, until="> line 0")
        t.send("\x1b[6~" * 3 + "!", until="  line 14!")


@pytest.mark.full
@pytest.mark.parametrize("opened", ["/", "@", "/model\r", "?"])
def test_no_blank_rows_stay_above_the_input_after_a_menu_closes(tmp_path: Path, opened: str) -> None:
    with preview(tmp_path) as t:
        t.send("long 12 20000\r", until="all done")
        t.settle()
        place = t.cursor[0]
        t.send(opened, until="q close" if opened == "?" else "Esc cancel" if "\r" in opened else "more")
        t.settle()
        t.send("\x1b" if opened in ("/model\r", "?") else "\x7f")
        t.gone("q close" if opened == "?" else "Esc cancel" if "\r" in opened else "more")
        t.settle()
        rows, row = t.screen(), t.cursor[0]
    assert row <= place
    assert rows[row - 1].startswith("─")
    assert rows[row - 2] == ""
    assert rows[row - 3].strip()
    assert rows[row + 1].startswith("ask · ")
    assert not any(rows[row + 2 :])


def test_no_blank_rows_stay_above_the_input_after_a_menu_closes_during_work(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("long 12 20000\r", until="all done")
        t.send("long 500 100\r", until="Esc to interrupt")
        t.until("#0001", seconds=30)
        t.send("/", until="… 3")
        t.send("\x7f")
        t.gone("… 3")
        rows, row = t.screen(), t.cursor[0]
    assert "Esc to interrupt" in rows[row - 2]
    assert "\n\n\n" not in "\n".join(rows[:row])


def test_ctrl_c_twice_leaves(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("\x03", until="Press Ctrl-C again to exit")
        t.send("\x03")
        assert t.wait() == 0


@pytest.mark.slow
def test_the_offer_to_leave_by_a_second_key_is_gone_when_it_no_longer_holds(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        for _ in range(2):
            t.send("\x03", until="Press Ctrl-C again to exit")
            t.gone("Press Ctrl-C again to exit", 5)
        assert t.code is None


def test_ctrl_c_twice_while_it_works_ends_as_interrupted(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("slow\r", until="Waiting for something")
        t.send("\x03\x03")
        assert t.wait() == 130


def test_a_terminated_program_gives_the_terminal_back(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("slow\r", until="Waiting for something")
        t.send("draft", until="> draft")
        t.signal(signal.SIGTERM)
        assert t.wait() == 143
        assert b"\x1b[?2004l" in t.raw
    with preview(tmp_path) as t:
        t.send("\x1b[A", until="> draft")


@pytest.mark.full
def test_prompts_of_earlier_sessions_come_back_with_up_and_are_found_by_search(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("the first words\r", until="You said: the first words")
        t.send("other things\r", until="You said: other things")
        t.send("\x04")
        t.wait()
    with preview(tmp_path) as t:
        t.send("\x1b[A\x1b[A", until="> the first words")
        t.send("\x03\x12", until="search:")
        t.send("OTHER")
        t.gone("  the first words")
        t.send("\r", until="> other things")


@pytest.mark.full
def test_ten_megabytes_of_paste_are_one_label_in_a_second(tmp_path: Path) -> None:
    text = "\n".join(f"line {n} of many, long enough to be a line" for n in range(250_000))
    assert len(text) > 10_000_000
    with preview(tmp_path) as t:
        began = time.monotonic()
        t.send("\x1b[200~" + text + "\x1b[201~", until="[Pasted text #1, 250,000 lines]")
        spent = time.monotonic() - began
        t.send("x", until="lines]x")
    # Writing ten megabytes through a pty takes a third of this already; the old way took more than a minute.
    assert spent < 30


def test_an_unknown_command_runs_nothing_and_names_the_near_ones(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("/compres now\r", until="Unknown command /compres. Did you mean /compress")
        assert "Compaction" not in "\n".join(t.history())


def test_slash_commands_complete_with_tab_and_run(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("/comp", until="Replace the older part of the conversation")
        t.send("\tthe tests\r", until="Compacted 12k → 3k tokens · Focus: the tests · /uncompress")
        t.until("3k/168k")


@pytest.mark.slow
def test_a_picker_narrows_while_one_types(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("/resume\r", until="Earlier work 3")
        t.send("work 17")
        t.gone("Earlier work 3")
        t.send("\r", until="2025-0017")


@pytest.mark.slow
def test_a_search_that_finds_nothing_says_so_and_goes_on(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("/resume\r", until="Earlier work 3")
        t.send("work 17x", until="  No match")
        t.send("\r\x7f", until="❯ Earlier work 17")
        assert "No match" not in "\n".join(t.screen())
        t.send("\r", until="2025-0017")


@pytest.mark.full
def test_a_picker_starts_on_what_is_in_use_until_one_searches(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("/mode plan\r", until="Plan mode")
        t.send("/mode\r", until="❯ plan")
        t.send("sk", until="❯ ask")
        t.send("\r", until="Ask mode")


@pytest.mark.full
def test_a_command_left_at_its_choice_leaves_nothing_behind(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("/config theme\r", until="dark")
        t.send("\x1b")
        t.gone("dark")
        t.send("/mode plan\r", until="Plan mode")
        assert "/config" not in "\n".join(t.history())
        assert "/mode plan" in "\n".join(t.history())


def test_an_editor_left_without_a_change_leaves_nothing_behind(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        before = t.history()
        t.send("/editor\r")
        t.gone("/editor")
        t.settle(0.5)
        after = t.history()
    assert [row.rstrip() for row in after] == [row.rstrip() for row in before]


@pytest.mark.full
def test_the_models_questions_are_answered_by_digit_and_by_words(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("ask\r", until="Which colour?")
        t.send("2", until="Why?")
        t.send("it is calm\r", until="answers ['green', 'it is calm']")


@pytest.mark.slow
def test_an_answer_in_words_may_have_several_lines(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("ask\r", until="Which colour?")
        t.send("2", until="Why?")
        t.send("it is calm\x1b\rand green\nand soft\r")
        t.until("answers ['green', 'it is calm\\nand green\\nand soft']")


@pytest.mark.full
def test_a_skipped_question_leaves_the_other_answers_as_they_are(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("ask\r", until="Which colour?")
        t.send("2", until="Why?")
        t.send("\x1b", until="answers ['green', '']")
        t.settle()
        t.send("ask\r", until="1. red")
        t.send("\x1b")
        t.gone("1. red")
        t.until("Why?")
        t.send("\x1b", until="answers ()")
        t.settle()
        t.send("ask\r", until="1. red")
        t.send("\x1b")
        t.gone("1. red")
        t.until("Why?")
        t.send("\r", until="answers ['', '']")


def test_a_shell_command_shows_its_output_and_its_failure(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("!echo from-the-shell; exit 3\r", until="from-the-shell")
        t.until("exit code 3")


def test_nothing_typed_while_loading_is_lost(tmp_path: Path) -> None:
    with starting(tmp_path) as t:
        t.until("> ")
        t.send("typed early")
        t.send("\r")
        t.send("and this", until="You said: typed early")
        t.until("> and this")


def test_a_light_background_gets_colours_that_can_be_read_on_it(tmp_path: Path) -> None:
    with preview(tmp_path, COLORFGBG="") as t:
        assert b"\x1b]11;?" in t.raw
        t.send("\x1b]11;rgb:ffff/ffff/ffff\x1b\\hello\r", until="You said: hello")
        assert b"\x1b[1;34m> \x1b[0m\x1b[1mhello" in t.raw
        t.send("/theme dark\r")
        t.send("again\r", until="You said: again")
        assert b"\x1b[1;36m> \x1b[0m\x1b[1magain" in t.raw
        t.send("/theme auto\r")
        t.send("once more\r", until="You said: once more")
        assert b"\x1b[1;34m> \x1b[0m\x1b[1monce more" in t.raw


def test_without_colours_nothing_is_coloured(tmp_path: Path) -> None:
    with preview(tmp_path, NO_COLOR="1") as t:
        t.send("long 16 5000\r", until="all done")
        t.settle()
        colours = {code for found in re.findall(rb"\x1b\[([0-9;]+)m", t.raw) for code in found.split(b";")}
    assert colours <= {b"0", b"1", b"2", b"3", b"4", b"7"}


def test_enter_steers_while_it_works_and_alt_enter_is_always_a_new_line(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("one\x1b\rtwo\r", until="You said: one \ntwo ")
        t.send("slow\r", until="Waiting for something")
        t.send("mind the cart\x1b\rand the total\r", until="After this step: mind the cart ⏎ and the total · ↑ edit")
        t.send("\x1b[A", until="> mind the cart")
        t.gone("After this step: mind")


def test_a_message_that_came_too_late_for_the_turn_is_the_next_prompt(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("slow\r", until="Waiting for something")
        t.send("for later\t", until="After this turn: for later")
        t.send("for now\r", until="After this step: for now")
        t.send("\x1b", until="You said: for later")
        rows = "\n".join(t.history())
    assert rows.index("You said: for now") < rows.index("You said: for later")


@pytest.mark.parametrize("keys", ["one\ntwo\r", "one\\\rtwo\r", "one\x1b[13;2utwo\r"])
def test_a_prompt_has_as_many_lines_as_one_likes(tmp_path: Path, keys: str) -> None:
    with preview(tmp_path) as t:
        t.send(keys, until="You said: one \ntwo ")


def test_a_draft_is_written_in_the_own_editor(tmp_path: Path) -> None:
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\necho EDITING "$1"; printf "%s, mended" "$(cat "$1")" > "$1"\n')
    script.chmod(0o755)
    with preview(tmp_path, EDITOR=str(script), VISUAL=str(script)) as t:
        t.send("my draft\x07", until="EDITING")
        t.until("> my draft, mended")


@pytest.mark.slow
def test_a_question_waits_until_the_person_is_back_from_the_editor(tmp_path: Path) -> None:
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\necho EDITING; read line; printf "%s" "$line" > "$1"\n')
    script.chmod(0o755)
    with preview(tmp_path, EDITOR=str(script), VISUAL=str(script)) as t:
        t.send("both\r", until="#0001")
        t.send("\x07", until="EDITING")
        t.settle(3.0, 5.0)
        assert "1. Yes" not in "\n".join(t.history())
        t.send("typed in the editor\r", until="1. Yes")
        t.settle(0.8)
        t.send("1", until="> typed in the editor")


@pytest.mark.full
def test_the_transcript_is_a_screen_of_its_own_and_the_session_comes_back_as_it_was(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("run\r", until="1. Yes")
        t.send("1", until="exit 0, 11 lines")
        t.settle()
        t.send("a draft", until="> a draft")
        before = t.screen()
        t.send("\x0f", until="whole output, line 39")
        t.until("─ Transcript ─")
        t.send("/line 0", until="whole output, line 0 ")
        t.send("\rqq")
        t.gone("Transcript")
        t.until("> a draftq")
        t.send("\x7f")
        t.gone("> a draftq")
        assert t.screen() == before


@pytest.mark.full
def test_a_question_is_announced_in_the_transcript_and_answered_after_it(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("both\r", until="#0001")
        t.send("\x0f", until="Press q to answer it.")
        assert "1. Yes" not in "\n".join(t.history())
        t.resize(60, 20)
        t.send("\x0f", until="1. Yes")
        t.settle(0.8)
        t.send("1", until="answer once")


def test_leaving_in_the_transcript_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("\x0f", until="─ Transcript ─")
        t.signal(signal.SIGTERM)
        assert t.wait() == 143
        assert t.raw.rindex(b"?1049l") > t.raw.rindex(b"?1049h")
        assert "Transcript" not in "\n".join(t.screen())


@pytest.mark.full
def test_thinking_is_folded_until_it_is_asked_for(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("think\r", until="You said: thought about it")
        t.settle()
        assert "number 30 helps" not in "\n".join(t.history())
        t.send("\x14", until="Thinking: shown")
        t.send("think\r", until="Perhaps thought number 59")
        t.until("You said: thought about it")
        t.settle()
        assert "number 30 helps" in "\n".join(t.history())


def test_a_question_mark_on_an_empty_line_lists_the_keys_until_it_is_pressed_again(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("?", until="─ Keys ─")
        t.until("search earlier prompts")
        t.resize(60, 12)
        t.until("10 of ")
        t.send("?")
        t.gone("─ Keys ─")
        t.send("why?\r", until="You said: why?")
        assert "search earlier prompts" not in "\n".join(t.history())


def test_vi_keys_edit_where_they_are_wanted(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("/vim\r", until="Vi mode on for this session")
        t.send("wrong words\x1b", until=": wrong words")
        t.send("0cegood\x1b", until=": good words")
        t.send("\r", until="You said: good words")


def test_a_long_turn_rings_when_it_ends_or_asks(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("run\r", until="1. Yes")
        assert b"\x1b]9;agentcli asks" in t.raw


@pytest.mark.full
def test_a_plan_is_read_and_approved(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("plan\r", until="2. Mend")
        t.until("ask before each change")
        t.send("1", until="You said: plan session")
        t.send("plan\r", until="ask before each change")
        t.send("2", until="You said: plan once")


def test_shift_tab_goes_through_the_modes(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("\x1b[Z", until="auto-edit · demo")
        t.until("Auto-edit mode: edits files in this folder without asking, asks for the rest.")
        t.send("\x1b[Z", until="auto · demo")
        t.send("\x1b[Z", until="plan · demo")
        t.send("\x1b[Z", until="ask · demo")


@pytest.mark.full
@pytest.mark.parametrize("size", [(40, 15), (200, 60)])
def test_a_session_fits_terminals_of_all_sizes(tmp_path: Path, size: tuple[int, int]) -> None:
    with preview(tmp_path, *size) as t:
        t.send("long 40 4000\r", until="all done")
        t.send("edit\r", until="1. Yes")
        t.send("1", until="answer once")
        t.settle()
        assert tags(t.history()) == Counter(f"#{n:04}" for n in range(40))


@pytest.mark.full
def test_what_a_strange_folder_would_load_is_asked_about_first(tmp_path: Path) -> None:
    with Terminal([*PREVIEW, f"state={tmp_path}", "untrusted=yes"], cwd=str(REPOSITORY)) as t:
        t.until("Trust this folder?", ".agentcli/hooks.json (hooks: can run commands")
        t.send("y", until="The folder is trusted now. Restart agentcli to load its settings.")
        t.send("hello\r", until="You said: hello")


def test_the_facts_of_the_status_line_can_be_chosen(tmp_path: Path) -> None:
    with Terminal([*PREVIEW, f"state={tmp_path}", "status=mode"], cwd=str(REPOSITORY)) as t:
        t.until("mode: ask", "\nask ")
        assert "demo/demo" not in "\n".join(t.screen())
        assert "demo/demo" not in "\n".join(t.screen())


def test_commands_that_need_more_than_a_desk_ask_whoever_has_it(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("/doctor\r", until="ok    version:")
        t.send("\x1b", until="ok    sessions: 0 in this project")
        t.send("/undo\r", until="Put shop/cart.py back.")
        t.send("/redo\r", until="There is no undo to take back.")
        t.send(f"/export {tmp_path}/session.json\r", until="redacted.")
    assert json.loads((tmp_path / "session.json").read_text())["session"]


@pytest.mark.full
def test_a_failure_that_nobody_foresaw_loses_no_draft_and_gives_the_terminal_back(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("crash\rmy draft", until="ZeroDivisionError")
        assert t.wait() == 1
        assert b"\x1b[?2004l" in t.raw
    with preview(tmp_path) as t:
        t.send("\x1b[A", until="> my draft")


@pytest.mark.full
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_ctrl_z_suspends_and_fg_brings_everything_back(tmp_path: Path) -> None:
    with Terminal(["bash", "--norc", "-i"], cwd=str(REPOSITORY), env={"PS1": "shell> "}) as t:
        t.until("shell>")
        t.send(" ".join([*PREVIEW, f"state={tmp_path}"]) + "\r")
        t.until("ask · demo")
        t.settle()
        t.send("hello\r", until="You said: hello")
        t.send("my draft", until="> my draft")
        t.send("\x1a", until="Stopped")
        t.send("echo in-$((1+1))-between\r", until="in-2-between")
        t.send("fg\r")
        t.settle(0.3)
        t.send(" goes on", until="> my draft goes on")
        assert "\n".join(t.history()).count("You said: hello") == 1


@pytest.mark.full
def test_all_calls_of_a_reply_are_allowed_at_once_after_they_were_shown(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("several\r", until="Yes to all 3")
        assert not any("make part1" in row for row in t.screen())
        t.send("a", until="Ask one by one")
        shown = "\n".join(t.screen())
        assert "$ make part1" in shown
        assert "$ make part2" in shown
        t.send("n", until="Yes to all 3")
        t.send("a", until="Ask one by one")
        t.send("y", until="several all")


def test_the_state_at_a_glance_is_told_by_line_and_command(tmp_path: Path) -> None:
    with starting(tmp_path, 140) as t:
        t.until("budget 25% · cache 87% · 2 jobs")
        t.send("/cache\r", until="87.0% of all input came from the cache")
        t.send("/tasks\r", until="job-1  running, 3 s  $ make")
        t.send("tools\r", until="You said: looked")
        t.send("/why\r", until="2026-01-01 10:00 Pruned 3 old outputs.")
        t.settle()
        assert sum("Pruned nothing: too little to gain." in row for row in t.history()) == 2


@pytest.mark.full
def test_files_are_offered_at_the_first_at_sign_without_another_key(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        time.sleep(2)  # a person reads before typing; the list is made meanwhile
        t.send("see @pyproj", until="@pyproject.toml")


@pytest.mark.parametrize("key", ["\x16", "\x1b[200~\x1b[201~"])
def test_a_picture_on_the_clipboard_is_attached_by_a_key_or_by_an_empty_paste(tmp_path: Path, key: str) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "wl-paste").write_text("#!/bin/sh\nprintf '\\211PNG\\r\\n\\032\\n and the rest'\n")
    (programs / "wl-paste").chmod(0o755)
    with preview(tmp_path, WAYLAND_DISPLAY="wayland-0", PATH=f"{programs}:/usr/bin:/bin") as t:
        t.send(f"see{key}", until="> see [Image #1]")
        t.send("now\r", until="Image #1 · damaged")
        assert "> see [Image #1] now" in "\n".join(t.screen())
    (saved,) = (tmp_path / "state" / "agentcli" / "pictures").iterdir()
    assert saved.read_bytes().startswith(b"\x89PNG")


def test_a_command_typed_while_it_works_acts_at_once_or_waits_and_is_never_said_to_the_model(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("slow\r", until="Waiting for something")
        t.send("/cost\r", until="$0.01 in 1 request")
        t.send("/nosuch\r", until="Unknown command /nosuch")
        t.send("/pin\r", until="After this turn: /pin")
        t.until("/pin will run after this turn")
        t.send("!echo from-$((40 + 2))\r", until="After this turn: !echo")
        assert "steering:" not in "\n".join(t.screen())
        t.send("\x1b", until="from-42")
        t.gone("After this turn: /pin")


def test_that_a_command_waits_is_told_until_it_runs(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("slow\r", until="Waiting for something")
        t.send("/undo\r", until="/undo will run after this turn")
        t.send("\x1b", until="Put shop/cart.py back.")
        t.gone("will run after this turn")


def test_that_a_command_waits_is_told_no_longer_once_it_is_taken_back(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("slow\r", until="Waiting for something")
        t.send("/pin\r", until="/pin will run after this turn")
        t.send("\x1b[A", until="> /pin")
        t.gone("will run after this turn")
        assert "Esc to interrupt" in "\n".join(t.screen())


def test_a_shell_that_is_not_there_is_told_and_the_program_goes_on(tmp_path: Path) -> None:
    with preview(tmp_path, SHELL="/no/such/shell") as t:
        t.send("!ls\r", until="Set SHELL to an installed shell")
        t.send("!\r", until="Example: !git status")


@pytest.mark.full
def test_what_was_being_typed_is_back_after_the_program_was_killed(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("half a sent", until="> half a sent")
        ends = time.monotonic() + 20
        while (
            not any(file.stat().st_size for file in (tmp_path / "state" / "agentcli" / "drafts").glob("*.json"))
            and time.monotonic() < ends
        ):
            t.settle(0.1, 0.1)
        t.signal(signal.SIGKILL)
        assert t.wait() == -signal.SIGKILL
    with starting(tmp_path) as t:
        t.until("what you were typing when the session ended", "> half a sent")
        t.send("ence\r", until="You said: half a sentence")
        t.send("\x04")
        t.wait()
    assert not list((tmp_path / "state" / "agentcli" / "drafts").iterdir())


def test_what_a_shell_command_prints_is_seen_while_it_runs(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("!echo early-$((40 + 2)); sleep 1000\r", until="early-42")
        t.send("\x1b", until="! interrupted")


def test_escape_twice_goes_back_to_an_earlier_prompt(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("the first words\r", until="You said: the first words")
        t.settle()
        t.send("\x1b", until="Press Esc again to rewind")
        t.send("\x1b", until="Rewind to which prompt?")


def test_what_a_command_did_is_none_of_what_was_done_unasked(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("/undo\r", until="Put shop/cart.py back.")
        t.send("/why\r", until="Pruned 3 old outputs.")
        t.settle()
        assert "\n".join(t.history()).count("Put shop/cart.py back.") == 1


@pytest.mark.parametrize(("editor", "told"), [("no-such-editor", "exit code 127"), ("rm", "left no text behind")])
def test_an_editor_that_fails_changes_nothing_and_is_told(tmp_path: Path, editor: str, told: str) -> None:
    with preview(tmp_path, 140, EDITOR=editor, VISUAL="") as t:
        t.send("my words\x07", until=told)
        t.until("Set VISUAL or EDITOR", "> my words")


@pytest.mark.full
@pytest.mark.parametrize(
    ("environment", "linked"),
    [({"TERM": "xterm-kitty"}, True), ({"TERM": "xterm-kitty", "NO_COLOR": "1"}, False), ({}, False)],
)
def test_addresses_are_links_where_the_terminal_is_known_to_follow_them(
    tmp_path: Path, environment: dict[str, str], linked: bool
) -> None:
    with preview(tmp_path, **environment) as t:
        t.send("see [here](https://example.org/x)\r")
        t.until("You said: see here" if linked else "here (https://example.org/x)")
        t.settle()
        assert (b"\x1b]8;id=" in t.raw) is linked
        assert last(t.history()) == ">"


def test_the_menu_stays_open_with_the_argument_once_a_name_is_complete(tmp_path: Path) -> None:
    with preview(tmp_path) as t:
        t.send("/rename", until="NAME · Give this session a name")
        t.send(" ", until="> /rename")
        t.until("NAME · Give this session a name")
        t.send("x")
        t.gone("NAME · Give")
