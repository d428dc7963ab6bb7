"""`agentcli sessions import`, as a user has it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Program
from tests.extras.importers.sessions.test_opencode import database

SAMPLES = Path(__file__).parent / "sessions" / "samples"
AT = "2026-01-05T09:00:00.000Z"


def claude(folder: Path, cwd: Path, session: str = "c1", words: str = "hello") -> Path:
    """A session as Claude Code writes it, `folder` being its own folder."""
    path = folder / "projects" / str(cwd).replace("/", "-") / f"{session}.jsonl"
    entry = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": session, "cwd": str(cwd), "timestamp": AT}
    return written(path, {**entry, "message": {"role": "user", "content": words}})


def codex(folder: Path, cwd: Path, session: str = "x1", where: str = "sessions/2026/01/05") -> Path:
    meta = {"id": session, "timestamp": AT, "cwd": str(cwd), "instructions": None}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}
    return written(
        folder / where / f"rollout-2026-01-05T09-00-00-{session}.jsonl",
        {"timestamp": AT, "type": "session_meta", "payload": meta},
        {"timestamp": AT, "type": "response_item", "payload": said},
        {"timestamp": AT, "type": "event_msg", "payload": {"type": "user_message", "message": "hello"}},
    )


def gemini(folder: Path, name: str, cwd: Path | None, session: str = "g1") -> Path:
    chats = folder / "tmp" / name / "chats"
    chats.mkdir(parents=True)
    if cwd is not None:
        (chats.parent / ".project_root").write_text(str(cwd))
    said = [{"id": "m1", "timestamp": AT, "type": "user", "content": "hello"}]
    whole = {"sessionId": session, "projectHash": name, "startTime": AT, "lastUpdated": AT, "messages": said}
    return written(chats / f"session-2026-01-05T09-00-{session}.json", whole)


def pi(folder: Path, cwd: Path, session: str = "p1") -> Path:
    said = {"role": "user", "content": [{"type": "text", "text": "hello"}], "timestamp": 1}
    return written(
        folder / "sessions" / f"--{str(cwd)[1:].replace('/', '-')}--" / f"2026-01-05_{session}.jsonl",
        {"type": "session", "version": 3, "id": session, "timestamp": AT, "cwd": str(cwd)},
        {"type": "message", "id": "m1", "parentId": None, "timestamp": AT, "message": said},
    )


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def outcomes(program: Program, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
    ran = program.run("sessions", "import", "--json", *arguments)
    assert ran.code == code, ran.err
    return list(json.loads(ran.out))


@pytest.mark.full
def test_each_program_keeps_its_sessions_where_they_are_found(program: Program) -> None:
    home, work = program.base, program.work
    claude(home / ".claude", work)
    codex(home / ".codex", work)
    codex(home / ".codex", work, "x2", "archived_sessions")
    gemini(home / ".gemini", "work", work)
    gemini(home / ".gemini", hashlib.sha256(os.fsencode(work)).hexdigest(), None, "g2")
    pi(home / ".pi" / "agent", work)
    for name, ids in (("claude", {"c1"}), ("codex", {"x1", "x2"}), ("gemini", {"g1", "g2"}), ("pi", {"p1"})):
        there = outcomes(program, "--from", name, "--dry-run")
        assert {(each["id"], each["directory"], each["imported"]) for each in there} == {
            (id, str(work), False) for id in ids
        }
        done = outcomes(program, "--from", name, "--here")
        assert {(each["id"], each["status"], each["directory"]) for each in done} == {
            (id, "imported", str(work)) for id in ids
        }
        assert all(each["imported"] for each in outcomes(program, "--from", name, "--dry-run"))
        assert {each["status"] for each in outcomes(program, "--from", name)} == {"skipped"}
    listed = json.loads(program.run("sessions", "list", "--json").out)
    assert {one["imported"]["id"] for one in listed} == {"c1", "x1", "x2", "g1", "g2", "p1"}
    assert program.run("sessions", "check").code == 0


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("CLAUDE_CONFIG_DIR", "claude"),
        ("CODEX_HOME", "codex"),
        ("PI_CODING_AGENT_DIR", "pi"),
        ("GEMINI_CLI_HOME", "gemini"),
    ],
)
def test_the_programs_own_variables_say_where_to_look(program: Program, variable: str, name: str) -> None:
    elsewhere = program.base / "elsewhere"
    program.more = {variable: str(elsewhere)}
    match name:
        case "gemini":
            gemini(elsewhere / ".gemini", "work", program.work)
        case "claude":
            claude(elsewhere, program.work)
        case "codex":
            codex(elsewhere, program.work)
        case _:
            pi(elsewhere, program.work)
    assert len(outcomes(program, "--from", name)) == 1


def test_sessions_of_a_database_are_found_one_by_one(program: Program) -> None:
    kept = program.base / "data" / "opencode"
    kept.mkdir(parents=True)
    path = database(kept / "opencode.db", json.loads((SAMPLES / "opencode-1.18.33.json").read_text()))
    done = outcomes(program, "--from", "opencode")
    assert {(each["id"], each["status"]) for each in done} == {("ses_1", "imported"), ("ses_2", "imported")}
    assert {each["status"] for each in outcomes(program, "--from", "opencode")} == {"skipped"}
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE session SET time_updated = time_updated + 1 WHERE id = 'ses_2'")
        connection.commit()
    whys = {each["id"]: each["why"] for each in outcomes(program, "--from", "opencode")}
    assert "imported already" in whys["ses_1"]
    assert "has grown" in whys["ses_2"]
    alone = program.run("sessions", "import", str(path), "--session", "Another")
    assert alone.out.strip() == next(each["session"] for each in done if each["id"] == "ses_2")


def test_those_of_this_project_are_told_from_others_and_each_goes_to_its_own_folder(program: Program) -> None:
    kept, other, gone = program.base / ".claude", program.base / "other", program.base / "gone"
    other.mkdir()
    (program.work / "src").mkdir()
    (program.work / ".git").mkdir()
    for number, cwd in enumerate([program.work, program.work / "src", other, gone, gone]):
        claude(kept, cwd, f"c{number}")
    table = program.run("sessions", "import", "--from", "claude", "--dry-run").out
    [row] = [line for line in table.splitlines() if line.endswith(str(gone))]
    assert row.split()[1:3] == ["2", "2"]
    assert "5 sessions found, 5 new." in table
    assert {each["id"] for each in outcomes(program, "--from", "claude", "--here")} == {"c0", "c1"}
    ran = program.run("sessions", "import", "--from", "claude")
    assert ran.out.endswith("3 sessions imported, 2 skipped, 0 failed.\n")
    assert len(json.loads(program.run("sessions", "list", "--json").out)) == 2
    everywhere = json.loads(program.run("sessions", "list", "--json", "--all").out)
    assert sorted(one["directory"] for one in everywhere) == sorted(
        [str(program.work), str(program.work / "src"), str(other), str(gone), str(gone)]
    )


def test_files_folders_and_stdin_are_taken_and_what_fails_stops_nothing(program: Program) -> None:
    folder = program.base / "mixed"
    claude(folder, program.work, "c1")
    codex(folder / "deep" / "deeper", program.work)
    (folder / "settings.json").write_text('{"theme": "dark"}')
    (folder / "notes.txt").write_text("no session")
    broken = folder / "broken.jsonl"
    broken.write_text('{"type":"session","timestamp":3}\nnot json\n{"a":1}\n')
    done = outcomes(program, str(folder), "nowhere.jsonl", str(folder / "notes.txt"), code=1)
    assert [each["status"] for each in done].count("imported") == 2
    failed = {each["file"]: each["why"] for each in done if each["status"] == "failed"}
    assert set(failed) == {"nowhere.jsonl", str(folder / "notes.txt"), str(broken)}
    assert "nowhere.jsonl is not a file or a folder." in failed["nowhere.jsonl"]
    piped = program.run("sessions", "import", "-", stdin=(SAMPLES / "codex.jsonl").read_text())
    assert piped.code == 0
    assert len(json.loads(program.run("sessions", "list", "--json").out)) == 3
    garbage = program.run("sessions", "import", "-", stdin="garbage")
    assert garbage.code == 42
    assert garbage.err.startswith("agentcli: stdin is not a session that can be imported")


def test_one_file_prints_the_id_of_its_session_also_when_it_is_known(program: Program) -> None:
    path = claude(program.base, program.work)
    first = program.run("sessions", "import", str(path))
    again = program.run("sessions", "import", str(path))
    assert (again.code, again.out) == (0, first.out)
    assert f"{path} was imported already: {first.out.strip()}" in again.err
    program.run("sessions", "delete", first.out.strip())
    assert "in the trash" in program.run("sessions", "import", str(path)).err
    anew = program.run("sessions", "import", str(path), "--again")
    assert anew.out != first.out
    moved = path.rename(path.with_name("renamed.json"))
    assert program.run("sessions", "import", str(moved), "--name", "mine").code == 0
    assert program.run("sessions", "import", str(moved), "--again", "--name", "mine").code == 42


@pytest.mark.full
def test_a_given_name_is_the_last_record_of_the_session_when_it_appears(program: Program) -> None:
    program.run("sessions", "import", str(claude(program.base, program.work)), "--name", "mine")
    export = program.base / "mine.json"
    program.run("sessions", "export", "mine", "-f", "json", "--keep-secrets", "-o", str(export))
    program.run("sessions", "import", str(export), "--name", "copy")
    for name in ("mine", "copy"):
        shown = json.loads(program.run("sessions", "show", name, "--json").out)
        assert shown["name"] == shown["entries"][-1]["name"] == name
        assert [entry["seq"] for entry in shown["entries"]] == list(range(1, shown["records"] + 1))
        assert program.run("sessions", "check", name).code == 0


def test_a_session_that_has_grown_is_said_and_imported_anew_only_if_that_is_meant(program: Program) -> None:
    path = codex(program.base / ".codex", program.work)
    [first] = outcomes(program, "--from", "codex")
    with path.open("a") as file:
        said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "more"}]}
        file.write(json.dumps({"timestamp": AT, "type": "response_item", "payload": said}) + "\n")
    [grown] = outcomes(program, "--from", "codex")
    assert (grown["status"], grown["session"]) == ("skipped", first["session"])
    assert "has grown" in grown["why"]
    [again] = outcomes(program, "--from", "codex", "--again")
    assert again["status"] == "imported"
    assert "imported already" in outcomes(program, "--from", "codex")[0]["why"]


def test_a_fork_of_an_imported_session_is_nothing_that_was_imported(program: Program) -> None:
    path = claude(program.base, program.work)
    [first] = outcomes(program, str(path))
    fork = program.run("sessions", "fork", first["session"]).out.strip()
    listed = {one["id"]: one for one in json.loads(program.run("sessions", "list", "--json").out)}
    assert listed[first["session"]]["imported"]["program"] == "claude-code"
    assert "imported" not in listed[fork]


def test_names_of_imported_sessions_lead_to_one_session_each(program: Program) -> None:
    folder = program.base / "kept"
    for number in range(2):
        path = claude(folder, program.work, f"c{number}")
        with path.open("a") as file:
            file.write(
                json.dumps({"type": "custom-title", "customTitle": "the name", "sessionId": f"c{number}"}) + "\n"
            )
    done = outcomes(program, str(folder))
    assert [each["title"] for each in done] == ["the name", "the name (2)"]
    shown = program.run("sessions", "show", "the name (2)", "--json")
    assert json.loads(shown.out)["id"] == done[1]["session"]


def test_what_cannot_be_meant_is_refused(program: Program) -> None:
    for arguments in ([], ["--from", "nobody"], ["--from", "pi", "--name", "x"]):
        assert program.run("sessions", "import", *arguments).code == 2
    assert outcomes(program, "--from", "pi") == []  # nothing kept


def compressed(path: Path) -> Path:
    """The file as a Zstandard frame of one block that is stored as it is; the file itself is gone."""
    data = path.read_bytes()
    head = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data))
    path.unlink()
    packed = path.with_name(f"{path.name}.zst")
    packed.write_bytes(head + (len(data) << 3 | 1).to_bytes(3, "little") + data)
    return packed


STAND_IN = """
import io
class ZstdError(Exception): pass
class ZstdDecompressor:
    def stream_reader(self, data, read_across_frames=False):
        if len(data) < 100: raise ZstdError("too short")
        return io.BytesIO(data[12:])
