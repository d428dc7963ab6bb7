"""What is listed of background sessions: those that run, those that have ended, and how."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agentcli.core.message import Message, Text
from agentcli.frontends.serve.background import Background, Kept
from agentcli.frontends.serve.listing import LISTED, STARTS, Listing
from agentcli.frontends.serve.machine import Machine, Running
from agentcli.program.options import Options
from agentcli.sessions.info import stamp
from agentcli.sessions.store import Store


def ago(seconds: float) -> str:
    return stamp(datetime.now(UTC) - timedelta(seconds=seconds))


def rows(state: Path, store: Store) -> list[Running]:
    listing = Listing(Machine(store, state, lambda text: text.replace("secret", "…")), Kept(state), os.environ)
    return [*asyncio.run(listing.rows())]


def test_options_are_kept_as_they_were_given_and_only_for_their_user(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    options = Options(prompt="go", allow=("bash(ls)", "read"), max_cost=0.5, trust=True, then=("/goal x",))
    made = Background("session-1", options, "now", "/work", {"name": "fix"}, ended="failed", error="why")
    kept.save(made)
    [file] = (tmp_path / "background").iterdir()
    assert (kept.get("session-1"), file.stat().st_mode & 0o777) == (made, 0o600)
    kept.change("session-1", ended="done")
    kept.change("unknown", ended="done")
    assert [each.ended for each in kept] == ["done"]
    for text in ("", "[]", "{}", '{"options": 3}', '{"options": {"unknown": 1}, "session": "a", "started": ""}'):
        (tmp_path / "background" / "broken.json").write_text(text)
        assert [each.session for each in kept] == ["session-1"]
    kept.remove("session-1")
    assert kept.get("session-1") is None


def test_each_end_has_its_state_and_the_list_begins_with_what_needs_a_person(tmp_path: Path) -> None:
    store, kept = Store(tmp_path / "sessions"), Kept(tmp_path)
    session = store.create(tmp_path)
    session.append(Message("user", (Text("go"),), 1))
    session.append(Message("assistant", (Text("It is done."),), 1))
    session.close()
    for name, started, ended, error in (
        (session.id, ago(60), "done", ""),
        ("killed-now", ago(0), "", ""),
        ("killed-before", ago(STARTS + 1), "", ""),
        ("killed-tomorrow", ago(-3600), "", ""),  # the clock was set back since
        ("failed", ago(1), "failed", "the secret is wrong"),
        ("stopped", ago(1), "stopped", ""),
        ("long-ago", ago(LISTED + 60), "done", ""),
    ):
        kept.save(Background(name, Options(cwd="/work"), started, ended=ended, error=error))  # type: ignore[arg-type]
    found = rows(tmp_path, store)
    assert [(row.session, row.state) for row in found] == [
        ("killed-now", "works"),
        ("failed", "failed"),
        ("killed-before", "ended"),
        ("killed-tomorrow", "ended"),
        ("stopped", "stopped"),
        (session.id, "done"),
    ]
    assert [row.says for row in found] == [
        "starts",
        "the … is wrong",
        "Its process was killed, or the machine restarted.",
        "Its process was killed, or the machine restarted.",
        "",
        "It is done.",
    ]
    assert all(row.background for row in found)
    assert kept.get("long-ago") is None
