"""Shared sessions of this machine: where each listens, and the secret for its clients; and the sockets themselves."""

from __future__ import annotations

import contextlib
import json
import socket
from pathlib import Path

from agentcli.frontends.serve.registry import FOLDER, registrations
from tests.tables import each_row


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    live = tmp_path / "state" / FOLDER
    live.mkdir(parents=True)
    left = {"session": "20260101-000000-aaaaaaa", "pid": 2**22 + 1, "socket": str(live / "1-a.sock"), "secret": "s"}
    (live / "20260101-000000-aaaaaaa.json").write_text(json.dumps(left))
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(left["socket"])
    (live / "other.json").write_text("{")
    assert list(registrations(tmp_path / "state")) == []
    assert [file.name for file in live.iterdir()] == ["other.json"]


@each_row("place", ["notes.txt", "agent.sock", "live/kept.txt", "agentcli-mine/s"])
def test_what_a_stale_registration_names_is_removed_only_if_a_session_made_it(tmp_path: Path, place: str) -> None:
    live, named = tmp_path / FOLDER, tmp_path / place
    for each in (live, named.parent):
        each.mkdir(exist_ok=True)
    if named.suffix == ".txt":
        named.touch()
    else:
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(named))
    left = {"session": "20260101-000000-aaaaaaa", "pid": 2**22 + 1, "socket": str(named), "secret": "s"}
    (live / "20260101-000000-aaaaaaa.json").write_text(json.dumps(left))
    assert list(registrations(tmp_path)) == []
    assert named.exists()
    assert not (live / "20260101-000000-aaaaaaa.json").exists()


def test_a_session_that_is_too_busy_to_answer_is_still_registered(tmp_path: Path) -> None:
    live = tmp_path / "state" / FOLDER
    live.mkdir(parents=True)
    with contextlib.ExitStack() as opened:
        full = opened.enter_context(socket.socket(socket.AF_UNIX))
        full.bind(str(live / "1-a.sock"))
        full.listen(0)
        for _ in range(3):  # more than wait for an answer
            waiting = opened.enter_context(socket.socket(socket.AF_UNIX))
            waiting.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                waiting.connect(str(live / "1-a.sock"))
        kept = {"session": "20260101-000000-aaaaaaa", "pid": 1, "socket": str(live / "1-a.sock"), "secret": "s"}
        (live / "20260101-000000-aaaaaaa.json").write_text(json.dumps(kept))
        assert [found.pid for found in registrations(tmp_path / "state")] == [1]
