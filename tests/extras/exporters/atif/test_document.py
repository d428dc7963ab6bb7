"""A session leaves the store as an ATIF trajectory, which holds the whole of it and obeys the rules of the format."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.message import Image, Message, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import (
    Body,
    Checkpoint,
    Compaction,
    Failure,
    Prune,
    Settings,
    Title,
    Undo,
    Unknown,
)
from agentcli.extras.exporters.atif.document import ImageFolder, subagents_in, to_atif
from agentcli.sessions.exporting import Redactor
from agentcli.sessions.in_memory import MemorySession
from agentcli.sessions.info import Parent
from agentcli.sessions.store import Store
from tests.extras.exporters.atif.rules import problems
from tests.sessions.corpus import raw_records, sessions

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SECRET = "sk-ant-" + "A1b2C3d4" * 4
OTHERWISE = ("type", "mime", "source", "meta", "signature", "sha256")
"""Fields that the format says in other words, and those that only a provider can read."""
TOOL = {"name": "read", "description": "Reads", "parameters": {"type": "object"}}


def user(text: str, *more: Image) -> Message:
    return Message("user", (Text(text), *more), turn=1)


def agent(*parts: Text | Thinking | ToolCall) -> Message:
    return Message("assistant", parts, 1, "anthropic", "opus", Usage(10, 5, 0, 100, 7), 0.5, "end_turn")


def exported(*bodies: Body, clean: Any = str) -> dict[str, Any]:
    memory = MemorySession()
    for body in bodies:
        memory.append(body)
    document: dict[str, Any] = json.loads("".join(to_atif(memory, clean=clean)))
    assert list(problems(document)) == []
    return document


def strings(value: Any, skipped: tuple[str, ...] = ()) -> Iterator[str]:
    """All texts in a JSON value, but those of the fields that are skipped."""
    match value:
        case str():
            yield value
        case dict():
            for name, inner in value.items():
                if name not in skipped:
                    yield from strings(inner, skipped)
        case list():
            for inner in value:
                yield from strings(inner, skipped)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "sessions")


def test_every_session_there_is_becomes_a_valid_trajectory_that_leaves_no_text_out(tmp_path: Path):
    for name, store, info in sessions(tmp_path):
        session = store.open(info.project_id, info.id, read_only=True)
        document = json.loads("".join(to_atif(session, subagents_in(store, info))))
        assert list(problems(document)) == [], name
        whole = "\n".join(strings(document))
        for raw in raw_records(store, info):
            parts = [part for part in strings(_said(raw), OTHERWISE) if _plain(part) not in whole]
            assert parts == [], f"{name}, record {raw['seq']}"


def _said(raw: Mapping[str, Any]) -> dict[str, Any]:
    names = ("parts", "output", "snapshot", "reason", "message", "system", "name", "title", "items", "metadata", "note")
    return {name: value for name, value in raw.items() if name in names}


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def test_a_reply_its_calls_and_their_results_are_one_step():
    document = exported(
        Settings("anthropic/opus", "ask", system=("You are agentcli.", "Folder: x"), tools=(TOOL,)),
        user("Fix it"),
        agent(Thinking("hm", "sig"), Text("On it"), ToolCall("c1", "read", {"file_path": "a.py"})),
        Checkpoint({"cause": "edit", "before": {}, "after": {}}),
        ToolResult("c1", "read", "success", "1 x", metadata={"lines": 1}),
        agent(Text("Done.")),
    )
    assert [step["source"] for step in document["steps"]] == ["system", "user", "agent", "agent"]
    system, _, reply, _ = document["steps"]
    assert system["message"] == "You are agentcli.\n\nFolder: x"
    assert document["agent"]["tool_definitions"] == [{"type": "function", "function": TOOL}]
    assert (reply["message"], reply["reasoning_content"], reply["model_name"]) == ("On it", "hm", "anthropic/opus")
    assert reply["tool_calls"] == [{"tool_call_id": "c1", "function_name": "read", "arguments": {"file_path": "a.py"}}]
    (result,) = reply["observation"]["results"]
    assert (result["source_call_id"], result["content"]) == ("c1", "1 x")
    assert (result["extra"]["status"], result["extra"]["metadata"]) == ("success", {"lines": 1})
    assert reply["extra"]["records"][0]["kind"] == "checkpoint"
    assert reply["metrics"] == {
        "prompt_tokens": 117,
        "completion_tokens": 5,
        "cached_tokens": 100,
        "cost_usd": 0.5,
        "extra": {"cache_write_tokens": 7},
    }
    assert document["final_metrics"]["total_prompt_tokens"] == 234
    assert document["final_metrics"]["total_cost_usd"] == 1.0
    assert document["final_metrics"]["total_steps"] == 4


def test_what_was_compacted_pruned_or_rewound_stays_beside_a_step_of_the_system():
    document = exported(
        user("First"),
        agent(Text("a"), ToolCall("c1", "read", {})),
        ToolResult("c1", "read", "success", "long"),
        Prune(("c1",), 300, "cold cache"),
        Compaction("auto", "compressed", "auto", (1, 3), 5, "<state_snapshot/>", tokens_before=900, tokens_after=90),
        Compaction("manual", "noop", "auto", note="nothing to do"),
        user("Second"),
        Undo(4, "rewind"),
        Failure("The network is gone", "model", Usage(3, 1), 0.1),
    )
    steps = document["steps"]
    assert [step["source"] for step in steps] == ["user", "agent", *["system"] * 3, "user", "system", "system"]
    assert steps[2]["extra"]["prune"]["call_ids"] == ["c1"]
    assert steps[3]["message"] == "<state_snapshot/>"
    assert steps[3]["extra"]["compaction"]["tokens_before"] == 900
    assert steps[6]["extra"]["undo"] == {"undoes": 4, "target": "rewind", "steps": [4, 6]}
    assert steps[7]["message"] == "The network is gone"


def test_a_result_without_its_call_and_records_of_unknown_kinds_are_kept():
    document = exported(
        Title("before anything"),
        Unknown("later", {"kind": "later", "fresh": {"x": "kept"}}),
        user("Hi"),
        ToolResult("gone", "bash", "success", "orphan"),
        agent(Text("x"), ToolCall("c2", "bash", {})),
        Settings(mode="yolo"),
        ToolResult("c2", "bash", "error", "late"),
        ToolResult("c2", "bash", "error", "twice"),
    )
    first, orphan, reply, settings, again = document["steps"]
    assert [each["kind"] for each in first["extra"]["records"]] == ["title", "later"]
    assert first["extra"]["records"][1]["fresh"] == {"x": "kept"}
    assert orphan["observation"]["results"][0]["content"] == "orphan"
    assert reply["observation"]["results"][0]["content"] == "late"
    assert settings["message"] == "mode: yolo"
    assert again["observation"]["results"][0]["extra"]["call_id"] == "c2"


def test_images_are_pieces_of_the_message_and_of_the_result():
    document = exported(
        user("Look", Image("image/png", PNG), Image("image/x-odd", PNG)),
        agent(ToolCall("c1", "read", {"file_path": "a.png"})),
        ToolResult("c1", "read", "success", "", images=(Image("image/png", PNG),)),
    )
    text, image, odd = document["steps"][0]["message"]
    assert text == {"type": "text", "text": "Look"}
    assert image["source"] == {"media_type": "image/png", "path": f"data:image/png;base64,{PNG}"}
    assert PNG in odd["text"]
    assert document["steps"][1]["observation"]["results"][0]["content"] == [image]


def test_images_can_be_files_beside_the_trajectory(tmp_path: Path):
    memory = MemorySession()
    memory.append(user("Look", Image("image/png", PNG)))
    place = ImageFolder(tmp_path / "one.images")
    document = json.loads("".join(to_atif(memory, place=place)))
    path = document["steps"][0]["message"][1]["source"]["path"]
    assert path.startswith("one.images/")
    assert (tmp_path / path).read_bytes() == base64.b64decode(PNG)


def test_secrets_are_taken_out_of_every_text_and_lone_surrogates_do_no_harm():
    redactor = Redactor()
    document = exported(
        Settings("m", "ask", system=(f"Key {SECRET}",), tools=(TOOL,)),
        user(f"My key is {SECRET} \ud800"),
        agent(Thinking(SECRET), Text(SECRET), ToolCall("c1", "bash", {"command": f"echo {SECRET}", "n": float("nan")})),
        ToolResult("c1", "bash", "success", SECRET, title=SECRET, metadata={"diff": SECRET}),
        Compaction("auto", "compressed", "auto", (1, 2), 3, SECRET, user_words=()),
        Title(SECRET),
        clean=redactor,
    )
    assert SECRET not in json.dumps(document)
    assert redactor.changed > 8
    assert redactor.notes()[0].startswith("Removed secrets from ")
    assert document["steps"][1]["message"] == "My key is [redacted secret] ?"
    assert document["steps"][2]["tool_calls"][0]["arguments"]["n"] is None


def test_sessions_of_subagents_are_embedded_and_referred_to(store: Store, tmp_path: Path):
    parent = store.create(tmp_path)
    parent.append(user("Send somebody"))
    child = store.create(tmp_path, parent=Parent(parent.id, 1, "subagent"))
    grandchild = store.create(tmp_path, parent=Parent(child.id, 1, "subagent"))
    grandchild.append(user("Deep"))
    child.append(user("Look"))
    child.append(agent(ToolCall("c9", "task", {})))
    child.append(ToolResult("c9", "task", "success", "ok", metadata={"session": grandchild.id}))
    parent.append(agent(ToolCall("c1", "task", {"prompt": "Look"})))
    parent.append(ToolResult("c1", "task", "success", "Seen.", metadata={"session": child.id}))
    for session in (grandchild, child, parent):
        session.close()
    document = json.loads("".join(to_atif(parent, subagents_in(store, parent.info))))
    assert list(problems(document)) == []
    (inner,) = document["subagent_trajectories"]
    assert inner["trajectory_id"] == child.id
    assert [each["trajectory_id"] for each in inner["subagent_trajectories"]] == [grandchild.id]
    (result,) = document["steps"][1]["observation"]["results"]
    assert result["subagent_trajectory_ref"] == [{"trajectory_id": child.id, "session_id": child.id}]


def test_a_whole_output_stands_beside_what_the_model_saw_of_it(store: Store, tmp_path: Path):
    session = store.create(tmp_path)
    session.append(user("Run it"))
    session.append(agent(ToolCall("c1", "bash", {"command": "x"})))
    path = session.keep_output("c1", "all of it")
    session.append(ToolResult("c1", "bash", "success", "all …", True, path))
    session.close()
    document = json.loads("".join(to_atif(session)))
    (result,) = document["steps"][1]["observation"]["results"]
    assert (result["content"], result["extra"]["whole_output"]) == ("all …", "all of it")


def test_the_steps_that_a_fork_has_copied_are_marked(store: Store, tmp_path: Path):
    session = store.create(tmp_path)
    session.append(user("One"))
    session.append(agent(Text("1")))
    session.close()
    fork = store.fork(session.info)
    copy = store.open(fork.project_id, fork.id)
    copy.append(user("Two"))
    copy.close()
    document = json.loads("".join(to_atif(copy)))
    assert [step.get("is_copied_context", False) for step in document["steps"]] == [True, True, False]


def test_a_session_of_which_nothing_is_left_has_one_step_that_says_so():
    assert [step["source"] for step in exported()["steps"]] == ["system"]


def test_a_step_is_given_out_as_soon_as_it_is_complete():
    memory = MemorySession()
    for number in range(50):
        memory.append(user(f"Question {number}"))
        memory.append(agent(Text("answer")))
    read: list[int] = []

    def watched(records: Any) -> Any:
        for record in records:
            read.append(record.seq)
            yield record

    pieces = to_atif(memory, through=watched)
    assert next(piece for piece in pieces if "Question 3" in piece)
    assert len(read) < 10
