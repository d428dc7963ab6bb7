"""Rules that a person wrote are obeyed as written; the caution about options belongs to rules that agentcli proposes."""

from __future__ import annotations

import pytest

from agentcli.core.message import ToolCall
from agentcli.permissions.decide import Decision
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules, parse_rules, proposed_rules
from tests.permissions.corpus import make_workspace
from tests.permissions.deciding import explain
from tests.tables import each_row


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return make_workspace(tmp_path_factory.mktemp("written"))


def judged(rules: Rules, command: str, workspace: Workspace) -> Decision:
    return explain(ToolCall("c", "bash", {"command": command}), rules, "ask", workspace)


@each_row(
    ("rule", "command"),
    [
        ("npm test *", "npm test x"),
        ("npm test:*", "npm test src/app/page.test.ts --reporter ./node_modules/x"),
        ("gcc *", "gcc -o build/a a.c -Iinclude -DX='a b' -fuse-ld=lld"),
        ("hg commit *", "hg commit -m x"),
        ("pytest *", "pytest /opt/x -o addopts= -p no:cacheprovider"),
        ("make *", "make -C src CFLAGS='-O2 -g' DESTDIR=/opt/x install"),
        ("go *", "go build -ldflags '-s -w' -o /opt/x/a ./..."),
        ("cp *", "cp README.md /opt/x/README.md"),
        ("jest *", "jest --config src/jest.config.js"),
        ("git commit *", "git commit -m 'run sh -c x' -C HEAD"),
        ("gcc -wrapper *", "gcc -wrapper ./x a.c"),
        ("gcc *", 'for f in src/a src/b; do gcc "$f.c" -o "$f"; done'),
        ("npm test *", "CI=1 FORCE_COLOR=0 npm test"),
    ],
)
def test_a_rule_that_a_person_wrote_covers_what_it_matches(workspace: Workspace, rule: str, command: str) -> None:
    for origin in ("config", "flag", "your answers", "session"):
        rules = parse_rules([f"bash({rule})"], origin=origin)
        assert judged(rules, command, workspace).decision == "allow", origin


@each_row(
    ("rule", "command", "named"),
    [
        ("gcc *", "gcc -wrapper ./x a.c", "-wrapper"),
        ("cmake *", "cmake -E env ./x", "-E"),
        ("npm *", "npm run build --script-shell ./x", "--script-shell"),
        ("npx *", "npx jest --runner ./x", "--runner"),
        ("tar *", "tar cf a.tar src --use-compress-program=./x", "--use-compress-program"),
        ("find *", "find . -name x -exec ./x '{}' \\;", "-exec"),
        ("git *", "git -c core.pager=./x log", "-c"),
        ("git fetch *", "git fetch --upload-pack=./x", "--upload-pack"),
        ("python3 *", "python3 -c 'import os; os.system(\"/bin/sh\")'", "/bin/sh"),
        ("tracker *", "tracker list --with '/bin/sh -c x'", "--with"),
        ("make *", "make SHELL=./x", "SHELL"),
        ("jest *", "jest --config /opt/x/jest.config.js", "--config"),
        ("NODE_OPTIONS=* node *", "NODE_OPTIONS=--require=./x node a.js", ""),
        ("npm test *", "NODE_OPTIONS=--require=./x npm test", ""),
        ("npm test *", "PATH=x npm test", ""),
    ],
)
def test_an_option_that_is_known_to_start_a_program_asks_and_says_so(
    workspace: Workspace, rule: str, command: str, named: str
) -> None:
    decision = judged(parse_rules([f"bash({rule})"]), command, workspace)
    assert decision.decision == "ask"
    assert named in decision.why


def test_what_always_asks_asks_under_a_rule_that_a_person_wrote(workspace: Workspace) -> None:
    for rule, command in (("rm *", "rm -rf ~"), ("cp *", "cp x .git/hooks/pre-commit"), ("dd *", "dd of=/dev/sda")):
        assert judged(parse_rules([f"bash({rule})"]), command, workspace).decision == "ask"


def test_a_proposed_rule_covers_only_words_of_its_kind(workspace: Workspace) -> None:
    for rule, command in (("gcc *", "gcc -o build/a a.c"), ("npm test *", "npm test --prefix x"), ("cp *", "cp x /y")):
        assert judged(proposed_rules([f"bash({rule})"]), command, workspace).decision == "ask"
