"""The programs of the manual's page about Python run as they stand there."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

import agentcli
from agentcli import manual
from agentcli.permissions.sandbox.choose import detect
from agentcli.providers.scripted.model import Reply, call, say
from tests.frontends.python.embedded import environment, workspace
from tests.loopback import Asked, Loopback

PAGE = manual.page("python")
PROGRAMS = dict(re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


def file_reviewed(asked: Asked) -> Reply:
    """The reply to a request for a review: the name of the file."""
    [name] = set(re.findall(r"Review @(\w+)\.py in", str(asked.turns)))
    return say(f"{name} is fine.")


def documented(asked: Asked) -> Reply:
    """Replies of an agent that documents something in a batch."""
    done = sum(turn["role"] == "assistant" for turn in asked.turns)
    return say("Done.") if done else say("", call("write", file_path="doc.md", content="# Documentation\n"))


REPLIES: dict[str, tuple[object, Sequence[str]]] = {
    "One prompt and its events": (
        [say("", call("list", path=".")), say("Two modules.")],
        ["[list {'path': '.'}]", "Two modules.", "done after 2 requests"],
    ),
    "One prompt and its result": (
        [
            say("", call("write", file_path="new.py", content="x = 1\n"), call("bash", command="rm new.py")),
            say("Fixed."),
        ],
        ["Denied: bash", "Fixed.", "$0.00"],
    ),
    "Your functions as tools": (
        [say("", call("ticket", id="A-1")), say("", call("close", id="A-1", reason="fixed")), say("Closed.")],
        ["Closed. Open: 0"],
    ),
    "Approvals and questions": (
        [
            say("", call("bash", command="touch tidy.txt")),
            say("", call("bash", command="rm -r .")),
            say("", call("write", file_path="a.txt", content="a\n")),
            say("Tidy."),
        ],
        ["$ touch tidy.txt", "$ rm -r .", "+a", "Tidy."],
    ),
    "Several turns": (
        [say("It parses."), say("Parsley."), say("parser.py")],
        ["It parses.", "Copy: Parsley.", "parser.py", "4 events so far"],
    ),
    "Many at once": (file_reviewed, ["parser.py: parser is fine.", "printer.py: printer is fine."]),
    "A batch": (documented, ["parser passed", "printer passed", "Exit code 0, $0.0"]),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two modules that the process works in, with a home of its own."""
    folder = workspace(tmp_path)
    for name in ("parser", "printer"):
        (folder / f"{name}.py").write_text(f'"""The {name}."""\n')
    monkeypatch.chdir(folder)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.delenv(f"XDG_{kind}_HOME", raising=False)
    return folder


def run(heading: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a program of the page against a server of our own."""
    plan, _ = REPLIES[heading]
    with Loopback(plan) as server:  # type: ignore[arg-type]
        for name, value in server.env.items():
            monkeypatch.setenv(name, value)
        exec(compile(PROGRAMS[heading], heading, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("heading", [heading for heading in REPLIES if heading != "A batch"])
def test_a_program_of_the_manual_prints_what_it_should(
    heading: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(heading, monkeypatch)
    printed = capsys.readouterr()
    assert [line for line in REPLIES[heading][1] if line not in printed.out] == [], printed.out
    assert printed.err == ""
    assert project.is_dir()


@pytest.mark.slow
@pytest.mark.skipif(not detect().working, reason="no sandbox works here")
def test_the_batch_of_the_manual_runs(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    who = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *who, *command], cwd=project, check=True, capture_output=True)
    run("A batch", monkeypatch)
    printed = capsys.readouterr().out
    assert [line for line in REPLIES["A batch"][1] if line not in printed] == [], printed


def test_every_program_and_every_public_name_of_the_page_is_tested() -> None:
    assert set(PROGRAMS) == set(REPLIES)
    names = set(re.findall(r"`(\w+)`", PAGE.partition("## Names")[2])) | set(
        re.findall(r"^\| `(\w+Event)`", PAGE, re.M)
    )
    assert names == set(agentcli._NAMES)
    options = set(re.findall(r"`(\w+)`", PAGE.partition("## Options")[2].partition("## Events")[0]))
    assert set(agentcli.RunOptions.__annotations__) <= options


def test_the_table_of_events_names_every_field() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (.+) \|$", PAGE.partition("## Events")[2], re.MULTILINE)
    from dataclasses import fields

    for name, kind, listed in rows:
        event = getattr(agentcli, name)
        assert event.type == kind
        assert [each.name for each in fields(event) if each.name != "timestamp"] == re.findall(r"`(\w+)`", listed)
    assert len(rows) == 12
