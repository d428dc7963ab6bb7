"""OpenRouter's login for other programs, with PKCE: a page that leads back with a code, and the exchange of the code for a key."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from tests.loopback.plain import Answering, running

KEY, CODE = "sk-or-v1-secret", "c0de-secret"


class Authority(ThreadingHTTPServer):
    """The service. A code holds once, and only with the verifier of its challenge; the key is needed for a reply."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.challenge = ""
        self.spent: set[str] = set()

    @property
    def root(self) -> str:
        """The base URL of its API."""
        return f"http://127.0.0.1:{self.server_address[1]}/api/v1"

    def authorise(self, query: str) -> str:
        """Return the address that the browser is led to, as after the person's consent."""
        asked = {name: values[0] for name, values in parse_qs(query).items()}
        assert asked["code_challenge_method"] == "S256"
        assert asked.keys() == {"callback_url", "code_challenge", "code_challenge_method"}, "undocumented parameters"
        assert urlsplit(asked["callback_url"]).hostname == "127.0.0.1"
        self.challenge = asked["code_challenge"]
        return f"{asked['callback_url']}?code={CODE}"

    def exchanges(self, asked: dict[str, str]) -> bool:
        """Return True if the code is exchanged for the key."""
        digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
        fits = urlsafe_b64encode(digest).rstrip(b"=").decode() == self.challenge
        good = asked["code"] == CODE and CODE not in self.spent and fits and asked["code_challenge_method"] == "S256"
        self.spent.add(asked["code"])
        return good


class _Handler(Answering):
    server: Authority

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.send_response(302)
        assert parts.path == "/auth"
        self.send_header("Location", self.server.authorise(parts.query))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/v1/auth/keys":
            if self.server.exchanges(asked):
                self.answer(200, json.dumps({"key": KEY, "user_id": "u"}))
            else:
                self.answer(403, json.dumps({"error": {"code": 403, "message": f"Invalid code {asked['code']}"}}))
        elif self.headers["Authorization"] != f"Bearer {KEY}":
            self.answer(401, "{}")
        else:
            delta = {"choices": [{"index": 0, "delta": {"content": "Logged in."}, "finish_reason": "stop"}]}
            piece = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": asked["model"], **delta}
            self.answer(200, f"data: {json.dumps(piece)}\n\ndata: [DONE]\n\n", "text/event-stream")


@contextmanager
def authority() -> Iterator[Authority]:
    """A running service."""
    server = Authority()
    with running(server):
        yield server
