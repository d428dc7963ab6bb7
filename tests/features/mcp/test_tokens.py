"""Logins to servers: what is kept of one, and what an address says that a login led to."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from typing import Any

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
