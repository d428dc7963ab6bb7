"""Tokens, login links and the checks that each request passes, before any of them reaches a session."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

from agentcli.frontends.serve.access import LINK_SECONDS, PAGE_SECONDS, PERIOD, WRONG, Access, Grant
from agentcli.frontends.serve.drawing import tree_of
from agentcli.frontends.serve.guard import BODY, Guard
from tests.tables import each_row


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_link_logs_in_once_and_only_for_minutes(tmp_path: Path) -> None:
    clock = Clock()
    access = Access(tmp_path, 8020, clock)
    code = access.link(read_only=False)
    token, read_only = access.log_in(code)
    assert not read_only
    assert access.check(f"Bearer {token}") == Grant(False, "the page")
    assert access.log_in(code) == "unknown"
    late = access.link(read_only=True)
    clock.now += LINK_SECONDS + 1
    assert access.log_in(late) == "unknown"
    clock.now += PAGE_SECONDS
    assert access.check(f"Bearer {token}") == "unknown"


def test_a_page_stays_logged_in_when_the_server_is_started_again_on_its_port_alone(tmp_path: Path) -> None:
    first = Access(tmp_path, 8020)
    token, read_only = first.log_in(first.link(read_only=True))
    assert read_only
    assert Access(tmp_path, 8020).check(f"Bearer {token}") == Grant(True, "the page")
    assert Access(tmp_path, 8021).check(f"Bearer {token}") == "unknown"
    first.log_out(f"Bearer {token}")
    assert Access(tmp_path, 8020).check(f"Bearer {token}") == "unknown"


def test_many_wrong_tokens_are_told_to_wait_and_hinder_no_right_one(tmp_path: Path) -> None:
    clock = Clock()
    access = Access(tmp_path, 8020, clock)
    code = access.link(read_only=False)
    for n in range(WRONG):
        assert access.check(f"Bearer wrong{n}") == "unknown"
    assert access.check("Bearer wrong") == access.log_in("wrong") == "limited"
    token, _ = access.log_in(code)
    assert access.check(f"Bearer {token}") == Grant(False, "the page")
    clock.now += PERIOD + 1
    assert access.check("Bearer wrong") == "unknown"


def test_only_the_owner_reads_the_tokens_and_no_page_token_is_on_disk(tmp_path: Path) -> None:
    access = Access(tmp_path, 8020)
    token, _ = access.log_in(access.link(read_only=False))
    files = list((tmp_path / "serve").iterdir())
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "serve").stat().st_mode) == 0o700
    assert not [file for file in files if token in file.read_text()]
    assert access.check(f"Bearer {(tmp_path / 'serve/token-read').read_text().strip()}").read_only  # type: ignore[union-attr]


async def app(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})


def asked(method: str, path: str, *headers: tuple[str, str]) -> tuple[int, dict[bytes, bytes]]:
    answers: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        answers.append(message)

    raw = [(name.encode(), value.encode()) for name, value in headers]
    scope = {"type": "http", "method": method, "path": path, "headers": raw}
    asyncio.run(Guard(app, ["machine.example"])(scope, receive, send))  # type: ignore[arg-type]
    return answers[0]["status"], dict(answers[0]["headers"])


HOST = ("host", "127.0.0.1:8020")
JSON = ("content-type", "application/json")
LENGTH = ("content-length", "2")


@each_row(
    ("method", "headers", "status"),
    [
        ("GET", [HOST], 200),
        ("GET", [("host", "localhost:9000"), ("origin", "http://localhost:9000")], 200),
        ("GET", [("host", "machine.example"), ("origin", "https://machine.example")], 200),
        ("GET", [("host", "evil.example:8020")], 421),
        ("GET", [("host", "127.0.0.1.evil.example")], 421),
        ("GET", [HOST, ("host", "evil.example")], 421),
        ("GET", [], 421),
        ("GET", [HOST, ("origin", "http://evil.example")], 403),
        ("GET", [HOST, ("origin", "null")], 403),
        ("GET", [HOST, ("origin", "http://127.0.0.1:3000")], 403),
        ("GET", [HOST, ("origin", "http://127.0.0.1:8020"), ("origin", "http://127.0.0.1:8020")], 403),
        ("GET", [HOST, ("sec-fetch-site", "cross-site")], 403),
        ("GET", [HOST, ("sec-fetch-site", "same-site")], 403),
        ("OPTIONS", [HOST], 405),
        ("PUT", [HOST, JSON, LENGTH], 405),
        ("POST", [HOST, JSON, LENGTH], 200),
        ("POST", [HOST, ("content-type", "text/plain"), LENGTH], 415),
        ("POST", [HOST, LENGTH], 415),
        ("POST", [HOST, JSON], 411),
        ("POST", [HOST, JSON, ("content-length", str(BODY + 1))], 413),
        ("POST", [HOST, JSON, ("content-length", "-1")], 411),
    ],
)
def test_a_request_of_another_host_or_origin_is_refused(
    method: str, headers: list[tuple[str, str]], status: int
) -> None:
    found, given = asked(method, "/api/sessions", *headers)
    assert found == status
    policy = given[b"content-security-policy"].decode()
    assert "'unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert not [name for name in given if name.startswith(b"access-control")]


def test_a_body_that_does_not_arrive_ends_its_request(tmp_path: Path) -> None:
    answers: list[Any] = []

    async def send(message: Any) -> None:
        answers.append(message)

    async def receive() -> Any:
        await asyncio.Event().wait()

    raw = [(name.encode(), value.encode()) for name, value in (HOST, JSON, LENGTH)]
    scope = {"type": "http", "method": "POST", "path": "/api/login", "headers": raw}
    asyncio.run(Guard(app, body_seconds=0.01)(scope, receive, send))  # type: ignore[arg-type]
    assert answers[-1]["body"] == b"ok"


def test_what_the_export_draws_becomes_a_tree_of_allowed_elements_only() -> None:
    markup = (
        '<section class="user" id="r1" onclick="evil()"><a class="who" href="javascript:evil()">You</a>'
        '<a href="https://example.org/">ok</a><script>evil()</script><img src="http://evil/x.png" alt="a">'
        '<img src="data:image/png;base64,AA=="><iframe src="x"></iframe><svg onload=evil()>&lt;b&gt;</svg></section>'
    )
    assert tree_of([markup]) == [
        ["section", {"class": "user"}, ["a", {"class": "who"}, "You"], ["a", {"href": "https://example.org/"}, "ok"],
         "evil()", ["img", {"alt": "a"}], ["img", {"src": "data:image/png;base64,AA=="}], "<b>"]
    ]  # fmt: skip
