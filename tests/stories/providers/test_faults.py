"""Every way in which a provider fails, through both SDKs."""

from __future__ import annotations

import asyncio
import random
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentcli.core import event
from agentcli.core.errors import ModelError
from agentcli.core.event import ReplyRestarted, TextDelta
from agentcli.core.message import Text, ToolCall
from agentcli.core.model import PartDone, Stopped
from agentcli.providers.catalog import spec
from agentcli.providers.connect import connect
from agentcli.providers.retrying import RetryingModel
from agentcli.providers.scripted.model import Reply, call, say
from agentcli.providers.settings import RetryPolicy
from tests.loopback import Bytes, Cut, Fail, Idle, Loopback, Raw, Refuse
from tests.loopback.server import KEY
from tests.providers.hearing import ALL, BOTH, ONCE, Heard, answers, ask, connected, hear, reply_turn, request
from tests.tables import each_row

both = pytest.mark.parametrize("name", BOTH)
all_wires = pytest.mark.parametrize("name", ALL)
QUICK = RetryPolicy(attempts=5, first=0.001, longest=0.002)
LONG_CALL = say("I shall write.", call("write", file_path="a", content="rm -rf everything\n" * 3), thinking="dangerous")

ANTHROPIC = [
    (Refuse(401), "auth", 41),
    (Refuse(402), "billing", 1),
    (Refuse(403), "auth", 41),
    (Refuse(404), "not_found", 1),
    (Refuse(409), "server", 75),
    (Refuse(413), "too_large", 1),
    (Refuse(413, body=b"<html>Request Entity Too Large</html>"), "too_large", 1),
    (Refuse(429), "rate_limit", 75),
    (Refuse(429, details={"error_code": "enforced_spend_limit_reached"}), "billing", 1),
    (Refuse(500), "server", 75),
    (Refuse(502, body=b"<html>Bad Gateway</html>"), "server", 75),
    (Refuse(503, body=b""), "overloaded", 75),
    (Refuse(504), "server", 75),
    (Refuse(529), "overloaded", 75),
    (Refuse(400, message="Your credit balance is too low to access the Anthropic API."), "billing", 1),
    (Refuse(400, message="prompt is too long: 250000 tokens > 200000 maximum"), "too_long", 54),
    (Refuse(400, message="This model's maximum context length is 8192 tokens"), "too_long", 54),
    (Refuse(400, message="tool_choice.name: String should match"), "bad_request", 1),
    (Refuse(418, body=b"{}"), "bad_request", 1),
]
GOOGLE = [
    (Refuse(400, message="API key not valid.", details=[{"reason": "API_KEY_INVALID"}]), "auth", 41),
    (Refuse(401), "auth", 41),
    (Refuse(403), "auth", 41),
    (Refuse(404), "not_found", 1),
    (Refuse(413, body=b"<html>too large</html>"), "too_large", 1),
    (Refuse(429), "rate_limit", 75),
    (Refuse(429, details=[{"violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}]), "billing", 1),
    (Refuse(499), "network", 75),
    (Refuse(500), "server", 75),
    (Refuse(502, body=b"<html>Bad Gateway</html>"), "server", 75),
    (Refuse(503), "overloaded", 75),
    (Refuse(504), "server", 75),
    (Refuse(400, message="Invalid value at 'tools[0]'"), "bad_request", 1),
    (
        Refuse(400, kind="FAILED_PRECONDITION", message="User location is not supported for the API use."),
        "bad_request",
        1,
    ),
]


@each_row(("refusal", "cause", "code"), ANTHROPIC)
def test_a_refusal_of_the_messages_api_has_its_cause(refusal: Refuse, cause: str, code: int) -> None:
    _expect("haiku", refusal, cause, code)


@each_row(("refusal", "cause", "code"), GOOGLE)
def test_a_refusal_of_gemini_has_its_cause(refusal: Refuse, cause: str, code: int) -> None:
    _expect("flash", refusal, cause, code)


def _expect(name: str, refusal: Refuse, cause: str, code: int) -> None:
    heard, server = ask(name, [refusal, say("never asked for")])
    assert heard.error is not None
    assert (heard.error.cause, heard.error.exit_code) == (cause, code)
    assert str(refusal.status) in str(heard.error)
    assert len(server.asked) == 1


@each_row(
    ("refusal", "env", "stored", "text"),
    [
        (
            Refuse(401, message="invalid x-api-key"),
            {"ANTHROPIC_API_KEY": KEY},
            (),
            "Anthropic rejected the key in ANTHROPIC_API_KEY (401 authentication_error: invalid x-api-key). "
            "Fix ANTHROPIC_API_KEY or run `agentcli auth set anthropic`.",
        ),
        (
            Refuse(401, message="invalid x-api-key"),
            {"ANTHROPIC_API_KEY": KEY},
            ("ANTHROPIC_API_KEY",),
            "Anthropic rejected the stored key (401 authentication_error: invalid x-api-key). "
            "Run `agentcli auth set anthropic`.",
        ),
        (
            Refuse(403, message="no access to this model"),
            {"ANTHROPIC_AUTH_TOKEN": KEY},
            (),
            "Anthropic denied access with the key in ANTHROPIC_AUTH_TOKEN (403 permission_error: no access to this model). "
            "Fix ANTHROPIC_AUTH_TOKEN or run `agentcli auth set anthropic`.",
        ),
        (
            Refuse(401, message="x-api-key header is required"),
            {},
            (),
            "Anthropic rejected a request without a key (401 authentication_error: x-api-key header is required). "
            "Store one with `agentcli auth set anthropic`, or set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN.",
        ),
    ],
)
def test_a_rejected_key_is_named_with_its_source(
    refusal: Refuse, env: dict[str, str], stored: tuple[str, ...], text: str
) -> None:
    with Loopback([refusal]) as server:
        address = {"ANTHROPIC_BASE_URL": server.url}

        async def run() -> Heard:
            model = connect(spec("haiku"), None, {**env, **address}, ONCE, stored=frozenset(stored))
            heard = await hear(model, request(model.spec, "hello"))
            await model.close()  # type: ignore[attr-defined]
            return heard

        assert str(asyncio.run(run()).error) == text


def test_the_wait_that_a_provider_asks_for_is_understood() -> None:
    for headers, wanted in (
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
    ):
        heard, _ = ask("haiku", [Refuse(429, headers=headers)])
        assert heard.error is not None
        assert heard.error.retry_after == wanted
    info = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]
    heard, _ = ask("flash", [Refuse(429, details=info)])
    assert heard.error is not None
    assert heard.error.retry_after == 34.5


@all_wires
@pytest.mark.parametrize("after", [0, 3, 6])
def test_an_error_in_mid_stream_is_told_by_its_type_though_the_status_was_good(name: str, after: int) -> None:
    kinds = {
        "haiku": ("overloaded_error", "rate_limit_error", "api_error"),
        "flash": ("UNAVAILABLE", "RESOURCE_EXHAUSTED", "INTERNAL"),
        "luna": ("server_overloaded", "rate_limit_exceeded", "server_error"),
        "ollama/qwen3": ("server_overloaded", "rate_limit_exceeded", "server_error"),
    }
    for kind, code, cause in zip(kinds[name], (503, 429, 500), ("overloaded", "rate_limit", "server"), strict=True):
        heard, _ = ask(name, [Fail(say("a reply of some length " * 20), after, kind, code=code)])
        assert heard.error is not None
        assert heard.error.cause == cause
        assert heard.stop is None


@pytest.mark.parametrize("after", [0, 2])
def test_geminis_bare_error_in_mid_stream_is_understood_too(after: int) -> None:
    heard, _ = ask("flash", [Fail(say("a reply of some length " * 20), after, "UNAVAILABLE", bare=True)])
    assert heard.error is not None
    assert heard.error.cause == "overloaded"


@each_row(
    "part",
    [
        {"text": 3},
        {"text": "a", "thoughtSignature": "not base64!"},
        {"functionCall": {"name": ["read"], "args": {}}},
        {"functionCall": "read"},
        "text",
    ],
)
def test_a_gemini_part_of_a_wrong_type_is_a_bad_reply(part: object) -> None:
    heard, _ = ask("flash", [Raw([{"candidates": [{"content": {"parts": [part]}}]}])])
    assert heard.error is not None
    assert heard.error.cause == "bad_reply"


def test_a_name_that_is_no_gemini_models_is_not_sent() -> None:
    heard, server = ask("google/gemini?key=", [say("x")])
    assert heard.error is not None
    assert heard.error.cause == "bad_request"
    assert server.asked == []


@both
def test_a_redirect_is_not_followed_with_the_key(name: str) -> None:
    with Loopback([say("caught")]) as elsewhere:
        heard, _ = ask(name, [Refuse(307, headers={"location": f"{elsewhere.url}/v1/messages"})])
        assert elsewhere.asked == []
    assert heard.error is not None
    assert heard.error.cause == "not_found"


@all_wires
def test_the_servers_own_words_on_a_window_that_is_full_are_recognised(name: str) -> None:
    with Loopback([say("x")], window=1000) as server:

        async def run() -> Heard:
            model = connected(server, name)
            heard = await hear(model, request(model.spec, "much " * 4000))
            await model.close()
            return heard

        heard = asyncio.run(run())
    assert heard.error is not None
    assert heard.error.cause == "too_long"


@all_wires
def test_an_unanswered_call_is_a_matter_of_pairing(name: str) -> None:
    open_call = call("read", call_id="call_1", file_path="a")
    heard, server = ask(name, [say("x")], "hi", reply_turn(_spec(name), (open_call,)), "go on")
    assert heard.error is not None
    assert heard.error.cause == "pairing"
    assert server.asked[0].refused


def test_a_forged_signature_is_a_matter_of_signatures() -> None:
    from agentcli.core.message import Thinking

    turn = reply_turn(_spec("opus"), (Thinking("I never thought this", "AAAA"), Text("So.")))
    heard, _ = ask("opus", [say("x")], "hi", turn, "go on")
    assert heard.error is not None
    assert heard.error.cause == "signature"
    signed = ToolCall("c1", "read", {"file_path": "a"}, {"google": {"thought_signature": "AAAA"}})
    heard, _ = ask("flash", [say("x")], "hi", reply_turn(_spec("flash"), (signed,)), answers([signed]))
    assert heard.error is not None
    assert heard.error.cause == "signature"
    heard, _ = ask("flash", [Raw([{"candidates": [{"finishReason": "MISSING_THOUGHT_SIGNATURE"}]}])])
    assert heard.error is not None
    assert heard.error.cause == "signature"


def _spec(name: str) -> Any:
    from agentcli.providers.catalog import spec

    return spec(name)


@all_wires
@pytest.mark.parametrize("how", ["close", "chunk", "end"])
def test_a_stream_cut_anywhere_surfaces_no_truncated_call(name: str, how: str) -> None:
    size = _size_of(name, LONG_CALL)
    dice = random.Random(f"{name} {how}")
    _cut_at(name, LONG_CALL, how, sorted({*dice.sample(range(size), 25), 0, 1, size - 1}))


@pytest.mark.slow
@pytest.mark.timeout(900)
@all_wires
@pytest.mark.parametrize("how", ["close", "chunk", "end"])
def test_a_stream_cut_at_every_byte_surfaces_no_truncated_call(name: str, how: str) -> None:
    _cut_at(name, LONG_CALL, how, range(_size_of(name, LONG_CALL)))


def _size_of(name: str, reply: Reply) -> int:
    with Loopback([reply]) as server:

        async def run() -> None:
            model = connected(server, name)
            await hear(model, request(model.spec, "hello"))
            await model.close()

        asyncio.run(run())
        return len(b"".join(server.events(server.asked[0], reply)))


def _cut_at(name: str, reply: Reply, how: Any, places: Any) -> None:
    whole = reply.parts[-1]
    assert isinstance(whole, ToolCall)
    with Loopback([Cut(reply, at, how) for at in places]) as server:

        async def run() -> list[Heard]:
            model = connected(server, name)
            heard = [await hear(model, request(model.spec, "hello")) for _ in places]
            await model.close()
            return heard

        for at, heard in zip(places, asyncio.run(run()), strict=True):
            if heard.error is None:
                # Only the farewell was cut off: everything that counts had arrived.
                assert heard.stop == Stopped("tool_use"), at
                assert [made.input for made in heard.calls] == [whole.input], at
            else:
                assert heard.error.cause in ("network", "bad_reply"), at
                assert heard.stop is None, at
                assert heard.calls == [], at
                assert all(part.text in (LONG_CALL.parts[0].text, LONG_CALL.parts[1].text) for part in heard.parts), at  # type: ignore[union-attr]


def test_the_last_call_of_a_reply_that_ran_out_of_tokens_never_surfaces() -> None:
    heard, _ = ask(
        "haiku", [say("Two.", call("read", file_path="a"), call("read", file_path="b" * 50), stop="max_tokens")]
    )
    assert [made.input for made in heard.calls] == [{"file_path": "a"}]
    assert heard.stop == Stopped("max_tokens")
    # Even a half that is good JSON by itself is no call.
    events = [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "t", "name": "write", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"path": "a"}'},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {}},
        {"type": "message_stop"},
    ]
    heard, _ = ask("haiku", [Raw(events)])
    assert heard.parts == ()
    heard, _ = ask("flash", [say("One.", call("read", file_path="a"), stop="max_tokens")])
    assert heard.calls == []


@each_row(
    "text",
    ['{"path": "a', '{"path": NaN-', "[1, 2]", '"text"', "{'path': 'a'}", '{"a": 1} {', '{"a": NaN}', '{"a":' * 99_999],
)
def test_input_that_is_no_json_object_stays_as_a_call_that_cannot_run(text: str) -> None:
    events = [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "t", "name": "write", "input": {}},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    ]
    heard, _ = ask("haiku", [Raw(events)])
    [kept] = heard.calls
    assert (kept.name, dict(kept.input)) == ("write", {"arguments": text})
    assert kept.unreadable.startswith("The arguments were not")
    assert f"You sent: {text[:200]}" in kept.unreadable
    assert heard.stop == Stopped("tool_use")


def test_blocks_that_come_at_a_time_are_kept_apart() -> None:
    def start(index: int, call_id: str) -> dict[str, Any]:
        block = {"type": "tool_use", "id": call_id, "name": "read", "input": {}}
        return {"type": "content_block_start", "index": index, "content_block": block}

    def piece(index: int, text: str) -> dict[str, Any]:
        delta = {"type": "input_json_delta", "partial_json": text}
        return {"type": "content_block_delta", "index": index, "delta": delta}

    end = [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}}, {"type": "message_stop"}]
    mixed = [start(0, "a"), start(1, "b"), piece(1, '{"file_'), piece(0, '{"file_path": "a"}'), piece(1, 'path": "b"}')]
    stops = [{"type": "content_block_stop", "index": index} for index in (1, 0)]
    heard, _ = ask("haiku", [Raw([*mixed, *stops, *end])])
    assert [(made.call_id, made.input) for made in heard.calls] == [
        ("a", {"file_path": "a"}),
        ("b", {"file_path": "b"}),
    ]
    # One of them has not ended: whatever it would have been, the reply is not whole.
    heard, _ = ask("haiku", [Raw([*mixed, stops[0], *end])])
    assert heard.stop is not None
    assert (heard.stop.stop, heard.stop.tool) == ("malformed_call", "read")


