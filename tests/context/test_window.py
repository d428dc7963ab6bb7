"""The marks of a window, and the price list in units of a fresh token."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.context.view import View, view
from agentcli.context.window import (
    Kept,
    is_reference,
    kept,
    limits_of,
    output_ratio,
    oversize,
    price_ratios,
    reference,
    reply_tokens,
    size_of,
    window_of,
)
from agentcli.core.history import fold
from agentcli.core.message import Message, Text
from agentcli.core.model import ModelSpec, Prices
from agentcli.core.record import Record
from agentcli.tools.registry import TRAITS
from tests.context.made import history, prompt, reply
from tests.tables import each_row


@each_row(
    ("window", "max_output", "usable"),
    [
        (200_000, 64_000, 168_000),
        (1_000_000, 128_000, 968_000),
        (1_048_576, 8_192, 1_040_384),
        (16_000, 16_000, 8_000),
        (8_000, 8_000, 6_000),
    ],
)
def test_what_a_prompt_may_fill_is_the_window_less_the_reply(window: int, max_output: int, usable: int) -> None:
    limits = limits_of(ModelSpec("p", "m", window=window, max_output=max_output), ContextSettings())
    assert limits.usable == usable
    assert (limits.soft, limits.hard) == (int(usable * 0.7), int(usable * 0.9))


def test_a_window_knows_its_model() -> None:
    prices, cheap = Prices(5, 25), Prices(1, 5)
    model = ModelSpec("p", "m", prices=prices, summary_prices=cheap, cache_lifetime=60.0, preserved_thinking=True)
    limits = limits_of(model, ContextSettings())
    assert (limits.model, limits.window, limits.max_output) == ("m", model.window, model.max_output)
    assert (limits.prices, limits.summary_prices) == (prices, cheap)
    assert (limits.cache_lifetime, limits.preserved_thinking) == (60.0, True)


def test_a_view_is_estimated_with_what_precedes_it() -> None:
    counter = TokenCounter()
    seen = view(history(prompt("hello"), reply("there"), prompt("again", 2)))
    counter.use_model("m", ["You are a tool."], [])
    window = window_of(seen, ModelSpec("p", "m"), counter, ContextSettings(), {})
    assert window.estimate(seen) == counter.overhead(["You are a tool."], []) + counter.view(seen)
    assert window.estimate(seen) > window.estimate(view(history(prompt("hello")))) > window.estimate(View(())) > 0


def test_the_size_of_a_message_is_that_of_its_blocks() -> None:
    counter = TokenCounter(Chars4())
    seen = view(history(prompt("x" * 40), reply("y" * 80)))
    window = window_of(seen, ModelSpec("p", "m"), counter, ContextSettings(), {})
    assert [window.size(message) for message in seen.messages] == [window.size(block) for block in seen.blocks]
    assert [window.size(block) for block in seen.blocks] == [10, 20]


def test_every_mark_can_be_moved() -> None:
    moved = ContextSettings(soft=0.5, hard=0.6, output_reserve=1_000)
    limits = limits_of(ModelSpec("p", "m", window=101_000), moved)
    assert (limits.usable, limits.soft, limits.hard) == (100_000, 50_000, 60_000)


def test_a_summary_is_priced_in_fresh_tokens_of_the_model_that_it_is_made_for() -> None:
    own = ModelSpec("p", "m", prices=Prices(5, 25, 0.5, 6.25))
    assert limits_of(own, ContextSettings()).summary_ratios == (1.0, 5.0)
    cheap = limits_of(replace(own, summary_prices=Prices(1, 5)), ContextSettings())
    assert cheap.summary_ratios == (0.2, 1.0)
    unknown = limits_of(replace(own, prices=None, summary_prices=Prices(1, 5)), ContextSettings())
    assert unknown.summary_ratios == (1.0, 5.0)
    free = limits_of(replace(own, prices=Prices(0, 8), summary_prices=Prices(1, 5)), ContextSettings())
    assert free.summary_ratios == (1.0, 5.0)


def test_prices_are_told_in_fresh_tokens() -> None:
    assert price_ratios(Prices(5, 25, 0.5, 6.25)) == (1.25, 0.1)
    assert price_ratios(Prices(0.3, 2.5, 0.03)) == (1.0, pytest.approx(0.1))
    assert price_ratios(Prices(2, 8)) == (1.0, 1.0)
    assert price_ratios(None) == price_ratios(Prices(0, 8, 1, 1)) == (1.25, 0.1)
    assert output_ratio(Prices(5, 20)) == 4.0
    assert output_ratio(None) == output_ratio(Prices(0, 8)) == 5.0


@each_row("policy", ["gemini", "opencode", "regions", "sliding"])
def test_a_policy_counts_by_its_own_estimator_and_else_by_the_common_one(policy: str) -> None:
    common = ContextSettings(estimator="shannon")
    settings = replace(common, **{policy: replace(getattr(common, policy), estimator="tiktoken")})
    assert settings.estimator_of(policy) == "tiktoken"
    common = replace(common, **{policy: replace(getattr(common, policy), estimator="")})
    assert common.estimator_of(policy) == common.estimator_of("auto") == "shannon"


def test_a_small_window_reserves_a_quarter_for_the_reply_and_any_other_half() -> None:
    assert [reply_tokens(window) for window in (0, 4_000, 10_000, 10_001, 200_000)] == [0, 1_000, 2_500, 5_000, 100_000]


# Messages that are too large to begin with.


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
