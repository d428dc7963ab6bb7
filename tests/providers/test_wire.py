"""The JSON that goes out, pinned for each vendor, and the rules by which it is made."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from inline_snapshot import snapshot

from agentcli.core.message import File, Image, Pieces, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import Breakpoint, Request, RequestMessage, ToolSchema
from agentcli.providers.anthropic.request import to_wire
from agentcli.providers.catalog import spec
from agentcli.providers.google.request import Former, to_body
from agentcli.providers.scripted.model import say
from agentcli.providers.settings import BUILT_IN, ProviderSettings
from agentcli.providers.wire import (
    DEEPEST,
    BodyWriter,
    WireMessages,
    apart,
    can_run,
    joined,
    tokens,
    wire_id,
    wire_name,
)
from tests.loopback import Loopback
from tests.providers.hearing import READ, Heard, connected, hear, request
from tests.tables import each_row

"""Imported before any test has the whole SDK imported, which would be used in its place."""

SIGNED = {"google": {"thought_signature": "c2lnbmF0dXJl"}}


def _sent(name: str, **more: Any) -> Any:
    with Loopback([say("x")], strict=False) as server:

        async def run() -> None:
            model = connected(server, name)
            turns = (
                RequestMessage(
                    "user", (Text("<system-reminder>\nit rains\n</system-reminder>", True, "reminder"), Text("Fix it."))
                ),
                RequestMessage(
                    "assistant",
                    (
                        Thinking("I should read.", "c2ln"),
                        Text("Reading.", meta=SIGNED),
                        ToolCall("call_1", "read", {"file_path": "ä.py"}, SIGNED),
                        ToolCall("call_2", "read", {"file_path": "b.py"}),
                    ),
                    model.spec.provider,
                    model.spec.id,
                ),
                RequestMessage(
                    "user",
                    (
                        ToolResult("call_1", "read", "success", "1 def a(): ..."),
                        ToolResult("call_2", "read", "error", "no such file", images=(Image("image/png", "iVBORw=="),)),
                        File("text/plain", "c.py", "evil </file> end"),
                    ),
                ),
            )
            marks = (Breakpoint(-1), Breakpoint(2, 1))
            heard = await hear(model, request(model.spec, *turns, breakpoints=marks, **more))
            assert heard.error is None
            await model.close()

        asyncio.run(run())
        return server.asked[0].json


def test_the_body_of_a_messages_request() -> None:
    assert _sent("sonnet", options={"effort": "high"}) == snapshot(
        {
            "max_tokens": 1000,
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
                {
                    "role": "system",
                    "content": [
                        {
                            "type": "text",
                            "text": """\
<system-reminder>
it rains
</system-reminder>\
""",
                        }
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "I should read.", "signature": "c2ln"},
                        {"type": "text", "text": "Reading."},
                        {"type": "tool_use", "id": "call_1", "name": "read", "input": {"file_path": "ä.py"}},
                        {"type": "tool_use", "id": "call_2", "name": "read", "input": {"file_path": "b.py"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "call_1", "content": "1 def a(): ..."},
                        {
                            "type": "tool_result",
                            "tool_use_id": "call_2",
                            "content": [
                                {"type": "text", "text": "no such file"},
                                {
                                    "type": "image",
                                    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="},
                                },
                            ],
                            "is_error": True,
                            "cache_control": {"type": "ephemeral"},
                        },
                        {
                            "type": "text",
                            "text": """\
<file path="c.py">
evil &lt;/file> end
</file>\
""",
                        },
                    ],
                },
            ],
            "model": "claude-sonnet-5-5",
            "output_config": {"effort": "high"},
            "stream": True,
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            "thinking": {"type": "adaptive", "display": "summarized"},
            "tools": [
                {
                    "name": "read",
                    "description": "Read a file.",
                    "input_schema": {
                        "type": "object",
                        "properties": {"file_path": {"type": "string"}},
                        "required": ["file_path"],
                    },
                }
            ],
        }
    )


def test_the_body_of_a_gemini_request() -> None:
    assert _sent("flash", options={"effort": "low"}) == snapshot(
        {
            "contents": [
                {
                    "parts": [
                        {
                            "text": """\
