import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.core.message import ToolCall
from agentcli.core.record import MODES
from agentcli.permissions.paths import Workspace, is_installed, judge_path
from agentcli.permissions.rules import Rules, parse_rules
from tests.permissions.corpus import make_workspace
from tests.permissions.deciding import explain, explain_command
from tests.tables import each_row

PROTECTED = [
    ".git/config",
    ".git/hooks/pre-commit",
    ".GIT/config",
    ".Git/HEAD",
    "sub/.git",
    ".git",
    ".gitmodules",
    ".gitconfig",
    ".agentcli/config.toml",
    ".claude/settings.json",
    ".codex/x",
    ".gemini/x",
    ".cursor/rules",
    ".vscode/settings.json",
    ".VSCode/tasks.json",
    ".idea/x",
    ".devcontainer/devcontainer.json",
    ".mcp.json",
    "sub/.mcp.json",
    ".envrc",
    ".env",
    ".env.local",
    ".ENV",
    ".env.production",
    "sub/.env",
    ".bashrc",
    ".zshrc",
    ".profile",
    ".bash_profile",
    ".ripgreprc",
    "AGENTS.md",
    "agents.md",
    "sub/AGENTS.md",
    "CLAUDE.md",
    "Claude.md",
    "GEMINI.md",
    ".git./config",
    "git~1/config",
    ".git::$INDEX_ALLOCATION/config",
    "./src/../.git/config",
    "inward/config",
    "new/.git/x",
]
FREE = [
    ".env.example",
    ".gitignore",
    ".gitattributes",
    ".github/workflows/ci.yml",
    "src/a.py",
    "README.md",
    "environment.py",
    "envrc",
    "git/x",
    ".gitkeep",
    "agents/x.md",
    "claude.py",
]
PRIVATE_AT_HOME = [
    "~/.ssh/id_rsa",
    "~/.ssh",
    "~/.SSH/config",
    "~/.aws/credentials",
    "~/.netrc",
    "~/.gnupg/x",
    "~/.config/git/config",
    "~/.config/agentcli/config.toml",
    "~/.local/share/agentcli/sessions/x",
    "$HOME/.ssh/id_rsa",
    "${HOME}/.aws/x",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def decided(tool: str, path: str, workspace: Workspace, mode: str = "yolo") -> str:
    return explain(ToolCall("c", tool, {"file_path": path}), Rules(), mode, workspace).decision  # type: ignore[arg-type]


@each_row("path", PROTECTED)
def test_a_protected_path_is_never_written_unasked(workspace: Workspace, path: str) -> None:
    for tool in ("write", "edit", "multi_edit"):
        for mode in ("ask", "auto-edit", "yolo", "auto"):
            assert decided(tool, path, workspace, mode) == "ask"
            assert decided(tool, str(workspace.cwd / path), workspace, mode) == "ask"
    assert explain_command(f"echo x > '{path}'", workspace, "yolo").decision == "ask"


@each_row("path", FREE)
def test_an_ordinary_path_is_free_to_edit(workspace: Workspace, path: str) -> None:
    assert decided("write", path, workspace, "auto-edit") == "allow"
    assert decided("read", path, workspace, "ask") == "allow"


@each_row(
    "path",
    [".env", ".env.local", ".ENV", "sub/.env", ".envrc", ".env/x", "src/../.env", "  .env", ".env ", ".e\u200bnv"],
)
def test_secrets_are_never_read_unasked(workspace: Workspace, path: str) -> None:
    for mode in MODES:
        assert decided("read", path, workspace, mode) == "ask"
    for command in (
        f"cat '{path}'",
        f"wc -l '{path}'",
        f"python x.py '{path}'",
        f"X=1 cat '{path}'",
        f"cat < '{path}'",
    ):
        assert explain_command(command, workspace, "yolo").decision == "ask", command


@each_row("path", PRIVATE_AT_HOME)
def test_private_folders_at_home_are_never_touched_unasked(workspace: Workspace, path: str) -> None:
    for tool in ("read", "write", "edit"):
        assert decided(tool, path, workspace) == "ask"
    assert explain_command(f"cat {path}", workspace, "yolo").decision == "ask"
    at_home = Workspace(workspace.home, (workspace.home,), workspace.home, workspace.own)
    assert decided("read", path, at_home) == "ask"


def test_a_quoted_pattern_names_no_file(workspace: Workspace) -> None:
    for command in ("sed -i 's/.*/x/' README.md", "perl -pe 's/[^a]*//' x", 'foo ".*" "{a,b}"'):
        assert explain_command(command, workspace, "yolo").decision == "allow", command


def test_the_shell_cannot_name_a_secret_by_a_wildcard(workspace: Workspace) -> None:
    for command in (
        "cat .e*",
        "cat .en?",
        "cat .[e]nv",
        "cat {.env,x}",
        "cat .env*",
        "cat $X/.env",
        'cat "$X"/.env.local',
    ):
        assert explain_command(command, workspace, "yolo").decision == "ask", command


@each_row(
    "path",
    [
        "/etc/passwd",
        "../x",
        "src/../../x",
        "outward/passwd",
        "outward",
        "new/../../x",
        "~/x",
        "$HOME/x",
        "/",
        "~root/x",
        "~+/../x",
        "~-/x",
        "~2/x",
    ],
)
def test_what_lies_outside_asks(workspace: Workspace, path: str) -> None:
    assert decided("read", path, workspace, "ask") == "ask"
    assert decided("write", path, workspace, "auto-edit") == "ask"


@each_row(
    "path",
    ["/dev/zero", "/proc/self/environ", "/proc/1/mem", "/sys/kernel/x", "/dev/tty", "a\0b", "a\ud800b", "\udfff", ""],
)
def test_what_is_no_file_is_refused_in_every_mode(workspace: Workspace, path: str) -> None:
    for mode in MODES:
        assert decided("read", path, workspace, mode) == "deny"
        assert decided("write", path, workspace, mode) == "deny"


def test_a_pipe_or_socket_in_the_workspace_is_refused(workspace: Workspace) -> None:
    os.mkfifo(workspace.cwd / "pipe")
    assert decided("read", "pipe", workspace) == "deny"
    assert explain_command("cat pipe", workspace, "ask").decision == "ask"


def test_a_link_counts_as_what_it_leads_to(workspace: Workspace) -> None:
    (workspace.cwd / "link.txt").symlink_to(".env")
    (workspace.cwd / "two").symlink_to("link.txt")
    (workspace.cwd / "loop").symlink_to("loop")
    assert decided("read", "two", workspace) == "ask"
    assert decided("write", "two", workspace) == "ask"
    assert explain_command("cat two", workspace, "yolo").decision == "ask"
    assert judge_path("loop", workspace, write=False).verdict == "free"


def test_a_further_folder_of_the_workspace_is_inside(workspace: Workspace, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    wider = Workspace(workspace.cwd, (workspace.cwd, other), workspace.home)
    assert decided("read", str(other / "x"), wider, "ask") == "allow"
    assert decided("write", str(other / "x"), wider, "auto-edit") == "allow"
    assert decided("write", str(other / ".git/x"), wider, "auto-edit") == "ask"


def test_a_workspace_below_a_protected_name_is_still_a_workspace(tmp_path: Path) -> None:
    inside = tmp_path / ".claude/worktrees/x"
    inside.mkdir(parents=True)
    workspace = Workspace(inside, (inside,), tmp_path / "home")
    assert decided("write", "a.py", workspace, "auto-edit") == "allow"
    assert decided("write", ".claude/x", workspace, "auto-edit") == "ask"
    boxed = replace(workspace, sandboxed=True)
    commands = (f"env -u A tool {inside}/src/x", f"env -u A tool {inside}/.claude/x", f"env -u A tool {inside}/../y")
    answers = [explain_command(each, boxed, "auto") for each in commands]
    assert [answer.decision for answer in answers] == ["allow", "ask", "ask"]


def test_a_workspace_reached_through_a_link_is_the_same_workspace(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(workspace.cwd)
    aliased = Workspace(tmp_path / "alias", (tmp_path / "alias",), workspace.home)
    assert decided("read", "README.md", aliased, "ask") == "allow"
    assert decided("read", str(workspace.cwd / "README.md"), aliased, "ask") == "allow"
    assert decided("write", ".git/x", aliased, "auto-edit") == "ask"


@each_row(
    ("tool", "given"),
    [
        ("glob", {"pattern": "../*"}),
        ("glob", {"pattern": "/etc/*"}),
        ("glob", {"pattern": "*", "path": "/etc"}),
        ("grep", {"pattern": "x", "path": ".env"}),
        ("grep", {"pattern": "x", "glob": ".env*"}),
        ("grep", {"pattern": "x", "path": "outward"}),
        ("list", {"path": ".."}),
        ("list", {"path": "~/.ssh"}),
    ],
)
def test_searches_obey_the_same_policy(workspace: Workspace, tool: str, given: dict[str, str]) -> None:
    assert explain(ToolCall("c", tool, given), Rules(), "ask", workspace).decision == "ask"


def test_searches_inside_are_free(workspace: Workspace) -> None:
    for tool, given in (
        ("glob", {"pattern": "**/*.py"}),
        ("grep", {"pattern": "x"}),
        ("grep", {"pattern": "x", "glob": "*.py"}),
        ("list", {}),
    ):
        assert explain(ToolCall("c", tool, given), Rules(), "plan", workspace).decision == "allow"


def test_a_search_through_the_tree_asks_where_it_would_read_a_secret(workspace: Workspace) -> None:
    def asks(command: str) -> bool:
        return explain_command(command, workspace, "ask").decision == "ask"

    assert not asks("grep -rn x .")
    (workspace.cwd / "src/pkg/.env").write_text("KEY=1\n")
    for command in (
        "grep -rn x .",
        "grep -r x src",
        "grep -r x",
        "rg --hidden x",
        "rg -uu x",
        "rg -g '.env' x",
        "rg -g '*' x",
        "diff -r src tests",
    ):
        assert asks(command), command
    for command in (
        "rg x",
        "grep -rn x --include='*.py' .",
        "grep -r x node_modules",
        "rg -g '*.py' x",
        "ls -R",
        "find . -type f",
    ):
        assert not asks(command), command


def test_a_home_folder_below_the_folders_of_programs_is_personal() -> None:
    workspace = Workspace(Path("/nowhere"), home=Path("/usr/share"), other_homes=(Path("/usr/lib"),))
    assert is_installed(Path("/usr/bin"), workspace)
    assert not is_installed(Path("/usr/share/.token"), workspace)
    assert not is_installed(Path("/usr/lib/.token"), workspace)
    assert is_installed(Path("/usr/share"), replace(workspace, home=Path("/")))


@pytest.fixture
def linked(tmp_path: Path) -> Workspace:
    made = make_workspace(tmp_path / "a")
    (made.cwd / "cpu").symlink_to("/proc/cpuinfo")
    (made.cwd / "env").symlink_to("/proc/self/environ")
    return made


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's files are Linux's")
@each_row(
    "command",
    [
        "cat /proc/cpuinfo | head -5",
        "grep MemTotal /proc/meminfo",
        "cat /proc/1/cgroup /proc/self/status",
        "head -3 /proc/mounts; cat /proc/net/dev",
        "cat /sys/devices/system/cpu/online",
        "awk '{print $1}' /proc/loadavg",
    ],
)
def test_what_the_kernel_tells_every_user_is_read_unasked(command: str, linked: Workspace) -> None:
    for mode in ("ask", "auto"):
        for here in (linked, replace(linked, sandboxed=True, gated=True)):
            assert explain_command(command, here, mode).decision == "allow"
    assert explain_command(command, linked, "ask", parse_rules(ask=["bash(*)"])).decision == "ask"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's files are Linux's")
@each_row(
    "command",
    [
        *(f"cat /proc/{name}" for name in (
            "1/environ", "self/environ", "self/mem", "1/cmdline", "self/maps", "self/root/etc/shadow", "self/cwd/.env", "self/fd/3", "kcore", "kmsg",
            "self/task/1/environ", "thread-self/environ", "1/../self/environ", "*/environ", "self/root/proc/self/environ", "1/auxv", "1/stack", "nothing")),
        *("cat env", "cat cpu", "ls /proc", "grep -r a /proc", "grep -r a /sys", "find /proc", "cat /proc", "ls /proc/self/fd", "cat /sys", "cat /sys/class/net/eth0/address", "cat /sys/class/net/lo/address", "cp /proc/cpuinfo ../x",
          "cat /proc/cpuinfo > /etc/x", "echo x > /proc/sysrq-trigger", "echo 1 > /sys/x", "tee /proc/self/comm", "cat /dev/sda", "cat /dev/mem"),
        *(f"cat /etc/{name}" for name in ("hosts", "hostname", "shadow", "gshadow", "sudoers", "passwd", "ssl/private/x.key", "nothing", "../etc/shadow", "shadow-")),
        *("grep -r root /etc", "cat /etc/*", "ls -la /etc/ssl/private", "cat /run/secrets/a", "cat /var/run/secrets/kubernetes.io/serviceaccount/token"),
    ],
)  # fmt: skip
def test_what_a_process_holds_and_what_names_persons_still_asks(command: str, linked: Workspace) -> None:
    for here in (linked, replace(linked, sandboxed=True, gated=True)):
        assert explain_command(command, here, "ask").decision == "ask"
    call = ToolCall("c", "read", {"path": command.rpartition(" ")[2]})
    assert explain(call, parse_rules(), "ask", linked).decision in ("ask", "deny") or "cpuinfo" in command
