"""Faults of providers and of the way to them, each with what the program makes of it; a table, since there are hundreds."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentcli.providers.scripted.model import Reply, call, say
from tests.loopback import Bytes, Cut, Fail, Gone, Idle, Raw, Refuse, anthropic_wire, google_wire

Json = dict[str, Any]
CONTENT = "all of it\n" * 40
WRITE = {"file_path": "victim.txt", "content": CONTENT}
"""The input of the call that must run whole or not at all."""
LARGE = {**WRITE, "content": "x" * 3_000_000}
DEEP = json.loads('{"a": [' * 400 + "1" + "]}" * 400)
MODELS = {"anthropic": "anthropic/claude-haiku-5-5", "google": "google/gemini-3.8-flash"}


@dataclass(frozen=True)
class Fault:
    """Answers to the first requests, and how the run ends; every later request is answered well.

    `asked` is how many requests are made in all, None where it does not matter. `runs` says whether the call of WRITE has run.
    `always` has the last answer given again and again. `back` is false where only the server that sent it would take it back.
    """

    name: str
    answers: Sequence[Any]
    code: int
    asked: int | None = None
    runs: bool = False
    text: str | None = None
    always: bool = False
    back: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)


def transient(name: str, answer: Any, **more: Any) -> Iterator[Fault]:
    """A fault that may pass: five requests and 75 where it stays, none the worse where it passes."""
    yield Fault(f"{name}, for good", [answer], 75, 5, always=True, **more)
    yield Fault(f"{name}, once", [answer], 0, 2, text="fine", **more)


def final(name: str, answer: Any, code: int = 1, **more: Any) -> Iterator[Fault]:
    """A fault that asking again does not cure."""
    yield Fault(name, [answer], code, 1, always=True, **more)


def everywhere() -> Iterator[Fault]:
    """Faults on the way to any provider."""
    yield from transient("closed without an answer", Gone())
    yield from transient("reset without an answer", Gone(reset=True))
    yield from transient("reset in the headers", Gone(b"HTTP/1.1 200 OK\r\ncontent-ty", reset=True))
    yield from transient("an answer that is no HTTP", Gone(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"))
    yield from transient("an empty 200", Bytes(b""))
    yield from final("an HTML page with 200", Bytes(b"<html><body>Please log in</body></html>", "text/html"))
    yield from transient("409", Refuse(409))
    for status in (429, 500, 529):
        yield from final(f"{status}, not to be asked again", Refuse(status, headers={"x-should-retry": "false"}), 75)
    yield Fault("400, to be asked again", [Refuse(400, headers={"x-should-retry": "true"})], 0, 2, text="fine")
    yield Fault("400, always to be asked again", [Refuse(400, headers={"x-should-retry": "true"})], 1, 5, always=True)
    yield Fault("500, neither yes nor no", [Refuse(500, headers={"x-should-retry": "maybe"})], 0, 2, text="fine")
    yield from transient("half a gzip", Bytes(gzip.compress(b"data: {}\n\n" * 99)[:40], encoding="gzip"))
    yield from transient("no gzip at all", Bytes(b"data: {}\n\n", encoding="gzip"))
    yield from transient("comments only", Bytes(b": keep-alive\n\n" * 20))
    yield from transient("bytes that are no UTF-8", Bytes(b"data: \xff\xfe\xfd\n\n"))
    yield from transient("a line that is not valid JSON", Bytes(b"data: <!doctype html>\n\n"))
    yield from transient("JSON that is no object", Bytes(b"data: [1, 2]\n\ndata: 7\n\ndata: null\n\n"))
    yield from transient("an endless nest of JSON", Bytes(b"data: " + b'{"a":' * 200_000 + b"\n\n"))
    for status in (301, 302, 303, 307, 308):
        yield from final(
            f"redirect {status}", Refuse(status, headers={"location": "http://127.0.0.1:9/v1/messages"}, body=b"")
        )
    page = b"<html><head><title>Error</title></head><body>" + b"nginx " * 3000 + b"</body></html>"
    for status in (500, 501, 502, 503, 504, 507, 520, 522, 524, 529, 599):
        yield Fault(f"{status} as a page", [Refuse(status, body=page)], 75, 5, always=True)
        yield Fault(f"{status} without a body", [Refuse(status, body=b"")], 75, 5, always=True)
    yield from transient("408", Refuse(408))
    for status, code in (
        (400, 1),
        (401, 41),
        (402, 1),
        (403, 41),
        (404, 1),
        (405, 1),
        (410, 1),
        (413, 54),
        (415, 1),
        (422, 1),
        (451, 1),
    ):
        yield from final(f"{status} in JSON", Refuse(status), code)
        yield from final(f"{status} as a page", Refuse(status, body=page), code)
        yield from final(f"{status} without a body", Refuse(status, body=b""), code)
    for body in (
        b"null",
        b"[]",
        b'"text"',
        b"7",
        b'{"error": "text"}',
        b'{"error": null}',
        b'{"error": {"message": 5, "type": 7, "code": "x", "status": 3}}',
        b'{"error": []}',
        b'{"detail": "no"}',
        b"\xff\xfe",
        b'{"error": {"message": "' + b"x" * 100_000 + b'"}}',
    ):
        short = body[:30].decode("latin-1")
        yield from final(f"400 with {short}", Refuse(400, body=body))
        yield Fault(f"500 with {short}", [Refuse(500, body=body)], 75, 5, always=True)
    yield from transient("429", Refuse(429))
    for wait in (
        "0",
        "-5",
        "0.001",
        "Wed, 21 Oct 2015 07:28:00 GMT",
        "soon",
        "",
        "nan",
        "1e-400",
        "Wed, 99 Foo 2015 99:99:99 GMT",
        "0" * 400,
    ):
        yield Fault(f"429, Retry-After: {wait[:40]}", [Refuse(429, headers={"retry-after": wait})], 0, 2, text="fine")
    for wait in ("61", "86400", "99999999999999999999", "inf", "1e999", "Fri, 31 Dec 9999 23:59:59 GMT"):
        yield from final(f"429, Retry-After: {wait}", Refuse(429, headers={"retry-after": wait}), 75)
    yield Fault("503, Retry-After: 0", [Refuse(503, headers={"retry-after": "0"})] * 3, 0, 4, text="fine")
    yield from final("503, Retry-After: 3600", Refuse(503, headers={"retry-after": "3600"}), 75)
    yield from transient("a silence in the stream", Idle(say("word " * 60), 4, 30), settings={"idle": "0.3"})
    yield from transient("a silence before the stream", Idle(say("word " * 60), 0, 30), settings={"idle": "0.3"})
    yield Fault("a refusal", [say("I will not.", stop="refusal")], 1, 1)
    yield Fault("an empty reply, once", [Reply()], 0, 2, text="fine")
    yield Fault("empty replies", [Reply()], 1, 4, always=True)
    yield Fault("a thought and nothing else, once", [say("", thinking="Hm.")], 0, 2, text="fine")
    yield Fault("white space and nothing else", [say(" \n ")], 0, 2, text="fine")
    yield Fault("a call and no words", [say("", call("write", **WRITE))], 0, 2, runs=True)
    yield Fault("an unknown tool", [say("", call("destroy", path="/"))], 0, 2, text="fine")
    yield Fault(
        "a tool whose name is no name", [say("", call("read file; rm -rf / \u202e" + "x" * 200))], 0, 2, text="fine"
    )
    yield Fault("arguments of wrong types", [say("", call("write", file_path=7, content={"a": []}))], 0, 2, text="fine")
    yield Fault("arguments that are missing", [say("", call("write"))], 0, 2, text="fine")
    yield Fault(
        "arguments nobody asked for", [say("", call("read", file_path="a", mood="good", **{"": 1}))], 0, 2, text="fine"
    )
    yield Fault(
        "a NUL in an argument", [say("", call("write", file_path="vic\0tim.txt", content="x"))], 0, 2, text="fine"
    )
    yield Fault(
        "half a surrogate pair",
        [say("a \ud800 b", call("write", file_path="v\udfff", content="\ud83d"))],
        0,
        2,
        text="fine",
    )
    yield Fault("a NUL in the words", [say("a \0 b")], 0, 1, text="a \0 b")
    yield Fault(
        "a hundred calls",
        [say("", *(call("read", call_id=f"c{n}", file_path=f"{n}") for n in range(100)))],
        0,
        2,
        text="fine",
    )
    yield Fault(
        "one id for all calls",
        [say("", *(call("read", call_id="same", file_path=f"{n}") for n in range(3)))],
        0,
        2,
        text="fine",
    )
    yield Fault(
        "the limit inside a call", [say("Writing.", call("write", **WRITE), stop="max_tokens")], 0, 2, text="fine"
    )
    yield Fault("the limit behind words", [say("As I was", stop="max_tokens")], 0, 2, text="fine")
    yield Fault("the limit again and again", [say("As I was", stop="max_tokens")], 1, 4, always=True, text="As I was")
    yield Fault("a pause", [say("Wait.", stop="pause")], 0, 2, text="fine")
    yield Fault("pauses", [say("Wait.", stop="pause")], 1, 10, always=True, text="Wait.")
    yield Fault(
        "the same call for ever", [say("", call("read", file_path="none"))], 53, always=True, settings={"turns": "6"}
    )
    reply = say("I write.", call("write", **WRITE), thinking="hm")
    for how in ("close", "chunk", "end"):
        for at in (1, 90, 400, 700, 1000):
            yield from transient(f"cut at {at} by {how}", Cut(reply, at, how))  # type: ignore[arg-type]


# The Messages API.


def head(usage: Any = None, **more: Any) -> Json:
    """The beginning of a stream."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "x", "content": [], "stop_reason": None}
    return {
        "type": "message_start",
        "message": {**message, "usage": usage or {"input_tokens": 9, "output_tokens": 1}, **more},
    }