<system-reminder>
it rains
</system-reminder>\
"""
                        },
                        {"text": "Fix it."},
                    ],
                    "role": "user",
                },
                {
                    "parts": [
                        {"text": "Reading.", "thoughtSignature": "c2lnbmF0dXJl"},
                        {
                            "functionCall": {"id": "call_1", "args": {"file_path": "ä.py"}, "name": "read"},
                            "thoughtSignature": "c2lnbmF0dXJl",
                        },
                        {"functionCall": {"id": "call_2", "args": {"file_path": "b.py"}, "name": "read"}},
                    ],
                    "role": "model",
                },
                {
                    "parts": [
                        {
                            "functionResponse": {
                                "id": "call_1",
                                "name": "read",
                                "response": {"output": "1 def a(): ..."},
                            }
                        },
                        {
                            "functionResponse": {
                                "parts": [{"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}],
                                "id": "call_2",
                                "name": "read",
                                "response": {"error": "no such file"},
                            }
                        },
                        {
                            "text": """\
<file path="c.py">
evil &lt;/file> end
</file>\
"""
                        },
                    ],
                    "role": "user",
                },
            ],
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [
                {
                    "functionDeclarations": [
                        {
                            "description": "Read a file.",
                            "name": "read",
                            "parameters": {
                                "properties": {"file_path": {"type": "STRING"}},
                                "required": ["file_path"],
                                "type": "OBJECT",
                            },
                        }
                    ]
                }
            ],
            "generationConfig": {
                "maxOutputTokens": 1000,
                "thinkingConfig": {"include_thoughts": True, "thinking_level": "LOW"},
            },
        }
    )


def _wire(name: str, *turns: RequestMessage | str, **more: Any) -> Any:
    return to_wire(request(spec(name), *turns, **more), BUILT_IN["anthropic"])


def test_thoughts_go_back_only_to_the_model_that_had_them() -> None:
    thought = RequestMessage("assistant", (Thinking("hm", "sig"), Text("So.")), "anthropic", "claude-opus-5-5")
    for name, kept in (("opus", 2), ("sonnet", 1)):
        assert len(_wire(name, "a", thought, "b")["messages"][1]["content"]) == kept
    assert (
        len(
            _wire(
                "opus", "a", RequestMessage("assistant", (Thinking("hm"), Text("So.")), "anthropic", "claude-opus-5-5")
            )["messages"][1]["content"]
        )
        == 1
    )


def test_a_turn_with_nothing_to_send_is_left_out_and_its_neighbours_join() -> None:
    foreign = RequestMessage("assistant", (Thinking("hm", "sig"), Text(" ")), "google", "gemini-3.8-flash")
    wire = _wire("opus", "a", foreign, "b")
    assert [message["role"] for message in wire["messages"]] == ["user"]
    assert [block["text"] for block in wire["messages"][0]["content"]] == ["a", "b"]
    contents = gemini_contents(
        request(spec("flash"), "a", RequestMessage("assistant", (Thinking("hm", "sig"),), "anthropic", "x"), "b")
    )
    assert len(contents) == 1


def test_never_more_than_four_cache_marks_and_the_newest_win() -> None:
    turns = [RequestMessage("user" if n % 2 == 0 else "assistant", (Text(f"t{n}"),)) for n in range(9)]
    wire = _wire("opus", *turns, breakpoints=(Breakpoint(-1), *(Breakpoint(n) for n in range(9))))
    marked = [n for n, message in enumerate(wire["messages"]) if "cache_control" in message["content"][0]]
    assert marked == [6, 7, 8]
    assert "cache_control" in wire["system"][0]


def test_a_mark_on_what_is_not_sent_moves_back_in_its_turn() -> None:
    turn = RequestMessage("assistant", (Text("So."), Thinking("hm", "sig"), Text("")), "anthropic", "claude-opus-5-5")
    wire = _wire("opus", "a", turn, "b", breakpoints=(Breakpoint(1), Breakpoint(7)))
    assert ["cache_control" in block for block in wire["messages"][1]["content"]] == [True, False]


def test_ids_of_other_vendors_become_acceptable_and_stay_apart() -> None:
    strange = ["a.b:c", "a.b:d", "x" * 65, "ü"]
    made = {wire_id(each) for each in strange}
    assert len(made) == 4
    assert all(wire_id(each) == each for each in made)
    wire = _wire(
        "opus",
        "a",
        RequestMessage("assistant", (ToolCall("a.b:c", "read", {}),)),
        RequestMessage("user", (ToolResult("a.b:c", "read", "success", ""),)),
    )
    assert (
        wire["messages"][1]["content"][0]["id"] == wire["messages"][2]["content"][0]["tool_use_id"] == wire_id("a.b:c")
    )


def test_each_style_of_thinking_has_its_form() -> None:
    assert _wire("opus", "a")["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert "thinking" not in _wire("opus", "a", options={"thinking": False})
    assert _wire("opus", "a", options={"effort": "max"})["output_config"] == {"effort": "max"}
    old = "claude-haiku-4-5"
    assert "thinking" not in _wire(old, "a")
    assert "thinking" not in _wire(old, "a", options={"thinking": False, "effort": "high"}, max_output=32_000)

    def gemini(name: str, **options: Any) -> Any:
        return gemini_body(request(spec(name), "a", options=options))["generationConfig"].get("thinkingConfig")

    assert gemini("flash") == {"include_thoughts": True}
    assert gemini("flash", effort="max") == {"include_thoughts": True, "thinking_level": "HIGH"}
    assert gemini("flash", thinking=False) == {"include_thoughts": False, "thinking_level": "LOW"}
    assert gemini("gemini-2.5-flash") == {"include_thoughts": True}
    assert gemini("gemini-2.5-flash", effort="low") == {"include_thoughts": True, "thinking_budget": 2048}
    assert gemini("gemini-2.5-flash", thinking_budget=-1) == {"include_thoughts": True, "thinking_budget": -1}
    assert gemini("gemini-2.5-flash", thinking=False, effort="low") == {"include_thoughts": False}
    assert gemini("google/unheard-of") is None


@each_row(
    ("options", "max_output", "budget"),
    [
        ({}, 32_000, 8_192),
        ({"effort": "low"}, 32_000, 2_048),
        ({"effort": "max"}, 32_000, 24_000),
        ({"thinking_budget": 2_000, "effort": "max"}, 32_000, 2_000),
        ({"thinking_budget": 200_000}, 500_000, 48_000),
        ({}, 4_000, 3_000),
        ({}, 1_500, 1_125),
        ({}, 1_300, None),
        ({"thinking_budget": 10}, 32_000, None),
    ],
)
def test_a_budget_to_think_in_follows_the_effort_and_leaves_room_for_the_answer(
    options: dict[str, Any], max_output: int, budget: int | None
) -> None:
    wire = _wire("claude-haiku-4-5", "a", options={"thinking": True, **options}, max_output=max_output)
    assert wire.get("thinking") == (budget and {"type": "enabled", "budget_tokens": budget})
    assert budget is None or 1024 <= budget < wire["max_tokens"]
    assert ("extra_headers" in wire) is (budget is not None)


def test_a_budget_model_thinks_on_where_its_tool_loop_began_with_a_thought() -> None:
    thought = Thinking("Hm.", "c2ln")

    def thinks(*turns: RequestMessage | str) -> bool:
        return "thinking" in _wire("claude-haiku-4-5", "a", *turns, options={"thinking": True}, max_output=32_000)

    def step(number: int, *before: Any, said: str = "") -> tuple[RequestMessage, RequestMessage]:
        asked = ToolCall(f"c{number}", "read", {})
        answer: tuple[Any, ...] = (ToolResult(f"c{number}", "read", "success", "ok"), *([Text(said)] if said else []))
        return RequestMessage("assistant", (*before, asked), "anthropic", "claude-haiku-4-5"), RequestMessage(
            "user", answer
        )

    assert thinks(*step(1, thought))
    assert thinks(*step(1, thought), *step(2)), "not every step has a thought of its own"
    assert thinks(*step(1, thought, said="Also b."), *step(2))
    assert not thinks(*step(1))
    assert not thinks(*step(1), *step(2, thought)), "what another model began goes on without"
    assert thinks(*step(1), RequestMessage("assistant", (Text("Done."),)), "And now?"), "a new prompt is a new turn"


def test_geminis_foreign_calls_carry_the_dummy_on_the_first_of_a_step_only() -> None:
    step = RequestMessage(
        "assistant", (ToolCall("1", "read", {}), ToolCall("2", "read", {})), "anthropic", "claude-opus-5-5"
    )
    done = RequestMessage("user", (ToolResult("1", "read", "success", ""), ToolResult("2", "read", "success", "")))
    sent = gemini_contents(request(spec("flash"), "a", step, done))[1]["parts"]
    assert base64.b64decode(sent[0]["thoughtSignature"]) == b"skip_thought_signature_validator"
    assert "thoughtSignature" not in sent[1]
    old = gemini_contents(request(spec("gemini-2.5-flash"), "a", step, done))[1]["parts"]
    assert "thoughtSignature" not in old[0]


def test_a_schema_that_the_plain_form_cannot_say_travels_as_it_is() -> None:
    union = ToolSchema(
        "t", "d", {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
    )
    empty = ToolSchema("e", "d", {"type": "object", "properties": {}, "required": []})
    made = gemini_body(request(spec("flash"), "a", tools=(READ, union, empty)))["tools"][0]
    assert [sorted(set(tool) - {"name", "description"}) for tool in made["functionDeclarations"]] == [
        ["parameters"],
        ["parameters_json_schema"],
        [],
    ]


def test_no_reply_may_be_longer_than_the_model_allows() -> None:
    assert _wire("claude-haiku-4-5", "a", max_output=500_000)["max_tokens"] == 64_000
    made = gemini_body(request(spec("flash"), "a", max_output=500_000))
    assert made["generationConfig"]["maxOutputTokens"] == 65_536


def gemini_contents(made: Request) -> Any:
    """The contents as they are sent."""
    return gemini_body(made)["contents"]


def gemini_body(made: Request, settings: ProviderSettings = BUILT_IN["google"]) -> Any:
    """The body as it is sent."""
    return to_body(made, settings, Former())


def test_a_gemini_request_is_the_one_that_the_sdk_would_make() -> None:
    from google import genai
    from google.genai import types

    deep = {
        "type": "object",
        "description": "all that a plain schema can say",
        "properties": {
            "list": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            "number": {"type": "number", "minimum": 1, "maximum": 2.5, "nullable": True},
            "inner": {"type": "object", "properties": {"flag": {"type": "boolean"}}, "required": ["flag"]},
        },
        "required": ["list"],
    }
    declared = {"name": "deep", "description": "d", "parameters": deep}
    signed = Text("b", meta={"google": {"thought_signature": "+/8="}})
    turns = (RequestMessage("assistant", (signed,), "google", "gemini-3.8-flash"), "c")
    tool, options = ToolSchema("deep", "d", deep), {"effort": "high", "temperature": 0.5}
    made = request(spec("flash"), "a", *turns, system=("one",), tools=(tool,), options=options)
    config = {
        "system_instruction": {"parts": [{"text": "one"}]},
        "tools": [{"function_declarations": [declared]}],
        "max_output_tokens": made.max_output,
        "temperature": 0.5,
        "thinking_config": {"include_thoughts": True, "thinking_level": "high"},
        "automatic_function_calling": {"disable": True},
    }
    contents = [
        {"role": "user", "parts": [{"text": "a"}]},
        {"role": "model", "parts": [{"text": "b", "thought_signature": b"\xfb\xff"}]},
        {"role": "user", "parts": [{"text": "c"}]},
    ]
    with Loopback([say("x"), say("x")], strict=False) as server:
        client = genai.Client(
            api_key="loopback-key", vertexai=False, http_options=types.HttpOptions(base_url=server.url)
        )
        for _ in client.models.generate_content_stream(model=made.model.id, contents=contents, config=config):
            pass
        assert asyncio.run(heard(server, made)).text == "x"
    theirs, ours = server.asked
    assert json.loads(ours.body) == json.loads(theirs.body)
    assert ours.path == theirs.path
    for header in ("content-type", "x-goog-api-key"):
        assert ours.headers[header] == theirs.headers[header]


async def heard(server: Loopback, made: Request) -> Heard:
    """The answer to a request through the product's own connection."""
    model = connected(server, made.model.name)
    answer = await hear(model, made)
    await model.close()  # type: ignore[attr-defined]
    return answer


