"""A command reads unasked only where the workspace does not choose its program; looks at the machine are told from looks at files."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.permissions.decide import Decision
from agentcli.permissions.git_config import GitFacts
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules, parse_rules
from agentcli.permissions.shell.command_line import analyse
from agentcli.permissions.shell.effects.reading import looks_at_machine
from agentcli.permissions.shell.syntax.strict import NotPlain, read_plain
from tests.permissions.corpus import make_workspace
from tests.permissions.deciding import explain, explain_command
from tests.system.test_programs import program
from tests.tables import each_row

SYSTEM = "/usr/local/bin:/usr/bin:/bin"


def decided(command: str, workspace: Workspace) -> Decision:
    return explain_command(command, workspace, "auto-edit")


@each_row(
    ("command", "reads"),
    [
        ("python -m pip list", True),
        ("cd src && python3 -m pip show x", True),
        ("python -m pip cache dir | head", True),
        ("[ -f README.md ] && python -m pip check", True),
        ("python -m pip list --log x", False),
        ("python -m pip config list", False),
        ("python -m pip install --no-index x", False),
        ("python -m json.tool package.json", False),
        ("python -m pipx list", False),
        ("python x.py -m pip list", False),
    ],
)
def test_a_module_is_its_program_only_where_a_sandbox_holds_what_the_folder_has_in_its_place(
    tmp_path: Path, command: str, reads: bool
) -> None:
    workspace = make_workspace(tmp_path)
    assert decided(command, workspace).decision == "ask"
    assert (decided(command, replace(workspace, sandboxed=True)).rule == "read-only") == reads


@each_row("entry", [".", "", "./node_modules/.bin", "WORK/node_modules/.bin", "LINK"])
def test_a_reader_that_the_workspace_brings_asks_and_says_where_it_lies(tmp_path: Path, entry: str) -> None:
    workspace = make_workspace(tmp_path)
    folder = workspace.cwd if entry in (".", "") else workspace.cwd / "node_modules/.bin"
    program(folder, "ls")
    (tmp_path / "link").symlink_to(folder)
    entry = entry.replace("WORK", str(workspace.cwd)).replace("LINK", str(tmp_path / "link"))
    workspace = replace(workspace, path=f"{entry}:{SYSTEM}")
    for command in ("ls", "cat README.md && ls -la", "ls | wc -l"):
        found = decided(command, workspace)
        assert (found.decision, "a program in the workspace" in found.why) == ("ask", True), command
    assert decided("cat README.md", workspace).decision == "allow"
    assert decided("echo ls", workspace).decision == "allow"


def test_a_name_that_leads_into_the_workspace_from_outside_asks(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/jq").symlink_to(program(workspace.cwd / "tools", "jq"))
    assert decided("jq . package.json", replace(workspace, path=f"{tmp_path}/bin:{SYSTEM}")).decision == "ask"


def test_an_active_virtual_environment_of_the_workspace_is_no_reader(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    for name in ("pip", "python"):
        program(workspace.cwd / ".venv/bin", name)
    workspace = replace(workspace, path=f"{workspace.cwd}/.venv/bin:{SYSTEM}")
    for command in (
        "pip list",
        "pip --version",
        "python --version",
        "which python",
        "command -v pip",
        "type -a python",
    ):
        assert decided(command, workspace).decision == "ask", command
    assert decided("which git", workspace).decision == "allow"
    assert decided("git log", workspace).decision == "allow"


def test_relative_entries_are_seen_from_each_folder_that_a_command_may_be_in(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    program(workspace.cwd / "src/bin", "ls")
    workspace = replace(workspace, path=f"bin:{SYSTEM}")
    assert decided("ls", workspace).decision == "allow"
    assert decided("cd src && ls", workspace).decision == "ask"


@each_row(
    "choice",
    [".tool-versions", "mise.toml", ".mise.toml", ".python-version", ".node-version", ".ruby-version", "package.json"],
)
def test_a_file_that_chooses_what_a_shim_starts_makes_it_ask(tmp_path: Path, choice: str) -> None:
    workspace = make_workspace(tmp_path)
    (workspace.cwd / "package.json").unlink()
    for name in ("node", "rg", "python3"):
        program(tmp_path / "asdf/shims", name)
    program(tmp_path / "volta/bin", "volta-shim")
    (tmp_path / "volta/bin/ruby").symlink_to("volta-shim")
    shims = replace(workspace, path=f"{tmp_path}/asdf/shims:{tmp_path}/volta/bin:{SYSTEM}")
    commands = ["node --version", "node -v", "ruby -v"]
    commands += [] if choice == "package.json" else ["python3 --version", "rg foo src"]
    for command in commands:
        assert decided(command, shims).decision == "allow", command
    (workspace.cwd / choice).write_text("nodejs path:./evil\n")
    for command in (*commands, "cd src && node --version"):
        found = decided(command, shims)
        assert (found.decision, choice in found.why) == ("ask", True), command
        assert decided(command, workspace).decision == "allow", f"{command}: a real program is not asked about"


def test_what_the_user_chose_for_the_whole_home_folder_does_not_nag(tmp_path: Path) -> None:
    work, home = tmp_path / "home/work", tmp_path / "home"
    work.mkdir(parents=True)
    program(home / ".asdf/shims", "node")
    (home / ".tool-versions").write_text("nodejs 22.1.0\n")
    path = f"{home}/.asdf/shims:{SYSTEM}"
    assert decided("node --version", Workspace(work, (work,), home, path=path)).decision == "allow"
    assert decided("node --version", Workspace(home, (home,), home, path=path)).decision == "ask"


@each_row(
    ("line", "expected"),
    [
        ("ps aux", "only"),
        ("ps -axo pid,ppid,%cpu,args", "only"),
        ("ps aux | grep node | head -5", "only"),
        ("ss -tln; pgrep -fl node", "only"),
        ("df -h", "only"),
        ("df -h .", "also"),
        ("ps aux; cat a.txt", "also"),
        ("cd src && ps aux", "also"),
        ("ps aux && git status", "also"),
        ("ps aux && find . -name a", "also"),
        ("cat a.txt", ""),
        ("uname -a; git status", ""),
    ],
)
def test_what_a_line_looks_at(line: str, expected: str) -> None:
    commands = read_plain(line)
    assert not isinstance(commands, NotPlain)
    assert looks_at_machine(commands) == expected


SHOWN = (
    *(
        "ls -la .env*",
        "ls -ld .env sub/.env.local 2>/dev/null",
        "[ -f .env ] && echo yes",
        "test ! -s .env",
    ),
    *("stat .env", "stat -c '%n %s' .env*", "du -ab .env", "realpath .env", "readlink -f .env", "tree -a .env"),
    *("git check-ignore -v .env", "cd sub; ls -l .env.local", "ls .??*"),
)
READ = (
    *("cat .env", "wc -c .env", "file .env", "head .env*", "cut -c1 .env", "ls -R .env | xargs cat", "cat $(ls .env)"),
    *("ls .env* | while read f; do cat $f; done", "realpath .env | xargs -n1 cat"),
    *(
        "ls .env | python3 -c 'import sys; print(open(input()).read())'",
        "ls < .env",
        "ls > .env",
        "x=$(ls .env); cat $x",
    ),
    *("du --files0-from=.env", "tree --fromfile .env", "ls ~/.ssh", "ls ~/.ssh/id*; true", "stat ~/.aws/credentials"),
)


def test_names_sizes_and_times_of_protected_files_are_shown_unasked(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (workspace.cwd / "sub").mkdir()
    for name in (".env", "sub/.env.local"):
        (workspace.cwd / name).write_text("KEY=kept-unread\n")
    for command in SHOWN:
        assert decided(command, workspace).decision == "allow", command
        ran = subprocess.run(["bash", "-c", command], cwd=workspace.cwd, capture_output=True, text=True)
        assert "kept-unread" not in ran.stdout + ran.stderr


@each_row("mode", ["ask", "auto", "yolo"])
def test_the_content_of_protected_files_asks_even_if_another_command_names_them(tmp_path: Path, mode: Mode) -> None:
    workspace = make_workspace(tmp_path)
    (workspace.cwd / ".env").write_text("KEY=kept-unread\n")
    calls = {command: ToolCall("c", "bash", {"command": command}) for command in READ}
    assert [
        command for command, call in calls.items() if explain(call, Rules(), mode, workspace).decision != "ask"
    ] == []


def test_a_link_shows_nothing_of_a_private_folder_that_it_leads_to(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (workspace.home / ".ssh").mkdir(parents=True, exist_ok=True)
    (workspace.cwd / ".env").symlink_to(workspace.home / ".ssh")
    assert decided("ls .env", workspace).decision == "ask"


def test_a_search_that_follows_links_reads_only_where_none_leads_out(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    assert decided("grep -R x -n src --exclude-dir=.git | head -3", workspace).decision == "allow"
    (workspace.cwd / "src/deep").mkdir()
    (workspace.cwd / "src/deep/out").symlink_to(tmp_path / "home")
    for command in ("grep -R x src", "grep -nR x src", "egrep --dereference-recursive x src"):
        assert decided(command, workspace).decision == "ask", command
    assert decided("grep -r x src", workspace).decision == "allow"


def test_a_find_reads_unasked_only_what_it_may_show(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    folder = workspace.cwd / "found"
    folder.mkdir()
    (folder / "a b.py").touch()
    for command in ("find found -exec cat {} \\;", "find found -name '*.py' -exec grep -n x {} +"):
        assert decided(command, workspace).decision == "allow", command
    (folder / ".git").mkdir()
    (folder / ".git/x").touch()
    assert "what git keeps" in decided("find found -exec cat {} \\;", workspace).why
    shutil.rmtree(folder / ".git")
    (folder / ".env").touch()
    assert decided("find found -name '*.py' -exec cat {} \\;", workspace).decision == "allow"
    for command in ("find found -exec cat {} \\;", "find found -name '*.py' -o -type f -exec cat {} \\;"):
        assert ".env is protected" in decided(command, workspace).why, command
    (tmp_path / "other.py").touch()
    (folder / "link.py").symlink_to(tmp_path / "other.py")
    assert "outside the workspace" in decided("find found -name '*.py' -exec cat {} \\;", workspace).why


def test_a_find_asks_if_the_workspace_brings_what_it_runs(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    program(workspace.cwd / "node_modules/.bin", "echo")
    workspace = replace(workspace, path=f"{workspace.cwd}/node_modules/.bin:{SYSTEM}")
    for command in ("find src -exec echo {} \\;", "find src -name x.py | xargs echo"):
        found = decided(command, workspace)
        assert (found.decision, "a program in the workspace" in found.why) == ("ask", True), command


def test_a_denied_file_that_find_reads_is_denied(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    rules = parse_rules(deny=["read(src/secret.py)"])
    (workspace.cwd / "src").mkdir(exist_ok=True)
    (workspace.cwd / "src/secret.py").touch()
    call = ToolCall("c", "bash", {"command": "find src -name '*.py' -exec cat {} \\;"})
    assert explain(call, rules, "ask", workspace).decision != "allow"


def test_a_reason_says_how_git_leaves_out_a_protected_file(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    facts = GitFacts("", (f"{tmp_path}/t/.env.prod",))
    workspace = Workspace(tmp_path, (tmp_path,), tmp_path, git=lambda _: facts)
    why = analyse("git log -p", workspace).readings[0].why
    assert why.endswith("is protected (with -- ':(exclude,top)t/.env.prod' at its end it is left out)")
    assert analyse("git log -p -- ':(exclude,top)t/.env.prod'", workspace).harmless
    assert not analyse("git log -p -- ':(exclude,top)t/.env'", workspace).harmless
    assert "at its end" not in analyse("git stash show -p", workspace).readings[0].why


def test_a_program_of_the_system_tells_its_version_unasked_and_no_other_does(tmp_path: Path) -> None:
    made = make_workspace(tmp_path)
    program(made.home / "bin", "mine")
    program(made.cwd / "tools", "theirs")
    workspace = replace(made, path=f"{made.home}/bin:{made.cwd}/tools:{SYSTEM}")
    for line in (
        "frob --version",
        "frob --help | head -3",
        "which frob && frob --version 2>&1 || echo none",
        "tr --help",
    ):
        assert decided(line, workspace).decision == "allow", line
    for line in (
        "mine --version",
        "theirs --help",
        "./tools/theirs --version",
        "/opt/x --version",
        "frob --version x",
        "frob x --help",
        "frob --version > ~/x",
        "frob --help; frob",
        "eval --version",
        "exec --help",
        "sudo --version",
        "env --help --version",
        "xargs frob --version",
        "PATH=tools frob --version",
        "frob() { rm x; }; frob --version",
        "$X --version",
        "bash --version x",
    ):
        assert decided(line, workspace).decision == "ask", line
