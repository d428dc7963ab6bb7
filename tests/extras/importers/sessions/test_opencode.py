"""Sessions of opencode become records of ours, from an export and from its database."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.errors import InputError
from agentcli.core.message import File, Image, Message, Text, ToolResult, Usage
from agentcli.core.record import Compaction, Todo, TodoItem
from agentcli.extras.importers.sessions import Imported, opencode, read, read_all, recognise
from agentcli.sessions.store import Store
from tests.sessions.imported import store_imported
from tests.tables import each_row

SAMPLE = Path(__file__).parent / "samples" / "opencode-1.18.33.json"
EXPORT = json.loads(SAMPLE.read_text())
TABLES = """
CREATE TABLE `session` (`id` text PRIMARY KEY, `project_id` text NOT NULL, `parent_id` text, `directory` text NOT NULL,
  `title` text NOT NULL, `version` text NOT NULL, `revert` text, `time_created` integer NOT NULL, `time_updated` integer NOT NULL);
CREATE TABLE `message` (`id` text PRIMARY KEY, `session_id` text NOT NULL, `time_created` integer NOT NULL,
  `time_updated` integer NOT NULL, `data` text NOT NULL);
CREATE TABLE `part` (`id` text PRIMARY KEY, `message_id` text NOT NULL, `session_id` text NOT NULL,
  `time_created` integer NOT NULL, `time_updated` integer NOT NULL, `data` text NOT NULL);
"""


def of(session: Imported, kind: type) -> list[Any]:
    return [body for _, body in session.bodies if isinstance(body, kind)]


def store(database: sqlite3.Connection, export: dict[str, Any], **changed: Any) -> None:
    """Put an export into the tables, as opencode keeps it."""
    info = {**export["info"], **changed}
    revert = json.dumps(info["revert"]) if info.get("revert") else None
    moment = info["time"]["created"]
    row = (info["id"], "p", info.get("parentID"), info["directory"], info["title"], "1.18.33", revert, moment, moment)
    database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    for message in export["messages"]:
        head = {key: value for key, value in message["info"].items() if key not in ("id", "sessionID")}
        name, at = f"{info['id']}{message['info']['id']}", head["time"]["created"]
        database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (name, info["id"], at, at, json.dumps(head)))
        for part in message["parts"]:
            data = json.dumps(
                {key: value for key, value in part.items() if key not in ("id", "sessionID", "messageID")}
            )
            row = (f"{info['id']}{part['id']}", name, info["id"], at, at, data)  # type: ignore[assignment]
            database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
    database.commit()


def database(path: Path, export: dict[str, Any]) -> Path:
    """A database with two sessions, the work of a subagent, and one in which nothing was said."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES)
        store(connection, export, id="ses_1")
        store(connection, {**export, "messages": export["messages"][:3]}, id="ses_2", title="Another")
        store(connection, export, id="ses_3", parentID="ses_1", title="Child session - 2026-11-22T06:58:09.703Z")
        store(connection, {**export, "messages": []}, id="ses_4", title="New session - 2026-11-22T06:58:09.703Z")
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return database(tmp_path / "opencode.db", EXPORT)


