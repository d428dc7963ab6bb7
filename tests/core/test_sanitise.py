import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.sanitise import (
    display_path,
    harmful,
    invisible,
    is_needed_joiner,
    is_safe,
    replace_surrogates,
    safe,
    safe_line,
)
from tests.tables import each_row

CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"]
BIDI = list("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
TAGS = [chr(0xE0000 + code) for code in (1, *range(0x20, 0x80))]
UNSEEN = [
    *"\u00ad\u034f\u115f\u1160\u17b4\u180e\u200b\u2028\u2029\u2060\u2061\u206a\u3164\ufeff\uffa0\ufff9",
    "\ud800",
    "\udfff",
]
SEQUENCES = [
    "\x1b[2J", "\x1b[31mred", "\x1b]0;title\x07", "\x1b]0;title\x1b\\", "\x1b]52;c;cm0=\x07", "\x1b]8;;http://evil\x07click\x1b]8;;\x07", "\x1bP+q\x1b\\",
    "\x1b_G\x1b\\", "\x1b^x\x1b\\", "\x1b[6n", "\x1b[c", "\x1b[>c", "\x1b[?1049h", "\x1b[?2004l", "\x1b[200~", "\x1bc", "\x1b7\x1b8", "\x1b[1;1H", "\x1b[999D",
    "\x9b2J", "\x9d0;t\x9c", "\x90q\x9c", "\x1b]1337;File=:AAAA\x07", "\x1b]9;4;1\x07", "\x1b]777;notify;a;b\x07", "\x1b[8m hidden", "a\rb", "a\x08b", "a\x0bb",
    "a\x0cb", "a\x7fb", "\x0e\x0f", "\x05", "\x07\x07\x07", "ok\r\nbad\rx", "\x1b[3g", "\x1b(0", "\x1b#8", "\x1b[20t", "\x1b[21t", "\x1b[5i", "\x1b[4i", "\x1bZ",
    "if x: # \u202e } \u2066 begin\u2069 \u2066", "user\u200b@example.org", "a\U000e0041\U000e0042\U000e007f",
]  # fmt: skip
PAIRS = [f"{control}[31m{bidi}x" for control, bidi in zip(CONTROLS, BIDI * 6, strict=False)]
HOSTILE = (
    PAIRS
    + [f"before{letter}after" for letter in (*CONTROLS, *BIDI, *TAGS, *UNSEEN)]
    + [f"{text}\n\t{other}" for text, other in zip(SEQUENCES, reversed(SEQUENCES), strict=True)]
)


def test_there_are_three_hundred_hostile_strings() -> None:
    assert len({*HOSTILE, *SEQUENCES}) >= 300


def test_nothing_hostile_reaches_the_terminal() -> None:
    for text in (*HOSTILE, *SEQUENCES):
        shown = safe(text)
        assert not set(shown) & {*CONTROLS, *BIDI, *TAGS, *UNSEEN}, repr(text)
        assert "\\" in shown, f"{text!r}: what was there is told, not swallowed"
        shown.encode("utf-8")


@given(st.text())
def test_no_text_at_all_gets_a_control_through(text: str) -> None:
    for letter in safe(text):
        assert letter in "\n\t" or unicodedata.category(letter) != "Cc"
        assert unicodedata.bidirectional(letter) not in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    assert safe(safe(text)) == safe(text)


@given(
    st.text(
        st.one_of(st.sampled_from([*CONTROLS, *BIDI, *TAGS, *UNSEEN, *"ab\t\n\né日→👍\u200d\ufe0f"]), st.characters())
    )
)
def test_a_text_is_safe_if_nothing_in_it_is_escaped(text: str) -> None:
    assert is_safe(text) == (safe(text) == text)
    assert not is_safe(text) or len(text.splitlines()) == len(text.removesuffix("\n").split("\n")) or not text


def test_nothing_hostile_is_safe() -> None:
    assert [text for text in (*HOSTILE, *SEQUENCES) if is_safe(text)] == []


@each_row(
    "text",
    [
        "",
        "plain",
        "a\nb\tc",
        "日本語 한국어 العربية עברית",
        "é e\u0301",
        "👩\u200d💻 ❤\ufe0f",
        "👩🏽\u200d❤\ufe0f\u200d💋\u200d👨🏽 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 ☎\ufe0e ™\ufe0f",
        "می\u200cخواهم نمی\u200cدانم ه\u200d",
        "क्\u200dष র\u200d্য ന\u0d4d\u200d ශ්\u200dරී",
        "葛\ufe00 ∩\ufe00",
        "नमस्ते",
        "±×÷ … — “quoted”",
        "C:\\x1b",
    ],
)
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert safe(text) == text


@each_row(
    ("text", "shown"),
    [
        ("rm -rf build" + "\ufe0f" * 120 + " x", "rm -rf build⟨U+FE0F×120⟩ x"),
        ("make\u200cx te\u200dst", "make⟨U+200C⟩x te⟨U+200D⟩st"),
        ("👍\ufe0f\ufe0f ok", "👍⟨U+FE0F×2⟩ ok"),
        ("می\u200c\u200cخواهم", "می⟨U+200C×2⟩خواهم"),
        ("1\ufe0f ", "1⟨U+FE0F⟩ "),
        ("👍\u200dmake", "👍⟨U+200D⟩make"),
        ("a" + "\ufe01\ufe0e" * 5 + "b", "a⟨" + "U+FE01 U+FE0E " * 3 + "U+FE01 U+FE0E and 2 more⟩b"),
    ],
)
def test_what_joins_or_varies_nothing_is_counted(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_an_emoji_whose_selector_comes_in_the_next_piece_of_a_stream_is_whole() -> None:
    assert safe("❤") + safe("\ufe0f ok") == "❤\ufe0f ok"
    assert safe("👩\u200d") + safe("💻") == "👩\u200d💻"


def test_dos_line_ends_read_as_lines() -> None:
    assert safe("a\r\nb\r\n") == "a\nb\n"
    assert safe("a\rb") == "a\\x0db"


def test_a_place_for_one_line_gets_one_line() -> None:
    assert safe_line("a\nb\tc\x1b") == "a\\nb\\tc\\x1b"
    assert "\n" not in safe_line("x\r\ny")


def test_what_a_reader_cannot_see_is_known() -> None:
    for letter in (*CONTROLS, *BIDI, *TAGS, *UNSEEN, "\u00a0", "\u3000", "\u2003", "\u2800", "\ufe0f", "\u200d"):
        assert invisible(letter), hex(ord(letter))
    for letter in "aZ0 ~é日א👍":
        assert not invisible(letter), letter


@each_row(
    ("path", "shown"),
    [
        ("/home/me", "~"),
        ("/home/me/a b/c", "~/a b/c"),
        ("/home/mean", "/home/mean"),
        ("/srv/\x1b[2J", "/srv/\\x1b[2J"),
        ("/home/me/\x1b[2J\n", "~/\\x1b[2J\\n"),
        ("below/home", "below/home"),
    ],
)
def test_a_path_is_shown_from_the_home_folder_on(monkeypatch: pytest.MonkeyPatch, path: str, shown: str) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert display_path(Path(path)) == shown


def test_no_printable_ascii_character_is_invisible_and_every_other_blank_is() -> None:
    assert not any(map(invisible, map(chr, range(0x20, 0x7F))))
    assert all(
        map(
            invisible,
            (
                "\x1f",
                "\x7f",
                "\u00a0",
                "\u2003",
                "\u202f",
                "\u3000",
                "\u200b",
                "\ufe00",
                "\ufe0f",
                "\U000e0100",
                "\U000e01ef",
            ),
        )
    )
    assert not any(map(invisible, ("é", "日", "\ufdff", "\ufe10")))


@each_row(
    ("text", "place", "needed"),
    [
        ("👩\u200d💻", 1, True),
        ("🏃\ufe0f\u200d♂", 2, True),
        ("می\u200cروم", 2, True),  # Persian: the letters beside it are not joined
        ("می\u200c", 2, True),  # the next letter is still to come
        ("क्\u200dष", 2, True),
        ("a\u200d💻", 1, False),
        ("👩\u200db", 1, False),
        ("a\u200cb", 1, False),
        ("می\u200cروم", 1, False),
        ("می\u200c\u200cروم", 3, False),
    ],
)
def test_a_joiner_is_needed_by_emoji_and_by_letters_that_join(text: str, place: int, needed: bool) -> None:
    assert is_needed_joiner(text, place) is needed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x00\x1f\x7f\x9f", "\\x00\\x1f\\x7f\\x9f"),
        ("\u00ad\u034f\ufffb", "\\xad\\u034f\\ufffb"),
        ("\ud800\U0001bca0\U000e0fff", "\\ud800\\U0001bca0\\U000e0fff"),
    ],
)
def test_an_escape_has_as_many_digits_as_its_character_needs(text: str, shown: str) -> None:
    assert safe(text) == shown


