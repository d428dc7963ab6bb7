"""Content of unsaved buffers."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.agent.buffers import EditorFiles, UnsavedBuffers, content_of
from agentcli.agent.calls.call import Call
from agentcli.agent.calls.stages import BufferStage
from agentcli.core.errors import ToolError
from agentcli.permissions.decide import Decision
from agentcli.tools.seen_files import SeenFiles
from tests.agent.calls.passing import a_call, ended, unchanged
from tests.agent.test_checkpointing import desk_on_disk
from tests.tables import each_row


@each_row(
    ("text", "saved"),
    [
        ("a\nb\n", b"a\nb\n"),
        ("a\nb\n", b"a\r\nb\r\n"),
        ("a\nb", b"a\nb\n"),
        ("a\n", b"\xef\xbb\xbfa\n"),
        ("", b""),
    ],
)
def test_a_buffer_that_differs_by_what_editors_leave_out_is_the_file_on_disk(text: str, saved: bytes) -> None:
    assert content_of(text, saved) is None


@each_row(
    ("text", "saved", "content"),
    [
        ("a\nc\n", b"a\nb\n", b"a\nc\n"),
        ("a\nc\n", b"a\r\nb\r\n", b"a\r\nc\r\n"),
        ("a\nc", b"a\nb\n", b"a\nc\n"),
        ("a\nc", b"a\nb", b"a\nc"),
        ("c\n", b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfc\n"),
        ("", b"a\n", b""),
        ("new\n", b"", b"new\n"),
        ("ä\n", b"a\n", b"\xc3\xa4\n"),
    ],
)
def test_unsaved_text_becomes_bytes_as_the_file_would_have_them(text: str, saved: bytes, content: bytes) -> None:
    assert content_of(text, saved) == content


# The stage of editor buffers alone, with an editor that has unsaved text.


class Editor:
    """An editor with the unsaved text of one file."""

    def __init__(self, path: Path, text: str, saves: bool = True) -> None:
        self.path, self.unsaved, self.saves = path, text, saves

    async def text(self, path: Path) -> str | None:
        return self.unsaved if path == self.path else None

    async def save(self, path: Path, text: str) -> bool:
        path.write_text(text)
        return True


def allowed(call: Call, path: Path) -> Call:
    return call.decided(Decision("allow", "user:once", "", paths=(path,)))


def desk(tmp_path: Path, *, checkpoints: bool = True, saves: bool = True) -> tuple[Path, BufferStage, SeenFiles]:
    work, session = desk_on_disk(tmp_path, [])
    file = work / "a.txt"
    file.write_text("saved\n")
    editor = EditorFiles(Editor(file, "unsaved\n", saves))
    checkpointer = session.core.checkpointer if checkpoints else None
    return file, BufferStage(UnsavedBuffers(editor, session.core.ctx, checkpointer)), session.core.seen


def test_a_call_that_reads_gets_the_unsaved_text_in_its_value(tmp_path: Path) -> None:
    file, stage, _ = desk(tmp_path)
    call = ended(stage, unchanged, allowed(a_call("read", file_path="a.txt"), file))
    assert call.buffers == {file: b"unsaved\n"}
    assert file.read_text() == "saved\n"


def test_a_call_of_another_file_or_of_none_gets_nothing(tmp_path: Path) -> None:
    file, stage, _ = desk(tmp_path)
    other = file.with_name("b.txt")
    other.write_text("b\n")
    assert ended(stage, unchanged, allowed(a_call("read", file_path="b.txt"), other)).buffers == {}
    assert ended(stage, unchanged, a_call("bash", command="cat a.txt")).buffers == {}
    assert ended(stage, unchanged, allowed(a_call("glob", pattern="*", path="a.txt"), file)).buffers == {}


def test_the_editor_saves_a_file_before_a_call_edits_it(tmp_path: Path) -> None:
    file, stage, seen = desk(tmp_path)
    seen.remember(file, b"unsaved\n")
    found: list[str] = []

    async def run(call: Call) -> Call:
        found.append(file.read_text())
        return call

    edit = a_call("edit", file_path="a.txt", old_string="unsaved", new_string="edited")
    ended(stage, run, allowed(edit, file))
    assert found == ["unsaved\n"]


@pytest.mark.parametrize(("checkpoints", "saves"), [(False, True), (True, False)])
def test_an_edit_does_not_run_if_the_editor_may_not_or_cannot_save(
    tmp_path: Path, checkpoints: bool, saves: bool
) -> None:
    file, stage, seen = desk(tmp_path, checkpoints=checkpoints, saves=saves)
    seen.remember(file, b"unsaved\n")
    ran: list[Call] = []

    async def run(call: Call) -> Call:
        ran.append(call)
        return call

    edit = a_call("edit", file_path="a.txt", old_string="unsaved", new_string="edited")
    with pytest.raises(ToolError, match="not saved"):
        ended(stage, run, allowed(edit, file))
    assert (ran, file.read_text()) == ([], "saved\n")
