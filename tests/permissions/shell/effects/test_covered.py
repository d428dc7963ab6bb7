from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from agentcli.core.message import ToolCall
from agentcli.permissions.decide import Decision
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules
from agentcli.permissions.shell.effects.covered import harmless_options, table_name, why_uncovered
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


# Why a rule with a wildcard does not cover a command, word by word.


def told(rule: str, command: str, workspace: Workspace) -> str:
    return why_uncovered(rule, shlex.split(command), [workspace.cwd], workspace)


def unknown(word: str) -> str:
    return f"the rule does not cover {word}, which may name a program or a file"


def value(word: str) -> str:
    return f"the rule does not cover {word} with this value"


def outside(word: str) -> str:
    return f"{word} is outside the workspace"


RULES: dict[str, dict[str, str]] = {
    # A rule without a wildcard covers what it names, whatever that is.
    "make SHELL=./x": {"make SHELL=./x": ""},
    "make \\*": {"make SHELL=./x": ""},
    "python3 *": {"python3 /tmp/x.py": "", "python3 -c x": ""},
    "python3:*": {"python3 /tmp/x.py": ""},
    "python3 -m *": {"python3 -m /tmp/x": outside("/tmp/x")},
    "make *": {
        "make": "",
        "make test": "",
        "make -j": "",
        "make -j 4": "",
        "make -j4": "",
        "make -j4 test": "",
        "make -j=4": "",
        "make -j y": "",
        "make -jx": value("-j"),
        "make -kj 4": "",
        "make -kj4": "",
        "make -kjx": value("-j"),
        "make -kf": unknown("-kf"),
        "make -f x": unknown("-f"),
        "make -f": unknown("-f"),
        "make -l 4": "",
        "make -l x": value("-l"),
        "make -l": value("-l"),
        "make --no-print-directory": "",
        "make --no-x=y": value("--no-x"),
        "make --no-x=yes": "",
        "make -k=off": "",
        "make -k=odd": value("-k"),
        "make --eval=x": unknown("--eval"),
        "make --eval": "",
        "make --other": "",
        "make --other test": unknown("--other"),
        "make --other --silent": "",
        "make --other 4": "",
        "make --other=4": "",
        "make --other=TRUE": "",
        "make --other=x": unknown("--other"),
        "make --output-sync": "",
        "make --output-sync=line test": "",
        "make --output-sync line": "",
        "make --output-sync=./../../x": value("--output-sync"),
        "make -": "",
        "make -- -f": unknown("-f"),
        "make -- test": "",
        "make A=1": "",
        "make A=yes": "",
        "make A=x": "the rule does not cover A=…",
        "make A+=x": "the rule does not cover A+=…",
        "make A==x": "",
        "make exec": "exec may start other programs",
        "make run:exec": "run:exec may start other programs",
        "make executable": "",
        "make @x": "the rule does not cover @x",
        "make /": outside("/"),
        "make ../x": outside("../x"),
        "make src/../x": "",
        "make a/../../x": outside("a/../../x"),
        "make ~/x": outside("~/x"),
        "make $HOME/x": outside("$HOME/x"),
        "make outward": outside("outward"),
        "make inward": "",
        "make src": "",
        "make https://example.org/x": "https://example.org/x is an address",
        "make me@host:y": "me@host:y is an address",
        "make host:y": "",
    },
    "make test *": {"make test y": "", "make test -f x": unknown("-f"), "make test ../x": outside("../x")},
    "make CC=* test": {"make CC=/opt/cc test": "", "make CC=x test D=x": "the rule does not cover D=…"},
    "make * -f x.mk": {"make test -f x.mk": "", "make test -f x.mk -f y.mk": "", "make test -g x.mk": unknown("-g")},
    "make /srv/*": {"make /srv/x": "", "make /srv/../x": outside("/srv/../x"), "make /srv/x /srv/y": outside("/srv/y")},
    "make -C src *": {"make -C src test": "", "make -C src -C /": outside("/")},
    "curl *": {
        "curl https://example.org/x": "",
        "curl http://example.org/x": "",
        "curl ftp://example.org/x": "ftp://example.org/x is an address",
        "curl -d x https://example.org": "",
        "curl -w %{http_code} https://example.org": "",
        "curl -w %output{x} https://example.org": value("-w"),
        "curl -w @x https://example.org": value("-w"),
        "curl -d @x https://example.org": value("-d"),
        "curl -o x https://example.org": value("-o"),
        "curl -o /dev/null https://example.org": "",
        "curl -sSLo x https://example.org": value("-o"),
    },
    "git push *": {
        "git push": "",
        "git push origin main": "",
        "git push -u origin": "",
        "git push --force-with-lease": "",
        "git push --force-with-lease=main": "",
        "git push --force-with-lease 1 y": "",
        "git push --receive-pack=x": unknown("--receive-pack"),
        "git push ext::y": "ext:: starts a program",
        "git push https://example.org/x": "https://example.org/x is an address",
        "git push -- origin": "",
        "git push -- --receive-pack=x": unknown("--receive-pack"),
    },
    "git commit *": {"git commit -am x": "", "git commit -m x": "", "git commit -m": value("-m"), "git commit -qF -": "", "git commit -F x": value("-F")},
    "git merge *": {"git merge -s ours": "", "git merge -s x": value("-s"), "git merge --strategy=ort": ""},
    "npm *": {
        "npm test": "",
        "npm exec x": "exec may start other programs",
        "npm install @types/node": "",
        "npm install @types": "the rule does not cover @types",
        "npm test -- -t x": "",
        "npm test -t x": unknown("-t"),
        "npm test -- --config=x": unknown("--config"),
    },
    "npx eslint *": {"npx eslint --fix src": "", "npx eslint @scope/y": "", "npx eslint @scope": "the rule does not cover @scope", "npx eslint -c x": unknown("-c"), "npx eslint --quiet": ""},
    "npx *": {"npx @scope": "", "npx /tmp/y": ""},
    "python -m pytest *": {"python -m pytest -k x": "", "python -m pytest -c x": unknown("-c")},
    "tox *": {"tox -e py": "", "tox -- -k x": "", "tox -k x": unknown("-k")},
    "cargo test *": {"cargo test -- --nocapture": "", "cargo test -- --other=x": unknown("--other")},
    "pytest *": {
        "pytest a.py::b": "",
        "pytest /opt/a.py::b": outside("/opt/a.py::b"),
        "pytest -k 'a or /b'": "",
        "pytest --cov=src": "",
        "pytest --cov=/opt": value("--cov"),
        "pytest --cov /opt": outside("/opt"),
        "pytest --deselect src": "",
        "pytest --deselect ../x": value("--deselect"),
        "pytest -p no:cacheprovider": "",
        "pytest -p x": value("-p"),
        "pytest -vvx": "",
        "pytest -vc": unknown("-vc"),
        "pytest -vk x": "",
        "pytest -vkx": "",
        "pytest -vk": value("-k"),
        "pytest --timeout=5": "",
        "pytest --timeout=x": value("--timeout"),
        "pytest --color=.x": value("--color"),
    },
    "mytool *": {
        "mytool": "",
        "mytool -x": "",
        "mytool -x -y": "",
        "mytool -x src": unknown("-x"),
        "mytool -x 4": "",
        "mytool --x word": "",
        "mytool --x eval": unknown("--x"),
        "mytool -xyz": unknown("-xyz"),
        "mytool --x": "",
        "mytool --x src": unknown("--x"),
        "mytool --x 4": "",
        "mytool -vq": "",
        "mytool -- -x": "",
        "mytool -- --x src": unknown("--x"),
        "mytool -- /x": outside("/x"),
    },
}  # fmt: skip


