"""Kinds of subagents defined in files of Claude Code, Gemini CLI, opencode and agentcli itself."""

from __future__ import annotations

from pathlib import Path

from agentcli.agent.project.places import find
from agentcli.program.prompt_files import agents
from tests.program.test_prompt_files import place, written


def test_an_agent_in_plan_mode_only_looks(tmp_path: Path) -> None:
    written(tmp_path, one="---\nname: one\ndescription: d\npermissionMode: plan\n---\nYou.")
    notes: list[str] = []
    assert find(agents.FORM, [place(tmp_path)], notes)[0]["one"].only_looks
    assert notes == []


def test_an_agent_of_opencode_that_is_disabled_is_left_out(tmp_path: Path) -> None:
    written(tmp_path, one="---\ndescription: d\ndisable: true\n---\nYou.")
    assert not find(agents.FORM, [place(tmp_path, ".opencode")], [])[0]


def test_an_agent_without_a_name_or_description_is_left_out(tmp_path: Path) -> None:
    written(tmp_path, one="---\nname: x\n---\nYou.", two="You.")
    notes: list[str] = []
    assert not find(agents.FORM, [place(tmp_path)], notes)[0]
    assert notes[0].endswith("has no description: left out.")
    assert notes[1].endswith("has no name and no description: left out.")
