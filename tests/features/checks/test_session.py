"""Checks in a session: new findings reach the model with the result of an edit, and nothing that a check does harms the edit."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentcli.agent.session import AgentSession
from agentcli.core.event import Event, Warned
from agentcli.core.message import ToolCall
from agentcli.features.checks import Checks
from agentcli.features.checks.session import SECONDS, ChecksSession
from agentcli.frontends.sections import SCHEMA
from agentcli.permissions.rules import parse_rules
from agentcli.program.config import load
from agentcli.providers.scripted.model import call, say
from tests.agent.open_session import open_session, results, say_to

LINT = """\
import pathlib, sys
count = pathlib.Path("runs")
count.write_text(str(int(count.read_text() or 0) + 1) if count.exists() else "1")
for n, line in enumerate(pathlib.Path(sys.argv[1]).read_text().split("\\n"), 1):
    if "bad" in line:
        print(f"{sys.argv[1]}:{n}:1: E1 {line}")
"""


class Approved:
    """Approvals of which all are given."""

    def allows(self, _: object) -> bool:
        return True


def program(checks: Mapping[str, str]) -> Any:
    return SimpleNamespace(
        config=load(SCHEMA, None, None, {}, more={"checks": checks}), approvals=Approved(), trusted=True
    )


def opened(folder: Path, checks: Mapping[str, str], *replies: Sequence[ToolCall] | str, **more: Any) -> AgentSession:
    (folder / "lint.py").write_text(LINT)
    script = [say(reply) if isinstance(reply, str) else say("", *reply) for reply in replies]
    return open_session(folder, script, mode="yolo", features=[partial(ChecksSession, program(checks))], **more)


def lint(folder: Path) -> str:
    return f"{sys.executable} lint.py {{file}}"


def write(path: str, text: str) -> ToolCall:
    return call("write", file_path=path, content=text)


def edit(path: str, old: str, new: str) -> ToolCall:
    return call("edit", file_path=path, old_string=old, new_string=new)


def runs(folder: Path) -> int:
    return int((folder / "runs").read_text()) if (folder / "runs").exists() else 0


def warnings(events: Sequence[Event]) -> list[str]:
    return [event.message for event in events if isinstance(event, Warned)]


def test_only_new_findings_are_added_to_the_result_of_an_edit(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\nbad old\nlast\n")
    session = opened(
        tmp_path,
        {"*.txt": lint(tmp_path)},
        [edit("a.txt", "one\n", "zero\none\n")],
        [edit("a.txt", "last", "bad new")],
        [edit("a.txt", "bad new", "good")],
        "Done.",
    )
    assert not warnings(say_to(session, "go"))
    moved, brought, mended = (result.output for result in results(session))
    assert "findings" not in moved
    assert brought.endswith(f"New findings of `{lint(tmp_path).replace('{file}', 'a.txt')}`:\na.txt:4:1: E1 bad new")
    assert "findings" not in mended
    assert runs(tmp_path) == 4, "before the first edit and after each"


def test_a_new_file_has_nothing_before(tmp_path: Path) -> None:
    session = opened(tmp_path, {"*.txt": lint(tmp_path)}, [write("a.txt", "bad\n")], "Done.")
    say_to(session, "go")
    assert "a.txt:1:1: E1 bad" in results(session)[0].output
    assert runs(tmp_path) == 1


def test_the_last_edit_of_a_file_in_a_reply_is_checked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    session = opened(
        tmp_path, {"*.txt": lint(tmp_path)}, [edit("a.txt", "one", "bad"), edit("a.txt", "two", "bad too")], "Done."
    )
    say_to(session, "go")
    first, second = (result.output for result in results(session))
    assert "findings" not in first
    assert "a.txt:1:1" in second
    assert "a.txt:2:1" in second
    assert runs(tmp_path) == 2


def test_a_glob_chooses_the_files_and_a_quoted_name_stays_one_word(tmp_path: Path) -> None:
    session = opened(
        tmp_path,
        {"docs/**/*.md": lint(tmp_path), "*.rst": ""},
        [write("a.md", "bad"), write("docs/in/it's.md", "bad"), write("x.rst", "bad")],
        "Done.",
    )
    assert not warnings(say_to(session, "go"))
    here, there, off = (result.output for result in results(session))
    assert "findings" not in here
    assert "docs/in/it's.md:1:1: E1 bad" in there
    assert "findings" not in off


def test_a_check_of_the_project_tells_what_came_since_its_last_run(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("bad\n")
    whole = f"for f in *.txt; do {sys.executable} lint.py $f; done"
    session = opened(tmp_path, {"*.txt": whole}, [write("a.txt", "bad\n")], [write("b.txt", "bad\n")], "Done.")
    say_to(session, "go")
    first, second = (result.output for result in results(session))
    assert "other.txt" not in first + second
    assert "a.txt:1:1" in first
    assert "a.txt:1:1" not in second
    assert "b.txt:1:1" in second


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("yes bad | head -c 100000000", "printed more than 1,000,000 bytes and was stopped"),
        ("no-such-linter {file}", "could not run:"),
        ("echo broken; exit 2", "ended with exit code 2 and names no line: broken"),
    ],
)
def test_a_check_that_is_of_no_use_is_named_once_and_the_edits_stand(tmp_path: Path, command: str, why: str) -> None:
    session = opened(tmp_path, {"*.txt": command}, [write("a.txt", "1")], [write("a.txt", "2")], "Done.")
    [warned] = warnings(say_to(session, "go"))
    assert warned.startswith(f"The check `{command}` {why}")
    assert [result.output.partition("\n")[0] for result in results(session)] == [
        result.output for result in results(session)
    ]
    assert (tmp_path / "a.txt").read_text() == "2"


@pytest.mark.slow
def test_a_check_that_hangs_delays_one_edit_by_the_bound(tmp_path: Path) -> None:
    session = opened(tmp_path, {"*.txt": "sleep 1000"}, [write("a.txt", "1")], [write("b.txt", "2")], "Done.")
    began = time.monotonic()
    [warned] = warnings(say_to(session, "go"))
    assert SECONDS <= time.monotonic() - began < SECONDS + 5
    assert "an edit waits at most 10 s for its checks" in warned
    assert (tmp_path / "b.txt").read_text() == "2"


def test_files_that_deny_rules_name_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text("bad secret")
    session = opened(
        tmp_path,
        {"*.md": f"{sys.executable} lint.py key.txt"},
        [write("a.md", "1")],
        "Done.",
        rules=parse_rules(deny=["read(key.txt)"]),
    )
    [warned] = warnings(say_to(session, "go"))
    assert "deny" in warned or "read" in warned
    assert "secret" not in results(session)[0].output


def test_a_failed_edit_is_not_checked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("bad\n")
    session = opened(tmp_path, {"*.txt": lint(tmp_path)}, [edit("a.txt", "none", "more")], "Done.")
    say_to(session, "go")
    assert "findings" not in results(session)[0].output
    assert runs(tmp_path) == 1


def test_without_checks_a_session_has_no_stage_for_them(tmp_path: Path) -> None:
    assert not Checks().on(program({}))
