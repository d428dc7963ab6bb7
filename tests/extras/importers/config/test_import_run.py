"""Import of the configuration of other programs, from files as they write them."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.project.places import Place, find
from agentcli.core.errors import ConfigError
from agentcli.core.message import ToolCall
from agentcli.extras.importers.config.import_run import ImportPlan, carry_out, import_plan, lines
from agentcli.frontends.opening import program_of
from agentcli.permissions.decide import decide
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.program.prompt_files.agents import FORM
from agentcli.tools.registry import TRAITS

TOKEN = "ghp_" + "a1" * 18


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    return tmp_path / "home"


def put(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def opened(home: Path, keys: Sequence[str] = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")) -> Program:
    env = {f"XDG_{kind}_HOME": str(home.parent / kind) for kind in ("DATA", "STATE", "CACHE")}
    ours = {
        "XDG_CONFIG_HOME": str(home / ".config"),
        "HOME": str(home),
    }
    return program_of(Options(cwd=str(home.parent / "work")), {**env, **ours, **dict.fromkeys(keys, "x")})


def taken(home: Path, *names: str) -> ImportPlan:
    """The plan, once it was carried out."""
    program = opened(home)
    plan = import_plan(program, names)
    carry_out(plan, program.dirs.config)
    return plan


def ours(home: Path, name: str) -> Any:
    text = (home / ".config/agentcli" / name).read_text()
    return tomllib.loads(text) if name.endswith(".toml") else json.loads(text)


def test_everything_of_claude_code_is_taken_over_or_listed(home: Path) -> None:
    work = str(home.parent / "work")
    http = {"type": "http", "url": "https://x.example/mcp", "headers": {"Accept": "b"}}
    local = {"type": "stdio", "command": "foo", "args": [], "env": {}}
    put(
        home / ".claude.json",
        {
            "mcpServers": {"s1": http},
            "projects": {work: {"mcpServers": {"l1": local}}, "/other": {"mcpServers": {"no": local}}},
        },
    )
    hooks = {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard"}]}],
        "TeammateIdle": [],
    }
    permissions = {
        "allow": [
            "Bash(git add:*)",
            "Read(//etc/hosts)",
            "Read(~/x)",
            "Edit(/src/**)",
            "NotebookRead",
            "mcp__a__b",
            "WebFetch(domain:x.org)",
        ],
        "deny": ["Read(./.env)", "Edit(./.env)"],
        "defaultMode": "bypassPermissions",
    }
    put(
        home / ".claude/settings.json",
        {"hooks": hooks, "permissions": permissions, "env": {"FOO": "1"}, "model": "opus"},
    )
    put(home / ".claude/CLAUDE.md", "Be brief.")
    plan = taken(home, "claude")
    assert ours(home, "mcp.json") == {"mcpServers": {"s1": http, "l1": local}}
    assert ours(home, "hooks.json") == {"hooks": {"PreToolUse": hooks["PreToolUse"]}}
    config = ours(home, "config.toml")
    assert config["permissions"]["allow"] == [
        "bash(git add:*)",
        "read(/etc/hosts)",
        "read(~/x)",
        "mcp__a__b",
        "web_fetch(domain:x.org)",
    ]
    assert (config["permissions"]["deny"], config["model"]) == (
        ["read(./.env)", "write(./.env)", "edit(./.env)"],
        "opus",
    )
    assert "mode" not in config
    assert (home / ".config/agentcli/AGENTS.md").read_text() == "Be brief."
    skipped = "\n".join(plan.skipped)
    for about in ("TeammateIdle", "Edit(/src/**)", "NotebookRead", "bypassPermissions", "variable FOO"):
        assert about in skipped
    assert opened(home).config.warnings == ()


def test_nothing_of_other_programs_is_passed_over_in_silence(home: Path) -> None:
    shared = home.parent / "shared"
    shared.mkdir()
    command, ask = {"type": "command", "command": "guard"}, {"type": "prompt", "prompt": "Done?"}
    post = {"type": "http", "url": "https://x.org", "headers": {"Authorization": "Bearer abc"}}
    put(
        home / ".claude/settings.json",
        {
            "hooks": {
                "Stop": [
                    {"hooks": [{"type": "agent", "prompt": "Done?"}]},
                    {"hooks": [{"type": "http"}, command, ask, post]},
                ],
                "SessionStart": [{"hooks": [ask]}],
            },
            "permissions": {"additionalDirectories": [str(shared), "../near", "~/gone"]},
            "statusLine": {},
            "enabledPlugins": {"a@m": True, "b@m": False, "c@m": True},
        },
    )
    put(home / ".claude/plugins/installed_plugins.json", {"plugins": {"a@m": [{"installPath": "/x/a"}]}})
    put(
        home / ".gemini/settings.json",
        {"excludeTools": ["web_fetch"], "context": {"fileName": "C.md"}, "tools": {"core": []}},
    )
    put(home / ".codex/config.toml", 'model = "m"\nmodel_provider = "azure"\nnotify = ["x"]\n')
    put(home / ".config/opencode/opencode.json", {"$schema": "x", "theme": "dark"})
    put(home / ".claude/CLAUDE.md", "A.")
    put(home / ".gemini/GEMINI.md", "B.")
    plan = taken(home, "claude", "gemini", "codex", "opencode")
    assert ours(home, "hooks.json")["hooks"] == {"Stop": [{"hooks": [command, ask]}]}
    config = ours(home, "config.toml")
    assert (config["add_dirs"], config["permissions"]["deny"], "model" in config) == (
        [str(shared)],
        ["web_fetch"],
        False,
    )
    assert [step.item.source for step in plan.steps if step.status == "clash"] == [str(home / ".gemini/GEMINI.md")]
    skipped = "\n".join(plan.skipped)
    for about in (
        "a hook of Stop of type agent: only command, http and prompt run here",
        "a hook of Stop of type http: it has no url",
        "a hook of Stop of type http: its headers need variables",
        "a hook of SessionStart of type prompt: it never runs at this event",
        "folder ../near: it counts from each project",
        f"folder {home}/gone: it does not exist",
        "statusLine: there is no such setting here",
        "plugin a@m: add it with `agentcli plugins add /x/a`",
        "plugin c@m: add it with `agentcli plugins add PATH|URL`, from its folder or git repository",
        "context: there is no such setting here",
        "tools: core: there is no such",
        "model m of azure: ",
        "notify: there is no such",
        "theme: there is no such",
    ):
        assert about in skipped
    assert "plugin b@m" not in skipped
    assert "$schema" not in skipped
    assert opened(home).roots[1:] == (shared,)


@pytest.mark.parametrize(("keys", "there"), [((), True), (("GEMINI_API_KEY",), True), (("ANTHROPIC_API_KEY",), False)])
def test_a_model_is_taken_over_before_any_key_is_set(keys: Sequence[str], there: bool, home: Path) -> None:
    put(home / ".gemini/settings.json", {"model": {"name": "gemini-3.8-flash"}})
    program = opened(home, keys)
    plan = import_plan(program, ["gemini"])
    assert [step.item.value for step in plan.new] == (["google/gemini-3.8-flash"] if there else [])
    assert ("No key for google" in "\n".join(plan.skipped)) is not there


def test_gemini_cli_keeps_its_dialect(home: Path) -> None:
    hook = {"type": "command", "command": "check", "timeout": 5000, "name": "c"}
    put(
        home / ".gemini/settings.json",
        {
            "mcpServers": {"g": {"command": "npx", "args": ["-y", "foo"], "env": {"KEY": "$MY_KEY"}}},
            "hooks": {
                "BeforeTool": [{"matcher": "run_shell_command", "hooks": [hook]}],
                "BeforeModel": [{"hooks": [hook]}],
            },
            "model": {"name": "gemini-3-flash"},
            "tools": {"allowed": ["run_shell_command(git status)", "read_file", "magic"]},
        },
    )
    put(home / ".gemini/extensions/e/gemini-extension.json", {"name": "e"})
    plan = taken(home, "gemini")
    assert ours(home, "mcp.json")["mcpServers"]["g"]["env"] == {"KEY": "${MY_KEY:-$MY_KEY}"}, "its own kind of variable"
    (group,) = ours(home, "hooks.json")["hooks"]["PreToolUse"]
    assert group["hooks"] == [{**hook, "timeout": 5.0, "dialect": "gemini"}]
    assert ours(home, "config.toml")["permissions"]["allow"] == ["bash(git status:*)", "read"]
    skipped = "\n".join(plan.skipped)
    assert "BeforeModel" in skipped
    assert "magic" in skipped
    assert "agentcli plugins add" in skipped


def test_codex_servers_and_prompts(home: Path) -> None:
    put(
        home / ".codex/config.toml",
        'approval_policy = "on-request"\nsandbox_mode = "workspace-write"\n'
        '[mcp_servers.t1]\ncommand = "npx"\nargs = ["-y", "foo"]\nenabled_tools = ["a"]\nstartup_timeout_sec = 20\n'
        '[mcp_servers.t1.env]\nA = "b"\n'
        '[mcp_servers.t2]\nurl = "https://x.example/mcp"\nbearer_token_env_var = "TOK"\n'
        '[[hooks.Stop]]\nhooks = [{ type = "command", command = "tests" }]\n',
    )
    put(home / ".codex/prompts/fix.md", "Fix $1.")
    taken(home, "codex")
    assert ours(home, "mcp.json")["mcpServers"] == {
        "t1": {
            "command": "npx",
            "args": ["-y", "foo"],
            "env": {"A": "${A}"},
            "includeTools": ["a"],
            "startupTimeout": 20,
        },
        "t2": {"url": "https://x.example/mcp", "headers": {"Authorization": "Bearer ${TOK}"}},
    }
    assert ours(home, "hooks.json")["hooks"]["Stop"] == [{"hooks": [{"type": "command", "command": "tests"}]}]
    assert ours(home, "config.toml")["mode"] == "auto"
    assert (home / ".config/agentcli/commands/fix.md").read_text() == "Fix $1."


def test_opencode_with_comments_in_its_json(home: Path) -> None:
    put(
        home / ".config/opencode/opencode.jsonc",
        """{ // servers
        "mcp": {"o": {"type": "local", "command": ["bun", "x"], "environment": {"K": "{env:K}"}, "enabled": false},
                "r": {"type": "remote", "url": "https://x.example//mcp"},},
        /* more */ "command": {"test": {"template": "Run $ARGUMENTS", "description": "Run: tests"}},
        "permission": {"edit": "ask", "bash": {"git push *": "ask", "*": "allow"}, "webfetch": "deny"},
        }""",
    )
    plan = taken(home, "opencode")
    assert ours(home, "mcp.json")["mcpServers"] == {
        "o": {"command": "bun", "args": ["x"], "env": {"K": "${K}"}, "disabled": True},
        "r": {"url": "https://x.example//mcp"},
    }
    assert ours(home, "config.toml")["permissions"] == {
        "ask": ["bash(git push *)"],
        "deny": ["web_fetch"],
    }
    assert (
        home / ".config/agentcli/commands/test.md"
    ).read_text() == '---\ndescription: "Run: tests"\n---\nRun $ARGUMENTS\n'
    assert "every command" in "\n".join(plan.skipped)


def test_the_order_of_opencodes_permissions_is_kept_as_far_as_ours_can(home: Path) -> None:
    permission = {
        "bash": {"*": "ask", "git status *": "allow", "npm *": "allow", "npm publish *": "deny", "npm publish --dry-run": "allow"},
        "edit": {"src/**": "allow", "*": "ask"},
        "read": "ask",
        "webfetch": {"*": "allow", "https://a.example/**": "ask", "https://a.example/docs/**": "allow"},
    }  # fmt: skip
    put(home / ".config/opencode/opencode.json", {"permission": permission})
    put(home / ".claude/settings.json", {"permissions": {"allow": ["Bash(make *)"]}})
    plan = taken(home, "claude", "opencode")
    assert ours(home, "config.toml")["permissions"] == {
        "allow": [
            "bash(make *)",
            "bash(git status *)",
            "bash(npm *)",
            "web_fetch",
            "web_fetch(https://a.example/docs/**)",
        ],
        "deny": ["bash(npm publish *)"],
        "ask": ["read", "web_fetch(https://a.example/**)"],
    }
    policy = opened(home).workspace_policy

    def decided(tool: str, **given: str) -> str:
        return decide(ToolCall("1", tool, given), TRAITS, policy.rules(), "ask", policy.workspace()).decision

    commands = ("make test", "git status -s", "npm test", "npm publish --dry-run", "rm a")
    assert [decided("bash", command=each) for each in commands] == ["allow", "allow", "allow", "deny", "ask"]
    assert [decided("edit", file_path="src/a.py"), decided("read", file_path="a.py")] == ["ask", "ask"]
    assert len([line for line in plan.skipped if "mode ask asks about it anyway" in line]) == 2
    assert any("src/**: allow: a later rule takes its place" in line for line in plan.skipped)


def test_agents_of_opencode_keep_their_restrictions(home: Path) -> None:
    agents = {
        "looks": {
            "prompt": "Look.",
            "description": "Looks.",
            "tools": {"bash": False, "read": True},
            "permission": {"edit": "deny"},
        },
        "main": {"prompt": "Lead.", "mode": "primary"},
        "off": {"prompt": "x", "disable": True},
    }
    put(home / ".config/opencode/opencode.json", {"agent": agents})
    plan = taken(home, "opencode")
    [step] = plan.steps
    kind = find(FORM, [Place(home / ".config/agentcli/agents", "user", ".agentcli")], [])[0]["looks"]
    assert {"bash", "edit", "multi_edit", "write"} == {*kind.denied}
    assert kind.tools is None
    assert step.item.key == "agents/looks.md"
    assert ["agent main" in plan.skipped[0], "agent off" in plan.skipped[1]] == [True, True]


def test_no_secret_is_copied(home: Path) -> None:
    server = {
        "command": "srv",
        "args": ["--api-key=hunter2hunter2", "--verbose=1", TOKEN],
        "env": {"GITHUB_TOKEN": TOKEN, "LEVEL": "info", "MOOD": "", "KEPT_TOKEN": "${KEPT_TOKEN}"},
        "headers": {"Authorization": f"Bearer {TOKEN}", "Accept": "text/plain"},
    }
    put(home / ".claude.json", {"mcpServers": {"gh": server}})
    put(
        home / ".claude/settings.json",
        {
            "hooks": {
                "Stop": [{"hooks": [{"type": "command", "command": f"curl -H 'Authorization: Bearer {TOKEN}' x"}]}]
            }
        },
    )
    plan = taken(home, "claude")
    found = ours(home, "mcp.json")["mcpServers"]["gh"]
    assert found["env"] == {
        "GITHUB_TOKEN": "${GITHUB_TOKEN}",
        "LEVEL": "${LEVEL}",
        "MOOD": "",
        "KEPT_TOKEN": "${KEPT_TOKEN}",
    }
    assert found["headers"] == {"Authorization": "Bearer ${GH_AUTHORIZATION}", "Accept": "text/plain"}
    assert found["args"] == ["--api-key=${GH_API_KEY}", "--verbose=1", "${GH_ARG2}"]
    shown = "\n".join(lines(plan))
    assert "set GH_API_KEY, GH_ARG2, GITHUB_TOKEN, LEVEL, GH_AUTHORIZATION in your environment" in shown
    everything = shown + "".join(path.read_text() for path in (home / ".config").rglob("*") if path.is_file())
    assert TOKEN not in everything
    assert "hunter2" not in everything
    assert "its command contains a secret" in shown


def test_nothing_is_overwritten_and_a_second_run_changes_nothing(home: Path) -> None:
    mine = home / ".config/agentcli"
    put(mine / "mcp.json", {"mcpServers": {"s1": {"command": "mine"}}, "more": 1})
    put(mine / "config.toml", '# my own\nmode = "plan"\n[permissions]\nallow = ["read"]\n')
    put(mine / "AGENTS.md", "Mine.")
    put(home / ".claude.json", {"mcpServers": {"s1": {"command": "theirs"}, "s2": {"command": "new"}}})
    put(home / ".claude/settings.json", {"permissions": {"allow": ["Read", "Grep"], "defaultMode": "acceptEdits"}})
    put(home / ".claude/CLAUDE.md", "Theirs.")
    plan = taken(home, "claude", "codex")
    assert ours(home, "mcp.json") == {"mcpServers": {"s2": {"command": "new"}, "s1": {"command": "mine"}}, "more": 1}
    text = (mine / "config.toml").read_text()
    assert text.startswith("# my own")
    assert tomllib.loads(text) == {"mode": "plan", "permissions": {"allow": ["read", "grep"]}}
    assert (mine / "AGENTS.md").read_text() == "Mine."
    assert [step.item.key for step in plan.steps if step.status == "clash"] == ["s1", "mode", "AGENTS.md"]
    before = {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()}
    again = taken(home, "claude", "codex")
    assert again.new == []
    assert {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("text", ["{", "[]", "\0", '{"mcpServers": 5, "hooks": []}', "[" * 50_000])
def test_broken_files_of_others_are_listed_and_nothing_else(home: Path, text: str) -> None:
    for name in (
        ".claude.json",
        ".claude/settings.json",
        ".gemini/settings.json",
        ".codex/config.toml",
        ".config/opencode/opencode.json",
    ):
        put(home / name, text)
    plan = taken(home, "claude", "gemini", "codex", "opencode")
    assert plan.steps == ()
    assert not (home / ".config/agentcli").exists()


def test_a_pipe_of_another_program_is_not_waited_for(home: Path) -> None:
    (home / ".claude").mkdir()
    os.mkfifo(home / ".claude/settings.json")
    plan = taken(home, "claude")
    assert plan.steps == ()
    assert any("settings.json: the file: it is not a regular file" in line for line in plan.skipped)


@pytest.mark.parametrize(
    ("program", "name", "text", "left"),
    [
        (
            "claude",
            ".claude/settings.json",
            '{"hooks": {"Stop": [{"hooks": ["x"]}, 5]}}',
            "an entry of Stop: it has no",
        ),
        ("gemini", ".gemini/settings.json", '{"hooks": {"BeforeTool": [{"hooks": 5}]}}', "an entry of BeforeTool: it"),
        ("claude", ".claude/settings.json", '{"permissions": {"defaultMode": [5]}}', "defaultMode [5]: a mode"),
        ("codex", ".codex/config.toml", "[mcp_servers.a]\ncommand = 'x'\nenv_vars = 5", ""),
    ],
)
def test_values_of_another_kind_are_listed_or_passed_over(
    home: Path, program: str, name: str, text: str, left: str
) -> None:
    put(home / name, text)
    plan = taken(home, program)
    assert any(left in line for line in plan.skipped) if left else plan.steps


def test_a_broken_file_of_ours_stops_everything_before_it_is_touched(home: Path) -> None:
    put(home / ".config/agentcli/mcp.json", "{broken")
    put(home / ".claude.json", {"mcpServers": {"s": {"command": "x"}}})
    with pytest.raises(ConfigError, match="Fix it first"):
        taken(home, "claude")
    assert (home / ".config/agentcli/mcp.json").read_text() == "{broken"


def test_names_cannot_write_on_the_terminal(home: Path) -> None:
    put(home / ".claude.json", {"mcpServers": {"\x1b[2J": {"command": "x"}}})
    put(home / ".claude/settings.json", {"permissions": {"allow": ["\x1b[2J"]}})
    assert "\x1b" not in "\n".join(lines(taken(home, "claude")))


def test_a_status_line_of_ones_own_stays_and_the_same_one_is_there_already(home: Path) -> None:
    put(home / ".claude" / "settings.json", {"statusLine": {"type": "command", "command": "date"}})
    own = home / ".config" / "agentcli" / "config.toml"
    put(own, '[ui]\nstatus_command = "mine"\n')
    assert [step.status for step in taken(home, "claude").steps] == ["clash"]
    assert 'status_command = "mine"' in own.read_text()
    put(own, "")
    assert [step.status for _ in range(2) for step in taken(home, "claude").steps] == ["new", "same"]


def test_the_plan_shows_the_command_line_of_everything_that_will_start(home: Path) -> None:
    local = {"command": "npx", "args": ["-y", "a b"], "env": {"NODE_OPTIONS": "--require ./x.js"}}
    put(home / ".claude.json", {"mcpServers": {"s1": local, "s2": {"type": "http", "url": "https://x.example/mcp"}}})
    hook = {"type": "command", "command": "run", "args": ["--x", "a b"]}
    settings = {"hooks": {"Stop": [{"hooks": [hook]}]}, "statusLine": {"type": "command", "command": "line.sh -v"}}
    put(home / ".claude/settings.json", settings)
    shown = "\n".join(lines(taken(home, "claude")))
    for line in (
        "mcp.json: s1: npx -y 'a b'; NODE_OPTIONS=${NODE_OPTIONS}",
        "mcp.json: s2: https://x.example/mcp",
        "Stop: run --x 'a b'",
        "ui.status_command line.sh -v",
    ):
        assert line in shown


def test_the_model_the_effort_and_the_servers_of_pi_are_imported(home: Path) -> None:
    put(
        home / ".pi/agent/settings.json",
        {
            "defaultProvider": "openai",
            "defaultModel": "gpt-6.2-sol",
            "defaultThinkingLevel": "high",
            "theme": "dark",
            "retry": {},
        },
    )
    put(home / ".pi/agent/mcp.json", {"mcpServers": {"docs": {"command": "docs-server"}}})
    put(home / ".pi/agent/AGENTS.md", "Be brief.")
    plan = taken(home, "pi")
    assert opened(home).config.get("agent.effort") == "high"
    assert opened(home).config.get("model") == "openai/gpt-6.2-sol"
    assert (home / ".config/agentcli/AGENTS.md").read_text() == "Be brief."
    assert any("docs-server" in line for line in lines(plan))
    assert opened(home).config.get("ui.theme") == "dark"
    assert any("retry: retries follow what the server says" in line for line in plan.skipped)


def test_a_subscription_of_pi_is_the_provider_of_its_models_and_no_thinking_is_a_setting(home: Path) -> None:
    subscribed = {"defaultProvider": "openai-codex", "defaultModel": "gpt-6.2-sol", "defaultThinkingLevel": "off"}
    put(home / ".pi/agent/settings.json", subscribed)
    taken(home, "pi")
    config = ours(home, "config.toml")
    assert (config["model"], config["agent"]) == ("openai/gpt-6.2-sol", {"thinking": False})


def test_skills_prompts_and_agents_in_the_homes_of_other_agents_are_read_in_place(home: Path) -> None:
    put(home / ".pi/agent/prompts/tidy.md", "Tidy $ARGUMENTS.")
    put(home / ".pi/agent/skills/notes/SKILL.md", "---\nname: notes\ndescription: Write notes.\n---\nWrite.")
    put(home / ".gemini/config/skills/maps/SKILL.md", "---\nname: maps\ndescription: Draw maps.\n---\nDraw.")
    put(home / ".gemini/antigravity/global_workflows/ship.md", "Ship it.")
    put(home / ".copilot/skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidy up.\n---\nTidy.")
    put(home / ".copilot/agents/reviewer.agent.md", "---\ndescription: Reviews.\ntools: [read, search]\n---\nReview.")
    found = opened(home).prompt_files
    assert {"maps", "tidy"} < set(found.skills)
    assert "ship" in found.commands
    assert found.agents["reviewer"].tools == ("read", "grep", "glob", "list")
    assert "tidy" in found.commands
    assert "notes" in found.skills


def test_copilot_servers_and_instructions_are_imported(home: Path) -> None:
    server = {"type": "local", "command": "docs-server", "args": [], "tools": ["search"]}
    put(home / ".copilot/mcp-config.json", {"mcpServers": {"docs": server}})
    put(home / ".copilot/config.json", {"model": "gpt-9", "loggedInUsers": []})
    put(
        home / ".copilot/settings.json",
        '{"effortLevel": "low", "deniedUrls": ["https://x.org/a"], "banner": "never"} // a',
    )
    put(home / ".copilot/copilot-instructions.md", "Be brief.")
    put(home / ".copilot/instructions/all.instructions.md", '---\napplyTo: "**"\n---\nBe kind.')
    put(home / ".copilot/instructions/py.instructions.md", '---\napplyTo: "**/*.py"\n---\nBe typed.')
    plan = taken(home, "copilot")
    assert (home / ".config/agentcli/AGENTS.md").read_text() == "Be brief.\n\nBe kind.\n"
    assert ours(home, "config.toml")["permissions"]["deny"] == ["web_fetch(domain:x.org)"]
    assert any("py.instructions.md: the file: it applies only to **/*.py" in line for line in plan.skipped)
    servers = json.loads((home / ".config/agentcli/mcp.json").read_text())["mcpServers"]
    assert servers["docs"] == {"type": "stdio", "command": "docs-server", "args": [], "includeTools": ["search"]}
    assert opened(home).config.get("agent.effort") == "low"
    assert any("choose one with /model" in line for line in plan.skipped)


def test_antigravity_has_rules_servers_a_mode_and_a_model_to_import(home: Path) -> None:
    allow = ["command(git status)", "unsandboxed(just)", "mcp(docs/*)", "command(*)"]
    rules = {"allow": allow, "deny": ["command(rm -rf)", "write_file(/etc/x)", "read_url(x.org)"]}
    settings = {"permissions": rules, "toolPermission": "proceed-in-sandbox", "model": "Gemini 3.5 Flash (High)"}
    put(home / ".gemini/antigravity-cli/settings.json", {**settings, "colorScheme": "tokyo night"})
    put(home / ".gemini/config/mcp_config.json", {"mcpServers": {"docs": {"serverUrl": "https://docs.example/mcp"}}})
    put(home / ".gemini/config/hooks.json", {"guard": {"PreToolUse": []}})
    plan = taken(home, "antigravity")
    config = ours(home, "config.toml")
    assert config["permissions"]["allow"] == ["bash(git status:*)", "bash(just:*)", "mcp__docs"]
    deny = ["bash(rm -rf:*)", "edit(/etc/x)", "write(/etc/x)", "web_fetch(domain:x.org)"]
    assert sorted({*config["permissions"]["deny"]}) == sorted(deny)
    assert (config["mode"], config["agent"]["effort"]) == ("auto", "high")
    assert ours(home, "mcp.json")["mcpServers"]["docs"] == {"url": "https://docs.example/mcp"}
    skipped = "\n".join(plan.skipped)
    for about in ("allow command(*)", "guard: its hooks get and give other JSON", "colorScheme tokyo night"):
        assert about in skipped


def test_imports_of_a_foreign_instruction_file_still_find_their_files(home: Path) -> None:
    put(home / ".claude/CLAUDE.md", "See @rules.md and @gone.md, a@rules.md.")
    put(home / ".claude/rules.md", "Be brief.")
    put(home / ".claude/rules/style.md", "Use tabs.")
    put(home / ".claude/rules/py.md", '---\npaths: ["**/*.py"]\n---\nUse types.')
    settings = {"alwaysThinkingEnabled": False, "editorMode": "vim", "theme": "light-daltonized", "tui": "full"}
    put(home / ".claude/settings.json", settings)
    plan = taken(home, "claude")
    program = opened(home)
    read = str(program.instruction_files())
    assert ("Be brief." in read, "Use tabs." in read, "Use types." in read) == (True, True, False)
    assert any("rules/py.md: the file: it applies to some paths" in line for line in plan.skipped)
    assert [program.config.get(f"{key}") for key in ("agent.thinking", "ui.vi", "ui.theme")] == [False, True, "light"]
    assert "~/.claude/settings.json: tui: /config searches and changes how the screen looks" in plan.skipped


@pytest.mark.parametrize(
    ("program", "file", "text"),
    [
        ("claude", ".claude/settings.json", '{"effortLevel": "high"}'),
        ("codex", ".codex/config.toml", 'model_reasoning_effort = "high"'),
    ],
)
def test_the_effort_is_imported(home: Path, program: str, file: str, text: str) -> None:
    put(home / file, text)
    taken(home, program)
    assert opened(home).config.get("agent.effort") == "high"
