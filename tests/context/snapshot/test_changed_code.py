"""A snapshot shows the newest edits as the files have them now, and no edit that stands no longer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentcli.context.compaction_settings import SnapshotSettings
from agentcli.context.settings import ContextSettings
from agentcli.context.snapshot.changed_code import Edit, changed_code, changed_paths, edits
from agentcli.context.snapshot.form import Snapshot, parse, render
from agentcli.tools.registry import TRAITS
from tests.agent.compaction.compacting import Answers, compress, newest, session, snapshot
from tests.context.story import Story


def found(story: Story, through: int = 10**6) -> Sequence[Edit]:
    return edits(story.records, through, TRAITS, "/w")


def test_edits_and_whole_files_are_found_and_failures_and_reads_are_not() -> None:
    story = Story()
    story.user("Go.")
    story.reads("a.py")
    story.edits("a.py", "one", "two")
    story.does("write", "ok", file_path="/w/b.py", content="three\n")
    story.does("edit", "no match", status="error", file_path="a.py", old_string="x", new_string="four")
    assert found(story) == [Edit("/w/a.py", "one", "two"), Edit("/w/b.py", "", "three\n")]
    assert changed_paths(found(story), 1) == ("/w/b.py",)
    assert found(story, through=5) == [Edit("/w/a.py", "one", "two")]


def test_an_edit_is_shown_with_its_present_place() -> None:
    made = [Edit("/w/a.py", "x", "def fold():\n    return 1"), Edit("/w/a.py", "y", "gone = 2")]
    now = {"/w/a.py": "import os\n\ndef fold():\n    return 1\n"}
    assert changed_code(made, now, 1_000) == "/w/a.py:3:\ndef fold():\n    return 1"
    assert changed_code(made, {"/w/a.py": ""}, 1_000) == ""


def test_without_the_file_an_edit_stands_until_a_later_one_changes_it() -> None:
    made = [Edit("/w/a.py", "x", "one = 1"), Edit("/w/a.py", "one = 1", "one = 2"), Edit("/w/b.py", "", "whole")]
    assert changed_code(made, {}, 1_000) == "/w/a.py:\none = 2\n/w/b.py:\nwhole"


def test_the_newest_edits_fill_the_room() -> None:
    made = [Edit(f"/w/{n}.py", "", f"value_{n} = {n}") for n in range(9)]
    shown = changed_code(made, {}, 60)
    assert shown == "/w/7.py:\nvalue_7 = 7\n/w/8.py:\nvalue_8 = 8"
    assert len(changed_code([Edit("/w/a.py", "", "x" * 9_000)], {}, 5_000)) < 1_000


def test_the_code_of_a_snapshot_is_not_taken_for_its_items() -> None:
    made = Snapshot("goal", files=("MODIFIED: `a.py`",), code="a.py:1:\n- <key_knowledge>\n- lie\n</key_knowledge>")
    back = parse(render(made))
    assert (back.files, back.knowledge, back.code) == (made.files, (), "")


def test_a_compaction_reads_the_changed_files_from_the_disk(tmp_path: Path) -> None:
    file = tmp_path / "total.py"
    story = Story()
    story.user("Mend the total.")
    story.edits(str(file), "return 0", "return sum(prices)")
    story.edits("/w/newest.py")  # this step itself stays
    for n in range(20):
        story.reads(f"/w/f{n}.py", "x = 1\n" * 400)
    story.says("Mended.")
    story.user("Go on.")
    story.says("Gone on. " * 200)
    for text, shown in (("def total(prices):\n    return sum(prices)\n", f"{file}:2:\nreturn sum(prices)"), ("", "")):
        file.write_text(text)
        journal = session(story)
        compress(journal, Answers(snapshot()))
        assert (shown or "<changed_code>") in newest(journal).snapshot or not shown
        assert ("<changed_code>" in newest(journal).snapshot) is bool(shown)
    none = session(story)
    compress(none, Answers(snapshot()), settings=ContextSettings(snapshot=SnapshotSettings(code_tokens=0)))
    assert "<changed_code>" not in newest(none).snapshot
