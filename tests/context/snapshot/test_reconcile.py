from __future__ import annotations

from dataclasses import replace

import pytest

from agentcli.context.compaction_settings import SnapshotSettings
from agentcli.context.ledger.ledger import CommandFact, FileFact, Ledger, TestFact
from agentcli.context.snapshot.form import Snapshot, last_cited, parse, render
from agentcli.context.snapshot.reconcile import (
    from_ledger,
    is_ledger_line,
    is_lookup,
    is_report,
    is_test_line,
    ledger_lines,
    merged,
    same_step,
)
from agentcli.core.record import TodoItem, VerbatimText
from tests.context.folding import folded
from tests.context.story import Story
from tests.tables import each_row

SETTINGS = SnapshotSettings()


def worked() -> Ledger:
    story = Story()
    story.user("Fix it. Never touch vendor/.")
    story.reads("/w/src/a.py")
    story.edits("/w/src/a.py", additions=3, deletions=1)
    story.does("write", "ok", file_path="/w/b.py", content="1\n", meta={"created": True})
    story.runs("pytest -q", "FAILED t.py::test_x - boom\n1 failed, 2 passed in 0.1s", 1)
    story.runs("make build", "built")
    return folded(Ledger(cwd="/w"), story.records, (TodoItem("Fix the parser", "in_progress"), TodoItem("Write docs")))


def test_what_the_summary_forgot_is_added_from_the_ledger() -> None:
    whole = merged(Snapshot("goal"), None, worked(), SETTINGS)
    assert whole.files[0] == "CWD: `/w`"
    assert "CREATED: `b.py` (+1 -0, 1 lines) [#7]" in whole.files
    assert any(line.startswith("MODIFIED: `src/a.py` (+3 -1") for line in whole.files)
    assert "`pytest -q` → exit 1: FAILED t.py::test_x - boom" in "\n".join(whole.actions)
    assert (
        "Last test run: `pytest -q` failed: 1 failed, 2 passed in 0.1s; failing: t.py::test_x - boom" in whole.actions
    )
    assert whole.plan == ("[IN PROGRESS] Fix the parser", "[TODO] Write docs")
    assert whole.rules == (VerbatimText(1, 1, "Never touch vendor/."),)


def test_what_the_summary_claims_and_the_ledger_contradicts_is_corrected() -> None:
    claimed = Snapshot(
        "goal",
        knowledge=("All tests pass now.", "We deleted src/a.py.", "The lexer is slow."),
        files=("DELETED: `src/a.py` - the old parser", "READ: `b.py` - looked"),
        actions=("Ran `pytest -q`, everything passed", "Ran `make build`, it failed", "Removed src/a.py"),
        plan=("[DONE] fix parser", "[TODO] release"),
    )
    whole = merged(claimed, None, worked(), SETTINGS)
    assert whole.knowledge == ("The lexer is slow.",)
    text = "\n".join((*whole.files, *whole.actions))
    assert "DELETED" not in text
    assert "MODIFIED: `src/a.py` (+3 -1, 4 lines) [#5]" in whole.files
    assert "the old parser" not in text
    assert "CREATED: `b.py` (+1 -0, 1 lines) - looked" in text
    assert "everything passed" not in text
    assert "it failed" not in text
    assert "Removed" not in text
    assert whole.plan == ("[IN PROGRESS] Fix the parser", "[TODO] Write docs", "[TODO] release")


def test_what_a_command_may_have_done_unseen_is_no_contradiction() -> None:
    story = Story()
    story.user("go")
    story.reads("gen.py")
    story.reads("old.py")
    story.runs("python tools/make.py gen.py")
    story.runs("ls old.py && rm ol*.py")
    story.runs("rm gen*.pyc")
    ledger = folded(Ledger(), story.records)
    said = ("We updated gen.py by script.", "We removed old.py with a pattern.", "We removed gen.py too.")
    assert merged(Snapshot("g", knowledge=said), None, ledger, SETTINGS).knowledge == said[:2]


def test_knowledge_stays_unless_the_new_reply_names_it_obsolete() -> None:
    former = Snapshot("goal", knowledge=("Build: `make`", "The port is in the settings file", "Tabs are used"))
    new = Snapshot("goal", knowledge=("tabs are used!", "New fact"), obsolete=("Build: `make`",))
    whole = merged(new, former, Ledger(), SETTINGS)
    assert whole.knowledge == ("The port is in the settings file", "Tabs are used", "New fact")


