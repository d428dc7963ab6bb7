"""Keys step over, and delete, what people see as one letter."""

from __future__ import annotations

from prompt_toolkit.document import Document

from agentcli.frontends.terminal.input.clusters import ClusterBuffer
from tests.tables import each_row

LETTERS = ["a", "é", "e\u0301", "👍🏽", "👨‍👩‍👧", "🇩🇪", "1️⃣", "한", "\u1112\u1161\u11ab", "नि"]


@each_row("letter", LETTERS)
def test_backspace_and_delete_take_the_whole_letter(letter: str) -> None:
    buffer = ClusterBuffer(document=Document(f"x{letter}y", 1 + len(letter)))
    buffer.delete_before_cursor()
    assert (buffer.text, buffer.cursor_position) == ("xy", 1)
    buffer.document = Document(f"x{letter}y", 1)
    buffer.delete()
    assert (buffer.text, buffer.cursor_position) == ("xy", 1)


@each_row("letter", LETTERS)
def test_the_cursor_steps_over_the_whole_letter(letter: str) -> None:
    buffer = ClusterBuffer(document=Document(f"x{letter}y", 1 + len(letter)))
    buffer.cursor_position += buffer.document.get_cursor_left_position()
    assert buffer.cursor_position == 1
    buffer.cursor_position += buffer.document.get_cursor_right_position()
    assert buffer.cursor_position == 1 + len(letter)


def test_a_number_of_characters_is_deleted_as_given() -> None:
    buffer = ClusterBuffer(document=Document("@src/app", 8))
    assert buffer.delete_before_cursor(4) == "/app"
