"""Unsaved buffers of an editor: read, attached, and saved before an edit."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError
from acp.schema import ReadTextFileResponse

from agentcli.frontends.acp.buffers import ClientBuffers
from tests.frontends.acp.editor import Editor, Json, editing, in_loop

SAVED = "one = 1\ntwo = 2\n"
TYPED = "one = 1\ntwo = 2\nthree = 'typed'\n"
READ: Json = {"calls": [{"name": "read", "input": {"file_path": "a.py"}, "id": "r"}]}
EDIT: Json = {
    "calls": [
        {"name": "edit", "input": {"file_path": "a.py", "old_string": "'typed'", "new_string": "3"}, "id": "e"},
    ]
}
DONE: Json = {"text": "Done."}


def file_in(base: Path, text: str = SAVED, name: str = "a.py") -> Path:
    """A file of the project."""
    file = base / "work" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def result(editor: Editor, call_id: str) -> str:
    """The output of a call, as the client was told."""
    *_, end = [
        each for each in editor.person.of("tool_call_update") if each["toolCallId"] == call_id and "content" in each
    ]
    return str(end["content"][0].get("content", {}).get("text", ""))


@in_loop
async def test_read_and_a_mention_show_the_text_of_the_editor(tmp_path: Path) -> None:
    file = file_in(tmp_path)
    async with editing(
        tmp_path,
        READ,
        DONE,
        {"calls": [{**READ["calls"][0], "input": {"file_path": "a.py", "offset": 3}}]},
        DONE,
        files="rw",
    ) as editor:
        editor.person.buffers[str(file)] = TYPED
        session = await editor.new()
        assert await editor.say(session, "Look at @a.py") == "end_turn"
        assert "three = 'typed'" in result(editor, "r")
        assert "not saved: commands and searches see the file on disk]" in result(editor, "r")
        editor.person.updates.clear()
        await editor.connection.load_session(cwd=str(editor.work), session_id=session, mcp_servers=[])
        editor.person.updates.clear()
        await editor.say(session, "And the end?")
        assert "three = 'typed'" in result(editor, "r")
        assert file.read_text() == SAVED


@pytest.mark.parametrize("mode", ["ask", "auto-edit"])
@in_loop
async def test_an_edit_has_the_editor_save_first_and_is_made_in_the_text_that_was_read(
    mode: str, tmp_path: Path
) -> None:
    file = file_in(tmp_path)
    async with editing(tmp_path, READ, EDIT, DONE, files="rw", mode=mode) as editor:
        person = editor.person
        person.buffers[str(file)] = TYPED
        saved: list[str] = []
        person.save = lambda path, text: (saved.append(text), person.save_to_disk(path, text))[0]
        session = await editor.new()
        assert await editor.say(session, "go") == "end_turn"
        assert saved == [TYPED]
        assert file.read_text() == TYPED.replace("'typed'", "3")
        diff = person.of("tool_call_update")[-1]["content"][0]
        assert (diff["oldText"], diff["newText"]) == (TYPED, file.read_text())
        assert [question["call"]["content"][0] for question in person.questions] == [diff] * (mode == "ask")
        await editor.say(session, "/undo")
        assert file.read_text() == TYPED
        await editor.say(session, "/undo")
        assert file.read_text() == SAVED


@in_loop
async def test_text_typed_while_an_edit_is_prepared_is_not_saved_over(tmp_path: Path) -> None:
    file = file_in(tmp_path)
    async with editing(tmp_path, READ, EDIT, DONE, files="rw", mode="auto-edit") as editor:
        person = editor.person
        person.buffers[str(file)] = TYPED
        person.save = person.save_to_disk

        def typing_on(path: str) -> ReadTextFileResponse:
            text = person.buffers.get(path, file.read_text())
            if len(person.files_asked) == 2:  # the first look of the edit
                person.buffers[path] += "four = 4\n"
            return ReadTextFileResponse(content=text)

        person.answer_for = typing_on
        await editor.say(await editor.new(), "go")
        assert file.read_text() == TYPED.replace("'typed'", "3") + "four = 4\n"


@in_loop
async def test_an_edit_of_a_file_that_stays_unsaved_is_refused_and_nobody_is_asked(tmp_path: Path) -> None:
    file = file_in(tmp_path)
    for files, refuses in (("r", False), ("rw", True)):
        async with editing(tmp_path, READ, EDIT, DONE, files=files) as editor:
            editor.person.buffers[str(file)] = TYPED
            await editor.say(await editor.new(), "go")
            assert "a.py has changes in the editor that are not saved. Nothing was changed." in result(editor, "e")
            assert len(editor.person.questions) == refuses
            assert file.read_text() == SAVED


@in_loop
async def test_an_edit_that_cannot_be_made_leaves_the_buffer_unsaved(tmp_path: Path) -> None:
    file = file_in(tmp_path)
    wrong: Json = {"calls": [{**EDIT["calls"][0], "input": {**EDIT["calls"][0]["input"], "old_string": "nowhere"}}]}
    async with editing(tmp_path, READ, wrong, DONE, files="rw", mode="auto-edit") as editor:
        editor.person.buffers[str(file)] = TYPED
        editor.person.save = editor.person.save_to_disk
        await editor.say(await editor.new(), "go")
        assert "old_string is not in a.py" in result(editor, "e")
        assert file.read_text() == SAVED


def failing(path: str) -> ReadTextFileResponse:
    raise RequestError(-32603, "no such buffer")


ANSWERS: dict[str, Any] = {
    "error": failing,
    "no text": lambda path: {"content": None},
    "no answer": lambda path: None,
    "no object": lambda path: "rubbish",
    "binary": lambda path: {"content": "\0\x01"},
    "half a surrogate pair": lambda path: {"content": "\ud83d"},
    "line ends": lambda path: {"content": SAVED.removesuffix("\n")},
}


@in_loop
async def test_a_client_without_an_answer_leaves_the_file_on_disk(tmp_path: Path) -> None:
    files = {str(file_in(tmp_path, name=name)): name for name in ANSWERS}
    reads = [{"name": "read", "input": {"file_path": name}, "id": name} for name in ANSWERS]
    edits = [
        {"name": "edit", "input": {"file_path": name, "old_string": "two = 2", "new_string": "two = 3"}}
        for name in ANSWERS
    ]
    async with editing(tmp_path, {"calls": reads}, {"calls": edits}, DONE, files="rw", mode="auto-edit") as editor:
        editor.person.answer_for = lambda path: ANSWERS[files[path]](path)
        await editor.say(await editor.new(), "go")
        assert {result(editor, name) for name in ANSWERS} == {"```\none = 1\ntwo = 2\n```"}
        assert {Path(file).read_text() for file in files} == {SAVED.replace("2\n", "3\n")}
        assert set(editor.person.files_asked) == set(files)


@in_loop
async def test_without_the_capability_the_client_is_asked_for_nothing(tmp_path: Path) -> None:
    file = file_in(tmp_path)
    async with editing(tmp_path, READ, DONE, files="w") as editor:
        editor.person.buffers[str(file)] = TYPED
        await editor.say(await editor.new(), "@a.py")
        assert "typed" not in result(editor, "r")
        assert "not saved" not in result(editor, "r")
        assert editor.person.files_asked == []


@in_loop
async def test_the_client_is_no_way_round_permissions(tmp_path: Path) -> None:
    file_in(tmp_path)
    outside = tmp_path / "outside.txt"
    outside.write_text("far")
    (tmp_path / "work" / "link.txt").symlink_to(outside)
    (tmp_path / "work" / "data.bin").write_bytes(b"\0\1\2")
    paths = ("link.txt", str(outside), ".env", "data.bin", "missing.py")
    (tmp_path / "work" / ".env").write_text("KEY=1\n")
    calls = [{"name": "read", "input": {"file_path": path}, "id": path} for path in paths]
    async with editing(
        tmp_path, {"calls": calls}, DONE, files="rw", deny=("read(.env)",), choose=lambda _: "no"
    ) as editor:
        editor.person.answer_for = lambda path: {"content": "from the editor"}
        await editor.say(await editor.new(), "go @link.txt")
        assert "from the editor" not in str(
            [each for each in editor.person.updates if each.get("toolCallId") != "missing.py"]
        )
        assert {Path(path).name for path in editor.person.files_asked} <= {"missing.py"}


@in_loop
async def test_a_file_has_the_name_that_the_client_knows_it_by(tmp_path: Path) -> None:
    file_in(tmp_path)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "work")
    async with editing(tmp_path, READ, DONE, files="r") as editor:
        editor.person.buffers[str(link / "a.py")] = TYPED
        session = await editor.connection.new_session(cwd=str(link), mcp_servers=[])
        await editor.say(session.session_id, "go")
        assert "typed" in result(editor, "r")


class Silent:
    """A client that never answers."""

    def __init__(self) -> None:
        self.asked = 0

    async def read_text_file(self, **_: Any) -> ReadTextFileResponse:
        self.asked += 1
        await asyncio.Event().wait()
        raise AssertionError

    async def write_text_file(self, **_: Any) -> None:
        await asyncio.Event().wait()


@in_loop
async def test_a_client_that_does_not_answer_is_asked_once_a_turn() -> None:
    client: Any = Silent()
    buffers = ClientBuffers(client, saves=True, roots=(), seconds=0.01)
    assert [await buffers.text(Path("/a")) for _ in range(3)] == [None] * 3
    assert client.asked == 1
    assert not await buffers.save(Path("/a"), "text")
    buffers.begin()
    assert await buffers.text(Path("/a")) is None
    assert client.asked == 2


@in_loop
async def test_a_client_that_saves_slowly_is_still_asked_for_its_buffers() -> None:
    class Slow(Silent):
        async def read_text_file(self, **_: Any) -> ReadTextFileResponse:
            return ReadTextFileResponse(content=TYPED)

    client: Any = Slow()
    buffers = ClientBuffers(client, saves=True, roots=(), seconds=0.01)
    assert not await buffers.save(Path("/a"), TYPED)
    assert await buffers.text(Path("/a")) == TYPED


@in_loop
async def test_an_editor_that_has_not_loaded_a_changed_file_again_is_not_taken_to_have_unsaved_changes(
    tmp_path: Path,
) -> None:
    file = file_in(tmp_path, TYPED)
    second = {
        "name": "edit",
        "input": {"file_path": "a.py", "old_string": "two = 2", "new_string": "two = 3"},
        "id": "e2",
    }
    async with editing(
        tmp_path, READ, {"calls": [*EDIT["calls"], second]}, READ, DONE, files="rw", mode="auto-edit"
    ) as editor:
        editor.person.buffers[str(file)] = TYPED
        editor.person.save = editor.person.save_to_disk
        await editor.say(await editor.new(), "go")
        assert file.read_text() == "one = 1\ntwo = 3\nthree = 3\n"
        assert "three = 3" in result(editor, "r")


@in_loop
async def test_a_file_that_a_command_and_the_person_have_changed_is_read_from_disk_and_not_edited(
    tmp_path: Path,
) -> None:
    file = file_in(tmp_path)
    command: Json = {"calls": [{"name": "bash", "input": {"command": "echo four = 4 >> a.py"}, "id": "b"}]}
    async with editing(tmp_path, READ, command, READ, EDIT, DONE, files="rw", mode="yolo") as editor:
        editor.person.buffers[str(file)] = TYPED
        editor.person.save = editor.person.save_to_disk
        await editor.say(await editor.new(), "go")
        assert "four = 4" in result(editor, "r")
        assert "has other changes in the editor that are not saved" in result(editor, "e")
        assert file.read_text() == SAVED + "four = 4\n"


@in_loop
async def test_without_checkpoints_an_unsaved_file_is_not_saved_over(tmp_path: Path) -> None:
    file = file_in(tmp_path)
    async with editing(tmp_path, READ, EDIT, DONE, files="rw", mode="auto-edit", no_session=True) as editor:
        editor.person.buffers[str(file)] = TYPED
        editor.person.save = editor.person.save_to_disk
        await editor.say(await editor.new(), "go")
        assert "are not saved" in result(editor, "e")
        assert file.read_text() == SAVED
