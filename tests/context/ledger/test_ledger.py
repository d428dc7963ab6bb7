from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.context.compaction_settings import LedgerSettings, SnapshotSettings
from agentcli.context.ledger.command_results import is_test_run, outcome, read_tests
from agentcli.context.ledger.ledger import (
    CommandFact,
    FileFact,
    Ledger,
    NameFact,
    TestFact,
    _at,
    fold_names,
    from_json,
    newest,
    same_file,
    to_json,
)
from agentcli.context.ledger.shell_effects import Effect, effects
from agentcli.context.snapshot.form import Snapshot
from agentcli.context.snapshot.reconcile import merged
from agentcli.core.message import Message, Status, Text, ToolResult
from agentcli.core.record import Record, Todo, TodoItem
from agentcli.core.subagent_result import FILES
from tests.context.folding import folded
from tests.context.story import Story
from tests.counted import counted
from tests.tables import each_row


def busy() -> Story:
    story = Story()
    story.user("Fix the parser. Never touch vendor/.")
    story.reads("/w/src/parse.py", "a\nb\nc\n")
    story.edits("/w/src/parse.py", "b", "x\ny", additions=2, deletions=1)
    story.does("write", "Wrote.", file_path="/w/tests/test_parse.py", content="1\n2\n", meta={"created": True})
    story.runs(
        "cd /w && pytest -q", "FAILED tests/test_parse.py::test_x - assert 1 == 2\n1 failed, 3 passed in 0.12s\n", 1
    )
    story.runs("rm /w/old.txt")
    return story


def test_each_deed_on_a_file_is_known_with_its_lines() -> None:
    ledger = folded(Ledger(), busy().records)
    states = {fact.path: fact.state for fact in ledger.files}
    assert states == {"/w/src/parse.py": "MODIFIED", "/w/tests/test_parse.py": "CREATED", "/w/old.txt": "DELETED"}
    parse = ledger.file("src/parse.py")
    assert parse is not None
    assert (parse.reads, parse.edits, parse.additions, parse.deletions, parse.lines) == (1, 1, 2, 1, 4)


def test_each_command_is_known_with_its_exit_status_and_the_line_that_says_most() -> None:
    ledger = folded(Ledger(), busy().records)
    pytest_run, rm = ledger.commands
    assert (pytest_run.command, pytest_run.exit_code, pytest_run.failed) == ("cd /w && pytest -q", 1, True)
    assert (rm.exit_code, rm.failed) == (0, False)


def test_the_last_test_run_is_known_by_its_own_summary() -> None:
    tests = folded(Ledger(), busy().records).tests
    assert tests is not None
    assert tests.failed
    assert tests.summary == "1 failed, 3 passed in 0.12s"
    assert tests.failing == ("tests/test_parse.py::test_x - assert 1 == 2",)


def test_folding_in_two_steps_is_folding_in_one() -> None:
    records = busy().records
    half = folded(Ledger(), records[:5])
    assert folded(half, records[5:]) == folded(Ledger(), records)
    assert folded(half, records) == folded(Ledger(), records)


def test_a_ledger_survives_json() -> None:
    story = busy()
    story.add(Todo((TodoItem("write it", "in_progress", "writing it"),)))
    ledger = folded(Ledger(cwd="/w"), story.records)
    raw = to_json(ledger)
    assert raw == json.loads(json.dumps(raw))
    assert from_json(raw) == ledger
    assert ledger.todo[0].content == "write it"


def test_a_ledger_of_a_newer_version_is_read() -> None:
    assert from_json({"files": [{"path": "a", "colour": "red"}], "novel": 1}).file("a") is not None


def test_how_the_model_ended_its_turns_is_known_in_its_words() -> None:
    story = busy()
    story.says("The parser is fixed:\n`parse_all` was wrong.")
    story.user("thanks")
    story.says("x" * 1_000)
    reports = folded(Ledger(), story.records).reports
    assert [report.turn for report in reports] == [1, 2]
    assert reports[0].text == "The parser is fixed: `parse_all` was wrong."
    assert len(reports[1].text) == 400


