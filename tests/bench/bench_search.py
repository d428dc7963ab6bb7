"""How long a search takes: `python -m tests.bench.bench_search [SESSIONS] [RECORDS EACH]`, by default 10,000 of 10.

The yardstick is the time to read every record file once, which no search without an index can beat.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agentcli.core.codec.encode import encode
from agentcli.core.message import Message, Text, ToolResult
from agentcli.core.record import Body, Record
from agentcli.sessions.search import search
from agentcli.sessions.storage.records import digest, file_name

WORDS = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor "


def main() -> None:
    """Make the sessions, then print what each kind of search takes."""
    sessions, records = (int(given) for given in (*sys.argv[1:], *("10000", "10")[len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "agentcli" / "sessions"
        for number in range(sessions):
            _make(root / f"p{number % 20:02}" / f"s{number:05}", number, records)
        print(f"{sessions:,} sessions of {records} records, {sessions * records:,} files")
        print(f"{_timed(lambda: _read_all(root)):6.2f} s  reading them all")
        for what, words in (
            ("a word nowhere", "xyzzy"),
            ("a word in one", "marker4711"),
            ("a word in 1 %", "special"),
            ("a word in all", "lorem"),
        ):
            print(f"{_timed(lambda words=words: search(root, words, limit=20)):6.2f} s  {what}")
        print(f"{_timed(lambda: search(root, 'überall')):6.2f} s  a word that is not ASCII")
        print(f"{_timed(lambda: _searched(name)):6.2f} s  agentcli sessions search --all special, from start to end")


def _make(folder: Path, number: int, records: int) -> None:
    (folder / "records").mkdir(parents=True)
    prev = ""
    for seq in range(1, records + 1):
        text = f"{WORDS * 8}marker{number} {'special' if number % 100 == 0 else ''}"
        body: Body = Message("user", (Text(text),), 1) if seq % 2 else ToolResult("c", "bash", "success", text * 2)
        record = Record(seq, f"r{seq}", "2026-01-01T00:00:00.000Z", prev, body)
        data = encode(record)
        prev = digest(data)
        (folder / "records" / file_name(seq, record.kind)).write_bytes(data)


def _searched(data: str) -> None:
    command = [sys.executable, "-m", "agentcli", "sessions", "search", "--all", "special"]
    subprocess.run(command, env={**os.environ, "XDG_DATA_HOME": data}, stdout=subprocess.DEVNULL, check=True)


def _read_all(root: Path) -> None:
    for folder, _, names in os.walk(root):
        for name in names:
            Path(folder, name).read_bytes()


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
