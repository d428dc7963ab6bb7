"""A quoted here-document inside `"$(cat <<'EOF' …)"` is text, to rules and to modes, where every shell reads it so."""

from __future__ import annotations

import subprocess

from agentcli.core.message import ToolCall
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules, parse_rule
from agentcli.permissions.shell.syntax.strict import NotPlain, read_plain
from tests.permissions.deciding import explain, explain_command, with_rule
from tests.permissions.test_decide import workspace as workspace
from tests.tables import each_row

BODIES = [
    'fix(cart): round up\n\n- it\'s "done", `really`, for $5 and $(date)\n',
    "a \\$ b \\\\ c\n\n\n",
    "don't\n",
    "EO\n F\n",
    "ünïcode ✓\n",
]


def _commit(body: str, after: str = "") -> str:
    return f"git commit -q -m \"$(cat <<'EOF'\n{body}EOF\n)\"{after}"


@each_row("body", BODIES)
def test_its_value_is_what_bash_makes_of_it(body: str) -> None:
    read = read_plain(_commit(body))
    assert not isinstance(read, NotPlain)
    shown = subprocess.run(
        ["bash", "-c", _commit(body).replace("git commit -q -m", "printf %s")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert read[0].words[-1] == shown.stdout


@each_row(
    "command",
    [
        _commit("a\nEOF\nrm -rf x\n"),  # the text ends at the first mark
        _commit("a\nEOF) rm -rf x\n"),  # and, in a substitution, at a line that begins with it
        _commit("a\n").replace("'EOF'", "EOF"),
        _commit("a ) b\n", ' && rm -rf "x"'),  # an older shell may end the substitution here
        _commit("don't\n", " && echo 'x)\"; rm -rf y; \"'"),
        _commit("a\n").replace("cat <<", "cat x <<"),
        _commit("a\n").replace("cat <<", "sh <<"),
    ],
)
def test_what_a_shell_may_read_otherwise_is_not_text(command: str) -> None:
    assert isinstance(read_plain(command), NotPlain)


def test_a_rule_about_commits_covers_it_and_one_that_denies_is_not_met_by_its_words(workspace: Workspace) -> None:
    call = ToolCall("c", "bash", {"command": _commit("never `git push` from here\n")})
    assert with_rule("bash(git commit:*)", call, workspace).decision == "allow"
    assert "bash(git commit *)" in explain(call, Rules(), "ask", workspace).prefixes
    deny = Rules(allow=(parse_rule("bash(git commit:*)"),), deny=(parse_rule("bash(git commit *)"),))
    assert explain(call, deny, "ask", workspace).decision == "deny"


OFFERED = {
    "mise run lint -- --fix": ["bash(mise run lint *)"],
    "just check": ["bash(just check *)"],
    "task build": ["bash(task build *)"],
    "make lint": ["bash(make lint *)"],
    "npm run check": ["bash(npm run check *)"],
    "pnpm --filter web test": ["bash(pnpm --filter web test *)"],
    "pnpm api:generate": ["bash(pnpm api:generate *)"],
    "gh pr view 12 --json title": ["network(github.com)"],
    "gh pr checks 12": ["network(github.com)"],
    "docker ps": ["bash(docker ps *)"],
    "docker images -a": ["bash(docker images *)"],
    "python3 -m pytest -q tests": ["bash(python3 -m pytest *)"],
    "uv run pytest -q": ["bash(uv run pytest *)"],
    "git fetch origin": ["bash(git fetch *)"],
    "git checkout -b feature": ["bash(git checkout -b *)"],
    "bd --readonly search words": ["bash(bd --readonly search *)"],
}


@each_row(("command", "rules"), OFFERED.items())
def test_a_wider_rule_names_what_is_done(command: str, rules: list[str], workspace: Workspace) -> None:
    offered = explain_command(command, workspace, "ask").prefixes
    assert list(offered) == rules
    assert all(
        with_rule(rule, ToolCall("c", "bash", {"command": command}), workspace).decision == "allow" for rule in offered
    )


@each_row(
    ("rule", "command"),
    [
        ("bash(mise run lint *)", "mise run deploy"),
        ("network(github.com)", "gh pr merge 12"),
        ("bash(docker ps *)", "docker rm x"),
        ("bash(docker ps *)", "docker -H tcp://example.org ps"),
        ("bash(gh api *)", "gh api -X DELETE repos/a/b"),
        ("bash(gh api *)", "gh api repos/a/b --method DELETE"),
        ("bash(gh api *)", "gh api repos/a/b -f x=y"),
        ("bash(git checkout -b *)", "git checkout -- ."),
        ("bash(git fetch *)", "git fetch --upload-pack ./x origin"),
        ("bash(git fetch *)", "git fetch ext::sh"),
        ("bash(python3 -m pytest *)", "python3 -m pdb x.py"),
        ("bash(uv run pytest *)", "uv run pytest -p evil"),
    ],
)
def test_it_covers_nothing_else(rule: str, command: str, workspace: Workspace) -> None:
    assert with_rule(rule, ToolCall("c", "bash", {"command": command}), workspace).decision == "ask"


@each_row(
    "command",
    [
        "git push",
        "gh pr merge 1",
        "git push --force origin x",
        "gh pr merge 2 --admin",
        "python3 -m pip install x",
        "npm install",
        "npx -y x",
        "rm x",
    ],
)
def test_none_is_offered_for_what_sends_or_runs_anything(command: str, workspace: Workspace) -> None:
    assert explain_command(command, workspace, "ask").prefixes == ()


@each_row(
    "command",
    ["git status -u", "git status -uno", "git diff --no-stat", "git show --oneline HEAD", "git fsck --no-dangling"],
)
def test_these_only_read(command: str, workspace: Workspace) -> None:
    assert explain_command(command, workspace, "ask").rule == "read-only"
