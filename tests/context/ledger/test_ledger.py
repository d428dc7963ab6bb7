import json

from agentcli.context.compaction_settings import LedgerSettings, SnapshotSettings
from agentcli.context.ledger.command_results import is_test_run, outcome, read_tests
from agentcli.context.ledger.ledger import Ledger, from_json, same_file, to_json
from agentcli.context.ledger.shell_effects import Effect, effects
from agentcli.context.snapshot.form import Snapshot
from agentcli.context.snapshot.reconcile import merged
from agentcli.core.record import Todo, TodoItem
from tests.context.folding import folded
from tests.context.story import Story
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
