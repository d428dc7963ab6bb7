"""Sessions of Claude Code keep what was before a compaction, also where the file does not hold the entry that it names."""

from __future__ import annotations

import json
from typing import Any

from agentcli.core.message import Message, ToolResult
from agentcli.core.record import Compaction
from agentcli.extras.importers.sessions import Imported, claude_code
from tests.tables import each_row


def entry(uuid: str, parent: str | None, kind: str = "user", **more: Any) -> dict[str, Any]:
    content: Any = f"text of {uuid}" if kind == "user" else [{"type": "text", "text": f"text of {uuid}"}]
    message = {"role": kind, "content": content, "id": uuid, "model": "m"}
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "message": message,
        "timestamp": "2026-01-01T00:00:00Z",
        **more,
    }


def boundary(uuid: str, above: str) -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": uuid,
        "parentUuid": None,
        "logicalParentUuid": above,
    }


def read(*entries: dict[str, Any]) -> Imported:
    return claude_code.read(json.dumps(each) for each in entries)


def texts(session: Imported) -> list[str]:
    return [body.text for _, body in session.bodies if isinstance(body, Message)]


@each_row("above", ["r2", "an entry that only the program's memory had"])
def test_all_before_a_compaction_is_taken_over_wherever_it_says_that_it_continues(above: str) -> None:
    session = read(
        entry("p1", None), entry("r1", "p1", "assistant"), entry("p2", "r1"), entry("r2", "p2", "assistant"),
        boundary("b", above), entry("s", "b", isCompactSummary=True), entry("p3", "s"), entry("r3", "p3", "assistant"),
    )  # fmt: skip
    assert texts(session) == [f"text of {uuid}" for uuid in ("p1", "r1", "p2", "r2", "p3", "r3")]
    [compaction] = [body for _, body in session.bodies if isinstance(body, Compaction)]
    assert compaction.snapshot == "text of s"
    assert session.notes == ()


def test_an_entry_whose_parent_is_missing_continues_after_the_one_before_it() -> None:
    session = read(
        entry("p1", None), entry("r1", "p1", "assistant"), entry("p2", "gone"), entry("r2", "p2", "assistant")
    )
    assert texts(session) == ["text of p1", "text of r1", "text of p2", "text of r2"]


def test_a_branch_that_was_left_is_named_as_one() -> None:
    session = read(entry("p1", None), entry("r1", "p1", "assistant"), entry("x", "r1"), entry("p2", "r1"))
    assert texts(session) == ["text of p1", "text of r1", "text of p2"]
    assert session.notes == ("1 entries of abandoned branches were left out",)


def test_a_background_command_ends_where_its_output_is_asked_for() -> None:
    started = "Command running in background with ID: b7. Output is being written to: /tmp/b7.output."
    head = (
        "<retrieval_status>success</retrieval_status>\n\n<task_id>b7</task_id>\n\n<task_type>local_bash</task_type>\n\n"
    )
    outputs = {
        "Bash": started,
        "TaskOutput": f"{head}<status>failed</status>\n\n<exit_code>2</exit_code>\n\n<output>\n</output>",
        "BashOutput": f"{head}<status>running</status>",
    }
    lines, above = list[dict[str, Any]](), None
    for name, output in outputs.items():
        use = {"type": "tool_use", "id": name, "name": name, "input": {}}
        result = {"type": "tool_result", "tool_use_id": name, "content": output}
        for kind, block in (("assistant", use), ("user", result)):
            message = {"role": kind, "content": [block], "id": name, "model": "m"}
            lines.append({"type": kind, "uuid": f"{kind}-{name}", "parentUuid": above, "message": message})
            above = f"{kind}-{name}"
    lines[1]["toolUseResult"] = {"stdout": ""}
    results = [body for _, body in read(*lines).bodies if isinstance(body, ToolResult)]
    assert [result.metadata for result in results] == [
        {"job": "b7", "state": "running"},
        {"job": "b7", "state": "ended", "exit_code": 2},
        {"job": "b7", "state": "running"},
    ]
