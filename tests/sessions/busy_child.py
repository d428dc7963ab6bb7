"""One of several agents at work on the same project, configuration and history; prints what was acknowledged.

`python -m tests.sessions.busy_child FOLDER NAME`, where NAME is unlike that of any other.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from agentcli.core.errors import SessionBusy
from agentcli.frontends.terminal.input.history import HistoryEntry, append_history
from agentcli.program.config.toml import set_key
from agentcli.program.trust import trust
from agentcli.sessions.session import Session
from agentcli.sessions.store import Store
from tests.sessions.bodies import reply, user

KEPT = 100_000
"""Prompts that the shared history keeps: all of them, so that none may be missing."""


def main(folder: Path, name: str) -> None:
    store = Store(folder / "sessions", interval=0.0)
    for n in range(1, 1_000_000):
        session = some_session(store, folder)
        for body in (user(f"{name} {n}"), reply("fine")):
            record = session.append(body)
            path = session.folder / "records" / f"{record.seq:06d}-message.json"
            tell("record", session.id, path.name, hashlib.sha256(path.read_bytes()).hexdigest())
        session.close()
        set_key(folder / "config.toml", f"agents.{name}", n)
        tell("config", name, str(n))
        trust(folder / f"{name}-{n}", folder / "trusted.json")
        tell("trust", f"{name}-{n}")
        append_history(folder / "history.jsonl", HistoryEntry(f"{name} {n}"), limit=KEPT)
        tell("history", name, str(n))


def some_session(store: Store, folder: Path) -> Session:
    newest = store.newest(store.project_id(folder))
    if newest is not None and newest.records < 40:
        try:
            return store.open(newest.project_id, newest.id)
        except SessionBusy:
            pass
    return store.create(folder)


def tell(*fields: str) -> None:
    os.write(1, (" ".join(fields) + "\n").encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
