"""Plugins in both layouts: added, in force, changed, removed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.features.hooks.files import bundled_hooks
from agentcli.features.hooks.loaded import loaded
from agentcli.features.mcp.run import servers_of
from agentcli.frontends.cli import run
from agentcli.frontends.cli.plugin_contents import contents
from agentcli.frontends.opening import program_of, project_of
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.program.prompt_files.installed_plugins import Plugins
from agentcli.program.prompt_files.plugins import read_plugin
from tests.program.prompt_files.commit_command import assert_shows_git, changed_repository, sent


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def claude(folder: Path, name: str = "tools") -> Path:
    hook = {"type": "command", "command": "python3 ${CLAUDE_PLUGIN_ROOT}/hook.py"}
    return written(
        folder,
        {
            ".claude-plugin/plugin.json": json.dumps({"name": name, "version": "1.2", "unknown": 3}),
            "commands/commit.md": "---\nallowed-tools: Bash(git add:*)\n---\nCommit from ${CLAUDE_PLUGIN_ROOT}.",
            "skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Reads.\n---\nRead.",
            "agents/rev.md": "---\nname: rev\ndescription: Reviews.\n---\nYou review.",
            "hooks/hooks.json": json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}),
            ".mcp.json": json.dumps({"docs": {"command": "${CLAUDE_PLUGIN_ROOT}/serve", "args": ["x"]}}),
        },
    )


def gemini(folder: Path) -> Path:
    manifest = {
        "name": "ext",
        "version": "1.0.0",
        "mcpServers": {"s": {"command": "node", "args": ["${extensionPath}${/}server.js"], "trust": True}},
        "excludeTools": ["run_shell_command(rm -rf)"],
    }
    files = {
        "gemini-extension.json": json.dumps(manifest),
        "GEMINI.md": "Be kind.",
        "commands/plan.toml": 'prompt = "Plan."',
    }
    return written(folder, files)


def program() -> Program:
    return program_of(Options(model="script:echo"))


def test_what_a_plugin_would_start_and_allow_is_listed_before_it_is_added(home: Path) -> None:
    lines = [*contents(read_plugin(claude(home / "a")))]
    assert lines[:3] == ["skills: pdf", "commands: commit", "agents: rev"]
    assert "allowed without asking by commit: Bash(git add:*)" in lines
    assert "hook at PreToolUse: python3 ${CLAUDE_PLUGIN_ROOT}/hook.py" in lines
    assert f"server docs: {home}/a/serve x" in lines


def test_an_added_plugin_is_in_force_under_its_name_and_gone_when_it_is_removed(home: Path) -> None:
    assert run(["plugins", "add", str(claude(home / "a")), "--yes"]) == 0
    copy = home / "DATA/agentcli/plugins/tools"
    project = project_of(Options())
    assert [*project.prompt_files.skills, *project.prompt_files.commands, *project.prompt_files.agents] == [
        "tools:pdf",
        "tools:commit",
        "tools:rev",
    ]
    (hook,) = loaded(project).hooks
    assert dict(hook.env)["CLAUDE_PLUGIN_ROOT"] == str(copy)
    assert servers_of(program()).configured().servers["docs"].starts == f"{copy}/serve x"
    assert run(["plugins", "remove", "tools"]) == 0
    assert not copy.exists()
    assert not project_of(Options()).prompt_files.skills


def test_a_command_of_a_plugin_sends_what_git_prints_in_the_repository(home: Path) -> None:
    command = (
        "---\nallowed-tools: Bash(git add:*), Bash(git status:*), Bash(git commit:*)\ndescription: Commits.\n---\n\n## Context\n\n"
        "- Status: !`git status`\n- Diff (staged and unstaged changes): !`git diff HEAD`\n- Branch: !`git branch --show-current`\n"
        "- Recent commits: !`git log --oneline -10`\n\n## Your task\n\nCreate a single commit.\n"
    )
    plugin = written(
        home / "a", {".claude-plugin/plugin.json": '{"name": "committing"}', "commands/commit.md": command}
    )
    assert run(["plugins", "add", str(plugin), "--yes"]) == 0
    text = sent(changed_repository(home / "work"), "/committing:commit")
    assert_shows_git(text)
    assert text.endswith("## Your task\n\nCreate a single commit.")


def test_the_data_of_a_plugin_outlasts_an_update_and_goes_with_it(home: Path) -> None:
    assert run(["plugins", "add", str(claude(home / "a")), "--yes"]) == 0
    (hook,) = loaded(project_of(Options())).hooks
    data = Path(dict(hook.env)["CLAUDE_PLUGIN_DATA"])
    (data / "state").write_text("kept")
    (home / "a/commands/new.md").write_text("New.")
    assert run(["plugins", "add", str(home / "a"), "--yes"]) == 0
    assert "tools:new" in project_of(Options()).prompt_files.commands
    assert (data / "state").read_text() == "kept"
    assert run(["plugins", "remove", "tools"]) == 0
    assert not [*(home / "DATA/agentcli/plugins").iterdir()]


def test_a_disabled_or_changed_plugin_is_not_loaded(home: Path) -> None:
    plugins = Plugins(project_of(Options()).dirs)
    with plugins.candidate(str(claude(home / "a"))) as plugin:
        plugins.add(plugin, str(home / "a"), link=True)
    assert project_of(Options()).prompt_files.skills
    plugins.enable("tools", False)
    assert not project_of(Options()).prompt_files.skills
    plugins.enable("tools", True)
    (home / "a/hook.py").write_text("import os")
    changed = project_of(Options())
    assert not changed.prompt_files.skills
    assert changed.prompt_files.left_out == [
        "Plugin tools: its files have changed since it was added; add it again to look at them: left out."
    ]
    assert not loaded(changed).hooks


def test_an_extension_of_gemini_brings_servers_instructions_and_denials(home: Path) -> None:
    assert run(["plugins", "add", str(gemini(home / "e")), "--yes"]) == 0
    here, copy = program(), home / "DATA/agentcli/plugins/ext"
    assert servers_of(here).configured().servers["s"].starts == f"node {copy}/server.js"
    assert not servers_of(here).notes()
    assert [file.text for file in here.instruction_files().files] == ["Be kind."]
    assert ("deny", "bash(rm -rf:*)") in [(kind, str(rule)) for kind, rule in here.workspace_policy.rules().listed()]
    assert [*here.prompt_files.commands] == ["ext:plan"]


def test_an_extension_may_name_several_files_of_instructions(home: Path) -> None:
    manifest = {"name": "ext", "version": "1", "contextFileName": ["A.md", "none.md", "../out.md", "docs/B.md"]}
    files = {"A.md": "One.", "docs/B.md": "x" * 200_000, "GEMINI.md": "Not me."}
    written(home / "e", {"gemini-extension.json": json.dumps(manifest), "commands/x.toml": "prompt = 'x'", **files})
    (home / "out.md").write_text("Out.")
    brought = read_plugin(home / "e").instructions(1_000)
    assert [file.text[:5] for file in brought.files] == ["One.", "xxxxx"]
    assert brought.notes == (
        "plugin ext: out.md: a link leads out of the repository: left out.",
        "plugin ext: B.md is longer than 1,000 characters: the rest is left out.",
    )
    assert run(["plugins", "add", str(home / "e"), "--yes"]) == 0
    assert any("B.md is longer than" in note for note in program().instruction_files().notes)


MARKETPLACE = {
    "name": "acme",
    "plugins": [{"name": "fmt", "source": "./plugins/fmt"}, {"name": "far", "source": {"source": "github"}}, 5],
}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda folder: folder.mkdir(),
            "is not a plugin: neither .claude-plugin/plugin.json nor gemini-extension.json",
        ),
        (lambda folder: written(folder, {"gemini-extension.json": "{"}), "is not valid JSON"),
        (lambda folder: claude(folder, "../up"), "needs a name of letters"),
        (
            lambda folder: written(folder, {".claude-plugin/marketplace.json": json.dumps(MARKETPLACE)}),
            "x is a marketplace. Add one of its plugins, as SOURCE#NAME: fmt, far\\.",
        ),
    ],
)
def test_what_is_no_plugin_is_refused(make, message: str, home: Path) -> None:  # type: ignore[no-untyped-def]
    make(home / "x")
    plugins = Plugins(project_of(Options()).dirs)
    with pytest.raises(InputError, match=message), plugins.candidate(str(home / "x")):
        pass


def test_links_that_lead_out_of_a_plugin_and_pipes_are_refused(home: Path) -> None:
    plugins = Plugins(project_of(Options()).dirs)
    for name, make in (("link", lambda path: path.symlink_to("/etc/passwd")), ("pipe", os.mkfifo)):
        make(claude(home / name) / "bad")
        with pytest.raises(InputError, match="bad is"), plugins.candidate(str(home / name)):
            pass
    assert plugins.installed() == []


def test_a_plugin_comes_from_a_git_repository_as_well(home: Path) -> None:
    folder = claude(home / "repo")
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    assert run(["plugins", "add", f"file://{folder}", "--yes"]) == 0
    assert not (home / "DATA/agentcli/plugins/tools/.git").exists()
    assert run(["plugins", "add", "ext::sh -c touch% made", "--yes"]) == 42
    assert not (home / "made").exists()


def test_hooks_stand_where_the_manifest_says_and_those_of_gemini_have_its_names(home: Path) -> None:
    inline = {"Stop": [{"hooks": [{"type": "command", "command": "inline"}]}]}
    manifest = {"name": "more", "hooks": ["./config/hooks.json", inline, "../outside.json"]}
    listed = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "listed"}]}]}}
    files = {".claude-plugin/plugin.json": json.dumps(manifest), "config/hooks.json": json.dumps(listed)}
    (home / "outside.json").write_text(json.dumps(listed))
    plugin = read_plugin(written(home / "more", files))
    assert "plugin more: ../outside.json (hooks) leads out of it: left out." in [*contents(plugin)]
    found = bundled_hooks(plugin.hooks)
    assert [(hook.event, hook.command, hook.dialect) for hook in found.hooks] == [
        ("PreToolUse", "listed", "claude"),
        ("Stop", "inline", "claude"),
    ]
    entry = {"type": "command", "command": "node x.js", "timeout": 5000}
    theirs = {"hooks": {"BeforeTool": [{"matcher": "write_file", "hooks": [entry]}], "BeforeModel": []}}
    found = bundled_hooks(read_plugin(written(gemini(home / "ext"), {"hooks/hooks.json": json.dumps(theirs)})).hooks)
    (hook,) = found.hooks
    assert (hook.event, hook.dialect, hook.timeout, hook.matcher) == ("PreToolUse", "gemini", 5.0, "write_file")
    assert dict(hook.env)["extensionPath"] == str(home / "ext")
    assert "BeforeModel is not supported" in found.notes[0]


@pytest.mark.parametrize(
    ("given", "denied"),
    [
        ("run_shell_command(rm -rf)", ["bash(rm -rf:*)"]),
        ("run_shell_command(git push *)", ["bash(git push *)"]),
        ("write_file", ["write"]),
        ("run_shell_command(", ["bash"]),
        ("no_such_tool", []),
        ("\x1b[2J(", []),
    ],
)
def test_what_an_extension_excludes_is_denied_and_never_less(given: str, denied: list[str], home: Path) -> None:
    folder = written(home / "ext", {"gemini-extension.json": json.dumps({"name": "ext", "excludeTools": [given]})})
    assert run(["plugins", "add", str(folder), "--yes"]) == 0
    assert [str(rule) for rule in program().workspace_policy.rules().deny] == denied


def test_a_plugin_that_holds_only_language_servers_is_added_and_says_so(home: Path) -> None:
    entry = {
        "name": "gopls",
        "source": "./plugins/gopls",
        "version": "1.0",
        "lspServers": {
            "go": {
                "command": "gopls",
                "args": ["-mode", "a b"],
                "env": {"GOFLAGS": "-x y"},
                "extensionToLanguage": {".go": "go"},
            }
        },
    }
    market = {
        ".claude-plugin/marketplace.json": json.dumps({"name": "m", "plugins": [entry]}),
        "plugins/gopls/README.md": "x",
    }
    written(home / "market", market)
    written(
        home / "other",
        {
            ".lsp.json": json.dumps(
                {"rust": {"command": "${CLAUDE_PLUGIN_ROOT}/ra", "extensionToLanguage": {".rs": "rust"}}}
            )
        },
    )
    for folder, name, server in (
        ("market/plugins/gopls", "gopls", "go, which runs if you set lsp = true: gopls -mode 'a b'; GOFLAGS='-x y'"),
        ("other", "other", f"rust, which runs if you set lsp = true: {home}/other/ra"),
    ):
        with Plugins(program().dirs).candidate(str(home / folder)) as plugin:
            assert [*contents(plugin)] == [
                f"language server {server}",
                "no tokens in each request",
            ]
        assert run(["plugins", "add", "--yes", str(home / folder)]) == 0
        assert {one.name: one.trouble for one in Plugins(program().dirs).installed()}[name] == ""


@pytest.mark.parametrize("link", [False, True])
def test_what_changes_between_the_look_and_the_answer_is_not_added(home: Path, link: bool) -> None:
    folder = claude(home / "a")
    plugins = Plugins(program().dirs)
    with plugins.candidate(str(folder)) as plugin:
        (folder / "hook.py").write_text("evil()")
        with pytest.raises(InputError, match="have changed since they were listed"):
            plugins.add(plugin, str(folder), link)
    assert plugins.installed() == []
    assert [*(home / "DATA").rglob("hook.py")] == []


@pytest.mark.parametrize("link", [False, True])
def test_compiled_files_that_nobody_looked_at_are_never_run(home: Path, link: bool) -> None:
    folder = claude(home / "a")
    cache = written(folder, {"lib/__pycache__/x.cpython-311.pyc": "evil"}) / "lib/__pycache__"
    plugins = Plugins(program().dirs)
    with plugins.candidate(str(folder)) as plugin:
        plugins.add(plugin, str(folder), link)
    (one,) = plugins.installed()
    assert not (one.folder / "lib/__pycache__").exists()
    written(one.folder, {"__pycache__/y.pyc": "evil", "lib/__pycache__/x.cpython-311.pyc": "evil"})
    assert [found.trouble for found in plugins.installed()] == [""]
    assert [*one.folder.rglob("__pycache__")] == []
    cache.parent.mkdir(exist_ok=True)
    (one.folder / "__pycache__").symlink_to(home)
    assert "is a link" in plugins.installed()[0].trouble
