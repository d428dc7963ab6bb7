"""Homes of other agents, such as those in public dotfiles: each is imported, and nothing in it is lost in silence.

`OTHER_HOMES` is a folder of homes, each with a `.claude` or a `.pi/agent`.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Program

pytestmark = pytest.mark.ecosystem
HOMES = sorted(Path(os.environ["OTHER_HOMES"]).iterdir()) if "OTHER_HOMES" in os.environ else []


def settings(home: Path) -> Iterator[tuple[str, str]]:
    """The agent and the key of each setting in a home."""
    for agent, place in (("claude", ".claude/settings.json"), ("pi", ".pi/agent/settings.json")):
        if (file := home / place).exists():
            try:
                found = json.loads(file.read_text())
            except ValueError:
                continue
            yield from ((agent, key) for key in found if not key.startswith("$") and key != "lastChangelogVersion")


def plan(program: Program, agent: str) -> Mapping[str, Any]:
    """What an import would do."""
    ran = program.run("import-config", agent, "--dry-run", "--json")
    assert ran.code == 0, ran.err
    return dict(json.loads(ran.out))


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.name)
def test_a_home_is_imported_once_and_each_setting_works_or_is_named(tmp_path: Path, home: Path) -> None:
    shutil.copytree(home, tmp_path, dirs_exist_ok=True, symlinks=True)
    program = Program(tmp_path)
    for agent in dict.fromkeys(agent for agent, _ in settings(home)):
        before = plan(program, agent)
        said = "\n".join([*before["skipped"], *(f"{step['key']} {step['from']}" for step in before["steps"])])
        known = {"permissions": "", "hooks": "", "env": "variable", "statusLine": "status_command"}
        known |= {"enabledPlugins": "", "effortLevel": "effort", "defaultProvider": "model", "defaultModel": "model"}
        known |= {"defaultThinkingLevel": "", "packages": "", "alwaysThinkingEnabled": "thinking", "editorMode": ""}
        known |= {"preferredNotifChannel": "", "autoCompactEnabled": "", "hideThinkingBlock": "", "mcpServers": ""}
        lost = [key for of, key in settings(home) if of == agent and known.get(key, key) not in said]
        assert not lost
        assert program.run("import-config", agent, "--yes").code == 0
        assert not [step for step in plan(program, agent)["steps"] if step["status"] == "new"]
        assert program.run("doctor", "--from", agent, "--json").code in (0, 1)
    for file in (tmp_path / "config").rglob("*"):
        assert file.is_dir() or file.stat().st_mode & 0o077 == 0