@each_row("usage", [{"output_tokens": "many"}, {"output_tokens": -1}, {"output_tokens": 1e300}, [], "x"])
def test_a_usage_that_makes_no_sense_costs_no_reply(usage: Any) -> None:
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Fine."}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
    heard, _ = ask("haiku", [Raw([start, {"type": "content_block_stop", "index": 0}, end, {"type": "message_stop"}])])
    assert (heard.error, heard.text) == (None, "Fine.")


@each_row(
    ("body", "kind", "cause"),
    [
        (b'{"type": "error", "error": {"type": "overloaded_error", "message": "x"}}', "application/json", "overloaded"),
        (b'{"error": {"type": "authentication_error"}}', "application/json; charset=utf-8", "auth"),
        (b'{"type": "message"}', "application/json", "bad_reply"),
        (b"no JSON", "application/json", "bad_reply"),
        (b"<html>", "text/html", "no_api"),
    ],
)
def test_an_answer_that_is_no_stream_is_told_by_what_it_says(body: bytes, kind: str, cause: str) -> None:
    heard, _ = ask("haiku", [Bytes(body, kind)])
    assert heard.error is not None
    assert heard.error.cause == cause


@pytest.mark.parametrize(
    "body", [b"data: 7\n\n", b"data: [1]\n\n", b'data: {"candidates": 5}\n\n', b"data: " + b'{"a":' * 99_999 + b"\n\n"]
)
@all_wires
def test_what_an_sdk_trips_over_is_a_bad_reply(name: str, body: bytes) -> None:
    heard, _ = ask(name, [Bytes(body)])
    assert heard.error is not None
    assert heard.error.cause in ("bad_reply", "network")


