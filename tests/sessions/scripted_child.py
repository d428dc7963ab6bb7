"""A scripted session that expects to be killed: prints each acknowledged record, and logs each tool it runs.

`python -m tests.sessions.scripted_child ROOT SEED EFFECTS` goes on with the newest session, or begins one.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
from pathlib import Path

from agentcli.core.message import Text, Thinking
from agentcli.core.record import Body, Compaction, Prune, Record, Title
from agentcli.sessions.info import new_id
from agentcli.sessions.session import Session
from agentcli.sessions.store import Store
from tests.sessions.bodies import reply, result, user


def main(root: Path, seed: int, effects: Path) -> None:
    dice = random.Random(seed)
    store = Store(root, interval=0.0)
    newest = store.newest(store.project_id(root.parent))
    if newest is None or newest.records > 400:
        session = store.create(root.parent, model="demo/scripted", mode="ask")
    else:
        session = store.open(newest.project_id, newest.id)
    # An agent that naively ran what is open would run it a second time here.
    for call in session.history.open_calls:
        run(effects, call.call_id)
    for _ in range(10_000):
        session = turn(store, session, dice, effects)


def turn(store: Store, session: Session, dice: random.Random, effects: Path) -> Session:
    number = session.history.turn + 1
    say(session, user("please " * dice.randrange(1, 50), number))
    for size in range(dice.randrange(4)):
        session.stream(lambda size=size: [Thinking("hm"), Text("well " * size)])
    calls = [new_id() for _ in range(dice.randrange(3))]
    say(session, reply("well " * 200, *calls, turn=number))
    for call in calls:
        run(effects, call)
        session.keep_output(call, "out " * 500)
        say(session, result(call, "out"))
    match dice.randrange(8):
        case 0:
            say(session, Title(name=f"name {number}"))
        case 1 if calls:
            say(session, Prune(tuple(calls), 10, "test"))
        case 2:
            first, last = session.history.entries[0].seq, session.history.entries[-1].seq
            carry = session.history.carry
            say(session, Compaction("auto", "compressed", "auto", (first, last - 1), last, "so far", carry=carry))
        case 3:
            session.close()
            fork = store.fork(session.info)
            return store.open(fork.project_id, fork.id)
    return session


def run(effects: Path, call: str) -> None:
    with effects.open("a") as log:
        log.write(f"{call}\n")


def say(session: Session, body: Body) -> Record:
    record = session.append(body)
    assert not session.trouble()
    name = f"{record.seq:06d}-{record.kind}.json"
    digest = hashlib.sha256((session.folder / "records" / name).read_bytes()).hexdigest()
    os.write(1, f"{session.id} {name} {digest}\n".encode())
    return record


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
