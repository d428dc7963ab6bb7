"""Models that endpoints list: asked for on request, cached, used with their windows and prices; and lists that are anything else."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from agentcli.core.message import Usage
from agentcli.providers.endpoint_lists import MODELS
from agentcli.providers.scripted.model import say
from tests.e2e.program import Program
from tests.loopback import Loopback
from tests.sampling import sampled

Serve = Callable[[BaseHTTPRequestHandler], None]
ROUTER = {
    "data": [
        {
            "id": "acme/big",
            "context_length": 300_000,
            "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
            "pricing": {"prompt": "0.000002", "completion": "0.00001", "input_cache_read": "0.0000002"},
            "top_provider": {"context_length": 256_000, "max_completion_tokens": 16_000},
        },
        {"id": "acme/auto", "context_length": 2_000_000, "pricing": {"prompt": "-1", "completion": "-1"}},
        {"id": "acme/paint", "architecture": {"output_modalities": ["image"]}},
    ]
}


@contextmanager
def endpoint(answers: Mapping[str, Any], serve: Serve | None = None) -> Iterator[tuple[str, list[str]]]:
    """The base URL of an endpoint with these answers by path, and the paths that it was asked for with the key that came."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.path} {self.headers.get('authorization') or ''}".strip())
            with suppress(ConnectionError):
                if serve is not None:
                    serve(self)
                    return
                body = answers.get(self.path)
                self.send_response(200 if body is not None else 404)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(body).encode() if body is not None else b"{}")

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
        server.shutdown()
        thread.join()


def configure(program: Program, url: str, **more: str) -> None:
    fields = {"kind": "openai", "base_url": url, "api_key_env": "OWN_KEY", **more}
    lines = [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
    program.config("[agent]\ntitles = false\n[providers.own]\n" + "\n".join(lines) + "\n")
    program.more = {"OWN_KEY": "k-1"}


def listed(program: Program) -> dict[str, dict[str, Any]]:
    """The models of the endpoint, as `agentcli models --json` knows them."""
    return {each["id"]: each for each in json.loads(program.run("models", "--json").out) if each["provider"] == "own"}


def test_an_endpoint_is_asked_on_request_alone_and_its_windows_and_prices_are_used(program: Program) -> None:
    with endpoint({"/v1/models": ROUTER}) as (url, asked):
        configure(program, url)
        assert listed(program) == {}
        assert program.run("completion", "--words", "-m", "own/").out == ""
        assert asked == []
        ran = program.run("models", "--refresh")
        assert (ran.code, ran.out, ran.err) == (0, "own: 2 models\n", "")
        assert asked == ["/v1/models Bearer k-1"]
    found = listed(program)
    big = found["acme/big"]
    assert (big["window"], big["max_output"], big["images"], big["window_stated"]) == (256_000, 16_000, True, True)
    assert {name: big["prices"][name] for name in ("input", "output", "cache_read", "cache_write")} == {
        "input": 2.0,
        "output": 10.0,
        "cache_read": 0.2,
        "cache_write": 2.0,
    }
    assert found["acme/auto"]["prices"] is None
    assert program.run("completion", "--words", "-m", "own/").out == "own/acme/big\nown/acme/auto\n"
    shown = program.run("models").out
    assert "own/acme/big" in shown
    assert "own listed 2 models just now." in shown


def test_a_vendor_is_asked_for_models_that_are_newer_than_the_table(program: Program) -> None:
    ids = {"claude-mythos-5-2": 2_000_000, "claude-fable-5-2": None, "claude-opus-5": 5_000}
    answer = {"data": [{"id": name, **({"max_input_tokens": size} if size else {})} for name, size in ids.items()]}
    with endpoint({"/v1/models": answer}) as (url, _):
        program.more = {"ANTHROPIC_BASE_URL": url.removesuffix("/v1"), "ANTHROPIC_API_KEY": "k"}
        assert program.run("models", "--refresh").out == "anthropic: 2 models\n"
        known = {each["name"]: each for each in json.loads(program.run("models", "--json").out)}
    assert known["anthropic/claude-mythos-5-2"]["window"] == 2_000_000
    assert known["anthropic/claude-mythos-5-2"]["window_stated"]
    assert known["anthropic/claude-opus-5"]["window"] == 1_000_000


def test_what_the_user_or_the_table_says_wins(program: Program) -> None:
    with endpoint(
        {"/v1/models": {"data": [{"id": "gpt-6-luna", "context_length": 5_000}, {"id": "x", "context_length": 5_000}]}}
    ) as (url, _):
        configure(program, url)
        program.run("models", "--refresh")
        with (program.base / "config" / "agentcli" / "config.toml").open("a") as file:
            file.write('[models."own/x"]\nwindow = 7000\n')
    found = listed(program)
    assert found["x"]["window"] == 7_000
    assert found["gpt-6-luna"]["window"] == 1_050_000


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "answers", "window", "price"),
    [
        ("openai", {"/v1/models": {"data": [{"id": "m", "max_model_len": 32_768}]}}, 32_768, None),
        (
            "openai",
            {
                "/v1/models": {"data": [{"id": "m"}]},
                "/model/info": {
                    "data": [
                        {
                            "model_name": "m",
                            "model_info": {
                                "max_input_tokens": 64_000,
                                "input_cost_per_token": 1e-06,
                                "output_cost_per_token": 4e-06,
                                "mode": "chat",
                            },
                        },
                        {"model_name": "vectors", "model_info": {"mode": "embedding"}},
                    ]
                },
            },
            64_000,
            1.0,
        ),
        (
            "anthropic",
            {"/v1/models": {"data": [{"id": "m", "max_input_tokens": 50_000, "max_tokens": 8_000}]}},
            50_000,
            None,
        ),
        (
            "google",
            {
                "/v1/models": {
                    "models": [
                        {
                            "name": "models/m",
                            "inputTokenLimit": 40_000,
                            "supportedGenerationMethods": ["generateContent"],
                        },
                        {"name": "models/vectors", "supportedGenerationMethods": ["embedContent"]},
                    ]
                }
            },
            40_000,
            None,
        ),
    ],
)
def test_every_form_of_a_list_is_read(
    program: Program, kind: str, answers: Any, window: int, price: float | None
) -> None:
    with endpoint(answers) as (url, _):
        configure(program, url, kind=kind)
        assert program.run("models", "--refresh").out == "own: 1 model\n"
    found = listed(program)
    assert list(found) == ["m"]
    assert found["m"]["window"] == window
    assert (found["m"]["prices"] or {"input": None})["input"] == price


