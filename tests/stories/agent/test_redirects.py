"""Where a page leads: each hop is judged by the rules, and another host is for the model to decide."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from agentcli.agent.ports import ApprovalResponse
from agentcli.core.message import ToolResult
from agentcli.core.record import Mode
from agentcli.core.tool import ToolLimits
from agentcli.permissions.rules import parse_rules
from agentcli.providers.scripted.model import call, say
from tests.agent.open_session import Person, open_session, results, say_to


class Site:
    """A server on this machine whose pages redirect as `leads` says; `asked` are the paths that it was asked for."""

    def __init__(self) -> None:
        self.leads: dict[str, str] = {}
        self.asked: list[str] = []
        site = self

        class Page(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                where = site.leads.get(self.path)
                self.send_response(302 if where else 200)
                self.send_header("Location", where) if where else self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", "7" if not where else "0")
                self.end_headers()
                self.wfile.write(b"" if where else b"arrived")

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self.server = HTTPServer(("127.0.0.1", 0), Page)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def sites() -> Iterator[tuple[Site, Site]]:
    made = Site(), Site()
    threads = [threading.Thread(target=site.server.serve_forever) for site in made]
    for thread in threads:
        thread.start()
    yield made
    for site, thread in zip(made, threads, strict=True):
        site.server.shutdown()
        thread.join()
        site.server.server_close()


def fetched(folder: Path, url: str, mode: Mode = "ask", person: Person | None = None, **rules: list[str]) -> ToolResult:
    session = open_session(
        folder,
        [say("", call("web_fetch", url=url)), say("Seen.")],
        mode=mode,
        person=person,
        limits=ToolLimits(fetch_addresses=("127.0.0.1",)),
        rules=parse_rules(**rules),
    )
    say_to(session, "go")
    [result] = results(session)
    return result


@pytest.mark.full
@pytest.mark.parametrize("mode", ["ask", "yolo"])
def test_a_redirect_to_another_host_goes_back_to_the_model(
    tmp_path: Path, sites: tuple[Site, Site], mode: Mode
) -> None:
    one, other = sites
    one.leads = {"/a": f"{other.url}/b"}
    result = fetched(tmp_path, f"{one.url}/a", mode, allow=["web_fetch"])
    assert f"{one.url}/a redirects to {other.url}/b" in result.output
    assert "arrived" not in result.output
    assert other.asked == []


@pytest.mark.full
@pytest.mark.parametrize("secret", ["/secret/x", "/%73ecret/x", "/open/../secret/x"])
@pytest.mark.parametrize("mode", ["ask", "yolo"])
def test_a_redirect_to_what_is_denied_is_not_followed(
    tmp_path: Path, sites: tuple[Site, Site], mode: Mode, secret: str
) -> None:
    site, _ = sites
    site.leads = {"/open/a": "/open/b", "/open/b": secret}
    result = fetched(
        tmp_path, f"{site.url}/open/a", mode, allow=["web_fetch"], deny=[f"web_fetch({site.url}/secret/*)"]
    )
    assert "forbids it" in result.output
    assert site.asked == ["/open/a", "/open/b"]


def test_what_is_allowed_for_some_paths_leads_to_no_others(tmp_path: Path, sites: tuple[Site, Site]) -> None:
    site, _ = sites
    site.leads = {"/docs/a": "/docs/b", "/docs/b": "/private"}
    result = fetched(tmp_path, f"{site.url}/docs/a", allow=[f"web_fetch({site.url}/docs/*)"])
    assert "needs a permission of its own" in result.output
    assert site.asked == ["/docs/a", "/docs/b"]


def test_what_the_person_allowed_may_move_within_its_host(tmp_path: Path, sites: tuple[Site, Site]) -> None:
    site, _ = sites
    site.leads = {"/a": "/b"}
    person = Person(ApprovalResponse("once"))
    assert fetched(tmp_path, f"{site.url}/a", person=person).output.endswith("arrived")
    assert len(person.asked) == 1
    person = Person(ApprovalResponse("once"))
    result = fetched(tmp_path, f"{site.url}/a", person=person, ask=[f"web_fetch({site.url}/b)"])
    assert "needs a permission of its own" in result.output
