"""The index of a session's texts leaves out no record that matches, whatever became of its files."""

from __future__ import annotations

import contextlib
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Timer

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.core.journal import Journal
from agentcli.core.message import Message, Text, ToolCall, ToolResult
from agentcli.core.record import Compaction, Record, Retry
from agentcli.core.text.passage import Entry, Mark, OutOfTime, passages
from agentcli.sessions.imported import Imported
from agentcli.sessions.in_memory import MemorySession
from agentcli.sessions.session import Session
from agentcli.sessions.storage.recall_index import LARGEST, SEGMENT, RecallIndex, shared_segments
from agentcli.sessions.store import Store
from agentcli.tools.lib.literals import literals
from tests.sessions.disks import Failing, Hasty
from tests.sessions.imported import store_imported
from tests.tables import each_row

COUNT = 2 * SEGMENT + 3
WORDS = ["needle", "port 8443", "Straße", "STRASSE", "İstanbul", "日本語のテスト", "x = 1", "\ud800half", "a" * 300]


def body(n: int) -> Message | ToolResult | Compaction | Retry:
    word = f"{WORDS[n % len(WORDS)]} number{n}"
    match n % 5:
        case 0:
            return Message("user", (Text(word),), n // 5 + 1)
        case 1:
            return Message(
                "assistant", (Text("Let me see."), ToolCall(f"c{n}", "write", {"content": word})), n // 5 + 1
            )
        case 2:
            return ToolResult(f"c{n - 1}", "write", "success", f"{word}\nWrote it.")
        case 3:
            return Compaction("auto", "compressed", "auto", snapshot=f"- {word}", kept_from=1)
        case _:
            return Retry(1, 0.5, word)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "sessions", disk=Hasty())


@pytest.fixture
def session(store: Store, tmp_path: Path) -> Iterator[Session]:
    """A session of two full segments and some records, the newest of them appended."""
    records = tuple(("2026-01-01T00:00:00Z", body(n)) for n in range(2 * SEGMENT - 2))
    imported = Imported("agentcli", "A session", str(tmp_path), "demo/demo", "2026-01-01T00:00:00Z", records)
    info = store_imported(store.root, imported, tmp_path, disk=Hasty())
    made = store.open(info.project_id, info.id)
    for n in range(2 * SEGMENT - 2, COUNT):
        made.append(body(n))
    numbers(made, "needle")
    yield made
    made.close()


def numbers(journal: Journal, pattern: str, call_id: str = "", newest: int | None = None) -> list[int]:
    return [entry.record.seq for entry in journal.candidates(literals(re.compile(pattern)), call_id, newest)]


def holding(journal: Journal, pattern: str) -> list[int]:
    """The records that hold it, found by looking at all of them."""
    found = [
        record.seq
        for record in journal.records(newest_first=True)
        if any(re.search(pattern, passage.text) for passage in passages(Entry(record, 0), journal.output))
    ]
    return list(dict.fromkeys(found))


def files(session: Session) -> list[Path]:
    assert session.folder
    return sorted((session.folder / "recall").glob("*"))


def test_few_records_are_read_and_none_that_matches_is_left_out(session: Session) -> None:
    for pattern in ("number401$", "(?i)STRASSE number", "port 8443 number1\\d", "日本語|number7$", "(?i)istanbul"):
        found, sure = numbers(session, pattern), holding(session, pattern)
        assert set(sure) <= set(found)
        assert found == sorted(found, reverse=True)
    assert len(numbers(session, "number401")) < COUNT / 5


@pytest.mark.full
def test_marks_tell_which_terms_a_record_may_hold_and_leave_out_records_without_texts(session: Session) -> None:
    marks = list(session.marks(["Number401", "NEEDLE", "nothing of the kind"]))
    assert [mark.seq for mark in marks] == sorted({mark.seq for mark in marks}, reverse=True)
    assert len(marks) == COUNT - COUNT // 5
    for bit, pattern in enumerate(("(?i)number401", "(?i)needle")):
        assert set(holding(session, pattern)) <= {mark.seq for mark in marks if mark.held >> bit & 1}
    assert sum(mark.held & 1 for mark in marks) < COUNT / 5
    assert not [mark for mark in marks if mark.held >> 2]
    assert next(session.marks(["x"], newest=402)).seq == 402


