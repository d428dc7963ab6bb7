"""Messages that are too large to begin with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.context.view import View
from agentcli.context.window import Kept, is_oversize, is_reference, kept, reference, size_of, window_of
from agentcli.core.model import ModelSpec
from agentcli.tools.registry import TRAITS

SETTINGS = ContextSettings(large_input_lines=2, large_input_line=10)


def test_only_a_text_above_the_limit_is_too_large() -> None:
    def oversize(text: str, size: int = 132_000) -> bool:
        return is_oversize(
            text, window_of(View(()), ModelSpec("demo", "m", window=size), TokenCounter(), ContextSettings(), TRAITS)
        )

    assert not oversize("short")
    assert not oversize("x" * 60_000)
    assert oversize("x" * 80_000)
    assert oversize("日" * 20_000)
    assert oversize("x" * 10_000, 16_000)


def test_a_text_at_the_limit_stays_and_one_token_more_goes_to_a_file() -> None:
    def largest(size: int, **limits: object) -> int:
        settings = ContextSettings(**limits)  # type: ignore[arg-type]
        window = window_of(View(()), ModelSpec("demo", "m", window=size), TokenCounter(Chars4()), settings, TRAITS)
        return next(tokens for tokens in range(1_000) if is_oversize("x" * (4 * tokens + 1), window))

    assert largest(132_000, large_input_tokens=100) == 100
    assert largest(132_000, large_input_tokens=0) == 0
    assert largest(1_000, large_input_share=0.1) == 75, "a tenth of the usable three quarters"
    assert largest(1_000, large_input_share=0.1, large_input_tokens=74) == 74


def test_the_size_of_a_text_is_told_in_bytes_lines_and_tokens() -> None:
    def size(text: str) -> tuple[int, int, int]:
        found = size_of(text, TokenCounter(Chars4()))
        return found.bytes, found.lines, found.tokens

    assert [size(text) for text in ("", "a", "a\nb\n", "日本", "\ud83d")] == [
        (0, 1, 0), (1, 1, 1), (4, 3, 1), (6, 1, 1), (3, 1, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1234567890", ["1234567890"]),
        ("12345678901", ["1234567890 [… 1 more characters]"]),
        ("a\nb", ["a", "b"]),
        ("a\nb\nc\nd", ["a", "b", "c", "d"]),
        ("a\nb\nc\nd\ne", ["a", "b", "[… 1 more lines in p …]", "d", "e"]),
        ("a\nb\n1234567890", ["a", "b", "1234567890"]),
        ("a\nb\n12345678901", ["a", "b", "[1 characters before …] 2345678901"]),
        ("a\nb\n", ["a", "b", ""]),
    ],
)
def test_both_ends_are_shown_whole_up_to_their_limits(text: str, shown: list[str]) -> None:
    notice, *lines = reference(text, "p", size_of(text, TokenCounter()), SETTINGS).split("\n")
    assert lines == shown
    assert notice.endswith('recall(id="p").]')


def test_a_reference_may_show_no_line_at_all() -> None:
    none = ContextSettings(large_input_lines=0)
    shown = reference("a\nb", "p", size_of("a\nb", TokenCounter()), none)
    assert shown.split("\n")[1:] == ["[… 2 more lines in p …]"]


def test_the_reference_names_path_and_size_and_shows_both_ends() -> None:
    text = "\n".join(f"line {n}" for n in range(100))
    shown = reference(text, "/s/outputs/in.txt", size_of(text, TokenCounter()), SETTINGS).split("\n")
    assert shown[0].startswith("[Large input saved to /s/outputs/in.txt: 100 lines, 789 bytes, about ")
    assert shown[1:] == ["line 0", "line 1", "[… 96 more lines in /s/outputs/in.txt …]", "line 98", "line 99"]


def test_what_a_reference_refers_to_is_read_from_it() -> None:
    def read(text: str) -> Kept | None:
        return kept(reference(text, "/s: x/in.txt", size_of(text, TokenCounter()), SETTINGS))

    assert read("\n".join(f"line {n}" for n in range(2_000))) == Kept("/s: x/in.txt", 2_000, "line 0\nline 1")
    assert read("a" * 1_000) == Kept("/s: x/in.txt", 1, "a" * 10 + " [… 990 more characters]")
    assert kept("[Large input saved to nowhere") is None


def test_one_endless_line_is_cut_too() -> None:
    shown = reference("a" * 1_000 + "z", "p", size_of("x", TokenCounter()), SETTINGS).split("\n")
    assert shown[1:] == ["a" * 10 + " [… 991 more characters]"]


@given(st.text(max_size=400))
def test_a_reference_can_be_written_as_utf8_whenever_the_text_can(text: str) -> None:
    shown = reference(text, "p", size_of(text, TokenCounter()), SETTINGS)
    shown.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")
    assert len(shown) < 600


def test_only_what_was_made_as_a_reference_is_one() -> None:
    assert is_reference(reference("x" * 1_000, "/s/in.txt", size_of("x", TokenCounter()), SETTINGS))
    assert not is_reference("x" * 1_000)
    assert not is_reference("He wrote: [Large input saved to /s/in.txt")
