"""Reading only the tail of a session gives what reading all of it gives."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentcli.core.history import History, NeedsReplay, evolve, fold
from agentcli.core.message import Message, ToolResult, Usage
from agentcli.core.record import (
    Body,
    Compaction,
    Failure,
    FeatureState,
    Pin,
    Prune,
    Record,
    Settings,
    Title,
    Todo,
    TodoItem,
    Undo,
    Unpin,
    VerbatimText,
)
from agentcli.core.subagent_result import spending
from agentcli.sessions.storage.records import Reader, RecordFolder, file_name, number_in, tail
from tests.counted import counted
from tests.sessions.bodies import reply, result, user


class Remembered(Reader):
    """Reads from memory, and remembers what was asked for."""

    def __init__(self, records: list[Record], tmp: RecordFolder) -> None:
        super().__init__(tmp)
        self.memory = {record.seq: record for record in records}
        self.asked: list[int] = []

    def read(self, seq: int, head: str = "") -> Record | None:
        self.asked.append(seq)
        return self.memory.get(seq)


@dataclass
class Life:
    """A session as an agent would live it, by the throw of dice."""

    dice: random.Random
    records: list[Record] = field(default_factory=list)
    history: History = field(default_factory=History)

    def say(self, body: Body) -> None:
        record = Record(len(self.records) + 1, f"id{len(self.records)}", "t", "", body)
        self.records.append(record)
        try:
            self.history = evolve(self.history, record)
        except NeedsReplay:
            self.history = fold(self.records)

    def step(self) -> None:
        self.dice.choice(
            [self.exchange, self.exchange, self.exchange, self.prune, self.pin, self.rename, self.compact, self.undo]
        )()

    def exchange(self) -> None:
        turn = self.history.turn + 1
        self.say(user(f"q{turn}", turn))
        calls = [f"call{len(self.records)}-{n}" for n in range(self.dice.randrange(3))]
        self.say(reply(f"a{turn}", *calls, turn=turn))
        for call in calls:
            self.say(result(call))

    def prune(self) -> None:
        calls = [entry.body.call_id for entry in self.history.entries if isinstance(entry.body, ToolResult)]
        fresh = [call for call in calls if call not in self.history.cleared]
        if fresh:
            self.say(Prune(tuple(self.dice.sample(fresh, self.dice.randrange(1, len(fresh) + 1))), 1, "test"))

    def pin(self) -> None:
        if self.history.pins and self.dice.random() < 0.4:
            self.say(Unpin(self.dice.choice(sorted(self.history.pins))))
        elif self.history.entries:
            self.say(Pin(self.dice.choice(self.history.entries).seq))

    def rename(self) -> None:
        state = FeatureState(self.dice.choice("ab"), {"n": len(self.records)}, usage=Usage(1, 2), cost=0.5)
        others = [Title("t", "n"), Todo((TodoItem("x"),)), Settings("m/x", "plan"), Failure("oh")]
        self.say(self.dice.choice([*others, state]))

    def compact(self) -> None:
        seqs = [entry.seq for entry in self.history.entries]
        if len(seqs) < 2:
            return
        # What an earlier compaction kept as a primer stays one: the part that stays as it is never grows backwards.
        primers = sum(seq < self.kept_from for seq in seqs)
        cut = self.dice.randrange(max(primers, 1), len(seqs) + 1)
        before, kept_from = seqs[:cut], seqs[cut] if cut < len(seqs) else self.history.last_seq + 1
        status = "compressed" if self.dice.random() < 0.8 else "failed_inflated"
        self.say(
            Compaction(
                "auto",
                status,
                "auto",
                (before[0], before[-1]),
                kept_from,
                "so far",
                pins=tuple(VerbatimText(seq, 0, "") for seq in sorted(self.history.pins)),
                kept=tuple(self.dice.sample(before, min(len(before), self.dice.randrange(3)))),
                carry=self.history.carry,
            )
        )

    @property
    def kept_from(self) -> int:
        newest = self.history.compaction
        return newest.body.kept_from if newest and isinstance(newest.body, Compaction) else 0

    def undo(self) -> None:
        newest = self.records[-1] if self.records else None
        if newest and isinstance(newest.body, Undo):
            self.say(Undo(newest.seq, "undo"))
        elif self.history.compaction and self.dice.random() < 0.4:
            self.say(Undo(self.history.compaction.seq, "compaction"))
        elif self.history.prunes and self.dice.random() < 0.4:
            self.say(Undo(self.history.prunes[-1].seq, "prune"))
        else:
            prompts = [r.seq for r in self.history.entries if isinstance(r.body, Message) and r.body.role == "user"]
            if prompts:
                self.say(Undo(self.dice.choice(prompts) - 1, "rewind"))


@pytest.mark.full
@settings(max_examples=150)
@example(seed=238, steps=25)  # two compactions stand between the newest one and what it kept
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 40))
def test_the_tail_folds_to_the_same_history_as_the_whole(seed: int, steps: int) -> None:
    life = Life(random.Random(seed))
    for _ in range(steps):
        life.step()
        whole = fold(life.records)
        assert life.history == whole
        reader = Remembered(life.records, RecordFolder.__new__(RecordFolder))
        assert fold(tail(reader, len(life.records))) == whole


def test_the_tail_asks_for_nothing_before_what_was_kept() -> None:
    life = Life(random.Random(1))
    for _ in range(50):
        life.exchange()
    life.say(Compaction("auto", "compressed", "auto", (1, 99), 100, "so far", kept=(2,), carry=life.history.carry))
    life.exchange()
    reader = Remembered(life.records, RecordFolder.__new__(RecordFolder))
    tail(reader, len(life.records))
    assert min(seq for seq in reader.asked if seq != 2) == 100


def test_a_fold_counts_what_subagents_spent_as_a_session_does_that_lives() -> None:
    spent = ToolResult("c1", "task", "success", "Done.", metadata=spending("m", Usage(5, 6), 0.5))
    bodies = (user("hi"), reply("x"), spent, user("more"), reply("y"))
    records = [Record(seq, "", "", "", body) for seq, body in enumerate(bodies, 1)]
    live = History()
    for record in records:
        live = evolve(live, record)
    folded = fold(records)
    assert (folded.usage, folded.cost, folded.turn) == (live.usage, live.cost, live.turn)
    assert folded.usage.input >= 5


def test_the_records_of_one_kind_are_found_without_reading_the_names_of_others(tmp_path: Path) -> None:
    for seq in range(1, 51):
        (tmp_path / file_name(seq, "compaction" if seq % 25 == 0 else "message")).touch()
    (tmp_path / "7-compaction.json").touch()
    with counted(number_in) as calls:
        assert RecordFolder(tmp_path).numbers("compaction") == [25, 50]
    assert calls[number_in] == 3
