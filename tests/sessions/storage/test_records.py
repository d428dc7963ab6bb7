"""Reading record files: whole whatever their size, and many of them from one open folder."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentcli.core.codec.encode import encode
from agentcli.core.history import History, NeedsReplay, evolve, fold
from agentcli.core.message import Message, Text, ToolResult, Usage
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
    Unknown,
    Unpin,
    VerbatimText,
)
from agentcli.core.subagent_result import spending
from agentcli.sessions.storage.records import (
    Reader,
    RecordFolder,
    digest,
    file_name,
    judge,
    number_in,
    read_file,
    tail,
)
from agentcli.sessions.store import Store
from tests.counted import counted
from tests.sessions.bodies import compaction, reply, result, user
from tests.tables import each_row

AT_ONCE = 1 << 16


@each_row("size", [0, 2, AT_ONCE - 2, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 5 * AT_ONCE])
@pytest.mark.parametrize("end", [b"}\n", b"xx"])
def test_a_file_of_any_size_is_read_whole(tmp_path: Path, size: int, end: bytes) -> None:
    data = b"}\n" * (size // 2) + end
    (tmp_path / "file").write_bytes(data)
    before = len(os.listdir("/dev/fd"))
    assert read_file(tmp_path / "file") == data
    assert len(os.listdir("/dev/fd")) == before


def test_a_record_that_fills_several_reads_comes_back(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    session = store.create(tmp_path)
    long = "line }\n" * AT_ONCE
    session.append(user(long))
    session.close()
    (entry,) = store.open(session.info.project_id, session.id, True).history.entries
    assert entry.body.parts == (Text(long),)


def test_a_session_that_is_moved_while_it_is_opened_is_read_to_the_end(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    session = store.create(tmp_path)
    session.append(user("first"))
    session.append(reply("second"))
    session.append(user("third"))
    session.close()

    def moved_after_the_first(records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            if record.seq == 3:
                session.folder.rename(tmp_path / "elsewhere")
            yield record

    opened = store.open(session.info.project_id, session.id, True, moved_after_the_first)
    assert [entry.seq for entry in opened.history.entries] == [1, 2, 3]
    assert not opened.notes


def test_a_folder_is_held_open_only_while_it_is_read(tmp_path: Path) -> None:
    folder = RecordFolder(tmp_path)
    before = len(os.listdir("/dev/fd"))
    with folder.held_open() as held:
        assert len(os.listdir("/dev/fd")) == before + 1
        assert held.read(1) is None
    assert len(os.listdir("/dev/fd")) == before
    with RecordFolder(tmp_path / "missing").held_open() as missing:
        assert missing.read(1) is None


def test_records_before_the_view_are_read_to_the_end_when_the_session_is_moved(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    session = store.create(tmp_path)
    for body in (user("first"), reply("second"), user("third"), compaction(1, 3)):
        session.append(body)
    session.close()
    records = store.open(session.info.project_id, session.id, True).records()
    first = next(records)
    session.folder.rename(tmp_path / "elsewhere")
    assert [first.seq, *(record.seq for record in records)] == [1, 2, 3, 4]


def test_a_record_that_the_system_does_not_give_out_is_reported_as_lost(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions")
    session = store.create(tmp_path)
    for text in ("first", "second", "third"):
        session.append(user(text))
    session.close()
    path = sorted((session.folder / "records").iterdir())[1]
    path.unlink()
    path.mkdir()
    opened = store.open(session.info.project_id, session.id, True)
    assert [entry.seq for entry in opened.history.entries] == [1, 3]
    assert any("can't read record 2" in note for note in opened.notes), opened.notes


@each_row(
    ("name", "number"),
    [
        ("000001-message.json", 1),
        ("1234567-message.json", 1_234_567),
        ("7-.json", 7),
        ("000001.json", None),
        ("000001-message.json.tmp", None),
        ("-message.json", None),
        ("+1-message.json", None),
        ("١-message.json", None),
        ("²-message.json", None),
        ("x-message.json", None),
        ("", None),
    ],
)
def test_only_the_name_of_a_record_file_has_a_number(name: str, number: int | None) -> None:
    assert number_in(name) == number


@each_row(
    ("seq", "kind", "name"),
    [
        (1, "message", "000001-message.json"),
        (1_234_567, "tool_result", "1234567-tool_result.json"),
        (2, "../a b", "000002-___a_b.json"),
        (3, "x" * 41, f"000003-{'x' * 40}.json"),
        (4, "é", "000004-é.json"),
    ],
)
def test_a_record_file_is_named_by_number_and_kind(seq: int, kind: str, name: str) -> None:
    assert file_name(seq, kind) == name


def filled(folder: Path, *bodies: Body) -> list[str]:
    """Write records with their chain, and return their hashes."""
    folder.mkdir()
    hashes = [""]
    for seq, body in enumerate(bodies, 1):
        record = Record(seq, f"r{seq}", "2026-01-01T00:00:00Z", hashes[-1], body)
        data = encode(record)
        (folder / file_name(seq, record.kind)).write_bytes(data)
        hashes.append(digest(data))
    return hashes[1:]


def test_records_are_found_by_number_whatever_their_kind(tmp_path: Path) -> None:
    filled(
        tmp_path / "r", user("a"), reply("b"), compaction(1, 2), Unknown("new kind", {"kind": "new kind"}), user("e")
    )
    (tmp_path / "r/notes.txt").write_text("x")
    folder = RecordFolder(tmp_path / "r")
    assert [folder.path(seq) for seq in (1, 3, 4, 6)] == [
        tmp_path / "r/000001-message.json",
        tmp_path / "r/000003-compaction.json",
        tmp_path / "r/000004-new_kind.json",
        None,
    ]
    assert [bool(folder.read(seq)) for seq in range(7)] == [False, True, True, True, True, True, False]
    with folder.held_open() as held:
        assert [held.read(seq) for seq in range(1, 6)] == [folder.read(seq) for seq in range(1, 6)]
    assert folder.numbers() == [1, 2, 3, 4, 5]
    assert [folder.numbers(kind) for kind in ("message", "compaction", "new kind", "undo")] == [[1, 2, 5], [3], [4], []]
    missing = RecordFolder(tmp_path / "missing")
    assert (missing.numbers(), missing.newest(3, 0), missing.mark(), missing.path(1)) == ([], 0, 0, None)


def test_the_newest_record_is_known_without_a_listing_while_the_folder_is_unchanged(tmp_path: Path) -> None:
    filled(tmp_path / "r", user("a"), reply("b"), user("c"))
    folder = RecordFolder(tmp_path / "r")
    mark = folder.mark()
    assert mark == (tmp_path / "r").stat().st_mtime_ns
    assert [folder.newest(hint, mark) for hint in (0, 1, 2, 3, 4)] == [3, 3, 3, 3, 3]
    (tmp_path / "r/000009-undo.json").write_text("{}")
    assert [folder.newest(3, given) for given in (mark, folder.mark())] == [9, 3], "the mark says that all is known"


def test_several_files_of_one_number_are_named_with_the_one_that_is_read_first(tmp_path: Path) -> None:
    filled(tmp_path / "r", user("a"), reply("b"))
    for name in ("000002-a.json", "000002-undo.json", "000003-z.json", "000003-y.json"):
        (tmp_path / "r" / name).write_text("{}")
    assert RecordFolder(tmp_path / "r").files() == {
        1: ["000001-message.json"],
        2: ["000002-message.json", "000002-a.json", "000002-undo.json"],
        3: ["000003-z.json", "000003-y.json"],
    }


def test_a_folder_with_a_record_s_name_is_told(tmp_path: Path) -> None:
    filled(tmp_path / "r", user("a"))
    (tmp_path / "r/000002-message.json").mkdir()
    (tmp_path / "r/000003-message.json").symlink_to("000001-message.json")
    (tmp_path / "r/000004-message.json").symlink_to("nowhere")
    found = [RecordFolder(tmp_path / "r").path_of_no_file(seq) for seq in range(6)]
    folder, link = tmp_path / "r/000002-message.json", tmp_path / "r/000004-message.json"
    assert found == [None, None, folder, None, link, None]


@each_row(
    ("data", "why"),
    [
        (b"", "record 1 is empty"),
        (b"\0\0 \n", "record 1 is empty"),
        (b"{", "record 1 is damaged"),
        (encode(Record(2, "r", "", "", user("x"))), "record 1 is foreign: it says it is record 2"),
    ],
)
def test_bytes_that_are_not_the_record_are_refused_with_the_reason(data: bytes, why: str) -> None:
    found = judge(1, data)
    assert isinstance(found, str)
    assert found.startswith(why)


def changed(folder: Path, seq: int) -> None:
    """Change the text of a record, which stays a record."""
    path = RecordFolder(folder).path(seq)
    assert path is not None
    path.write_bytes(path.read_bytes().replace(b'"text":"', b'"text":"not '))


@each_row(
    ("changes", "head", "read", "lost", "doubted"),
    [
        ((), True, [4, 3, 2, 1], [], []),
        ((), False, [4, 3, 2, 1], [], []),
        ((4,), True, [3, 2, 1], [4], []),
        ((4,), False, [4, 3, 2, 1], [], []),
        ((2,), True, [4, 3, 1], [2], []),
        ((2,), False, [4, 3, 1], [2], []),
        ((3,), False, [4, 3, 2, 1], [], [3]),
        ((3,), True, [4, 2, 1], [3], []),
        ((3, 2), True, [4, 2, 1], [3], []),
    ],
)
def test_a_changed_record_is_lost_if_a_proven_one_says_so(
    changes: tuple[int, ...], head: bool, read: list[int], lost: list[int], doubted: list[int], tmp_path: Path
) -> None:
    hashes = filled(tmp_path / "r", user("a"), reply("b"), user("c"), reply("d"))
    for seq in changes:
        changed(tmp_path / "r", seq)
    reader = Reader(RecordFolder(tmp_path / "r"), hashes[-1] if head else "")
    assert [record.seq for record in reader.down(4)] == read
    assert ([loss.seq for loss in reader.losses], [loss.seq for loss in reader.doubts]) == (lost, doubted)
    assert all(loss.file == RecordFolder(tmp_path / "r").path(loss.seq) for loss in reader.losses)
    assert {loss.cause for loss in reader.losses} <= {"damaged"}
    for loss in reader.losses if len(lost) == 1 and head else ():
        rest = f"(its SHA-256 differs from what record {loss.seq + 1} says)"
        assert loss.why == f"record {loss.seq} differs from what was written {rest}"
    for loss in reader.doubts:
        assert loss.why == f"record {loss.seq} or record {loss.seq + 1} was changed: their chain is broken"


def test_losses_tell_their_cause(tmp_path: Path) -> None:
    filled(tmp_path / "r", *map(user, "abcd"))
    folder = RecordFolder(tmp_path / "r")
    (tmp_path / "r/000001-message.json").unlink()
    (tmp_path / "r/000002-message.json").unlink()
    (tmp_path / "r/000002-message.json").mkdir()
    (tmp_path / "r/000003-message.json").write_bytes(b"")
    reader = Reader(folder)
    assert [record.seq for record in reader.down(4)] == [4]
    assert [(loss.seq, loss.why, loss.file and loss.file.name, loss.cause) for loss in reader.losses] == [
        (3, "record 3 is empty", "000003-message.json", "damaged"),
        (2, "can't read record 2: Is a directory", "000002-message.json", "damaged"),
        (1, "record 1 is missing", None, "missing"),
    ]


@each_row(
    ("bodies", "seqs"),
    [
        ([], []),
        ([user("a"), reply("b")], [1, 2]),
        ([user("a"), Compaction("auto", "compressed", "auto", kept_from=3), user("c")], [2, 3]),
        ([user("a"), user("b"), Compaction("auto", "compressed", "auto", kept_from=2), user("c")], [2, 3, 4]),
        ([user("a"), user("b"), Compaction("auto", "noop", "auto", kept_from=2), user("c")], [1, 2, 3, 4]),
        (
            [user("a"), user("b"), Compaction("auto", "compressed", "auto", kept_from=3, kept=(1,)), user("c")],
            [1, 3, 4],
        ),
        (
            [*map(user, "abcde"), Compaction("auto", "compressed", "auto", kept_from=5, kept=(2, 4, 5)), user("g")],
            [2, 4, 5, 6, 7],
        ),
        (
            [*map(user, "abcd"), Compaction("auto", "compressed", "auto", kept_from=4, kept=(3, 1)), Undo(1, "rewind")],
            [1, 6],
        ),
        ([user("a"), Compaction("auto", "compressed", "auto", kept_from=2), Undo(2), user("c")], [1, 3, 4]),
        ([user("a"), user("b"), Undo(1, "rewind"), user("c")], [1, 3, 4]),
        (
            [
                user("a"),
                Compaction("auto", "compressed", "auto", kept_from=1),
                Compaction("auto", "compressed", "auto", kept_from=2),
            ],
            [2, 3],
        ),
    ],
)
def test_a_tail_is_what_the_newest_compaction_left(bodies: list[Body], seqs: list[int], tmp_path: Path) -> None:
    filled(tmp_path / "r", *bodies)
    reader = Reader(RecordFolder(tmp_path / "r"))
    assert [record.seq for record in tail(reader, len(bodies))] == seqs
    assert not reader.losses


def test_a_folder_of_records_is_printed_by_its_path(tmp_path: Path) -> None:
    folder = RecordFolder(tmp_path)
    assert folder.read(1) is None
    assert repr(folder) == f"RecordFolder(folder={tmp_path!r})"


# Reading only the tail of a session gives what reading all of it gives.


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
