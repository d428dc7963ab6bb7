"""Events of a Responses stream."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from agentcli.core.errors import ModelError
from agentcli.core.event import TextDelta, ThinkingDelta
from agentcli.core.message import Part, Text, Thinking, ToolCall, Usage
from agentcli.core.model import PartDone, Stopped
from agentcli.providers.openai.responses_reply import Reply, to_usage


def done(index: int, **item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def message(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], **more}


def called(arguments: str, call_id: str = "call_1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "read", "arguments": arguments, **more}


def over(reason: str = "", **response: Any) -> dict[str, Any]:
    kind = "incomplete" if reason else "completed"
    details = {"incomplete_details": {"reason": reason}} if reason else {}
    return {"type": f"response.{kind}", "response": {"status": kind, **details, **response}}


def read(*events: dict[str, Any]) -> tuple[list[Part], Stopped]:
    reply = Reply()
    steps = [step for each in events for step in reply.read(each)]
    steps += reply.end()
    assert isinstance(steps[-1], Stopped)
    return [step.part for step in steps if isinstance(step, PartDone)], steps[-1]


def test_an_item_of_reasoning_is_kept_as_it_came() -> None:
    raw = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "encrypted_content": "x",
    }
    parts, stop = read(done(0, **raw, status=None), done(1, **message("So.", phase="final_answer")), over())
    assert parts == [Thinking("Hm.", "", {"openai": raw}), Text("So.", meta={"openai": {"phase": "final_answer"}})]
    assert stop == Stopped("end_turn")


def test_reasoning_without_a_summary_is_kept_too() -> None:
    parts, _ = read(
        done(0, type="reasoning", id="rs_1", summary=[], encrypted_content="x"), done(1, **called("{}")), over()
    )
    assert isinstance(parts[0], Thinking)
    assert parts[0].meta is not None


def test_parts_of_a_summary_are_shown_as_paragraphs() -> None:
    reply = Reply()
    kind = "response.reasoning_summary_text.delta"
    events = [
        {"type": "response.reasoning_summary_part.added", "summary_index": 0},
        {"type": kind, "delta": "a"},
        {"type": "response.reasoning_summary_part.added", "summary_index": 1},
        {"type": kind, "delta": "b"},
    ]
    shown = [step.text for event in events for step in reply.read(event) if isinstance(step, ThinkingDelta)]
    assert shown == ["a", "\n\n", "b"]


def test_calls_wait_for_the_end_and_keep_their_order() -> None:
    reply = Reply()
    steps = [
        step
        for event in (done(0, **called("{}")), done(1, **called('{"a": 1}', "call_2")))
        for step in reply.read(event)
    ]
    assert not [step for step in steps if isinstance(step, PartDone)]
    assert [*reply.read(over())] == []
    ended = [step.part for step in reply.end() if isinstance(step, PartDone)]
    assert [(part.call_id, dict(part.input)) for part in ended if isinstance(part, ToolCall)] == [
        ("call_1", {}),
        ("call_2", {"a": 1}),
    ]


@pytest.mark.parametrize("arguments", ['{"a"', "[]", '{"a": NaN}'])
def test_arguments_that_are_no_object_stay_in_a_call_that_cannot_run(arguments: str) -> None:
    parts, stop = read(done(0, **called(arguments)), over())
    [kept] = parts
    assert isinstance(kept, ToolCall)
    assert (dict(kept.input), bool(kept.unreadable), stop.stop) == ({"arguments": arguments}, True, "tool_use")


def test_a_call_that_began_and_did_not_end_is_malformed() -> None:
    begun = {"type": "response.output_item.added", "output_index": 0, "item": called("")}
    parts, stop = read(begun, over())
    assert (parts, stop.stop, stop.tool) == ([], "malformed_call", "read")


@pytest.mark.parametrize(
    ("reason", "stop"), [("max_output_tokens", "max_tokens"), ("content_filter", "refusal"), ("?", "error")]
)
def test_an_incomplete_response_loses_its_last_call(reason: str, stop: str) -> None:
    parts, stopped = read(
        done(0, **called('{"a": 1}')), done(1, **called('{"a": 2}', "call_2", status="incomplete")), over(reason)
    )
    assert [dict(part.input) for part in parts if isinstance(part, ToolCall)] == [{"a": 1}]
    assert stopped.stop == stop


def test_a_refusal_is_one() -> None:
    item = {"type": "message", "content": [{"type": "refusal", "refusal": "I will not."}]}
    parts, stop = read(done(0, **item), over())
    assert (parts, stop.stop) == ([Text("I will not.")], "refusal")


def test_a_server_that_sends_no_items_is_read_from_its_end() -> None:
    parts, stop = read(over(output=[message("So."), called("{}")]))
    assert [type(part) for part in parts] == [Text, ToolCall]
    assert stop == Stopped("tool_use")


def test_a_stream_without_its_end_broke_off() -> None:
    reply = Reply()
    assert [*reply.read(done(0, **message("So.")))]
    with pytest.raises(ModelError) as raised:
        [*reply.end()]
    assert raised.value.cause == "network"


def test_usage_counts_what_was_cached_once() -> None:
    raw = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 6, "cache_write_tokens": 3},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 4},
    }
    assert to_usage(raw) == Usage(1, 5, 4, 6, 3)


# Large events: the API sends a text again in up to four of them.


def delta(text: str) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "output_index": 0, "delta": text}


def heard(*events: dict[str, Any], in_ascii: bool = True) -> list[Part]:
    """The parts of a reply of these events, as a server writes them."""
    reply = Reply()
    steps = [step for event in events for step in reply.read(reply.parsed(encoded(event, in_ascii)))]
    return [step.part for step in (*steps, *reply.end()) if isinstance(step, PartDone)]


def encoded(event: dict[str, Any], in_ascii: bool = True) -> bytearray:
    return bytearray(json.dumps(event, ensure_ascii=in_ascii).encode())


PIECE = 'a "quoted" \\ piece, été, 😀\n'
WHOLE = PIECE * 40_000
REPEATED = (
    {"type": "response.output_text.done", "output_index": 0, "text": WHOLE},
    {"type": "response.content_part.done", "part": message(WHOLE)["content"][0]},
)
DONE = done(0, **message(WHOLE))


@pytest.mark.parametrize("in_ascii", [True, False])
def test_a_text_that_is_sent_again_whole_is_the_same_part(in_ascii: bool) -> None:
    deltas = [delta(PIECE)] * 40_000
    assert heard(*deltas, *REPEATED, DONE, over(output=[DONE["item"]]), in_ascii=in_ascii) == [Text(WHOLE)]


def test_the_whole_text_counts_where_it_is_not_that_of_the_pieces() -> None:
    assert heard(delta("Half of it"), *REPEATED, DONE, over(output=[DONE["item"]])) == [Text(WHOLE)]
    two = {"type": "message", "content": [{"type": "output_text", "text": text} for text in (WHOLE, "b")]}
    assert heard(delta(f"{WHOLE}b"), done(0, **two), over()) == [Text(f"{WHOLE}b")]


def test_halves_of_a_character_in_two_pieces_are_one_in_the_whole_text() -> None:
    halves = [{**delta(""), "delta": half} for half in ("\ud83d", "\ude00")]
    whole = "😀" + "x" * 600_000
    assert heard(*halves, delta("x" * 600_000), done(0, **message(whole)), over()) == [Text(whole)]


def test_a_large_call_after_a_text_has_its_arguments() -> None:
    arguments = json.dumps({"file_path": WHOLE})
    parts = heard(delta("So."), done(0, **message("So.")), done(1, **called(arguments)), over())
    assert parts == [Text("So."), ToolCall("call_1", "read", {"file_path": WHOLE})]


@pytest.mark.parametrize("events", [(DONE, over()), (over(output=[DONE["item"]]),), (*REPEATED, DONE, over())])
def test_a_large_text_without_pieces_is_not_lost(events: tuple[dict[str, Any], ...]) -> None:
    assert heard(*events) == [Text(WHOLE)]


@pytest.mark.parametrize("text", ["So.", WHOLE])
def test_a_text_that_is_only_sent_once_it_is_done_is_heard(text: str) -> None:
    reply = Reply()
    event = {"type": "response.output_text.done", "output_index": 0, "text": text}
    assert [step.text for step in reply.read(reply.parsed(encoded(event))) if isinstance(step, TextDelta)] == [text]
    assert [*reply.read(done(0, **message("It again.")))] == [PartDone(Text("It again."))]
    assert [*reply.read(event)] == []


def test_events_that_repeat_a_text_take_no_memory_for_it() -> None:
    whole = "forty characters of a piece, with an e\n\n" * 50_000
    reply = Reply()
    assert [*reply.read(delta(whole))]
    repeated = [{**REPEATED[0], "text": whole}, done(0, **message(whole)), over(output=[message(whole)])]
    for event, most in zip(repeated, (0.2, 1.2, 0.2), strict=True):
        data = encoded(event)
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        parsed = reply.parsed(data)
        peak = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        assert peak < most * len(whole), event["type"]
        assert all(reply.read(parsed))
    assert reply.stopped
