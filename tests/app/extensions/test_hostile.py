"""Hostile versions of each kind of file: a named warning, and everything else as before."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agentcli.app.doctor import examine
from agentcli.app.options import Options
from agentcli.app.program import Program

HUGE = 10_000_000
ESCAPES = "\x1b]0;owned\x07\x1b[2J"
KINDS = {
    "hooks": ".claude/settings.json",
    "own hooks": ".agentcli/hooks.json",
    "skill": ".claude/skills/bad/SKILL.md",
    "command": ".claude/commands/bad.md",
    "toml command": ".gemini/commands/bad.toml",
    "agent": ".claude/agents/bad.md",
    "instructions": "AGENTS.md",
    "servers": ".mcp.json",
}
GOOD = {
    ".agents/skills/good/SKILL.md": "---\nname: good\ndescription: Good.\n---\nGood.",
    ".agentcli/commands/good.md": "Good.",
    ".agentcli/agents/good.md": "---\nname: good\ndescription: Good.\n---\nGood.",
    ".claude/settings.local.json": json.dumps(
        {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}
    ),
}


def huge(file: Path, _: Path) -> None:
    file.write_text("x" * HUGE)


def pipe(file: Path, _: Path) -> None:
    os.mkfifo(file)


def link_out(file: Path, outside: Path) -> None:
    file.symlink_to(outside)


def cycle(file: Path, _: Path) -> None:
    file.symlink_to(file.name)


def folder(file: Path, _: Path) -> None:
    file.mkdir()


def binary(file: Path, _: Path) -> None:
    file.write_bytes(b"\0\xff\xfe" * 100)


def broken(file: Path, _: Path) -> None:
    file.write_text(
        f'---\ndescription: "{ESCAPES}\n---\n{{"hooks": [{ESCAPES}' if file.suffix != ".toml" else f"prompt = {ESCAPES}"
    )


QUIET = {
    # No damage, and nothing to warn about: a text of any bytes is a text, a folder is no file.
    ("instructions", "binary"), ("instructions", "broken"), ("instructions", "folder"), ("command", "broken"), ("skill", "broken"),
    ("hooks", "folder"), ("own hooks", "folder"), ("servers", "folder"),
    *((kind, "folder") for kind in ("skill", "command", "toml command", "agent")),
}  # fmt: skip


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "work/.git").mkdir(parents=True)
    return tmp_path / "work"


@pytest.mark.parametrize("harm", [huge, pipe, link_out, cycle, folder, binary, broken])
def test_hostile_files_are_named_and_harm_nothing_else(harm: Callable[[Path, Path], None], work: Path) -> None:
    for name, text in GOOD.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    outside = work.parent / "outside"
    outside.write_text("---\nname: bad\ndescription: xyzzy\n---\nxyzzy")
    for name in KINDS.values():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        harm(work / name, outside)
    program = Program(Options(model="script:echo", cwd=str(work), trust=True))
    session = program.sessions.new()
    rows = [finding.line for finding in examine(program)]
    told = [*session.notes, *(row for row in rows if not row.startswith("ok ")), *session.standing.notes]
    sent = session.standing.text + "".join(session.conversation.builder.system)
    session.close()
    assert "\x1b" not in "".join((*told, *rows))
    assert "xyzzy" not in "".join((*told, *rows, sent))
    for name in ("skill good", "command /good", "agent good", "hook true"):
        assert any(row.startswith(f"ok    {name}") for row in rows), name
    for kind, name in KINDS.items():
        files = (name, f"SKILL.md in {(work / name).parent}") if kind == "skill" else (name,)
        named = any(file in line for line in told for file in files)
        assert named or (kind, harm.__name__) in QUIET, kind


def test_names_of_our_own_are_not_taken_over(work: Path) -> None:
    head = "---\nname: {}\ndescription: Mine.\n---\nMine."
    for file, name in (("skills/model", "model"), ("commands/help", "help"), ("agents/general", "general")):
        path = work / ".claude" / (f"{file}/SKILL.md" if file.startswith("skills") else f"{file}.md")
        path.parent.mkdir(parents=True)
        path.write_text(head.format(name))
    told = [found.line for found in examine(Program(Options(model="script:echo", cwd=str(work), trust=True)))]
    warned = [line for line in told if line.startswith("warn")]
    assert any("/help: agentcli has a command /help of its own; call this one /project:help" in line for line in warned)
    assert any("/model" in line for line in warned)
    assert any("general" in line for line in warned)
