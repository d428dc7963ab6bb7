"""A long session is imported in one passage through its file, with little beside it in memory."""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from agentcli.core.codec.encode import decode
from agentcli.core.dataclass import FEW
from agentcli.extras.importers.sessions import read, recognise
from agentcli.extras.importers.sessions.discover import candidates
from agentcli.extras.importers.sessions.import_run import ImportRun
from agentcli.extras.importers.sessions.recognise import lines
from agentcli.sessions.exporting import collect, export
from agentcli.sessions.store import Store
from tests.counted import counted

RECORDS = 1_200
ANSWER = "x = 1\n" * 300


def claude_code(records: int = RECORDS) -> Iterator[dict[str, Any]]:
    last = None
    for number in range(records):
        head = {"uuid": f"u{number}", "parentUuid": last, "sessionId": "s", "cwd": "/repo", "version": "2.1.0"}
        head["timestamp"] = f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}.000Z"
        last = head["uuid"]
        if number == 0:
            yield {**head, "type": "user", "message": {"role": "user", "content": "Mend it."}}
        elif number % 2:
            call = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"file_path": "/repo/a.py"}}
            message = {"id": f"m{number}", "role": "assistant", "model": "claude-sonnet-4-5", "content": [call]}
            yield {**head, "type": "assistant", "message": message}
        else:
            block = {"type": "tool_result", "tool_use_id": f"c{number - 1}", "content": ANSWER}
            yield {**head, "type": "user", "message": {"role": "user", "content": [block]}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "session.jsonl", RECORDS)


def written(path: Path, records: int) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in claude_code(records)))
    return path


def calls_to_import(folder: Path, records: int) -> int:
    """The number of Python functions that are called to import a session of so many records."""
    file = written(folder / f"{records}.jsonl", records)
    importing, found = ImportRun(Store(folder / "store"), folder), candidates(file)
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        [outcome] = importing.run(found)
    finally:
        sys.setprofile(None)
    assert outcome.status == "imported"
    return calls


def most_memory(work: Callable[[], object]) -> int:
    """The most bytes that are in use at once while it works, beyond those before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_file_is_recognised_by_its_first_lines_alone(file: Path) -> None:
    assert most_memory(lambda: recognise(file)) < file.stat().st_size / 4
    assert most_memory(lambda: candidates(file)) < file.stat().st_size / 4


def test_the_lines_of_a_file_are_read_one_by_one(file: Path) -> None:
    assert most_memory(lambda: sum(1 for _ in lines(file))) < file.stat().st_size / 4


def test_the_progress_of_one_session_can_be_shown(tmp_path: Path) -> None:
    passed: list[tuple[int, int]] = []

    def through(things: Iterable[Any], total: int) -> Iterator[Any]:
        held = [*things]
        passed.append((len(held), total))
        yield from held

    file = written(tmp_path / "session.jsonl", 50)
    [outcome] = ImportRun(Store(tmp_path / "store"), tmp_path, through=through).run(candidates(file))
    assert outcome.info is not None
    assert passed == [(50, 0), (outcome.info.records, outcome.info.records)]


def test_a_record_costs_few_steps_however_many_there_are(tmp_path: Path) -> None:
    for records in range(30, 31 + FEW):  # methods of a class are compiled once it has more than a few instances
        calls_to_import(tmp_path, records)
    few, some, many = (calls_to_import(tmp_path, records) for records in (20, 120, 320))
    each = (some - few) / 100
    assert each < 115  # 136 where each record is encoded and decoded to be checked, and the summary made anew for it
    assert (many - some) / 200 == pytest.approx(each, rel=0.01)


def test_the_records_of_an_own_export_are_parsed_once_with_the_whole(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    [outcome] = ImportRun(store, tmp_path).run(candidates(written(tmp_path / "session.jsonl", 100)))
    assert outcome.info is not None
    session = store.open(outcome.info.project_id, outcome.info.id, read_only=True)
    exported = tmp_path / "export.json"
    exported.write_text(export(collect(session), "json", redacted=False))
    with counted(decode) as calls:
        again = read(exported)
    assert not calls
    assert [record for record, _ in again.kept] == [*session.records()]
