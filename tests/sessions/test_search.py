"""Sessions are found by the words in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.core.errors import InputError
from agentcli.core.message import File, Message, Text, ToolCall, ToolResult
from agentcli.core.record import Body, Compaction, Title, Todo, TodoItem
from agentcli.extras.importers.sessions import Imported
from agentcli.sessions.search import Hit, search
from tests.sessions.imported import store_imported


def prompt(text: str) -> Message:
    return Message("user", (Text(text),), turn=1)


def keep(root: Path, *bodies: Body, day: int = 1) -> str:
    timed = tuple((f"2026-01-{day:02}T00:00:00.000Z", body) for body in bodies)
    return store_imported(root, Imported("pi", "", "", "", timed[0][0], timed), root.parent).id


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (prompt("where is the needle?"), "user"),
        (Message("assistant", (Text("The Needle is here."),)), "assistant"),
        (Message("assistant", (ToolCall("c", "bash", {"command": "grep -r needle src"}),)), "tool"),
        (Message("assistant", (ToolCall("c", "edit", {"file_path": "src/needle.py", "edits": [1]}),)), "tool"),
        (ToolResult("c", "bash", "success", "x\nsrc/a.py: NEEDLE = 1\ny"), "tool"),
        (ToolResult("c", "read", "success", "", metadata={"path": "/a/needle.txt"}), "file"),
        (Message("user", (File("text/plain", "docs/needle.md"), Text("read it"))), "file"),
        (Compaction("auto", "compressed", "auto", snapshot="knows the needle"), "summary"),
        (Title("about a needle"), "title"),
        (Todo((TodoItem("find the needle"),)), "todo"),
    ],
)
def test_words_are_found_wherever_they_stand(root: Path, body: Body, where: str):
    keep(root, prompt("hay"))
    expected = keep(root, prompt("hay"), body)
    (found,) = search(root, "needle")
    assert (found.info.id, found.total) == (expected, 1)
    (hit,) = found.hits
    assert (hit.where, hit.seq) == (where, 2)
    assert [hit.text[start:end].casefold() for start, end in hit.marks] == ["needle"]


def test_all_words_must_be_in_the_session_though_not_in_one_place(root: Path):
    both = keep(root, prompt("the red one"), prompt("the blue one"))
    keep(root, prompt("only red"))
    assert [found.info.id for found in search(root, "blue RED")] == [both]
    assert search(root, "blue green") == []


def test_names_of_fields_are_no_words(root: Path):
    keep(root, prompt("hello"))
    assert search(root, "synthetic") == []
    assert search(root, "role") == []
    assert search(root, "kind message") == []


def test_the_session_written_last_comes_first_and_projects_can_be_chosen(root: Path):
    old, new = keep(root, prompt("tree"), day=1), keep(root, prompt("tree"), day=2)
    assert [found.info.id for found in search(root, "tree")] == [new, old]
    project = search(root, "tree")[0].info.project_id
    assert len(search(root, "tree", [project])) == 2
    assert [found.info.id for found in search(root, "tree", limit=1)] == [new]
    assert search(root, "tree", ["0000"]) == []


def test_every_record_that_is_read_passes_the_callback(root: Path):
    keep(root, prompt("red"), prompt("green"))
    keep(root, prompt("red"), prompt("red too"), prompt("blue"))
    passed: list[str] = []

    def through(files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
        for name, data in files:
            passed.append(name)
            yield name, data

    assert len(search(root, "red", through=through)) == 2
    assert len(passed) == 5 + 3, "each once, and those with the word once more"


def test_places_with_more_of_the_words_are_shown_first(root: Path):
    keep(root, *(prompt(f"apple number {n}") for n in range(9)), prompt("apple and pear together"))
    (found,) = search(root, "apple pear", hits=1)
    assert (found.hits[0].seq, found.total) == (10, 10)


def test_a_long_line_is_cut_around_the_word(root: Path):
    keep(root, prompt("x" * 5000 + " needle " + "y" * 5000))
    (hit,) = search(root, "needle")[0].hits
    assert len(hit.text) < 200
    assert hit.marked("[", "]").count("[needle]") == 1
    assert hit.text.startswith("…")


def test_what_is_printed_holds_no_control_characters(root: Path):
    keep(root, prompt("a \x1b[31mneedle\x07 \u202e b"))
    (hit,) = search(root, "needle")[0].hits
    assert hit.text.isprintable()


def test_a_damaged_record_hides_no_other(root: Path):
    key = keep(root, prompt("needle one"), prompt("needle two"))
    folder = next(root.glob(f"*/{key}/records"))
    (folder / "000001-message.json").write_bytes(b"\0" * 50)
    assert [hit.seq for hit in search(root, "needle")[0].hits] == [2]


def test_no_words_is_an_error(root: Path):
    with pytest.raises(InputError):
        search(root, "  ")


def test_the_json_says_where_the_words_stand(root: Path):
    keep(root, prompt("a needle"))
    raw = search(root, ["needle"])[0].to_json()
    assert raw["hits"] == [
        {"seq": 1, "time": "2026-01-01T00:00:00.000Z", "where": "user", "text": "a needle", "marks": ((2, 8),)}
    ]


@pytest.mark.full
@settings(max_examples=80)
@given(
    st.text(max_size=12),
    st.text(max_size=12),
    st.text(min_size=1, max_size=6).filter(lambda word: len(word.split()) == 1 and word == word.strip()),
)
def test_whatever_the_word_it_is_found(tmp_path_factory: pytest.TempPathFactory, before: str, after: str, word: str):
    root = tmp_path_factory.mktemp("s") / "sessions"
    key = keep(root, prompt(f"{before} {word} {after}"))
    assert [found.info.id for found in search(root, word)] == [key]


def test_marks_are_put_around_the_words():
    assert Hit(1, "", "user", "one two one", ((0, 3), (8, 11))).marked("<", ">") == "<one> two <one>"


def test_a_found_session_is_told_with_its_words_marked(root: Path):
    key = keep(root, Title("Hay"), *(prompt(f"needle {n}") for n in range(5)))
    (found,) = search(root, "needle")
    lines = found.report("[", "]").split("\n")
    assert lines[0].startswith(key)
    assert lines[0].endswith("Hay")
    assert "[needle] 0" in lines[1]
    assert lines[-1].strip() == "and 2 more"
