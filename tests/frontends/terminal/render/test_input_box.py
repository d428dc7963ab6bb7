"""Input box: the input with its menu, or a dialog with its choices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.frontends.terminal.dialogs.dialogs import Dialog
from agentcli.frontends.terminal.render.frame import Edit, Size
from agentcli.frontends.terminal.render.input_box import dialog_lines, fitted, input_lines, rows_of
from agentcli.frontends.terminal.style import MUTE, PLAIN
from agentcli.program.commands import Choice, Item
from agentcli.system.cells import width


def test_the_details_of_choices_are_shown_whole() -> None:
    choices = (
        Choice("SQLite", "a single file, nothing to install, and fast enough for one writer"),
        Choice("Postgres"),
    )
    for columns in (100, 50, 40):
        lines, _ = dialog_lines(Dialog("Which?", choices=choices), Edit(), Size(columns, 24), MUTE)
        assert all(width(line) < columns for line in lines)
        assert "nothing to install, and fast enough for one writer" in " ".join(" ".join(lines).split())


def test_every_choice_is_on_the_screen_however_long_the_question_is() -> None:
    size, labels = Size(100, 40), ("Yes", "Yes, and all edits", "Always", "No, tell it what to do instead")
    for rows in range(50):
        asked = Dialog("Edit?", ("row",) * rows, tuple(map(Choice, labels)), hint="e edit · Esc no")
        lines, _ = dialog_lines(fitted(asked, size, MUTE)[0], Edit(), size, MUTE)
        assert all(any(label in line for line in lines) for label in labels), rows


def test_in_a_narrow_window_names_of_models_are_whole() -> None:
    names = [*(f"anthropic/claude-sonnet-4-{n}" for n in range(3)), "google/gemini-4-flash-preview"]
    dialog = Dialog(
        "Which model?", (), tuple(Choice(name, "1M window · $2 in, $10 out") for name in names), numbered=False
    )
    lines, _ = dialog_lines(dialog, Edit(), Size(40, 20), MUTE)
    assert [name for name in names if any(name in line for line in lines)] == names


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


def test_a_long_menu_says_how_much_more_there_is() -> None:
    items = tuple(Item(f"/command{n}") for n in range(30))
    lines, _ = input_lines(Edit("/", 1, items), Size(80, 24), PLAIN)
    assert "… 22 more" in lines[-1]
    lines, _ = input_lines(Edit("/", 1, items, 29), Size(80, 24), PLAIN)
    assert "/command29" in lines[-1]
    for chosen in (-1, 29):
        lines, _ = input_lines(Edit("/", 1, items, chosen, cut=True), Size(80, 24), PLAIN)
        assert "  … and more" in lines[-1]


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
