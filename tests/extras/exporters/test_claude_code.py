"""Session files of Claude Code, version 2.1: JSON lines in a folder for each project."""

from __future__ import annotations

import json

from agentcli.extras.exporters import claude_code
from tests.extras.test_exporters import WORK, exported


def test_claude_code_gets_its_own_tools_thoughts_and_chain() -> None:
    entries = [json.loads(line) for line in claude_code.lines(exported(*WORK))]
    assert entries[0] == {"type": "custom-title", "customTitle": "A name", "sessionId": exported(*WORK).id}
    chain = entries[1:]
    assert [entry["parentUuid"] for entry in chain] == [None, *(entry["uuid"] for entry in chain[:-1])]
    [reply, *later] = [entry["message"]["content"] for entry in chain if entry["type"] == "assistant"]
    assert [block.get("name", block["type"]) for block in reply] == ["thinking", "text", "Bash", "Edit"]
    assert reply[0]["signature"] == "signed"
    results = [entry["message"]["content"][0] for entry in chain[2:4]]
    assert [(block["tool_use_id"], block.get("is_error")) for block in results] == [("c1", None), ("c2", True)]
    assert later == [[{"type": "text", "text": "Not yet."}], [{"type": "text", "text": "Done: 2."}]]