"""
"""A `zstandard` package that unpacks such a frame."""


@pytest.mark.skipif(
    any(map(importlib.util.find_spec, ("compression", "zstandard"))), reason="Zstandard is there: nothing is missing"
)
def test_a_compressed_session_that_cannot_be_unpacked_is_found_and_said_how_to_unpack(program: Program) -> None:
    path = compressed(codex(program.base / ".codex", program.work))
    [there] = outcomes(program, "--from", "codex", "--dry-run")
    assert (there["file"], there["id"], there["imported"]) == (str(path), "x1", False)
    for arguments in (["--from", "codex"], [str(path.parent)]):
        [failed] = outcomes(program, *arguments, code=1)
        assert failed["status"] == "failed"
        assert f"{path} is compressed. Unpack it with `zstd -d {path}`, then import it again." in failed["why"]
    named = program.run("sessions", "import", str(path))
    assert (named.code, "zstd -d" in named.err) == (42, True)
    codex(program.base / ".codex", program.work)  # now it lies there unpacked, too
    assert [each["status"] for each in outcomes(program, "--from", "codex")] == ["imported"]
    assert [each["status"] for each in outcomes(program, str(path.parent))] == ["skipped"]


@pytest.mark.full
def test_a_compressed_session_is_read_where_python_can_unpack_it(program: Program) -> None:
    plain = codex(program.base / ".codex", program.work)
    assert [each["status"] for each in outcomes(program, "--from", "codex")] == ["imported"]
    compressed(plain)
    compressed(codex(program.base / ".codex", program.work, "x2", "archived_sessions"))
    (program.base / "library").mkdir()
    (program.base / "library" / "zstandard.py").write_text(STAND_IN)
    program.more = {"PYTHONPATH": str(program.base / "library")}
    done = {each["id"]: each for each in outcomes(program, "--from", "codex")}
    assert {id: each["status"] for id, each in done.items()} == {"x1": "skipped", "x2": "imported"}
    assert "imported already" in done["x1"]["why"]
    assert done["x2"]["directory"] == str(program.work)
    damaged = program.base / "rollout.jsonl.zst"
    damaged.write_bytes(b"\x28\xb5\x2f\xfd and nothing more")
    assert f"{damaged} is compressed and damaged" in program.run("sessions", "import", str(damaged)).err


@pytest.mark.full
def test_many_sessions_are_imported_on_a_terminal_and_a_pipe_gets_no_bar(program: Program) -> None:
    source = claude(program.base / ".claude", program.work, "c0", "x" * 1_000)
    for number in range(1, 150):
        shutil.copy(source, source.with_name(f"c{number}.jsonl"))
    assert "\r" not in program.run("sessions", "import", "--from", "claude", "--dry-run").err
    with program.terminal("sessions", "import", "--from", "claude", columns=120, rows=10) as t:
        assert t.wait(60) == 0
        # The bar comes after half a second: a fast machine is done before that.
        assert b"/150" not in t.raw or b"\x1b[2K" in t.raw
        assert "150 sessions imported, 0 skipped, 0 failed." in "\n".join(t.history())


def test_replies_of_which_the_file_tells_the_usage_alone_have_their_price(program: Program) -> None:
    source = program.base / "claude.jsonl"
    usage = {"input_tokens": 1_000, "output_tokens": 100, "cache_read_input_tokens": 10_000}
    said = [{"type": "text", "text": "Hello."}]
    reply = {"id": "m1", "role": "assistant", "model": "claude-sonnet-4-5-20250929", "content": said, "usage": usage}
    common = {"sessionId": "s", "cwd": str(program.work), "timestamp": AT}
    written(
        source,
        {"type": "user", "uuid": "u", "parentUuid": None, **common, "message": {"role": "user", "content": "Hi"}},
        {"type": "assistant", "uuid": "a", "parentUuid": "u", **common, "message": reply},
    )
    assert program.run("sessions", "import", str(source)).code == 0
    [listed] = json.loads(program.run("sessions", "list", "--json").out)
    assert listed["cost"] == pytest.approx((1_000 * 3 + 100 * 15 + 10_000 * 0.3) / 1e6)
