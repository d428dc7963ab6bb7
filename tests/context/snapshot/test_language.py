"""Which language a text is in, by its script and its small words."""

from __future__ import annotations

from agentcli.context.snapshot.language import language, may_be
from tests.tables import each_row


@each_row(
    ("text", "name"),
    [
        ("", ""),
        ("12 + 3", ""),
        ("the and with from", "en"),
        ("The AND with, from.", "en"),
        ("the and with", ""),
        ("the and with the", "en"),
        ("the and with from het een van", "en"),
        ("the and with from het een van wordt", ""),
        ("het een van wordt", "nl"),
        ("der die das und", "de"),
        ("ist für und über", ""),
        ("foi são está não é", "pt"),
        ("あああ", ""),
        ("ああああ", "ja"),
        ("ああああ" + "a" * 11, "ja"),
        ("ああああ" + "a" * 12, ""),
        ("ああああ the and with from", "en"),
        ("漢字漢字", "zh"),
        ("漢" * 9 + "あ", "ja"),
        ("漢" * 10 + "あ", "zh"),
        ("한국어로", "ko"),
        ("привет", "ru"),
        ("γειά", "el"),
        ("مرحبا", "ar"),
        ("שלום", "he"),
        ("สวัสดี", "th"),
        ("नमस्ते", "hi"),
        ("при the and with from of to be", "en"),
    ],
)
def test_a_language_is_known_by_its_script_or_by_four_of_its_small_words(text: str, name: str) -> None:
    assert language(text) == name


@each_row(
    "text",
    [
        "`the and with from`",
        "```\nthe and with from\n```",
        "```\nthe and with from",
        "<the and with from>",
        "the/and with_from and.the from@with",
        " " * 40_000 + "the and with from",
    ],
)
def test_what_is_no_prose_has_no_language(text: str) -> None:
    assert language(text) == ""


def test_prose_counts_up_to_a_length() -> None:
    assert language(" " * (40_000 - 17) + "the and with from") == "en"
    assert language(" " * (40_000 - 16) + "the and with from") == ""


def test_code_between_prose_is_passed_over() -> None:
    assert language("the `x` and with ``` y ``` from") == "en"
    assert language("the `and\nwith` from") == "en", "a mark that is not closed on its line is no code"


@each_row(
    ("text", "name", "may"),
    [
        ("the", "en", True),
        ("the", "de", False),
        ("is", "en", True),
        ("is", "nl", True),
        ("the het is", "en", True),
        ("the het is", "nl", True),
        ("the and is het", "nl", False),
        ("xyz", "en", False),
        ("", "en", False),
        ("the", "ja", False),
        ("`the`", "en", False),
    ],
)
def test_a_short_text_may_be_in_the_language_of_most_of_its_small_words(text: str, name: str, may: bool) -> None:
    assert may_be(text, name) is may