def test_a_file_has_one_fact_however_it_is_named() -> None:
    story = Story()
    story.user("go")
    story.reads("/w/src/a.py")
    story.edits("src/a.py")
    story.runs("cd src && rm ./a.py")
    (fact,) = folded(Ledger(cwd="/w"), story.records).files
    assert (fact.path, fact.reads, fact.edits, fact.state) == ("/w/src/a.py", 1, 1, "DELETED")


def test_a_failed_edit_changes_nothing() -> None:
    story = Story()
    story.user("go")
    story.does("edit", "no match", status="error", file_path="a.py", old_string="x", new_string="y")
    assert folded(Ledger(), story.records).files == ()


def test_a_file_written_again_after_its_deletion_exists() -> None:
    story = Story()
    story.user("go")
    story.does("write", "ok", file_path="a.py", content="1\n", meta={"created": True})
    story.runs("rm a.py")
    assert folded(Ledger(), story.records).files[0].state == "DELETED"
    story.does("write", "ok", file_path="a.py", content="1\n2\n", meta={"created": True})
    assert folded(Ledger(), story.records).files[0].state == "CREATED"


def test_a_file_read_in_part_has_no_known_length() -> None:
    story = Story()
    story.user("go")
    story.does("read", "l5\nl6", file_path="a.py", offset=5, limit=2, meta={"lines": [5, 6]})
    story.does("read", "x\ny", file_path="b.py", limit=2)
    story.does("read", "x\ny", file_path="c.py", meta={"lines": [1, 2]})
    assert [fact.lines for fact in folded(Ledger(), story.records).files] == [0, 0, 2]


def test_a_multi_edit_without_metadata_is_counted_by_its_input() -> None:
    story = Story()
    story.user("go")
    edits = [{"old_string": "a", "new_string": "b\nc"}, {"old_string": "d\ne", "new_string": ""}]
    story.does("multi_edit", "ok", file_path="a.py", edits=edits)
    fact = folded(Ledger(), story.records).files[0]
    assert (fact.additions, fact.deletions) == (2, 3)


@each_row(
    ("command", "expected"),
    [
        ("rm -rf build && touch x", [("deleted", "build"), ("created", "x")]),
        ("cd src && git mv a.py b.py", [("deleted", "src/a.py"), ("created", "src/b.py")]),
        ("echo hi > out.txt 2> /dev/null", [("created", "out.txt")]),
        ("make 2>&1 | tee -a log.txt", [("modified", "log.txt")]),
        ("cat <<'EOF' > conf.toml\nrm everything\nEOF", [("created", "conf.toml")]),
        ("sed -i 's/a/b/' f.py", [("modified", "f.py")]),
        ("sed -i '' 's/a b/c/' f.py", [("modified", "f.py")]),
        ("sed -i .bak 's/a b/c/' f.py g.py", [("modified", "f.py"), ("modified", "g.py")]),
        ("sed -i -e 's/a/b/' -e 's/c/d/' f.py", [("modified", "f.py")]),
        ("sed -i -ne 's/a/b/p' --expression='s/c/d/' f.py", [("modified", "f.py")]),
        ("sed -i.orig -es/a/b/ f.py", [("modified", "f.py")]),
        ("sed -n -i '' -f edit.sed f.py", [("modified", "f.py")]),
        ("rm *.pyc $X `y`", []),
        ("echo 'rm a'", []),
        ('echo "unclosed', []),
    ],
)
def test_a_shell_command_changes_what_its_words_say(command: str, expected: list[tuple[str, str]]) -> None:
    assert [(effect.kind, effect.path) for effect in effects(command)] == expected


def test_effects_are_values() -> None:
    assert effects("touch a") == (Effect("created", "a"),)


