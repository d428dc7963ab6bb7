"""The saver of a streaming reply: when it writes, what a killed process leaves, and what of a damaged file is read."""

from __future__ import annotations

import errno
import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from agentcli.core.message import Part, Text, ToolCall
from agentcli.sessions.storage.writer import INTERVAL, Partial, Reply, read_partial
from tests.sessions.disks import Failing, Hasty, Recording
from tests.tables import each_row

LONG = 600.0


def parts(text: str) -> Callable[[], Sequence[Part]]:
    return lambda: [Text(text)]


def saved(path: Path) -> str:
    """The text of the saved reply; empty if there is none."""
    reply = read_partial(path)
    return "".join(part.text for part in reply.parts if isinstance(part, Text)) if reply else ""


def timers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]


def comes(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 30
    while not condition() and time.monotonic() < until:
        time.sleep(0.002)
    return condition()


def test_the_first_piece_is_saved_at_once_and_the_next_ones_wait_for_their_time(tmp_path: Path) -> None:
    path = tmp_path / "partial.json"
    partial = Partial(path, Hasty(), LONG)
    partial.keep(4, parts("a"))
    assert read_partial(path) == Reply(4, (Text("a"),))
    assert timers() == []
    partial.keep(4, parts("ab"))
    partial.keep(4, parts("abc"))
    assert saved(path) == "a"
    [timer] = timers()
    assert timer.daemon, "a program that ends does not wait for it"
    partial.flush()
    assert read_partial(path) == Reply(4, (Text("abc"),))
    assert comes(lambda: not timer.is_alive())
    partial.keep(4, parts("abcd"))
    assert saved(path) == "abc", "its time counts from the last save"
    partial.clear()
    assert not path.exists()
    partial.flush()
    assert not path.exists(), "it is forgotten"
    for timer in timers():
        timer.cancel()  # type: ignore[attr-defined]


def test_a_save_comes_by_itself_when_its_time_has_come(tmp_path: Path) -> None:
    path = tmp_path / "partial.json"
    partial = Partial(path, Hasty(), 0.03)
    for text in ("a", "ab", "abc"):
        partial.keep(1, parts(text))
    assert comes(lambda: saved(path) == "abc")
    assert comes(lambda: not timers())
    partial.keep(1, parts("abcd"))
    assert comes(lambda: saved(path) == "abcd")


def test_without_an_interval_every_piece_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "partial.json"
    partial = Partial(path, Hasty(), 0.0)
    for text in ("a", "ab", "abc"):
        partial.keep(1, parts(text))
        assert saved(path) == text
    assert INTERVAL == 1


def test_a_timer_that_finds_nothing_serves_the_next_reply(tmp_path: Path) -> None:
    path = tmp_path / "partial.json"
    partial = Partial(path, Hasty(), 0.03)
    partial.keep(1, parts("a"))
    partial.keep(1, parts("ab"))
    partial.clear()
    assert comes(lambda: not timers())
    assert not path.exists()
    partial.keep(2, parts("b"))
    assert comes(lambda: read_partial(path) == Reply(2, (Text("b"),)))


def test_pieces_are_only_put_together_for_a_save_and_nothing_is_saved_of_an_empty_reply(tmp_path: Path) -> None:
    disk = Failing("unlink", errno.EIO, 1, forever=True)
    partial = Partial(tmp_path / "partial.json", disk, 0.0)
    partial.keep(1, list)
    partial.flush()
    partial.clear()
    assert list(tmp_path.iterdir()) == []
    assert disk.calls == 0, "there was nothing to remove"
    asked: list[str] = []

    def text() -> Sequence[Part]:
        asked.append("asked")
        return [Text("a")]

    slow = Partial(tmp_path / "slow.json", Hasty(), LONG)
    slow.keep(1, text)
    slow.keep(1, text)
    assert asked == ["asked"]
    slow.flush()
    assert asked == ["asked"] * 2
    slow.flush()
    assert asked == ["asked"] * 2, "all is written"


@each_row("call", ["create", "write", "rename", "unlink"])
def test_a_disk_that_refuses_a_reply_stops_nothing(tmp_path: Path, call: str) -> None:
    disk = Failing(call, errno.ENOSPC, 1, forever=True)
    partial = Partial(tmp_path / "partial.json", disk, 0.0)
    partial.keep(1, parts("a"))
    partial.flush()
    partial.clear()
    assert disk.failed
    disk.heal()
    partial.keep(2, parts("b"))
    assert saved(tmp_path / "partial.json") == "b"
    partial.clear()
    assert not (tmp_path / "partial.json").exists()


def test_a_reply_is_removed_once(tmp_path: Path) -> None:
    disk = Recording()
    partial = Partial(tmp_path / "partial.json", disk, 0.0)
    partial.keep(1, parts("a"))
    partial.clear()
    count = len(disk.acts)
    partial.clear()
    assert len(disk.acts) == count


TEXT = {"type": "text", "text": "a"}


@each_row(
    ("raw", "reply"),
    [
        ({"after": 3, "parts": [TEXT]}, Reply(3, (Text("a"),))),
        ({"after": 3, "parts": []}, Reply(3, ())),
        ({"after": 3, "parts": [TEXT, 5, None, {}, {"type": "text"}, {"type": "new"}, {"type": "text", "text": 5}]}, Reply(3, (Text("a"),))),
        (
            {"after": 3, "parts": [{"type": "tool_call", "call_id": "c", "name": "read", "input": {}}]},
            Reply(3, (ToolCall("c", "read", {}),)),
        ),
        ({"parts": [TEXT]}, None),
        ({"after": "many", "parts": [TEXT]}, None),
        ({"after": None, "parts": [TEXT]}, None),
        ({"after": 3}, None),
        ({"after": 3, "parts": 5}, None),
        ([], None),
        (None, None),
    ],
)  # fmt: skip
def test_damaged_parts_of_a_reply_are_dropped(tmp_path: Path, raw: object, reply: Reply | None) -> None:
    (tmp_path / "partial.json").write_text(json.dumps(raw))
    assert read_partial(tmp_path / "partial.json") == reply


@each_row("data", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_reply_is_none(tmp_path: Path, data: bytes) -> None:
    assert read_partial(tmp_path / "partial.json") is None
    (tmp_path / "partial.json").write_bytes(data)
    assert read_partial(tmp_path / "partial.json") is None
