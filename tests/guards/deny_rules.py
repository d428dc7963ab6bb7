"""Deny rules about reading: no command shows a denied file, and commands of a day's work run.

Stopped: the call is denied, the file is hidden from it, or it is left out of what git shows. Hindered: a command is decided about
more strictly than without the rules.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.permissions.decide import Decision, decide
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules, in_own_names, parse_rules
from agentcli.tools.registry import TRAITS
from tests.guards import Figures, material

FILES = (".envrc", ".env", ".env.local", ".env.example", "secrets/key.txt", "server.pem", "src/app.py", "README.md")
_STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}


def figures() -> Iterator[Figures]:
    """Measure ways to read a file under all rules, and recorded commands under the rules of each file."""
    found = material("deny_rules")
    with tempfile.TemporaryDirectory() as folder:
        workspace = made(Path(folder))
        every = rules_of([rule for rules in found["rules"] for rule in rules])
        tries = [
            (each.replace("{file}", file), file) for each in found["bad"] for file in (".envrc", "secrets/key.txt")
        ]
        stopped = [each for each in tries if _stopped(*each, every, workspace)]
        yield Figures(
            "a denied file, read by a program", len(stopped), len(tries), 0, 0,
            "ways to read a file of GTFOBins/GTFOBins.github.io, other names in them made up, for two tracked files",
        )  # fmt: skip
        free = {command: _decided(command, Rules(), "ask", workspace).decision for command in found["good"]}
        for which, rules in (("all settings files", every), ("one settings file", rules_of(found["rules"][-1]))):
            judged = {command: _decided(command, rules, "ask", workspace).decision for command in free}
            hindered = [command for command in free if _STRICTNESS[judged[command]] > _STRICTNESS[free[command]]]
            yield Figures(
                f"commands with git, rules of {which}", 0, 0, len(hindered), len(free),
                "commands of recorded agent sessions of two public repositories, every own word replaced; one form was found with them and cured",
            )  # fmt: skip


def made(folder: Path) -> Workspace:
    """A repository that tracks all files, with a sandbox that can hide some."""
    work = folder.resolve() / "work"
    for name in FILES:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(f"{name}\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull}
    for words in (["init", "-qb", "main"], ["add", "-A"], ["commit", "-qm", "first"]):
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
        subprocess.run(git, cwd=work, env=env, check=True, capture_output=True)
    return Workspace(work, (work,), folder / "home", sandboxed=True, masks=True)


def rules_of(texts: Sequence[str]) -> Rules:
    """The deny rules of a settings file, in our names."""
    return in_own_names(parse_rules(deny=texts), TRAITS)


def _decided(command: str, rules: Rules, mode: Mode, workspace: Workspace) -> Decision:
    return decide(ToolCall("c", "bash", {"command": command}), TRAITS, rules, mode, workspace)


def _stopped(command: str, file: str, rules: Rules, workspace: Workspace) -> bool:
    decision = _decided(command, rules, "yolo", workspace)
    hidden = any((workspace.cwd / file).is_relative_to(path) for path in decision.hidden.paths)
    return decision.decision == "deny" or hidden or bool(decision.left_out)
