"""The display of a running batch."""

from __future__ import annotations

import json
from pathlib import Path

from agentcli.extras.batch.display import AgentStream


def test_the_activity_and_cost_of_an_agent_follow_its_stream(tmp_path: Path) -> None:
    stream = AgentStream(tmp_path)
    stream.read()
    assert stream.activity == "is being set up"
    steps = [
        ({"type": "init"}, "thinks"),
        ({"type": "message", "role": "assistant", "text": "I look."}, "I look."),
        ({"type": "usage", "cost": 0.25}, "I look."),
        ({"type": "tool_call", "name": "bash", "input": {"command": "ls"}}, "bash ls"),
        ({"type": "retry", "attempt": 1, "delay": 40.2, "reason": "Busy."}, "waits 40 s: Busy."),
        ({"type": "warning", "message": "Waiting 7.00 s: a budget runs low"}, "Waiting 7.00 s: a budget runs low"),
        ({"type": "warning", "message": "A file is large."}, "Waiting 7.00 s: a budget runs low"),
        ({"type": "usage", "cost": 0.5}, "Waiting 7.00 s: a budget runs low"),
    ]
    with (tmp_path / "events.jsonl").open("a") as file:
        for event, activity in steps:
            file.write(json.dumps(event) + "\n" + '{"type": "mess')
            file.flush()
            stream.read()
            file.write('age"}\n')
            assert stream.activity == activity
    assert stream.cost == 0.75
