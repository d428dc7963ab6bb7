"""A summary as items.

A reply adds items to the former snapshot or removes some, and cites the records that prove them. Only items that are
worth their tokens stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, cast, get_args

from agentcli.context.compaction_settings import LossSettings
from agentcli.context.ledger.ledger import Ledger
from agentcli.context.ledger.standing_rules import sentences
from agentcli.context.loss import faded, is_worth
from agentcli.context.snapshot.form import LEFT_OUT, Snapshot, cite, last_cited, render, uncited
from agentcli.context.snapshot.reconcile import is_ledger_line, is_lookup, is_report, is_test_line, same_step
from agentcli.context.snapshot.verify import Evidence, Sifted, Struck, judged, verified_goal
from agentcli.context.view import ViewMessage
from agentcli.core.dataclass import dataclass
from agentcli.core.message import ToolResult

TAG = "snapshot_items"
Section = Literal["goal", "knowledge", "file", "action", "plan"]
SECTIONS: tuple[Section, ...] = get_args(Section)
_ITEM = re.compile(
    rf"^[\s>*•-]*(?:add\s+)?(?P<section>{'|'.join(SECTIONS)})\b:?\s*(?:\[(?P<seqs>[\s\d,;#–-]*)\])?:?\s*(?P<text>\S.*)$",
    re.IGNORECASE,
)
_ADDED = re.compile(
    r"^[\s>*•-]*add\s+(?:[\w ]{1,20}(?:\[(?P<seqs>[\s\d,;#–-]*)\]:?|:)\s*)?(?P<text>\S.*)$", re.IGNORECASE
)
"""An item for a section that does not exist."""
_STEP = re.compile(r"\[(?:done|in progress|todo)\]", re.IGNORECASE)
_OBSOLETE = re.compile(r"^[\s>*•-]*obsolete\s+(?P<id>[KAPD]\d+)\b:?\s*(?:\[(?P<seqs>[\s\d,;#–-]*)\])?", re.IGNORECASE)
_KEEP = re.compile(r"^[\s>*•-]*keep\b", re.IGNORECASE)
_RANGE = re.compile(r"(\d+)(?:\s*[–-]\s*#?(\d+))?")
_WIDEST = 200
"""Most records in one range."""


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a reply: a text for a section, and the seqs of the records cited as its proof."""

    section: Section
    text: str
    seqs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Delta:
    """A reply in items. `obsolete` maps ids of items of the former snapshot to the records cited as proof."""

    items: tuple[Item, ...] = ()
    obsolete: Mapping[str, tuple[int, ...]] | None = None

    @property
    def text(self) -> str:
        """All prose of the reply."""
        return "\n".join(item.text for item in self.items)


def parse_items(reply: str) -> Delta | None:
    """Return the items of a reply, even if it was cut off; None for a reply in another form."""
    opening = reply.rfind(f"<{TAG}>")
    if opening < 0:
        return None
    body = reply[opening + len(TAG) + 2 :].split(f"</{TAG}>")[0]
    items: list[Item] = []
    obsolete: dict[str, tuple[int, ...]] = {}
    for line in filter(str.strip, body.splitlines()):
        if match := _OBSOLETE.match(line):
            obsolete[match["id"].upper()] = _seqs(match["seqs"])
        elif match := _ITEM.match(line):
            section = cast(Section, match["section"].lower())
            items.append(Item(section, " ".join(match["text"].split()), _seqs(match["seqs"])))
        elif match := _ADDED.match(line):
            section = "plan" if _STEP.match(match["text"]) else "knowledge"
            items.append(Item(section, " ".join(match["text"].split()), _seqs(match["seqs"])))
        elif items and not _KEEP.match(line):
            items[-1] = replace(items[-1], text=f"{items[-1].text} {' '.join(line.split())}")
    return Delta(tuple(items), obsolete)


def numbered(former: Snapshot) -> str:
    """Return the items of a snapshot that a delta may name, each with its id.

    Lines from the ledger are left out.
    """
    lines = [f"goal: {former.goal}"]
    lines += [f"{number} {text}" for number, text in _ids(former).items()]
    return "\n".join(lines)


class Sources:
    """The records that a summary may cite, and the step of each: a call and its results prove together."""

    def __init__(self, shown: Iterable[ViewMessage], whole: Evidence) -> None:
        self.whole = whole
        self.users: frozenset[int] = frozenset()
        self._step: dict[int, int] = {}
        last = 0
        for block in (block for message in shown for block in message.blocks):
            last = last if last and isinstance(block.part, ToolResult) else block.seq
            self._step[block.seq] = last
            if block.source == "user":
                self.users |= {block.seq}

    def known(self, seqs: Iterable[int]) -> tuple[int, ...]:
        """Return the seqs that are among these records."""
        return tuple(seq for seq in dict.fromkeys(seqs) if seq in self._step)

    def steps(self, seqs: Iterable[int]) -> tuple[int, ...]:
        """Return the steps that these records belong to."""
        return tuple(dict.fromkeys(self._step[seq] for seq in self.known(seqs)))


