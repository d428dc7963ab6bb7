"""Checks of every request, and headers of every response, that keep other origins and hosts out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from agentcli.frontends.serve.guard import BODY, Guard
from tests.tables import each_row


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