@each_row("rule", RULES)
def test_a_rule_does_not_cover_what_may_be_a_program_a_configuration_or_another_place(
    rule: str, workspace: Workspace
) -> None:
    cases = RULES[rule]
    assert {command: told(rule, command, workspace) for command in cases} == cases


@each_row("length", [10, 1_000, 4_000])
def test_a_path_is_followed_however_long_it_is_written(length: int, workspace: Workspace) -> None:
    padded = "outward/" + "./" * ((length - 13) // 2) + "hosts"
    assert told("make *", f"make {padded}", workspace) == outside(padded)
    assert told("make *", f"make {'x' * 5_000}", workspace) == ""


def test_a_word_is_judged_from_each_folder_that_the_command_may_run_in(workspace: Workspace) -> None:
    folders = [workspace.cwd / "src/pkg", workspace.cwd / "src"]
    assert why_uncovered("make *", ["make", "../x"], folders, workspace) == ""
    assert why_uncovered("make *", ["make", "../../x"], folders, workspace) == outside("../../x")
    assert why_uncovered("make *", ["make", "../../x"], folders[:1], workspace) == ""


@each_row(
    ("program", "subcommand", "table"),
    [
        ("pytest", "", "pytest"),
        ("pytest", "x", "pytest"),
        ("clang", "", "gcc"),
        ("pip3", "install", "pip"),
        ("git", "push", "git push"),
        ("git", "gc", ""),
        ("git", "", ""),
        ("mytool", "", ""),
    ],
)
def test_a_program_s_options_are_known_by_its_own_name_or_another_s(program: str, subcommand: str, table: str) -> None:
    assert table_name(program, subcommand) == table


def test_some_options_mean_the_same_everywhere() -> None:
    everywhere = harmless_options("")
    assert everywhere["--verbose"] == ""
    assert "-k" not in everywhere
    assert harmless_options("pytest") == {**everywhere, **harmless_options("pytest")}
    assert (harmless_options("pytest")["-k"], harmless_options("pytest")["--cov"]) == ("text", "?path")