def apply(delta: Delta, former: Snapshot | None, sources: Sources) -> tuple[Snapshot, tuple[Struck, ...]]:
    """Return the former snapshot with the proven items of a delta, and the sentences without proof.

    An item of the former snapshot is removed only if the delta cites a record. The user's own words are removed only if
    that record is the user's.
    """
    result = Sifted()
    gone = _obsolete(delta, former or Snapshot(), sources)
    written: dict[Section, list[str]] = {section: [] for section in SECTIONS}
    for item in delta.items:
        if text := _proved(item, sources, result):
            written[item.section].append(text)
    before = former or Snapshot()
    steps = [step for step in before.plan if uncited(step) not in gone]
    snapshot = Snapshot(
        goal=uncited(written["goal"][-1]) if written["goal"] else "",
        knowledge=tuple(written["knowledge"]),
        files=tuple(f"READ: {line}" for line in written["file"]),
        actions=(*(line for line in _reports(before) if uncited(line) not in gone), *written["action"]),
        plan=(*(step for step in steps if not any(same_step(step, new) for new in written["plan"])), *written["plan"]),
        obsolete=tuple(gone),
        unverified=tuple(dict.fromkeys(result.doubtful)),
    )
    return snapshot, tuple(result.struck)


def worthwhile(snapshot: Snapshot, ledger: Ledger, loss: LossSettings) -> Snapshot:
    """Return the snapshot with only the ledger lines that are worth their tokens, and with names.

    The summary's own items stay, as do files, rules, plan and the newest tests; `recall` finds the rest.
    """
    if not loss.enabled:
        return snapshot
    now = max(snapshot.covers[1], ledger.through)
    kept = tuple(item for item in snapshot.actions if _stays(item, now, loss))
    gone = len(snapshot.actions) - len(kept)
    shorter = replace(snapshot, actions=(LEFT_OUT.format(gone), *kept) if gone else kept)
    return replace(shorter, names=tuple(_names(ledger, render(shorter), now, loss))[::-1])


def _obsolete(delta: Delta, former: Snapshot, sources: Sources) -> tuple[str, ...]:
    ids = _ids(former)
    gone = []
    for number, seqs in (delta.obsolete or {}).items():
        text = ids.get(number, "")
        proof = sources.known(seqs)
        if text.startswith("The user said ("):
            proof = tuple(seq for seq in proof if seq in sources.users)
        if text and proof:
            gone.append(text)
    return tuple(gone)


def _proved(item: Item, sources: Sources, result: Sifted) -> str:
    """Return an item with the records that prove it, without its unproven sentences."""
    if item.section == "goal":
        return verified_goal(item.text, sources.whole, result)
    seqs, steps = list(sources.known(item.seqs)), sources.steps(item.seqs)
    kept = []
    for sentence in sentences(item.text):
        found = judged(sentence, sources.whole, step=item.section == "plan", cited=steps)
        result.note(sentence, found)
        kept += [found.text] if found.text else []
        seqs += sources.known([found.seq])
    return cite(" ".join(dict.fromkeys(kept)), seqs) if kept else ""


def _ids(former: Snapshot) -> dict[str, str]:
    sections: tuple[tuple[str, Sequence[str]], ...] = (
        ("K", former.knowledge),
        ("A", tuple(_reports(former))),
        ("P", former.plan),
        ("D", tuple(said.text for said in former.decisions)),
    )
    return {f"{letter}{n}": uncited(text) for letter, texts in sections for n, text in enumerate(texts, 1)}


def _reports(former: Snapshot) -> Iterator[str]:
    """Yield the actions reported by a summary, not by the ledger."""
    return (line for line in former.actions if not is_ledger_line(line))


def _seqs(text: str | None) -> tuple[int, ...]:
    found: list[int] = []
    for match in _RANGE.finditer(text or ""):
        first, last = int(match[1]), int(match[2] or match[1])
        found += range(first, min(last, first + _WIDEST) + 1)
    return tuple(dict.fromkeys(found))


def _stays(item: str, now: int, loss: LossSettings) -> bool:
    seq = last_cited(item)
    if not seq or is_test_line(item) or not is_ledger_line(item):
        return True
    chance = loss.report_chance if is_report(item) else loss.lookup_chance if is_lookup(item) else loss.command_chance
    return is_worth(len(uncited(item)), faded(chance, now - seq, loss), loss)


def _names(ledger: Ledger, shown: str, now: int, loss: LossSettings) -> Iterator[str]:
    """Yield names that the snapshot does not show, newest first, while they are worth their tokens and fit."""
    room = loss.names_tokens / loss.token_rate if loss.token_rate else 0.0
    for name in reversed(ledger.names):
        length = len(name.text) + 2
        room -= length
        if room < 0:
            return
        if name.text in shown:
            room += length
        elif is_worth(length, faded(loss.name_chance, now - name.last, loss), loss):
            yield name.text
