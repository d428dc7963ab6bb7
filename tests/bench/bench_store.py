"""How the store behaves at length: `python -m tests.bench.bench_store [RECORDS] [SESSIONS]` prints ratios within one run."""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

from agentcli.core.history import History
from agentcli.core.record import Body, Compaction
from agentcli.sessions.imported import Imported
from agentcli.sessions.info import SessionInfo, Times, encode_info, new_id, stamp
from agentcli.sessions.store import Store
from tests.sessions.bodies import reply, result, user
from tests.sessions.imported import store_imported

VIEW = 300
"""Records that stand after the newest compaction."""


def main(records: int = 100_000, sessions: int = 10_000) -> None:
    home = Path(tempfile.mkdtemp(prefix="bench-store-"))
    try:
        store = Store(home / "sessions")
        short, long = session_of(store, home, VIEW + 20), session_of(store, home, records)
        resuming(store, short, long)
        appending(store, short, long)
        remembering(store, short, long)
        listing(home, sessions)
    finally:
        shutil.rmtree(home)


def resuming(store: Store, short: SessionInfo, long: SessionInfo) -> None:
    """A long session resumes in the time of a fresh one with the same view."""
    times = {info.id: [] for info in (short, long)}
    for _ in range(9):
        for info in (short, long):
            times[info.id].append(seconds(lambda info=info: store.open(info.project_id, info.id).close()))
    fresh, old = (statistics.median(times[info.id]) for info in (short, long))
    print(
        f"resume: {old * 1e3:.1f} ms with {long.records:,} records, {fresh * 1e3:.1f} ms with {short.records:,}: {old / fresh:.2f}×"
    )


def appending(store: Store, short: SessionInfo, long: SessionInfo) -> None:
    """Appending to a long session takes what it takes in a fresh one."""
    medians = []
    for info in (short, long):
        session = store.open(info.project_id, info.id)
        medians.append(statistics.median(seconds(lambda s=session: s.append(user("more"))) for _ in range(200)))
        session.close()
    fresh, old = medians
    print(f"append: {old * 1e3:.2f} ms to the long one, {fresh * 1e3:.2f} ms to the fresh one: {old / fresh:.2f}×")


def remembering(store: Store, short: SessionInfo, long: SessionInfo) -> None:
    """A resumed session takes memory for its view alone."""
    peaks = []
    for info in (short, long):
        tracemalloc.start()
        session = store.open(info.project_id, info.id)
        peaks.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        session.close()
    fresh, old = peaks
    print(f"memory: {old / 1e6:.2f} MB for the long one, {fresh / 1e6:.2f} MB for the fresh one: {old / fresh:.2f}×")


def listing(home: Path, sessions: int) -> None:
    """Many sessions are listed from what they are at a glance."""
    store = Store(home / "agentcli" / "sessions")
    project = store.project_id(home)
    for n in range(sessions):
        info = SessionInfo(
            new_id(), project, str(home), title=f"session {n}", time=Times(stamp(), stamp()), records=9, head="0" * 64
        )
        folder = store.folder(info)
        (folder / "records").mkdir(parents=True)
        (folder / "session.json").write_bytes(encode_info(info))
    taken = seconds(lambda: len(store.list()))
    newest = seconds(lambda: store.newest(project))
    python = seconds(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
    print(
        f"list: {taken:.2f} s for {sessions:,} sessions ({taken / python:.0f} × python -c pass); newest: {newest * 1e3:.0f} ms"
    )
    whole = min(seconds(lambda: listed(home)) for _ in range(5))
    print(f"agentcli sessions list --all: {whole:.2f} s from start to end ({whole / python:.0f} × python -c pass)")
    print(f"peak of this bench: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def listed(home: Path) -> None:
    command = [sys.executable, "-m", "agentcli", "sessions", "list", "--all"]
    subprocess.run(command, env={**os.environ, "XDG_DATA_HOME": str(home)}, stdout=subprocess.DEVNULL, check=True)


def session_of(store: Store, home: Path, records: int) -> SessionInfo:
    began = time.perf_counter()
    said = tuple((stamp(), body) for body in life(records))
    made = store_imported(store.root, Imported("agentcli", "", str(home), "", stamp(), said), home)
    print(f"made a session of {records:,} records in {time.perf_counter() - began:.1f} s")
    return made


def life(records: int) -> Iterator[Body]:
    """Turns of four records, compacted so that the same view is left whatever came before."""
    for seq in range(1, records + 1):
        if seq == records - VIEW:
            carry = History(turn=seq // 4).carry
            yield Compaction("auto", "compressed", "auto", (1, seq - 1), seq, snapshot="so far " * 500, carry=carry)
            continue
        match seq % 4:
            case 0:
                yield user("a question of ordinary length about something in the code " * 3, seq // 4)
            case 1:
                yield reply("an answer that looks at a file first " * 10, f"call{seq}", turn=seq // 4)
            case 2:
                yield result(f"call{seq - 1}", "line of output\n" * 60)
            case _:
                yield reply("what was found " * 40, turn=seq // 4)


def seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
