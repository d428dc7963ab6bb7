"""Environment variables in definitions of MCP servers, and the variables that a server receives."""

from __future__ import annotations

from agentcli.features.mcp.variables import environment


def test_only_harmless_variables_of_ours_are_passed() -> None:
    given = {
        "PATH": "p",
        "LC_ALL": "C",
        "XDG_DATA_HOME": "d",
        "https_proxy": "h",
        "ANTHROPIC_API_KEY": "k",
        "LD_PRELOAD": "l",
        "SSL_CERT_FILE": "f",
    }
    assert set(environment(given)) == {"PATH", "LC_ALL", "XDG_DATA_HOME", "https_proxy", "SSL_CERT_FILE"}