@pytest.mark.full
def test_a_list_from_another_address_does_not_count_and_a_removed_provider_leaves_nothing(program: Program) -> None:
    with endpoint({"/v1/models": ROUTER}) as (url, _):
        configure(program, url)
        program.run("models", "--refresh")
        configure(program, "http://127.0.0.1:9/v1")
        assert listed(program) == {}
        program.config("")
        program.run("models", "--refresh")
    assert program.run("completion", "--words", "-m", "own/").out == ""


def test_an_endpoint_that_is_down_keeps_its_list_and_is_named(program: Program) -> None:
    with endpoint({"/v1/models": ROUTER}) as (url, _):
        configure(program, url)
        program.run("models", "--refresh")
    ran = program.run("models", "--refresh")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "warning: own does not list its models: Connection refused.\n"
    assert len(listed(program)) == 2


@pytest.mark.full
def test_a_list_of_100000_models_is_cut_and_stays_quick(program: Program) -> None:
    many = {"data": [{"id": f"org/model-{n:06}", "context_length": 100_000} for n in range(100_000)]}
    with endpoint({"/v1/models": many}) as (url, _):
        configure(program, url)
        ran = program.run("models", "--refresh")
    assert ran.out == f"own: {MODELS:,} models\n"
    assert "own lists 100,000 models; the first 5,000 are kept" in ran.err
    begun = time.monotonic()
    words = program.run("completion", "--words", "-m", "own/org/model-0049").out.split()
    assert time.monotonic() - begun < 5
    assert words == [f"own/org/model-0049{n:02}" for n in range(100)]
    assert len(program.run("completion", "--words", "-m", "own/").out.split()) == 200
    shown = program.run("models").out
    assert shown.count("own/org/model-") == 100
    assert "4,900 more with --json" in shown


