"""ChatGPT's login for open-source programs, and the Responses API on a plan, with the rules that their pages state."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from tests.loopback.plain import Answering, running

CODE, SECRET = "c0de-secret", "t0ken-secret"
SCOPE = "openid profile email offline_access resource.invoke chatgpt.tokens.use.direct"
RESOURCE = "https://api.openai.com/v1"
FIRST = {"agent_name_hint"}
ASKED = {
    "client_id", "ext_agent_host_id", "response_type", "scope", "resource", "state", "nonce", "code_challenge_method",
    "code_challenge", "redirect_uri",
}  # fmt: skip
UNSUPPORTED = {
    "background", "conversation", "max_output_tokens", "max_tool_calls", "metadata", "moderation", "multi_agent",
    "prompt", "prompt_cache_retention", "safety_identifier", "temperature", "top_logprobs", "top_p", "truncation", "user",
    "previous_response_id",
}  # fmt: skip


class Authority(ThreadingHTTPServer):
    """The service. A code and a refresh token hold once; one that is used again ends the login."""

    daemon_threads = True

    def __init__(self, lasts: float, scope: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lasts, self.scope = lasts, scope
        self.asked: dict[str, str] = {}
        self.hosts: set[str] = set()
        self.code = self.refresh = ""
        self.renewals = self.logins = 0
        self.ended = self.down = False
        self.pause = 0.05
        """Seconds that a renewal takes."""
        self.valid: dict[str, float] = {}
        """Access tokens, each with the time of its end."""
        self.bodies: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def published(self) -> Mapping[str, str]:
        """The document about itself."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "revocation_endpoint": f"{self.issuer}/revoke",
        }

    @property
    def keys(self) -> Mapping[str, Any]:
        return {"keys": [{**RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True), "kid": "1", "alg": "RS256"}]}

    def authorise(self, query: str) -> str:
        """Return the address that the browser is led to, as after the person's consent."""
        asked = {name: values[0] for name, values in parse_qs(query).items()}
        first = asked["client_id"] == "dynamic_agent_client"
        assert asked.keys() == ASKED | (FIRST if first else set()), "undocumented parameters"
        assert (asked["scope"], asked["resource"], asked["response_type"]) == (SCOPE, RESOURCE, "code")
        redirect = urlsplit(asked["redirect_uri"])
        assert (redirect.hostname, redirect.path) == ("127.0.0.1", "/auth/callback")
        self.asked, self.code = asked, CODE
        self.hosts.add(asked["ext_agent_host_id"])
        client = {"client_id": "oaiapp_1"} if first else {}
        return f"{asked['redirect_uri']}?{urlencode({'code': CODE, 'state': asked['state'], **client, 'scope': self.scope})}"

    def answer(self, form: Mapping[str, str]) -> tuple[int, Mapping[str, Any]]:
        """Return status and answer of the token address."""
        assert (form["client_id"], form["resource"]) == ("oaiapp_1", RESOURCE)
        with self._lock:
            if self.down:
                return 503, {"error": "temporarily_unavailable"}
            if form["grant_type"] == "refresh_token":
                time.sleep(self.pause)
                if self.ended or form["refresh_token"] != self.refresh:
                    self.ended = True
                    return 400, {"error": "invalid_grant", "error_description": f"used: {form['refresh_token']}"}
                self.renewals += 1
                return 200, self._tokens()
            digest = urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
            fits = digest == self.asked["code_challenge"] and form["redirect_uri"] == self.asked["redirect_uri"]
            good, self.code = fits and form["code"] == self.code, ""
            if not good:
                return 400, {"error": "invalid_grant"}
            self.logins, self.ended = self.logins + 1, False
            return 200, {**self._tokens(), "id_token": self.identity(), "scope": self.scope}

    def _tokens(self) -> Mapping[str, Any]:
        number = self.renewals + 100 * self.logins
        self.refresh, access = f"{SECRET}-r{number}", f"{SECRET}-a{number}"
        self.valid[access] = time.time() + self.lasts
        return {"access_token": access, "refresh_token": self.refresh, "expires_in": self.lasts, "token_type": "Bearer"}

    def identity(self, **other: Any) -> str:
        """Return a signed identity, with other claims if given."""
        claims = {"iss": self.issuer, "aud": ["oaiapp_1"], "sub": "person", "nonce": self.asked.get("nonce", "")}
        times = {"iat": int(time.time()), "exp": int(time.time()) + 60}
        return jwt.encode({**claims, **times, **other}, self._key, "RS256", {"kid": "1"})

    def refused(self, body: Mapping[str, Any]) -> str:
        """Return why a plan refuses a request; empty if it takes it."""
        if found := UNSUPPORTED & body.keys():
            return f"unsupported: {sorted(found)}"
        if body.get("store") is not False or body.get("stream") is not True or not isinstance(body.get("input"), list):
            return "store, stream or input"
        if any(item.get("role") == "system" for item in body["input"]):
            return "a system message"
        return (
            "functions are no tools of their own"
            if any(each["type"] == "function" for each in body.get("tools", ()))
            else ""
        )


class _Handler(Answering):
    server: Authority

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        match parts.path:
            case "/.well-known/openid-configuration":
                self.answer(200, json.dumps(self.server.published))
            case "/keys":
                self.answer(200, json.dumps(self.server.keys))
            case "/authorize":
                self.send_response(302)
                self.send_header("Location", self.server.authorise(parts.query))
                self.send_header("Content-Length", "0")
                self.end_headers()
            case _ if not self._admitted:
                self.answer(401, "{}")
            case _:
                hidden = {"slug": "hidden", "visibility": "hide"}
                self.answer(200, json.dumps({"models": [{"slug": "gpt-6-sol", "visibility": "list"}, hidden]}))

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = {name: values[0] for name, values in parse_qs(text).items()}
        match self.path:
            case "/token":
                status, answer = self.server.answer(form)
                self.answer(status, json.dumps(answer))
            case "/revoke":
                good = form == {
                    "token": self.server.refresh,
                    "token_type_hint": "refresh_token",
                    "client_id": "oaiapp_1",
                }
                self.server.ended = good
                self.answer(200 if good else 400, "")
            case "/v1/responses":
                self._reply(json.loads(text))
            case _:
                self.answer(404, "{}")

    @property
    def _admitted(self) -> bool:
        token = str(self.headers["Authorization"]).removeprefix("Bearer ")
        return self.server.valid.get(token, 0) >= time.time() and not self.server.ended

    def _reply(self, body: dict[str, Any]) -> None:
        if not self._admitted:
            self.answer(401, json.dumps({"detail": {"error_code": "invalid_token"}}))
        elif why := self.server.refused(body):
            self.answer(400, json.dumps({"detail": why}))
        else:
            self.server.bodies.append(body)
            item = {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "On the plan."}],
            }
            done = {"status": "completed", "output": [], "usage": {"input_tokens": 9, "output_tokens": 3}}
            events = [
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": done},
            ]
            self.answer(200, "".join(f"data: {json.dumps(event)}\n\n" for event in events), "text/event-stream")


@contextmanager
def authority(lasts: float = 3600, scope: str = SCOPE) -> Iterator[Authority]:
    """A running service, whose access tokens last so many seconds."""
    server = Authority(lasts, scope)
    with running(server):
        yield server
