from __future__ import annotations

from agentcli.frontends.terminal.dialogs.dialogs import Cancelled, Dialog, Edited, Outcome, Picked, matching, press
from agentcli.program.commands import Choice
from tests.tables import each_row

CHOICES = (Choice("Yes", keys="y"), Choice("Always"), Choice("No", keys="n"))


def outcome(dialog: Dialog, *keys: str) -> Dialog | Outcome:
    after: Dialog | Outcome = dialog
    for key in keys:
        assert isinstance(after, Dialog)
        after = press(after, key)
    return after


@each_row(
    ("keys", "expected"),
    [
        (("1",), Picked(0)), (("3",), Picked(2)), (("y",), Picked(0)), (("N",), Picked(2)), (("enter",), Picked(2)), (("up", "enter"), Picked(1)),
        (("down", "enter"), Picked(0)), (("escape",), Cancelled()), (("c-c",), Cancelled(hard=True)), (("e",), Edited()), (("c-g",), Edited()),
    ],
)  # fmt: skip
def test_a_choice_is_made_by_digit_letter_or_arrow(keys: tuple[str, ...], expected: Outcome) -> None:
    assert outcome(Dialog("May it?", choices=CHOICES, chosen=2, editable=True), *keys) == expected


@each_row("key", ["4", "0", "x", "é", "", "e"])
def test_any_other_key_does_nothing(key: str) -> None:
    dialog = Dialog("May it?", choices=CHOICES, chosen=2)
    assert press(dialog, key) == dialog


def test_of_many_choices_several_can_be_marked() -> None:
    dialog = Dialog("Which?", choices=CHOICES, multiple=True)
    assert outcome(dialog, " ", "3", "3", "2", "enter") == Picked(1, frozenset({0, 1}))


def test_while_a_line_is_typed_letters_choose_nothing() -> None:
    dialog = Dialog("search", choices=CHOICES, entry="> ", numbered=False)
    assert press(dialog, "y") == dialog
    assert outcome(dialog, "down", "enter") == Picked(1)


def test_a_search_finds_what_holds_every_word() -> None:
    choices = [Choice("Fix the cart", "demo/demo"), Choice("Fix the total"), Choice("Cart again")]
    assert matching(choices, "CART fix") == [0]
    assert matching(choices, "") == [0, 1, 2]
    assert matching(choices, "demo") == [0]


def test_nothing_is_picked_when_nothing_matches() -> None:
    empty = Dialog("search", entry="> ", numbered=False, empty="No match")
    assert press(empty, "down") == empty
    assert press(empty, "enter") == empty


def test_a_raised_digit_chooses_nothing() -> None:
    dialog = Dialog("Which?", choices=(Choice("a"), Choice("b")))
    assert press(dialog, "²") == dialog


def test_what_a_choice_says_is_safe_to_show_whoever_wrote_it() -> None:
    choice = Choice("na\x1b]0;TITLE\x07\nme", "\u202egnihton")
    assert choice.label == "na\\x1b]0;TITLE\\x07\\nme"
    assert choice.detail == "\\u202egnihton"


def test_a_named_key_chooses_before_it_moves() -> None:
    choices = (*CHOICES, Choice("Yes, and all others", shortcut="s-tab"))
    assert press(Dialog("May it?", choices=choices), "s-tab") == Picked(3)
    assert outcome(Dialog("May it?", choices=CHOICES, chosen=1), "s-tab", "enter") == Picked(0)


def test_of_a_list_with_acts_only_the_items_are_ticked() -> None:
    dialog = Dialog("Which?", choices=CHOICES, chosen=2, multiple=True, marked=frozenset({0, 1}), tickable=2)
    assert outcome(dialog, "1", "2", "2", "down", "enter") == Picked(2, frozenset({1}))
    assert press(dialog, " ") == dialog
    assert press(dialog, "3") == Picked(2, frozenset({0, 1}))


def test_each_of_several_keys_that_turn_the_title_counts_and_none_ends_the_list() -> None:
    pressed: list[str] = []

    def turned(key: str) -> str:
        pressed.append(key)
        return f"Effort {len(pressed)}"

    dialog = Dialog("Effort 0", choices=CHOICES, entry="search: ", acts=("left", "right"), turns=turned)
    after = outcome(dialog, "right", "right", "left")
    assert isinstance(after, Dialog)
    assert (after.title, pressed) == ("Effort 3", ["right", "right", "left"])
