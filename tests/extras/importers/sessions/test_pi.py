"""Sessions of pi become records of ours."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.errors import InputError
from agentcli.core.history import History, fold
from agentcli.core.message import Image, Message, Text, Thinking, ToolResult, Usage
from agentcli.core.record import Compaction, Failure, Record, Settings
from agentcli.extras.importers.sessions import Imported, pi, read
from tests.tables import each_row

REAL = Path(__file__).resolve().parents[5] / "shared" / "data" / "real-session.jsonl"
HEADER = {"type": "session", "id": "s", "timestamp": "2025-12-03T14:00:00.000Z", "cwd": "/src/app"}


def lines(*entries: dict[str, Any]) -> list[str]:
    return [json.dumps(entry) for entry in (HEADER, *entries)]


def entry(kind: str, second: int, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": f"2025-12-03T14:00:{second:02d}.000Z", **fields}


def message(second: int, **fields: Any) -> dict[str, Any]:
    return entry("message", second, message=fields)


def user(second: int, text: str) -> dict[str, Any]:
    return message(second, role="user", content=text)


def reply(second: int, *content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    usage = {"input": 3, "output": 5, "cacheRead": 70, "cacheWrite": 11, "cost": {"total": 0.25}}
    said = {"role": "assistant", "content": list(content), "provider": "anthropic", "model": "opus", "usage": usage}
    return message(second, **{**said, "stopReason": "stop", **fields})


def call(name: str, key: str = "c1", **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": key, "name": name, "arguments": arguments}


def result(second: int, name: str, text: str, key: str = "c1", **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    said = {"role": "toolResult", "toolCallId": key, "toolName": name, "content": content, "isError": False}
    return message(second, **{**said, **fields})


def folded(session: Imported) -> History:
    return fold([Record(seq, "", time, "", body) for seq, (time, body) in enumerate(session.bodies, 1)])


def of(session: Imported, kind: type) -> list[Any]:
    return [body for _, body in session.bodies if isinstance(body, kind)]


def test_words_thoughts_and_real_usage_are_taken_over():
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}
    session = pi.read(lines(user(1, "Fix the login"), reply(2, thought, {"type": "text", "text": "Done."})))
    assert (session.title, session.cwd, session.time) == ("Fix the login", "/src/app", "2025-12-03T14:00:01.000Z")
    asked, answered = of(session, Message)
    assert asked == Message("user", (Text("Fix the login"),), turn=1)
    assert answered.parts == (Thinking("hm", ""), Text("Done."))
    assert (answered.usage, answered.cost, answered.stop) == (Usage(3, 5, 0, 70, 11), 0.25, "end_turn")
    assert (answered.turn, answered.provider, answered.model) == (1, "anthropic", "opus")


@each_row(
    ("theirs", "ours"),
    [
        (call("read", path="a.py", offset=3), ("read", {"file_path": "a.py", "offset": 3})),
        (call("edit", path="a", oldText="x", newText="y"), ("edit", {"file_path": "a", "old_string": "x", "new_string": "y"})),
        (call("write", path="a", content="x"), ("write", {"file_path": "a", "content": "x"})),
        (call("find", pattern="*.py"), ("glob", {"pattern": "*.py"})),
        (call("ls", path="src"), ("list", {"path": "src"})),
        (call("bash", command="make"), ("bash", {"command": "make"})),
        (call("deploy", to="prod"), ("deploy", {"to": "prod"})),
    ],
)  # fmt: skip
def test_tools_get_our_names_and_parameters(theirs: dict[str, Any], ours: tuple[str, dict[str, Any]]):
    session = pi.read(lines(user(1, "go"), reply(2, theirs), result(3, theirs["name"], "ok")))
    (asked,) = of(session, Message)[1].calls
    (answered,) = of(session, ToolResult)
    assert (asked.name, asked.input) == ours
    assert (answered.name, answered.output, answered.status) == (ours[0], "ok", "success")


def test_exit_codes_and_counts_of_changed_lines_are_known_to_the_ledger():
    diff = {"diff": "  1 a\n+ 2 b\n+ 3 c\n- 2 d"}
    session = pi.read(
        lines(
            user(1, "go"),
            reply(
                2, call("bash", "c1", command="false"), call("bash", "c2", command="true"), call("edit", "c3", path="a")
            ),
            result(3, "bash", "boom\n\nCommand exited with code 3", "c1", isError=True),
            result(4, "bash", "fine", "c2"),
            result(5, "edit", "Edited", "c3", details=diff),
        )
    )
    assert [body.metadata for body in of(session, ToolResult)] == [
        {"exit_code": 3},
        {"exit_code": 0},
        {"path": "a", "additions": 2, "deletions": 1},
    ]


def test_each_call_has_one_result_right_behind_it():
    session = pi.read(
        lines(
            user(1, "go"),
            reply(2, call("bash", "c1", command="a"), call("bash", "c2", command="b"), stopReason="toolUse"),
            result(3, "bash", "second", "c2"),
            result(4, "bash", "from nowhere", "c9"),
            user(5, "and?"),
            result(6, "bash", "first, late", "c1"),
            reply(7, call("bash", "c3", command="c"), stopReason="aborted", errorMessage="Request was aborted."),
        )
    )
    kinds = [type(body).__name__ for _, body in session.bodies]
    assert kinds == [
        "Title",
        "Message",
        "Settings",
        "Message",
        "ToolResult",
        "ToolResult",
        "Message",
        "Message",
        "ToolResult",
    ]
    assert [(body.call_id, body.status) for body in of(session, ToolResult)] == [
        ("c1", "success"),
        ("c2", "success"),
        ("c3", "interrupted"),
    ]
    assert any("answers no call" in note for note in session.notes)


def test_a_call_that_was_cut_off_while_it_arrived_is_none():
    cut = {**call("bash", "c2", command="rm"), "partialJson": '{"command": "rm'}
    session = pi.read(lines(user(1, "go"), reply(2, call("bash", command="ls"), cut), result(3, "bash", "ok")))
    assert [asked.call_id for asked in of(session, Message)[1].calls] == ["c1"]


def test_an_empty_reply_is_a_failure_that_was_paid_for():
    session = pi.read(lines(user(1, "go"), reply(2, stopReason="aborted", errorMessage="Request was aborted.")))
    (failed,) = of(session, Failure)
    assert (failed.message, failed.usage.output, failed.cost) == ("Request was aborted.", 5, 0.25)


def test_shell_output_travels_in_the_next_prompt():
    ran = message(1, role="bashExecution", command="ls", output="a.py\n", exitCode=2, cancelled=False, truncated=False)
    quiet = message(2, role="bashExecution", command="secret", output="x", exitCode=0, excludeFromContext=True)
    session = pi.read(lines(ran, quiet, user(3, "explain")))
    (asked,) = of(session, Message)
    assert asked.parts == (Text("$ ls\na.py\n[exit code 2]", True, "shell"), Text("explain"))
    assert (asked.text, asked.turn) == ("explain", 1)


def test_images_are_kept_in_prompts_and_in_results():
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    session = pi.read(
        lines(
            message(1, role="user", content=[{"type": "text", "text": "look"}, picture]),
            reply(2, call("read", path="a.png")),
            result(3, "read", "Read image", content=[{"type": "text", "text": "Read image"}, picture]),
        )
    )
    assert of(session, Message)[0].parts[1] == Image("image/png", "aGk=")
    assert of(session, ToolResult)[0].images == (Image("image/png", "aGk="),)


@pytest.mark.parametrize("form", ["index", "id"])
def test_a_compaction_covers_what_stood_before_the_first_kept_entry(form: str):
    talk = [
        user(1, "one"),
        reply(2, {"type": "text", "text": "1"}),
        user(3, "two"),
        reply(4, {"type": "text", "text": "2"}),
    ]
    kept: dict[str, Any] = {"firstKeptEntryIndex": 3} if form == "index" else {"firstKeptEntryId": "e3"}
    entries = [*talk, entry("compaction", 5, summary="so far", tokensBefore=900, **kept), user(6, "three")]
    if form == "id":
        ids = [f"e{n}" for n in range(1, 7)]
        entries = [{**e, "id": key, "parentId": up} for e, key, up in zip(entries, ids, [None, *ids], strict=False)]
    session = pi.read(lines(*entries))
    (cut,) = of(session, Compaction)
    assert (cut.snapshot, cut.tokens_before, cut.status, cut.carry.turn) == ("so far", 900, "compressed", 2)
    texts = [record.body.text for record in folded(session).entries]
    assert texts == ["two", "2", "three"]
    assert cut.covers == (2, cut.kept_from - 1)
    assert folded(session).usage == Usage(6, 10, 0, 140, 22)


def test_only_the_branch_that_ends_in_the_newest_entry_is_taken():
    first, left = user(1, "one"), user(2, "left")
    entries = [
        {**first, "id": "a", "parentId": None},
        {**left, "id": "b", "parentId": "a"},
        {**user(3, "right"), "id": "c", "parentId": "a"},
    ]
    session = pi.read(lines(*entries))
    assert [body.text for body in of(session, Message)] == ["one", "right"]
    assert session.notes == ("1 entries of abandoned branches were left out",)


def test_the_model_is_the_last_one_chosen():
    session = pi.read(lines(user(1, "x"), entry("model_change", 2, provider="google", modelId="gemini-2.5-pro")))
    assert session.model == "google/gemini-2.5-pro"
    assert of(session, Settings) == [Settings(model="google/gemini-2.5-pro")]


@each_row(
    ("damage", "says"),
    [
        (["{broken", "[1]", "7", json.dumps(user(1, "x"))], "line 2: not JSON"),
        (["[1]", "{broken"], "line 2: not a JSON object"),
        ([json.dumps({"type": "message", "timestamp": "2025-12-03T14:00:00Z"})], "line 2: no field 'message'"),
        ([json.dumps(message(1, role="user", content=7))], "line 2: unexpected shape"),
        ([json.dumps({**user(1, "x"), "timestamp": "yesterday"})], "line 2: unexpected shape"),
        ([json.dumps(entry("compaction", 1, summary="s", firstKeptEntryIndex=70))], "outside the file"),
    ],
)
def test_a_bad_file_is_refused_with_line_and_reason(tmp_path: Path, damage: list[str], says: str):
    file = tmp_path / "bad.jsonl"
    file.write_text("\n".join([json.dumps(HEADER), *damage, ""]))
    with pytest.raises(InputError) as failure:
        read(file)
    assert str(file) in str(failure.value)
    assert says in str(failure.value)


def test_a_last_line_that_was_cut_off_costs_only_itself():
    session = pi.read([*lines(user(1, "one")), '{"type": "mess'])
    assert [body.text for body in of(session, Message)] == ["one"]
    assert session.notes == ("line 3 is cut off and was left out",)


@each_row("text", ["", "hello", '{"a": 1}', "[]", "\n\n"])
def test_what_is_no_session_is_refused(tmp_path: Path, text: str):
    file = tmp_path / "x.jsonl"
    file.write_text(text)
    with pytest.raises(InputError, match="is not a session that can be imported"):
        read(file)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    with pytest.raises(InputError, match="Can't read"):
        read(tmp_path / "none.jsonl")
    binary = tmp_path / "binary.jsonl"
    binary.write_bytes(b'{"type": "session"}\n\xff\xfe\n\xff')
    with pytest.raises(InputError, match="line 2: not UTF-8"):
        read(binary)


@pytest.mark.skipif(not REAL.exists(), reason="the recorded session is not here")
def test_the_real_session_is_taken_over_whole():
    session = read(REAL)
    bodies = Counter(type(body).__name__ for _, body in session.bodies)
    # 454 calls, 3 of them cut off while they arrived; 448 results
    assert bodies["Failure"] + sum(b.role == "assistant" for b in of(session, Message)) == 484
    assert (bodies["Compaction"], session.model) == (2, "anthropic/claude-opus-4-5")
    assert sum(body.status == "interrupted" for body in of(session, ToolResult)) == 3
    assert bodies["ToolResult"] == sum(len(body.calls) for body in of(session, Message)) == 451
    history = folded(session)
    assert history.turn == 55
    assert (history.usage.input, history.usage.cache_write) == (3689, 1685320)
    assert history.entries[0].body.text == "can leave it"
