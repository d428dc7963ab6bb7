"""An approval of a chain of commands: what each of them does, in colours, and what may be answered."""

from __future__ import annotations

import json

import pytest

from tests.e2e.program import Program
from tests.terminal import Terminal


def asked(program: Program, command: str, columns: int, theme: str = "dark") -> Terminal:
    """A terminal that will ask about the command."""
    program.config(f'[ui]\ntheme = "{theme}"\n')
    script = program.base / "script.json"
    call = {"name": "bash", "input": {"command": command}}
    script.write_text(json.dumps({"replies": [{"calls": [call]}, {"text": "Done."}]}))
    return program.terminal("-m", f"script:{script}", "go", columns=columns)


@pytest.mark.parametrize("columns", [60, 120])
def test_each_command_of_a_chain_is_explained_on_a_line_of_its_own(program: Program, columns: int) -> None:
    with asked(program, "rm -rf build dist && git push --force origin main", columns) as t:
        t.until("1. Yes")
        shown = [row.strip() for row in t.screen()]
        assert "· rm deletes files" in shown
        assert "· git push --force rewrites the remote" in shown
        assert not any("for this session" in row for row in shown), "each rewrite of the remote is approved by itself"
        assert any(row.startswith("❯") and "No, tell it" in row for row in shown)


@pytest.mark.full
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_names_of_programs_and_the_texts_of_a_command_are_coloured(program: Program, theme: str) -> None:
    with asked(program, "A=1 make 'all of it' && touch x", 80, theme) as t:
        t.until("1. Yes")
        screen = t.picture()
        row = next(n for n, text in enumerate(t.screen()) if "$ A=1" in text)
        cells = screen.buffer[row]
        text = "".join(cells[n].data for n in range(40))
        colour = {word: cells[text.index(word)].fg for word in ("make", "touch", "'all", " x")}
    assert colour["make"] == colour["touch"] != colour[" x"] == "default"
    assert colour["'all"] not in (colour["make"], "default")


@pytest.mark.full
@pytest.mark.parametrize("columns", [80, 120])
def test_a_chain_that_writes_a_file_or_sets_a_variable_is_explained_by_command_too(
    program: Program, columns: int
) -> None:
    with asked(program, "seq 3 && echo hi > a.txt && FOO=1 python3 x.py", columns) as t:
        t.until("1. Yes")
        shown = [row.strip() for row in t.screen() if row.strip().startswith("·")]
    assert shown == ["· writes a.txt", "· python3 can run any code"]


@pytest.mark.full
def test_a_command_of_a_chain_has_its_own_rule_although_another_has_none(program: Program) -> None:
    with asked(program, "git commit -am x && npx prettier --write . && git push", 100) as t:
        t.until("1. Yes")
        t.until("Always allow `git commit …`", "w")
        t.send("w", until="Save this rule")
        assert "bash(git commit *)" in "\n".join(t.screen())