def test_knowledge_told_again_in_nearly_the_same_words_is_kept_once() -> None:
    old = "The build of the parser with `npm run build` takes about 40 seconds on this machine"
    former = Snapshot("goal", knowledge=(old,))
    same = "the build of the parser takes about 40 seconds"
    other = "The build of the parser with `npm run build` takes about 90 seconds on this machine"
    assert merged(Snapshot("goal", knowledge=(same, other)), former, Ledger(), SETTINGS).knowledge == (old, other)


def test_an_empty_reply_loses_nothing_of_the_former_snapshot() -> None:
    former = Snapshot(
        "goal", knowledge=("a fact",), plan=("[TODO] step",), files=("READ: `/w/src/a.py` - the heart of it",)
    )
    whole = merged(Snapshot(), former, worked(), SETTINGS)
    assert whole.goal == "goal"
    assert whole.knowledge == ("a fact",)
    assert "[TODO] step" in whole.plan
    assert any("- the heart of it [#" in line for line in whole.files)


def test_the_snapshot_without_a_model_says_so_and_is_well_formed() -> None:
    bare = from_ledger(worked(), None, "Fix it.", SETTINGS)
    assert bare.goal == "Fix it."
    assert "without a model" in render(bare)
    assert parse(render(bare)).note == bare.note


def test_snapshots_without_a_model_do_not_grow_with_each_other() -> None:
    ledger = worked()
    first = from_ledger(ledger, None, "Fix it.", SETTINGS)
    second = from_ledger(ledger, parse(render(first)), "Fix it.", SETTINGS)
    assert second == first


def test_the_ledger_tells_all_it_knows() -> None:
    text = "\n".join(ledger_lines(worked()))
    for fact in ("/w/src/a.py", "pytest -q", "make build", "1 failed, 2 passed", "Write docs"):
        assert fact in text
    # The user's rules are evidence as their words alone.
    assert "vendor" not in text


def test_what_does_not_fit_is_counted() -> None:
    story = Story()
    story.user("go")
    for n in range(60):
        story.reads(f"f{n}.py")
    whole = merged(Snapshot("g"), None, folded(Ledger(), story.records), SnapshotSettings(files_read=10, folders=0))
    assert len(whole.files) == 11
    assert whole.files[0] == "READ: `f59.py` (2 lines) [#121]"
    assert whole.files[-1] == "More in other folders: 50 READ; recall names them"


def test_reports_and_commands_stand_in_one_order_of_time() -> None:
    story = Story()
    story.user("go")
    story.runs("make one", "built one")
    story.says("One is built.")
    story.user("next")
    story.runs("make two", "built two")
    made = from_ledger(folded(Ledger(), story.records), None, "goal", SETTINGS)
    assert [last_cited(action) for action in made.actions] == [3, 4, 7]


def test_of_too_many_read_files_the_relevant_ones_stay() -> None:
    story = Story()
    story.user("go")
    story.reads("src/old/spoken_of.py")
    for n in range(30):
        story.reads(f"vendor/f{n}.py")
    story.says("The bug is in spoken_of.py.")
    whole = from_ledger(folded(Ledger(), story.records), None, "g", SnapshotSettings(files_read=5))
    assert any("spoken_of.py" in line for line in whole.files)


def test_a_long_command_is_cut_after_200_characters() -> None:
    def told(command: str) -> str:
        story = Story()
        story.user("go")
        story.runs(command, "ok")
        [action] = merged(Snapshot("g"), None, folded(Ledger(), story.records), SETTINGS).actions
        return action.partition("`")[2].partition("`")[0]

    whole = "make " + "x" * 195
    assert told(whole) == whole
    assert told(whole + "yz") == "make " + "x" * 194 + "…"


def test_files_that_are_not_listed_are_counted_by_folder() -> None:
    story = Story()
    story.user("go")
    for n in range(30):
        story.reads(f"/w/src/part{n // 10}/deep/f{n}.py")
    story.edits("/w/src/part0/deep/f1.py")
    few = SnapshotSettings(files_read=2, files_changed=1, folders=2)
    files = merged(Snapshot("g"), None, folded(Ledger(cwd="/w"), story.records), few).files
    assert [line.partition(" [")[0] for line in files] == [
        "CWD: `/w`",
        "MODIFIED: `src/part0/deep/f1.py` (+1 -1, 2 lines)",
        "READ: `src/part2/deep/f29.py` (2 lines)",
        "READ: `src/part2/deep/f28.py` (2 lines)",
        "More in `src/part2/`: 8 READ; recall names them",
        "More in `src/part1/`: 10 READ; recall names them",
        "More in other folders: 9 READ; recall names them",
    ]


