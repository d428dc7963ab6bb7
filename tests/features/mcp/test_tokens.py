"""Logins to servers: what is kept of one, and what an address says that a login led to."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx2
import pytest

from agentcli.core.errors import InputError
from agentcli.features.mcp.config import ServerDefinition, definition
from agentcli.features.mcp.server_login import vault_key


class Kept:
    """A vault in memory."""

    def __init__(self) -> None:
        self.text = ""

    def read(self) -> str:
        return self.text

    def write(self, text: str) -> None:
        self.text = text


def server(**oauth: Any) -> ServerDefinition:
    given = {"url": "https://example.org/mcp", "oauth": oauth}
    return definition("web", given, "test").servers["web"]


def test_a_login_leads_to_a_code_or_says_why_not() -> None:
    from agentcli.features.mcp.tokens import code_of

    found = code_of("http://127.0.0.1:5/callback?code=c0de&state=s&iss=https%3A%2F%2Fas")
    assert (found.code, found.state, found.iss) == ("c0de", "s", "https://as")
    with pytest.raises(InputError, match="The login failed: he said no"):
        code_of("/callback?error=access_denied&error_description=he+said+no")
    with pytest.raises(InputError, match="contains no code"):
        code_of("what was pasted")


def test_a_login_at_a_server_that_cannot_be_reached_names_its_address() -> None:
    from agentcli.features.mcp.tokens import LoginPage, login

    async def nobody(*_: object) -> str:
        raise AssertionError("no browser is wanted")

    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    away = definition("web", {"url": f"http://{address}/mcp"}, "test").servers["web"]
    with pytest.raises(InputError) as failed:
        asyncio.run(login(away, Kept(), LoginPage("http://127.0.0.1/callback", nobody, nobody)))
    reached = f"can't reach it at http://{address} (Connection refused)"
    assert str(failed.value) == f"The login failed: {reached}; start it, or correct its address."


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_without_end_fails_a_login_after_a_megabyte(packed: bool) -> None:
    from agentcli.features.mcp.tokens import LoginPage, login

    class Endless(BaseHTTPRequestHandler):
        sent = 0

        def do_POST(self) -> None:
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            for header in ["Content-Encoding"] * packed:
                self.send_header(header, "gzip")
            self.end_headers()
            with contextlib.suppress(OSError):
                while Endless.sent < 100_000_000:
                    Endless.sent += self.wfile.write(gzip.compress(b" " * 10_000_000) if packed else b" " * 100_000)

        def log_message(self, *_: object) -> None:
            pass

    async def nobody(*_: object) -> str:
        raise AssertionError("no browser is wanted")

    with ThreadingHTTPServer(("127.0.0.1", 0), Endless) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{http.server_address[1]}/mcp"
        flooding = definition("web", {"url": url}, "test").servers["web"]
        with pytest.raises(InputError, match="The login failed: the server sent more than 1,000,000 bytes"):
            asyncio.run(login(flooding, Kept(), LoginPage("http://127.0.0.1/callback", nobody, nobody)))
        http.shutdown()
    assert Endless.sent < 50_000_000


def test_a_login_holds_for_one_address_and_client() -> None:
    def key(url: str, **oauth: str) -> str:
        return vault_key(definition("web", {"url": url, "oauth": oauth}, "test").servers["web"])

    assert key("https://example.org/a") == key("https://user@EXAMPLE.org/a")
    assert key("https://example.org") == key("https://example.org/")
    others = [
        key("https://example.org/a"), key("https://example.org/b"), key("https://example.org/a/"), key("https://example.org/a?key=s3cret"),
        key("https://example.org/a?key=other"), key("http://example.org/a"), key("https://example.org:444/a"), key("https://example.org/a", clientId="me"),
    ]  # fmt: skip
    assert len(set(others)) == len(others)
    assert "s3cret" not in "".join(others)


def test_a_login_is_kept_with_all_that_renews_it() -> None:
    from mcp.shared.auth import OAuthToken

    from agentcli.features.mcp.tokens import provider

    vault = Kept()
    made = provider(server(), vault)
    token = OAuthToken(access_token="a", token_type="Bearer", expires_in=3600, refresh_token="r")
    asyncio.run(made.context.storage.set_tokens(token))
    assert json.loads(vault.text)["tokens"]["refresh_token"] == "r"
    again = provider(server(), vault)
    assert asyncio.run(again.context.storage.get_tokens()) == token
    assert (again.context.token_expiry_time or 0) > time.time() + 3000


def test_a_client_that_is_configured_needs_no_registration() -> None:
    from agentcli.features.mcp.tokens import provider

    made = provider(server(clientId="me", clientSecret="secret", scopes="read write"), Kept())
    client = asyncio.run(made.context.storage.get_client_info())
    assert client is not None
    assert (client.client_id, client.client_secret, client.scope) == ("me", "secret", "read write")
    assert asyncio.run(provider(server(), Kept()).context.storage.get_client_info()) is None


def test_what_was_damaged_counts_as_no_login() -> None:
    from agentcli.features.mcp.tokens import provider

    vault = Kept()
    vault.text = "{broken"
    assert asyncio.run(provider(server(), vault).context.storage.get_tokens()) is None


def test_eight_processes_renew_a_login_once(tmp_path: Path) -> None:
    """The server invalidates a refresh token by its use; a provider each stands for a process."""
    from agentcli.features.mcp.tokens import provider

    left, renewed = {"first"}, list[str]()

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path != "/token":
            return httpx2.Response(200 if request.headers.get("authorization") == "Bearer fresh" else 403)
        given = parse_qs(request.content.decode())["refresh_token"][0]
        renewed.append(given)
        if given not in left:
            return httpx2.Response(400, json={"error": "invalid_grant"})
        left.clear()
        left.add("second")
        fresh = {"access_token": "fresh", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "second"}
        return httpx2.Response(200, json=fresh)

    async def slowly(request: httpx2.Request) -> httpx2.Response:
        await asyncio.sleep(0.01)
        return answer(request)

    async def one(vault: Kept) -> int:
        auth = provider(server(), vault, lock=tmp_path / "lock")
        async with httpx2.AsyncClient(auth=auth, transport=httpx2.MockTransport(slowly)) as client:
            return (await client.get("https://example.org/mcp")).status_code

    async def all_at_once() -> list[int]:
        vault = Kept()
        stale = {"access_token": "stale", "token_type": "Bearer", "refresh_token": "first"}
        client = {"client_id": "me", "redirect_uris": ["http://127.0.0.1/callback"]}
        vault.write(json.dumps({"client": client, "tokens": stale, "expires": 1.0}))
        return await asyncio.gather(*(one(vault) for _ in range(8)))

    assert asyncio.run(all_at_once()) == [200] * 8
    assert renewed == ["first"]