@pytest.mark.full
def test_marks_are_the_same_in_memory(session: Session) -> None:
    kept = MemorySession()
    for record in session.records():
        kept.append(record.body)
    wanted = ["number7", "port 8443"]
    sure = {mark.seq: mark.held for mark in kept.marks(wanted)}
    for mark in session.marks(wanted):
        assert sure[mark.seq] & ~mark.held == 0


def test_a_call_is_found_by_its_id_with_input_and_output(session: Session) -> None:
    assert numbers(session, "", "c401") == [403, 402]
    assert numbers(session, "", "c9999") == []


def test_entries_know_their_turn(session: Session) -> None:
    turns = {entry.record.seq: entry.turn for entry in session.candidates()}
    assert turns[402] == turns[403] == turns[404] == 401 // 5 + 1


def test_only_records_up_to_a_number_are_looked_at(session: Session) -> None:
    assert numbers(session, "", newest=403)[0] == 403
    assert numbers(session, "")[0] == session.info.records - 1  # the newest says nothing


@pytest.mark.full
def test_a_full_segment_is_on_disk_and_the_rest_is_not(session: Session) -> None:
    assert [path.name for path in files(session)] == ["000001.rows", "000002.rows"]


@pytest.mark.full
def test_a_session_opened_again_finds_the_same(session: Session, store: Store) -> None:
    before = numbers(session, "number4")
    session.close()
    again = store.open(session.info.project_id, session.id)
    assert numbers(again, "number4") == before
    again.append(body(1_230))
    assert {*holding(again, "number1230"), session.info.records + 1} <= {*numbers(again, "number1230")}
    again.close()