@all_wires
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_comments_between_the_lines_of_a_stream_say_nothing(name: str, end: bytes) -> None:
    with Loopback([say("as it was")]) as server:
        _, heard = ask(name, [say("as it was")])
        whole = b"".join(server.events(heard.asked[0], say("as it was"))).replace(b"\r\n", b"\n")
    body = b": hello\n\n" + whole.replace(b"\n\n", b"\n\n: keep-alive\n\n")
    told, _ = ask(name, [Bytes(body.replace(b"\n", end))])
    assert (told.error, told.text) == (None, "as it was")


@all_wires
def test_half_a_surrogate_pair_in_a_call_is_replaced_before_anything_trips_over_it(name: str) -> None:
    heard, _ = ask(name, [say("", call("read", file_path="a\ud800"))])
    assert [made.input for made in heard.calls] == [{"file_path": "a?"}]


def test_details_of_a_refusal_may_be_anything() -> None:
    for details in ("text", [None, 5], [{"reason": []}], [{"violations": 5}], [{"retryDelay": {"seconds": 1}}]):
        heard, _ = ask("flash", [Refuse(429, details=details)])
        assert heard.error is not None
        assert heard.error.cause == "rate_limit"


@all_wires
def test_the_providers_word_on_asking_again_is_obeyed(name: str) -> None:
    for status, word, tries in (
        (500, "false", 1),
        (529, "False", 1),
        (400, "true", 3),
        (401, "true", 3),
        (500, "?", 3),
    ):
        policy = RetryPolicy(attempts=3, first=0.001, longest=0.002)
        heard, server = ask(name, [Refuse(status, headers={"x-should-retry": word})] * 9, retry=policy)
        assert len(server.asked) == tries, (status, word)
        assert heard.error is not None
        assert heard.error.exit_code == {400: 1, 401: 41}.get(status, 75)


