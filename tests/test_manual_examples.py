"""Every command and example of the manual is typed: commands are parsed as the program parses them, and what shows only is run."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
import yaml
from typer.core import TyperCommand, TyperGroup

from agentcli import manual
from agentcli.core.errors import UsageError
from agentcli.features.hooks.files import read_hooks
from agentcli.frontends.cli.arguments import prepared
from agentcli.frontends.cli.parser import COMMANDS, whole_group, with_default
from agentcli.frontends.sections import SCHEMA
from agentcli.permissions.rules import parse_rules
from agentcli.program.config import load
from tests.e2e.program import Program
from tests.frontends.terminal.slash import COMMANDS as SLASH

PAGES = {topic: manual.page(topic) for topic in manual.TOPICS}
FILLED = {"N": "1", "I/N": "0/2"}
"""Values for the placeholders that must be numbers."""
CODE = re.compile(r"^    (.*)$", re.MULTILINE)
WHOLE = whole_group()


def typed(topic: str) -> Iterator[list[str]]:
    """The words after `agentcli` of each command that a page shows, in a block or in its text."""
    blocks = [line.removeprefix("$ ") for line in CODE.findall(PAGES[topic])]
    inline = re.findall(r"(?<!`)`(agentcli [^`]+)`(?!`)", re.sub(r"```.*?```", "", PAGES[topic], flags=re.DOTALL))
    for line in (*blocks, *inline):
        first, *more = line.split(" · ")
        for part in (first, *(" ".join([*first.split()[:2], each]) for each in more)):
            yield from _commands(part)


def _commands(line: str) -> Iterator[list[str]]:
    words = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    words.whitespace_split = True
    command: list[str] = []
    try:
        for word in [*words, ";"]:
            if re.fullmatch(r"[|&;<>]+", word):
                while command and "=" in command[0]:
                    command = command[1:]
                if command[:1] == ["agentcli"]:
                    yield command[1:]
                command = ["<file>"] if "<" in word or ">" in word else []
            else:
                command.append(word)
    except ValueError:
        return  # prose, with an apostrophe


def check(arguments: list[str]) -> None:
    """Parse a command line down to its command, which is not run. Raises a parser's error for one that the program would refuse."""
    name, *rest = with_default(prepared([FILLED.get(word, word) for word in arguments], COMMANDS))
    command, above = WHOLE.commands[name], WHOLE.make_context("agentcli", [], resilient_parsing=True)
    while isinstance(command, TyperGroup):
        above = command.make_context(name, [], parent=above, resilient_parsing=True)
        name, *rest = rest
        command = command.commands[name]
    assert isinstance(command, TyperCommand)
    command.make_context(name, rest, parent=above)


@pytest.mark.parametrize("topic", manual.TOPICS)
def test_the_program_takes_each_command_of_a_page(topic: str) -> None:
    wrong = {}
    for arguments in typed(topic):
        if (
            {"--help", "-h", "--version", "-V"} & {*arguments}
            or "…" in " ".join(arguments)
            or arguments[:1] in ([], ["completion"])
        ):
            continue
        try:
            check(arguments)
        except (typer.TyperException, UsageError, KeyError) as error:
            named_only = type(error).__name__ == "MissingParameter" and len(arguments) < 3
            if not named_only:  # the text may name a command without its arguments
                wrong[shlex.join(arguments)] = repr(error)
    assert not wrong


def test_most_pages_have_commands() -> None:
    assert sum(len([*typed(topic)]) for topic in manual.TOPICS) > 200


def test_each_slash_command_of_a_page_is_taken() -> None:
    lines = [line.removeprefix("> ") for page in PAGES.values() for line in CODE.findall(page)]
    asked = [re.split(r"\s{2,}#", line)[0].strip() for line in lines if re.match(r"/[a-z]+( |$)", line)]
    assert len(asked) > 10
    prose = [re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL) for page in PAGES.values()]
    named = [line for page in prose for line in re.findall(r"(?<!`)`(/[a-z][a-z-]*(?: [^`]*)?)`(?!`)", page)]
    assert len(named) > 100
    for line in (*asked, *named):
        name, _, rest = line.removeprefix("/").partition(" ")
        SLASH.find(name)
        if not re.search(r"[A-Z]{2,}|…|\[|\|", rest):  # not a form with places to fill
            meant = SLASH.meant(line, here=True)
            meant.command.check(meant.argument, name)


def _blocks(page: str) -> Iterator[str]:
    yield from re.findall(r"^```\w*\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    indented = re.findall(r"(?:^    .*\n|^\n(?=    ))+", page, re.MULTILINE)
    yield from ("\n".join(line[4:] for line in block.splitlines()).strip("\n") for block in indented)


def test_each_block_of_settings_is_read_without_a_warning(tmp_path: Path) -> None:
    found = 0
    for topic in manual.TOPICS:
        for block in _blocks(PAGES[topic]):
            if (
                topic == "bench"
                or not re.match(r"(\[[a-z_.\"/-]|[a-z_]+ = )", block)
                or "(" in block.partition("\n")[0]
            ):
                continue
            tomllib.loads(block)
            file = tmp_path / f"{found}.toml"
            file.write_text(block)
            config = load(SCHEMA, file, None, {})
            assert not [*config.warnings], (topic, block)
            found += 1
    assert found > 12


def test_each_rule_of_a_page_is_a_rule() -> None:
    rules = {
        rule
        for topic in ("permissions", "rules", "secrets", "web", "keys", "scripting")
        for rule in re.findall(r"`((?:bash|edit|read|web_fetch|web_search|sandbox)\([^`]*\))`", PAGES[topic])
    }
    assert len(rules) > 8
    assert parse_rules(allow=sorted(rules))


def test_each_json_and_yaml_of_a_page_is_read_and_its_hooks_without_a_note(tmp_path: Path) -> None:
    fences = [found for page in PAGES.values() for found in re.findall(r"```(json|yaml)\n(.*?)```", page, re.DOTALL)]
    assert len(fences) > 5
    for kind, block in fences:
        value = json.loads(block) if kind == "json" else yaml.safe_load(block)
        if kind == "json" and "hooks" in value:
            (tmp_path / "hooks.json").write_text(block)
            found = read_hooks(tmp_path / "hooks.json", "hooks.json")
            assert (bool(found.hooks), found.notes) == (True, ())


RUN = (
    "permissions explain 'npm test && git push'",
    "permissions explain 'rm -rf \"$X\"' --mode yolo",
    "permissions show",
    "config show --origin",
    "config set ui.theme dark",
    "config set budget.session.cost 5",
    "config path",
    "tools -m sonnet",
    "models",
    "auth list",
    "hooks list",
    "mcp list",
    "plugins list",
    "skills list",
    "agents list",
    "sessions list",
    "stats --by tool",
    "ps",
    "import-config --dry-run",
    "doctor",
    "doctor --from claude",
    "completion bash",
    "help --man",
    "help start",
    'hooks test PreToolUse --tool bash --input \'{"command": "grep x"}\'',
    "-p 'summarise this repo' -m script:echo",
    "completion install zsh",
    "-c -p /cost",
)


def test_what_a_page_shows_without_a_model_runs(tmp_path: Path) -> None:
    program = Program(tmp_path)
    for line in RUN:
        ran = program.run(*shlex.split(line))
        assert ran.code == 0, (line, ran.err)
    found = program.run("-c", "-p", "/help how do I stop it asking")
    assert "**troubleshooting** · It asks too often" in found.out
    assert "Unknown command /sotp" in program.run("-c", "-p", "/help /sotp").err