@each_row(
    ("text", "sent"), [("aé", "aé"), ("a\ud800b\udfffc", "a\ufffdb\ufffdc"), ("", ""), ("\ud7ff\ue000", "\ud7ff\ue000")]
)
def test_what_cannot_be_sent_is_replaced(text: str, sent: str) -> None:
    assert replace_surrogates(text) == sent


@each_row(
    ("text", "told"),
    [("plain é", ""), ("a\tb\nc\td", "\\t, \\n"), ("\x1b[2J\x1b", "\\x1b"), ("b\u202ea\u200e", "\\u202e, \\u200e")],
)
def test_each_character_that_would_be_escaped_is_told_once(text: str, told: str) -> None:
    assert harmful(text) == told


@each_row(
    ("text", "shown"),
    [
        ("\u200d", "\u200d"),
        ("\ufe0fx", "\ufe0fx"),
        ("x\ufe0f", "x⟨U+FE0F⟩"),
        ("x\u200d", "x⟨U+200D⟩"),
        ("x\u200cم", "x⟨U+200C⟩م"),
        ("x\u200dم", "x\u200dم"),
        ("م\u200cx", "م\u200cx"),
        ("👍\ufe0e", "👍\ufe0e"),
        ("#\ufe0f\u20e3", "#\ufe0f\u20e3"),
        ("#\ufe0f", "#\ufe0f"),
        ("#\ufe0fa", "#⟨U+FE0F⟩a"),
        ("❤\ufe0f\u200d💋", "❤\ufe0f\u200d💋"),
        ("❤\ufe0f\u200dx", "❤⟨U+FE0F U+200D⟩x"),
        ("x\ufe0f\u200d💋", "x⟨U+FE0F U+200D⟩💋"),
        ("葛\ufe02", "葛\ufe02"),
        ("葛\ufe03", "葛⟨U+FE03⟩"),
        ("葛\ufe00\ufe00", "葛⟨U+FE00×2⟩"),
        ("a\ufe00", "a⟨U+FE00⟩"),
        ("a" + "\ufe01\ufe0e" * 4 + "b", "a⟨" + "U+FE01 U+FE0E " * 3 + "U+FE01 U+FE0E⟩b"),
        ("a" + "\ufe01\ufe0e" * 4 + "\ufe01" * 3 + "b", "a⟨" + "U+FE01 U+FE0E " * 4 + "and 3 more⟩b"),
    ],
)
def test_a_joiner_or_selector_stays_beside_what_needs_it(text: str, shown: str) -> None:
    assert safe(text) == shown
    assert is_safe(text) is (text == shown)
