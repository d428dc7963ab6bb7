"""Messages that are too large to begin with."""

from hypothesis import given
from hypothesis import strategies as st

from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
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
