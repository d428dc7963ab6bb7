from pathlib import Path

import pytest

from agentcli.core.message import ToolCall
from agentcli.permissions.decide import Decision
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules
from tests.permissions.corpus import commands, make_workspace
from tests.permissions.deciding import explain, with_rule
from tests.tables import each_row

CASES = [tuple(line.split("\t")) for line in commands("wildcards.txt")]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return make_workspace(tmp_path_factory.mktemp("covered"))


def bash(command: str) -> ToolCall:
    return ToolCall("c", "bash", {"command": command})


def judged(rule: str, command: str, workspace: Workspace) -> Decision:
    return with_rule(f"bash({rule})", bash(command), workspace)


def offered(command: str, workspace: Workspace) -> tuple[str, ...]:
    return explain(bash(command), Rules(), "ask", workspace).prefixes


def test_a_wildcard_covers_words_of_the_same_kind(workspace: Workspace) -> None:
    ordinary = [(rule, command) for rule, command, verdict in CASES if verdict == "covered"]
    assert len(ordinary) > 100
    assert [pair for pair in ordinary if judged(*pair, workspace).decision != "allow"] == []


def test_a_wildcard_covers_no_program_no_other_place_and_no_configuration(workspace: Workspace) -> None:
    others = [(rule, command) for rule, command, verdict in CASES if verdict == "asks"]
    assert len(others) > 120
    assert [pair for pair in others if judged(*pair, workspace).decision == "allow"] == []


def test_the_reason_names_what_is_not_covered(workspace: Workspace) -> None:
    assert "SHELL=" in judged("make *", "make SHELL=./x", workspace).why
    assert "--python-executable" in judged("mypy *", "mypy --python-executable ./x src", workspace).why
    assert "outside the workspace" in judged("pytest *", "pytest /opt/x", workspace).why


@each_row(
    ("approved", "rule", "covered", "asks"),
    [
        ("make -C src test", "make -C src *", "make -C src lint", "make -C / lint"),
        ("mypy --config-file x.ini src", "mypy --config-file x.ini *", "mypy --config-file x.ini tests", "mypy --config-file y.ini src"),
        ("cargo test --manifest-path src/Cargo.toml", "cargo test --manifest-path src/Cargo.toml *",
         "cargo test --manifest-path src/Cargo.toml --release", "cargo test --config x=1"),
        ("make CC=clang", "make CC=clang *", "make CC=clang test", "make CC=./x test"),
        ("pytest -q tests", "pytest *", "pytest -x tests", "pytest -c x.ini"),
    ],
)  # fmt: skip
def test_an_option_of_the_approved_command_stays_covered(
    workspace: Workspace, approved: str, rule: str, covered: str, asks: str
) -> None:
    assert offered(approved, workspace) == (f"bash({rule})",)
    assert judged(rule, approved, workspace).decision == "allow"
    assert judged(rule, covered, workspace).decision == "allow"
    assert judged(rule, asks, workspace).decision == "ask"


def test_what_the_rule_names_itself_is_covered(workspace: Workspace) -> None:
    assert judged("make CC=* test", "make CC=./x test", workspace).decision == "allow"
    assert judged("mypy * --config-file=x.ini", "mypy src --config-file=x.ini", workspace).decision == "allow"
    assert judged("mytool --out=/srv/*", "mytool --out=/srv/x", workspace).decision == "allow"
    assert judged("mytool /srv/*", "mytool /srv/../etc/x", workspace).decision == "ask"


@each_row(
    ("command", "decision"),
    [
        ("mytool build", "allow"),
        ("mytool build src/pkg --verbose", "allow"),
        ("mytool build --jobs=4", "allow"),
        ("mytool build --quiet src", "allow"),
        ("mytool build --fast", "allow"),
        ("mytool build --with ./x", "ask"),
        ("mytool build --with=./x", "ask"),
        ("mytool build -B./x", "ask"),
        ("mytool build HOOK=./x", "ask"),
        ("mytool build outward", "ask"),
        ("mytool build ../x", "ask"),
        ("mytool build @x", "ask"),
        ("mytool exec x", "ask"),
        ("mytool build https://example.org/x", "ask"),
    ],
)
def test_of_an_unknown_program_only_plain_words_and_bare_options_are_covered(
    workspace: Workspace, command: str, decision: str
) -> None:
    assert judged("mytool *", command, workspace).decision == decision


def test_a_file_whose_name_is_an_option_is_not_covered_by_a_pattern(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (workspace.cwd / "a.js").touch()
    assert judged("eslint *", "eslint *.js", workspace).decision == "allow"
    (workspace.cwd / "--rulesdir=x.js").touch()
    assert judged("eslint *", "eslint *.js", workspace).decision == "ask"


INSIDE = """
cd src && touch ../x; cd src && mkdir -p ../a; cd src/pkg && cp a.py ../../y; cd src && rm pkg/a.py; touch x; sed -i '' s/a/b/ README.md
sed -i s/a/b/ README.md; cd src && sed -i s/a/b/ pkg/a.py; cd src && mv pkg/a.py pkg/c.py
"""
OUTSIDE = """
cd src && touch ../../x; cd src/pkg && cp a.py ../../../y; cd src && mv pkg/a.py ../../c.py; mkdir /tmp/x; cp README.md outward/x
sed -i s/a/b/ /etc/hosts; sed -i '' /etc/hosts; sed -i -n '' /etc/hosts; sed -n -i '' /etc/hosts; touch .env; touch .git/x
"""


def test_a_rule_about_a_command_that_changes_files_covers_files_of_the_workspace(workspace: Workspace) -> None:
    for lines, decision in ((INSIDE, "allow"), (OUTSIDE, "ask")):
        for command in filter(None, map(str.strip, lines.replace("\n", ";").split(";"))):
            name = command.rpartition("&& ")[2].split()[0]
            assert judged(f"{name} *", command, workspace).decision == decision, command
