"""Counting: exact rules of each estimator, and the calibrated one held to the usage of a real session."""

from __future__ import annotations

import base64
import gc
import math
import statistics
import struct
import tracemalloc
import weakref
from collections.abc import Iterator

import pytest

from agentcli.context.settings import TiktokenSettings
from agentcli.context.tokens.calibration import Calibration, Rate, from_json
from agentcli.context.tokens.counter import RequestSizes, RunningSizes, TokenCounter, dimensions, image_tokens
from agentcli.context.tokens.estimators import (
    VOCABULARIES,
    Calibrated,
    Chars4,
    Gemini,
    Shannon,
    estimator,
    vocabularies,
)
from agentcli.context.view import View, view
from agentcli.core.history import History, evolve, fold
from agentcli.core.message import SIZE, TYPED, File, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.model import RequestMessage, ToolSchema
from agentcli.core.record import Body, Carry, Compaction, Prune, Record, Undo
from tests.context import realsession
from tests.context.transcripts import PIXEL
from tests.tables import each_row

RATE = 1.5
REAL = pytest.mark.skipif(not realsession.FILE.is_file(), reason="the recorded session is not here")


def session(*bodies: Body) -> History:
    return fold([Record(n, f"r{n}", "2026-01-01T00:00:00Z", "", body) for n, body in enumerate(bodies, 1)])


def reply(prompt: int, output: int = 10, model: str = "m", stop: str = "end_turn", text: str = "ok") -> Message:
    return Message("assistant", (Text(text),), 1, "p", model, Usage(prompt, output), None, stop)  # type: ignore[arg-type]


def test_each_rule_of_thumb_counts_as_its_program_does() -> None:
    assert TokenCounter(Gemini()).text("abcd日本") == round(4 * 0.25 + 2 * 1.3)
    assert TokenCounter(Chars4()).text("abcde") == math.ceil(5 / 4)
    assert TokenCounter(Chars4()).text("🔥🔥🔥") == 2
    prose = session(Message("user", (Text("a" * 400),)))
    assert TokenCounter(Shannon()).view(view(prose)) == round((100 + 5) * 1.1)
    code = session(Message("assistant", (ToolCall("c", "", {}),)), ToolResult("c", "x", "success", "a" * 300))
    assert TokenCounter(Shannon()).message(view(code).messages[1]) == round((100 + 5) * 1.1)


def test_a_long_input_counts_like_its_json_and_is_not_copied() -> None:
    counter, text = TokenCounter(), "é\n" * 500_000
    tracemalloc.start()
    sizes = counter.units(ToolCall("c", "write", {"path": "a", "content": text}))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sizes == Calibrated().size(f'write{{"path":"a","content":"{text}"}}'.replace("\n", "\\n"))
    assert most < len(text)


def test_a_prompt_is_the_last_report_plus_an_estimate_of_what_was_added() -> None:
    history = session(Message("user", (Text("hi"),)), reply(50_000, 500), Message("user", (Text("x" * 1_000),)))
    counter = TokenCounter(model="m")
    counter.learn(history)
    assert abs(counter.prompt(view(history)) - (50_500 + 340 + 8)) <= 1


def test_of_a_reply_that_broke_off_only_the_prompt_is_believed() -> None:
    history = session(Message("user", (Text("hi"),)), reply(50_000, 1, stop="interrupted", text="y" * 3_000))
    counter = TokenCounter(model="m")
    counter.learn(history)
    assert 51_000 < counter.prompt(view(history)) < 51_100


def test_what_a_prune_freed_since_the_last_report_is_taken_off() -> None:
    call = Message("assistant", (ToolCall("c1", "read", {}),), 1, "p", "m", Usage(50_000, 100), None, "tool_use")
    history = session(Message("user", (Text("hi"),)), call, ToolResult("c1", "read", "success", "x"), reply(60_000))
    pruned = evolve(history, Record(9, "r9", "", "", Prune(("c1",), 7_000, "test")))
    counter = TokenCounter(model="m")
    counter.learn(history)
    assert counter.prompt(view(history)) - counter.prompt(view(pruned)) == 7_000


def test_a_report_from_before_a_compaction_says_nothing_about_the_new_view() -> None:
    summary = Compaction("auto", "compressed", "auto", (1, 1), 2, "<state_snapshot>s</state_snapshot>")
    history = session(Message("user", (Text("hi"),)), Message("user", (Text("go"),)), reply(90_000), summary)
    counter = TokenCounter(model="m")
    counter.learn(history)
    assert counter.prompt(view(history)) < 1_000