def words(*pieces: Any, index: int = 0) -> list[Json]:
    """A block of text."""
    start = {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
    deltas = [
        {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": p}} for p in pieces
    ]
    return [start, *deltas, {"type": "content_block_stop", "index": index}]


def asks(text: Any = None, *, index: int = 1, ended: bool = True, **block: Any) -> list[Json]:
    """A block that calls a tool, its input in two pieces of JSON."""
    text = json.dumps(WRITE) if text is None else text
    pieces = [text[: len(text) // 2], text[len(text) // 2 :]] if isinstance(text, str) else [text]
    begun = {"type": "tool_use", "id": "toolu_1", "name": "write", "input": {}} | block
    start = {"type": "content_block_start", "index": index, "content_block": begun}
    deltas = [
        {"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": p}}
        for p in pieces
    ]
    return [start, *deltas, *([{"type": "content_block_stop", "index": index}] if ended else [])]


def tail(stop: Any = "tool_use", usage: Any = None, **more: Any) -> list[Json]:
    """The end of a stream."""
    usage = {"output_tokens": 9} if usage is None else usage
    return [{"type": "message_delta", "delta": {"stop_reason": stop, **more}, "usage": usage}, {"type": "message_stop"}]


def messages(name: str, events: Sequence[Any], code: int, asked: int | None = None, **more: Any) -> Fault:
    """A stream of the Messages API."""
    return Fault(name, [Raw(events)], code, asked, **more)


CALL = [head(), *words("I write."), *asks(), *tail()]
TOO_LONG = [
    "prompt is too long: 250000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again",
    "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens",
    "This endpoint's maximum context length is 200000 tokens. However, you requested about 211000 tokens",
    "the request exceeds the available context size. try increasing the context size or enable context shift",
    "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
    "Requested token count exceeds the model's maximum context length of 131072 tokens.",
    "Invalid request: Your request exceeded model token limit: 131072",
    "Prompt exceeds max length",
    "invalid params, context window exceeds limit",
    "input length exceeds maximum context length",
    "Input is too long for requested model.",
    "The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Unable to submit request because the input token count is 1100000 but model only supports up to 1048576.",
]
SPENT = [
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
    "You have reached your specified API usage limits. You will regain access on 2027-01-01 at 00:00 UTC.",
    "Insufficient Balance",
    "Insufficient credits. Add more using https://example.com",
    "Your account is suspended, please check your plan and billing details",
    "Insufficient balance or no resource package. Please recharge.",
]
BAD_KEY = [
    "API key not valid. Please pass a valid API key.",
    "API Key not found. Please pass a valid API key.",
    "API key expired. Please renew the API key.",
    "Invalid API key provided",
    "invalid x-api-key",
]
UNKNOWN_MODEL = [
    "model: claude-nothing",
    "The model `x` does not exist.",
    "model 'x' not found, try pulling it first",
    "Model Not Exist",
]


def claude() -> Iterator[Fault]:
    """Faults of the Messages API, or of a server that speaks its format."""
    yield from words_of_refusal(400)
    for kind, code in (
        ("overloaded_error", 75),
        ("rate_limit_error", 75),
        ("api_error", 75),
        ("timeout_error", 75),
        ("internal_error", 75),
    ):
        yield Fault(f"{kind} in mid-stream", [Fail(say("much " * 99), 3, kind)], code, 5, always=True)
        yield Fault(f"{kind} at once", [Fail(say("much " * 99), 0, kind)], code, 5, always=True)
        yield Fault(f"{kind} as a 200", [Bytes(anthropic_error(kind), "application/json")], code, 5, always=True)
    for kind, code in (
        ("authentication_error", 41),
        ("permission_error", 41),
        ("billing_error", 1),
        ("invalid_request_error", 1),
        ("not_found_error", 1),
    ):
        yield from final(f"{kind} in mid-stream", Fail(say("much " * 99), 3, kind), code)
        yield from final(f"{kind} as a 200", Bytes(anthropic_error(kind), "application/json"), code)
    yield from transient("an error event without a body", Raw([head(), {"type": "error"}]))
    yield from transient(
        "a whole message instead of a stream",
        Bytes(
            json.dumps(
                {**head()["message"], "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}
            ).encode(),
            "application/json",
        ),
    )
    yield from final("429, the budget is used up", Refuse(429, details={"error_code": "enforced_spend_limit_reached"}))
    yield Fault(
        "retry-after-ms", [Refuse(429, headers={"retry-after-ms": "5", "retry-after": "99"})], 0, 2, text="fine"
    )
    yield from final("retry-after-ms of an hour", Refuse(429, headers={"retry-after-ms": "3600000"}), 75)
    yield Fault(
        "retry-after-ms that is no number", [Refuse(429, headers={"retry-after-ms": "x", "retry-after": "0"})], 0, 2
    )
    yield messages("a call that is whole", CALL, 0, 2, runs=True)
    yield messages("words behind a call", [head(), *asks(index=0), *words("Done?", index=1), *tail()], 0, 2, runs=True)
    yield messages("a call that ends with end_turn", [*CALL[:-2], *tail("end_turn")], 0, 2, runs=True)
    yield messages("a farewell that is missing", CALL[:-1], 0, 2, runs=True)
    yield messages("a call without an end, stop reason tool_use", [head(), *asks(ended=False), *tail()], 0, 2)
    yield messages(
        "a call without an end, stop reason end_turn",
        [head(), *words("I write."), *asks(ended=False), *tail("end_turn")],
        0,
        2,
    )
    yield messages("stop reason tool_use and no call", [head(), *words("I write."), *tail()], 0, 2, text="fine")
    for name, text in (
        ("half", '{"file_path": "victim.txt", "con'),
        ("a list", "[1]"),
        ("a string", '"x"'),
        ("two", "{}{}"),
        ("NaN", '{"content": NaN}'),
        ("deep", '{"a":' * 5000),
    ):
        yield messages(f"an input that is {name}", [head(), *asks(text), *tail()], 0, 2, text="fine")
    for value in (5, [], {"a": 1}):
        yield from transient(f"a piece of input that is {value!r}", Raw([head(), *asks(value), *tail()]))
        yield from transient(f"a piece of text that is {value!r}", Raw([head(), *words(value), *tail("end_turn")]))
    whole = {"input": WRITE}
    yield messages("an input that stands in the start", [head(), *asks("", **whole), *tail()], 0, 2, runs=True)
    yield messages("an argument of three megabytes", [head(), *asks(json.dumps(LARGE)), *tail()], 0, 2, text="fine")
    yield messages("an argument nested 800 deep", [head(), *asks(json.dumps(WRITE | DEEP)), *tail()], 0, 2, text="fine")
    yield messages("a call without a name", [head(), *asks(name=""), *tail()], 0, 2, text="fine")
    yield messages("a call whose name is a number", [head(), *asks(name=5), *tail()], 0, 2, text="fine")
    for given in ("", None, 7, "x" * 300, "a b/c"):
        yield messages(f"a call with the id {str(given)[:9]!r}", [head(), *asks(id=given), *tail()], 0, 2, runs=True)
    first, second = (
        asks(index=0, id="a", name="read"),
        asks(json.dumps({"file_path": "b"}), index=1, id="b", name="read"),
    )
    mixed = [e for pair in zip(first, second, strict=True) for e in pair]
    yield messages("two blocks at a time", [head(), *mixed, *tail()], 0, 2, text="fine")
    crossed = [*asks("", index=0, id="a", ended=False), *asks(index=1, id="b", name="destroy")]
    crossed[-2]["index"] = crossed[-3]["index"] = 0
    yield messages("pieces of one call under the index of another", [head(), *crossed, *tail()], 0, 2, text="fine")
    yield from transient("a piece of a block that never began", Raw([head(), *words("x")[1:], *tail("end_turn")]))
    yield from transient("a piece of input behind its end", Raw([head(), *asks(), asks()[1], *tail()]))
    yield messages("every event twice", [e for e in CALL for _ in (0, 1)], 75, 5, always=True)
    yield messages("the call twice", [head(), *asks(), *asks(index=2), *tail()], 0, 2, runs=True)
    yield messages(
        "two beginnings, another model in the second",
        [head(), head(model="other"), *words("fine"), *tail("end_turn")],
        0,
        1,
        text="fine",
    )
    yield messages("no beginning", [*words("fine"), *tail("end_turn")], 0, 1, text="fine")
    yield messages("stop reason before the words", [*tail("end_turn"), *words("x")[1:]], 0, 2, text="fine")
    strange = [
        {"type": "hello"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "new_delta"}},
        {"type": "ping", "x": 1},
    ]
    begun = words("fine")
    yield messages(
        "events nobody knows", [head(), begun[0], *strange, *begun[1:], *tail("end_turn")], 0, 1, text="fine"
    )
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "server_thing", "x": [1]}}
    yield messages(
        "a block nobody knows",
        [head(), block, {"type": "content_block_stop", "index": 0}, *words("fine", index=1), *tail("end_turn")],
        0,
        1,
        back=False,
        text="fine",
    )
    yield messages(
        "a stop reason nobody knows", [head(), *words("I write."), *asks(), *tail("tired")], 0, 2, text="fine"
    )
    for stop in (5, ["end_turn"], {"a": 1}, True):
        yield from transient(f"the stop reason {stop!r}", Raw([head(), *words("x"), *tail(stop)]))
    yield messages("no stop reason", [head(), *words("I write."), *asks(), *tail(None)], 75, 5, always=True)
    yield messages("details of a stop that are text", [head(), *words("No."), *tail("refusal", stop_details="x")], 1, 1)
    yield messages(
        "a window that is full", [head(), *words("I wr"), *tail("model_context_window_exceeded")], 0, 2, text="fine"
    )
    for usage in (
        {},
        {"output_tokens": -5},
        {"output_tokens": 10**30},
        {"output_tokens": "many"},
        {"output_tokens": "12"},
        {"output_tokens": 1.5},
        {"output_tokens": None},
        {"output_tokens": [1]},
        [],
        "x",
        {"input_tokens": True},
        {"output_tokens_details": 5},
    ):
        yield messages(
            f"usage {json.dumps(usage)[:40]}",
            [head(usage), *words("fine"), *tail("end_turn", usage)],
            0,
            1,
            text="fine",
        )
    raw = b"".join(map(anthropic_wire.line, [head(), *words("fine"), *tail("end_turn")]))
    yield Fault(
        "usage that is no number in JSON",
        [Bytes(raw.replace(b'"output_tokens": 9', b'"output_tokens": Infinity'))],
        0,
        1,
        text="fine",
    )
    yield Fault("gzip", [Bytes(gzip.compress(raw), encoding="gzip")], 0, 1, text="fine")
    yield Fault("comments between all lines", [Bytes(raw.replace(b"\n\n", b"\n\n: keep-alive\n\n"))], 0, 1, text="fine")
    yield Fault(
        "data without event names",
        [
            Bytes(
                b"".join(
                    b"data: " + json.dumps(e).encode() + b"\n\n" for e in [head(), *words("fine"), *tail("end_turn")]
                )
            )
        ],
        0,
        1,
        text="fine",
    )
    yield Fault("the end of an OpenAI stream", [Bytes(raw + b"data: [DONE]\n\n")], 0, 1, text="fine")
    yield Fault("a byte order mark", [Bytes(b"\xef\xbb\xbf" + raw)], 0, 1, text="fine")
    yield from transient("text that is no UTF-8", Bytes(raw.replace(b"fine", b"f\xffne")))


def anthropic_error(kind: str) -> bytes:
    """An error as the body of an answer."""
    return json.dumps({"type": "error", "error": {"type": kind, "message": "the script says so"}}).encode()


def words_of_refusal(status: int) -> Iterator[Fault]:
    """Refusals that only the wording distinguishes."""
    for text in TOO_LONG:
        yield Fault(text[:60], [Refuse(status, message=text)], 54, always=True)
    for text in SPENT:
        yield from final(text[:60], Refuse(402 if "nsufficient" in text else status, message=text))
    for text in BAD_KEY:
        yield from final(text[:60], Refuse(status, message=text), 41)
    for text in UNKNOWN_MODEL:
        yield from final(text[:60], Refuse(404, message=text))


# Gemini.


def chunk(*parts: Any, finish: Any = None, **more: Any) -> Json:
    """One piece of a stream."""
    candidate: Json = {"index": 0, **({"content": {"role": "model", "parts": list(parts)}} if parts else {})}
    return {"candidates": [candidate | ({"finishReason": finish} if finish is not None else {})], **more}


def wants(**more: Any) -> Json:
    """A part that calls a tool."""
    return {"functionCall": {"name": "write", "args": WRITE, "id": "fc_1"} | more, "thoughtSignature": "c2ln"}


def stream(name: str, chunks: Sequence[Any], code: int, asked: int | None = None, **more: Any) -> Fault:
    """A stream of Gemini."""
    return Fault(name, [Raw(chunks)], code, asked, **more)


def gemini() -> Iterator[Fault]:
    """Faults of the Gemini API."""
    yield from words_of_refusal(400)
    for kind, status in (
        ("UNAVAILABLE", 503),
        ("RESOURCE_EXHAUSTED", 429),
        ("INTERNAL", 500),
        ("DEADLINE_EXCEEDED", 504),
    ):
        yield Fault(f"{kind} in mid-stream", [Fail(say("much " * 99), 3, kind, code=status)], 75, 5, always=True)
        yield Fault(f"{kind}, bare", [Fail(say("much " * 99), 2, kind, code=status, bare=True)], 75, 5, always=True)
        body = json.dumps({"error": {"code": status, "message": "the script says so", "status": kind}}).encode()
        yield Fault(f"{kind} as a 200", [Bytes(body, "application/json")], 75, 5, always=True)
    for kind, status, code in (
        ("UNAUTHENTICATED", 401, 41),
        ("PERMISSION_DENIED", 403, 41),
        ("INVALID_ARGUMENT", 400, 1),
    ):
        yield from final(f"{kind} in mid-stream", Fail(say("much " * 99), 3, kind, code=status), code)
    daily = [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]
    yield from final("the quota of the day", Refuse(429, details=daily, message="You exceeded your current quota"))
    for delay, code, asked in (
        ("0s", 0, 2),
        ("0.01s", 0, 2),
        ("61s", 75, 1),
        ("99999999999s", 75, 1),
        ("soon", 0, 2),
        ("-3s", 0, 2),
        (5, 0, 2),
        ({"seconds": 0}, 0, 2),
        (None, 0, 2),
    ):
        info = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]
        yield Fault(f"RetryInfo {delay}", [Refuse(429, details=info)], code, asked, always=code != 0)
    for details in ("text", [None, 5, "x"], {"a": 1}, [{"violations": 5}], [{"reason": []}]):
        yield Fault(f"details {json.dumps(details)}", [Refuse(429, details=details)], 0, 2)
    yield from final("a key that is refused", Refuse(400, details=[{"reason": "API_KEY_INVALID"}]), 41)
    yield stream(
        "a call that is whole", [chunk({"text": "I write."}), chunk(wants()), chunk(finish="STOP")], 0, 2, runs=True
    )
    yield stream("a call and the finish in one", [chunk(wants(), finish="STOP")], 0, 2, runs=True)
    yield stream(
        "words behind a call", [chunk(wants()), chunk({"text": "Done?"}), chunk(finish="STOP")], 0, 2, runs=True
    )
    yield stream("a call without a finish", [chunk(wants())], 75, 5, always=True)
    yield stream("MALFORMED_FUNCTION_CALL, once", [chunk(finish="MALFORMED_FUNCTION_CALL")], 0, 2, text="fine")
    yield stream("MALFORMED_FUNCTION_CALL, for good", [chunk(finish="MALFORMED_FUNCTION_CALL")], 1, 4, always=True)
    yield stream(
        "a call, then MALFORMED_FUNCTION_CALL",
        [chunk(wants()), chunk(finish="MALFORMED_FUNCTION_CALL")],
        0,
        2,
        text="fine",
    )
    yield stream("UNEXPECTED_TOOL_CALL", [chunk(wants(), finish="UNEXPECTED_TOOL_CALL")], 0, 2, text="fine")
    yield stream("RECITATION, once", [chunk({"text": "Well,"}), chunk(finish="RECITATION")], 0, 2, text="fine")
    yield stream(
        "RECITATION, for good", [chunk({"text": "Well,"}, finish="RECITATION")], 1, 2, always=True, text="Well,"
    )
    yield stream("OTHER, once", [chunk({"text": "Well,"}), chunk(finish="OTHER")], 0, 2, text="fine")
    for reason in ("SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"):
        yield stream(reason, [chunk({"text": "Well,"}), chunk(finish=reason)], 1, 1)
        yield stream(f"{reason} behind a call", [chunk(wants()), chunk(finish=reason)], 1, 1)
    for reason in ("SAFETY", "OTHER", "BLOCKLIST", "NEVER_HEARD_OF"):
        yield stream(f"a prompt that is blocked: {reason}", [{"promptFeedback": {"blockReason": reason}}], 1, 1)
    for reason in ("TIRED", "FUNCTION_CALL"):
        yield stream(
            f"{reason}, which nobody knows", [chunk(wants()), chunk(finish=reason)], 0, 2, runs=True, text="fine"
        )
    yield stream("FINISH_REASON_UNSPECIFIED", [chunk(wants(), finish="FINISH_REASON_UNSPECIFIED")], 0, 2, text="fine")
    yield stream("MAX_TOKENS in a call", [chunk(wants()), chunk(finish="MAX_TOKENS")], 0, 2, text="fine")
    yield stream("no candidates", [{"candidates": []}, {}], 75, 5, always=True)
    yield stream(
        "a candidate of null", [{"candidates": None}, chunk({"text": "fine"}, finish="STOP")], 0, 1, text="fine"
    )
    yield stream(
        "parts nobody knows",
        [
            chunk({"newThing": {"x": 1}}, {"text": "fine"}),
            chunk({"executableCode": {"code": "1", "language": "PYTHON"}}),
            chunk(finish="STOP"),
        ],
        0,
        1,
        text="fine",
    )
    yield stream(
        "two candidates",
        [
            {
                "candidates": [
                    chunk({"text": "fine"}, finish="STOP")["candidates"][0],
                    chunk(wants(), finish="STOP")["candidates"][0] | {"index": 1},
                ]
            }
        ],
        0,
        1,
        text="fine",
    )
    for name, more in (
        ("no id", {"id": None}),
        ("an empty id", {"id": ""}),
        ("a long id", {"id": "x" * 300}),
        ("odd letters in its id", {"id": "a b/c"}),
    ):
        yield stream(f"a call with {name}", [chunk(wants(**more), finish="STOP")], 0, 2, runs=True)
    yield stream("an argument of three megabytes", [chunk(wants(args=LARGE), finish="STOP")], 0, 2, text="fine")
    yield stream("an argument nested 800 deep", [chunk(wants(args=WRITE | DEEP), finish="STOP")], 0, 2, text="fine")
    for name, more in (("no name", {"name": None}), ("an empty name", {"name": ""})):
        yield stream(f"a call with {name}", [chunk(wants(**more), finish="STOP")], 0, 2, text="fine")
    yield stream("a call with no arguments", [chunk(wants(args=None), finish="STOP")], 0, 2, text="fine")
    yield stream("a call that goes on", [chunk(wants(willContinue=True), finish="STOP")], 0, 2, text="fine")
    for args in ("text", [1], 5):
        yield stream(f"arguments {args!r}", [chunk(wants(args=args), finish="STOP")], 1, 4, always=True)
    yield stream(
        "every chunk twice", [c for c in (chunk(wants()), chunk(finish="STOP")) for _ in (0, 1)], 0, 2, runs=True
    )
    yield stream(
        "words behind the finish",
        [chunk({"text": "fine"}, finish="STOP"), chunk(usageMetadata={"promptTokenCount": 5})],
        0,
        1,
        text="fine",
    )
    yield stream(
        "another model in the middle",
        [chunk({"text": "fi"}, modelVersion="a"), chunk({"text": "ne"}, finish="STOP", modelVersion="b")],
        0,
        1,
        text="fine",
    )
    for usage in (
        {},
        {"promptTokenCount": -5},
        {"promptTokenCount": 10**15},
        {"candidatesTokenCount": None},
        {"promptTokenCount": "12"},
    ):
        yield stream(
            f"usage {json.dumps(usage)}",
            [chunk({"text": "fine"}, finish="STOP", usageMetadata=usage)],
            0,
            1,
            text="fine",
        )
    raw = b"".join(map(google_wire.line, [chunk({"text": "fi"}), chunk({"text": "ne"}, finish="STOP")]))
    yield Fault("gzip", [Bytes(gzip.compress(raw), encoding="gzip")], 0, 1, text="fine")
    yield Fault(
        "comments between all lines",
        [Bytes(raw.replace(b"\r\n\r\n", b"\r\n\r\n: keep-alive\r\n\r\n"))],
        0,
        1,
        text="fine",
    )
    yield Fault("bare line feeds", [Bytes(raw.replace(b"\r\n", b"\n"))], 0, 1, text="fine")


def faults(wire: str) -> list[Fault]:
    """All faults of one wire."""
    return [*everywhere(), *(claude() if wire == "anthropic" else gemini())]
