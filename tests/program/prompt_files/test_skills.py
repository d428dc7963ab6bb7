"""Skills named within a prompt, at a terminal and without one."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import agentcli
from tests.e2e.program import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program(tmp_path)
    for name in ("testing", "release"):
        folder = program.base / "config" / "agentcli" / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(
            f"---\nname: {name}\ndescription: How to do {name}.\n---\nThe rules of {name}.\n"
        )
    return program


def sent(program: Program) -> list[str]:
    """The parts of the newest prompt."""
    session = max(folder.name for folder in program.sessions.glob("*/*") if (folder / "records").is_dir())
    newest = [record for record in program.records(session) if record.get("role") == "user"][-1]
    return [part["text"] for part in newest["parts"]]


def test_a_dollar_completes_skills_and_a_line_names_what_was_loaded(program: Program) -> None:
    with program.terminal("-m", "script:long-reply:1") as t:
        t.until("? keys")
        t.send("work with $tes", until="How to do testing.")
        t.send("\t", until="$testing")
        t.send("and then $release, not $HOME\r", until="skill testing")
        t.until("skill release")
    assert sent(program)[-1] == "work with $testing and then $release, not $HOME"
    assert sum("The rules of" in text for text in sent(program)) == 2


def test_piped_input_names_no_skill(program: Program) -> None:
    ran = program.run("-p", "What does $testing say?", "-m", "script:echo", stdin="+ deploy by $release\n")
    assert ran.code == 0
    joined = "\n".join(sent(program))
    assert "The rules of testing." in joined
    assert "The rules of release." not in joined
    assert sent(program)[-1] == "+ deploy by $release\n\nWhat does $testing say?"


def test_a_skill_of_a_folder_that_is_not_trusted_is_refused_by_its_name(program: Program) -> None:
    folder = program.work / ".agentcli" / "skills" / "ship"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: ship\ndescription: Ships.\n---\nShip it.\n")
    (program.work / ".git").mkdir()
    refused = program.ask("-p", "now $ship it", "-m", "script:echo")
    assert refused.code == 42
    assert "$ship is a skill of this folder, which is not trusted" in json.dumps(refused.result)
    embedded = agentcli.run("now $ship it", model="script:echo", cwd=program.work, env=program.env)
    assert asyncio.run(embedded).exit_code == 42
    trusted = program.run("-p", "now $ship it", "-m", "script:echo", "--trust")
    assert trusted.code == 0
    assert any("Ship it." in text for text in sent(program))
    assert program.run("-p", "now `$ship` it", "-m", "script:echo").code == 0
    assert not any("Ship it." in text for text in sent(program))
