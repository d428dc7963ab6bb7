from __future__ import annotations

from multiprocessing import get_context
from pathlib import Path

from agentcli.frontends.terminal.input.history import HistoryEntry, Memory, append_history, load_history


def test_what_was_typed_comes_back_in_order_whatever_it_holds(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "history.jsonl"
    prompts = [HistoryEntry("one"), HistoryEntry("two\nlines", "/home/me"), HistoryEntry("漢字 \x1b[31m \u2028")]
    for entry in prompts:
        append_history(file, entry)
    assert load_history(file) == prompts
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_damaged_line_hides_no_other(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    append_history(file, HistoryEntry("before"))
    with file.open("ab") as stream:
        stream.write(b'{"text": "cut\n\xff\xfe\n[]\n')
    append_history(file, HistoryEntry("after"))
    assert [entry.text for entry in load_history(file)] == ["before", "after"]


def test_a_line_whose_writer_was_killed_costs_no_other(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    append_history(file, HistoryEntry("before"))
    with file.open("ab") as stream:
        stream.write(b'{"text": "cut')
    append_history(file, HistoryEntry("after"))
    assert [entry.text for entry in load_history(file)] == ["before", "after"]


def test_the_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    for n in range(100):
        append_history(file, HistoryEntry(f"prompt number {n}"), limit=10)
    assert [entry.text for entry in load_history(file, limit=10)] == [f"prompt number {n}" for n in range(90, 100)]
    assert len(file.read_text().splitlines()) <= 20


def test_a_program_remembers_no_more_prompts_than_the_file() -> None:
    memory = Memory(limit=10)
    for n in range(100):
        memory.remember(f"prompt number {n}", "/x")
    assert memory.texts == [f"prompt number {n}" for n in range(90, 100)]


def test_several_programs_write_at_once_and_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    context = get_context("fork")
    writers = [context.Process(target=_write, args=(file, name)) for name in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(load_history(file)) == 150


def test_a_history_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    append_history(tmp_path / "file" / "history.jsonl", HistoryEntry("lost"))
    assert load_history(tmp_path / "file" / "history.jsonl") == []


def _write(file: Path, name: str) -> None:
    for n in range(50):
        append_history(file, HistoryEntry(f"{name} {n}"))


def test_a_line_that_is_nested_too_deep_hides_no_other(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    append_history(file, HistoryEntry("before"))
    with file.open("ab") as stream:
        stream.write(b'{"text": ' + b"[" * 100_000 + b"\n")
    append_history(file, HistoryEntry("after"))
    assert [entry.text for entry in load_history(file)] == ["before", "after"]
