"""The page in a real browser: on a phone and on a desk, light and dark, with a keyboard and a screen reader's tree."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Program
from tests.frontends.serve.browser import INSTALLED, Browser
from tests.frontends.serve.server import Serving

pytestmark = [pytest.mark.ecosystem, pytest.mark.skipif(not INSTALLED, reason="needs chromium and chromedriver")]

EVIL = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>\"'><svg onload=alert(1)>"
IN_VIEW = "const box = document.querySelector(arguments[0]).getBoundingClientRect(); return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight"
MARKDOWN = "I'll **fix** it.\n\n```python\nprint('x')\n```\n\n| name | value |\n|---|---|\n| a | 1 |\n"


def bash(command: str, number: int, **more: Any) -> dict[str, Any]:
    return {"name": "bash", "input": {"command": command, **more}, "id": f"c{number}"}


def edit(file: Path) -> dict[str, Any]:
    given = {"file_path": str(file), "old_string": "'hi '", "new_string": "'hello '"}
    return {"name": "edit", "input": given, "id": "c1"}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return tmp_path / "profile"


def serving(program: Program, *replies: Any, more: tuple[str, ...] = ()) -> Serving:
    script = program.base / "s.json"
    script.write_text(json.dumps({"replies": list(replies)}))
    program.config(f'model = "script:{script}"\n')
    return Serving(program, *more)


@pytest.fixture(params=[(390, False), (390, True), (1280, False), (1280, True)], ids=lambda p: f"{p[0]}-{p[1]}")
def browser(request: pytest.FixtureRequest, profile: Path) -> Iterator[Browser]:
    width, dark = request.param
    with Browser(profile, width, 844, dark=dark) as opened:
        yield opened


def overflow(browser: Browser) -> int:
    return int(browser.run("return document.documentElement.scrollWidth - innerWidth"))


def test_a_session_is_started_approved_and_read(program: Program, browser: Browser) -> None:
    file = program.work / "app.py"
    file.write_text("print('hi ')\n")
    replies = [
        {"text": MARKDOWN, "calls": [edit(file)]},
        {"text": "Run.", "calls": [bash("rm -rf x", 2)]},
        {"text": "Done."},
    ]
    with serving(program, *replies) as server:
        browser.open(server.base)
        browser.until("This page needs a login link.")
        browser.open(server.link)
        browser.until("New session")
        assert "login" not in browser.run("return location.href")
        browser.type("#first", "Change the greeting")
        browser.click("Start")
        browser.until("Yes, and all edits in this session", "#questions")
        browser.until("print('hello ')", "#questions .diff .added")
        assert browser.run("return document.querySelector('#questions .diff .added .s1') !== null")
        assert browser.text("#transcript .unanswered") == "waiting for you"
        assert browser.run(IN_VIEW, "#text")
        assert browser.run(IN_VIEW, "#stop")
        assert overflow(browser) <= 0
        tree = browser.tree()
        for wanted in (
            ("group", "Edit app.py?"),
            ("heading", "Edit app.py?"),
            ("button", "Yes"),
            ("button", "No, tell it what to do instead"),
            ("textbox", "Message to the session"),
            ("log", "Transcript"),
            ("main", ""),
            ("banner", ""),
        ):
            assert wanted in tree
        assert not [role for role, name in tree if role in ("button", "textbox", "link", "combobox") and not name]
        small = browser.run(
            "return [...document.querySelectorAll('button, textarea, #back')].filter(e => e.offsetParent && e.getBoundingClientRect().height < 44).map(e => e.innerText)"
        )
        assert small == []
        browser.click("Yes", "#questions .choices button")
        browser.until("Run this command?", "#questions")
        assert file.read_text() == "print('hello ')\n"
        browser.click("No, tell it what to do instead", ".choices button")
        browser.until("Done.", "#transcript")
        browser.until("idle", "#facts")
        assert "fix" in browser.text("#transcript strong")
        assert browser.text("#questions .question:not(.answered)") == ""
        assert browser.run("return document.querySelectorAll('#transcript table td').length") == 2
        assert overflow(browser) <= 0
        assert browser.run("return document.querySelector('#live').innerText") == ""
        assert browser.log() == []


@pytest.mark.parametrize("browser", [(390, True)], indirect=True)
def test_a_reply_is_drawn_while_it_arrives_and_the_list_says_when_and_what(program: Program, browser: Browser) -> None:
    long = "# Plan\n\n" + "- [x] **read** https://example.com/docs\n" * 60 + "\n## End\n"
    with serving(program, {"text": long, "rate": 400}, {"text": "Ask.", "calls": [bash("rm -rf x", 1)]}) as server:
        browser.open(server.link)
        browser.until("New session")
        browser.run("document.querySelector('#mode').value = 'plan'")
        browser.type("#first", "Plan it")
        browser.click("Start")
        browser.until("Plan", "#live h1")
        browser.until("read", "#live li.task strong")
        assert browser.run("return document.querySelector('#live a').href") == "https://example.com/docs"
        assert browser.text("#facts").startswith("works")
        browser.until("End", "#transcript h2")
        browser.until("idle", "#facts")
        assert "plan" in browser.text("#facts")
        assert browser.run("return document.querySelectorAll('#live li').length") == 0
        browser.open(f"{server.base}/#")
        browser.until("now · Plan read https://example.com/docs", "#running")


@pytest.mark.parametrize("browser", [(390, False)], indirect=True)
def test_script_in_every_field_is_inert(program: Program, browser: Browser) -> None:
    replies = [
        {"thinking": EVIL, "text": EVIL, "calls": [bash(f"echo '{EVIL}'", 1, description=EVIL)]},
        {"text": EVIL, "calls": [{"name": EVIL, "input": {EVIL: EVIL}, "id": "c2"}]},
        {"text": "", "calls": [{"name": "ask_user", "input": {"questions": [
            {"question": EVIL, "header": EVIL, "options": [{"label": EVIL, "description": EVIL}]}]}, "id": "c3"}]},
        {"text": f"[x](javascript:alert(1)) ![x](http://evil.example/x.png) {EVIL}", "rate": 400},
    ]  # fmt: skip
    with serving(program, *replies) as server:
        browser.open(server.link)
        browser.until("New session")
        browser.type("#first", EVIL)
        browser.click("Start")
        browser.until("Run this command?", "#questions")
        browser.click("Yes", "#questions .choices button")
        browser.until("The model asks", "#questions")
        browser.click("<img src=x", ".question button")
        browser.click("Send the answers")
        browser.until("idle", "#facts")
        browser.open(f"{server.base}/#")
        browser.until("Running")
        assert "pwned" not in browser.run("return document.title")
        counted = "return document.querySelectorAll('script:not([src=\"/page.js\"]), svg, iframe, img, [onerror], [onload]').length"
        assert browser.run(counted) == 0
        assert not [line for line in browser.log() if "refused" in line.lower() or "violat" in line.lower()]


@pytest.mark.parametrize("browser", [(1280, False)], indirect=True)
def test_two_browsers_and_a_terminal_on_one_session_and_the_first_answer_counts(
    program: Program, browser: Browser, tmp_path: Path
) -> None:
    with serving(
        program, {"text": "Make.", "calls": [bash("touch made", 1)]}, {"text": "All done.", "rate": 40}
    ) as server:
        browser.open(server.link)
        browser.until("New session")
        browser.type("#first", "Make it")
        browser.click("Start")
        browser.until("Yes", "#questions")
        session = browser.run("return new URLSearchParams(location.hash.slice(1)).get('s')")
        with Browser(tmp_path / "second", 390, 844) as phone, program.terminal("attach", session) as t:
            phone.open(server.link)
            phone.until("Make it")
            phone.open(f"{server.base}/#s={session}")
            phone.until("Yes", "#questions")
            t.until("Yes")
            phone.click("Yes", "#questions .choices button")
            browser.until("answered by the page: Yes")
            t.until("Answered by the page: Yes")
            for each in (browser, phone):
                each.until("All done.", "#transcript")
            t.until("All done.")
            t.send("and more\r")
            for each in (browser, phone):
                each.until("and more", "#transcript")
            assert (program.work / "made").exists()


@pytest.mark.parametrize("browser", [(1280, False)], indirect=True)
def test_each_call_says_what_it_waits_for(program: Program, browser: Browser) -> None:
    states = "return [...document.querySelectorAll('#transcript .unanswered')].map(each => each.innerText)"
    calls = [bash("touch one", 1), bash("touch two", 2)]
    with serving(program, {"text": "Both.", "calls": calls}, {"text": "Done."}) as server:
        browser.open(server.link)
        browser.until("New session")
        browser.type("#first", "Make both")
        browser.click("Start")
        browser.until("1 of 2")
        browser.until("waiting for you", "#transcript")
        assert browser.run(states) == ["waiting for you", "not started"]
        browser.click("Yes", "#questions .choices button")
        browser.until("answered by the page")
        browser.until("touch two", ".question:not(.answered)")
        assert browser.run(states) == ["answered", "waiting for you"]
        browser.click("Yes", ".question:not(.answered) .choices button")
        browser.until("Done.", "#transcript")
        assert browser.run(states) == []


@pytest.mark.parametrize("browser", [(390, True)], indirect=True)
def test_the_page_survives_the_end_of_the_server_and_of_the_session(program: Program, browser: Browser) -> None:
    with serving(program, {"text": "One.", "calls": [bash("touch made", 1)]}, {"text": "Two."}) as server:
        browser.open(server.link)
        browser.until("New session")
        browser.type("#first", "Begin")
        browser.click("Start")
        browser.until("Yes", "#questions")
        server.kill()
        browser.until("No connection. Trying again.")
        with Serving(program, port=server.port):
            browser.gone("No connection. Trying again.")
            browser.click("Yes", "#questions .choices button")
            browser.until("Two.", "#transcript")
            (row,) = json.loads(program.run("ps", "--json").out)
            os.kill(row["pid"], signal.SIGKILL)
            browser.until("ended", "#facts")
            browser.type("#text", "Go on")
            browser.click("Send")
            browser.until("Yes", "#questions", seconds=40)  # the script of the model begins again
            browser.click("No, tell it what to do instead", ".choices button")
            browser.until("idle", "#facts")
            for text, count in (("Begin", 1), ("Go on", 1), ("One.", 2), ("Two.", 2)):
                assert browser.text("#transcript").count(text) == count


def test_a_browser_that_was_killed_costs_the_session_nothing_and_the_next_one_finds_its_question(
    program: Program, tmp_path: Path
) -> None:
    with serving(program, {"text": "One.", "calls": [bash("touch made", 1)]}, {"text": "Two."}) as server:
        with Browser(tmp_path / "first") as first:
            first.open(server.link)
            first.until("New session")
            first.type("#first", "Begin")
            first.click("Start")
            first.until("Yes", "#questions")
            first.kill()
        (row,) = json.loads(program.run("ps", "--json").out)
        assert row["state"] == "waits"
        with Browser(tmp_path / "second", 390) as second:
            second.open(server.link)
            second.until("New session")
            second.run("location.hash = arguments[0]", f"s={row['session']}")
            second.until("Yes", "#questions")
            second.click("Yes", "#questions .choices button")
            second.until("Two.", "#transcript")
            for text in ("Begin", "One.", "Two."):
                assert second.text("#transcript").count(text) == 1
    assert (program.work / "made").exists()
