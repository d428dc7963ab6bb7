"""Slash commands in files of Claude Code, Gemini CLI, opencode and agentcli itself, read into one form."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.agent.project.places import find
from agentcli.program.prompt_files import commands
from agentcli.program.prompt_files.commands import body_of, ending
from agentcli.system.regular_file import Unusable
from tests.program.test_prompt_files import place, written


def test_a_command_has_its_fields_from_its_head_and_its_text_anew_at_each_use(tmp_path: Path) -> None:
    text = "---\nallowed-tools: Bash(git add:*), Read\ndescription: Commit\nargument-hint: [why]\nmodel: haiku\n---\n\nDo $0.\n"
    written(tmp_path, git__commit=text)
    (command,) = find(commands.FORM, [place(tmp_path)], [])[0].values()
    assert (command.name, command.summary, command.hint) == ("git:commit", "Commit", "")
    assert (command.allowed, command.model) == (("Bash(git add:*)", "Read"), "haiku")
    written(tmp_path, git__commit="Later.")
    assert body_of(command) == ("Later.",)
    command.file.unlink()
    with pytest.raises(Unusable):
        body_of(command)


def test_toml_commands_are_those_of_gemini_and_broken_ones_name_the_line(tmp_path: Path) -> None:
    written(tmp_path, good='description = "G"\nprompt = "Do {{args}}"', bad='prompt = "x"\ndescription = \n')
    (tmp_path / "none.toml").write_text('description = "no text"')
    notes: list[str] = []
    found, _ = find(commands.FORM, [place(tmp_path, ".gemini")], notes)
    assert [*found] == ["good"]
    assert notes[0].endswith("bad.toml line 2: Invalid value — left out.")
    assert notes[1].endswith("none.toml: it has no prompt: left out.")


def test_commands_of_a_plugin_have_its_name_before_theirs(tmp_path: Path) -> None:
    written(tmp_path, commit="Commit.")
    assert [*find(commands.FORM, [place(tmp_path, plugin="git-tools")], [])[0]] == ["git-tools:commit"]


@pytest.mark.parametrize(
    ("program", "text"), [(".claude", "\n\nARGUMENTS: a b"), (".gemini", "\n\n/x a b"), (".opencode", "\n\na b")]
)
def test_arguments_without_a_place_come_at_the_end(program: str, text: str, tmp_path: Path) -> None:
    written(tmp_path, x='prompt = "Do."' if program == ".gemini" else "Do.")
    command = find(commands.FORM, [place(tmp_path, program)], [])[0]["x"]
    assert (ending(command, "a b"), ending(command, "")) == (text, "")
