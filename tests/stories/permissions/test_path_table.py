"""Two hundred and more paths, each with what every file tool must say of it in every mode."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules
from tests.permissions.corpus import make_workspace
from tests.permissions.deciding import explain, explain_command
from tests.tables import each_row

# {w} is the workspace and {n} its name, {h} the home folder, {top} what holds both.
FREE = """
README.md ./README.md src/a src/pkg/a.py src/../README.md src/./pkg/../pkg/a.py src//pkg//a.py {w}/README.md {w}/src/../README.md
filelink deep/a.py abs/pkg/a.py src/up/README.md new.txt new/dir/file.txt dangling .env.example src/.env.example .gitignore .gitattributes
.github/x.yml .npmrc .editorconfig .dockerignore src/environment.ts env envrc git/hooks .gitkeep .gitlab-ci.yml .husky/pre-commit
agents.txt claude/x vscode.json Makefile package.json {w} . ./ src src/ src/. -rf a%20b %2e%2e/x ..foo ... ..../x a..b foo/..bar .hidden
venv .venv venv.py src/venv.txt node_modules/x/index.js .bin/x src/.bin/x made.txt
.config/x file:x ~x x~ a:b {w}/./src/ {w}//README.md @README.md README.md: src/pkg/a.py/ file:///etc/hosts .envoy.example/../a
"""
OUTSIDE = """
../x .. ../ ../work2/x ../workx/a {top}/workx/a {w}/../x /etc/hosts /etc /tmp/x / // /root/x outward outward/hosts filelinkout danglingout
chain1/x chain1 homelink homelink/x ~/x ~ ~/ $HOME/x ${{HOME}}/x {h}/x src/../../x src/pkg/../../../x ./../x src/up/../x ../{n}/../x ../../x
/etc/../etc/hosts {top}/work2 {top}/wor /home ~root/x
"""
SECRET = """
.env ./.env .ENV .Env .env.local .env.production src/.env .env/ .env/x .env. .envx src/../.env envlink {w}/.env .env.example/../.env
{h}/.ssh/id_rsa ~/.ssh/id_rsa ~/.SSH/id_rsa ~/.aws/credentials ~/.netrc ~/.gnupg/x ~/.config/git/x ~/.config/agentcli/x
~/.local/share/agentcli/x ~/.config/gh/hosts.yml ~/.kube/config ~/.docker/config.json ~/.git-credentials ~/.npmrc ~/.pypirc ~/.azure/x
~/.config/gcloud/x $HOME/.ssh/id_rsa ${{HOME}}/.aws/x homelink/.ssh/x sshlink sshlink/id_rsa ~/x/../.ssh/y {h}/.ssh ~/.ssh ~/.ssh/ .envrc
.ENVRC src/.envrc .env.example.local .env~ .env.bak .environment-not?
"""
PROTECTED = """
.git .git/config .git/hooks/pre-commit .GIT/config .Git/hooks/x .git/hooks/ .git/. .git//config ./.git/x src/../.git/config inward
inward/config githooks/x githooks danglinghook .gitmodules .gitconfig .agentcli/x .claude/settings.json .codex/x .gemini/x .cursor/x
.vscode/tasks.json .VSCODE/x vscode/x .idea/x .devcontainer/x .mcp.json AGENTS.md agents.md Agents.MD src/AGENTS.md CLAUDE.md GEMINI.md
src/CLAUDE.md .bashrc .zshrc .profile .bash_profile .zshenv .inputrc .ripgreprc .ripgreprc/ new/.git/hooks/x new/.vscode/x .git:x .git./x
git~1/hooks/x .claude .vscode src/.git/config .bash_aliases .kshrc config.fish {w}/.git/config src/up/.git/config .git/../.git/config
abs/../.git/config .GITMODULES .Bashrc .venv/bin/pip .venv/lib/python3/site-packages/x.pth venv/bin/x .VENV/bin/x src/venv/pyvenv.cfg
node_modules/.bin/tsc src/node_modules/.bin/x node_modules/.BIN/x made/bin/python made/lib/x.pth madelink/x
"""
REFUSED = """
/proc/self/environ /proc/1/environ /proc/self/root/etc/hosts /proc/self/cwd/README.md /proc/self/fd/0 /dev/fd/0 /dev/stdin /dev/zero
/dev/null /dev/tty /dev/sda /dev/shm/x /sys/class/x /proc /dev /sys fifo sock proclink devlink nulllink /proc/1/cmdline
/proc/../proc/self/mem ./fifo src/up/fifo //proc/self/environ /dev/../dev/zero
"""
ODD = {
    "free": ("a b", " README.md", "README.md ", "my folder/x", "x" * 300, "d/" * 600 + "x"),
    "secret": (
        ".env ",
        " .env",
        ".env\u200b",
        ".e\u200dnv",
        "\uff0eenv",
        ".env\u202e",
        ".env\n",
        ".g\u200bit/config",
        ".git\u00ad/x",
        "a\nb",
    ),
    "protected": (".git ", " .git/x"),
    "refused": ("a\0b", "\0"),
    "outside": (),
}
# read in mode ask, write in auto-edit, edit in yolo, read in yolo
EXPECTED = {
    "free": ("allow", "allow", "allow", "allow"),
    "outside": ("ask", "ask", "allow", "allow"),
    "secret": ("ask", "ask", "ask", "ask"),
    "protected": ("allow", "ask", "ask", "allow"),
    "refused": ("deny", "deny", "deny", "deny"),
}
TEXTS = {"free": FREE, "outside": OUTSIDE, "secret": SECRET, "protected": PROTECTED, "refused": REFUSED}
FIELDS = {"read": "file_path", "write": "file_path", "edit": "file_path", "multi_edit": "file_path", "list": "path", "glob": "path", "grep": "path"}  # fmt: skip


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    top = tmp_path_factory.mktemp("paths")
    workspace = make_workspace(top)
    work, home = workspace.cwd, workspace.home
    links = {
        "loop": "loop", "dangling": "nowhere", "danglingout": "/nowhere/x", "danglinghook": ".git/hooks/new", "filelink": "README.md",
        "filelinkout": "/etc/hostname", "envlink": ".env", "src/up": "..", "homelink": home, "sshlink": home / ".ssh", "deep": "src/pkg",
        "abs": work / "src", "chain1": "chain2", "chain2": "/etc", "proclink": "/proc/self/environ", "devlink": "/dev/zero",
        "madelink": "made/bin", "nulllink": "/dev/null", "githooks": ".git/hooks", "vscode": ".vscode",
    }  # fmt: skip
    for name, target in links.items():
        (work / name).symlink_to(target)
    for folder in ("work2", "workx"):
        (top / folder).mkdir()
    (work / ".env").write_text("")
    (work / "made/bin").mkdir(parents=True)
    (work / "made/pyvenv.cfg").write_text("")
    os.mkfifo(work / "fifo")
    with socket.socket(socket.AF_UNIX) as local:
        here = Path.cwd()
        os.chdir(work)  # the name of a socket must be short
        try:
            local.bind("sock")
        finally:
            os.chdir(here)
        yield workspace


def said(tool: str, path: str, mode: Mode, workspace: Workspace) -> str:
    given = {FIELDS[tool]: path} | {"glob": {"pattern": "*"}, "grep": {"pattern": "x"}, "write": {"content": ""}}.get(
        tool, {}
    )
    return explain(ToolCall("c", tool, given), Rules(), mode, workspace).decision


def paths(kind: str, workspace: Workspace) -> list[str]:
    named = (
        TEXTS[kind].format(w=workspace.cwd, h=workspace.home, top=workspace.cwd.parent, n=workspace.cwd.name).split()
    )
    return [*named, *ODD[kind]]


def test_there_are_enough_paths(workspace: Workspace) -> None:
    assert sum(len(paths(kind, workspace)) for kind in TEXTS) >= 250


@each_row("kind", TEXTS)
def test_every_tool_says_of_every_path_what_its_kind_demands(workspace: Workspace, kind: str) -> None:
    for path in paths(kind, workspace):
        got = (
            said("read", path, "ask", workspace),
            said("write", path, "auto-edit", workspace),
            said("edit", path, "yolo", workspace),
            said("read", path, "yolo", workspace),
        )
        assert got == EXPECTED[kind], path
        assert said("list", path, "ask", workspace) == said("grep", path, "ask", workspace) == got[0], path
        assert said("multi_edit", path, "plan", workspace) == "deny", path
        assert said("write", path, "ask", workspace) == ("deny" if kind == "refused" else "ask"), path


@each_row("kind", TEXTS)
def test_a_recognised_shell_read_is_judged_like_the_read_tool(workspace: Workspace, kind: str) -> None:
    for path in paths(kind, workspace):
        if any(letter in path for letter in "$~\0\n'") or not path.strip().isascii() or path.startswith("-"):
            continue
        for command in (f"cat '{path}'", f"head -n 5 -- '{path}'", f"grep -n x '{path}'"):
            asked = explain_command(command, workspace, "ask").decision
            # The shell has no file tool to refuse: what is no file is asked about.
            wanted = "allow" if EXPECTED[kind][0] == "allow" or path == "/dev/null" else "ask"
            assert asked == wanted, command
