"""OpenRouter's login for other programs, with PKCE: a page that leads back with a code, and the exchange of the code for a key."""

from __future__ import annotations

import hashlib
import json
import threading
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

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


class _Handler(BaseHTTPRequestHandler):
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
                self._answer(200, json.dumps({"key": KEY, "user_id": "u"}))
            else:
                self._answer(403, json.dumps({"error": {"code": 403, "message": f"Invalid code {asked['code']}"}}))
        elif self.headers["Authorization"] != f"Bearer {KEY}":
            self._answer(401, "{}")
        else:
            delta = {"choices": [{"index": 0, "delta": {"content": "Signed in."}, "finish_reason": "stop"}]}
            piece = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": asked["model"], **delta}
            self._answer(200, f"data: {json.dumps(piece)}\n\ndata: [DONE]\n\n", "text/event-stream")

    def _answer(self, status: int, text: str, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def authority() -> Iterator[Authority]:
    """A running service."""
    with Authority() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
