"""What every match of a regular expression holds."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.tools.lib.literals import literals
from tests.tables import each_row


@each_row(
    ("pattern", "pieces"),
    [
        ("needle", (("needle",),)),
        ("port|address", (("port",), ("address",))),
        ("one.*three", (("one", "three"),)),
        (r"src/app\.py:\d+", (("src/app.py:",),)),
        ("colou?r of it", (("colo", "r of it"),)),
        ("abc+def", (("abc", "def"),)),
        ("abcd{0,3}efg", (("abc", "efg"),)),
        ("{abc}", (("{abc}",),)),
        ("abc{,}def", (("ab", "def"),)),
        (r"\x41bcd\u0041efg", (("bcd", "efg"),)),
        (r"[abc\]]def(ghi(j|k)[)]l)mno", (("def", "mno"),)),
        ("(?i)Needle", (("Needle",),)),
        ("(?#word)needle", (("needle",),)),
        ("(?x) a needle", ()),
        ("ab|needle", ()),
        (r"\d{4}", ()),
        ("", ()),
    ],
)
def test_the_pieces_of_a_pattern(pattern: str, pieces: tuple[tuple[str, ...], ...]) -> None:
    short = tuple(tuple(piece for piece in group if len(piece) >= 3) for group in pieces)
    assert literals(re.compile(pattern)) == short


PIECES = st.sampled_from(
    ["abc", "needle", "ß", "İx", "a?", "b*", "c+", "d{2}", "e{0,1}", "{f}", "[gh]", "[^]i]", "(?:jkl|mno)", "(p(q)?)",
     "|", ".", r"\.", r"\d", r"\bword", r"\x41", "(?=abc)", "^", "$", "1 2", "Straße"]
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(["abc", "needle", "NEEDLE", "ß", "İx", "ix", "b", "ccc", "dd", "{f}", "g", "jkl", "p", ".",
                                  "7", "word", "A", "1 2", "STRASSE", "Straße"]), max_size=8).map("".join)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(PIECES, max_size=5).map("".join), TEXTS)
def test_a_match_holds_all_pieces_of_an_alternative(pattern: str, text: str) -> None:
    regex = re.compile(pattern)
    found, groups = regex.search(text), literals(regex)
    if found and groups:
        assert any(all(piece in text for piece in group) for group in groups)
