"""What is known of programs by their names: the network, what may run in a sandbox, and what no rule is saved for."""

from __future__ import annotations

from pathlib import Path

from agentcli.permissions.shell.programs.known_programs import (
    bounded,
    is_interpreter,
    is_ordinary,
    never_saved,
    uses_network,
)
from tests.tables import each_row

NETWORK = """
curl x; curl --offline x; git push; git fetch; git remote show x; npm install; npm ci; yarn; pip install x; pip; npx cowsay; npx; npm exec cowsay; pnpm dlx cowsay; openssl s_client; openssl; go get x; go run x@latest; cargo install x; python -m pip install x; python3 -m pip download x; python -m twine x; uvx ruff; brew install x; uv add x; cargo +nightly fetch; npm -w x install; ssh h; conda install x; conda env create -f x.yml; mamba update x; rustup toolchain install x; nvm install 20; nix run x
"""
LOCAL = """
git commit; git remote; git remote add x y; git; npm test; npm run build; npm; yarn test; pip list; pip --version; npx jest; npm exec jest; npm x jest; pnpm exec cowsay; pnpm --filter web exec oxfmt; bunx jest; openssl rand 5; go build; cargo build; cargo --version; python -m pytest; python -m; uv run x; nvm --help; make; cargo +nightly build; pip3 show x; python -m pip list; pip cache dir; python3 -m http.server; pip install --no-index x; npm ci --offline; cargo fetch --offline; conda run -n x pytest; conda env list; mamba list; rustup show; nvm use 20; brew list
"""
ORDINARY = """
sh x.sh; ./x.sh; a/b; bash scripts/a.sh; npm test; npm run build; make; cargo build; cargo +nightly build; go build; python -m pytest
"""
OTHER = """
sh /x.sh; sh -c x; sh; sh ../x.sh; sh a/../x.sh; sh ~/x; /usr/bin/x; ../b; b; ~/b; git x; npm; npm install; go run x@latest; python -m pip install x
"""
NEVER_SAVED = {
    "git remote": "git uses the network",
    "git log push": "git uses the network",
    "npx jest": "npx runs whatever it is given",
    "curl x": "curl uses the network",
    "pip list": "pip uses the network",
    "sh x.sh": "sh runs whatever it is given",
    "printf x": "printf may run its arguments as commands",
    "test -f x": "test may run its arguments as commands",
    "echo -exec x": "echo starts other programs",
    "find . -exec x": "find starts other programs",
    "find . -name x": "find starts other programs",
    "env x": "env starts other programs",
    "git -c a=b x": "git may run its arguments as commands",
    "ssh h": "ssh starts other programs",
    "/usr/bin/python3 x": "python3 runs whatever it is given",
    "/usr/bin/curl x": "curl uses the network",
    "awk x": "awk runs whatever it is given",
}
SAVED = """
git commit; npm test; ./x.sh; make; git x -c; git
"""


def listed(text: str) -> list[list[str]]:
    return [command.split() for command in text.replace("\n", "").split(";")]


def test_a_command_uses_the_network_by_its_name_and_subcommand() -> None:
    nowhere = [Path("/nowhere")]
    assert [words for words in listed(NETWORK) if not uses_network(words, nowhere)] == []
    assert [words for words in listed(LOCAL) if uses_network(words, nowhere)] == []


def test_a_tool_that_the_project_installed_is_not_fetched(tmp_path: Path) -> None:
    (tmp_path / "node_modules/.bin").mkdir(parents=True)
    (tmp_path / "node_modules/.bin/cowsay").touch()
    (tmp_path / "src").mkdir()
    for command in ("npx cowsay", "npm exec cowsay", "bunx cowsay"):
        assert not uses_network(command.split(), [tmp_path])
        assert not uses_network(command.split(), [tmp_path / "src"])
        assert not uses_network(command.split(), [Path("/nowhere"), tmp_path])
        assert uses_network(command.split(), [tmp_path.parent])


def test_builds_tests_and_scripts_of_the_workspace_are_ordinary() -> None:
    assert [words for words in listed(ORDINARY) if not is_ordinary(words)] == []
    assert [words for words in listed(OTHER) if is_ordinary(words)] == []


@each_row("command", NEVER_SAVED)
def test_the_reason_why_no_rule_is_saved_follows_the_name(command: str) -> None:
    assert never_saved(command.split()) == NEVER_SAVED[command]


def test_a_rule_may_be_saved_for_all_other_commands() -> None:
    assert [words for words in listed(SAVED) if never_saved(words)] == []


@each_row("program", ["python", "python3", "python3.12", "/usr/bin/node", "node20", "sh", "perl5.36", "awk"])
def test_an_interpreter_is_known_with_its_version_and_by_its_path(program: str) -> None:
    assert is_interpreter(program)


@each_row("program", ["ls", "pythonx", "make", "2", ""])
def test_other_programs_are_none(program: str) -> None:
    assert not is_interpreter(program)


def test_commands_about_files_are_covered_inside_the_workspace_only() -> None:
    assert [name for name in ("mkdir", "touch", "cp", "sed", "rm", "make", "ls") if bounded([name, "x"])] == [
        "mkdir",
        "touch",
        "cp",
        "sed",
    ]
