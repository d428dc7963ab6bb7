"""What a handoff of a long session is worth: `python -m tests.bench.bench_handoff [FACTS]`.

The recorded session, or a made-up one where it does not lie beside the checkout, is handed off to a new session: the size of the
first request, the standing rules of the user in it byte for byte, and facts of the old session recalled from the new one.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agentcli.agent.session import AgentSession
from agentcli.context.ledger.standing_rules import rule_sentences
from agentcli.core.message import Message
from agentcli.core.model import Request
from agentcli.core.record import Body, Record
from agentcli.core.tasks import emitted
from agentcli.extras.lab.facts import facts
from agentcli.frontends.opening import program_of
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.tools.recall import recall
from agentcli.tools.registry import TRAITS
from tests.bench.bench_lab import REAL, recorded
from tests.extras.lab.traces import trace


@dataclass(frozen=True, slots=True)
class Outcome:
    """The new session: tokens of its first request, rules of the old one in it, and facts that `recall` finds there."""

    records: int
    tokens: int
    rules: int
    rules_kept: int
    facts: int
    recalled: int
    missing: tuple[str, ...]


def handed_off(bodies: Sequence[Body], program: Program, following: str = "go on") -> tuple[AgentSession, AgentSession]:
    """A session with these records, and the one that goes on from it; the ledger alone writes the handoff."""
    old = program.sessions.new()
    for body in bodies:
        old.journal.append(body)

    async def write() -> None:
        async for _ in emitted(partial(old.compactor.hand_off, asyncio.Event(), following=following)):
            pass

    asyncio.run(write())
    assert old.compactor.handoff is not None
    return old, program.sessions.hand_off(old, old.compactor.handoff)


def outcome(records: Sequence[Record], program: Program, count: int = 20) -> Outcome:
    """The figures of a handoff of this session; facts are taken from all over it."""
    old, fresh = handed_off([record.body for record in records], program)
    builder = fresh.conversation.builder
    text = text_of(builder.request())
    rules = {rule for record in records for rule in _rules(record.body)}
    known = facts(records, TRAITS)
    wanted = [known[number * len(known) // count] for number in range(min(count, len(known)))]
    missing = [fact.text for fact in wanted if fact.text not in found(fresh, fact.text)]
    kept = sum(rule in text for rule in rules)
    tokens = builder.window().tokens
    fresh.close()
    old.close()
    return Outcome(len(records), tokens, len(rules), kept, len(wanted), len(wanted) - len(missing), tuple(missing))


def found(session: AgentSession, wanted: str) -> str:
    """What the tool itself answers to a model that looks for a text, over as many calls as it says to make."""
    pieces, given = [], {"pattern": re.escape(wanted)}
    while True:
        answer = asyncio.run(recall(session.core.ctx, "r", **given)).output  # type: ignore[arg-type]
        pieces.append(answer)
        more = re.search(r"go on with to=(-?\d+)", answer)
        if not more or wanted in answer:
            return "\n".join(pieces)
        given["until"] = int(more[1])  # type: ignore[assignment]


def text_of(request: Request) -> str:
    """All texts of a request."""
    return "\n".join(str(getattr(part, "text", "")) for message in request.messages for part in message.parts)


def _rules(body: Body) -> Sequence[str]:
    return tuple(rule_sentences(body.text)) if isinstance(body, Message) and body.role == "user" else ()


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as folder:
        for name in ("CONFIG", "DATA", "STATE", "CACHE"):
            os.environ[f"XDG_{name}_HOME"] = str(Path(folder) / name.lower())
        (Path(folder) / "work").mkdir()
        program = program_of(Options(cwd=str(Path(folder) / "work"), model="script:echo"))
        found = outcome(recorded() if REAL.exists() else trace(0).records, program, count)
    print(
        f"{found.records:,} records; the new session's first request holds {found.tokens:,} tokens, system and tools included"
    )
    print(f"{found.rules_kept} of {found.rules} standing rules stand in it byte for byte")
    print(f"{found.recalled} of {found.facts} facts of the old session are recalled from the new one")
    for text in found.missing:
        print(f"not found: {text}")


if __name__ == "__main__":
    main()