@pytest.mark.full
@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "changed"])
def test_a_lost_or_damaged_file_is_made_again(session: Session, damage: str) -> None:
    before = numbers(session, "number12$")
    path = files(session)[0]
    data = path.read_bytes()
    match damage:
        case "gone":
            path.unlink()
        case "empty":
            path.write_bytes(b"")
        case "cut":
            path.write_bytes(data[: len(data) // 2])
        case _:
            path.write_bytes(data[:50] + b"\xff\xff" + data[52:])
    assert numbers(session, "number12$") == before
    assert path.read_bytes() == data


def test_a_session_from_before_there_was_an_index_is_searched_read_only_too(session: Session, store: Store) -> None:
    for path in files(session):
        path.unlink()
    session.close()
    seen = store.open(session.info.project_id, session.id, read_only=True)
    assert list(seen.index()) == [0.5, 1.0]
    assert list(seen.index()) == []
    assert set(holding(seen, "number77$")) <= set(numbers(seen, "number77$"))
    assert not files(session)


@pytest.mark.full
def test_a_fork_finds_what_it_inherited_and_nothing_that_came_after(session: Session, store: Store) -> None:
    info = store.fork(session.info, 300)
    fork = store.open(info.project_id, info.id)
    assert len(files(fork)) == 1
    assert set(holding(fork, "number12$")) <= set(numbers(fork, "number12$")) <= set(range(301))
    assert numbers(fork, "", "c401") == []
    fork.append(body(2_220))
    assert max(numbers(fork, "number2220")) >= 301
    assert set(holding(session, "number501")) <= set(numbers(session, "number501"))
    fork.close()


@pytest.mark.full
def test_missing_parts_of_an_index_are_made_one_at_a_time(session: Session) -> None:
    folder = files(session)[0].parent
    assert list(session.index()) == []
    for file in files(session):
        file.unlink()
    making = session.index()
    assert next(making) == 0.5
    assert len(list(folder.glob("*.rows"))) == 1
    assert list(making) == [1.0]
    assert list(session.index()) == []


@pytest.mark.full
def test_a_search_without_hits_stops_in_time_and_says_where(session: Session) -> None:
    """It always looks at the newest segment first, so that going on from there comes to an end."""
    newest = None
    for rest in (2 * SEGMENT, SEGMENT):
        with pytest.raises(OutOfTime) as left:
            list(session.candidates([["nothing of the kind"]], newest=newest, until=-1.0))
        newest = left.value.seq
        assert newest == rest
    assert list(session.candidates([["nothing of the kind"]], newest=newest, until=-1.0)) == []


@pytest.mark.full
def test_a_lost_record_is_passed_over(session: Session) -> None:
    assert session.folder
    for path in files(session):
        path.unlink()
    next((session.folder / "records").glob("000402-*")).unlink()
    assert numbers(session, "", "c401") == [403]


@each_row("call", ["create", "write", "rename", "mkdir"])
def test_a_disk_that_refuses_the_index_costs_nothing(tmp_path: Path, call: str) -> None:
    disk = Failing(call, 28, 1, forever=True)
    kept: dict[int, Record] = {}
    index = RecallIndex(tmp_path / "recall", disk, lambda _: "")
    for seq in range(1, SEGMENT + 10):
        kept[seq] = Record(seq, "", "", "", body(seq - 1))
    index.make_segment(1, kept.get)
    assert (13, 3) in [*index.candidates(SEGMENT + 9, kept.get, [["number12"]])]


def test_a_huge_text_may_hold_anything(tmp_path: Path) -> None:
    index = RecallIndex(tmp_path / "recall", Hasty(), lambda _: "")
    record = Record(1, "", "", "", Message("user", (Text("x" * (LARGEST + 1)),), 1))
    assert [*index.candidates(1, lambda _: record, [["needle"]])] == [(1, 1)]


def test_texts_are_not_looked_at_before_something_is_searched_or_a_segment_is_full(tmp_path: Path) -> None:
    looked_at: list[str] = []

    def whole(path: str) -> str:
        looked_at.append(path)
        return "a needle"

    records = {
        seq: Record(seq, "", "", "", ToolResult(f"c{seq}", "bash", "success", "", output_file=f"{seq}"))
        for seq in range(1, SEGMENT + 1)
    }
    index = RecallIndex(tmp_path / "recall", Hasty(), whole)
    assert [seq for seq, _ in index.candidates(9, records.get, [["needle"]])] == [*range(9, 0, -1)]
    assert len(looked_at) == 9
    index.make_segment(1, records.get)
    index.settle()
    assert len(looked_at) == len(set(looked_at)) == SEGMENT


def test_whoever_writes_the_last_record_of_a_segment_does_not_wait_for_its_file(tmp_path: Path) -> None:
    asked, records = Event(), {seq: Record(seq, "", "", "", body(seq)) for seq in range(1, SEGMENT + 1)}

    def load(seq: int) -> Record | None:
        assert asked.wait(60)
        return records[seq]

    index = RecallIndex(tmp_path / "recall", Hasty(), lambda _: "")
    index.make_segment(1, load)
    assert not (tmp_path / "recall").exists()
    asked.set()
    index.settle()
    assert [path.name for path in (tmp_path / "recall").iterdir()] == ["000001.rows"]


def test_a_session_is_closed_with_the_files_of_all_full_segments(store: Store, tmp_path: Path) -> None:
    with contextlib.closing(store.create(tmp_path)) as session:
        for n in range(SEGMENT):
            session.append(body(n))
    assert [path.name for path in files(session)] == ["000001.rows"]


def test_a_segment_whose_records_could_not_be_read_is_made_by_the_next_search(tmp_path: Path) -> None:
    records = {seq: Record(seq, "", "", "", body(seq)) for seq in range(1, SEGMENT + 1)}

    def out_of_files(seq: int) -> Record | None:
        raise OSError(24, "Too many open files")

    index = RecallIndex(tmp_path / "recall", Hasty(), lambda _: "")
    index.make_segment(1, out_of_files)
    assert 13 in [seq for seq, _ in index.candidates(SEGMENT, records.get, [["number13"]])]
    assert [path.name for path in (tmp_path / "recall").iterdir()] == ["000001.rows"]


def test_a_kept_output_is_searched_whole(tmp_path: Path, store: Store) -> None:
    for journal in (store.create(tmp_path), MemorySession()):
        journal.append(Message("user", (Text("Go."),), 1))
        path = journal.keep_output("c1", "start\n" + "filler\n" * 500 + "the needle is here\n")
        journal.append(ToolResult("c1", "bash", "success", "start\n[cut]", truncated=True, output_file=path))
        assert numbers(journal, "needle is")[0] == 2
        journal.close()


@pytest.mark.full
@settings(max_examples=60)
@given(st.lists(st.text(st.sampled_from("abcßİıſKé日\n \ud800"), max_size=12), min_size=1, max_size=6), st.data())
def test_any_piece_of_any_text_is_found_whatever_its_case(texts: list[str], data: st.DataObject) -> None:
    chosen = data.draw(st.sampled_from(texts))
    start = data.draw(st.integers(0, len(chosen)))
    piece = chosen[start : data.draw(st.integers(start, len(chosen)))].split("\n")[0]
    records = {n: Record(n, "", "", "", Message("user", (Text(text),), 1)) for n, text in enumerate(texts, 1)}
    index = RecallIndex(Path("/nonexistent/recall"), Hasty(), lambda _: "")
    regex = re.compile(f"(?i){re.escape(piece)}")
    found = {seq for seq, _ in index.candidates(len(texts), records.get, literals(regex), save=False)}
    assert {n for n, text in enumerate(texts, 1) if text.strip() and regex.search(text)} <= found


SPOKEN = {
    1: Message("user", (Text("abcabd"),), 7),
    2: Message("assistant", (ToolCall("c1", "read", {}), ToolCall("c2", "read", {})), 8),
    3: ToolResult("c1", "read", "success", "xyz"),
    4: Retry(1, 0.5, "busy"),
    6: Message("user", (Text("x" * (LARGEST + 1)),), 9),
    7: Message("user", (Text("x" * LARGEST),), 9),
}


def spoken(seq: int) -> Record | None:
    """A record; the fifth and those behind the seventh are lost."""
    return Record(seq, "", "", "", SPOKEN[seq]) if seq in SPOKEN else None


@pytest.fixture(scope="module")
def index_of_spoken() -> RecallIndex:
    """An index that is made once, since two of the texts are long."""
    return RecallIndex(Path("/nonexistent/recall"), Hasty(), lambda _: "")


def _of_pieces(text: str, pieces: int) -> str:
    """The beginning of a text, and ASCII letters, that have so many pieces of three bytes."""
    return text[: (pieces + 2) // 3] + "abc"[: (pieces + 2) % 3]


@pytest.mark.full
def test_a_file_has_the_form_that_all_versions_read(tmp_path: Path) -> None:
    index = RecallIndex(tmp_path / "recall", Hasty(), lambda _: "")
    index.make_segment(1, spoken)
    index.settle()
    data = (tmp_path / "recall/000001.rows").read_bytes()
    assert data[:8] == b"arx1" + zlib.crc32(data[8:]).to_bytes(4, "little")
    rows = (
        "07000000 0000 0200 03000000 089080"  # turn, calls, kind 2: a filter of the pieces abc, bca, cab and abd
        "08000000 0200 0200 01000000 a12ad75e 1b7bdec7 00"  # CRCs of c1 and c2, and a text of no piece
        "08000000 0100 0200 01000000 a12ad75e 20"  # the piece xyz
        "08000000 0000 0100 00000000"  # kind 1: no text
        "08000000 0000 0100 00000000"  # lost
        "09000000 0000 0000 00000000"  # kind 0: too long for a filter
        "09000000 0000 0200 01000000 02"  # a million times x, one piece
    )
    assert data[8:].hex() == rows.replace(" ", "") + "090000000000010000000000" * (SEGMENT - len(SPOKEN) - 1)
    assert (len(index._rows), SEGMENT) == (0, 256)


def test_marks_tell_the_size_of_the_texts_by_their_different_pieces(tmp_path: Path) -> None:
    index = RecallIndex(tmp_path / "recall", Hasty(), lambda _: "")
    marks = list(index.marks(7, spoken, ["abc", "xyz", "xxx"]))
    assert marks == [
        Mark(7, 9, 0b100, 2),
        Mark(6, 9, 0b111, 1_000_000),
        Mark(3, 8, 0b010, 2),
        Mark(2, 8, 0, 2),
        Mark(1, 7, 0b011, 6),  # a filter may err on this side
    ]


@each_row(("pieces", "size"), [(1, 2), (29, 30), (30, 32), (31, 32), (33, 36), (62, 64), (256, 288)])
def test_sizes_are_rounded_up_so_that_there_are_few_of_them(tmp_path: Path, pieces: int, size: int) -> None:
    text = "".join(
        chr(0x4E00 + n) for n in range(400)
    )  # each letter is three bytes, and so three pieces but for the ends
    record = Record(1, "", "", "", Message("user", (Text(_of_pieces(text, pieces)),), 1))
    index = RecallIndex(tmp_path / "recall", Hasty(), lambda _: "")
    assert [mark.size for mark in index.marks(1, lambda _: record, ["x"])] == [size]


def test_a_segment_that_is_not_full_stays_in_memory(tmp_path: Path) -> None:
    index = RecallIndex(tmp_path / "recall", Hasty(), lambda _: "")
    assert list(index.fill(SEGMENT - 1, spoken)) == []
    assert [seq for seq, _ in index.candidates(SEGMENT - 1, spoken, [])] == [7, 6, 3, 2, 1]
    assert not (tmp_path / "recall").exists()
    assert list(index.fill(SEGMENT, spoken)) == [1.0]
    assert list(index.fill(2 * SEGMENT, spoken, save=False)) == [1.0]
    assert list(index.fill(2 * SEGMENT, spoken, save=False)) == [], "its rows are in memory"
    assert [path.name for path in (tmp_path / "recall").iterdir()] == ["000001.rows"]


def test_a_fork_shares_only_segments_whose_records_it_has_all(tmp_path: Path) -> None:
    for segment in (1, 3):
        (tmp_path / f"{segment:06d}.rows").touch()
    names = {seq: [path.name for path in shared_segments(tmp_path, seq)] for seq in (0, 255, 256, 767, 768, 900)}
    first, third = "000001.rows", "000003.rows"
    assert names == {0: [], 255: [], 256: [first], 767: [first], 768: [first, third], 900: [first, third]}


def test_the_turn_of_a_segment_goes_on_from_the_message_before_it(tmp_path: Path) -> None:
    records = {seq: Record(seq, "", "", "", ToolResult("c", "read", "success", "xyz")) for seq in range(1, SEGMENT + 3)}
    records[2] = Record(2, "", "", "", Message("user", (Text("go"),), 5))
    index = RecallIndex(tmp_path / "recall", Hasty(), lambda _: "")
    turns = dict(index.candidates(SEGMENT + 2, records.get, [["xyz"]]))
    assert (turns[1], turns[3], turns[SEGMENT + 1], turns[SEGMENT + 2]) == (0, 5, 5, 5)


def results(count: int, **others: Message | ToolResult) -> dict[int, Record]:
    """Records of results, except the ones named by `_` and their number."""
    plain = ToolResult("c", "read", "success", "xyz")
    return {seq: Record(seq, "", "", "", others.get(f"_{seq}", plain)) for seq in range(1, count + 1)}


def prompt(turn: int) -> Message:
    return Message("user", (Text("going"),), turn)


@each_row(
    ("messages", "turns"),
    [
        ({"_1": prompt(5), "_258": prompt(9)}, {1: 5, 2: 5, 256: 5, 257: 5, 258: 9, 259: 9}),
        ({"_256": prompt(5)}, {255: 0, 256: 5, 257: 5, 259: 5}),
        ({"_257": prompt(5)}, {1: 0, 256: 0, 257: 5, 259: 5}),
        ({}, {1: 0, 256: 0, 257: 0, 259: 0}),
    ],
)
def test_a_record_has_the_turn_of_the_message_before_it(
    tmp_path: Path, messages: dict[str, Message], turns: dict[int, int]
) -> None:
    records = results(SEGMENT + 3, **messages)
    for save in (True, False):
        index = RecallIndex(tmp_path / "recall", Hasty(), lambda _: "")
        found = {mark.seq: mark.turn for mark in index.marks(SEGMENT + 3, records.get, ["xyz"], save=save)}
        assert {seq: found[seq] for seq in turns} == turns
        again = dict(index.candidates(SEGMENT + 3, records.get, [], save=save))
        assert {seq: again[seq] for seq in turns} == turns, "from the rows that are there now"


@pytest.mark.parametrize("save", [True, False])
def test_a_search_writes_the_segments_that_it_makes_if_it_may(tmp_path: Path, save: bool) -> None:
    records = results(2 * SEGMENT)
    for number, search in enumerate(("candidates", "marks", "fill")):
        folder = tmp_path / str(number)
        index = RecallIndex(folder, Hasty(), lambda _: "")
        made = {"candidates": index.candidates, "marks": index.marks}.get(search)
        list(
            made(2 * SEGMENT, records.get, ["xyz"], save=save)
            if made
            else index.fill(2 * SEGMENT, records.get, save=save)
        )
        assert sorted(path.name for path in folder.glob("*")) == (["000001.rows", "000002.rows"] if save else [])
        assert len(index._rows) == (0 if save else 2 * SEGMENT)


def test_the_rows_of_a_file_are_those_that_were_made_for_it(tmp_path: Path) -> None:
    """The last row has no filter, and a search reads the file up to the newest record only."""
    long = Message("user", (Text("x" * (LARGEST + 1)),), 3)
    records = results(SEGMENT, _1=prompt(1), _200=prompt(2), _256=long)
    made = RecallIndex(tmp_path / "recall", Hasty(), lambda _: "")
    before = list(made.marks(SEGMENT, records.get, ["xyz", "going"]))
    assert [mark.seq for mark in before] == [*range(SEGMENT, 0, -1)]
    read = RecallIndex(tmp_path / "recall", Hasty(), lambda _: "")
    assert list(read.marks(SEGMENT, lambda _: None, ["xyz", "going"])) == before
    assert list(read.marks(200, lambda _: None, ["xyz", "going"])) == before[SEGMENT - 200 :]
    assert list(read.candidates(200, lambda _: None, [["going"]])) == [(200, 2), (1, 1)]
    assert list(read.candidates(1, lambda _: None, [])) == [(1, 1)]
    assert list(read.candidates(0, lambda _: None, [])) == []


@pytest.mark.parametrize(
    ("needles", "call_id", "found"),
    [
        ([["abc"]], "", [6, 1]),
        ([["abc", "abd"]], "", [6, 1]),
        ([["abc", "xxx"]], "", [6]),
        ([["xxx"], ["abd"]], "", [7, 6, 1]),
        ([["ab"]], "", [7, 6, 3, 2, 1]),
        ([], "c1", [3, 2]),
        ([["xyz"]], "c1", [3]),
        ([], "c2", [2]),
        ([], "c3", []),
    ],
)
def test_a_record_that_lacks_a_piece_or_the_call_is_no_candidate(
    index_of_spoken: RecallIndex, needles: list[list[str]], call_id: str, found: list[int]
) -> None:
    assert [seq for seq, _ in index_of_spoken.candidates(7, spoken, needles, call_id)] == found


def test_segments_are_made_one_after_the_other(tmp_path: Path) -> None:
    """A record that fills the next segment, a search and a fill wait for the one that is being made."""
    records = results(2 * SEGMENT)
    for number, act in enumerate(("add", "fill", "candidates")):
        asked = Event()

        def load(seq: int, asked: Event = asked) -> Record | None:
            assert asked.wait(60)
            return records[seq]

        folder = tmp_path / str(number)
        index = RecallIndex(folder, Hasty(), lambda _: "")
        index.make_segment(1, load)
        Timer(0.02, asked.set).start()
        match act:
            case "add":
                index.make_segment(2, records.get)
            case "fill":
                assert list(index.fill(SEGMENT, records.get)) == [], "it was made before"
            case _:
                assert len(list(index.candidates(SEGMENT, lambda _: None, []))) == SEGMENT
        assert (folder / "000001.rows").exists()
        index.settle()
        assert len(list(folder.glob("*"))) == (2 if act == "add" else 1)


def test_an_index_is_printed_without_its_rows(tmp_path: Path) -> None:
    disk = Hasty()
    assert repr(RecallIndex(tmp_path, disk, str)) == f"RecallIndex(folder={tmp_path!r}, disk={disk!r}, whole={str!r})"
