"""Facts about files and commands, one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentcli.context.compaction_settings import LedgerSettings
from agentcli.context.ledger.ledger import CommandFact, FileFact, Ledger, from_json, newest, same_file, to_json
from agentcli.core.message import Status, ToolResult
from agentcli.core.record import Todo, TodoItem
from agentcli.core.subagent_result import FILES
from tests.context.folding import folded
from tests.context.story import Story
from tests.tables import each_row


def fact_of(name: str, output: str = "", *, truncated: bool = False, meta: Any = None, **given: Any) -> FileFact:
    """The fact about `a.py`, which had ten lines, after one more call."""
    known = FileFact("a.py", reads=1, lines=10, last=1)
    story = Story()
    story.user("go")
    story.does(name, output, meta=meta, file_path="a.py", **given)
    body = story.records[-1].body
    assert isinstance(body, ToolResult)
    story.records[-1] = replace(story.records[-1], body=replace(body, truncated=truncated))
    (fact,) = folded(Ledger(files=(known,)), story.records).files
    return fact


@each_row(
    ("output", "meta", "given", "lines"),
    [
        ("", {}, {}, 10),
        ("a", {}, {}, 1),
        ("a\n", {}, {}, 1),
        ("a\nb", {}, {}, 2),
        ("a\nb", {}, {"offset": 1}, 10),
        ("a\nb", {}, {"limit": 1}, 10),
        ("a\nb", {"lines": [1, 7]}, {}, 7),
        ("a\nb", {"lines": [2, 7]}, {}, 10),
        ("a\nb", {"lines": [1, 7]}, {"limit": 7}, 7),
    ],
)
def test_a_file_that_is_read_whole_has_a_length(output: str, meta: Any, given: Any, lines: int) -> None:
    fact = fact_of("read", output, meta=meta, **given)
    assert (fact.lines, fact.reads, fact.edits, fact.state, fact.last) == (lines, 2, 0, "READ", 3)
    assert fact_of("read", output, truncated=True, meta=meta, **given).lines == 10


@each_row(
    ("given", "meta", "changed"),
    [
        ({"old_string": "a", "new_string": "b"}, {}, (1, 1, 10)),
        ({"old_string": "a\nb\n", "new_string": "c"}, {}, (1, 2, 9)),
        ({"old_string": "", "new_string": "a\nb\nc"}, {}, (3, 0, 13)),
        ({"oldText": "a\nb", "newText": "c"}, {}, (1, 2, 9)),
        ({"old_string": "a\n" * 12, "new_string": ""}, {}, (0, 12, 0)),
        ({"old_string": "a", "new_string": "b"}, {"additions": 5, "deletions": 2}, (5, 2, 13)),
        ({"old_string": "a", "new_string": "b"}, {"additions": 5}, (5, 0, 15)),
        ({"old_string": "a", "new_string": "b"}, {"additions": "5"}, (0, 0, 10)),
        ({"edits": [{"old_string": "a", "new_string": "b"}, "odd", {"new_string": "c"}]}, {}, (2, 1, 11)),
    ],
)
def test_an_edit_adds_and_removes_lines(given: Any, meta: Any, changed: tuple[int, int, int]) -> None:
    fact = fact_of("edit", "ok", meta=meta, **given)
    assert (fact.additions, fact.deletions, fact.lines) == changed
    assert (fact.edits, fact.created, fact.deleted, fact.state) == (1, False, False, "MODIFIED")
    assert fact_of("edit", "ok", meta={**meta, "created": True}, **given).state == "CREATED"


@each_row(
    ("content", "meta", "changed"),
    [
        ("a\nb\n", {}, (2, 0, 2)),
        ("a\nb\n", {"additions": 1, "deletions": 9}, (1, 9, 2)),
        ("a\nb\n", {"deletions": 9}, (2, 9, 2)),
        ("", {}, (0, 0, 0)),
    ],
)
def test_a_file_that_is_written_has_the_lines_of_its_content(
    content: str, meta: Any, changed: tuple[int, int, int]
) -> None:
    fact = fact_of("write", "ok", meta=meta, content=content)
    assert (fact.additions, fact.deletions, fact.lines) == changed
    assert (fact.edits, fact.created) == (1, False)
    assert fact_of("write", "ok", meta={**meta, "created": True}, content=content).created


@each_row(
    ("command", "code", "fact"),
    [
        ("cat a.py", 0, FileFact("a.py", reads=2, lines=10, last=3)),
        ("cat a.py", 1, FileFact("a.py", reads=1, lines=10, last=1)),
        ("echo x >> a.py", 0, FileFact("a.py", reads=1, edits=1, last=3)),
        ("echo x > a.py", 0, FileFact("a.py", reads=1, edits=1, last=3)),
        ("rm a.py", 0, FileFact("a.py", reads=1, deleted=True, lines=10, last=3)),
    ],
)
def test_a_command_that_succeeds_does_to_a_file_what_its_words_say(command: str, code: int, fact: FileFact) -> None:
    story = Story()
    story.user("go")
    story.runs(command, exit_code=code)
    assert folded(Ledger(files=(FileFact("a.py", reads=1, lines=10, last=1),)), story.records).files == (fact,)


def test_a_file_that_a_command_makes_is_created_only_if_it_was_unknown() -> None:
    story = Story()
    story.user("go")
    story.runs("touch new.py")
    story.runs("touch new.py")
    (fact,) = folded(Ledger(), story.records).files
    assert fact == FileFact("new.py", edits=2, created=True, last=5)


def test_a_tool_that_changes_several_files_says_which() -> None:
    story = Story()
    story.user("go")
    files = [{"path": "a.py", "additions": 2, "deletions": 1}, {"path": "b.py", "deleted": True}, {"path": "c.py"}]
    story.does("task", "ok", prompt="x", meta={FILES: files})
    facts = {fact.path: (fact.state, fact.additions, fact.deletions) for fact in folded(Ledger(), story.records).files}
    assert facts == {"a.py": ("MODIFIED", 2, 1), "b.py": ("DELETED", 0, 0), "c.py": ("MODIFIED", 0, 0)}


def test_a_listing_and_a_path_that_is_none_are_no_reading() -> None:
    story = Story()
    story.user("go")
    story.does("read", "x", file_path="src", meta={"entries": 3})
    story.does("read", "x", file_path="")
    story.does("read", "x", file_path=3)
    story.does("glob", "a.py", path="src")
    assert folded(Ledger(), story.records).files == ()


def test_a_path_is_that_of_the_result_before_that_of_the_call() -> None:
    story = Story()
    story.user("go")
    story.does("read", "x", file_path="a.py", meta={"path": "/w/b.py"})
    story.does("read", "x", path="c.py")
    story.does("read", "x", file_path="~/d.py")
    files = folded(Ledger(cwd="/w"), story.records).files
    assert [fact.path for fact in files] == ["/w/b.py", "/w/c.py", "~/d.py"]


@each_row(
    ("path", "other", "same"),
    [
        ("a", "a", True),
        ("./a", "a", True),
        ("a", "b/a", True),
        ("b/a", "./a", True),
        ("/a", "b/a", True),
        ("a", "ba", False),
        ("", "a", False),
        ("", "", False),
        ("a", "a/b", False),
    ],
)
def test_one_path_may_be_the_end_of_another(path: str, other: str, same: bool) -> None:
    assert same_file(path, other) is same_file(other, path) is same


def test_a_file_is_found_by_its_path_or_by_an_end_that_only_one_has() -> None:
    def found(path: str, *known: str) -> str | None:
        fact = Ledger(files=tuple(map(FileFact, known))).file(path)
        return fact and fact.path

    many = ("/w/a.py", "/w/src/a.py", "/w/b.py")
    assert [found(path, *many) for path in ("src/a.py", "b.py", "./b.py", "w//b.py", "c.py")] == [
        "/w/src/a.py", "/w/b.py", "/w/b.py", "/w/b.py", None,
    ]  # fmt: skip
    assert found("a.py", *many) is None
    assert found("a.py", *many, "a.py") == "a.py"
    assert found("src/a.py", *many, "a.py") is None


def test_a_command_is_known_with_its_newest_run_and_moves_to_the_end() -> None:
    story = Story()
    story.user("go")
    story.runs("make", "boom: fatal error\nbye", 2)
    story.runs("ls", "a b")
    story.runs("make", "built")
    story.does("bash", "killed", status="interrupted", command="sleep 9")
    story.does("bash", "x", command="   ")
    assert folded(Ledger(), story.records[:3]).commands == (CommandFact("make", "error", 2, 1, "boom: fatal error", 3),)
    made = folded(Ledger(), story.records).commands
    assert made == (
        CommandFact("ls", "success", 0, 1, "a b", 5),
        CommandFact("make", "success", 0, 2, "built", 7),
        CommandFact("sleep 9", "interrupted", None, 1, "killed", 9),
    )
    assert [fact.failed for fact in made] == [False, False, True]
    assert CommandFact("x", exit_code=1).failed


def runs_of(*runs: tuple[str, str, int], start: Ledger | None = None) -> tuple[bool, str, tuple[str, ...]]:
    story = Story()
    story.user("go")
    for run in runs:
        story.runs(*run)
    tests = folded(start or Ledger(), story.records).tests
    assert tests is not None
    return tests.failed, tests.summary, tests.failing


FAILED = ("pytest", "FAILED a.py::x - boom\n1 failed in 0.1s", 1)


def test_a_run_of_tests_that_prints_no_report_passes_what_it_includes() -> None:
    assert runs_of(FAILED) == (True, "1 failed in 0.1s", ("a.py::x - boom",))
    assert runs_of(FAILED, ("pytest", "", 0)) == (False, "", ())
    assert runs_of(FAILED, ("pytest b.py", "", 0)) == (False, "", ("a.py::x - boom",))
    assert runs_of(FAILED, ("pytest", "", 1)) == runs_of(FAILED)
    assert runs_of(FAILED, ("ls", "", 0)) == runs_of(FAILED)
    assert runs_of(("pytest", "1 passed in 0.1s", 0), ("pytest", "", 0)) == (False, "1 passed in 0.1s", ())


def test_a_run_that_names_a_failing_test_failed_whatever_its_exit_status() -> None:
    failed, _, failing = runs_of(("pytest | tail", "FAILED a.py::x - boom\n1 failed in 0.1s", 0))
    assert (failed, failing) == (True, ("a.py::x - boom",))


def test_thirty_failing_tests_are_remembered_and_the_new_ones_first() -> None:
    def run(first: int, count: int) -> tuple[str, str, int]:
        lines = [f"FAILED t{n}.py::x" for n in range(first, first + count)]
        return ("pytest -x", "\n".join([*lines, f"{count} failed in 0.1s"]), 1)

    _, _, failing = runs_of(*(run(10 * n, 10) for n in range(4)))
    assert len(failing) == 30
    assert failing[:10] == tuple(f"t{n}.py::x" for n in range(30, 40))


def test_a_report_is_cut_at_its_longest() -> None:
    def told(text: str) -> str:
        story = Story()
        story.user("go")
        story.says(text)
        (report,) = folded(Ledger(), story.records, keep=LedgerSettings(report_characters=5)).reports
        assert (report.seq, report.turn) == (2, 1)
        return report.text

    assert [told(text) for text in ("a b", "12345", "123456", " 1\n2 ")] == ["a b", "12345", "1234…", "1 2"]


def test_only_a_final_text_of_the_model_is_a_report() -> None:
    story = Story()
    story.user("go")
    story.says("I look.", story.call("read", file_path="a"))
    story.says("  ")
    story.user("and?")
    assert folded(Ledger(), story.records).reports == ()


def test_what_is_known_already_changes_nothing() -> None:
    story = Story()
    story.user("go")
    story.runs("make")
    story.add(Todo((TodoItem("a", "pending", "a"),)))
    story.runs("make")
    half = folded(Ledger(), story.records[:4])
    assert (half.through, half.todo) == (4, (TodoItem("a", "pending", "a"),))
    assert folded(half, story.records[:4]) == half
    whole = folded(half, story.records)
    assert (whole.through, whole.commands[0].runs) == (6, 2)
    assert folded(half, story.records[4:]).commands[0].runs == 2
    assert folded(half, story.records, todo=()).todo == ()
    assert folded(half, story.records[5:]).commands[0].runs == 1, "the call of this result is not among the records"


@each_row(("count", "left"), [(0, ()), (1, (3,)), (2, (2, 3)), (3, (1, 2, 3)), (4, (1, 2, 3))])
def test_the_newest_are_the_last(count: int, left: tuple[int, ...]) -> None:
    assert newest([1, 2, 3], count) == left


def test_an_empty_ledger_and_one_with_tests_survive_json() -> None:
    assert from_json({}) == from_json(to_json(Ledger())) == Ledger()
    story = Story()
    story.user("go")
    story.runs(*FAILED)
    ledger = folded(Ledger(), story.records)
    assert from_json(to_json(ledger)) == ledger
    assert to_json(ledger)["tests"]["failing"] == ["a.py::x - boom"]


@pytest.mark.parametrize("status", ["error", "denied", "interrupted"])
def test_a_call_that_failed_touches_no_file(status: Status) -> None:
    story = Story()
    story.user("go")
    story.does("read", "x", status=status, file_path="a.py")
    story.does("write", "x", status=status, file_path="b.py", content="x")
    story.does("bash", "x", status=status, command="rm c.py")
    assert folded(Ledger(), story.records).files == ()
