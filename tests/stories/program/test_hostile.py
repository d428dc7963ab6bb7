"""Hostile versions of each kind of file: a named warning, and everything else as before."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.extras.importers.config.import_run import import_plan, lines
from agentcli.frontends.cli.plugin_contents import contents
from agentcli.frontends.opening import program_of
from agentcli.program.doctor import examine
from agentcli.program.options import Options
from agentcli.program.prompt_files.installed_plugins import Plugins
from agentcli.system.paths import app_dirs

HUGE = 10_000_000
ESCAPES = "\x1b]0;owned\x07\x1b[2J"
KINDS = {
    "hooks": ".claude/settings.json",
    "own hooks": ".agentcli/hooks.json",
    "skill": ".claude/skills/bad/SKILL.md",
    "command": ".claude/commands/bad.md",
    "toml command": ".gemini/commands/bad.toml",
    "agent": ".claude/agents/bad.md",
    "opencode command": ".opencode/commands/bad.md",
    "gemini agent": ".gemini/agents/bad.md",
    "instructions": "AGENTS.md",
    "local instructions": "AGENTS.local.md",
    "import": "docs/bad.md",
    "servers": ".mcp.json",
    "own servers": ".agentcli/mcp.json",
    "servers of gemini": ".gemini/settings.json",
}
PLUGINS = {
    "claude": (".claude-plugin/plugin.json", '{"name": "plug"}', "commands/bad.md"),
    "gemini": ("gemini-extension.json", '{"name": "plug", "version": "1"}', "commands/bad.toml"),
}
"""The manifest of each layout, with one that is good, and the file of a command."""
PARTS = ("hooks/hooks.json", ".mcp.json", "skills/bad/SKILL.md", "agents/bad.md", "GEMINI.md")
SOURCES = {
    "claude": (".claude.json", ".claude/settings.json", ".claude/CLAUDE.md"),
    "gemini": (".gemini/settings.json", ".gemini/GEMINI.md"),
    "codex": (".codex/config.toml", ".codex/hooks.json", ".codex/AGENTS.md", ".codex/prompts/bad.md"),
    "opencode": (".config/opencode/opencode.json", ".config/opencode/AGENTS.md"),
}
"""The files of other programs that import-config reads."""
GOOD = {
    ".agents/skills/good/SKILL.md": "---\nname: good\ndescription: Good.\n---\nGood.",
    ".agentcli/commands/good.md": "Good.",
    ".agentcli/agents/good.md": "---\nname: good\ndescription: Good.\n---\nGood.",
    "CLAUDE.local.md": "Good: @docs/bad.md",
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
    ("command", "broken"), ("opencode command", "broken"), ("skill", "broken"),
    *((kind, harm) for kind in ("instructions", "local instructions", "import") for harm in ("binary", "broken")),
    *((kind, "folder") for kind in KINDS if kind != "import"),
}  # fmt: skip


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "work/.git").mkdir(parents=True)
    return tmp_path / "work"


@pytest.mark.parametrize(
    "harm", [pytest.param(huge, marks=pytest.mark.slow), pipe, link_out, cycle, folder, binary, broken]
)
def test_hostile_files_are_named_and_harm_nothing_else(harm: Callable[[Path, Path], None], work: Path) -> None:
    for name, text in GOOD.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    outside = work.parent / "outside"
    outside.write_text("---\nname: bad\ndescription: xyzzy\n---\nxyzzy")
    for name in KINDS.values():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        harm(work / name, outside)
    program = program_of(Options(model="script:echo", cwd=str(work), trust=True))
    session = program.sessions.new()
    rows = [finding.line for finding in examine(program)]
    told = [*session.notes, *(row for row in rows if not row.startswith("ok ")), *session.parts.instructions.now.notes]
    sent = session.parts.instructions.now.text + "".join(session.conversation.builder.system)
    session.close()
    assert "\x1b" not in "".join((*told, *rows))
    assert "xyzzy" not in "".join((*told, *rows, sent))
    for name in ("skill good", "command /good", "agent good", "hook true"):
        assert any(row.startswith(f"ok    {name}") for row in rows), name
    for kind, name in KINDS.items():
        files = (name, f"SKILL.md in {(work / name).parent}") if kind == "skill" else (name,)
        named = any(file in line for line in told for file in files)
        assert named or (kind, harm.__name__) in QUIET, kind


@pytest.mark.parametrize("layout", PLUGINS)
@pytest.mark.parametrize("harm", [huge, pipe, link_out, cycle, folder, binary, broken])
def test_hostile_plugins_are_refused_or_come_without_the_bad_part(
    harm: Callable[[Path, Path], None], layout: str, work: Path
) -> None:
    manifest, good, command = PLUGINS[layout]
    outside = work.parent / "outside"
    outside.write_text("---\nname: xyzzy\ndescription: xyzzy\n---\nxyzzy")
    plugins = Plugins(app_dirs())
    for part in (manifest, command, *PARTS):
        plugin = work.parent / part.replace("/", "-") / "plug"
        for name, text in ((manifest, good), ("skills/good/SKILL.md", GOOD[".agents/skills/good/SKILL.md"])):
            (plugin / name).parent.mkdir(parents=True, exist_ok=True)
            (plugin / name).write_text(text)
        (plugin / part).parent.mkdir(parents=True, exist_ok=True)
        (plugin / part).unlink(missing_ok=True)
        harm(plugin / part, outside)
        told: list[str] = []
        try:
            with plugins.candidate(str(plugin)) as found:
                told += contents(found)
                plugins.add(found, str(plugin), link=False)
            told += [str(plugins.in_force()[0][0].instructions(100).files)]
            assert told[0] in ("skills: good", "skills: bad, good")
            assert any("left out" in line or "nothing in it takes effect" in line for line in told) or (
                harm in (folder, broken) or (part, layout) == ("GEMINI.md", "claude")
            ), part
        except InputError as error:
            told.append(str(error))
        refused = not told[-1].startswith("(")
        assert not refused or Path(part).name in told[-1], part
        assert "xyzzy" not in "".join(told)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("harm", [huge, pipe, cycle, folder, binary, broken])
def test_hostile_files_of_other_programs_are_listed_and_nothing_of_them_is_written(
    harm: Callable[[Path, Path], None], source: str, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = work.parent / "home"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    for name in SOURCES[source]:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        harm(home / name, work)
    plan = import_plan(program_of(Options(cwd=str(work))), [source])
    told = [*lines(plan)]
    assert "\x1b" not in "".join(told)
    for name in SOURCES[source]:
        assert any(f"{home / name}" in line for line in told), name
    texts = [name for name in SOURCES[source] if name.endswith(".md")] if harm is broken else []
    assert len(plan.skipped) == len(SOURCES[source]) - len(texts)  # a text of any words is a text


def test_names_of_our_own_are_not_taken_over(work: Path) -> None:
    head = "---\nname: {}\ndescription: Mine.\n---\nMine."
    for file, name in (("skills/model", "model"), ("commands/help", "help"), ("agents/general", "general")):
        path = work / ".claude" / (f"{file}/SKILL.md" if file.startswith("skills") else f"{file}.md")
        path.parent.mkdir(parents=True)
        path.write_text(head.format(name))
    told = [found.line for found in examine(program_of(Options(model="script:echo", cwd=str(work), trust=True)))]
    warned = [line for line in told if line.startswith("warn")]
    for kind, name in (("commands", "help"), ("skills", "model")):
        folder = work / ".claude" / kind
        assert f"warn  extensions: /{name} of {folder} is shadowed by ours; call it /project:{name}." in warned
    assert any("general" in line for line in warned)
