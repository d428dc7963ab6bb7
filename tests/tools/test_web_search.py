"""Web search through the whole program: by each provider's own tool, by each engine, and by engines that answer anything else."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agentcli.providers.scripted.model import call, say
from tests.e2e.program import Program, Ran
from tests.loopback import Asked, Idle, Loopback, Searches
from tests.sampling import sampled

QUERY = "python 3.15 release"
PAGES = [
    ("https://docs.example.org/whatsnew", "What’s New", "3.15 was released in October."),
    ("https://blog.example.com/p", "A blog", ""),
]
FOUND = Searches(QUERY, PAGES, "It was released in October 2026.")
ALLOWED = ("--allow", "web_search", "--set", "agent.titles=false")
Serve = Callable[[BaseHTTPRequestHandler], None]


def searching(asked: Asked, found: Any = FOUND, after: str = "Found.") -> Any:
    """The session's model searches once; a request with the provider's own tool finds this."""
    if is_search(asked):
        return found
    return say(after) if asked.results else say("", call("web_search", query=QUERY))


def is_search(asked: Asked) -> bool:
    return b"web_search_20250305" in asked.body or b"googleSearch" in asked.body or b'"type":"web_search"' in asked.body


def ask(program: Program, server: Loopback, model: str, *more: str, engine: str = "vendor") -> Ran:
    program.more = server.env
    return program.ask("-p", "look", "-m", model, "--set", f"tools.web_search={engine}", *more)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "small", "fee"),
    [
        ("sonnet", "claude-haiku-5-5", 0.01),
        ("flash", "gemini-3.5-flash-lite", 0.014),
        ("gpt", "gpt-6-luna", 0.01),
        ("gemini-2.5-pro", "gemini-3.5-flash-lite", 0.014),
    ],
)
def test_the_provider_searches_in_a_request_of_its_own_and_is_paid_for_it(
    program: Program, name: str, small: str, fee: float
) -> None:
    with Loopback(searching) as server:
        ran = ask(program, server, name, *ALLOWED)
        asked = [one for one in server.requests if is_search(one)]
        others = [one for one in server.requests if not is_search(one)]
    assert ran.result["text"] == "Found.", ran.lines
    assert [one.model for one in asked] == [small]
    assert QUERY.encode() in asked[0].body
    assert not any(word in one.body for one in others for word in (b'encrypted_content":"', b"groundingMetadata"))
    (result,) = ran.of("tool_result")
    assert result["status"] == "success"
    for text in ("What’s New", "https://docs.example.org/whatsnew", "https://blog.example.com/p", FOUND.answer):
        assert text in result["output"]
    (used,) = [line for line in ran.of("usage") if line["kind"] == "search"]
    assert fee < used["cost"] < fee + 0.02
    assert ran.result["cost"] > used["cost"]
    kept = next(record for record in program.records() if record["kind"] == "tool_result")
    assert kept["metadata"]["spent"]["cost"] == pytest.approx(used["cost"])


def test_a_search_that_the_provider_pauses_goes_on_with_its_own_blocks_unchanged(program: Program) -> None:
    parts = iter(
        [Searches(QUERY, PAGES, paused=True), Searches("again", PAGES[1:], paused=True), Searches("", (), "All.")]
    )
    with Loopback(lambda asked: searching(asked, next(parts) if is_search(asked) else None)) as server:
        ran = ask(program, server, "sonnet", *ALLOWED)
        asked = [one for one in server.requests if is_search(one)]
    assert [one.refused for one in asked] == ["", "", ""]
    last = asked[-1].json["messages"][-1]
    assert last["role"] == "assistant"
    assert [block["type"] for block in last["content"]] == ["server_tool_use", "web_search_tool_result"] * 2
    assert last["content"][0]["input"] == {"query": QUERY}
    (result,) = ran.of("tool_result")
    assert "All." in result["output"]
    assert sum(line["kind"] == "search" for line in ran.of("usage")) == 3


def test_cited_text_goes_back_with_its_citations_where_the_provider_pauses_after_it(program: Program) -> None:
    """The events of a pause after a cited text, which `Searches` does not play."""
    from tests.loopback.web_search import anthropic

    def plan(asked: Asked) -> Any:
        if not is_search(asked):
            return searching(asked)
        if len(asked.json["messages"]) > 1:
            return Searches("", (), "The end.")
        events = anthropic(asked, FOUND, server.seals) + anthropic(
            asked, Searches(QUERY, PAGES, paused=True), server.seals
        )
        from tests.loopback import Raw

        return Raw(_joined(events))

    with Loopback(plan) as server:
        ran = ask(program, server, "sonnet", *ALLOWED)
        asked = [one for one in server.requests if is_search(one)]
    assert [one.refused for one in asked] == ["", ""]
    [text] = [block for block in asked[1].json["messages"][-1]["content"] if block["type"] == "text"]
    assert text["citations"][0]["encrypted_index"]
    assert text["text"] == FOUND.answer
    assert "The end." in ran.of("tool_result")[0]["output"]


def _joined(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Two replies as one: the blocks of both, and the end of the second."""
    first_end = next(index for index, event in enumerate(events) if event["type"] == "message_delta")
    rest = [event for event in events[first_end + 2 :] if event["type"] != "message_start"]
    offset = sum(event["type"] == "content_block_start" for event in events[:first_end])
    moved = [{**event, "index": event["index"] + offset} if "index" in event else event for event in rest]
    for event in moved:  # another id than the first search has
        for block in (event.get("content_block", {}),):
            for key in {"id", "tool_use_id"} & set(block):
                block[key] = f"{block[key]}_2"
    return [*events[:first_end], *moved]


