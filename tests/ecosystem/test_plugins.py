"""Plugins that others have made or generate, and what their own validator says of a manifest."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.program import Program
from tests.ecosystem.software import npm_packages, repository

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(900)]
TEMPLATES = ("custom-commands", "exclude-tools", "hooks", "mcp-server", "skills")


@pytest.fixture(scope="module")
def bin_(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return npm_packages(tmp_path_factory.mktemp("npm"), "@anthropic-ai/claude-code", "@google/gemini-cli")


def ask(program: Program, *replies: object) -> list[dict[str, object]]:
    path = program.base / "script.json"
    path.write_text(json.dumps({"replies": [*replies, {"text": "done"}]}))
    return program.ask("-m", f"script:{path}", "--mode", "yolo", "-p", "go").lines


def bash(command: str) -> dict[str, object]:
    return {"calls": [{"name": "bash", "input": {"command": command}}]}


def test_the_hooks_of_an_added_plugin_fire_with_its_folder(program: Program, tmp_path: Path) -> None:
    plugins = repository("anthropics/claude-code", tmp_path / "repositories") / "plugins"
    assert program.run("plugins", "add", str(plugins / "hookify"), "--yes").code == 0
    rules = program.work / ".claude"
    rules.mkdir()
    example = plugins / "hookify/examples/dangerous-rm.local.md"
    (rules / "hookify.rm.local.md").write_text(example.read_text())
    results = [
        line for line in ask(program, bash("rm -rf /tmp/nothing/here"), bash("echo x")) if line["type"] == "tool_result"
    ]
    assert [one["status"] for one in results] == ["denied", "success"]


def test_extensions_that_gemini_generates_load_and_their_server_answers(program: Program, bin_: Path) -> None:
    env = {**program.env, "PATH": f"{bin_}:{os.environ['PATH']}"}
    for template in TEMPLATES:
        command = [bin_ / "gemini", "extensions", "new", program.base / template, template]
        subprocess.run(command, check=True, capture_output=True, env=env, timeout=120)
        if template == "mcp-server":
            subprocess.run(
                ["npm", "install", "--no-audit", "--no-fund"], check=True, cwd=program.base / template, timeout=240
            )
        assert program.run("plugins", "add", str(program.base / template), "--yes").code == 0
    search = {"calls": [{"name": "mcp_search", "input": {"query": "fetch posts"}}]}
    lines = ask(program, search, bash("rm -rf nothing"))
    first, second = [line for line in lines if line["type"] == "tool_result"]
    assert "mcp__nodeServer__fetch_posts" in str(first["output"])
    assert second["status"] == "denied"
    listed = program.run("doctor").out
    assert "skill skills-example:greeter" in listed
    assert "command /custom-commands:fs:grep-code" in listed


@pytest.mark.parametrize(
    "manifest",
    [
        '{"name": "ok"}',
        '{"name": "Upper"}',
        '{"name": "ok", "unknown": 1}',
        '{"version": "1"}',
        '{"name": ',
        "[]",
        '{"name": "a b"}',
    ],
)
def test_a_manifest_is_taken_where_claude_code_takes_it(
    manifest: str, program: Program, bin_: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "plugin"
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / ".claude-plugin/plugin.json").write_text(manifest)
    (folder / "commands").mkdir()
    (folder / "commands/c.md").write_text("---\ndescription: d\n---\nx")
    theirs = subprocess.run(
        [bin_ / "claude", "plugin", "validate", folder], env={**program.env}, capture_output=True, timeout=120
    )
    assert (program.run("plugins", "add", str(folder), "--yes").code == 0) == (theirs.returncode == 0)


@pytest.mark.parametrize("market", ["anthropics/claude-plugins-official", "anthropics/skills", "wshobson/agents"])
def test_every_plugin_that_lies_in_a_public_marketplace_is_added_by_its_name(
    market: str, program: Program, tmp_path: Path
) -> None:
    folder = repository(market, tmp_path / "repositories")
    listed = json.loads((folder / ".claude-plugin/marketplace.json").read_text())["plugins"]
    inside = [entry["name"] for entry in listed if isinstance(entry["source"], str)]
    assert len(inside) >= 3
    for name in inside:
        added = program.run("plugins", "add", f"{folder}#{name}", "--yes")
        assert (added.code, "tokens in each request" in added.out) == (0, True), added.err
    found = json.loads(program.run("plugins", "list", "--json").out)
    assert {one["name"]: one["trouble"] for one in found} == dict.fromkeys(inside, "")
    for entry in listed:
        skills = entry.get("skills") if entry["source"] == "./" else None
        if skills:
            shown = program.run("doctor").out
            assert all(f"skill {entry['name']}:{Path(skill).name}" in shown for skill in skills), entry["name"]
