"""A switch of the model in a running session."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agentcli.core.event import Warned
from agentcli.core.model import ModelSpec
from tests.agent.open_session import DEMO, open_session


def warnings_of_a_switch(folder: Path, model: ModelSpec) -> list[str]:
    session = open_session(folder, [], model=model)
    return [event.message for event in session.switch(model=model.name) if isinstance(event, Warned)]


def test_a_model_that_is_about_to_end_is_announced_with_its_successor(tmp_path: Path) -> None:
    ending = replace(DEMO, retires="2026-11-30", successor="demo/next")
    assert warnings_of_a_switch(tmp_path, DEMO) == []
    assert warnings_of_a_switch(tmp_path, ending) == [f"{DEMO.id.capitalize()} retires on 30 Nov. Switch: /model next"]