def test_a_whole_snapshot_corrected_by_the_ledger() -> None:
    story = Story()
    story.user("Mend the build. Never touch vendor/.")
    story.runs("cd /w && ls src", "a.py\nb.py")
    story.reads("/w/src/a.py")
    story.reads("/w/src/b.py")
    story.reads("/w/docs/c.md")
    story.edits("/w/src/a.py", additions=3, deletions=1)
    story.runs("cd /w && make build", "error: no rule\nmake: *** stop", 2)
    story.runs("cd /w && make build", "error: no rule\nmake: *** stop", 2)
    story.runs("rm src/b.py")
    story.runs("cd /other && echo `date`  x", "now")
    story.runs("pytest -q", "3 passed in 0.1s")
    story.says("The build works again. I left docs/c.md alone.")
    todo = (TodoItem("Fix the parser", "in_progress"), TodoItem("Write the docs"), TodoItem("Look", "completed"))
    said = Snapshot(
        "goal",
        knowledge=("The build needs make.",),
        files=("READ: `src/b.py` - the lexer", "MODIFIED: `src/a.py` (+3 -1) - fixed the rule"),
        actions=("Asked for the docs [#9]", "Ran `make build`, all good"),
        plan=("[DONE] Fix the parser now", "Release it", "[TODO] Write docs"),
    )
    whole = merged(said, None, folded(Ledger(cwd="/w"), story.records, todo), SETTINGS)
    assert render(whole).splitlines() == [
        "<state_snapshot>",
        "  <overall_goal>goal</overall_goal>",
        "  <active_constraints>",
        "    - (turn 1) Never touch vendor/.",
        "  </active_constraints>",
        "  <key_knowledge>",
        "    - The build needs make.",
        "  </key_knowledge>",
        "  <file_system_state>",
        "    - CWD: `/w`",
        "    - DELETED: `src/b.py` - the lexer [#17]",
        "    - MODIFIED: `src/a.py` (+3 -1, 4 lines) - fixed the rule [#11]",
        "    - READ: `docs/c.md` (2 lines) [#9]",
        "  </file_system_state>",
        "  <recent_actions>",
        "    - `ls src` → exit 0: b.py [#3]",
        "    - Asked for the docs [#9]",
        "    - `make build` → exit 2 (2 runs): error: no rule [#15]",
        "    - `rm src/b.py` → exit 0 [#17]",
        "    - `cd /other && echo 'date' x` → exit 0: now [#19]",
        "    - `pytest -q` → exit 0: 3 passed in 0.1s [#21]",
        "    - Last test run: `pytest -q` passed: 3 passed in 0.1s",
        "  </recent_actions>",
        "  <current_plan>",
        "    1. [IN PROGRESS] Fix the parser",
        "    2. [TODO] Write the docs",
        "    3. [DONE] Look",
        "    4. [TODO] Release it",
        "  </current_plan>",
        "</state_snapshot>",
    ]


def test_knowledge_is_new_unless_it_has_the_same_words_or_nearly_and_the_same_names() -> None:
    def kept(old: str, new: str) -> tuple[str, ...]:
        return merged(Snapshot("g", knowledge=(new,)), Snapshot("g", knowledge=(old,)), Ledger(), SETTINGS).knowledge

    old = "one two three four five six seven eight nine"
    assert kept(old, "Nine eight seven six five four three two one!") == (old,)
    longer = f"{old} ten eleven twelve"
    assert kept(old, longer) == (longer,), "the new words contain the whole old item"
    assert kept(old, old.replace("five", "ten")) == (old,), "8 of 10 words are common"
    assert kept("a b c d", "e d c b a f") == ("a b c d", "e d c b a f"), "4 of 6 are not enough"
    assert kept("It builds with `make all`", "With `make test` it builds") == (
        "It builds with `make all`",
        "With `make test` it builds",
    )


