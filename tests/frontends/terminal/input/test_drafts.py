from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

from agentcli.frontends.terminal.input.history import Drafts, HistoryEntry

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