@each_row(
    ("command", "output", "summary"),
    [
        ("python -m pytest", "===== 2 passed, 1 warning in 1.50s =====", "2 passed, 1 warning in 1.50s"),
        (
            "python -m unittest",
            "Ran 3 tests in 0.001s\n\nFAILED (failures=1)",
            "Ran 3 tests in 0.001s; FAILED (failures=1)",
        ),
        ("npm test", "Tests:       1 failed, 5 passed, 6 total", "Tests:       1 failed, 5 passed, 6 total"),
        (
            "cargo test --all",
            "test result: ok. 5 passed; 0 failed; 0 ignored",
            "test result: ok. 5 passed; 0 failed; 0 ignored",
        ),
        ("go test ./...", "ok  \texample.com/x\t0.012s", "ok  \texample.com/x\t0.012s"),
        ("npx mocha", "  12 passing (34ms)\n  1 failing", "12 passing (34ms); 1 failing"),
    ],
)
def test_runs_of_tests_are_recognised(command: str, output: str, summary: str) -> None:
    assert is_test_run(command)
    tests = read_tests(output)
    assert tests is not None
    assert tests.summary == summary


@each_row("command", ["cat pytest.ini", "ls tests", "pip install pytest-cov", "git commit -m 'go testing'"])
def test_other_commands_are_no_runs_of_tests(command: str) -> None:
    assert not is_test_run(command)


def test_the_outcome_of_a_failure_is_its_error() -> None:
    output = "starting\nTraceback (most recent call last):\n  File x\nValueError: no such key 'a'\n"
    assert outcome(output, failed=True) == "ValueError: no such key 'a'"
    assert outcome("one\ntwo\n\n", failed=False) == "two"
    assert outcome("", failed=True) == ""


def test_files_are_compared_by_whole_components() -> None:
    assert same_file("src/a.py", "/w/src/a.py")
    assert not same_file("rc/a.py", "/w/src/a.py")


def test_none_at_all_may_be_remembered() -> None:
    none = LedgerSettings(files=0, commands=0, reports=0, rules=0)
    story = busy()
    story.says("Done. Never again.")
    ledger = folded(Ledger(), story.records, keep=none)
    assert (ledger.files, ledger.commands, ledger.reports, ledger.rules) == ((), (), (), ())
    whole = folded(Ledger(), story.records)
    assert whole.commands
    left = merged(Snapshot("g"), None, whole, SnapshotSettings(commands=0, files_read=0, files_changed=0, folders=0))
    assert not [line for line in left.actions if " → " in line]
    assert len(left.files) == 1, "a line that says how many are left out"


def test_how_much_is_remembered_is_set() -> None:
    keep = LedgerSettings(files=1, commands=2, command_characters=6, reports=1, report_characters=4, rules=1)
    story = Story()
    story.user("Never push. Always test.")
    for n in range(3):
        story.reads(f"f{n}.py")
        story.runs(f"make target{n} && echo {n}")
        story.runs(f"ls {n}")
        story.says(f"{n} is done.")
    ledger = folded(Ledger(), story.records, keep=keep)
    assert [fact.path for fact in ledger.files] == ["f2.py"]
    assert [fact.command for fact in ledger.commands] == ["make t", "ls 2"]
    assert [report.text for report in ledger.reports] == ["2 i…"]
    assert [rule.text for rule in ledger.rules] == ["Never push."]
    assert not folded(Ledger(), story.records, keep=LedgerSettings(rule_characters=5)).rules


def test_a_file_that_is_written_is_created_unless_it_was_known_and_not_deleted() -> None:
    def state(*before: str) -> str:
        story = Story()
        story.user("go")
        for each in before:
            story.reads("/w/a.py") if each == "read" else story.runs("rm /w/a.py")
        story.does("write", "Wrote.", file_path="/w/a.py", content="1\n2\n")
        fact = folded(Ledger(), story.records).file("/w/a.py")
        assert fact is not None
        assert (fact.additions, fact.lines, fact.deleted) == (2, 2, False)
        return fact.state

    assert state() == "CREATED"
    assert state("read") == "MODIFIED"
    assert state("read", "removed") == "CREATED"


