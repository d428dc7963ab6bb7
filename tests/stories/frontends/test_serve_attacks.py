"""Attacks on the server while a session waits for an approval: none of them reads, answers, steers or starts anything."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentcli.frontends.serve.access import WRONG
from tests.e2e.program import Program
from tests.frontends.serve.server import Answer, Serving

pytestmark = pytest.mark.slow

PWNED = {"name": "bash", "input": {"command": "touch pwned"}, "id": "c1"}


class Target(Serving):
    """A server with one session that waits for an approval, and the token that only reads."""

    session = question = reader = ""

    def raw(self, data: bytes, seconds: float = 5) -> bytes:
        """What comes back for these bytes."""
        found = b""
        with socket.create_connection(("127.0.0.1", self.port), seconds) as link, contextlib.suppress(OSError):
            link.sendall(data)
            while more := link.recv(65536):
                found += more
        return found

    def bare(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """A request without the token."""
        return self.ask(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})

    def approve(self, **headers: str) -> Answer:
        """Answer the open question, but for headers that should make it fail."""
        given = {"hash": self.question, "choice": "once"}
        return self.post(
            f"/api/sessions/{self.session}/answer", given, **{n.replace("_", "-"): v for n, v in headers.items()}
        )


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    program = Program(tmp_path_factory.mktemp("attacked"))
    script = program.base / "s.json"
    script.write_text(json.dumps({"replies": [{"text": "Secret plan.", "calls": [PWNED]}, {"text": "Done."}]}))
    program.config(f'model = "script:{script}"\n')
    with Target(program) as serving:
        serving.log_in()
        started = serving.post("/api/sessions", {"folder": str(program.work), "text": "go on"}).json
        serving.session = started["session"]
        ends = time.monotonic() + 20
        while not (asked := serving.get(f"/api/sessions/{serving.session}").json["questions"]):
            assert time.monotonic() < ends
            time.sleep(0.05)
        serving.question = asked[0]["hash"]
        serving.reader = (program.base / "state/agentcli/serve/token-read").read_text().strip()
        assert serving.get("/api/sessions", authorization=f"Bearer {serving.reader}").status == 200
        yield serving
        assert not (program.work / "pwned").exists()
        assert not list(Path(program.work).iterdir())
        state = serving.get(f"/api/sessions/{serving.session}").json
        assert (state["state"], state["questions"][0]["hash"]) == ("waits", serving.question)
        assert [each["session"] for each in serving.get("/api/sessions").json["running"]] == [serving.session]
        assert serving.approve().status == 200  # the question was there to be answered all the time
        ends = time.monotonic() + 20
        while not (program.work / "pwned").exists():
            assert time.monotonic() < ends
            time.sleep(0.05)


Attack = Callable[[Target], Answer]
JSON = {"content_type": "application/json"}

ATTACKS: dict[str, tuple[Attack, int | tuple[int, ...]]] = {
    "no token": (lambda t: t.bare("GET", "/api/sessions"), 401),
    "no token to the events": (lambda t: t.bare("GET", f"/api/sessions/{t.session}/events"), 401),
    "no token to the transcript": (lambda t: t.bare("GET", f"/api/sessions/{t.session}/transcript"), 401),
    "token in the address": (lambda t: t.bare("GET", f"/api/sessions?token={t.token}"), 401),
    "token as a cookie": (lambda t: t.bare("GET", "/api/sessions", cookie=f"token={t.token}"), 401),
    "two tokens": (lambda t: t.bare("GET", "/api/sessions", authorization=f"Bearer x, Bearer {t.token}"), 401),
    "token as a password": (lambda t: t.bare("GET", "/api/sessions", authorization=f"Basic {t.token}"), 401),
    "drawing without a token": (lambda t: t.bare("POST", "/api/drawn", b'{"text": "x"}', **JSON), 401),
    "drawing of too much": (lambda t: t.post("/api/drawn", {"text": "x" * 100_001}), 400),
    "link used twice": (lambda t: t.bare("POST", "/api/login", json.dumps({"code": t.code}).encode(), **JSON), 401),
    "rebinding": (lambda t: t.approve(host="evil.example"), 421),
    "rebinding with the port": (lambda t: t.approve(host=f"evil.example:{t.port}"), 421),
    "host that begins like ours": (lambda t: t.approve(host="127.0.0.1.evil.example"), 421),
    "host that ends like ours": (lambda t: t.approve(host="evil-localhost"), 421),
    "host with a user": (lambda t: t.approve(host="127.0.0.1@evil.example"), 421),
    "foreign origin": (lambda t: t.approve(origin="https://evil.example"), 403),
    "origin of another port": (lambda t: t.approve(origin="http://127.0.0.1:1"), 403),
    "origin null": (lambda t: t.approve(origin="null"), 403),
    "origin with our host in it": (lambda t: t.approve(origin=f"http://127.0.0.1:{t.port}.evil.example"), 403),
    "cross-site fetch": (lambda t: t.approve(sec_fetch_site="cross-site"), 403),
    "another port of this machine": (lambda t: t.approve(sec_fetch_site="same-site"), 403),
    "preflight": (lambda t: t.bare("OPTIONS", "/api/sessions", origin="https://evil.example"), 403),
    "form of another page": (lambda t: t.approve(content_type="application/x-www-form-urlencoded"), 415),
    "form as text": (lambda t: t.approve(content_type="text/plain"), 415),
    "approval by a reader": (lambda t: t.approve(authorization=f"Bearer {t.reader}"), 403),
    "message by a reader": (
        lambda t: t.post(f"/api/sessions/{t.session}/say", {"text": "x"}, authorization=f"Bearer {t.reader}"),
        403,
    ),
    "link by a reader": (lambda t: t.post("/api/link", {}, authorization=f"Bearer {t.reader}"), 403),
    "start by a reader": (lambda t: t.post("/api/sessions", {}, authorization=f"Bearer {t.reader}"), 403),
    "forged hash": (lambda t: t.post(f"/api/sessions/{t.session}/answer", {"hash": "0" * 64, "choice": "once"}), 400),
    "approval without a hash": (lambda t: t.post(f"/api/sessions/{t.session}/answer", {"choice": "once"}), 400),
    "choice that was not offered": (
        lambda t: t.post(f"/api/sessions/{t.session}/answer", {"hash": t.question, "choice": "all"}),
        400,
    ),
    "choice that is no text": (
        lambda t: t.post(f"/api/sessions/{t.session}/answer", {"hash": t.question, "choice": ["once"]}),
        400,
    ),
    "approval through another session": (
        lambda t: t.post("/api/sessions/20260101-000000-aaaaaaa/answer", {"hash": t.question, "choice": "once"}),
        400,
    ),
    "traversal": (lambda t: t.get("/api/sessions/..%2f..%2f..%2fetc%2fpasswd/transcript"), (400, 404)),
    "traversal of files": (lambda t: t.get("/../../../etc/passwd"), 404),
    "traversal in an id": (lambda t: t.get("/api/sessions/%2e%2e/transcript"), (400, 404)),
    "name instead of an id": (lambda t: t.get(f"/api/sessions/{t.session[:12]}"), 400),
    "any folder": (lambda t: t.post("/api/sessions", {"folder": "/etc", "text": "x"}), 400),
    "folder by a way around": (
        lambda t: t.post("/api/sessions", {"folder": f"{t._program.work}/../..", "text": "x"}),
        400,
    ),
    "option as a model": (
        lambda t: t.post("/api/sessions", {"folder": str(t._program.work), "model": "--trust", "text": "x"}),
        400,
    ),
    "mode that asks nothing": (
        lambda t: t.post("/api/sessions", {"folder": str(t._program.work), "mode": "yolo", "text": "x"}),
        400,
    ),
    "shell command": (lambda t: t.post(f"/api/sessions/{t.session}/say", {"text": "!touch pwned"}), 400),
    "slash command": (lambda t: t.post(f"/api/sessions/{t.session}/say", {"text": "\n /mode yolo"}), 400),
    "body that is too large": (lambda t: t.post(f"/api/sessions/{t.session}/say", {"text": "x" * 600_000}), 413),
    "body that is nested": (
        lambda t: t.ask(
            "POST", f"/api/sessions/{t.session}/say", b"[" * 200_000,
            {"authorization": f"Bearer {t.token}", "content-type": "application/json"},
        ),
        400,
    ),
    "method to change things": (lambda t: t.ask("DELETE", f"/api/sessions/{t.session}", None, t._authorized), 405),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused(target: Target, name: str) -> None:
    attack, statuses = ATTACKS[name]
    answer = attack(target)
    expected = statuses if isinstance(statuses, tuple) else (statuses,)
    # After ten wrong tokens the eleventh is not even looked at.
    assert answer.status in (*expected, *([429] if 401 in expected else [])), answer.body
    assert b"Secret plan" not in answer.body
    assert not [header for header in answer.headers if header.startswith(("access-control", "set-cookie"))]


@pytest.mark.parametrize(
    "data",
    [
        b"GET /api/sessions HTTP/1.1\r\n\r\n",
        b"GET /api/sessions HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n",
        b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
        b"GET /api/sessions HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 10,
    ],
    ids=["no host", "two hosts", "smuggling", "long header", "web socket", "tls"],
)
def test_bytes_that_are_no_proper_request_get_nothing(target: Target, data: bytes) -> None:
    answer = target.raw(data.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
    assert b" 200 " not in answer.split(b"\r\n")[0]
    assert b" 101 " not in answer.split(b"\r\n")[0]
    assert target.get(f"/api/sessions/{target.session}").status == 200


def test_guessing_tokens_is_limited_and_disturbs_no_page_that_is_logged_in(target: Target) -> None:
    found = [target.bare("GET", "/api/sessions", authorization=f"Bearer {n}").status for n in range(2 * WRONG)]
    assert found[-1] == 429
    assert target.get("/api/sessions").status == 200