def test_a_report_made_on_a_view_that_was_taken_back_is_passed_over() -> None:
    talk = (Message("user", (Text("x" * 90_000),)), reply(30_000, 100), Message("user", (Text("go"),)))
    summary = Compaction("manual", "compressed", "auto", (1, 2), 3, "<state_snapshot>s</state_snapshot>")
    history = session(*talk, summary, reply(3_000, 100), Message("user", (Text("on"),)), Undo(4))
    counter = TokenCounter(model="m")
    counter.learn(history)
    assert 30_100 < counter.prompt(view(history)) < 30_150


def test_a_report_far_below_what_the_characters_say_is_not_believed() -> None:
    history = session(Message("user", (Text("x" * 300_000),)), reply(10_000))
    counter = TokenCounter(model="m")
    counter.learn(history)
    assert counter.prompt(view(history)) > 90_000


def test_the_rate_is_learned_for_each_model_and_survives_a_compaction() -> None:
    said = Message("user", (Text("z" * 10_000),))
    history = session(Message("user", (Text("hi"),)), reply(1_000, 0), said, reply(6_000, 0), said, reply(11_000, 0))
    counter = TokenCounter(model="m")
    counter.learn(history)
    assert 0.40 < counter.calibration.rate("m") < 0.5
    assert counter.calibration.rate("another") == 0.34
    carry = Carry(calibration=counter.calibration.to_json())
    later = evolve(
        history, Record(99, "r99", "", "", Compaction("auto", "compressed", "auto", (1, 6), 99, "s", carry=carry))
    )
    before = counter.calibration.rate("m")
    counter.learn(later)
    assert counter.calibration.rate("m") == before


def test_the_rate_of_a_script_of_which_a_token_holds_four_letters_is_learned_and_its_reports_are_believed() -> None:
    said = Message("user", (Text("слово " * 2_000),))
    history = session(Message("user", (Text("hi"),)), reply(1_000, 0), said, reply(4_000, 0), said, reply(7_000, 0))
    counter = TokenCounter(model="m")
    counter.learn(history)
    assert counter.prompt(view(history)) == 7_000


def test_what_cannot_be_right_teaches_nothing() -> None:
    calibration = Calibration({"m": Rate(10, 30, 5)})
    assert calibration.learn("m", 90_000, 1_000, 1) is calibration
    assert calibration.learn("m", -5, 1_000, 1) is calibration
    assert calibration.learn("m", 20, 50, 1) is calibration
    assert from_json({"m": [1, 2, 3], "n": "nonsense"}).rates == {"m": Rate(1, 2, 3)}


class Watched(str):
    """A text whose end can be seen."""

    __slots__ = ("__weakref__",)


def test_what_a_compaction_removed_is_not_held_in_memory_by_its_count() -> None:
    def counted(counter: TokenCounter) -> tuple[weakref.ref[str], History]:
        text = Watched("gone")
        history = session(Message("user", (Text(text),)), Message("user", (Text("stays"),)))
        counter.view(view(history))
        compaction = Compaction("auto", "compressed", "auto", (1, 1), 2, "s")
        return weakref.ref(text), evolve(history, Record(3, "r3", "", "", compaction))

    counter = TokenCounter()
    text, history = counted(counter)
    assert text() is not None
    counter.learn(history)
    gc.collect()
    assert text() is None


@pytest.mark.full
def test_calls_that_a_compaction_removed_are_not_held_in_memory_by_their_markers() -> None:
    def pruned(counter: TokenCounter) -> tuple[weakref.ref[str], History]:
        call = Watched("c1")
        asked = Message("assistant", (ToolCall(call, "read", {"file_path": "a"}),))
        answered = ToolResult(call, "read", "success", "text")
        history = session(Message("user", (Text("go"),)), asked, answered, Prune((call,), 10, "why", inputs=(call,)))
        counter.view(view(history))
        compaction = Compaction("auto", "compressed", "auto", (1, 4), 5, "s")
        return weakref.ref(call), evolve(history, Record(5, "r5", "", "", compaction))

    counter = TokenCounter()
    call, history = pruned(counter)
    gc.collect()
    assert call() is not None
    counter.learn(history)
    gc.collect()
    assert call() is None