def test_the_users_own_fields_are_merged_into_a_gemini_body_in_either_case() -> None:
    own = {"generation_config": {"maxOutputTokens": 5, "top_k": 3}, "safetySettings": [{"category": "x"}]}
    settings = replace(BUILT_IN["google"], extra_body=own)
    made = gemini_body(request(spec("flash"), "a"), settings)
    assert made["generationConfig"]["maxOutputTokens"] == 5
    assert made["generationConfig"]["top_k"] == 3
    assert made["safetySettings"] == [{"category": "x"}]
    assert "generation_config" not in made


def test_older_geminis_get_pictures_after_all_responses() -> None:
    image = Image("image/png", "iVBORw==")
    step = RequestMessage("assistant", (ToolCall("1", "read", {}), ToolCall("2", "read", {})))
    done = RequestMessage("user", tuple(ToolResult(n, "read", "success", "", images=(image,)) for n in "12"))
    for name, kinds in (("gemini-2.5-pro", "rrii"), ("flash", "rr")):
        parts = gemini_contents(request(spec(name), "a", step, done))[2]["parts"]
        assert "".join("r" if "functionResponse" in part else "i" for part in parts) == kinds
        assert ("parts" in parts[0]["functionResponse"]) is (name == "flash")


# Bodies of requests: each field stands in them once, and what failed before leaves no trace.


