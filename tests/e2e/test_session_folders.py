"""Folders of an open session: one more in the workspace, and where its commands start."""

from __future__ import annotations

import json

from tests.e2e.program import Program


def test_a_folder_is_added_to_the_workspace_and_commands_start_in_another(program: Program) -> None:
    other = program.base / "other"
    (other / "sub").mkdir(parents=True)
    write = {"name": "write", "input": {"file_path": str(other / "x.txt"), "content": "hi"}}
    look = {"name": "bash", "input": {"command": "pwd"}}
    script = program.base / "script.json"
    script.write_text(json.dumps({"replies": [{"calls": [write]}, {"calls": [look]}, {"text": "Done."}]}))
    with program.terminal("-m", f"script:{script}", "--mode", "auto-edit", columns=120) as t:
        t.until("? keys")
        t.send("/add-dir nope\r", until="is not a folder.")
        t.send("/add-dir ../other\r", until=f"  {other}")
        t.send("/cd ../other/sub\r", until="Commands start in")
        t.send("go\r", until="Done.")
        t.settle()
        assert f"in {other / 'sub'}" in "\n".join(t.screen())
    assert (other / "x.txt").read_text() == "hi", "an edit in an added folder needs no question"
