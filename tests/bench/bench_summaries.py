"""Summaries and handoffs in figures: `python tests/bench/bench_summaries.py`. The real session is skipped where it is absent.

Ten compactions in a row by an honest summariser that writes items and by one that rewrites the whole snapshot; invented consents,
lies and truths; and the handoff of the real session.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

from agentcli.agent.compaction.handoff import HandoffRun
from agentcli.agent.compaction.snapshot import Brief
from agentcli.agent.compaction.summariser import Summariser
from agentcli.context.settings import ContextSettings
from agentcli.context.snapshot.form import Snapshot, parse
from agentcli.context.snapshot.items import Sources, apply, parse_items
from agentcli.context.snapshot.transcript import sources as texts
from agentcli.context.snapshot.verify import Evidence, verified
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import view
from agentcli.context.window import window_of
from agentcli.core.event import Event
from agentcli.core.history import fold
from agentcli.core.message import Text
from agentcli.core.model import Request
from agentcli.core.record import VerbatimText
from agentcli.sessions.in_memory import MemorySession
from agentcli.tools.registry import TRAITS
from tests.agent.compaction.compacting import CHEAP, MAIN, Answers, compress, ended, newest, session, snapshot
from tests.context import realsession
from tests.context.snapshot.statements import INVENTED, told, truths
from tests.context.story import Story

COUNTER = TokenCounter()
ROUNDS = 10


def survivors() -> dict[str, tuple[int, int]]:
    """Invented statements that survive, lies composed of true names, and true statements that stay, each with their number."""
    messages = view(fold(told().records)).messages
    said = [
        VerbatimText(block.seq, message.turn, block.part.text)
        for message in messages
        for block in message.blocks
        if block.source == "user" and isinstance(block.part, Text)
    ]
    whole = Evidence(texts(messages), user_texts=said)
    sources = Sources(messages, whole)

    def left(lines: list[str]) -> int:
        delta = parse_items("<snapshot_items>\n" + "\n".join(lines) + "\n</snapshot_items>")
        return len(apply(delta, None, sources)[0].knowledge) if delta else 0

    invented = sum(bool(left([f"add knowledge [1] {lie}"])) for lie in INVENTED)
    in_whole = sum(bool(verified(Snapshot(knowledge=(lie,)), whole)[0].knowledge) for lie in INVENTED)
    true = left([f"add knowledge [{', '.join(map(str, seqs))}] {text}" for text, seqs in truths()])
    return {
        "invented, as items": (invented, len(INVENTED)),
        "invented, as a whole snapshot": (in_whole, len(INVENTED)),
        "true statements": (true, len(truths())),
    }


@dataclass(frozen=True, slots=True)
class Row:
    """Ten compactions: tokens that the summariser wrote in the second and later ones, and findings unchanged in the last."""

    written: int
    unchanged: int
    findings: int


def ten_compactions(*, items: bool, each: int = 6, size: int = 1_500) -> Row:
    """A session that is compacted ten times, with new findings before each time."""
    written: list[int] = []

    def honest(request: Request) -> str:
        text = request.messages[-1].parts[-1]
        asked = text.text if isinstance(text, Text) else ""
        found = re.findall(r"(finding_\d+)`? means (\d+)", asked)
        facts_ = dict.fromkeys(f"`{name}` means {value}." for name, value in found)
        if items:
            seqs = {name: seq for seq, name in re.findall(r"← read #(\d+) \(success\): (finding_\d+)", asked)}
            lines = [
                f"add knowledge [{seqs.get(fact.split('`')[1], '')}] {fact}"
                for fact in facts_
                if fact.split("`")[1] in seqs
            ]
            reply = "<snapshot_items>\n" + "\n".join(lines) + "\n</snapshot_items>"
        else:
            reply = snapshot(knowledge="\n".join(f"- {fact}" for fact in facts_))
        written.append(COUNTER.text(reply))
        return reply

    story = Story()
    journal = session(story)
    first: dict[str, str] = {}
    for n in range(ROUNDS):
        before = len(story.records)
        story.user(f"Look into part {n}, please.")
        for k in range(n * each, (n + 1) * each):
            story.does(
                "read",
                f"finding_{k} means {k * 37 + 11}\n" + "filler line of no interest\n" * size,
                file_path=f"/w/f{k}.py",
            )
        story.says("Looked.")
        story.user("Go on.")
        story.says("Going on. " * 400)
        for record in story.records[before:]:
            journal.append(record.body)
        events = compress(
            journal, Answers(honest, spec=CHEAP), main=MAIN, trigger="manual", policy="auto" if items else "gemini"
        )
        assert ended(events).status == "compressed", ended(events)
        for item in parse(newest(journal).snapshot).knowledge:
            if "finding_" in item:
                first.setdefault(item.split("`")[1], item)
    last = set(parse(newest(journal).snapshot).knowledge)
    return Row(sum(written[1:]), sum(item in last for item in first.values()), len(first))


@dataclass(frozen=True, slots=True)
class HandedOff:
    """The handoff of a session: tokens of the new session's first messages, rules in it byte for byte."""

    tokens: int
    rules: int
    of_rules: int
    text: str


def hand_off_real(following: str = "remove the old main.ts and update the docs") -> HandedOff | None:
    """The handoff of the real session, made from its ledger alone; None where the session is absent."""
    if not realsession.FILE.exists():
        return None
    journal: Any = MemorySession()
    for record in realsession.records():
        if record.kind != "compaction":
            journal.append(record.body)
    counter = TokenCounter()
    window = window_of(view(journal.history), MAIN, counter, ContextSettings(), TRAITS)

    async def no() -> str:
        return "no model is called here"

    run = HandoffRun(
        journal,
        Brief(window, MAIN, following),
        Summariser(Answers(""), 0),
        may_call=no,
        cwd="/Users/badlogic/workspaces/pi-mono",
    )

    async def unseen(_: Event) -> None:
        pass

    made = asyncio.run(run.run(unseen))
    assert made is not None
    fresh = MemorySession()
    fresh.append(made.beginning)
    shown = view(fresh.history)
    text = "\n".join(str(getattr(block.part, "text", "")) for block in shown.blocks)
    rules = [str(rule["text"]) for rule in made.beginning.ledger["rules"]]
    return HandedOff(counter.view(shown), sum(rule in text for rule in rules), len(rules), text)


def main() -> None:
    """Print all figures."""
    for name, (count, of) in survivors().items():
        print(f"{name}: {count} of {of} stay")
    rewritten, as_items = ten_compactions(items=False), ten_compactions(items=True)
    for name, row in (("rewritten", rewritten), ("items", as_items)):
        print(
            f"ten compactions, {name}: {row.written:,} tokens written in 2-10, {row.unchanged} of {row.findings} findings unchanged in the tenth"
        )
    print(f"items write {1 - as_items.written / rewritten.written:.0%} less")
    if made := hand_off_real():
        print(
            f"real session handed off: {made.tokens:,} tokens beside system and tools, {made.rules} of {made.of_rules} rules byte for byte"
        )


if __name__ == "__main__":
    main()