def test_after_a_message_that_could_not_be_formed_the_others_are_all_there() -> None:
    def form(message: RequestMessage, _: str) -> Sequence[dict[str, Any]]:
        (part,) = message.parts
        assert isinstance(part, Text)
        if part.text == "bad":
            raise ValueError(part.text)
        return [{"role": message.role, "content": [part.text]}]

    def turns(*texts: str) -> list[RequestMessage]:
        roles = ("user", "assistant") * len(texts)
        return [RequestMessage(role, (Text(text),)) for role, text in zip(roles, texts, strict=False)]  # type: ignore[arg-type]

    messages = WireMessages(form, joined("content"))
    good = turns("a", "b", "c", "d")
    messages.of(good, "")
    with pytest.raises(ValueError, match="bad"):
        messages.of([*good[:1], *turns("x", "b", "bad")[1:]], "")
    again = messages.of(good, "")
    assert [message["content"] for message in again.messages] == [["a"], ["b"], ["c"], ["d"]]
    assert len(again.texts({})) == 4


@pytest.mark.parametrize("text", ["word \n", 'a "quote" \t', "日本語", "half \ud83d"])
def test_a_long_message_is_sent_like_a_short_one_and_its_text_is_not_kept(text: str) -> None:
    def form(message: RequestMessage, _: str) -> Sequence[dict[str, Any]]:
        return [{"role": message.role, "content": [getattr(message.parts[0], "text", "")]}]

    long, short = RequestMessage("user", (Text(text * 400_000),)), RequestMessage("assistant", (Text(text),))
    messages, writer = WireMessages(form, apart), BodyWriter()
    for source in ([long], [long, short], [long, short, short]):
        body = writer.write({"model": "m"}, "messages", messages.of(source, ""), {0: form(long, "")[0]})
        sent = json.dumps({"model": "m", "messages": messages.messages}, ensure_ascii=False, separators=(",", ":"))
        assert body == sent.replace("\ud83d", "?").encode()
    assert not any(len(each) > 1_000 for each in messages.texts({}) if isinstance(each, bytes))