# Facts about files and commands, one by one.


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


@each_row(
    ("parts", "code", "state"),
    [
        ([101, 0], 101, {"exit_code": 101, "failed": True}),
        ([0, 0], 0, {"exit_code": 0, "failed": False}),
        ([141, 0], 0, {"exit_code": 0, "failed": False}),
        ([], 0, {"exit_code": 0, "failed": False}),
    ],
)
def test_a_failure_that_a_pipe_hides_is_a_failure(parts: list[int], code: int, state: dict[str, object]) -> None:
    story = Story()
    story.user("go")
    line = "error: no matching package named `a` found"
    meta = {"exit_code": 0, "parts": parts}
    story.does("bash", line, command="cargo test 2>&1 | tail -5", meta=meta)
    red = TestFact("cargo test", failed=True, summary="1 failed", failing=("a::b",), last=1)
    after = folded(Ledger(tests=red), story.records)
    (fact,) = after.commands
    assert {"exit_code": fact.exit_code, "failed": fact.failed} == state
    assert after.tests is not None
    assert after.tests.failed == bool(code)


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


def test_a_path_is_resolved_once_however_often_its_file_is_read() -> None:
    story = Story()
    story.user("go")
    for _ in range(20):
        story.reads("src/../src/read_often.py")
    with counted(_at.__wrapped__) as calls:
        fact = folded(Ledger(cwd="/w"), story.records).files[0]
    assert (fact.path, fact.reads, fact.last) == ("/w/src/read_often.py", 20, 41)
    assert calls[_at.__wrapped__] == 1


def test_a_call_before_the_new_records_is_found_among_the_known_ones() -> None:
    story = Story()
    story.user("go")
    story.says("", first := story.call("read", file_path="/a.py"))
    half = folded(Ledger(), story.records)
    story.result(first, "one\n")
    assert [fact.path for fact in folded(half, story.records).files] == ["/a.py"]
    assert folded(half, story.records[2:]).files == ()


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


NAMES = ("load", "save_all", "parse", "read_file", "make_room")
RECORDS = st.lists(st.lists(st.sampled_from(NAMES), max_size=4), max_size=6)


def recorded(said: Sequence[Sequence[str]], first: int) -> list[Record]:
    """Messages of the model and outputs in turns, each with these names."""
    return [
        Record(
            seq, "", "", "", _body("".join(f"`{name}` " for name in names), "\n".join(f"def {n}" for n in names), seq)
        )
        for seq, names in enumerate(said, first)
    ]


def _body(prose: str, code: str, seq: int) -> Message | ToolResult:
    return ToolResult("c", "read", "success", code) if seq % 2 else Message("assistant", (Text(prose),))


@given(RECORDS, RECORDS, st.integers(0, 5))
def test_the_newest_names_are_kept_in_the_order_of_their_newest_mention(
    former: list[list[str]], later: list[list[str]], most: int
) -> None:
    keep = LedgerSettings(names=most, names_each=3)
    expected: dict[str, NameFact] = {}
    for seq, names in enumerate([*former, *later], 1):
        for name in list(dict.fromkeys(names))[:3]:
            expected.pop(name, None)
            expected[name] = NameFact(name, seq)
    start = fold_names((), recorded(former, 1), LedgerSettings(names=5, names_each=3))
    found = fold_names(start, recorded(later, len(former) + 1), keep)
    assert found == tuple(expected.values())[max(0, len(expected) - most) :]


def test_an_output_that_repeats_is_read_once_and_a_failed_one_hides_no_other() -> None:
    def output(seq: int, status: Status) -> Record:
        return Record(seq, "", "", "", ToolResult(f"c{seq}", "read", status, "def settle():"))

    names = fold_names((), [output(1, "success"), output(2, "success"), output(3, "error")], LedgerSettings())
    assert names == (NameFact("settle", 2),)