@each_row(
    ("claim", "stays"),
    [
        ("The lexer is slow.", True),
        ("All tests pass.", False),
        ("The tests are green.", False),
        ("1 failed, 2 passed of the tests.", True),
        ("The tests: 2 passed.", True),
        ("The tests: 3 passed.", False),
        ("The tests passed with 1 failure.", True),
        ("Tests still fail.", True),
        ("`pytest -q` passed.", False),
        ("`pytest -q` failed.", True),
        ("`pytest -q` works with errors.", True),
        ("`make build` failed.", True),
        ("`make build` works.", True),
        ("We deleted `src/a.py`.", False),
        ("We removed the file src/a.py.", False),
        ("We created src/a.py.", False),
        ("We created b.py.", True),
        ("We modified src/a.py.", True),
        ("We edited b.py.", True),
        ("We modified other.py.", True),
        ("We deleted other.py.", True),
    ],
)
def test_knowledge_stays_where_the_ledger_does_not_contradict_it(claim: str, stays: bool) -> None:
    assert bool(merged(Snapshot("g", knowledge=(claim,)), None, worked(), SETTINGS).knowledge) is stays


@each_row(
    ("action", "stays"),
    [
        ("Ran `make build`, it failed", False),
        ("Ran `make build`, it works", True),
        ("`make build` → exit 1", False),
        ("Ran `pytest -q`: passed", False),
        ("Last test run: `x` passed", False),
        ("Looked at the parser", True),
        ("The tests passed", False),
        ("Removed src/a.py", False),
    ],
)
def test_an_action_stays_where_the_ledger_neither_contradicts_nor_tells_it(action: str, stays: bool) -> None:
    assert (action in merged(Snapshot("g", actions=(action,)), None, worked(), SETTINGS).actions) is stays


@each_row(
    ("line", "remark"),
    [
        ("READ: `src/a.py` - the heart", "the heart"),
        ("READ `src/a.py`: the heart", "the heart"),
        ("**MODIFIED**: src/a.py (+3 -1) - the heart [#5]", "the heart"),
        ("READ: `/w/src/a.py` — the heart", "the heart"),
        ("DELETED: `src/a.py` - the heart", ""),
        ("CREATED: `src/a.py` - the heart", ""),
        ("MODIFIED: `src/a.py`", ""),
        ("MOVED: `src/a.py` - the heart", ""),
        ("READ: `c.py` - the heart", ""),
    ],
)
def test_a_remark_on_a_file_stays_unless_the_state_beside_it_is_wrong(line: str, remark: str) -> None:
    files = merged(Snapshot("g", files=(line,)), None, worked(), SETTINGS).files
    assert [each.partition(" - ")[2].partition(" [#")[0] for each in files if "src/a.py" in each] == [remark]


@each_row(
    ("line", "ledgers", "report", "test", "lookup"),
    [
        ("`ls` → exit 0", True, False, False, True),
        ("`cd /w && ls src` → exit 0", True, False, False, True),
        ("`sed -n 1p a` → exit 0", True, False, False, True),
        ("`git log` → exit 0", True, False, False, True),
        ("`ls > a` → exit 0", True, False, False, False),
        ("`make` → exit 0", True, False, False, False),
        ("`lsof` → exit 0", True, False, False, False),
        ("`git push` → exit 0", True, False, False, False),
        ("(turn 3) the assistant said: done", True, True, False, False),
        ("(turn x) the assistant said: done", False, False, False, False),
        ("Last test run: `pytest` passed: 1", True, False, True, False),
        ("(5 older items left out; recall finds them)", True, False, False, False),
        ("Ran `ls` → fine", False, False, False, False),
    ],
)
def test_a_line_of_the_ledger_is_known_by_its_form(
    line: str, ledgers: bool, report: bool, test: bool, lookup: bool
) -> None:
    assert (is_ledger_line(line), is_report(line), is_test_line(line)) == (ledgers, report, test)
    assert is_lookup(line) is lookup


@each_row(
    ("one", "other", "same"),
    [
        ("[TODO] Fix the parser", "[DONE] fix parser", True),
        ("Fix it", "fix it!", True),
        ("a b c d e f g h i j", "a b c d e f g x y z", True),
        ("a b c d e f g h i j", "a b c d e f w x y z", False),
        ("a b c", "a b c d e f g", True),
        ("Fix the parser [#3]", "Fix the parser", True),
        ("In tests/test_lists.py expect a_b", "red tests for lists in tests/test_lists.py", False),
    ],
)
def test_steps_are_the_same_if_most_words_of_the_shorter_are_in_the_longer(one: str, other: str, same: bool) -> None:
    assert same_step(one, other) is same_step(other, one) is same


