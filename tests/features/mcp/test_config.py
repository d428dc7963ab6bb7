"""Definitions of servers in the forms that other programs write, and names of their tools."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.mcp_servers import effective
from agentcli.core.message import ToolCall
from agentcli.features.mcp.config import CALL_TIMEOUT, FILE_BYTES, definition, parsed, project_definitions
from agentcli.features.mcp.names import tool_name
from agentcli.features.mcp.variables import MissingVariable, expanded, variables
from agentcli.permissions.rules import parse_rule
from agentcli.system.regular_file import version
from tests.tables import each_row


def one(given: Any, name: str = "x") -> Any:
    return definition(name, given, "f").servers[name]


def problems(given: Any, name: str = "x") -> str:
    return " ".join(definition(name, given, ".mcp.json").problems)


@each_row(
    ("given", "kind", "target"),
    [
        ({"type": "stdio", "command": "uvx", "args": ["a"]}, "stdio", "uvx a"),
        ({"command": "uvx"}, "stdio", "uvx"),
        ({"type": "http", "url": "https://a"}, "http", "https://a"),
        ({"type": "streamable-http", "url": "https://a"}, "http", "https://a"),
        ({"type": "sse", "url": "https://a"}, "sse", "https://a"),
        ({"url": "https://a"}, "http", "https://a"),
        ({"httpUrl": "https://a"}, "http", "https://a"),
    ],
)
def test_each_form_of_a_definition_is_taken(given: Any, kind: str, target: str) -> None:
    assert (one(given).transport.name, one(given).target) == (kind, target)


@each_row(("written", "seconds"), [(60, 60), (999, 999), (60_000, 60), (0, 120), (-5, 120)])
def test_times_below_a_thousand_are_seconds_and_others_milliseconds(written: int, seconds: float) -> None:
    assert one({"command": "a", "timeout": written}).timeout == seconds


def test_what_is_wrong_with_a_definition_is_said() -> None:
    assert problems({}) == 'Server x in .mcp.json needs "command" or "url".'
    assert problems({"type": "http", "command": "a"}) == 'Server x in .mcp.json needs "url".'
    assert "must be stdio, http or sse" in problems({"type": "carrier-pigeon", "command": "a"})
    assert problems({"comand": "a", "url": "https://a"}) == (
        'Unknown field "comand" of server x is ignored. Did you mean command?'
    )
    assert problems({"command": "a", "args": "b"}) == 'Server x in .mcp.json: "args" must be a list; it is ignored.'
    assert "allow its tools with a permission rule such as mcp__x" in problems({"command": "a", "trust": True})
    assert "1 to 40 letters" in problems({"command": "a"}, "a\x1b[31m")
    assert "must be an object" in problems(["a"])
    assert parsed("{", "f").problems == (
        "f line 1: expected property name enclosed in double quotes — its servers are left out.",
    )
    assert parsed('{"servers": {"a": {"command": "x"}}}', "f").problems == (
        'f has no "mcpServers": put its servers below that key. None is read.',
    )
    assert parsed('{"$schema": "x"}', "f").problems == ()
    assert parsed('{"mcpServers": []}', "f").problems == (
        'f: "mcpServers" must be an object — its servers are left out.',
    )
    assert parsed("[" * 100_000, "f").problems


def test_variables_are_filled_in_and_a_missing_one_is_named() -> None:
    server = one({"command": "${HOME}/run", "args": ["${A:-b}"], "env": {"K": "${KEY}"}})
    filled = expanded(server, {"HOME": "/h", "KEY": "k"})
    assert (filled.command, filled.args, filled.env) == ("/h/run", ("b",), {"K": "k"})
    assert variables(server) == ["A", "HOME", "KEY"]
    with pytest.raises(MissingVariable, match=r"\$KEY"):
        expanded(server, {"HOME": "/h"})


def test_a_variable_that_is_set_and_empty_is_a_value_as_for_claude_code() -> None:
    server = one({"command": "x", "args": ["${EMPTY}", "${EMPTY:-b}", "${NONE:-}", "${NONE:-b}"]})
    assert expanded(server, {"EMPTY": ""}).args == ("", "", "", "b")


def test_the_settings_of_gemini_are_read_as_gemini_reads_them(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gemini").mkdir()
    lines = [
        "{ // settings",
        '  "mcpServers": { /* two',
        "    lines */",
        '    "v": {"command": "x", "args": ["$FULL|", "$NONE|", "a$FULL-b", "${FULL}", "${FULL:-$NONE}", "$1", "http://x"],',
        '      "env": {"KEY": "$FULL"}}',
        "  }",
        "}",
    ]
    file = tmp_path / ".gemini/settings.json"
    file.write_text("\n".join(lines))
    filled = expanded(project_definitions(tmp_path).servers["v"], {"FULL": "full"})
    assert filled.args == ("full|", "$NONE|", "afull-b", "full", "full", "$1", "http://x")
    assert filled.env == {"KEY": "full"}
    file.write_text("\n".join(line for line in lines if "env" not in line))
    assert project_definitions(tmp_path).problems == (
        ".gemini/settings.json line 6: expected ',' — its servers are left out.",
    )
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"c": {"command": "x", "args": ["$FULL"]}}}')
    assert expanded(project_definitions(tmp_path).servers["c"], {"FULL": "full"}).args == ("$FULL",)


def test_what_is_approved_shows_all_that_is_started() -> None:
    server = one({"command": "a", "args": ["b"], "env": {"LD_PRELOAD": "evil.so"}, "cwd": "sub"})
    assert server.starts == "a b; in sub; LD_PRELOAD=evil.so"
    parted = one({"command": "a", "args": ["b c", "", "x; in /tmp", "${HOME}/d"], "env": {"A": "b; C=d"}})
    assert parted.starts == "a 'b c' '' 'x; in /tmp' ${HOME}/d; A='b; C=d'"


def test_files_of_a_stranger_give_a_warning_and_nothing_else(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside.json", tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    outside.write_text('{"mcpServers": {"a": {"command": "a"}}}')
    (folder / ".mcp.json").symlink_to(outside)
    (folder / ".agentcli").mkdir()
    (folder / ".agentcli/mcp.json").write_text(" " * (FILE_BYTES + 1))
    (folder / ".gemini").mkdir()
    (folder / ".gemini/settings.json").write_bytes(b"\xff\xfe\x00")
    found = project_definitions(folder)
    assert not found.servers
    assert len(found.problems) == 3
    assert any("leads out of the repository" in problem for problem in found.problems)


def test_names_are_unique_stable_and_fit_for_every_provider() -> None:
    assert tool_name("git", "status") == "mcp__git__status"
    long = tool_name("server", "x" * 100)
    assert len(long) == 64
    assert long != tool_name("server", "x" * 101)
    assert tool_name("a", "b.c") != tool_name("a", "b_c")
    assert tool_name("a", "b.c") == tool_name("a", "b.c")
    shadow = tool_name("git__evil", "status")
    assert not parse_rule("mcp__git").is_for(shadow), "a rule about one server matches no other's tools"
    assert parse_rule("mcp__git").is_for("mcp__git__status")
    assert not parse_rule("mcp__git").is_for("mcp__github__status")


def test_a_call_of_the_gate_is_unwrapped_where_it_names_a_tool() -> None:
    def unwrapped(**given: Any) -> ToolCall:
        return effective(ToolCall("c", "mcp_call", given))

    assert unwrapped(tool="mcp__a__b", arguments={"x": 1}).input == {"x": 1}
    assert unwrapped(tool="mcp__a__b", arguments='{"x": 1}').input == {"x": 1}
    assert unwrapped(tool="mcp__a__b").name == "mcp__a__b"
    for given in (
        {"tool": "bash", "arguments": {"command": "id"}},
        {"tool": 5},
        {"tool": "mcp__a__b", "arguments": "no"},
    ):
        assert unwrapped(**given).name == "mcp_call"


def test_variables_stand_for_the_client_of_a_login_which_an_approval_shows() -> None:
    oauth = {"clientId": "${ID}", "clientSecret": "${KEY:-none}", "scopes": "read ${MORE}"}
    (server,) = definition("web", {"url": "https://x/mcp", "oauth": oauth}, "test").servers.values()
    assert variables(server) == ["ID", "KEY", "MORE"]
    found = expanded(server, {"ID": "me", "MORE": "write"}).oauth
    assert (found.client_id, found.client_secret, found.scopes) == ("me", "none", ("read", "write"))
    assert "oauth clientSecret=${KEY:-none}" in server.starts


def test_a_file_of_definitions_is_read_once_until_it_changes(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    file = tmp_path / ".mcp.json"
    file.write_text('{"mcpServers": {"one": {"command": "a"}}}')
    while version(file) != version(file):
        time.sleep(0.01)
    first, again = (project_definitions(tmp_path).servers["one"] for _ in range(2))
    assert first is again
    file.write_text('{"mcpServers": {"one": {"command": "b"}}}')
    assert project_definitions(tmp_path).servers["one"].command == "b"


def test_no_value_of_a_wrong_type_is_more_than_a_named_problem() -> None:
    hostile = {
        "null": None,
        "args": {"command": "x", "args": 5, "env": [1], "timeout": "x", "alwaysLoad": 1, "cwd": []},
        "oauth": {"url": "https://x", "oauth": {"callbackPort": "p", "scopes": 5, "clientId": [], "clientSecret": {}}},
        "port": {"url": "https://x", "oauth": {"callbackPort": 10**30}},
        "time": {"command": "x", "timeout": 1e999, "startupTimeout": -1},
        "": {"command": "x"},
        "x\x1b[2J": {"command": "x"},
        "kind": {"type": "\x1b[2J"},
        "field": {"command": "x", "\x1b]0;owned\x07": 1},
        "x" * 41: {"command": "x"},
    }
    found = parsed(json.dumps({"mcpServers": hostile}), ".mcp.json", "project")
    assert sorted(found.servers) == ["args", "field", "oauth", "port", "time"]
    assert found.servers["time"].timeout == CALL_TIMEOUT
    assert found.servers["port"].oauth.callback_port == 0
    assert not any("\x1b" in problem or "\x07" in problem for problem in found.problems)
    named = "\n".join(found.problems)
    for text in (
        'oauth: "scopes" must be a text or a list',
        "Server null in",
        '"args" must be a list',
        "Unknown field",
    ):
        assert text in named


@each_row(
    ("text", "why"),
    [
        ("[" * 100_000, "nested too deeply"),
        (f'{{"mcpServers": {{"a": {"9" * 5_000}}}}}', "not usable JSON"),
        ('{"mcpServers": []}', '"mcpServers" must be an object'),
        ('{"mcpServers": {"a": {"command": "x"}', "line 1: "),
    ],
)
def test_a_hostile_file_is_one_named_problem(text: str, why: str) -> None:
    (problem,) = parsed(text, ".mcp.json", "project").problems
    assert why in problem
    assert problem.endswith("its servers are left out.")


@each_row(
    ("kind", "why"),
    [
        ("large", "larger than"),
        ("out", "leads out"),
        ("cycle", "leads out"),
        ("pipe", "not a regular file"),
        ("folder", "not a regular file"),
    ],
)
def test_a_hostile_entry_in_place_of_a_file_is_one_named_problem(tmp_path: Path, kind: str, why: str) -> None:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    file, outside = folder / ".mcp.json", tmp_path / "outside"
    match kind:
        case "large":
            file.write_text(" " * (FILE_BYTES + 1))
        case "out":
            outside.write_text('{"mcpServers": {"a": {"command": "x"}}}')
            file.symlink_to(outside)
        case "cycle":
            file.symlink_to(file)
        case "pipe":
            os.mkfifo(file)
        case _:
            file.mkdir()
    found = project_definitions(folder)
    assert not found.servers
    (problem,) = found.problems
    assert why in problem
    assert problem.startswith(".mcp.json")