@pytest.mark.full
@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Searches(QUERY, error="too_many_requests"), "failed: too_many_requests"),
        (Searches("", (), "I know that without a search."), "has not searched the web. I know that"),
    ],
)
def test_a_search_that_fails_at_the_provider_is_an_error_for_the_model_and_is_paid_for(
    program: Program, found: Searches, said: str
) -> None:
    with Loopback(lambda asked: searching(asked, found)) as server:
        ran = ask(program, server, "sonnet", *ALLOWED)
    (result,) = ran.of("tool_result")
    assert (result["status"], ran.code) == ("error", 0)
    assert said in result["output"]
    assert ran.result["cost"] > 0.0009


def test_a_provider_without_a_search_says_so_and_nothing_is_sent(program: Program) -> None:
    with Loopback(searching) as server:
        program.config(
            f'[providers.own]\nkind = "anthropic"\nbase_url = "{server.url}"\napi_key_env = "ANTHROPIC_API_KEY"\n'
        )
        ran = ask(program, server, "own/qwen", *ALLOWED)
        assert not any(map(is_search, server.requests))
    (result,) = ran.of("tool_result")
    assert result["status"] == "error"
    assert "own/qwen has no web search of its own" in result["output"]


@pytest.mark.full
def test_a_session_that_has_searched_goes_on_with_another_provider(program: Program) -> None:
    with Loopback(searching) as server:
        ask(program, server, "sonnet", *ALLOWED)
        session = program.records()[0]
        assert session
        for model in ("flash", "gpt", "haiku"):
            ran = program.ask("-c", "-p", "go on", "-m", model, "--set", "agent.titles=false")
            assert ran.code == 0, ran.err
        assert not any(one.refused for one in server.requests)


@pytest.mark.full
def test_without_the_setting_no_request_speaks_of_a_search(program: Program) -> None:
    bodies = []
    for setting in ([], ["--set", "tools.web_search=off"], ["--set", "tools.web_search=vendor"]):
        with Loopback([say("ok")]) as server:
            program.more = server.env
            program.ask("-p", "hi", "-m", "sonnet", "--set", "agent.titles=false", *setting)
            bodies.append(server.requests[0].body)
    assert bodies[0] == bodies[1]
    assert b"web_search" not in bodies[0]
    assert b'"name":"web_search"' in bodies[2].replace(b" ", b"")


@pytest.mark.full
def test_headless_a_search_is_denied_without_a_rule_and_a_rule_can_forbid_it(program: Program) -> None:
    for more in ((), ("--allow", "web_search", "--deny", "web_search(python *)"), ("--mode", "plan")):
        with Loopback(searching) as server:
            ran = ask(program, server, "sonnet", "--set", "agent.titles=false", *more)
            assert not any(map(is_search, server.requests))
        assert ran.of("tool_result")[0]["status"] == "denied"
        assert [
            one["tool_name"] if "tool_name" in one else one["name"] for one in ran.result["permission_denials"]
        ] == ["web_search"]


# Engines


