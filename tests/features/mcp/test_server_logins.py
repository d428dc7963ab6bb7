"""Logins of servers in use: asked for in the middle of a session, and renewed by themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentcli.core.errors import ToolError
from tests.features.mcp.fake_http import serving
from tests.features.mcp.running import call, servers, settled, text
from tests.features.mcp.test_tokens import Kept


def test_a_server_that_wants_a_login_in_the_middle_says_so_once(tmp_path: Path) -> None:
    with serving() as port, servers(tmp_path, {"web": {"url": f"http://127.0.0.1:{port}/locked/"}}) as made:
        settled(made)
        for _ in range(2):
            with pytest.raises(ToolError, match=r"Server web is not connected: run `/mcp login web` or `agentcli mcp"):
                call(made, "mcp__web__echo", text="a")
        assert made.states()[0].status == "needs login"
        assert [line for line in made.changes() if "login" in line] == [
            "Server web needs a login: run `/mcp login web` or `agentcli mcp login web`."
        ]


def test_a_login_that_has_run_out_is_renewed_by_itself(tmp_path: Path) -> None:
    from agentcli.features.mcp.tokens import provider

    with serving() as port:
        here = f"http://127.0.0.1:{port}"
        vault = Kept()
        kept = {
            "client": {"client_id": "me", "redirect_uris": [f"{here}/callback"], "token_endpoint_auth_method": "none"},
            "tokens": {"access_token": "stale", "token_type": "Bearer", "expires_in": 1, "refresh_token": "again"},
            "expires": 1.0,
            "metadata": {
                "issuer": here,
                "authorization_endpoint": f"{here}/authorize",
                "token_endpoint": f"{here}/token",
                "response_types_supported": ["code"],
            },
        }
        vault.write(json.dumps(kept))
        given = {"web": {"url": f"{here}/guarded/"}}
        with servers(tmp_path, given, auth=lambda server: provider(server, vault)) as made:
            (state,) = settled(made)
            assert state.status == "connected"
            assert text(call(made, "mcp__web__echo", text="renewed")) == "renewed"
        assert json.loads(vault.text)["tokens"]["access_token"] == "fresh"