def test_a_folder_that_a_command_enters_first_is_told_unless_it_is_the_session_s() -> None:
    story = Story()
    story.user("go")
    story.runs("cd /w && make")
    story.runs("cd /other && make")
    story.runs("echo `x`")
    story.runs("echo `x`")
    lines = merged(Snapshot("g"), None, folded(Ledger(cwd="/w/"), story.records), SETTINGS).actions
    assert [line.partition(" [#")[0] for line in lines] == [
        "`make` → exit 0",
        "`cd /other && make` → exit 0",
        "`echo 'x'` → exit 0 (2 runs)",
    ]


# The lines of a snapshot that the ledger writes, and how many there are at most.


def made(ledger: Ledger, settings: SnapshotSettings = SETTINGS) -> Snapshot:
    return from_ledger(ledger, None, "goal", settings)


@each_row(("most", "left"), [(0, ()), (1, ("c",)), (2, ("b", "c")), (3, ("a", "b", "c")), (9, ("a", "b", "c"))])
def test_the_newest_unverified_sentences_stay_as_far_as_is_set(most: int, left: tuple[str, ...]) -> None:
    former, new = Snapshot("g", unverified=("a", "b")), Snapshot("g", unverified=("b", "c"))
    assert merged(new, former, Ledger(), replace(SETTINGS, unverified=most)).unverified == left
    assert merged(new, None, Ledger(), replace(SETTINGS, unverified=9)).unverified == ("b", "c")


@each_row(
    ("fact", "line"),
    [
        (FileFact("/w/a.py", reads=1), "READ: `a.py`"),
        (FileFact("/w/a.py", reads=1, lines=1, last=3), "READ: `a.py` (1 lines) [#3]"),
        (FileFact("/x/a.py", edits=1, additions=1), "MODIFIED: `/x/a.py` (+1 -0)"),
        (FileFact("/w/a.py", edits=1, deletions=1, lines=9), "MODIFIED: `a.py` (+0 -1, 9 lines)"),
        (FileFact("/w/a.py", created=True, lines=9), "CREATED: `a.py` (9 lines)"),
        (FileFact("/w/a.py", deleted=True, lines=9), "DELETED: `a.py`"),
        (FileFact("/w/a.py", deleted=True, additions=2, lines=9), "DELETED: `a.py` (+2 -0)"),
    ],
)
def test_a_file_is_told_with_its_figures(fact: FileFact, line: str) -> None:
    assert made(Ledger(files=(fact,), cwd="/w")).files == ("CWD: `/w`", line)
    assert made(Ledger(files=(replace(fact, path="a.py"),))).files[0].startswith(fact.state)


@each_row(
    ("fact", "line"),
    [
        (CommandFact("make"), "`make` → success"),
        (CommandFact("make", exit_code=0, runs=2), "`make` → exit 0 (2 runs)"),
        (CommandFact("make", "error", 2, outcome="boom", last=4), "`make` → exit 2: boom [#4]"),
        (CommandFact("cd /w && make"), "`make` → success"),
        (CommandFact("cd /w/ && make"), "`make` → success"),
        (CommandFact("cd /x && make"), "`cd /x && make` → success"),
        (CommandFact("a\n  `b`"), "`a 'b'` → success"),
    ],
)
def test_a_command_is_told_with_its_end(fact: CommandFact, line: str) -> None:
    assert made(Ledger(commands=(fact,), cwd="/w")).actions == (line,)


def paths(*names: str) -> tuple[FileFact, ...]:
    return tuple(FileFact(name, reads=1) for name in names)


@each_row(
    ("files", "cwd", "lines"),
    [
        (paths("a.py", "b.py"), "", ["More in `./`: 2 READ; recall names them"]),
        (paths("a/b/c/d.py", "a/b/e.py"), "", ["More in `a/b/`: 2 READ; recall names them"]),
        (paths("a/b.py"), "", ["More in `a/`: 1 READ; recall names them"]),
        (paths("/a/b/c/d.py"), "", ["More in `/a/b/`: 1 READ; recall names them"]),
        (paths("/w/a/b.py"), "/w", ["CWD: `/w`", "More in `a/`: 1 READ; recall names them"]),
        (paths("a/x.py", "b/x.py", "c/x.py", "c/y.py"), "", ["More in `c/`: 2 READ; recall names them", "More in `b/`: 1 READ; recall names them", "More in other folders: 1 READ; recall names them"]),
        ((*paths("a/x.py"), FileFact("a/y.py", edits=1), *paths("a/z.py")), "", ["More in `a/`: 1 MODIFIED, 2 READ; recall names them"]),
    ],
)  # fmt: skip
def test_files_that_are_not_listed_are_counted_by_their_first_two_folders(
    files: tuple[FileFact, ...], cwd: str, lines: list[str]
) -> None:
    none = replace(SETTINGS, files_read=0, files_changed=0, folders=2)
    assert list(made(Ledger(files=files, cwd=cwd), none).files) == lines


