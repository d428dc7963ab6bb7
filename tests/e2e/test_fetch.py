"""A page through the whole program: refused where it lies inside, unless the user's own configuration names the address."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from agentcli.core.message import Usage
from agentcli.providers.scripted.model import call, say
from tests.e2e.program import Program
from tests.loopback import Asked, Loopback


@pytest.fixture
def page() -> Iterator[tuple[str, list[str]]]:
    """The URL of a page on this machine, and what was asked of its server."""
    asked: list[str] = []

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<h1>Inside</h1><script>no()</script>")

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/page", asked
        server.shutdown()
        thread.join()


def fetch(program: Program, url: str, *more: str) -> dict[str, str]:
    """The result of a web_fetch that the permissions allow."""
    script = program.base / "script.json"
    calls = [{"name": "web_fetch", "input": {"url": url}}]
    script.write_text(json.dumps({"replies": [{"calls": calls}, {"text": "Seen."}]}))
    ran = program.ask("-p", "look", "-m", f"script:{script}", "--allow", "web_fetch", *more)
    assert ran.code == 0, ran.err
    [result] = ran.of("tool_result")
    return result


def test_an_address_inside_is_refused_by_default(program: Program, page: tuple[str, list[str]]) -> None:
    url, asked = page
    result = fetch(program, url)
    assert result["status"] == "error"
    assert "not a public address" in result["output"]
    assert asked == []


def test_nobody_is_asked_about_an_address_inside(program: Program) -> None:
    calls = [{"name": "web_fetch", "input": {"url": url}} for url in ("http://10.0.0.1/", "http://example.com/")]
    (program.base / "script.json").write_text(json.dumps({"replies": [{"calls": calls}, {"text": "Seen."}]}))
    ran = program.ask("-p", "look", "-m", f"script:{program.base / 'script.json'}")
    assert [result["status"] for result in ran.of("tool_result")] == ["error", "denied"]
    assert len(ran.result["permission_denials"]) == 1


def test_an_address_that_the_user_names_is_fetched(program: Program, page: tuple[str, list[str]]) -> None:
    url, asked = page
    result = fetch(program, url, "--set", "tools.fetch_addresses=127.0.0.1")
    assert result["status"] == "success", result
    assert "# Inside" in result["output"]
    assert "no()" not in result["output"]
    assert asked == ["/page"]


@pytest.mark.full
def test_another_address_is_not_meant(program: Program, page: tuple[str, list[str]]) -> None:
    result = fetch(program, page[0], "--set", "tools.fetch_addresses=10.0.0.0/8")
    assert result["status"] == "error"
    assert page[1] == []


def test_a_project_cannot_open_what_is_inside(program: Program, page: tuple[str, list[str]]) -> None:
    folder = program.work / ".agentcli"
    folder.mkdir()
    (folder / "config.toml").write_text('[tools]\nfetch_addresses = ["127.0.0.1"]\n')
    assert fetch(program, page[0], "--trust")["status"] == "error"
    assert page[1] == []


def test_what_is_no_address_is_a_mistake_in_the_configuration(program: Program) -> None:
    ran = program.ask("-p", "x", "-m", "script:echo", "--set", "tools.fetch_addresses=home")
    assert ran.code == 52
    assert "fetch_addresses" in ran.result["error"]


ASKS = {"url": "", "prompt": "What does the heading say?"}


@pytest.mark.full
@pytest.mark.parametrize(("name", "small"), [("sonnet", "claude-haiku-5-5"), ("flash", "gemini-3.5-flash-lite")])
def test_a_question_about_a_page_is_answered_by_the_small_model_and_paid_for(
    program: Program, page: tuple[str, list[str]], name: str, small: str
) -> None:
    url, _ = page

    def plan(asked: Asked) -> Any:
        if asked.model == small:
            return say("It says: within.", usage=Usage(input=300_000, output=1_000))
        return say("Within.") if asked.results else say("", call("web_fetch", **{**ASKS, "url": url}))

    with Loopback(plan) as server:
        program.more = server.env
        limits = ("--set", "tools.fetch_addresses=127.0.0.1", "--set", "agent.titles=false", "--allow", "web_fetch")
        ran = program.ask("-p", "look", "-m", name, *limits)
        asked = [one for one in server.requests if one.model == small]
        assert len(asked) == 1
        assert b"# Inside" in asked[0].body
        assert ASKS["prompt"].encode() in asked[0].body
        assert all(b"# Inside" not in one.body for one in server.requests if one.model != small)
    assert (ran.code, ran.result["text"]) == (0, "Within.")
    (result,) = ran.of("tool_result")
    assert "It says: within." in result["output"]
    (used,) = [line for line in ran.of("usage") if line["kind"] == "page"]
    assert (used["input"], used["output"]) == (300_000, 1_000)
    assert ran.result["usage"]["input"] > 300_000
    assert ran.result["cost"] > used["cost"] > 0
    kept = next(record for record in program.records() if record["kind"] == "tool_result")
    assert kept["metadata"]["spent"]["model"].endswith(small)
    (info,) = program.sessions.glob("*/*/session.json")
    assert json.loads(info.read_text())["usage"]["input"] > 300_000
    (output,) = program.sessions.glob("*/*/outputs/*")
    assert "# Inside" in output.read_text()


@pytest.mark.full
def test_a_question_about_a_page_that_a_budget_forbids_gives_the_page(
    program: Program, page: tuple[str, list[str]]
) -> None:
    ask = say("", call("web_fetch", **{**ASKS, "url": page[0]}), usage=Usage(input=30_000, output=10))
    with Loopback([ask]) as server:
        program.more = server.env
        limits = ("--set", "tools.fetch_addresses=127.0.0.1", "--set", "agent.titles=false", "--allow", "web_fetch")
        ran = program.ask("-p", "look", "-m", "sonnet", *limits, "--set", "budget.session.tokens=30020")
        assert [one.model for one in server.requests] == ["claude-sonnet-5-5"]
    (result,) = ran.of("tool_result")
    assert "No model has answered the prompt" in result["output"]
    assert "# Inside" in result["output"]
    assert (ran.code, ran.result["subtype"]) == (53, "limit")
