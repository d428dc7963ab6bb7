"""A real session of a thousand entries is compacted without a model, and by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentcli.context.ledger.ledger import from_json
from agentcli.context.policies import POLICIES
from agentcli.core.errors import ModelError
from agentcli.core.record import Compaction
from agentcli.sessions.in_memory import MemorySession
from tests.agent.compaction.compacting import MAIN, Answers, compress, ended, newest, shown, snapshot, text_of
from tests.context.realsession import FILE, records
from tests.sampling import sampled

pytestmark = pytest.mark.skipif(not FILE.exists(), reason="the recorded session is not here")
WIDE = replace(MAIN, window=200_000, max_output=32_000)


@pytest.fixture(scope="module")
def bodies() -> list[object]:
    return [record.body for record in records() if not isinstance(record.body, Compaction)]


def told(bodies: list[object]) -> MemorySession:
    journal = MemorySession()
    for body in bodies:
        journal.append(body)  # type: ignore[arg-type]
    return journal


def test_the_ledger_alone_keeps_its_files_commands_and_tests(bodies: list[object]) -> None:
    journal = told(bodies)
    events = compress(journal, Answers(ModelError("down", "network")), main=WIDE)
    assert ended(events).status == "compressed"
    assert ended(events).tokens_after < 0.3 * ended(events).tokens_before
    ledger = from_json(newest(journal).ledger)
    assert len(ledger.files) > 15
    assert len(ledger.commands) > 90
    text = newest(journal).snapshot
    changed = [fact for fact in ledger.files if fact.state != "READ"]
    assert all(f"{fact.state}: `{fact.path}`" in text for fact in changed)


def test_nothing_that_the_user_typed_is_lost(bodies: list[object]) -> None:
    journal = told(bodies)
    typed = [body.text for body in bodies if getattr(body, "role", "") == "user"]  # type: ignore[attr-defined]
    compress(journal, Answers(ModelError("down", "network")), main=WIDE)
    texts = text_of(journal)
    assert all(text in texts for text in typed)


@pytest.mark.parametrize("policy", sampled(POLICIES, 3))
def test_every_policy_leaves_a_view_that_can_be_sent(policy: str, bodies: list[object]) -> None:
    journal = told(bodies)
    before = shown(journal)
    reply = (
        '<summary n="1">- read</summary>'
        if policy == "regions"
        else snapshot("Refactor the agent.", "- It is one big mess.")
    )
    assert ended(compress(journal, Answers(reply), main=WIDE, policy=policy)).status == "compressed"
    assert shown(journal) != before
