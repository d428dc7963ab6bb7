"""Replay of commands of real models through the permissions: how often a person is asked, and whether anything dangerous is not.

`python -m tests.bench.approvals` prints the figures of a recorded session (`../shared/data/real-session.jsonl` beside the checkout, where
that exists) and of the commands in `approvals.txt`.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from agentcli.core.message import ToolCall
from agentcli.permissions.decide import Decision, decide
from agentcli.permissions.paths import UndoCover, Workspace
from agentcli.permissions.rules import Rules, parse_rules
from agentcli.tools.registry import TRAITS
from tests.permissions.corpus import commands_of

HERE = Path(__file__).parent
SESSION = HERE.parents[1].parent / "shared/data/real-session.jsonl"
OWN = HERE / "approvals.txt"
DANGEROUS = HERE / "dangerous.txt"


@dataclass(slots=True)
class Count:
    """Questions of a replay: the commands that were asked about, of how many."""

    of: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The share that was asked about, 0 to 1."""
        return len(self.asked) / max(1, self.of)


@dataclass(frozen=True, slots=True)
class Recording:
    """Commands of one session, with the folder that they name as theirs, and the files that the session named."""

    folder: str
    commands: tuple[str, ...]
    files: tuple[str, ...] = ()


@cache
def recorded() -> Recording:
    """The recorded session. Raises FileNotFoundError where it is not there."""
    entries = [json.loads(line) for line in SESSION.read_text(encoding="utf-8").splitlines()]
    folder = next(entry["cwd"] for entry in entries if entry["type"] == "session")
    calls = [part for entry in entries if entry["type"] == "message" for part in _calls(entry["message"])]
    commands = tuple(call["arguments"].get("command", "") for call in calls if call["name"] == "bash")
    named = [str(call["arguments"].get("path", "")) for call in calls if call["name"] in ("read", "edit", "write")]
    texts = [path for command in commands for path in re.findall(r"packages/[\w./-]+\.\w+", command)]
    return Recording(
        folder, commands, tuple(dict.fromkeys([*(name.removeprefix(folder + "/") for name in named), *texts]))
    )


def own() -> Recording:
    """The commands of this file's own invention, of the kinds that models use."""
    return Recording(
        "/home/me/shop", tuple(commands_of(OWN)), ("src/cart.py", "src/price.ts", "tests/test_cart.py", "package.json")
    )


def workspace_for(recording: Recording, top: Path) -> Workspace:
    """A workspace in which the session could have happened: a repository, the files that it names, installed tools."""
    work, home = top / "work", top / "home"
    for folder in (work / ".git/objects", work / ".git/refs", work / ".git/hooks", work / "node_modules/.bin", home):
        folder.mkdir(parents=True)
    (work / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (work / ".git/config").write_text("[core]\n\tbare = false\n")
    for tool in ("tsgo", "tsx", "tsc", "vitest", "eslint", "prettier"):
        (work / "node_modules/.bin" / tool).write_text("#!/bin/sh\n")
    for name in recording.files:
        if name and not name.startswith(("/", "..")):
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text("text\n")
    cover = UndoCover(1_000_000, 20_000, frozenset({"node_modules", ".git"}))
    return Workspace(work, (work,), home, sandboxed=True, records=True, undo=cover, path="/usr/local/bin:/usr/bin:/bin")


def decided(command: str, rules: Rules, mode: str, workspace: Workspace) -> Decision:
    """The decision about a command."""
    return decide(ToolCall("c", "bash", {"command": command}), TRAITS, rules, mode, workspace)  # type: ignore[arg-type]


def in_auto(recording: Recording, workspace: Workspace) -> Count:
    """The questions in mode auto."""
    count = Count()
    for command in _moved(recording, workspace):
        count.of += 1
        decision = decided(command, Rules(), "auto", workspace)
        if decision.decision != "allow":
            count.asked.append((command, decision.why))
    return count


def with_widest_always(recording: Recording, workspace: Workspace) -> tuple[Count, Rules]:
    """The questions in mode ask to a person who always takes the widest "always" offered, and the rules in the end."""
    count, rules = Count(), Rules()
    for command in _moved(recording, workspace):
        count.of += 1
        decision = decided(command, rules, "ask", workspace)
        if decision.decision != "allow":
            count.asked.append((command, decision.why))
            widest = decision.prefixes or ((decision.always,) if decision.always else (decision.session,))
            rules += parse_rules(allow=filter(None, widest), origin="session")
    return count, rules


READS = re.compile(
    r"^(?:cd [^&|;]+&& )?(?:ls|cat|head|tail|wc|grep|rg|find|git (?:status|log|diff|show)|echo|for f in [^;]+; do (?:wc|head|grep) [^;]*; done)\b[^>]*$"
)
"""Commands that a person would say only read; those with actions are left out by hand."""


def needless(count: Count) -> list[str]:
    """The questions about commands that only read."""
    return [
        command
        for command, _ in count.asked
        if READS.match(command) and not re.search(r"-exec|-delete|\b(?:sed|rm|mv|cp|node|tee)\b|\$\(", command)
    ]


def unasked(rules: Rules, mode: str, workspace: Workspace) -> list[str]:
    """The dangerous commands that would run unasked."""
    return [
        command for command in commands_of(DANGEROUS) if decided(command, rules, mode, workspace).decision == "allow"
    ]


def _moved(recording: Recording, workspace: Workspace) -> Iterable[str]:
    return (command.replace(recording.folder, str(workspace.cwd)) for command in recording.commands)


def _calls(message: dict[str, object]) -> Sequence[dict[str, object]]:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return [part for part in parts if message.get("role") == "assistant" and part.get("type") == "toolCall"]


def figures(recording: Recording) -> list[str]:
    """The figures of one recording, a line each, with the commands that were asked about."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = workspace_for(recording, Path(folder))
        auto = in_auto(recording, workspace)
        asked, rules = with_widest_always(recording, replace(workspace, sandboxed=False))
        lines = [f"auto: asked {len(auto.asked)} of {auto.of} ({auto.share:.1%})"]
        lines += [f"    {command[:150]!r}: {why}" for command, why in auto.asked]
        lines += [f"ask, widest always: asked {len(asked.asked)} of {asked.of} ({asked.share:.1%})"]
        lines += [f"    {command[:150]!r}: {why}" for command, why in asked.asked]
        lines += [f"needless: {len(needless(asked))}", *(f"    {command[:150]!r}" for command in needless(asked))]
        for mode, held in (("ask", rules), ("auto", Rules())):
            lines += [f"dangerous ones unasked in {mode}: {unasked(held, mode, workspace)}"]
        return lines


if __name__ == "__main__":
    for chosen in ([recorded()] if SESSION.exists() else []) + [own()]:
        print("\n".join(figures(chosen)))
