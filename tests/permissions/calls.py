"""Answers to calls of tools: the file `data/calls.txt` has calls below the answer that they get, in each mode and beside rules.

An answer is the verdict, the reason, and what "always" and "for this session" would save. `python -m tests.permissions.calls` writes each
call below its present answer; read the difference before it is committed.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentcli.core.message import ToolCall
from agentcli.core.record import MODES
from agentcli.core.tool import ToolServer, Traits
from agentcli.permissions.decide import Decision, decide
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules, parse_rules
from agentcli.tools.registry import TRAITS
from tests.permissions.corpus import DATA

FILE = DATA / "calls.txt"
_INDENT = "    "
TOOLS: Mapping[str, Traits] = {
    **TRAITS,
    "mcp__git__push": Traits(server=ToolServer("git")),
    "mcp__git__log": Traits("read", server=ToolServer("git", reads_only=True)),
    "mcp__git__pick": Traits(server=ToolServer("git", interacts=True)),
    "mcp__shadow__x": Traits(server=ToolServer("shadow", shadows=True)),
    "browse": Traits("network"),
    "save": Traits("write"),
    "look": Traits("read"),
}
RULES: Mapping[str, Rules] = {
    "no-rules": Rules(),
    "allow": parse_rules(
        [
            "read(~/notes/*)",
            "edit(src/**)",
            "write(src/**)",
            "web_fetch(domain:a.b)",
            "mcp__git__push",
            "mcp__shadow",
            "save(x*)",
            "browse",
        ]
    ),
    "ask": parse_rules(ask=["read(src/**)", "edit(src/**)", "web_fetch", "mcp__git", "save", "look(x*)"]),
    "deny": parse_rules(
        deny=["read(secrets/**)", "edit(src/**)", "web_fetch(https://a.b/c/*)", "mcp__git__push", "save(x*)", "look"]
    ),
}


def made(top: Path) -> Workspace:
    """A project with files, some of which are protected or lead out, below a home."""
    work, home = top / "home/work", top / "home"
    for name in ("src/a.py", "secrets/key", ".env", ".git/config", "node_modules/x/y.js"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("x\n")
    (home / "notes").mkdir()
    (home / "notes/n").write_text("x\n")
    (home / ".ssh").mkdir()
    (work / "out").symlink_to(home / "notes")
    return Workspace(work, (work,), home, own=(home / ".local/share/agentcli",), path="/nonexistent")


def read() -> Iterator[tuple[str, str]]:
    """Yield each answer of the file with a call that gets it."""
    answer: list[str] = []
    ended = True
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith(_INDENT):
            yield "\n".join(answer), line.removeprefix(_INDENT)
            ended = True
        elif line:
            answer = [line] if ended else [*answer, line]
            ended = False


def answered(call: str, workspace: Workspace) -> str:
    """Return the answers to a call, a line for the modes that give the same one. A call is a tool, the rules in force, and its input."""
    tool, rules, given = call.split(" ", 2)
    found = answers(tool, json.loads(given), rules, workspace)
    return "\n".join(f"{modes}: {answer}" for modes, answer in found.items())


def answers(tool: str, given: Mapping[str, Any], rules: str, workspace: Workspace) -> dict[str, str]:
    """The answer by the modes in which it is given."""
    found: dict[str, list[str]] = {}
    for mode in MODES:
        decision = decide(ToolCall("c", tool, given), TOOLS, RULES[rules], mode, workspace)
        found.setdefault(told(decision, mode, workspace), []).append(mode)
    return {" ".join(modes): answer for answer, modes in found.items()}


def told(decision: Decision, mode: str, workspace: Workspace) -> str:
    parts = [f"{decision.decision} by {decision.rule.replace(f'mode {mode}', 'mode')}: {decision.why}"]
    for name in ("always", "session", "unsaved"):
        if (value := getattr(decision, name)) and value != getattr(decision, "always" if name == "session" else "why"):
            parts.append(f"{name} {value}")
    parts += [f"wider {' '.join(decision.prefixes)}"] if decision.prefixes else []
    parts += [name for name in ("edits", "contained", "records") if getattr(decision, name)]
    parts += [f"hides {' '.join(map(str, decision.hidden.paths))}"] if decision.hidden.paths else []
    text = " | ".join(parts)
    return (
        text.replace(f"{workspace.cwd}/", "").replace(str(workspace.cwd), "WORK").replace(str(workspace.home), "HOME")
    )


def write() -> None:
    """Put each call of the file below its present answer."""
    groups: dict[str, list[str]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as top:
        workspace = made(Path(top).resolve())
        os.environ["HOME"] = str(workspace.home)
        for _, call in read():
            groups[answered(call, workspace)].append(call)
    lines = [line for answer, calls in groups.items() for line in ["", answer, *(f"{_INDENT}{call}" for call in calls)]]
    FILE.write_text("\n".join([*lines[1:], ""]), encoding="utf-8")


if __name__ == "__main__":
    write()
