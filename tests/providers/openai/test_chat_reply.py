"""Chunks of chat completions, as the many servers send them."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.errors import ModelError
from agentcli.core.message import Part, Text, Thinking, ToolCall, Usage
from agentcli.core.model import PartDone, Stopped, UsageSeen
from agentcli.providers.openai.chat_reply import Reply, ThinkTags, to_usage
from tests.tables import each_row


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(arguments: Any, index: Any = 0, call_id: str | None = None, name: str | None = None) -> dict[str, Any]:
    return {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}


def read(*chunks: dict[str, Any]) -> tuple[list[Part], Stopped]:
    reply = Reply()
    steps = [step for each in chunks for step in reply.read(each)]
    steps += reply.end()
    assert isinstance(steps[-1], Stopped)
    return [step.part for step in steps if isinstance(step, PartDone)], steps[-1]


def calls(parts: list[Part]) -> list[tuple[str, Any]]:
    return [(part.name, dict(part.input)) for part in parts if isinstance(part, ToolCall)]


def test_calls_are_put_together_by_their_index() -> None:
    mixed = [piece('{"a"', 0, "x", "read"), piece("", 1, "y", "write"), piece(": 1}", 0), piece("{}", 1)]
    parts, stop = read(*(chunk(tool_calls=[each]) for each in mixed), chunk("tool_calls"))
    assert calls(parts) == [("read", {"a": 1}), ("write", {})]
    assert [part.call_id for part in parts if isinstance(part, ToolCall)] == ["x", "y"]
    assert stop == Stopped("tool_use")


@pytest.mark.parametrize("index", [0, None])
def test_calls_that_share_an_index_are_told_apart_by_their_ids(index: int | None) -> None:
    parts, _ = read(
        chunk(tool_calls=[piece('{"a": 1}', index, "x", "read"), piece('{"a": 2}', index, "y", "read")]), chunk("stop")
    )
    assert calls(parts) == [("read", {"a": 1}), ("read", {"a": 2})]


def test_a_call_without_an_id_and_with_arguments_as_an_object_is_a_call() -> None:
    parts, stop = read(chunk(tool_calls=[piece({"a": 1}, name="read")]), chunk("stop"))
    assert calls(parts) == [("read", {"a": 1})]
    assert stop == Stopped("tool_use")


def test_a_call_that_came_twice_is_one() -> None:
    same = [piece('{"a": 1}', index, "x", "read") for index in (0, 1)]
    assert calls(read(chunk(tool_calls=same), chunk("tool_calls"))[0]) == [("read", {"a": 1})]


@each_row("arguments", ["[]", '"x"', '{"a": NaN}', "nonsense", '{"a": 1}{"b": 2}'])
def test_arguments_that_are_no_object_stay_in_a_call_that_cannot_run(arguments: str) -> None:
    parts, stop = read(chunk(tool_calls=[piece(arguments, 0, "x", "read")]), chunk("tool_calls"))
    [kept] = parts
    assert isinstance(kept, ToolCall)
    assert (dict(kept.input), bool(kept.unreadable), stop.stop) == ({"arguments": arguments}, True, "tool_use")


def test_a_missing_bracket_is_added_only_if_the_reply_ended_with_calls() -> None:
    cut = piece('{"a": 1', 0, "x", "read")
    assert calls(read(chunk(tool_calls=[cut]), chunk("tool_calls"))[0]) == [("read", {"a": 1})]
    assert calls(read(chunk(tool_calls=[cut]), chunk("stop"))[0]) == [("read", {"arguments": '{"a": 1'})]


def test_the_last_call_of_a_reply_that_ran_out_of_tokens_never_surfaces() -> None:
    both = [piece('{"a": 1}', 0, "x", "read"), piece('{"a": 2}', 1, "y", "read")]
    parts, stop = read(chunk(tool_calls=both), chunk("length"))
    assert calls(parts) == [("read", {"a": 1})]
    assert stop == Stopped("max_tokens")


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thoughts_in_a_field_of_their_own_go_back_in_it(name: str) -> None:
    parts, _ = read(chunk(**{name: "h"}, content=""), chunk(**{name: "m"}), chunk(content="So."), chunk("stop"))
    assert parts == [Thinking("hm", "", {"openai": {"field": name}}), Text("So.")]


def test_thoughts_that_come_in_both_fields_are_read_once() -> None:
    parts, _ = read(chunk(reasoning_content="hm", reasoning="hm"), chunk("stop", content="So."))
    assert [part.text for part in parts if isinstance(part, Thinking | Text)] == ["hm", "So."]


def test_thoughts_in_tags_are_thoughts_and_do_not_go_back() -> None:
    parts, _ = read(*(chunk(content=letter) for letter in "<think>hm</think>\n\nSo."), chunk("stop"))
    assert parts == [Thinking("hm"), Text("So.")]


def test_details_of_reasoning_are_joined_and_kept() -> None:
    def detail(**more: Any) -> dict[str, Any]:
        return chunk(reasoning=more.get("text", ""), reasoning_details=[{"type": "reasoning.text", "index": 0, **more}])

    parts, _ = read(detail(text="h"), detail(text="m"), detail(signature="s"), chunk("stop", content="So."))
    joined = {"type": "reasoning.text", "index": 0, "text": "hm", "signature": "s"}
    assert parts == [Thinking("hm", "", {"openai": {"details": [joined]}}), Text("So.")]


def test_blocks_of_content_are_read_by_their_type() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    parts, _ = read(chunk(content=[thinking]), chunk("stop", content=[{"type": "text", "text": "So."}]))
    assert parts == [Thinking("hm"), Text("So.")]


def test_a_refusal_is_one() -> None:
    parts, stop = read(chunk(refusal="I will not."), chunk("stop"))
    assert parts == [Text("I will not.")]
    assert stop.stop == "refusal"
    assert read(chunk("content_filter", content="Half"))[1].stop == "refusal"


def test_what_a_server_adds_to_a_call_goes_back_with_it() -> None:
    signed = piece("{}", 0, "x", "read") | {"extra_content": {"google": {"thought_signature": "s"}}}
    [part], _ = read(chunk(tool_calls=[signed]), chunk("stop"))
    assert part.meta == {"openai": {"extra": {"extra_content": {"google": {"thought_signature": "s"}}}}}


def test_a_stream_without_a_finish_reason_broke_off() -> None:
    reply = Reply()
    assert [*reply.read(chunk(content="Half"))]
    reply.close()
    with pytest.raises(ModelError) as raised:
        [*reply.end()]
    assert raised.value.cause == "network"


def test_an_unknown_end_is_an_error_unless_whole_calls_came() -> None:
    assert read(chunk("oops", content="x"))[1] == Stopped("error", "oops")
    assert read(chunk("oops", tool_calls=[piece("{}", 0, "x", "read")]))[1] == Stopped("tool_use")


@each_row(
    ("raw", "usage"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5}, Usage(10, 5)),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 6, "cache_write_tokens": 2},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            Usage(2, 5, 3, 6, 2),
        ),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}, Usage(6, 5, 0, 4)),
        (
            {"prompt_tokens": 10, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 3},
            Usage(3, 0, 0, 4, 3),
        ),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 99}}, Usage(0, 0, 0, 10)),
        ({"prompt_tokens": "10", "prompt_tokens_details": "x", "completion_tokens": -1}, Usage(10)),
    ],
)
def test_usage_counts_what_was_cached_once(raw: dict[str, Any], usage: Usage) -> None:
    assert to_usage(raw) == usage


def test_usage_may_come_with_every_chunk_and_after_the_end() -> None:
    reply = Reply()
    used = {"prompt_tokens": 10, "completion_tokens": 1}
    steps = [*reply.read(chunk(content="x") | {"usage": used}), *reply.read(chunk("stop") | {"usage": used})]
    steps += reply.read({"choices": [], "usage": used | {"completion_tokens": 2}})
    assert [step.usage.output for step in steps if isinstance(step, UsageSeen)] == [1, 2]
    assert reply.stopped


# Thoughts in tags are told from the answer, however the text is cut.


def read_pieces(*pieces: str) -> list[tuple[bool, str]]:
    """The runs, neighbours of one kind joined."""
    tags = ThinkTags()
    runs = [run for piece in pieces for run in tags.read(piece)] + tags.end()
    return [(kind, "".join(text for _, text in same)) for kind, same in groupby(runs, key=lambda run: run[0])]


@each_row(
    ("text", "runs"),
    [
        ("plain", [(False, "plain")]),
        ("<think>hm</think>so", [(True, "hm"), (False, "so")]),
        ("\n<think>\nhm\n\n</think>\n\nso\n", [(True, "hm"), (False, "so\n")]),
        ("<think>a < b </ c</think>so", [(True, "a < b </ c"), (False, "so")]),
        ("<think></think>so", [(False, "so")]),
        ("<think>without an end", [(True, "without an end")]),
        ("the tag <think> is text here", [(False, "the tag <think> is text here")]),
        ("<thin ice>", [(False, "<thin ice>")]),
        ("<thi", [(False, "<thi")]),
        ("  indented", [(False, "  indented")]),
        ("", []),
    ],
)
def test_thoughts_at_the_beginning_are_no_text(text: str, runs: list[tuple[bool, str]]) -> None:
    assert read_pieces(text) == runs
    assert read_pieces(*text) == runs


@given(st.text(alphabet="<think>/ \na", max_size=40), st.integers(1, 9))
def test_it_does_not_matter_how_the_text_is_cut(text: str, size: int) -> None:
    whole = f"<think>{text}"
    assert read_pieces(*(whole[start : start + size] for start in range(0, len(whole), size))) == read_pieces(whole)