@contextmanager
def serving(serve: Serve) -> Iterator[tuple[str, list[tuple[str, dict[str, str], bytes]]]]:
    """The address of a server on this machine that answers so, and what it was asked."""
    asked: list[tuple[str, dict[str, str], bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            asked.append((self.path, dict(self.headers), self.rfile.read(size)))
            with suppress(ConnectionError):
                serve(self)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def answers(body: Any, status: int = 200, kind: str = "application/json", **headers: str) -> Serve:
    def serve(handler: BaseHTTPRequestHandler) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    return serve


def floods(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b"[" * 1_000_000)


def never_ends(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    while not threading.Event().wait(0.05):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def search(program: Program, engine: str, *more: str) -> Ran:
    """A run whose scripted model searches once."""
    script = program.base / "script.json"
    replies = [{"calls": [{"name": "web_search", "input": {"query": QUERY}}]}, {"text": "Seen."}]
    script.write_text(json.dumps({"replies": replies}))
    return program.ask("-p", "look", "-m", f"script:{script}", "--set", f"tools.web_search={engine}", *ALLOWED, *more)


LISTED = [
    {"url": url, "title": title, "content": passage, "description": f"<strong>{passage}</strong>"}
    for url, title, passage in PAGES
]


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "body", "key", "sent"),
    [
        ("searxng", {"results": LISTED}, "", ("GET", "/search?q=python+3.15+release&format=json")),
        (
            "brave",
            {"web": {"results": LISTED}},
            "X-Subscription-Token",
            ("GET", "/res/v1/web/search?q=python+3.15+release&count=10"),
        ),
        ("tavily", {"results": LISTED, "answer": None}, "Authorization", ("POST", "/search")),
    ],
)
def test_an_engine_is_asked_and_its_pages_are_listed(
    program: Program, name: str, body: Any, key: str, sent: tuple[str, str]
) -> None:
    program.more = {"BRAVE_API_KEY": "k-1", "TAVILY_API_KEY": "k-1"}
    with serving(answers(body)) as (address, asked):
        ran = search(program, f"{name} {address}")
    (result,) = ran.of("tool_result")
    assert result["status"] == "success", result
    assert "1. What’s New\n   https://docs.example.org/whatsnew\n   3.15 was released in October.\n" in result["output"]
    assert "strong" not in result["output"]
    [(path, headers, content)] = asked
    assert path == sent[1]
    assert not key or headers[key].endswith("k-1")
    assert sent[0] == "GET" or json.loads(content)["query"] == QUERY


@pytest.mark.full
@pytest.mark.parametrize(
    ("serve", "said"),
    sampled([
        (answers(b"<html><h1>Hello</h1>", kind="text/html"), "answered with text/html, not with search results"),
        (answers(b"\x89PNG", kind="image/png"), "is image/png, not text"),
        (answers({"error": "x"}, status=500), "answers 500"),
        (answers({}, status=403), "refuses the search (403). Add json to search.formats"),
        (answers(b"", status=302, Location="http://169.254.169.254/latest"), "redirects to http://169.254.169.254/latest, which is not followed"),
        (answers({"results": [{"url": 7}]}), "not with search results"),
        (answers({"results": "many"}), "not with search results"),
        (answers(b"[" * 100_000), "not with search results"),
        (answers([]), "not with search results"),
        (floods, "larger than 2,000,000 bytes"),
        (never_ends, "took longer than 1 s"),
        (lambda handler: handler.connection.close(), "SearXNG: Can't reach 127.0.0.1"),
    ], 3),
)  # fmt: skip
def test_an_engine_that_answers_anything_else_is_an_error_for_the_model_and_nothing_else(
    program: Program, serve: Serve, said: str
) -> None:
    with serving(serve) as (address, asked):
        limit = ["--set", "tools.fetch_seconds=1"] if serve is never_ends else []
        ran = search(program, f"searxng {address}", *limit)
    (result,) = ran.of("tool_result")
    assert (result["status"], ran.code, ran.result["text"]) == ("error", 0, "Seen.")
    assert said in result["output"]
    assert len(result["output"]) < 600
    assert len(asked) == 1
    assert [line for line in ran.of("warning") if "Non-interactive" not in line["message"]] == []


def test_pages_cannot_write_to_the_terminal_or_hide_lines(program: Program) -> None:
    evil = {"results": [{"url": "https://x.example/\x1b]0;t\x07", "title": "a\n2. b\x1b[31m", "content": "‮p\x00"}]}
    with serving(answers(evil)) as (address, _):
        ran = search(program, f"searxng {address}")
    output = ran.of("tool_result")[0]["output"]
    assert not set("\x1b\x07\x00‮") & set(output)
    assert "\n2." not in output


def test_an_engine_at_its_public_address_must_be_public(program: Program) -> None:
    program.more = {"BRAVE_API_KEY": "k"}
    ran = search(program, "brave")
    output = ran.of("tool_result")[0]["output"]
    assert "Brave: " in output  # no network here: its name cannot be found
    assert ran.code == 0


def test_an_engine_without_its_key_says_so(program: Program) -> None:
    ran = search(program, "tavily http://127.0.0.1:9")
    assert "Tavily needs a key, and TAVILY_API_KEY is not set." in ran.of("tool_result")[0]["output"]
    doctor = program.run("doctor", stdin=None)
    assert "web search" not in doctor.out
    program.config('[tools]\nweb_search = "tavily"\n')
    assert "Tavily needs a key" in program.run("doctor").out


@pytest.mark.full
def test_the_key_of_an_engine_is_stored_as_other_keys_are(program: Program) -> None:
    stored = program.run("auth", "set", "tavily", stdin="k-7\n")
    assert (stored.code, "billed" in stored.err) == (0, True)
    assert "keys.json" in next(row for row in program.run("auth", "list").out.split("\n") if "tavily" in row)
    with serving(answers({"results": LISTED})) as (address, asked):
        ran = search(program, f"tavily {address}")
    assert ran.of("tool_result")[0]["status"] == "success"
    assert asked[0][1]["Authorization"] == "Bearer k-7"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("gogle", "Use off, vendor, searxng, brave, tavily"),
        ("tavilly", "Did you mean tavily?"),
        ("searxng", "needs the address"),
        ("searxng file:///etc/passwd", "not an http or https URL"),
        ("vendor https://x.example", "Use off, vendor"),
    ],
)
def test_a_setting_that_makes_no_sense_is_a_mistake_in_the_configuration(
    program: Program, value: str, said: str
) -> None:
    ran = program.ask("-p", "x", "-m", "script:echo", "--set", f"tools.web_search={value}")
    assert ran.code == 52
    assert said in ran.result["error"]


