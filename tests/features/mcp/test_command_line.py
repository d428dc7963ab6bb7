"""`agentcli mcp`: servers added, listed, tried and removed from the command line; `/mcp` is beside it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.errors import InputError, UsageError
from agentcli.features.mcp.commands import server_rows
from agentcli.frontends.cli.parser import invoke
from agentcli.frontends.opening import program_of
from agentcli.program.options import Options
from agentcli.program.project import TRUSTED
from agentcli.program.trust import trust
from tests.features.mcp.running import FAKE


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def written(file: Path) -> Any:
    return json.loads(file.read_text())["mcpServers"]


def test_a_server_that_replaces_another_is_said_to(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command, said in (("one", "Added git to "), ("two", "Replaced git in ")):
        assert invoke(["mcp", "add", "git", "--", command]) == 0
        assert capsys.readouterr().out.startswith(said)


def test_an_option_of_the_command_without_dashes_before_it_is_explained(project: Path) -> None:
    with pytest.raises(
        UsageError, match=r"^No such option: --repo\. Options of the server's command come after --\. See"
    ):
        invoke(["mcp", "add", "git", "mcp-server-git", "--repo", "."])
    with pytest.raises(UsageError, match=r"^No such option: --scop\. Did you mean --scope\? See"):
        invoke(["mcp", "add", "git", "--scop", "user", "mcp-server-git"])


def test_a_server_is_added_listed_and_removed(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "CONFIG/agentcli/mcp.json"
    assert invoke(["mcp", "add", "git", "-e", "A=b", "--", "mcp-server-git", "--repository", "."]) == 0
    assert written(file) == {
        "git": {"type": "stdio", "command": "mcp-server-git", "args": ["--repository", "."], "env": {"A": "b"}}
    }
    assert invoke(["mcp", "add", "docs", "https://docs.example.org/mcp", "-t", "sse", "-H", "Key: ${KEY}"]) == 0
    assert invoke(["mcp", "add", "--scope", "project", "ours", "--", "run-it"]) == 0
    assert written(project / ".mcp.json") == {"ours": {"type": "stdio", "command": "run-it", "args": []}}
    capsys.readouterr()
    assert invoke(["mcp", "list", "--json", "--trust"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert [rows[name]["scope"] for name in ("docs", "git", "ours")] == ["user", "user", "project"]
    assert rows["docs"]["type"] == "sse"
    assert invoke(["mcp", "get", "ours", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "name": "ours",
        "source": ".mcp.json",
        "scope": "project",
        "definition": {"type": "stdio", "command": "run-it", "args": []},
    }
    assert invoke(["mcp", "remove", "git"]) == 0
    assert list(written(file)) == ["docs"]
    with pytest.raises(InputError, match="Unknown server 'git'"):
        invoke(["mcp", "remove", "git"])


def test_a_list_says_what_is_known_without_a_connection_and_names_files_from_home_on(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert invoke(["mcp", "add", "docs", "http://127.0.0.1:9/mcp"]) == 0
    assert capsys.readouterr().out.startswith("Added docs to ~/CONFIG/agentcli/mcp.json.")
    (project / ".mcp.json").write_text(
        '{"mcpServers": {"off": {"command": "x", "disabled": true}, "new": {"command": "y"}}}'
    )
    trust(project, tmp_path / "STATE/agentcli" / TRUSTED)
    assert invoke(["mcp", "list"]) == 0
    head, *rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert head[-2:] == ["from", "state"]
    assert [(row[0], row[3], " ".join(row[4:])) for row in rows] == [
        ("docs", "~/CONFIG/agentcli/mcp.json", "enabled"), ("new", ".mcp.json", "not approved"), ("off", ".mcp.json", "disabled")
    ]  # fmt: skip
    assert invoke(["mcp", "get", "docs"]) == 0
    assert capsys.readouterr().out.startswith("docs of ~/CONFIG/agentcli/mcp.json:\n")
    assert invoke(["mcp", "remove", "docs"]) == 0
    assert capsys.readouterr().out == "Removed docs from ~/CONFIG/agentcli/mcp.json.\n"


def test_servers_of_a_folder_that_is_not_trusted_are_named_and_not_denied(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["mcp", "list"]) == 0
    assert "No MCP servers. See `agentcli help mcp`." in capsys.readouterr().out
    assert invoke(["mcp", "add", "--scope", "project", "ours", "--", "run-it"]) == 0
    capsys.readouterr()
    assert invoke(["mcp", "list"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "this folder is not trusted: .mcp.json (servers: ours)" in err
    with pytest.raises(InputError, match="Unknown server 'ours'"):
        invoke(["mcp", "test", "ours"])
    assert "servers: ours" in capsys.readouterr().err


def test_what_makes_no_sense_is_not_added(project: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match='needs "command" or "url"'):
        invoke(["mcp", "add-json", "x", "{}"])
    with pytest.raises(UsageError, match="KEY=VALUE"):
        invoke(["mcp", "add", "x", "-e", "novalue", "--", "y"])
    with pytest.raises(UsageError, match="not a URL"):
        invoke(["mcp", "add", "x", "-H", "A: b", "--", "y"])
    with pytest.raises(InputError, match="1 to 40 letters"):
        invoke(["mcp", "add", "a b", "--", "y"])
    assert not (tmp_path / "CONFIG/agentcli/mcp.json").exists()


def test_a_project_gets_its_file_and_nothing_else_and_none_outside_of_it(project: Path, tmp_path: Path) -> None:
    assert invoke(["mcp", "add", "--scope", "project", "x", "--", "y"]) == 0
    assert sorted(path.name for path in project.iterdir()) == [".git", ".mcp.json"]
    outside = tmp_path / "outside.json"
    outside.write_text('{"mcpServers": {}}')
    (project / ".mcp.json").unlink()
    (project / ".mcp.json").symlink_to(outside)
    for words in (["add", "--scope", "project", "x", "--", "y"], ["remove", "--scope", "project", "x"]):
        with pytest.raises(InputError, match="leads out of the repository"):
            invoke(["mcp", *words])
    assert outside.read_text() == '{"mcpServers": {}}'


def test_other_contents_of_a_file_stay_and_a_broken_one_is_left_alone(project: Path) -> None:
    (project / ".mcp.json").write_text('{"other": 1}')
    assert invoke(["mcp", "add", "--scope", "project", "x", "--", "y"]) == 0
    assert json.loads((project / ".mcp.json").read_text())["other"] == 1
    (project / ".mcp.json").write_text("{broken")
    with pytest.raises(Exception, match="was not changed"):
        invoke(["mcp", "add", "--scope", "project", "x", "--", "y"])
    assert (project / ".mcp.json").read_text() == "{broken"


def test_a_server_is_tried(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["mcp", "add", "fake", "--", sys.executable, "-I", "-S", str(FAKE)]) == 0
    capsys.readouterr()
    assert invoke(["mcp", "test", "fake"]) == 0
    assert "mcp__fake__echo  Say a text again." in capsys.readouterr().out
    assert invoke(["mcp", "add", "gone", "--", "no-such-program"]) == 0
    assert invoke(["mcp", "test", "gone"]) == 1
    assert "failed: no-such-program was not found" in capsys.readouterr().out


def test_the_check_up_names_each_server_and_what_is_wrong_with_it(project: Path) -> None:
    given = {
        "fine": {"command": sys.executable},
        "gone": {"command": "no-such-program"},
        "unset": {"url": "https://example.org", "headers": {"A": "${NO_SUCH_VARIABLE}"}},
    }
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {**given, "bad": {"comand": "x"}}}))
    program = program_of(Options(trust=True), dict(os.environ))
    rows = {what: (ok, detail) for what, ok, detail in server_rows(program)}
    assert rows["server fine"][0]
    assert rows["server gone"] == (False, ".mcp.json: no-such-program was not found")
    assert rows["server unset"] == (False, ".mcp.json: it needs $NO_SUCH_VARIABLE, which is not set")
    assert "servers" in rows
