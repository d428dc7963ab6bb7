"""What can be done from elsewhere with the work of a background session that has ended."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from agentcli.frontends.serve.app import DRAWN
from tests.e2e.program import Program
from tests.frontends.agents.test_running import left, repository, script, until
from tests.frontends.serve.browser import INSTALLED, Browser
from tests.frontends.serve.server import Serving

ASKS: list[dict[str, Any]] = [
    {"text": "Let me make it.", "calls": [{"name": "bash", "input": {"command": "touch made.txt"}, "id": "c1"}]},
    {"text": "All done."},
]


def started(program: Program, name: str, content: str, file: str = "made.txt") -> str:
    """A background session in a worktree that has written a file and is done."""
    call = {"name": "write", "input": {"file_path": file, "content": content}}
    model = script(program, [{"calls": [call]}, {"text": f"The work of {name} is done."}], name)
    session = program.run("--bg", "make it", "-w", name, "--mode", "auto-edit", "-m", model).out.strip()
    until(program, "done", session)
    return session


def text_of(tree: Any) -> str:
    return tree if isinstance(tree, str) else "".join(text_of(child) for child in tree[2:])


@pytest.mark.full
def test_changes_are_read_merged_and_discarded_only_with_the_right_to_write(program: Program) -> None:
    work = repository(program)
    large = "".join(f"line {number} of many\n" for number in range(DRAWN // 10))
    fix, bad, big = (
        started(program, "fix", "new\n"),
        started(program, "bad", "other\n"),
        started(program, "big", large, "b"),
    )
    with Serving(program) as server:
        server.log_in()
        changes = server.get(f"/api/sessions/{fix}/changes").json
        assert ("new" in text_of(["", {}, *changes["open"]]), changes["lines_left_out"]) == (True, 0)
        assert server.get(f"/api/sessions/{big}/changes").json["lines_left_out"] > 1000
        reader = (program.base / "state/agentcli/serve/token-read").read_text().strip()
        for act in ("merge", "discard"):
            refused = server.post(f"/api/sessions/{fix}/{act}", {}, authorization=f"Bearer {reader}")
            assert refused.status == 403
        merged = server.post(f"/api/sessions/{fix}/merge", {})
        assert (merged.status, merged.json["said"]) == (200, "Merged fix into main.")
        assert (work / "made.txt").read_text() == "new\n"
        conflict = server.post(f"/api/sessions/{bad}/merge", {})
        assert conflict.status == 400
        assert "conflicts in made.txt" in conflict.json["error"]
        for session in (bad, big):
            assert server.post(f"/api/sessions/{session}/discard", {}).status == 200
        for session in (fix, "unknown-session"):
            assert server.post(f"/api/sessions/{session}/discard", {}).status == 400
        open_one = program.run("--bg", "go", "-m", script(program, [{"text": "Slow.", "delay": 60}])).out.strip()
        assert server.post(f"/api/sessions/{open_one}/discard", {}).status == 400
        os.kill(until(program, "works")["pid"], signal.SIGKILL)
    assert left(program) == [f"{open_one}.json", f"{open_one}.log"] or len(left(program)) == 2


@pytest.mark.ecosystem
@pytest.mark.skipif(not INSTALLED, reason="needs chromium and chromedriver")
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
def test_the_list_answers_merges_and_discards_in_place(
    program: Program, tmp_path: Path, width: int, dark: bool
) -> None:
    work = repository(program)
    started(program, "fix", "new\n")
    started(program, "bad", "other\n")
    asking = program.run("--bg", "ask first", "--mode", "ask", "-m", script(program, ASKS)).out.strip()
    with Serving(program) as server, Browser(tmp_path / "profile", width, 844, dark=dark) as browser:
        pictures = Path(os.environ.get("PICTURES", tmp_path))
        browser.open(server.link)
        browser.until("touch made.txt", "#running .question")
        browser.until("Merge")
        assert browser.run("return document.documentElement.scrollWidth - innerWidth") <= 0
        browser.picture(pictures / f"list-{width}.png")
        browser.run("document.querySelector('#running .question input').focus()")
        browser.type("#running .question input", "not now")
        browser.run("return list()")
        browser.until("Yes", "#running .choices button:enabled")
        assert browser.run("return document.activeElement.value") == "not now"
        browser.click("Yes", "#running .choices button:enabled")
        until(program, "done", asking)
        browser.until("Remove from the list")
        assert browser.text("#running .question") == ""
        browser.click("Changes", "#running .work button")
        browser.until("other", ".changes .diff .added")
        browser.picture(pictures / f"changes-{width}.png")
        browser.run("return list()")
        assert browser.run("return document.querySelectorAll('.changes .diff').length") == 1
        (work / "made.txt").unlink()
        browser.click("Merge")
        browser.until("Merged bad into main.", "#said")
        browser.gone("The work of bad", "#running")
        browser.click("Merge")
        browser.until("conflicts in made.txt", "#running")
        browser.click("Discard")
        browser.until("Discard fix, 1 file +1 −0?")
        browser.picture(pictures / f"discard-{width}.png")
        browser.click("Discard")
        browser.until("Removed.", "#said")
        browser.gone("The work of fix", "#running")
        browser.click("Remove from the list")
        browser.until("No session is running.")
        assert browser.log() == [] or all("400" in line for line in browser.log())
    assert (work / "made.txt").exists()
    assert left(program) == []
    assert {row["state"] for row in json.loads(program.run("ps", "--json").out)} == set()
