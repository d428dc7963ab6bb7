from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

from agentcli.frontends.terminal.input.history import Drafts, HistoryEntry, Memory, append_history, load_history


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


DIES = """
import os, sys
from pathlib import Path
from agentcli.frontends.terminal.input.history import Drafts
drafts = Drafts(Path(sys.argv[1]))
drafts.keep("half a sent", "s1", "/here")
drafts.keep("half a sentence 日本", "s1", "/here")
os.kill(os.getpid(), 9)
"""


def test_the_draft_of_a_process_that_was_killed_is_handed_out_once(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", DIES, str(tmp_path)], check=False)
    [draft] = Drafts(tmp_path).lost()
    assert (draft.entry, draft.session) == (HistoryEntry("half a sentence 日本", "/here"), "s1")
    assert Drafts(tmp_path).lost() == []


def test_the_draft_of_a_process_that_lives_stays_its_own(tmp_path: Path) -> None:
    code = DIES.replace("os.kill(os.getpid(), 9)", "print('kept', flush=True); sys.stdin.read()")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], **pipes) as other:  # type: ignore[call-overload]
        assert other.stdout.readline() == b"kept\n"
        assert Drafts(tmp_path).lost() == []
        other.kill()
    assert len(Drafts(tmp_path).lost()) == 1


def test_a_draft_that_was_sent_or_closed_leaves_nothing(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path)
    drafts.keep("text", "s1", "/here")
    [file] = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_bytes())["text"] == "text"
    drafts.keep("", "s1", "/here")
    assert file.read_bytes() == b""
    drafts.close()
    assert not list(tmp_path.iterdir())


def test_what_was_being_written_when_the_process_died_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text('{"text": "ha')
    (tmp_path / "2.json").write_text("[]")
    assert Drafts(tmp_path).lost() == []
    assert not list(tmp_path.iterdir())


def test_a_disk_that_fails_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    drafts = Drafts(tmp_path / "file" / "below")
    drafts.keep("text", "s1", "/here")
    assert drafts.lost() == []
    drafts.close()


def test_the_draft_of_a_dead_process_is_found_by_one_with_the_same_id(tmp_path: Path) -> None:
    left = tmp_path / f"{os.getpid()}.json"  # in a container each program may be process 1
    left.write_text('{"text": "half", "folder": "/here", "session": "s1"}')
    drafts = Drafts(tmp_path)
    drafts.keep("mine", "s2", "/here")
    assert [draft.entry.text for draft in drafts.lost()] == ["half"]
    drafts.close()


def test_one_draft_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "1.json").symlink_to(tmp_path / "nothing")
    (tmp_path / "2.json").mkdir()
    (tmp_path / "3.json").write_text('{"text": "half", "folder": "/here", "session": "s1"}')
    assert [draft.entry.text for draft in Drafts(tmp_path).lost()] == ["half"]


def test_a_draft_that_is_nested_too_deep_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text("[" * 100_000)
    assert Drafts(tmp_path).lost() == []


def test_each_prompt_is_found_once_the_newest_first_over_the_end_of_the_program(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    for text in ("one", "two", "one"):
        memory.remember(text, "/x")
    again = Memory(tmp_path)
    assert again.texts == ["one", "two", "one"]
    assert [typed.text for typed in again.newest_first] == ["one", "two"]


def test_a_lost_draft_comes_back_to_its_session_and_others_join_the_prompts(tmp_path: Path) -> None:
    for number, session in enumerate(("mine", "other")):
        file = tmp_path / "drafts" / f"{number}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f'{{"text": "draft {number}", "folder": "/x", "session": "{session}"}}')
    memory = Memory(tmp_path)
    assert memory.lost("mine") == ("draft 0", True, [])
    assert memory.newest_first == [HistoryEntry("draft 1", "/x")]
    assert Memory(tmp_path).lost("mine") == ("", False, [])


def test_a_draft_of_blanks_is_none(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.keep("  \n", "mine", "/x")
    memory.close()
    assert Drafts(tmp_path / "drafts").lost() == []


def test_without_a_folder_nothing_is_written() -> None:
    memory = Memory()
    memory.remember("one", "/x")
    memory.keep("two", "mine", "/x")
    assert memory.lost("mine") == ("", False, [])
    assert memory.texts == ["one"]
    memory.close()
