"""The manual that ships with the program."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from agentcli import manual
from agentcli.core.errors import InputError
from agentcli.frontends.cli.man import man_page
from agentcli.frontends.cli.parser import invoke, whole_group
from agentcli.frontends.sections import SCHEMA
from agentcli.frontends.terminal.input.keys import KEYS, help_lines
from agentcli.frontends.terminal.render.markdown import document
from agentcli.frontends.terminal.style import MUTE, Look
from agentcli.manual.searching import search
from agentcli.program.config import load
from agentcli.providers.catalog import models
from agentcli.system.cells import width
from tests.frontends.terminal.slash import COMMANDS
from tests.manual import INDEX, PAGE, index, text
from tests.texts import PACKAGE


def test_the_reference_of_settings_is_made_from_the_settings() -> None:
    assert PAGE.read_text(encoding="utf-8") == text(), "run: python -m tests.manual"
    listed = re.findall(r"^- `([^`]+)` = ", text(), re.MULTILINE)
    assert sorted(listed) == sorted(key for key, _ in load(SCHEMA, None, None, {}).items())


def test_each_setting_has_one_line_for_a_person_and_each_number_its_bounds_and_a_unit() -> None:
    lines = [line for line in text().splitlines() if line.startswith("- `")]
    for line in lines:
        shown = re.fullmatch(r"- `\S+` = `(?P<default>[^`]+)`(?P<values>.*?): (?P<meaning>[A-Z`].+\.)", line)
        assert shown, line
        assert 15 <= len(shown["meaning"]) <= 120, line
        if re.fullmatch(r"[\d._]+", shown["default"]):
            assert re.fullmatch(r"( [a-zA-Z ]+)? \((≥\d|0–[\de]+)\)", shown["values"]), line
    assert len(PAGE.read_text(encoding="utf-8").split()) <= 4_739 / 2


@pytest.mark.parametrize("topic", manual.TOPICS)
def test_each_page_has_a_title_and_a_first_sentence_and_is_drawn_without_loss(topic: str) -> None:
    source = manual.page(topic)
    assert source.startswith("# ")
    assert len(manual.summary(topic)) < 110
    lines = document(source, 80, Look())
    assert all(width(line) <= 80 for line in lines)
    assert len(lines) >= 20


@pytest.mark.parametrize("topic", manual.TOPICS)
def test_each_page_opens_with_an_example(topic: str) -> None:
    opening = manual.page(topic).partition("\n## ")[0].splitlines()[:14]
    assert any(line.startswith(("    ", "```")) for line in opening)


def test_the_keys_page_names_every_key() -> None:
    page = manual.page("keys").replace("`", "")
    for keys, _ in help_lines(KEYS):
        for key in re.split(r", | and ", keys):
            assert key in page, key


def test_every_command_that_a_page_names_exists() -> None:
    shell = set(whole_group().commands)
    for topic in manual.TOPICS:
        source = manual.page(topic)
        slashes = re.findall(r"`/([a-z][a-z-]*)", source)
        assert set(slashes) <= set(COMMANDS.all), topic
        named = re.findall(r"(?:`|^    |\| )agentcli ([a-z][a-z-]+)\b", source, re.MULTILINE)
        assert set(named) - {"resume"} <= shell, topic


@pytest.mark.full
def test_each_message_in_the_troubleshooting_page_is_one_of_the_program() -> None:
    sources = (ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py"))
    nodes = (node for source in sources for node in ast.walk(source))
    said = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    messages = re.findall(r"^\| (.*?) \|", manual.page("troubleshooting"), re.MULTILINE)
    assert messages[0] == "message"
    for message in messages[1:]:
        for piece in re.split(r"…|;|\(\d+\)", message):
            assert any(piece.strip() in text for text in said), message


def test_the_man_page_names_every_command_option_and_exit_code() -> None:
    page = man_page(whole_group())
    plain = page.replace(r"\-", "-")
    for name in whole_group().commands:
        if name != "run":
            assert re.search(rf"^\.SS {name}\b", plain, re.MULTILINE), name
    for option in ("--model", "--max-cost", "--undo", "--no-check"):
        assert rf"\fB{option}\fR" in plain
    assert {"0", "1", "2", "41", "42", "130"} <= set(re.findall(r"^\.TP\n\\fB(\d+)", plain, re.MULTILINE))
    known = re.compile(r"\.(TH|SH|SS|TP|B|I|br)\b")
    assert not [line for line in page.split("\n") if line.startswith((".", "'")) and not known.match(line)]


def test_words_are_found_in_their_sections_in_any_case() -> None:
    found = search("UNDO rewind")
    assert (found[0].topic, found[0].heading) == ("sessions", "Undo and rewind")
    assert all(section.lines for section in found)
    assert not search("no-such-word")
    assert not search("what is it")
    assert not search("")


QUESTIONS = {
    "start": ("undo", "screenshot", "uninstall", "update agentcli", "privacy telemetry", "copy the last answer"),
    "permissions": ("how do I stop it asking", "stop asking", "docker", "sandbox", "block dangerous commands"),
    "keys": ("keyboard shortcuts", "vim"),
    "sessions": ("where are my sessions", "resume a session", "export", "delete old sessions"),
    "troubleshooting": ("behind a proxy", "command hangs", "colors are wrong"),
    "models": ("change the model", "offline", "use my own API server", "two keys for the same provider"),
    "cost": ("spending limit", "budget limit", "price", "how much did this cost"),
    "instructions": ("CLAUDE.md", "remember"),
    "checks": ("run tests automatically",),
    "commands": ("slash command",),
    "agents": ("subagent", "write a custom subagent"),
    "plugins": ("install an extension",),
    "mcp": ("mcp server",),
    "web": ("web search",),
    "scripting": ("exit code", "structured output", "json schema answer"),
    "ci": ("CI", "pull request review", "run every night"),
    "python": ("ask from python code",),
    "editors": ("VS Code",),
    "serve": ("phone", "share a session with a colleague"),
    "benchmarks": ("swe-bench",),
}
"""Questions as people ask them, by the page that must come first; what is about `/undo` and its keys may come first from two pages."""
ALSO = {"undo": "sessions", "how do I stop it asking": "troubleshooting", "stop asking": "troubleshooting"}


@pytest.mark.parametrize(("topic", "question"), [(topic, one) for topic, asked in QUESTIONS.items() for one in asked])
def test_a_question_finds_its_page_first(topic: str, question: str) -> None:
    found = search(question)
    assert found[0].topic in (topic, ALSO.get(question)), [f"{one.topic}/{one.heading}" for one in found[:5]]


def test_the_other_words_for_a_page_are_searched_and_not_shown() -> None:
    for topic in manual.TOPICS:
        assert len(manual.other_words(topic).split(", ")) > 2, topic
        assert "<!-- words" not in manual.page(topic)


def test_one_list_of_pages_is_the_source_of_the_index_and_the_readme() -> None:
    assert INDEX.read_text(encoding="utf-8") == index(), "run: python -m tests.manual"
    readme = (PACKAGE.parent / "README.md").read_text(encoding="utf-8")
    rows = [re.findall(r"\(agentcli/manual/(.*?)\.md\)", line) for line in readme.splitlines() if line.startswith("|")]
    assert [row for row in rows if row] == [list(topics) for topics in manual.GROUPS.values()]


HELP = {
    "CI": "# Continuous integration",
    "index": "topic ",
    "/undo": "Undo the newest edits",
    "undo": "Undo the newest edits",
    "compress": "Replace the older part",
    "sandbox": "- `sandbox` = ",
    "agent.effort": "- `agent.effort` = ",
    "effort": "Switch how hard the model thinks",
    "titles": "- `agent.titles` = ",
    "stop asking": "permissions · ",
    "sessions export": "Usage: agentcli sessions export",
}


@pytest.mark.parametrize("words", HELP)
def test_help_falls_through_topic_command_slash_command_setting_and_search(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["help", *words.split()]) == 0
    assert capsys.readouterr().out.startswith(HELP[words])


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("seshions", " Did you mean sessions?"),
        ("/undoo", " Did you mean /undo?"),
        ("xyzzy", " `agentcli help` lists its topics."),
    ],
)
def test_words_that_are_nowhere_are_answered_in_one_line_with_the_nearest_name_if_one_is_near(
    word: str, near: str
) -> None:
    with pytest.raises(InputError) as raised:
        invoke(["help", word])
    assert str(raised.value) == f"The manual has nothing on {word!r}.{near}"


def test_a_topic_that_does_not_exist_is_answered_with_the_near_ones() -> None:
    with pytest.raises(InputError, match="Did you mean sessions"):
        manual.page("sesions")
    with pytest.raises(InputError, match=r"^The manual has no topic 'xyzzy'\.$"):
        manual.page("xyzzy")


def test_the_pages_lie_in_the_package() -> None:
    assert Path(manual.__file__).parent == manual.FOLDER
    assert {path.stem for path in manual.FOLDER.glob("*.md")} == {*manual.TOPICS, "index"}


@pytest.mark.parametrize("columns", [40, 72, 120])
def test_paragraphs_flow_at_any_width(columns: int) -> None:
    source = (
        "One two three\nfour five six.\n\n- an item that\n  goes over lines\n\nCode:\n\n    code stays\n    as it is\n"
    )
    rows = document(source, columns, Look(MUTE))
    whole = [row for row in rows if row]
    assert whole[:2] == ["One two three four five six.", "• an item that goes over lines"]
    assert [row.strip() for row in whole[2:]] == ["Code:", "code stays", "as it is"]


def test_a_search_finds_items_whole_and_of_long_paragraphs_the_sentences() -> None:
    found = {(one.topic, one.heading): one.lines for one in search("edits of the newest reply")}
    assert any(
        line.startswith("`/undo` reverts the edits of the newest reply")
        for line in found["sessions", "Undo and rewind"]
    )
    assert all("\n" not in line for lines in found.values() for line in lines)


def test_no_model_that_a_page_names_is_about_to_end() -> None:
    named = {
        name
        for topic in manual.TOPICS
        for name in re.findall(r"\b(?:anthropic|google|openai)/[\w.-]+", manual.page(topic))
    }
    ending = [model.name for model in models() if model.retires]
    assert len(named) > 5
    assert not named & set(ending)
