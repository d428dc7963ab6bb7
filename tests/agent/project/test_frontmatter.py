"""Front matter of skills, commands and agents, valid YAML or not."""

from __future__ import annotations

import pytest

from agentcli.agent.project.frontmatter import LIMIT, read
from tests.growth import growth
from tests.sampling import sampled
from tests.tables import each_row


def test_fields_stand_between_fences_and_the_rest_is_the_body() -> None:
    found = read("---\nname: pdf\ndescription: |\n  two\n  lines\n---\n\n# Body\n---\n")
    assert (found.text("name"), found.text("description"), found.body) == ("pdf", "two\nlines", "\n# Body\n---\n")
    assert found.strict


def test_a_file_without_fences_is_all_body() -> None:
    assert read("# Title\n").body == "# Title\n"
    assert read("---\nname: x\n").trouble == "its front matter is not closed by ---"


def test_what_is_no_valid_yaml_is_read_line_by_line() -> None:
    text = (
        "---\r\nname: helper\r\ndescription: Use it when. Context: the user asks\r\n<example>\r\nContext: more\r\n"
        "</example>\r\nmodel: 'sonnet'\r\n---\r\nYou help."
    )
    found = read(text)
    assert not found.strict
    assert found.text("description") == "Use it when. Context: the user asks\n<example>\nContext: more\n</example>"
    assert (found.text("model"), found.body) == ("sonnet", "You help.")


def test_every_field_of_what_is_no_valid_yaml_counts_and_its_lists_too() -> None:
    found = read(
        "---\nname: x\ndescription: Use it: now\nmodel: inherit\ndisallowedTools:\n  - Write\n  - Bash(rm *)\nmaxTurns: 5\n---\n"
    )
    assert not found.strict
    assert (found.text("model"), found.number("maxTurns")) == ("inherit", 5)
    assert found.items("disallowedTools") == ("Write", "Bash(rm *)")


@each_row(
    ("given", "items"),
    [
        ("[a, b]", ("a", "b")),
        ("\n  - Read\n  - Bash(git add:*)", ("Read", "Bash(git add:*)")),
        ("Bash(git add:*), Read", ("Bash(git add:*)", "Read")),
        ("Read Bash(git commit -m *)", ("Read", "Bash(git commit -m *)")),
        ("", ()),
    ],
)
def test_a_list_may_be_written_in_many_ways(given: str, items: tuple[str, ...]) -> None:
    assert read(f"---\ntools: {given}\n---\n").items("tools") == items


@each_row(("given", "flag"), [("yes", True), ("on", True), ('"true"', True), ("off", False), ("x", False)])
def test_yes_and_on_are_true(given: str, flag: bool) -> None:
    assert read(f"---\nwanted: {given}\n---\n").flag("wanted") is flag


def test_what_is_no_text_counts_as_missing_and_numbers_are_read() -> None:
    found = read("---\nname: {a: [b]}\nmaxTurns: 12\nversion: 2026-01-01\n---\n")
    assert (found.text("name"), found.number("maxTurns"), found.number("version")) == ("", 12, 0)


def test_endless_front_matter_is_not_read() -> None:
    assert "longer than" in read("---\n" + "x: y\n" * LIMIT).trouble


def test_nested_aliases_and_deep_brackets_do_no_harm() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"k{n}: &k{n} [*{'a' if n == 0 else f'k{n - 1}'}, *a]\n" for n in range(30))
    assert read(f"---\nname: x\n{bomb}---\n").text("name") == "x"
    assert read("---\nname: " + "[" * 5_000 + "\n---\n").text("name").startswith("[")


@pytest.mark.full
@pytest.mark.parametrize(
    "piece", sampled(["[", "{", "[a, ", "- ", "? ", "- [", "{a: ", "(", "&a [", "k: v\n", "- x\n", "'"], 3)
)
def test_the_time_of_front_matter_grows_with_it_and_not_faster(piece: str) -> None:
    for head in ("", "a: ", "a:\n  - "):
        assert growth(read, lambda size: f"---\n{head}{piece * (size // len(piece))}\n---\nx", 6_000) < 3.2  # noqa: B023


def test_merged_keys_do_not_double_at_each_line() -> None:
    def bomb(lines: int) -> str:
        merged = "".join(f"a{n}: &a{n}\n  <<: [*a{n - 1}, *a{n - 1}]\n" for n in range(1, lines))
        return f"---\nname: x\na0: &a0 {{k: v}}\n{merged}---\n"

    assert growth(read, bomb, 10) < 3.2
    assert read(bomb(60)).text("name") == "x"