def test_counts_of_parts_add_up_to_the_count_of_the_view() -> None:
    history = session(Message("user", (Text("日本語" * 30), Image("image/png", PIXEL))), reply(1, text="z" * 999))
    counter, seen = TokenCounter(model="m"), view(history)
    blocks = sum(counter.block(block) for block in seen.blocks)
    assert abs(blocks - counter.view(seen)) <= len(list(seen.blocks))


def test_system_and_tools_count_too() -> None:
    counter = TokenCounter(Chars4())
    tools = (ToolSchema("read", "d" * 395, {"type": "object"}),)
    counter.use_model("m", ["s" * 400], tools)
    assert counter.head == 100 + math.ceil((4 + 395 + 17) / 4)
    assert counter.prompt(View(())) == counter.head


@REAL
def test_on_a_real_session_the_calibrated_count_is_all_but_exact() -> None:
    errors = sorted(_errors(TokenCounter(model="claude-opus-4-5")))
    assert len(errors) > 450
    assert statistics.median(errors) <= 0.0005
    assert errors[int(0.95 * len(errors))] <= 0.003


@REAL
def test_on_a_real_session_the_plain_rule_is_far_off() -> None:
    assert statistics.median(_errors(TokenCounter(Chars4()))) > 0.1


def _errors(counter: TokenCounter) -> Iterator[float]:
    history = History()
    for record in realsession.records():
        body = record.body
        if isinstance(body, Message) and body.usage and body.usage.prompt and history.turn and record.seq > 2:
            counter.learn(history)
            yield abs(counter.prompt(view(history)) - body.usage.prompt) / body.usage.prompt
        history = evolve(history, record)


@pytest.mark.skipif(not vocabularies(VOCABULARIES), reason="no vocabulary of tiktoken is on disk here")
def test_a_real_vocabulary_counts_as_its_makers_say() -> None:
    found = estimator("tiktoken", tiktoken=TiktokenSettings(encodings=(*VOCABULARIES,), rate=2.0))  # type: ignore[arg-type]
    assert found.name == "tiktoken"
    assert found.size("hello world") == 2
    assert found.size("") == 0
    assert found.size("<|endoftext|>") > 1, "text that looks like a mark of the tokenizer is text"
    assert found.size("\ud83d") >= 1, "half a surrogate pair breaks nothing"
    assert TokenCounter(found).text("hello world") == 4


def test_counting_by_another_estimator_forgets_what_was_measured() -> None:
    counter, seen = TokenCounter(Gemini()), view(session(Message("user", (Text("漢字" * 50),))))
    assert counter.prompt(seen) == 130
    counter.set_exact(seen, 7)
    counter.use(Chars4())
    assert counter.prompt(seen) == 25


def asked(*parts: Part | ToolResult) -> RequestMessage:
    return RequestMessage("user", parts)


def output(size: int) -> ToolResult:
    return ToolResult("c", "read", "success", "x" * size)


SUMMARY = Text("s" * 40, True, "compactor")
REQUEST = (
    asked(Text("a" * 40)),  # 10 tokens
    asked(output(400), Text("b" * 4)),  # 101
    asked(SUMMARY, output(80)),  # 30
    asked(Text("c" * 8)),  # 2
    asked(SUMMARY),  # 10
)


def test_sums_over_a_request_grow_with_it_and_are_those_of_the_whole() -> None:
    kept = TokenCounter(Chars4())
    for messages in (REQUEST[:2], REQUEST, REQUEST[:3], (*REQUEST[:1], asked(Text("z" * 12))), (), REQUEST[3:]):
        sizes, fresh = kept.sizes(messages), TokenCounter(Chars4()).sizes(messages)
        through = [sizes.through(number) for number in range(len(messages))]
        assert through == [fresh.through(number) for number in range(len(messages))]
        assert sizes.snapshot == fresh.snapshot
    sizes = kept.sizes(REQUEST)
    assert [sizes.through(number) for number in range(-1, 5)] == [0, 10, 111, 141, 143, 153]


@each_row(("count", "snapshot"), [(0, -1), (2, -1), (3, 2), (5, 2)])
def test_the_first_message_of_the_compactor_is_known(count: int, snapshot: int) -> None:
    counter = TokenCounter(Chars4())
    assert counter.sizes(REQUEST).snapshot == 2
    assert counter.sizes(REQUEST[:count]).snapshot == snapshot


@each_row(
    ("least", "end", "newest"),
    [
        (1, 5, 2),
        (20, 5, 2),
        (21, 5, 1),
        (100, 5, 1),
        (101, 5, -1),
        (20, 3, 2),
        (20, 2, 1),
        (20, 1, -1),
        (1, 0, -1),
    ],
)
def test_the_newest_large_result_before_a_message_is_found(least: int, end: int, newest: int) -> None:
    assert TokenCounter(Chars4()).sizes(REQUEST).newest_result(least, end) == newest