@all_wires
def test_what_another_request_cures_is_not_asked_again_whatever_the_provider_says(name: str) -> None:
    refusal = Refuse(400, message="prompt is too long: 9 tokens > 5 maximum", headers={"x-should-retry": "true"})
    heard, server = ask(name, [refusal] * 9, retry=QUICK)
    assert heard.error is not None
    assert (heard.error.cause, len(server.asked)) == ("too_long", 1)


@all_wires
@pytest.mark.parametrize("kind", ["", "invalid_request_error", "ABORTED"])
def test_a_conflict_is_asked_again(name: str, kind: str) -> None:
    heard, server = ask(name, [Refuse(409, kind), say("done")], retry=QUICK)
    assert (heard.text, len(server.asked)) == ("done", 2)


@both
def test_a_page_where_a_reply_should_be_is_told_at_once(name: str) -> None:
    for kind in ("text/html", "Text/HTML; charset=utf-8", "application/xhtml+xml; x=html"):
        page = Bytes(b"<!doctype html><html><body>Sign in</body></html>", kind)
        heard, server = ask(name, [page] * 9, retry=QUICK)
        assert heard.error is not None
        assert (heard.error.cause, heard.error.exit_code, len(server.asked)) == ("no_api", 1, 1)
        assert "not the address of an API" in str(heard.error)
        assert "base_url" in str(heard.error)