def test_a_project_cannot_switch_the_search_on(program: Program) -> None:
    folder = program.work / ".agentcli"
    folder.mkdir()
    (folder / "config.toml").write_text('[tools]\nweb_search = "searxng http://127.0.0.1:9"\n')
    script = program.base / "script.json"
    script.write_text(json.dumps({"replies": [{"text": "ok"}]}))
    ran = program.ask("-p", "look", "-m", f"script:{script}", "--trust")
    assert "web_search" not in ran.of("init")[0]["tools"]
    assert any("web_search" in line["message"] for line in ran.of("warning"))


def test_a_session_whose_search_was_switched_off_is_told(program: Program, tmp_path: Path) -> None:
    with serving(answers({"results": LISTED})) as (address, _):
        search(program, f"searxng {address}")
    script = program.base / "script.json"
    ran = program.ask("-c", "-p", "again", "-m", f"script:{script}", *ALLOWED)
    (result,) = ran.of("tool_result")
    assert result["status"] == "error"


@pytest.mark.full
def test_at_a_terminal_a_person_is_asked_and_sees_the_sources(program: Program) -> None:
    with Loopback(searching) as server:
        program.more = server.env
        program.config('[agent]\ntitles = false\n[tools]\nweb_search = "vendor"\n')
        with program.terminal("-m", "sonnet") as t:
            t.until("? keys")
            t.send("look\r", until="Search the web for python 3.15 release")
            t.until("web_search uses the network")
            assert not any(map(is_search, server.requests))
            t.send("y", until="Found.")
            shown = "\n".join(t.history())
    assert "https://docs.example.org/whatsnew" in shown
    assert "What’s New" in shown


@pytest.mark.full
def test_a_run_that_is_killed_while_it_searches_goes_on_with_the_next_prompt(program: Program) -> None:
    begun = threading.Event()

    def plan(asked: Asked) -> Any:
        if is_search(asked):
            begun.set()
            return Idle(say("never"), after=1, seconds=60)
        return say("On.") if b"zweitens" in asked.body else searching(asked)

    with Loopback(plan) as server:
        program.more = server.env
        process = program.start("-p", "look", "-m", "sonnet", "--set", "tools.web_search=vendor", *ALLOWED)
        assert begun.wait(30)
        process.kill()
        process.communicate()
        ran = program.ask("-c", "-p", "zweitens", "--set", "tools.web_search=vendor", *ALLOWED)
        assert not any(one.refused for one in server.requests)
    assert (ran.code, ran.result["text"]) == (0, "On.")