def test_each_part_of_a_request_costs_its_block_too() -> None:
    counter = TokenCounter(Calibrated(rate=0.5, per_block=10.0))
    sizes = counter.sizes((asked(Text("a" * 100), output(40)),))
    assert sizes.through(0) == round(counter.units(Text("a" * 100)) * 0.5 + counter.units(output(40)) * 0.5 + 20)
    at = counter.part(output(40))
    assert [sizes.newest_result(least, 1) for least in (at, at + 1)] == [0, -1]


@pytest.mark.parametrize(("doubt", "believed"), [(1.9, False), (2.1, True)])
def test_a_report_is_believed_within_a_factor_of_the_estimate(doubt: float, believed: bool) -> None:
    history = session(Message("user", (Text("x" * 300_000),)), reply(51_000, 0))
    counter = TokenCounter(model="m", doubt=doubt)
    counter.learn(history)
    assert (counter.prompt(view(history)) == 51_000) is believed


def test_a_small_prompt_is_never_doubted() -> None:
    history = session(Message("user", (Text("x" * 5_500),)), reply(100, 0))
    counter = TokenCounter(model="m")
    counter.learn(history)
    assert counter.prompt(view(history)) == 100


def test_the_provider_s_own_count_holds_for_its_very_view() -> None:
    counter, seen = TokenCounter(Chars4()), view(session(Message("user", (Text("a" * 40),))))
    counter.set_exact(seen, 7)
    assert counter.prompt(seen) == 7
    assert counter.prompt(view(session(Message("user", (Text("a" * 40),))))) == 10


def test_the_sizes_of_messages_are_the_same_however_often_they_are_asked_for() -> None:
    counter = TokenCounter(Chars4(), remember=1)
    messages = view(session(Message("user", (Text("a" * 40),)), reply(1, text="b" * 8))).messages
    assert [counter.each(messages), counter.each(messages[:1]), counter.each(messages)] == [(10, 2), (10,), (10, 2)]
    counter.use(Gemini())
    assert counter.each(messages) == (10, 2)
    assert counter.each(messages) is counter.each(messages)


def test_each_kind_of_part_is_counted_with_all_its_text() -> None:
    counter = TokenCounter(Chars4())
    assert [
        counter.part(Text("a" * 40)),
        counter.part(Thinking("a" * 40)),
        counter.part(File("text/plain", "a" * 20, "b" * 20)),
        counter.part(ToolCall("c", "read", {"a": "b" * 28})),
        counter.part(ToolResult("c", "read", "success", "a" * 40)),
    ] == [10, 10, 10, 10, 10]
    picture = counter.part(Image("image/png", PIXEL))
    assert picture > 0
    shown = ToolResult("c", "read", "success", "a" * 40, images=(Image("image/png", PIXEL),) * 2)
    assert counter.part(shown) == 10 + 2 * picture


def test_an_estimator_is_told_with_its_note() -> None:
    assert TokenCounter(Chars4()).description().startswith("Token counts: chars4 estimate.")
    assert not TokenCounter(Chars4()).description().endswith(" ")


@each_row(("size", "tokens"), [(4_000, 4_000), (2.5, 2.5), (0, 0), ("4000", 0), (None, 0)])
def test_a_summary_that_only_its_provider_reads_counts_for_what_it_stands_for(size: object, tokens: float) -> None:
    counter = TokenCounter(Calibrated(rate=RATE))
    plain = counter.units(Text("short"))
    assert counter.units(Text("short", meta={TYPED: {SIZE: size}})) == pytest.approx(plain + tokens / RATE)
    assert counter.units(Text("short", meta={TYPED: "text"})) == plain


# Sums over the messages of a request, which are measured once.


def result(call_id: str, output: str) -> ToolResult:
    return ToolResult(call_id, "read", "success", output)


def size(part: object) -> float:
    return len(part.output if isinstance(part, ToolResult) else part.text)  # type: ignore[attr-defined]


MESSAGES = (
    RequestMessage("user", (Text("abc", True, "compactor"), Text("de"))),
    RequestMessage("assistant", (Text("fghi"),)),
    RequestMessage("user", (result("a", "x" * 10), result("b", "y" * 7))),
    RequestMessage("assistant", (Text("j"),)),
    RequestMessage("user", (result("c", "z" * 5), Text("k"))),
)