def test_tools_get_our_names_parameters_and_outcomes():
    session = read(SAMPLE)
    results = {result.call_id: result for result in of(session, ToolResult)}
    asked = {call.call_id: call for message in of(session, Message) for call in message.calls}
    assert list(results) == list(asked)
    edit = asked["toolu_0002_01"]
    assert (edit.name, dict(edit.input)) == (
        "edit",
        {"file_path": "/home/dev/shop/cart.py", "old_string": "sum(items)", "new_string": "round(sum(items), 2)"},
    )
    metadata = results["toolu_0002_01"].metadata
    assert (metadata["path"], metadata["additions"], metadata["deletions"]) == ("/home/dev/shop/cart.py", 1, 1)
    assert "+    return round(sum(items), 2)" in metadata["diff"]
    written = {"path": "/home/dev/shop/new.txt", "created": True, "additions": 1, "deletions": 0}
    assert results["toolu_0003_00"].metadata == written
    assert (results["toolu_0003_01"].status, results["toolu_0003_01"].output[:25]) == (
        "error",
        "Could not find oldString ",
    )
    failed = results["toolu_0004_00"]
    assert (failed.status, failed.output, failed.metadata) == ("error", "boom\n", {"exit_code": 3})
    assert [image.mime for image in results["toolu_0005_00"].images] == ["image/png"]
    assert dict(asked["toolu_0005_03"].input) == {"pattern": "sum", "glob": "*.py"}
    assert of(session, Todo) == [Todo((TodoItem("Round", "completed"), TodoItem("Test", "in_progress")))]


def test_a_call_in_which_the_program_was_killed_is_interrupted():
    session = read(SAMPLE)
    assert [result.call_id for result in of(session, ToolResult) if result.status == "interrupted"] == ["toolu_0009_01"]
    (killed,) = [message for message in of(session, Message) if message.stop == "interrupted"]
    assert (killed.text, killed.usage) == ("It may take a while.", None)


def test_a_compaction_is_one_and_its_summary_no_reply():
    session = read(SAMPLE)
    (compaction,) = of(session, Compaction)
    assert compaction.snapshot == "## Goal\ncart.py rounds now; the tests are untouched."
    assert (compaction.trigger, compaction.model) == ("manual", "anthropic/claude-sonnet-4-5")
    assert (compaction.usage, compaction.cost) == (Usage(0, 27, 0, 0, 1247), 0.00508125)
    assert not [message for message in of(session, Message) if compaction.snapshot in message.text]


def session_of(*messages: tuple[dict[str, Any], list[dict[str, Any]]], **info: Any) -> Imported:
    """The session of an export with these messages."""
    head = {"id": "s", "directory": "/home/dev", "title": "T", "time": {"created": 1_795_330_689_703}, **info}
    rows = [
        {
            "info": {"id": f"m{number}", "time": {"created": 1_795_330_690_000 + number}, **message},
            "parts": [{"id": f"p{number}{index}", **part} for index, part in enumerate(parts)],
        }
        for number, (message, parts) in enumerate(messages)
    ]
    return opencode.read([json.dumps({"info": head, "messages": rows})])


USER = {"role": "user"}
REPLY = {"role": "assistant", "providerID": "openai", "modelID": "gpt-5.5", "finish": "stop"}


