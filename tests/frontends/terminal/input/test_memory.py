from __future__ import annotations

from pathlib import Path

from agentcli.frontends.terminal.input.history import Drafts, HistoryEntry, Memory


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
