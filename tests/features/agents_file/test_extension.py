"""The command that has the model write AGENTS.md."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from agentcli.core.message import Text
from agentcli.frontends.built_in import AgentsFile
from agentcli.program.commands import Context, Sent
from agentcli.resources import prompt
from tests.agent.open_session import open_session


def test_the_wishes_are_shown_and_the_instructions_are_for_the_model_alone(tmp_path: Path) -> None:
    session: Any = open_session(tmp_path, [])
    init: Any
    program: Any = None
    [init] = AgentsFile().commands()

    async def outputs() -> list[object]:
        return [output async for output in init.yields(Context(session, program), "in Dutch")]

    [sent] = asyncio.run(outputs())
    assert isinstance(sent, Sent)
    assert sent.text.endswith("\n\nin Dutch")
    [instructions] = sent.along
    assert isinstance(instructions, Text)
    assert (instructions.text, instructions.synthetic) == (prompt("init.md"), True)
