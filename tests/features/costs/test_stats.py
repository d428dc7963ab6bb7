"""Sums over sessions count what was spent once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.core.message import ToolResult, Usage
from agentcli.core.record import Undo
from agentcli.core.subagent_result import spending
from agentcli.features.costs.stats import collect, lines
from agentcli.sessions.info import Parent, SessionInfo
from agentcli.sessions.store import Store
from tests.sessions.bodies import reply, user

EACH = Usage(input=10, output=5)
"""The usage of one reply."""


def go_on(store: Store, info: SessionInfo, replies: int) -> None:
    session = store.open(info.project_id, info.id)
    for _ in range(replies):
        session.append(user("go on"))
        session.append(reply("done"))
    session.close()


def replies_counted(store: Store) -> tuple[float, float]:
    """The number of replies in the statistics, by tokens and by cost."""
    total = collect(store.list()).total
    return total.usage.input / EACH.input, round((total.cost or 0) / 0.01, 6)


def test_without_a_session_there_are_no_empty_headings(tmp_path: Path) -> None:
    assert lines(collect(Store(tmp_path / "sessions").list())) == ["No sessions. See `agentcli help sessions`."]


@pytest.mark.usefixtures("new_york")
def test_a_day_is_one_of_this_machine(tmp_path: Path) -> None:
    info = Store(tmp_path / "sessions").create(tmp_path).info
    late = replace(info, time=replace(info.time, updated="2026-01-31T02:30:00.000Z"))
    assert list(collect([late]).days) == ["2026-01-30"]


def test_what_a_fork_inherited_is_counted_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    session = store.create(tmp_path)
    session.append(user("begin"))
    session.append(reply("so"))
    session.close()
    root = session.info
    fork = store.fork(root)
    go_on(store, root, 2)
    go_on(store, fork, 3)
    twig = store.fork(fork, 4)
    go_on(store, twig, 1)
    assert replies_counted(store) == (7, 7)
    for info in (fork, twig):  # what was inherited is known from the records alone
        (store.folder(info) / "session.json").unlink()
    assert replies_counted(store) == (7, 7)


def test_what_forks_inherited_is_still_counted_when_their_origin_is_gone(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    session = store.create(tmp_path)
    for _ in range(3):
        session.append(user("begin"))
        session.append(reply("so"))
    session.close()
    forks = [store.fork(session.info), store.fork(session.info, 2)]
    for fork in forks:
        go_on(store, fork, 1)
    assert replies_counted(store) == (5, 5)
    store.delete(session.info)
    assert replies_counted(store) == (5, 5)


def test_what_was_rewound_counts_in_statistics(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    session = store.create(tmp_path)
    first = session.append(user("begin"))
    session.append(reply("so"))
    session.append(Undo(first.seq, "rewind"))
    session.append(reply("or so"))
    session.close()
    assert replies_counted(store) == (2, 2)


def test_what_a_subagent_used_counts_in_the_session_that_sent_it(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    parent = store.create(tmp_path)
    parent.append(user("begin"))
    parent.append(reply("so", "t1"))
    child = store.create(tmp_path, parent=Parent(parent.id, 2, "subagent"))
    child.append(user("look"))
    child.append(reply("found"))
    child.close()
    parent.append(ToolResult("t1", "task", "success", "found", metadata=spending("m", EACH, 0.01)))
    parent.close()
    assert replies_counted(store) == (2, 2)
    assert collect(store.list()).total.count == 1
    store.delete(parent.info)
    assert replies_counted(store) == (1, 1)