def answers(body: bytes, status: int = 200, **headers: str) -> Serve:
    def serve(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return serve


def never_ends(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    while not threading.Event().wait(0.05):
        handler.wfile.write(b" ")


def floods(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b"[" * 1_000_000)


@pytest.mark.full
@pytest.mark.parametrize(
    ("serve", "said"),
    sampled([
        (answers(b"<html>hello</html>"), "does not answer with a list of models"),
        (answers(b'{"data": "many"}'), "does not answer with a list of models"),
        (answers(b"[1, 2]"), "does not answer with a list of models"),
        (answers(b"[" * 100_000), "does not answer with a list of models"),
        (answers(b"x", 500), "answered 500"),
        (answers(b"", 302, Location="http://169.254.169.254/"), "answered 302"),
        (lambda handler: handler.wfile.write(b"\x00\xff\n\n"), "does not list its models"),
        (floods, "in more than 64,000,000 bytes"),
        (
            answers(json.dumps({"data": [{"id": "a\x1b[31m"}, {"id": 7}, {"id": ""}, {"id": "b c"}, {"id": "‮x"}, None, {"id": "good"}]}).encode()),
            "own lists 6 models with unusable names",
        ),
    ], 3),
)  # fmt: skip
def test_a_list_that_is_none_is_a_named_warning_and_nothing_else(program: Program, serve: Serve, said: str) -> None:
    with endpoint({}, serve) as (url, _):
        configure(program, url)
        ran = program.run("models", "--refresh")
    assert ran.code == 0
    [line] = ran.err.splitlines()
    assert line.startswith("warning: own")
    assert said in line
    assert set(listed(program)) <= {"good"}


def test_numbers_that_are_none_are_not_used(program: Program) -> None:
    entries = [
        {"id": "a", "context_length": True, "pricing": {"prompt": "nan", "completion": "1"}},
        {"id": "b", "context_length": -5, "pricing": {"prompt": [], "completion": {}}},
        {"id": "c", "context_length": 10**30, "pricing": {"prompt": "1e400", "completion": 1}},
        {"id": "d", "context_length": "32000", "pricing": 5, "top_provider": [], "architecture": "x"},
    ]
    with endpoint({"/v1/models": {"data": entries}}) as (url, _):
        configure(program, url)
        program.run("models", "--refresh")
    found = listed(program)
    assert list(found) == ["a", "b", "c", "d"]
    assert all(
        each["prices"] is None and each["window"] > 1_000 and not each["window_stated"] for each in found.values()
    )


@pytest.mark.full
def test_a_damaged_cache_is_an_empty_one(program: Program) -> None:
    with endpoint({"/v1/models": ROUTER}) as (url, _):
        configure(program, url)
        program.run("models", "--refresh")
        [file] = (program.base / "cache" / "agentcli" / "models").glob("*.json")
        for broken in ("{", "[]", '{"url": 1}', file.read_text().replace("256000", '"x"')):
            file.write_text(broken)
            assert listed(program) == {}
            assert program.run("completion", "--words", "-m", "own/").out == ""


@pytest.mark.full
def test_opening_model_at_a_terminal_asks_and_lists_and_typing_asks_nobody(program: Program) -> None:
    with endpoint({"/v1/models": ROUTER}) as (url, asked):
        configure(program, url)
        with program.terminal("-m", "script:echo") as t:
            t.until("? keys")
            t.send("/model own")
            t.settle()
            assert asked == []
            t.send("\x15/model\r", until="Which model?")
            t.send("acme/b", until="own/acme/big")
            t.until("256k window · $2 in, $10 out")
            t.send("\x1b")
            t.gone("Which model?")
            t.send("/model own/", until="own/acme/auto")
            assert len(asked) == 1


@pytest.mark.full
def test_a_silent_endpoint_does_not_hold_up_the_list(program: Program) -> None:
    with endpoint({}, never_ends) as (url, _):
        configure(program, url)
        with program.terminal("-m", "script:echo") as t:
            t.until("? keys")
            begun = time.monotonic()
            t.send("/model\r", until="Which model?")
            assert time.monotonic() - begun < 6
            t.send("\x1b")


@pytest.mark.full
def test_a_session_costs_what_the_endpoint_states(program: Program) -> None:
    with Loopback([say("ok", usage=Usage(input=100_000, output=1_000))]) as server:
        server.beside = lambda method, path: json.dumps(ROUTER).encode() if path == "/v1/models" else None  # type: ignore[method-assign]
        configure(program, f"{server.url}/v1")
        program.run("models", "--refresh")
        ran = program.ask("-p", "hi", "-m", "own/acme/big")
    assert ran.result["cost"] == pytest.approx(0.21)
