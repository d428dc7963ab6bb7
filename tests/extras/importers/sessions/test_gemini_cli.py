"""Sessions that Gemini CLI 0.61 wrote become records of ours, whole: fresh, resumed, killed, compressed, with a failed request."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentcli.context.assemble import assemble
from agentcli.context.view import view
from agentcli.core.errors import InputError
from agentcli.core.history import History, fold
from agentcli.core.message import Message, Text, ToolResult
from agentcli.core.model import ToolSchema
from agentcli.core.record import Compaction, Failure, Record, Settings
from agentcli.extras.importers.sessions import Imported, read
from agentcli.providers.catalog import spec
from agentcli.providers.scripted.model import say
from tests.loopback import Loopback
from tests.providers.hearing import BOTH, READ, connected, hear
from tests.tables import each_row

SAMPLES = Path(__file__).parent / "samples"
REAL = sorted(path.name for path in SAMPLES.glob("gemini-cli-0.61.0-*"))


def sample(name: str) -> Path:
    return SAMPLES / f"gemini-cli-0.61.0-{name}.jsonl"


def of(session: Imported, kind: type) -> list[Any]:
    return [body for _, body in session.bodies if isinstance(body, kind)]


def prompts(session: Imported) -> list[str]:
    return [body.text for body in of(session, Message) if body.role == "user" and body.text]


def history(session: Imported) -> History:
    return fold([Record(seq, "", time, "", body) for seq, (time, body) in enumerate(session.bodies, 1)])


@each_row("name", REAL)
def test_a_session_has_its_folder_its_first_prompt_as_title_and_a_turn_for_each_prompt(name: str):
    session = read(SAMPLES / name)
    assert session.cwd == "/home/dev/shop"
    assert session.title == prompts(session)[0].splitlines()[0]
    assert history(session).turn == len(prompts(session))
    assert [time for time, _ in session.bodies] == sorted(time for time, _ in session.bodies)


@pytest.mark.parametrize("model", BOTH)
def test_every_session_goes_on_over_both_wires(model: str):
    tools = tuple(ToolSchema(name, name, READ.parameters) for name in ("read", "bash", "write", "edit", "todo"))
    with Loopback(lambda _: say("fine")) as server, asyncio.Runner() as runner:
        connection = connected(server, model)
        for name in REAL:
            session = read(SAMPLES / name)
            going_on = (*session.bodies, ("", Message("user", (Text("Go on."),), 99)))
            records = [Record(seq, "", time, "", body) for seq, (time, body) in enumerate(going_on, 1)]
            asked = assemble(view(fold(records)), ("Be brief.",), tools, spec(model), max_output=1000)
            heard = runner.run(hear(connection, asked))
            assert heard.error is None, (name, heard.error)
        runner.run(connection.close())  # type: ignore[attr-defined]
    assert not [asked.refused for asked in server.requests if asked.refused]


@pytest.mark.parametrize("name", ["resumed", "resumed-at-once"])
def test_a_resumed_session_begins_with_all_that_the_fresh_one_has(name: str):
    fresh, resumed = read(sample("fresh")), read(sample(name))
    assert [body for _, body in resumed.bodies][: len(fresh.bodies)] == [body for _, body in fresh.bodies]
    assert prompts(resumed)[len(prompts(fresh)) :] == ["Look once more"]


@pytest.mark.parametrize("name", ["fresh", "resumed"])
def test_results_of_parallel_calls_are_told_apart(name: str):
    first, second = of(read(sample(name)), ToolResult)[:2]
    assert (first.output, second.output) == ("alpha\n", "beta\n")


def test_the_exit_code_of_a_command_is_read_and_a_failed_one_counts_as_failed():
    (command,) = (result for result in of(read(sample("fresh")), ToolResult) if result.name == "bash")
    assert (command.status, command.metadata["exit_code"]) == ("error", 3)


@each_row(
    ("output", "display", "status", "metadata"),
    [
        ("Output: fine\nProcess Group PGID: 7", "fine", "success", {"exit_code": 0}),
        ("Output: Exit Code: 5\nProcess Group PGID: 7", "Exit Code: 5", "success", {"exit_code": 0}),
        ("Output: a\nExit Code: 5\nExit Code: 6\nProcess Group PGID: 7", "a\nExit Code: 5", "error", {"exit_code": 6}),
        ("Output: (empty)\nSignal: 9\nProcess Group PGID: 7", "Command terminated by signal: 9", "error", {}),
        ("Command moved to background (PID: 7). Output hidden.", "", "success", {}),
        (
            "Command: a\nStdout: b\nExit Code: 1\nSignal: (none)\nBackground PIDs: (none)",
            "b",
            "error",
            {"exit_code": 1},
        ),
        ("Command: a\nOutput: b\nExit Code: (none)\nSignal: 15", "b", "error", {}),
    ],
)
def test_how_a_command_ended_is_read_behind_its_output_only(
    output: str, display: str, status: str, metadata: dict[str, Any], tmp_path: Path
):
    response = {"functionResponse": {"id": "c", "name": "run_shell_command", "response": {"output": output}}}
    call = {"id": "c", "name": "run_shell_command", "args": {"command": "x"}, "status": "success", "result": [response]}
    reply = {"id": "g", "type": "gemini", "content": "", "toolCalls": [call | {"resultDisplay": display}]}
    (result,) = of(session_of(tmp_path, reply), ToolResult)
    assert (result.status, result.metadata) == (status, metadata)


def test_a_picture_that_a_tool_read_stands_in_its_result_only():
    session = read(sample("pictures"))
    assert [len(result.images) for result in of(session, ToolResult)] == [1, 0, 1]
    assert len(prompts(session)) == 1


def test_the_contents_of_files_that_a_prompt_names_are_not_the_users_words():
    session = read(sample("pictures"))
    assert prompts(session) == ["Look at the pictures and @a.txt please"]
    texts = [part.text for part in of(session, Message)[0].parts if isinstance(part, Text) and part.source == "file"]
    assert "alpha" in texts


def test_a_compression_is_a_compaction_and_all_before_it_is_kept():
    session = read(sample("compressed"))
    (cut,) = of(session, Compaction)
    assert cut.snapshot.startswith("<state_snapshot>")
    assert cut.tokens_before == 9500
    assert [prompt.split(":")[0] for prompt in prompts(session)] == [
        "First",
        "Second",
        "Third",
        "Fourth",
        "Fifth",
        "Sixth",
    ]
    kept = session.bodies[cut.kept_from - 1][1]
    assert isinstance(kept, Message)
    assert kept.text == "Third: cart and notes"
    assert "Got it. Thanks" not in str(session.bodies)


def test_a_prompt_that_was_taken_back_after_a_failed_request_stays_and_is_noted():
    session = read(sample("failed"))
    assert prompts(session) == ["Fail at once"]
    assert [note for note in session.notes if note.startswith("1 prompt that Gemini CLI took out")]


def test_what_was_cancelled_stays_and_what_was_rewound_does_not():
    session = read(sample("cancelled-rewound"))
    assert [prompt.split(":")[0] for prompt in prompts(session)] == ["First", "Second", "Third"]
    assert [result.status for result in of(session, ToolResult)] == ["success", "interrupted"]
    assert [note.split(" that ")[0] for note in session.notes] == ["2 messages", "1 prompt"]


def session_of(folder: Path, *lines: dict[str, Any]) -> Imported:
    head = {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00.000Z"}
    file = folder / "chats" / "session.jsonl"
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(map(json.dumps, [head, *lines])))
    return read(file)


def user(name: str, *texts: str) -> dict[str, Any]:
    return {"id": name, "type": "user", "content": [{"text": text} for text in texts]}


def test_without_a_context_the_folder_is_the_one_written_beside_the_sessions(tmp_path: Path):
    (tmp_path / ".project_root").write_text("/home/dev/shop\n")
    assert session_of(tmp_path, user("a", "Hello")).cwd == "/home/dev/shop"
    (tmp_path / ".project_root").write_text("shop")
    assert session_of(tmp_path, user("a", "Hello")).cwd == ""


@pytest.mark.parametrize(
    "text",
    [
        "System: Potential loop detected. Details: x. Please take a step back.",
        "System: Please continue.",
        "Please continue.",
    ],
)
def test_texts_that_the_program_put_in_are_no_prompts(text: str, tmp_path: Path):
    reply = {"id": "b", "type": "gemini", "content": "I go on.", "model": "gemini-3"}
    session = session_of(tmp_path, user("a", "Hello"), reply, user("c", text), reply | {"id": "d"}, user("e", "There"))
    assert prompts(session) == ["Hello", "There"]
    kept = [part for message in of(session, Message) for part in message.parts if isinstance(part, Text)]
    assert [(part.synthetic, part.source) for part in kept if part.text == text] == [(True, "reminder")]


def test_calls_that_were_repeated_under_the_same_id_each_have_their_own_result(tmp_path: Path):
    def done(output: str) -> dict[str, Any]:
        answer = {"functionResponse": {"id": "x", "name": "read_file", "response": {"output": output}}}
        return {"id": "x", "name": "read_file", "args": {"file_path": "a"}, "status": "success", "result": [answer]}

    lines = [user("u", "Go")]
    for number, calls in enumerate([[done("one")], [done("two"), done("three")], [done("four")]]):
        lines.append({"id": f"g{number}", "type": "gemini", "content": "", "model": "m", "toolCalls": calls})
        answers = [part for one in calls for part in one["result"]]
        lines.append({"id": f"r{number}", "type": "user", "content": answers})
    session = session_of(tmp_path, *lines)
    asked = [call.call_id for message in of(session, Message) for call in message.calls]
    assert len(set(asked)) == 4
    results = of(session, ToolResult)
    assert [(result.call_id, result.output) for result in results] == [
        *zip(asked, ["one", "two", "three", "four"], strict=True)
    ]


@each_row("name", [{"id": "x"}, {}])
def test_identical_calls_of_one_reply_each_have_their_own_result(name: dict[str, str], tmp_path: Path):
    call = {"functionCall": {**name, "name": "run_shell_command", "args": {"command": "seq 1 900"}}}
    answers = [
        {"functionResponse": {**name, "name": "run_shell_command", "response": {"output": f"Output: {output}"}}}
        for output in ("one", "two")
    ]
    lines = [user("u", "Go"), {"id": "g", "type": "gemini", "content": [call, call]}, user("r", "")]
    session = session_of(tmp_path, {"$set": {"messages": [*lines[:2], {**lines[2], "content": answers}]}})
    asked = [call.call_id for message in of(session, Message) for call in message.calls]
    assert [(result.call_id, result.output) for result in of(session, ToolResult)] == [
        *zip(asked, ["Output: one", "Output: two"], strict=True)
    ]
    assert len(set(asked)) == 2


def test_a_message_of_the_wrong_shape_is_left_out_and_named(tmp_path: Path):
    session = session_of(tmp_path, user("a", "Hello"), {"id": "b", "type": "gemini", "content": 7}, user("c", "There"))
    assert prompts(session) == ["Hello", "There"]
    assert any("line 3" in note and "left out" in note for note in session.notes)


def test_a_note_quotes_little_of_what_is_damaged(tmp_path: Path):
    session = session_of(tmp_path, user("a", "Hello"), user("b", "There") | {"timestamp": "x" * 100_000})
    assert [len(note) < 400 for note in session.notes] == [True]


def test_a_file_with_nothing_but_damage_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="line 2"):
        session_of(tmp_path, {"id": "b", "type": "gemini", "content": 7})


def test_a_rewind_to_a_message_that_is_not_there_takes_nothing_back(tmp_path: Path):
    session = session_of(tmp_path, user("a", "Hello"), {"$rewindTo": "z"})
    assert prompts(session) == ["Hello"]
    assert any("line 3" in note for note in session.notes)


def test_a_reply_whose_calls_were_never_written_leaves_its_usage_and_model(tmp_path: Path):
    reply = {"id": "b", "type": "gemini", "content": "", "model": "gemini-2.5-pro", "tokens": {"input": 9, "output": 2}}
    session = session_of(tmp_path, user("a", "Hello"), reply)
    (failure,) = of(session, Failure)
    assert failure.usage.total == 11
    assert session.model == "google/gemini-2.5-pro"
    assert of(session, Settings)


def test_messages_that_a_rewritten_history_joined_are_still_known(tmp_path: Path):
    snapshot = user("s", "<state_snapshot>All is well.</state_snapshot>")
    answer = {"id": "t", "type": "gemini", "content": [{"text": "Got it. Thanks for the additional context!"}]}
    joined = user("u", "Second", "Third")
    session = session_of(
        tmp_path,
        *(user(text[0], text) for text in ("First", "Second", "Third")),
        {"$set": {"messages": [snapshot, answer, joined]}},
    )
    assert prompts(session) == ["First", "Second", "Third"]
    (cut,) = of(session, Compaction)
    assert [body.text for _, body in session.bodies[cut.kept_from - 1 : cut.kept_from + 1]] == ["Second", "Third"]  # type: ignore[union-attr]


def test_a_session_that_begins_with_a_summary_shows_it(tmp_path: Path):
    summary = user("s", "<state_snapshot>All is well.</state_snapshot>")
    session = session_of(tmp_path, {"$set": {"messages": [summary, user("a", "Hello")]}})
    assert "All is well." in str(view(history(session)))
    assert prompts(session) == ["Hello"]


def test_what_hooks_added_to_a_prompt_is_not_the_users(tmp_path: Path):
    session = session_of(tmp_path, user("a", "Hello", "<hook_context>Rain.</hook_context>"))
    assert prompts(session) == ["Hello"]
    assert "Rain." in str(of(session, Message)[0].parts)


def test_a_history_that_was_cleared_takes_nothing_away(tmp_path: Path):
    file = tmp_path / "session.jsonl"
    file.write_bytes(sample("fresh").read_bytes())
    with file.open("a") as lines:
        lines.write(json.dumps({"$set": {"messages": []}}) + "\n")
    session = read(file)
    assert prompts(session) == prompts(read(sample("fresh")))
    assert not any("unexpected shape" in note for note in session.notes)