@pytest.mark.parametrize("status", [404, 405])
def test_a_path_that_a_gemini_server_does_not_know_leads_to_the_version(status: int) -> None:
    for settings, other in (({}, "v1beta"), ({"version": "v1beta"}, "v1")):
        with Loopback([Refuse(status, body=b"<html>no such page</html>")]) as server:
            error = _error(server, "flash", **settings)
        assert error.cause == "not_found"
        assert str(error).endswith(f'try version = "{other}" in [providers.google].')


@both
def test_a_certificate_that_is_not_trusted_is_told_at_once_with_what_to_do(name: str, tmp_path: Path) -> None:
    with Loopback([say("never")] * 9, tls=_self_signed(tmp_path)) as server:
        error = _error(server, name, retry=QUICK)
        assert server.asked == []
    assert (error.cause, error.exit_code) == ("certificate", 1)
    for words in ("certificate of 127.0.0.1 is not trusted", "self-signed", "SSL_CERT_FILE"):
        assert words in str(error)


@both
def test_a_certificate_whose_authority_is_named_is_trusted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = _self_signed(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    with Loopback([say("hello")], tls=tls) as server:

        async def run() -> Heard:
            model = connected(server, name)
            heard = await hear(model, request(model.spec, "hello"))
            await model.close()  # type: ignore[attr-defined]
            return heard

        assert asyncio.run(run()).text == "hello"


def _error(server: Loopback, name: str, **settings: Any) -> ModelError:
    async def run() -> Heard:
        model = connected(server, name, **settings)
        heard = await hear(model, request(model.spec, "hello"))
        await model.close()  # type: ignore[attr-defined]
        return heard

    error = asyncio.run(run()).error
    assert error is not None
    return error


def _self_signed(folder: Path) -> ssl.SSLContext:
    """A server's certificate for this machine that nobody else has signed, `cert.pem` in the folder."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made with openssl")
    subject = ("-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([*command, *subject], cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


@all_wires
def test_an_empty_body_is_a_reply_that_broke_off(name: str) -> None:
    heard, _ = ask(name, [Raw([])])
    assert heard.error is not None
    assert heard.error.cause == "network"


@each_row(
    "event",
    [
        {"type": "content_block_stop", "index": 3},
        {"type": "content_block_delta"},
        {"type": "message_start"},
        {"no": "type"},
    ],
)
def test_events_out_of_place_are_a_bad_reply(event: dict[str, Any]) -> None:
    heard, _ = ask(
        "haiku", [Raw([{"type": "ping"}, event])] if "type" in event else [Refuse(200, body=b"data: {}\n\n")]
    )
    assert heard.error is not None
    assert heard.error.cause in ("bad_reply", "network")


@both
def test_a_silent_reply_counts_as_dropped(name: str) -> None:
    with Loopback([Idle(say("one two three four five six"), 1, 30)]) as server:

        async def run() -> Heard:
            model = connected(server, name, idle_timeout=0.2)
            heard = await hear(model, request(model.spec, "hello"))
            await model.close()
            return heard

        heard = asyncio.run(run())
    assert heard.error is not None
    assert heard.error.cause == "network"
    assert "0.2 s" in str(heard.error)


@pytest.mark.full
@both
def test_a_slow_reply_is_not_a_silent_one(name: str) -> None:
    with Loopback([say("word " * 50, rate=100)]) as server:

        async def run() -> Heard:
            model = connected(server, name, idle_timeout=1.0)
            heard = await hear(model, request(model.spec, "hello"))
            await model.close()
            return heard

        assert asyncio.run(run()).error is None


@both
def test_nobody_at_the_address_is_a_matter_of_the_network(name: str) -> None:
    with Loopback([]) as server:
        pass

    async def run() -> Heard:
        model = connected(server, name)
        heard = await hear(model, request(model.spec, "hello"))
        await model.close()
        return heard

    heard = asyncio.run(run())
    assert heard.error is not None
    assert heard.error.cause == "network"
    assert f"Can't reach 127.0.0.1:{server.port}: connection refused" in str(heard.error)


@all_wires
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_no_error_text_holds_the_key_or_the_prompt(name: str, status: int) -> None:
    echo = f"Incorrect API key provided: {KEY}. " + "x" * 5000
    heard, _ = ask(name, [Refuse(status, message=echo, headers={"x-echo": KEY})], "the secret plan")
    assert heard.error is not None
    assert KEY not in str(heard.error)
    assert KEY not in repr(heard.error)
    assert "secret plan" not in str(heard.error)
    assert len(str(heard.error)) < 600
    assert heard.error.__cause__ is None


@all_wires
def test_what_may_pass_is_asked_for_again_and_told(name: str) -> None:
    plan = [
        Refuse(429),
        Refuse(529 if name == "haiku" else 503),
        Refuse(500),
        Cut(say("broken reply " * 9), 700, "close"),
        say("at last"),
    ]
    heard, server = ask(name, plan, retry=QUICK)
    assert heard.error is None
    waits = [step for step in heard.steps if isinstance(step, event.Retrying)]
    assert [wait.attempt for wait in waits] == [1, 2, 3, 4]
    assert all(wait.reason for wait in waits)
    restarted = heard.steps.index(ReplyRestarted())
    assert any(isinstance(step, TextDelta) for step in heard.steps[:restarted])
    assert PartDone(Text("at last")) in heard.steps[restarted:]
    assert len(server.asked) == 5
    assert len({asked.body for asked in server.asked}) == 1


@all_wires
def test_the_last_of_so_many_attempts_is_the_last(name: str) -> None:
    heard, server = ask(name, [Refuse(500)] * 9, retry=QUICK)
    assert heard.error is not None
    assert heard.error.cause == "server"
    assert len(server.asked) == 5


@both
def test_a_wait_that_is_too_long_is_left_to_the_user(name: str) -> None:
    details = [{"retryDelay": "601s"}] if name == "flash" else None
    heard, server = ask(name, [Refuse(429, headers={"retry-after": "601"}, details=details)], retry=QUICK)
    assert heard.error is not None
    assert (heard.error.retry_after, heard.error.exit_code) == (601.0, 75)
    assert len(server.asked) == 1


@all_wires
def test_what_cannot_pass_is_not_asked_for_again(name: str) -> None:
    for status in (400, 401, 403, 404, 413):
        heard, server = ask(name, [Refuse(status)] * 3, retry=QUICK)
        assert heard.error is not None
        assert len(server.asked) == 1


def test_a_wait_can_be_broken_off_at_once() -> None:
    with Loopback([Refuse(500)] * 2) as server:

        async def run() -> None:
            model = connected(server, "haiku", RetryPolicy(first=60, longest=60))
            waiting = asyncio.Event()

            async def listen() -> None:
                async for step in model.stream(request(model.spec, "hello")):
                    assert isinstance(step, event.Retrying)
                    waiting.set()

            task = asyncio.create_task(listen())
            await waiting.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(task, 5)
            await model.close()

        asyncio.run(run())


def test_waits_double_up_to_their_limit_and_chance_shortens_them() -> None:
    policy, error = RetryPolicy(), ModelError("x", "server")
    assert [policy.delay(n, error, 0.0) for n in range(1, 9)] == [0.5, 1, 2, 4, 8, 15, 15, 15]
    assert policy.delay(3, error, 1.0) == 1.5
    assert policy.delay(10_000, error, 0.0, elapsed=585) == 15
    assert policy.delay(9, error, 0.0, elapsed=585.1) is None
    assert policy.delay(1, ModelError("x", "server", retry_after=600), 0.0) == 600
    assert policy.delay(1, ModelError("x", "server", retry_after=600.1), 0.0) is None
    assert policy.delay(1, ModelError("x", "auth", retry_after=1), 0.0) is None
    assert RetryPolicy(attempts=5).delay(5, error, 0.0) is None
    assert policy.short.delay(6, error, 0.0, elapsed=15.5) is None


def test_a_failure_is_said_in_a_few_words() -> None:
    for name, status, said in (
        ("haiku", 529, "Anthropic is overloaded (529)"),
        ("haiku", 429, "The rate limit of Anthropic is reached (429)"),
        ("flash", 503, "Google is overloaded (503)"),
        ("flash", 500, "Google has a server error (500)"),
    ):
        heard, _ = ask(name, [Refuse(status), say("fine")], retry=QUICK)
        [wait] = [step for step in heard.steps if isinstance(step, event.Retrying)]
        assert wait.reason == said
        assert wait.text(3) == f"{said}. Retrying in 3 s (attempt 1)"


def test_the_waits_are_slept_through_in_order() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    with Loopback([Refuse(500), Refuse(429, headers={"retry-after": "9"}), say("done")]) as server:

        async def run() -> Heard:
            inner = connected(server, "haiku", ONCE)
            model = RetryingModel(inner, sleep=sleep, chance=lambda: 0.0)
            heard = await hear(model, request(model.spec, "hello"))
            await model.close()
            return heard

        assert asyncio.run(run()).text == "done"
    assert slept == [0.5, 9.0]
