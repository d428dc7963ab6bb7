"""Patterns, loops and xargs: allowed unasked where all files that they stand for may be read."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules, parse_rules
from agentcli.permissions.shell.syntax.file_names import meanings
from agentcli.permissions.shell.syntax.strict import NotPlain, read_plain
from tests.permissions.corpus import make_workspace
from tests.permissions.deciding import NO_RULES, explain_command
from tests.tables import each_row


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = make_workspace(tmp_path)
    (workspace.cwd / "outward").unlink()
    (workspace.cwd / "inward").unlink()
    (workspace.cwd / ".env").write_text("KEY=1\n")
    return workspace


def decided(command: str, workspace: Workspace, rules: Rules = NO_RULES) -> str:
    return explain_command(command, workspace, "ask", rules).decision


@each_row(
    "command",
    [
        *("ls *.md", "wc -l src/pkg/*.py", "grep text src/pkg/*.py", "cat src/*/?.py", "head -3 *.md", "ls *.none"),
        *("cd src && wc -l pkg/*.py", "ls -la ./src/pkg/*.py | head -3", "sort src/pkg/a*"),
        'for f in src/pkg/*.py; do wc -l "$f"; done',
        'for f in src/pkg/*.py; do echo "== $f"; head -5 "$f"; done | tail -3',
        'for d in src tests; do ls "$d"; done && ls',
        'for f in a b\ndo\n  grep -n text "src/pkg/${f}.py"\ndone',
        "find src -name '*.py' | xargs wc -l",
        "find src -name '*.py' | xargs grep -l text",
        "find src -type f -print0 | xargs -0 wc -l",
        "find src -name '*.py' | sort | head -5 | xargs -I'{}' head -3 '{}'",
        "rg -l text src | xargs head -3",
        "grep -rl text src | grep -v b.py | xargs cat",
    ],
)
def test_what_stands_for_readable_files_is_read_unasked(workspace: Workspace, command: str) -> None:
    assert decided(command, workspace) == "allow"


@each_row(
    "command",
    [
        *(
            "cat .e*",
            "cat .*",
            "ls .?",
            "cat .?/x",
            "ls ..*",
            "ls src/.?",
            "head -1 .env*",
            "cat /etc/*",
            "ls ../*",
            "rm *.md",
            "touch *.x",
            "l* x",
            "cat src/pkg/* > x",
        ),
        *("sort -o x src/pkg/*.py", "python3 *.py", "*", "./*.sh", "find . -name *.py -delete", "tee *.md", "cd s*"),
        *('for f in *.py; do rm "$f"; done', 'for f in /etc/*; do cat "$f"; done', 'for f in .env; do cat "$f"; done'),
        *(
            'for f in src; do cd "$f"; done',
            "for PATH in x; do ls; done",
            "for f in *; do $f; done",
            'for f in *; do "$f"; done',
        ),
        *(
            'for f in a; do cat "$f"; done; cat "$f"',
            'for f in $(ls); do cat "$f"; done',
            'for f in a; do cat "/etc/$f"; done',
        ),
        *(
            'for f in ../a; do cat "$f"; done',
            'for f in a; do for g in b; do ls "$g"; done; done',
            "for f in a; do ls; done > x",
        ),
        *(
            "xargs cat",
            "ls | xargs cat",
            "echo .env | xargs cat",
            "cat list | xargs cat",
            "find . | xargs cat",
            "git ls-files | xargs rm",
        ),
        *(
            "find src | xargs rm",
            "find src | xargs sh -c 'ls'",
            "find src | xargs -I{} {} x",
            "find src -printf x | xargs cat",
        ),
        *(
            "find src | sed s/a/b/ | xargs cat",
            "find src | xargs sort -o",
            "find src | xargs xargs cat",
            "find src && xargs cat",
        ),
        *(
            "grep text src/pkg/a.py | xargs cat",
            "find src | xargs -a .env cat",
            "find ~ | xargs cat",
            "find src | cut -c2- | xargs cat",
        ),
    ],
)
def test_what_may_stand_for_anything_else_asks(workspace: Workspace, command: str) -> None:
    assert decided(command, workspace) == "ask"


def test_the_names_of_files_are_looked_up_before_they_are_believed(workspace: Workspace) -> None:
    pkg = workspace.cwd / "src/pkg"
    assert decided("sort src/pkg/*", workspace) == "allow"
    (pkg / "link.py").symlink_to("/etc/passwd")
    for command in ("cat src/pkg/*.py", 'for f in src/pkg/*; do cat "$f"; done', "find src | xargs cat"):
        assert decided(command, workspace) == "ask", command
    (pkg / "link.py").unlink()
    assert decided("cd src/pkg && sort *", workspace) == "allow"
    (pkg / "-ox").write_text("")
    for command in (
        "cd src/pkg && sort *",
        "cd src/pkg && find . | xargs sort",
        'cd src/pkg && for f in *; do sort "$f"; done',
    ):
        assert decided(command, workspace) == "ask", command
    (pkg / "-ox").unlink()
    (pkg / "a b.py").write_text("")
    assert decided("cat src/pkg/*.py", workspace) == "allow"
    assert decided("find src | xargs cat", workspace) == "ask", "xargs takes the name for two"


def test_a_path_that_is_denied_is_denied_behind_a_pattern(workspace: Workspace) -> None:
    rules = parse_rules(deny=["read(src/pkg/b.py)"])
    assert decided("cat src/pkg/a.py", workspace, rules) == "allow"
    for command in ("cat src/pkg/*.py", 'for f in src/pkg/*; do head "$f"; done', "find src -name '*.py' | xargs cat"):
        assert decided(command, workspace, rules) != "allow", command


def test_the_shell_finds_no_name_that_was_not_looked_up(workspace: Workspace) -> None:
    pkg = workspace.cwd / "src/pkg"
    for name in (".hidden", "a b.py", "-x", "é.py", "[a].py", "A.PY", "sub/c.py"):
        (pkg / name).parent.mkdir(exist_ok=True)
        (pkg / name).write_text("")
    patterns = (
        "*",
        "*.py",
        "?.py",
        "*/*",
        "**/*.py",
        "./*",
        "s*/?.p*",
        "-*",
        "*b*",
        "'a '*",
        '"["*',
        "*.none",
        "sub/*",
    )
    for pattern in patterns:
        read = read_plain(f"printf {pattern}")
        assert not isinstance(read, NotPlain)
        known = meanings(read[0], [pkg], replace(workspace, cwd=pkg))
        assert not isinstance(known, str)
        script = f"printf '%s\\0' {pattern}"
        bash = ["bash", "--noprofile", "--norc", "-c", script]
        found = subprocess.run(bash, cwd=pkg, capture_output=True, text=True, check=True).stdout.split("\0")[:-1]
        assert set(found) <= set(known[0][1:]), pattern


@each_row(
    ("command", "decision"),
    [
        ("find src | xargs -I{} cat {}", "ask"),
        ("find src | xargs -I'{}' cat '{}'", "allow"),
        ("find src | xargs -I X cat X", "allow"),
        ("find src | xargs -n 1 cat", "allow"),
        ("find src | xargs -n1 -P4 cat", "allow"),
        ("find src | xargs -P 4 -r cat", "allow"),
        ("find src -print0 | xargs --null --no-run-if-empty cat", "allow"),
        ("find src | xargs -nx cat", "ask"),
        ("find src | xargs -a list cat", "ask"),
        ("find src | xargs -n", "ask"),
        ("find src | xargs -I", "ask"),
        ("rg --files src | xargs cat", "allow"),
        ("rg --files | xargs cat", "ask"),
        ("rg --files --hidden src | xargs cat", "ask"),
        ("rg src | xargs cat", "ask"),
        ("rg -n text src | xargs cat", "ask"),
        ("rg -li text src | xargs cat", "allow"),
        ("rg -lv text src | xargs cat", "ask"),
        ("grep -l text src | xargs cat", "allow"),
        ("grep -l --include=*.py text src | xargs cat", "allow"),
        ("grep -rl text | xargs cat", "ask"),
        ("grep -rl | xargs cat", "ask"),
        ("find src | head -n 3 | xargs cat", "allow"),
        ("find src | tail 3 | xargs cat", "allow"),
        ("find src | head x | xargs cat", "ask"),
        ("find src | sort 3 | xargs cat", "ask"),
        ("find src | grep b | xargs cat", "allow"),
        ("find src | grep b c | xargs cat", "ask"),
        ("find src | grep -o b | xargs cat", "ask"),
        ("find src | sort --reverse | xargs cat", "ask"),
        ("find src | sort -u | xargs cat", "allow"),
        ("find src; sort | xargs cat", "ask"),
        ("ls && xargs cat", "ask"),
        ("find src -ls | xargs cat", "ask"),
        ("find src src/pkg -name x | xargs cat", "allow"),
        ("find -name x | xargs cat", "ask"),
        ("find src .. -name x | xargs cat", "ask"),
        ("git ls-files -o | xargs cat", "ask"),
        ("git status | xargs cat", "ask"),
    ],
)
def test_only_commands_that_list_readable_files_feed_a_reader(
    command: str, decision: str, workspace: Workspace
) -> None:
    assert decided(command, workspace) == decision
