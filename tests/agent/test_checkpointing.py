"""Changes by the agent and its commands can be undone and redone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.core.event import Noticed, Warned
from agentcli.core.message import CHANGED, MORE_CHANGED, Message, Text, ToolCall
from agentcli.core.on_demand import OnDemand
from agentcli.program.program import covered
from agentcli.providers.scripted.model import call, say
from agentcli.sessions.checkpoints.changes import Changes
from agentcli.sessions.settings import CheckpointLimits
from agentcli.sessions.store import Store
from tests.agent.open_session import messages, open_session, results, say_to


def desk_on_disk(  # type: ignore[no-untyped-def]
    tmp_path: Path, script: object, limits: CheckpointLimits | None = None, everything: bool = False
):
    work = tmp_path / "work"
    work.mkdir()
    store = Store(tmp_path / "sessions")
    journal = store.create(work)
    kept = store.checkpoints(journal, [work], limits=limits, listing=covered if everything else None)
    return work, open_session(
        work,
        script,  # type: ignore[arg-type]
        mode="yolo",
        journal=journal,
        changes=lambda _: lambda append: OnDemand(lambda: Changes(journal, kept, append), lambda: True),
    )


def test_what_git_ignores_goes_back_where_it_is_small_and_the_rest_is_told(tmp_path: Path) -> None:
    script = [say("", call("bash", command="sh change.sh")), say("Done.")]
    work, session = desk_on_disk(tmp_path, script, everything=True)
    (work / ".gitignore").write_text(".env\nbuild/\nbig/\nnode_modules/\n")
    (work / "change.sh").write_text(
        "echo K=2 > .env; echo new > build/out.o; rm build/old.o; echo b >> src/a.py; ln -sfn b ln; mkdir src/kept"
    )
    for name in ("build", "src", "node_modules"):
        (work / name).mkdir()
    files = {".env": "K=1\n", "build/old.o": "old\n", "src/a.py": "a\n"}
    for name, text in files.items():
        (work / name).write_text(text)
    (work / "ln").symlink_to("src")
    warned = [event.message for event in say_to(session, "go") if isinstance(event, Warned)]
    told = [event.message for event in session.undo_stack.undo() if isinstance(event, Noticed)]
    named = [set(line.partition(" ")[2].partition(", which")[0].removesuffix(".").split(", ")) for line in told[:2]]
    assert named == [{".env", "build/old.o", "ln", "src/a.py"}, {"build/out.o", "src/kept"}]
    assert {name: (work / name).read_text() for name in files} == files
    assert (work / "ln").readlink() == Path("src")
    assert not (work / "src" / "kept").exists()
    assert "node_modules (was not looked into: a command installs it again)" in told[2]
    assert warned == []


def test_the_result_of_a_command_lists_the_files_that_it_changed(tmp_path: Path) -> None:
    command = "sed -i s/b/c/ src/a.py; rm old.txt; printf 'x\\ny\\n' > new.txt; echo k > ignored; chmod +x run; printf '\\0' > z"
    script = [say("", call("bash", command=command)), say("", call("bash", command="true; exit 3")), say("Done.")]
    work, session = desk_on_disk(tmp_path, script, everything=True)
    (work / "src").mkdir()
    for name, text in {".gitignore": "ignored\n", "src/a.py": "a\nb\n", "old.txt": "o\n", "run": "r\n"}.items():
        (work / name).write_text(text)
    say_to(session, "go")
    made, none = results(session)
    assert made.metadata[CHANGED] == [
        {"path": "new.txt", "created": True, "additions": 2, "deletions": 0},
        {"path": "old.txt", "deleted": True, "additions": 0, "deletions": 1},
        {"path": "run", "additions": 0, "deletions": 0},
        {"path": "src/a.py", "additions": 1, "deletions": 1},
        {"path": "z", "created": True},
    ]
    assert CHANGED not in none.metadata


def test_a_command_that_changes_many_files_lists_the_first_and_counts_the_others(tmp_path: Path) -> None:
    script = [say("", call("bash", command="for n in $(seq 100 620); do echo $n > f$n; done")), say("Done.")]
    _, session = desk_on_disk(tmp_path, script)
    say_to(session, "go")
    (made,) = results(session)
    assert [len(made.metadata[CHANGED]), made.metadata[MORE_CHANGED]] == [20, 501]


def test_an_ignored_folder_with_too_many_files_is_told_when_something_comes_or_goes_in_it(tmp_path: Path) -> None:
    script = [say("", call("bash", command="echo new > big/new; echo a > a.py")), say("Done.")]
    work, session = desk_on_disk(tmp_path, script, CheckpointLimits(ignored_files=20), everything=True)
    (work / ".gitignore").write_text("big/\n")
    (work / "big").mkdir()
    for n in range(21):
        (work / "big" / f"{n}").write_text("big\n")
    [warned] = [event.message for event in say_to(session, "go") if isinstance(event, Warned)]
    why = "big (is ignored by git and has too many files)"
    assert warned == f"/undo and /rewind cannot restore changes here: {why}."
    assert [event.message for event in session.undo_stack.undo() if isinstance(event, Noticed)] == [
        "Deleted a.py, which this session had created.",
        f"Not restored: {why}.",
    ]


def test_an_ignored_folder_with_large_files_is_told_once_in_a_session(tmp_path: Path) -> None:
    def build(name: str) -> object:
        return say("", call("bash", command=f"printf 123456789 > target/debug/{name}; printf 123456789 > {name}.bin"))

    script = [build("a"), say("Done."), build("b"), say("Done.")]
    work, session = desk_on_disk(tmp_path, script, CheckpointLimits(file_bytes=8, ignored_bytes=8), everything=True)
    (work / ".gitignore").write_text("target/\n*.o\n")
    (work / "target/debug").mkdir(parents=True)
    warned = [event.message for event in say_to(session, "go", "on") if isinstance(event, Warned)]
    why = "is larger than 8 bytes"
    assert warned == [
        f"/undo and /rewind cannot restore changes here: a.bin ({why}); target (is ignored by git, and debug/a {why}).",
        f"/undo and /rewind cannot restore changes here: b.bin ({why}).",
    ]


def test_the_next_process_of_a_session_repeats_no_warning(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "target").mkdir(parents=True)
    (work / ".gitignore").write_text("target/\n")
    store = Store(tmp_path / "sessions")
    journal = store.create(work)
    kept = store.checkpoints(journal, [work], limits=CheckpointLimits(ignored_bytes=8), listing=covered)

    def warnings(name: str) -> int:
        script = [say("", call("bash", command=f"printf 123456789 > target/{name}")), say("Done.")]
        session = open_session(
            work,
            script,
            mode="yolo",
            journal=journal,
            changes=lambda _: lambda append: OnDemand(lambda: Changes(journal, kept, append), lambda: True),
        )
        return sum(isinstance(event, Warned) for event in say_to(session, "go"))

    assert [warnings("a"), warnings("b")] == [1, 0]


def test_installed_packages_are_told_at_the_first_undo_only(tmp_path: Path) -> None:
    script = [say("", call("bash", command=f"echo {n} > a.py")) for n in range(2)]
    work, session = desk_on_disk(tmp_path, [*script, say("Done.")], everything=True)
    (work / "node_modules").mkdir()
    say_to(session, "go")
    told = [[event.message for event in session.undo_stack.undo() if isinstance(event, Noticed)] for _ in range(2)]
    assert [[line for line in lines if "node_modules" in line] for lines in told] == [
        ["Not restored: node_modules (was not looked into: a command installs it again)."],
        [],
    ]


def undone(session) -> list[str]:  # type: ignore[no-untyped-def]
    return [event.message for event in session.undo_stack.undo() if isinstance(event, Noticed)]


def test_caches_that_a_test_run_changed_are_undone_with_the_edit_that_it_tested(tmp_path: Path) -> None:
    def test(number: int) -> ToolCall:
        make = "mkdir -p .results; echo '*' > .results/.gitignore"
        return call("bash", command=f"{make}; echo run {number} >> .results/runs")

    script = [
        say("", test(1)),
        say("Failed."),
        say("", call("write", file_path="a.py", content="1\n")),
        say("", test(2)),
        say("Passed."),
        say("", test(3)),
        say("Passed again."),
    ]
    work, session = desk_on_disk(tmp_path, script, everything=True)
    say_to(session, "test", "fix", "test again")
    assert undone(session) == ["Restored .results/runs."]  # nothing else was changed for this prompt
    assert (work / ".results/runs").read_text() == "run 1\nrun 2\n"
    assert undone(session) == ["Restored .results/runs.", "Deleted a.py, which this session had created."]
    assert "with /undo or /redo: a.py. What" in session.undo_stack.news()
    assert (work / ".results/runs").read_text() == "run 1\n"
    assert undone(session) == ["Deleted .results/.gitignore, .results/runs, which this session had created."]
    session.undo_stack.redo()
    session.undo_stack.redo()
    assert (work / "a.py").exists()
    assert (work / ".results/runs").read_text() == "run 1\nrun 2\n"


def test_an_edit_of_an_ignored_file_is_a_change_of_its_own(tmp_path: Path) -> None:
    writes = [call("write", file_path=name, content="x\n") for name in ("a.py", "notes.txt")]
    work, session = desk_on_disk(tmp_path, [*(say("", one) for one in writes), say("Done.")], everything=True)
    (work / ".gitignore").write_text("notes.txt\n")
    say_to(session, "go")
    assert undone(session) == ["Deleted notes.txt, which this session had created."]
    assert (work / "a.py").exists()


def test_an_edit_and_a_command_are_undone_and_redone(tmp_path: Path) -> None:
    work, session = desk_on_disk(
        tmp_path,
        [
            say("", call("write", file_path="a.txt", content="one\n")),
            say("", call("bash", command="echo two > a.txt; echo new > b.txt")),
            say("Done."),
        ],
    )
    (work / "mine.txt").write_text("the user's\n")
    say_to(session, "go")
    assert (work / "b.txt").exists()
    session.undo_stack.undo()
    assert (work / "a.txt").read_text() == "one\n"
    assert not (work / "b.txt").exists()
    assert (work / "mine.txt").read_text() == "the user's\n"
    session.undo_stack.undo()
    assert not (work / "a.txt").exists()
    with pytest.raises(InputError):
        session.undo_stack.undo()
    session.undo_stack.redo()
    assert (work / "a.txt").read_text() == "one\n"


def test_a_command_that_only_reads_takes_no_states(tmp_path: Path) -> None:
    work, session = desk_on_disk(tmp_path, [say("", call("bash", command="ls")), say("Done.")])
    (work / "a.txt").write_text("one\n")
    say_to(session, "go")
    assert not list(session.journal.records_of("checkpoint"))


def test_files_go_back_to_what_they_were_before_a_prompt(tmp_path: Path) -> None:
    work, session = desk_on_disk(
        tmp_path,
        [
            say("", call("write", file_path="a.txt", content="one\n")),
            say("First."),
            say("", call("bash", command="echo two > a.txt")),
            say("Second."),
        ],
    )
    say_to(session, "first", "second")
    prompts = [e.seq for e in session.history.entries if isinstance(e.body, Message) and e.body.role == "user"]
    session.undo_stack.rewind_files(prompts[-1])
    assert (work / "a.txt").read_text() == "one\n"


def said(session) -> list[str]:  # type: ignore[no-untyped-def]
    return [entry.body.text for entry in session.history.entries if isinstance(entry.body, Message)]


def test_a_rewound_conversation_comes_back_with_redo(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("First."), say("Second."), say("Third.")])
    say_to(session, "first", "second")
    whole = said(session)
    second, first = (entry.seq for entry in (session.history.entries[2], session.history.entries[0]))
    session.undo_stack.rewind(second)
    session.undo_stack.rewind(first)
    assert said(session) == []
    session.undo_stack.redo()
    assert said(session) == whole[:2]
    session.undo_stack.redo()
    assert said(session) == whole
    with pytest.raises(InputError):
        session.undo_stack.redo()


def test_a_rewind_after_which_something_was_said_stays(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("First."), say("Second.")])
    say_to(session, "first")
    session.undo_stack.rewind(session.history.entries[0].seq)
    say_to(session, "other")
    with pytest.raises(InputError):
        session.undo_stack.redo()
    assert "first" not in " ".join(said(session))


def test_redo_takes_back_what_came_last_first(tmp_path: Path) -> None:
    work, session = desk_on_disk(tmp_path, [say("", call("write", file_path="a.txt", content="one\n")), say("Done.")])
    say_to(session, "go")
    whole = said(session)
    prompt = session.history.entries[0].seq
    session.undo_stack.rewind_files(prompt)
    session.undo_stack.rewind(prompt)
    assert not (work / "a.txt").exists()
    session.undo_stack.redo()
    assert said(session) == whole
    assert not (work / "a.txt").exists()
    session.undo_stack.redo()
    assert (work / "a.txt").read_text() == "one\n"
    session.undo_stack.rewind(prompt)
    session.undo_stack.undo()
    session.undo_stack.redo()
    assert (work / "a.txt").exists()
    assert said(session) == []
    session.undo_stack.redo()
    assert said(session) == whole


def test_a_rewind_that_was_taken_back_is_so_after_resuming(tmp_path: Path) -> None:
    _, session = desk_on_disk(tmp_path, [say("First."), say("Second.")])
    say_to(session, "first", "second")
    whole, info = said(session), session.journal.info
    session.undo_stack.rewind(session.history.entries[0].seq)
    session.undo_stack.redo()
    session.close()
    resumed = Store(tmp_path / "sessions").open(info.project_id, info.id)
    assert [entry.body.text for entry in resumed.history.entries] == whole
    resumed.close()


def test_what_cannot_be_taken_back_is_said_when_it_is_changed_and_when_files_go_back(tmp_path: Path) -> None:
    script = [
        say("", call("bash", command="echo more >> big.bin; echo new > a.txt")),
        say("", call("bash", command="echo again >> big.bin")),
        say("Done."),
    ]
    work, session = desk_on_disk(tmp_path, script, CheckpointLimits(file_bytes=1_000))
    (work / "big.bin").write_bytes(b"x" * 2_000)
    told = [event.message for event in say_to(session, "go") if isinstance(event, Warned)]
    assert len(told) == 1  # once a file
    assert "/undo and /rewind cannot restore changes here" in told[0]
    assert "here: big.bin (is larger than 1,000 bytes)" in told[0]
    [prompt] = [
        entry.seq for entry in session.history.entries if isinstance(entry.body, Message) and entry.body.turn == 1
    ][:1]
    said = [event.message for event in session.undo_stack.rewind_files(prompt) if isinstance(event, Noticed)]
    assert not (work / "a.txt").exists()
    assert any("Not restored" in line and "big.bin" in line for line in said)


def test_what_a_background_command_changes_later_is_said_to_be_without_a_way_back(tmp_path: Path) -> None:
    script = [say("", call("bash", command="sleep 0", run_in_background=True)) for _ in range(2)]
    _, session = desk_on_disk(tmp_path, [*script, say("Done.")])
    told = [event.message for event in say_to(session, "go") if isinstance(event, Warned)]
    assert [message for message in told if "background commands" in message] == told[:1]
    session.close()


def test_the_edits_of_one_reply_are_undone_together_and_made_again_together(tmp_path: Path) -> None:
    work, session = desk_on_disk(
        tmp_path,
        [
            say("", call("write", file_path="a.txt", content="one\n")),
            say(
                "",
                call("write", file_path="b.txt", content="two\n"),
                call("edit", file_path="a.txt", old_string="one", new_string="three"),
                call("write", file_path="c.txt", content="four\n"),
            ),
            say("Done."),
        ],
    )
    say_to(session, "go")
    names = ["a.txt", "b.txt", "c.txt"]
    assert sorted(path.name for path in work.iterdir()) == names
    session.undo_stack.undo()
    assert [path.name for path in work.iterdir()] == ["a.txt"]
    assert (work / "a.txt").read_text() == "one\n"
    session.undo_stack.redo()
    assert sorted(path.name for path in work.iterdir()) == names
    assert (work / "a.txt").read_text() == "three\n"
    session.undo_stack.undo()
    session.undo_stack.undo()
    assert list(work.iterdir()) == []


def test_an_undo_tells_what_it_deleted_from_what_it_put_back_and_leaves_no_empty_folder(tmp_path: Path) -> None:
    script = [
        say("", call("read", file_path="a.txt")),
        say(
            "",
            call("write", file_path="src/pkg/made.py", content="x\n"),
            call("edit", file_path="a.txt", old_string="one", new_string="two"),
        ),
        say("Done."),
    ]
    work, session = desk_on_disk(tmp_path, script)
    (work / "a.txt").write_text("one\n")
    say_to(session, "go")
    assert (work / "a.txt").read_text() == "two\n"
    told = [event.message for event in session.undo_stack.undo() if isinstance(event, Noticed)]
    assert told == ["Restored a.txt.", "Deleted src/pkg/made.py, which this session had created."]
    assert [path.name for path in work.iterdir()] == ["a.txt"]
    (again,) = [event.message for event in session.undo_stack.redo() if isinstance(event, Noticed)]
    assert set(again.removeprefix("Reapplied ").removesuffix(".").split(", ")) == {"a.txt", "src/pkg/made.py"}


def test_an_undo_leaves_a_folder_in_which_somebody_else_put_a_file(tmp_path: Path) -> None:
    work, session = desk_on_disk(
        tmp_path, [say("", call("write", file_path="src/made.py", content="x\n")), say("Done.")]
    )
    say_to(session, "go")
    (work / "src" / "mine.txt").write_text("mine\n")
    session.undo_stack.undo()
    assert [path.name for path in (work / "src").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("ids", [("c1", "c2"), ("c1", "c1")])
def test_the_diff_of_a_session_leaves_out_what_was_undone(tmp_path: Path, ids: tuple[str, str]) -> None:
    script = [
        say("", call("write", ids[0], file_path="a.txt", content="one\n")),
        say("", call("write", ids[1], file_path="b.txt", content="two\n")),
        say("Done."),
    ]
    _, session = desk_on_disk(tmp_path, script)
    say_to(session, "go")
    session.undo_stack.undo()
    assert "+one" in session.report.diff()
    assert "+two" not in session.report.diff()
    session.undo_stack.redo()
    assert "+two" in session.report.diff()


@pytest.mark.full
def test_one_undo_takes_back_all_files_of_a_patch_and_redo_makes_them_again(tmp_path: Path) -> None:
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n*** Move to: moved/a.py\n@@\n-a\n+A\n"
        "*** Add File: new/b.py\n+b\n*** Delete File: gone.py\n*** End Patch"
    )
    work, session = desk_on_disk(tmp_path, [say("", call("apply_patch", input=patch)), say("Done.")])
    before = {"a.py": "a\n", "gone.py": "z\n"}
    for name, text in before.items():
        (work / name).write_text(text)
    say_to(session, "go")

    def there() -> dict[str, str]:
        return {str(file.relative_to(work)): file.read_text() for file in work.rglob("*") if file.is_file()}

    after = {"moved/a.py": "A\n", "new/b.py": "b\n"}
    assert there() == after
    session.undo_stack.undo()
    assert there() == before
    assert not (work / "new").exists()
    session.undo_stack.redo()
    assert there() == after


# The stage of checkpoints alone: the changes of a call that ran inside it can be undone.


def test_the_model_is_told_once_what_was_undone_and_redone(tmp_path: Path) -> None:
    script = [say("", call("write", file_path="a.txt", content="1\n")), *[say("Done.")] * 5]
    _, session = desk_on_disk(tmp_path, script)
    told = "The user took changes back, or brought them back, with /undo or /redo: a.txt. What is on disk counts."

    def reminders() -> int:
        parts = [part for message in messages(session) if message.role == "user" for part in message.parts]
        return sum(isinstance(part, Text) and told in part.text for part in parts)

    say_to(session, "write it")
    say_to(session, "nothing was undone")
    assert reminders() == 0
    session.undo_stack.undo()
    say_to(session, "go on")
    say_to(session, "go on")
    assert reminders() == 1
    session.undo_stack.redo()
    session.undo_stack.undo()
    say_to(session, "go on")
    assert reminders() == 2


def test_what_a_rewind_restores_is_not_told_because_its_request_is_gone(tmp_path: Path) -> None:
    script = [say("Hello."), say("", call("write", file_path="a.txt", content="1\n")), say("Done."), say("Again.")]
    _, session = desk_on_disk(tmp_path, script)
    say_to(session, "hello")
    say_to(session, "write it")
    prompt = next(
        entry.seq
        for entry in reversed(session.history.entries)
        if isinstance(entry.body, Message) and entry.body.is_prompt
    )
    session.undo_stack.rewind(prompt)
    session.undo_stack.rewind_files(prompt)
    say_to(session, "again")
    assert not any(
        "with /undo" in part.text for message in messages(session) for part in message.parts if isinstance(part, Text)
    )


@pytest.mark.parametrize("commits", [True, False])
def test_a_rewind_says_to_the_model_and_the_person_that_commits_stay(tmp_path: Path, commits: bool) -> None:
    commit = "git checkout -q -b topic && git add -A && git -c user.name=a -c user.email=a@b commit -qm x"
    script = [
        say("Hello."),
        say("", call("write", file_path="a.txt", content="1\n")),
        say("", call("bash", command=commit if commits else "git status")),
        say("Done."),
        say("Again."),
        say("More."),
    ]
    work, session = desk_on_disk(tmp_path, script)
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=work, check=True)
    say_to(session, "hello")
    say_to(session, "write it")
    prompt = [entry.seq for entry in session.history.entries if getattr(entry.body, "is_prompt", False)][-1]
    stayed = "Commits and branches made since then stay: git is on topic."
    notices = [event.message for event in session.undo_stack.rewind_files(prompt) if isinstance(event, Noticed)]
    assert (stayed in notices) == commits
    session.undo_stack.rewind(prompt)
    say_to(session, "again")
    say_to(session, "more")
    told = [
        part.text for one in messages(session) for part in one.parts if isinstance(part, Text) and stayed in part.text
    ]
    assert len(told) == commits