def text(content: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": content, **more}


def tool(name: str, state: dict[str, Any], key: str = "c1") -> dict[str, Any]:
    return {"type": "tool", "tool": name, "callID": key, "state": {"input": {}, **state}}


def test_what_the_user_attached_comes_along():
    attached = [
        {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;base64,iVBORw0KGgo="},
        {"type": "file", "mime": "text/plain", "filename": "a.txt", "url": "data:text/plain;base64,aGk="},
        {"type": "file", "mime": "text/plain", "filename": "b.txt", "url": "file:///home/dev/b.txt"},
    ]
    put = text("Called the Read tool", synthetic=True)
    (message,) = of(session_of((USER, [text("look"), *attached, put, text("x", ignored=True)])), Message)
    assert message.parts == (
        Text("look"),
        Image("image/png", "iVBORw0KGgo=", "a.png"),
        File("text/plain", "a.txt", "hi"),
        Text("Called the Read tool", synthetic=True, source="reminder"),
    )


def test_messages_that_were_taken_back_are_left_out():
    session = session_of(
        (USER, [text("one")]),
        (REPLY, [text("1")]),
        (USER, [text("two")]),
        (REPLY, [text("2")]),
        revert={"messageID": "m2"},
    )
    assert [message.text for message in of(session, Message)] == ["one", "1"]
    assert session.notes == ("2 messages that were taken back were left out",)


def test_ids_that_come_twice_are_told_apart_and_calls_that_never_arrived_are_none():
    done = {"status": "completed", "output": "a", "title": "t", "time": {"start": 1, "end": 2}}
    rejected = {"status": "error", "error": "The user rejected permission to use this specific tool call."}
    cancelled = {"status": "error", "error": "Tool execution aborted", "metadata": {"interrupted": True}}
    session = session_of(
        (USER, [text("go")]),
        (REPLY, [tool("read", done), tool("read", {**done, "output": "b"}), tool("bash", {"status": "pending"}, "c2")]),
        (REPLY, [tool("bash", rejected, "c3"), tool("bash", cancelled, "c4")]),
    )
    results = of(session, ToolResult)
    assert [(result.output[:12], result.status) for result in results] == [
        ("a", "success"),
        ("b", "success"),
        ("The user rej", "denied"),
        ("Tool executi", "interrupted"),
    ]
    assert len({result.call_id for result in results}) == 4


NOTICE = "...7 lines truncated...\n\nThe tool call succeeded but the output was truncated. Full output saved to: {path}"


def test_an_output_that_was_cut_is_taken_over_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    kept = tmp_path / "data" / "opencode" / "tool-output" / "tool_1a2"
    kept.parent.mkdir(parents=True)
    kept.write_text("all of it\n" * 1_000)
    session, result = _cut(kept)
    assert (result.truncated, result.output_file) == (True, "outputs/tool_1a2.txt")
    assert result.output == NOTICE.format(path=kept)
    info = store_imported(tmp_path / "store", session, tmp_path)
    stored = Store(tmp_path / "store").open(info.project_id, info.id, read_only=True)
    assert stored.output(result.output_file) == "all of it\n" * 1_000


@pytest.mark.parametrize("name", ["secret", "data/opencode/auth.json", "data/opencode/tool-output/../auth.json"])
def test_no_other_file_is_read_that_an_export_names(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "data" / "opencode" / "tool-output").mkdir(parents=True)
    (tmp_path / name).resolve().write_text("secret")
    session, result = _cut(tmp_path / name)
    assert (session.outputs, result.output_file) == ({}, "")
    link = tmp_path / "data" / "opencode" / "tool-output" / "tool_2"
    link.symlink_to(tmp_path / name)
    assert _cut(link)[0].outputs == {}


def _cut(path: Path) -> tuple[Imported, ToolResult]:
    metadata = {"truncated": True, "outputPath": str(path), "exit": 0}
    state = {"status": "completed", "input": {"command": "x"}, "output": NOTICE.format(path=path), "metadata": metadata}
    session = session_of((USER, [text("Go")]), (REPLY, [tool("bash", state | {"time": {"start": 1, "end": 2}})]))
    [result] = of(session, ToolResult)
    return session, result


def test_reasoning_counts_within_the_output_however_it_was_counted():
    beside = {"total": 130, "input": 100, "output": 20, "reasoning": 10, "cache": {"read": 0, "write": 0}}
    within = {"input": 100, "output": 30, "reasoning": 10, "cache": {"read": 0, "write": 0}}
    session = session_of(
        (USER, [text("go")]), *(({**REPLY, "tokens": tokens}, [text("x")]) for tokens in (beside, within))
    )
    assert [message.usage for message in of(session, Message)[1:]] == [Usage(100, 30, 10), Usage(100, 30, 10)]


def test_a_compaction_that_kept_a_tail_covers_what_stood_before_it():
    session = session_of(
        (USER, [text("one")]),
        (REPLY, [text("1")]),
        (USER, [text("two")]),
        (USER, [{"type": "compaction", "auto": True, "tail_start_id": "m2"}]),
        ({**REPLY, "summary": True, "parentID": "m3"}, [text("what was said")]),
    )
    (compaction,) = of(session, Compaction)
    kept = session.bodies[compaction.kept_from - 1][1]
    assert isinstance(kept, Message)
    assert (kept.text, compaction.trigger) == ("two", "auto")


def test_a_message_without_what_belongs_in_it_is_left_out_and_named():
    session = session_of((USER, [text("go")]), ({"role": "assistant"}, [text("x")]))
    assert session.notes == ("message 2: no field 'providerID'; it was left out",)


def test_a_database_yields_its_sessions_as_the_export_does(path: Path):
    assert recognise(path) == "opencode"
    first, second = read_all(path)
    whole = read(SAMPLE)
    assert (first.title, second.title) == ("Rounding of totals", "Another")
    assert (first.bodies, first.cwd, first.time) == (whole.bodies, whole.cwd, whole.time)
    assert read(path).bodies == first.bodies


def test_one_session_of_a_database_is_chosen_by_id_or_title(path: Path):
    assert [session.title for session in read_all(path, "ses_2")] == ["Another"]
    assert [session.title for session in read_all(path, "Another")] == ["Another"]
    assert len([*read_all(path, "ses_3")]) == 1
    with pytest.raises(InputError, match=r"no session 'ses_9' in it. It has: ses_1 \(Rounding of totals\), ses_2"):
        list(read_all(path, "ses_9"))
    with pytest.raises(InputError, match="only one session"):
        list(read_all(SAMPLE, "ses_1"))


def test_what_stands_in_the_log_beside_a_database_that_is_in_use_is_read(path: Path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = wal")
        store(connection, EXPORT, id="ses_5", title="Not yet in the main file")
        assert path.with_name("opencode.db-wal").stat().st_size
        before = path.read_bytes()
        assert [session.title for session in read_all(path)][-1] == "Not yet in the main file"
        assert path.read_bytes() == before


def test_a_damaged_part_or_session_costs_only_itself(path: Path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "UPDATE message SET data = 'x' WHERE id = (SELECT id FROM message WHERE session_id = 'ses_1' LIMIT 1)"
        )
        connection.execute("UPDATE session SET time_created = 'never' WHERE id = 'ses_2'")
        connection.commit()
    found = []
    with pytest.raises(InputError, match="session ses_2: its row: unexpected shape"):
        found.extend(session for session in read_all(path) if not found)
    sessions = read_all(path)
    first = next(sessions)
    assert [note[:10] for note in first.notes] == ["message 1:"]
    assert first.title == "Rounding of totals"


def test_a_database_in_which_nothing_was_said_is_refused(path: Path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM message")
        connection.commit()
    with pytest.raises(InputError, match="has no session with messages"):
        read(path)


def test_another_database_is_refused(tmp_path: Path):
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE talk (x)")
        database.commit()
    with pytest.raises(InputError, match="is not a session that can be imported"):
        read(other)
    other.write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    with pytest.raises(InputError, match="can't read the database"):
        read(other)


@each_row(
    "end",
    [
        "\n\n...1041 bytes truncated...\n\nThe tool call succeeded but the output was truncated. Full output saved to: /x/tool_1\nUse Grep.",
        "\n\n(Results are truncated: showing first 100 results. Consider a narrower pattern.)",
        "\n\n<bash_metadata>\nbash tool truncated output as it exceeded 30000 char limit\n</bash_metadata>",
    ],
)
def test_a_result_that_ends_in_a_notice_of_its_truncation_is_not_whole(end: str):
    def result(output: str) -> ToolResult:
        state = {
            "status": "completed",
            "input": {"command": "x"},
            "output": output,
            "metadata": {},
            "time": {"start": 1, "end": 2},
        }
        [found] = of(session_of((USER, [text("Go")]), (REPLY, [tool("bash", state)])), ToolResult)
        return found

    assert result("line\n" * 9_000 + end).truncated
    assert not result("a log says that it was (truncated)\n" + "line\n" * 9_000).truncated