def test_sums_run_through_each_message() -> None:
    sizes = RunningSizes(size).of(MESSAGES)
    assert [sizes.through(number) for number in range(-1, 5)] == [(0.0, 0), (5, 2), (9, 3), (26, 5), (27, 6), (33, 8)]
    assert sizes.snapshot == 0


def test_the_newest_result_of_a_size_is_found_before_an_end() -> None:
    sizes = RunningSizes(size).of(MESSAGES)
    assert [sizes.newest_result(least, 5) for least in (1, 5, 6, 10, 11)] == [4, 4, 2, 2, -1]
    assert [sizes.newest_result(5, end) for end in (5, 4, 3, 2, 0)] == [4, 2, 2, -1, -1]


def test_only_new_messages_are_measured_and_sums_follow_a_change() -> None:
    measured = []

    def counted(part: object) -> float:
        measured.append(part)
        return size(part)

    sizes = RunningSizes(counted).of(MESSAGES[:3])
    measured.clear()
    assert sizes.of(MESSAGES).through(4) == (33, 8)
    assert len(measured) == 3
    other = (RequestMessage("user", (Text("new"),)), *MESSAGES[1:])
    assert sizes.of(other).through(0) == (3, 1)
    assert sizes.through(4) == (31, 7)
    assert sizes.snapshot == -1


def test_a_snapshot_may_stand_behind_primers() -> None:
    assert RunningSizes(size).of((MESSAGES[1], MESSAGES[0])).snapshot == 1
    assert RunningSizes(size).of(MESSAGES[1:]).snapshot == -1


def test_tokens_are_units_by_the_rate_and_an_amount_for_each_part() -> None:
    sizes = RequestSizes(RunningSizes(size).of(MESSAGES), rate=2.0, per_block=3.0)
    assert [sizes.through(number) for number in range(5)] == [16, 27, 67, 72, 90]
    assert [sizes.newest_result(least, 5) for least in (13, 14, 23, 24)] == [4, 2, 2, -1]
    assert sizes.snapshot == 0


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x02\0\0\0"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0"


def webp(width: int, height: int) -> bytes:
    """The extended form, whose canvas is stored as three bytes for each side less one."""
    side = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF\x1a\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0" + side


def jpeg(width: int, height: int, frame: int = 0xC0) -> bytes:
    """Two other segments, a Huffman table, then the frame; its height comes first."""
    application = b"\xff\xe0\0\x10JFIF\0" + b"\1\1\0\0\1\0\1\0\0"
    table = b"\xff\xc4\0\x05\0\0\0"
    return b"\xff\xd8" + application + table + struct.pack(">BBHBHH", 0xFF, frame, 17, 8, height, width) + b"\3" * 10


def image(data: bytes) -> Image:
    return Image("image/png", base64.b64encode(data).decode())


@pytest.mark.parametrize("made", [png, gif, webp, jpeg])
@each_row("size", [(640, 480), (1, 2), (300, 5_000), (65_535, 256)])
def test_width_and_height_are_read_whatever_the_kind(made: object, size: tuple[int, int]) -> None:
    assert dimensions(image(made(*size))) == size  # type: ignore[operator]


@each_row("frame", [0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC9, 0xCF])
def test_every_frame_of_a_jpeg_has_its_size(frame: int) -> None:
    assert dimensions(image(jpeg(30, 40, frame))) == (30, 40)


@each_row(
    "data",
    [b"", b"text", png(3, 4)[:20], gif(3, 4)[:8], jpeg(3, 4)[:30], webp(3, 4)[:15], b"\xff\xd8\xff\xd9" + b"\0" * 20],
)
def test_a_picture_cut_short_has_no_size_and_is_taken_for_a_large_one(data: bytes) -> None:
    assert dimensions(image(data)) is None
    assert image_tokens(image(data)) == 1_500


@each_row(
    ("size", "tokens"),
    [
        ((28, 28), 1),
        ((29, 28), 2),
        ((28, 57), 3),
        ((56, 56), 4),
        ((1, 1), 1),
        ((1_092, 1_092), 1_521),
        ((5_000, 5_000), 1_568),
    ],
)
def test_a_picture_costs_a_token_for_each_patch_up_to_the_most(size: tuple[int, int], tokens: int) -> None:
    assert image_tokens(image(png(*size))) == tokens


def test_what_is_no_base64_has_no_size() -> None:
    assert dimensions(Image("image/png", "!")) is None