def nested(levels: int) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for _ in range(levels):
        given = {"a": [given]}
    return given


@each_row("name", ["", " ", None, 5, ["read"]])
def test_a_call_without_a_name_cannot_run(name: Any) -> None:
    assert can_run("read", {})
    assert not can_run(name, {})


@each_row("given", [None, [], "{}", 5])
def test_an_input_that_is_no_object_cannot_run(given: Any) -> None:
    assert not can_run("read", given)


def test_an_input_that_is_too_deep_cannot_run() -> None:
    assert can_run("read", nested(50))
    assert not can_run("read", nested(DEEPEST))
    assert not can_run("read", nested(100_000))


@each_row(
    ("name", "sent"),
    [("read", "read"), ("mcp__a-b", "mcp__a-b"), ("a b/c", "a_b_c"), ("", "_"), ("9", "_9"), ("\u202e" * 99, "_" * 64)],
)
def test_a_made_up_name_goes_back_in_letters_that_are_taken(name: str, sent: str) -> None:
    assert wire_name(name) == sent


@each_row(
    ("value", "number"),
    [(7, 7), ("12", 12), (1.5, 1), (None, 0), (-5, 0), ("many", 0), (float("inf"), 0), (float("nan"), 0), (10**30, 0), ([1], 0)],
)  # fmt: skip
def test_a_count_that_is_none_counts_nothing(value: Any, number: int) -> None:
    assert tokens(value) == number


@pytest.mark.parametrize("word", ["word", "wört", "語" * 3, "\ud83d", ""])
def test_text_in_pieces_of_a_word_takes_little_more_than_its_bytes(word: str) -> None:
    pieces, words = Pieces(), [f"{word}{n} " for n in range(10_000)]
    assert not pieces
    tracemalloc.start()
    for each in words:
        pieces.append(each)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    whole = "".join(words)
    assert (pieces.text(), "".join(pieces), bool(pieces)) == (whole, whole, True)
    assert held < 1.3 * max(len(whole.encode("utf-8", "surrogatepass")), sys.getsizeof(whole)) + 5_000