def test_the_newest_changed_files_and_commands_are_listed_up_to_their_number() -> None:
    files = tuple(FileFact(f"f{n}", edits=1, last=n) for n in (1, 2, 3))
    shown = made(Ledger(files=files), replace(SETTINGS, files_changed=2, folders=0)).files
    assert shown == (
        "MODIFIED: `f3` [#3]",
        "MODIFIED: `f2` [#2]",
        "More in other folders: 1 MODIFIED; recall names them",
    )
    commands = tuple(CommandFact(name, last=n) for n, name in enumerate(("make a", "ls a", "make b", "ls b"), 1))
    few = made(Ledger(commands=commands), replace(SETTINGS, commands=2, lookups=1)).actions
    assert few == ("`make b` → success [#3]", "`ls b` → success [#4]")
    none = made(Ledger(commands=commands), replace(SETTINGS, lookups=0)).actions
    assert none == ("`make a` → success [#1]", "`make b` → success [#3]")


def test_read_files_are_chosen_by_what_is_said_of_them_and_by_what_lies_beside_them() -> None:
    files = (
        FileFact("x/old.py", reads=1),
        FileFact("x/often.py", reads=4),
        FileFact("y/changed.py", edits=1),
        FileFact("y/beside.py", reads=1),
        FileFact("x/named.py", reads=1),
        FileFact("x/new.py", reads=1),
    )
    ledger = Ledger(files=files, reports=(VerbatimText(9, 1, "I looked at named.py."),))

    def shown(most: int) -> list[str]:
        lines = made(ledger, replace(SETTINGS, files_read=most, folders=0)).files
        return [line.split("`")[1] for line in lines if line.startswith("READ")]

    assert shown(1) == ["x/named.py"]
    assert shown(5) == ["x/new.py", "x/named.py", "y/beside.py", "x/often.py", "x/old.py"]
    assert "x/old.py" not in shown(4)


@pytest.mark.parametrize(
    ("tests", "line"),
    [
        (TestFact("pytest", False, "1 passed"), "Last test run: `pytest` passed: 1 passed"),
        (TestFact("pytest", True, "2 failed", ("a", "b")), "Last test run: `pytest` failed: 2 failed; failing: a, b"),
    ],
)
def test_the_newest_tests_come_last(tests: TestFact, line: str) -> None:
    ledger = Ledger(commands=(CommandFact("make", last=9),), tests=tests)
    assert made(ledger).actions == ("`make` → success [#9]", line)
    assert list(ledger_lines(ledger))[-1] == line


def test_the_plan_is_the_todo_list_and_then_the_other_steps() -> None:
    todo = (
        TodoItem("write it", "completed", "x"),
        TodoItem("test the parser now", "in_progress", "x"),
        TodoItem("ship", "pending", "x"),
    )
    new = Snapshot("g", plan=("[DONE] Write it.", "Test the parser.", "Tell them", "[IN PROGRESS] Wait"))
    assert merged(new, None, Ledger(todo=todo), SETTINGS).plan == (
        "[DONE] write it",
        "[IN PROGRESS] test the parser now",
        "[TODO] ship",
        "[TODO] Tell them",
        "[IN PROGRESS] Wait",
    )
    former = Snapshot("old", plan=("[TODO] Old",))
    kept = merged(Snapshot(), former, Ledger(), SETTINGS)
    assert (kept.goal, kept.plan) == ("old", ("[TODO] Old",))


def test_reports_of_the_model_are_told_without_a_summary() -> None:
    ledger = Ledger(
        reports=(VerbatimText(3, 2, "Done."),), commands=(CommandFact("make", last=5), CommandFact("tox", last=1))
    )
    assert made(ledger).actions == (
        "`tox` → success [#1]",
        "(turn 2) the assistant said: Done. [#3]",
        "`make` → success [#5]",
    )
    again = from_ledger(ledger, made(ledger), "other", SETTINGS)
    assert (again.actions, again.goal) == (made(ledger).actions, "goal")
