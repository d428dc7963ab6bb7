"""Folders of an open session: one more in the workspace, and where its commands start."""

from __future__ import annotations

import json

from tests.e2e.program import Program


def test_a_folder_is_added_to_the_workspace_and_commands_start_in_another(program: Program) -> None:
    other, third = program.base / "other", program.base / "third"
    (other / "sub").mkdir(parents=True)
    third.mkdir()
    paths = [other / "x.txt", other / "y.txt", third / "z.txt"]
    writes = [{"name": "write", "input": {"file_path": str(path), "content": "hi"}} for path in paths]
    look = {"name": "bash", "input": {"command": "pwd"}}
    replies = [{"calls": [call]} for call in writes[:2]] + [{"text": "Both."}]
    script = program.base / "script.json"
    script.write_text(json.dumps({"replies": [*replies, {"calls": [writes[2]]}, {"calls": [look]}, {"text": "Done."}]}))
    with program.terminal("-m", f"script:{script}", "--mode", "auto-edit", columns=120) as t:
        t.until("? keys")
        t.send("go\r", until=f"Yes, and add {other} to this session")
        t.send("f", until="Both.")
        t.send("/add-dir nope\r", until="is not a folder.")
        t.send("/add-dir ../third\r", until=f"  {third}")
        t.send("/cd ../other/sub\r", until="Commands start in")
        t.send("go\r", until="Done.")
        t.settle()
        assert f"in {other / 'sub'}" in "\n".join(t.screen())
    assert [path.read_text() for path in paths] == ["hi"] * 3, "an edit in an added folder needs no question"
    assert f"Also in the workspace: {other}, {third}" in "".join(
        record.read_text() for record in program.sessions.glob("*/*/records/*")
    )
