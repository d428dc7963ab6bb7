"""Messages that are too large to begin with."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.context.view import view
from agentcli.context.window import Kept, is_reference, kept, oversize, reference, size_of, window_of
from agentcli.core.history import fold
from agentcli.core.message import Message, Text
from agentcli.core.model import ModelSpec
from agentcli.core.record import Record
from agentcli.tools.registry import TRAITS
from tests.tables import each_row

SETTINGS = ContextSettings(large_input_lines=2, large_input_line=10)


def places(texts: list[str], size: int, used: int = 0, **limits: object) -> Sequence[int]:
    settings = ContextSettings(**limits)  # type: ignore[arg-type]
    counter = TokenCounter(Chars4())
    seen = view(fold([Record(1, "", "", "", Message("user", (Text("x" * 4 * used),), 1))] if used else []))
    return oversize(
        dict(enumerate(texts)), window_of(seen, ModelSpec("demo", "m", window=size), counter, settings, TRAITS)
    )


def text(tokens: int) -> str:
    return "x" * 4 * tokens


def test_input_stays_whole_while_it_takes_at_most_a_quarter_of_the_free_window() -> None:
    assert places([text(233_999)], 968_000) == []
    assert places([text(234_001)], 968_000) == [0]
    assert places([text(150_000)], 968_000, used=400_000) == [0]
    assert places([text(130_000)], 968_000, used=400_000) == []


def test_several_inputs_share_the_free_window() -> None:
    assert places([text(200_000), text(10), text(180_000), text(150_000)], 968_000) == [3]


def test_small_input_stays_whole_in_a_full_window_which_is_compacted_first() -> None:
    assert places([text(25_000)], 200_000, used=165_000) == []
    assert places([text(25_001)], 200_000, used=165_000) == [0]


def test_a_quarter_of_a_small_window_is_the_limit_however_little_that_is() -> None:
    assert places([text(187), text(140)], 1_000) == []
    assert places([text(188)], 1_000) == [0]
    assert places([text(100)], 1_000, large_input_tokens=0, used=600) == [0]


def test_the_size_of_a_text_is_told_in_bytes_lines_and_tokens() -> None:
    def size(text: str) -> tuple[int, int, int]:
        found = size_of(text, TokenCounter(Chars4()))
        return found.bytes, found.lines, found.tokens

    assert [size(text) for text in ("", "a", "a\nb\n", "日本", "\ud83d")] == [
        (0, 1, 0), (1, 1, 1), (4, 3, 1), (6, 1, 1), (3, 1, 1),
    ]  # fmt: skip


@each_row(
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
