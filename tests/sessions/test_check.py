from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentcli.core.errors import SessionBusy
from agentcli.core.message import Text
from agentcli.sessions.check import report_to_json
from agentcli.sessions.session import Session
from agentcli.sessions.store import Store
from tests.sessions.disks import Hasty
from tests.sessions.said import reply, result, user


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "sessions", disk=Hasty())


@pytest.fixture
def session(store: Store, tmp_path: Path):
    opened = store.create(tmp_path)
    opened.append(user("one"))
    opened.append(reply("looking", "a"))
    opened.append(result("a"))
    yield opened
    opened.close()


def kinds(store: Store, session: Session) -> list[tuple[str, bool]]:
    return [(problem.kind, problem.notice) for problem in store.check(session.info).problems]


def test_a_session_in_order_has_no_problems(store: Store, session: Session) -> None:
    session.close()
    report = store.check(session.info)
    assert (report.ok, report.problems, report.records, report.busy) == (True, (), 3, False)


def test_an_open_session_is_checked_and_not_repaired(store: Store, session: Session) -> None:
    session.append(reply("running", "b"))
    session.stream(lambda: [Text("so far")])
    report = store.check(session.info)
    assert (report.ok, report.busy, report.problems) == (True, True, ())
    with pytest.raises(SessionBusy):
        store.check(session.info, mend=True)


def test_what_a_crash_left_open_is_a_notice_and_closed_by_a_repair(store: Store, session: Session) -> None:
    session.append(user("two", 2))
    session.stream(lambda: [Text("so far")])
    session.close()
    assert kinds(store, session) == [("leftover", True)]
    report = store.check(session.info, mend=True)
    assert report.repaired
    assert kinds(store, session) == []
    again = store.open(session.info.project_id, session.id, read_only=True)
    assert again.history.entries[-1].body.text == "so far"


def test_calls_and_results_that_do_not_match_are_told(store: Store, session: Session) -> None:
    session.append(result("a", "a second time"))
    session.append(result("nobody asked"))
    session.append(reply("asks", "b", "c"))
    session.append(result("c"))
    session.append(reply("goes on"))
    session.close()
    told = [problem.message for problem in store.check(session.info).problems]
    assert sum("call b" in message and "no result" in message for message in told) == 1
    assert sum("nobody asked" in message for message in told) == 1
    assert sum("second result" in message for message in told) == 1
    assert len(told) == 3


def test_outputs_that_belong_to_nothing_or_are_gone_are_told(store: Store, session: Session) -> None:
    from dataclasses import replace

    path = session.keep_output("b", "whole")
    session.append(reply("more", "b"))
    session.append(replace(result("b"), output_file=path))
    session.keep_output("c", "never named")
    session.close()
    assert kinds(store, session) == [("orphan", True)]
    Path(path).unlink()
    assert kinds(store, session) == [("orphan", True), ("orphan", True)]


def test_a_report_is_json(store: Store, session: Session) -> None:
    session.close()
    (session.folder / "records" / "000002-message.json").write_bytes(b"")
    raw = json.loads(json.dumps(report_to_json(store.check(session.info))))
    assert raw["ok"] is False
    assert raw["session"] == session.id
    first = raw["problems"][0]
    assert (first["kind"], first["seq"], first["file"]) == ("damaged", 2, "records/000002-message.json")
    assert first["severity"] == "error"


def test_a_check_changes_nothing(store: Store, session: Session) -> None:
    session.stream(lambda: [Text("x")])
    session.close()
    (session.folder / "records" / "000002-message.json").write_bytes(b"")
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in session.folder.rglob("*.json")}
    store.check(session.info)
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in session.folder.rglob("*.json")} == before


def test_large_input_and_what_a_background_command_printed_stay_where_they_are(store: Store, session: Session) -> None:
    large = session.keep_output("input-9", "all of it")
    session.append(user(f"[Large input saved to {large}: 1 lines, 9 bytes.]"))
    session.append(reply("I start it", "job"))
    session.append(result("job", "started in the background"))
    printed = session.keep_output("job", "what it printed until it ended")
    session.close()
    assert store.check(session.info).problems == ()
    store.check(session.info, mend=True)
    assert Path(large).read_text() == "all of it"
    assert Path(printed).exists()
