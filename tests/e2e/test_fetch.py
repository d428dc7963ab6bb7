"""A page through the whole program: refused where it lies inside, unless the user's own configuration names the address."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.e2e.program import Program


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


def test_an_address_that_the_user_names_is_fetched(program: Program, page: tuple[str, list[str]]) -> None:
    url, asked = page
    result = fetch(program, url, "--set", "tools.fetch_addresses=127.0.0.1")
    assert result["status"] == "success", result
    assert "# Inside" in result["output"]
    assert "no()" not in result["output"]
    assert asked == ["/page"]


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
