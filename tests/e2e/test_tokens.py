"""Arguments, variables, headers and settings may hold secrets: a run shows none, whatever goes wrong with them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.e2e.program import Program
from tests.sampling import first

LS = {"calls": [{"name": "bash", "input": {"command": "echo one"}}]}
NOWHERE = "http://127.0.0.1:9"
Token = Callable[[], str]


def long(token: str) -> str:
    """A value longer than the name of a file may be."""
    return token + "/" + "x" * 300


def stdio(given: Token) -> dict[str, Any]:
    """Servers that cannot start, or that end at once."""
    args = (
        given(),
        long(given()),
        json.dumps({"apiKey": given(), "more": ["y" * 300]}),
        f"--token={given()}",
        f"Authorization: Bearer {given()}",
        f"--header=X-Key: {long(given())}",
        f"../{given()}/server.py",
        f"~/{given()}",
        f"pkg.{given()}",
        f"-c import os; {given()}",
    )
    ending = {f"ends{n}": {"command": "false", "args": [one]} for n, one in enumerate(args)}
    return {
        **ending,
        "noise": {"command": "sh", "args": ["-c", "echo no json; exit 3", given()]},
        "missing": {"command": "no-such-program", "args": [given()]},
        "variable": {"command": "true", "env": {"MODE": given(), "LONG": long(given())}},
        "broken": {"command": "true", "args": [given(), 7]},
        "unset": {"command": "true", "args": [given(), "${NOT_SET}"]},
    }


def remote(given: Token) -> dict[str, Any]:
    """Servers at addresses where nobody listens."""
    return {
        "header": {"url": NOWHERE, "headers": {"X-Custom": given(), "Authorization": f"Bearer {given()}"}},
        "query": {"url": f"{NOWHERE}/mcp?session={given()}"},
        "path": {"url": f"{NOWHERE}/{given()}/mcp"},
        "user": {"url": f"http://someone:{given()}@127.0.0.1:9/mcp"},
        "sse": {"type": "sse", "url": f"{NOWHERE}/sse?x={given()}", "headers": {"X-Custom": long(given())}},
        "socket": {"type": "ws", "url": f"ws://127.0.0.1:9/{given()}"},
        "login": {"url": NOWHERE, "oauth": {"clientId": "me", "clientSecret": given()}},
        "letters": {"url": NOWHERE, "headers": {"X-Bad": f"line\nbreak {given()}"}},
    }


def write_servers(program: Program, servers: Mapping[str, Any]) -> list[str]:
    path = program.base / "config/agentcli/mcp.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}))
    return []


def write_hooks(program: Program, given: Token) -> list[str]:
    """Hooks that fail, each in its own way."""
    commands = {
        "SessionStart": [f"no-such-program {given()}", f"false --key {long(given())}", f"exit 1 # {given()}"],
        "UserPromptSubmit": [f"kill -9 $$; {given()}"],
        "PreToolUse": [f"echo '{{broken' && true {given()}", f"X_KEY={given()} false"],
        "PostToolUse": [f"false '{json.dumps({'key': given()})}'"],
        "Stop": [f"false --header 'Authorization: Bearer {long(given())}'"],
        "SessionEnd": [f'false "{given()}"'],
    }
    hooks = {
        event: [{"matcher": "", "hooks": [{"type": "command", "command": one} for one in each]}]
        for event, each in commands.items()
    }
    path = program.base / "config/agentcli/hooks.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": hooks}))
    return []


def write_settings(program: Program, given: Token) -> list[str]:
    """Settings of the wrong kind, variables, arguments."""
    program.config(
        f'[providers.mine]\nkind = "anthropic"\nbase_url = "{NOWHERE}/{given()}"\napi_key_env = "MINE"\n'
        f'[providers.mine.headers]\nX-Custom = "{given()}"\n[unknown]\nkey = "{given()}"\n'
    )
    program.more = {
        "MINE": given(),
        "ANTHROPIC_CUSTOM_HEADERS": f"X-Gate: {given()}",
        "SOME_VALUE": given(),
        "AGENTCLI_UNKNOWN__KEY": given(),
    }
    server = json.dumps({"mcpServers": {"flag": {"command": "false", "args": [given()]}}})
    return [
        *("--mcp-config", server),
        *("--append-system-prompt", given()),
        *("--allow", f"bash(curl -H {given()} *)"),
    ]


SCENES: Mapping[str, Callable[[Program, Token], list[str]]] = {
    "servers": lambda program, given: write_servers(program, stdio(given)),
    "addresses": lambda program, given: write_servers(program, remote(given)),
    "hooks": write_hooks,
    "settings": write_settings,
}


def written(program: Program) -> Iterator[str]:
    """The texts of all logs."""
    for path in (program.base / "state").rglob("*"):
        if path.is_file():
            yield path.read_text(errors="replace")


@pytest.mark.parametrize("scene", first(1, SCENES))
def test_no_value_of_a_server_a_hook_or_a_setting_is_shown(program: Program, scene: str) -> None:
    tokens: list[str] = []

    def given() -> str:
        tokens.append(secrets.token_urlsafe(12).strip("-_") + "w7")
        return tokens[-1]

    (program.work / "readme").write_text("x")
    arguments = SCENES[scene](program, given)
    replies = program.base / "script.json"
    replies.write_text(json.dumps({"replies": [LS, {"text": "done"}]}))
    ran = program.ask("-m", f"script:{replies}", "--mode", "yolo", *arguments, "-p", "go")
    assert ran.code == 0, ran.err
    shown = "\n".join((ran.out, ran.err, *written(program)))
    assert [line for line in shown.splitlines() for token in tokens if token in line] == []
    assert len(tokens) >= 8
