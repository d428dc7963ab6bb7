"""`agentcli sessions` and resuming, as a user has them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentcli.program.doctor import NEWEST_SESSIONS
from agentcli.providers.scripted.model import Reply, call, say
from agentcli.sessions.store import Store
from tests.e2e.program import Program
from tests.loopback import Asked, Loopback
from tests.sessions.bodies import user

CLAUDE = "anthropic/claude-sonnet-5"


def say_once(program: Program, words: str, *arguments: str) -> str:
    """One prompt in a session of its own, or in the one that `arguments` resume; the session's id."""
    ran = program.run(*arguments, "-p", words, "-m", "script:echo", "-o", "json")
    assert ran.code == 0, ran.err
    return str(ran.result["session_id"])


def listed(program: Program) -> list[dict[str, object]]:
    return list(json.loads(program.run("sessions", "list", "--json").out))


def test_forks_are_listed_below_what_they_came_from(program: Program) -> None:
    first = say_once(program, "the root")
    other = say_once(program, "another")
    fork = program.run("sessions", "fork", first, "--at", "2").out.strip()
    twig = say_once(program, "deeper", "resume", fork, "--fork")
    lines = program.run("sessions", "list").out.splitlines()[1:]
    order = [line.split()[0] for line in lines]
    assert order.index(fork) == order.index(first) + 1
    assert order.index(twig) == order.index(fork) + 1
    depths = {line.split()[0]: line.find("└") for line in lines}
    assert depths[first] == depths[other] == -1
    assert 0 < depths[fork] < depths[twig]
    parents = {one["id"]: one["parent"] for one in listed(program)}
    assert parents[fork] == {"session": first, "seq": 2, "kind": "fork"}
    assert len(program.records(fork)) == 2


def test_a_fork_at_a_record_that_is_not_there_says_which_there_are(program: Program) -> None:
    first = say_once(program, "hello")
    ran = program.run("sessions", "fork", first, "--at", "99")
    assert ran.code == 42
    assert "has no record 99" in ran.err


@pytest.mark.slow
def test_a_list_and_a_search_say_the_same_with_a_parser_and_without(program: Program) -> None:
    say_once(program, "find the needle")
    say_once(program, "there is none")
    for plain, parsed in (
        (["list"], ["list", "--limit", "0", "-C", "."]),
        (["list", "--limit=1"], ["list", "--limit", "1", "-C", "."]),
        (["list", "--trash"], ["list", "--trash", "-C", "."]),
        (["list", "--all", "--json"], ["list", "--json", "--all", "-C", "."]),
        (["search", "needle"], ["search", "needle", "--limit", "20", "-C", "."]),
        (["search", "--json", "find", "needle"], ["search", "find", "--json", "--limit=20", "needle", "-C", "."]),
    ):
        first, second = program.run("sessions", *plain), program.run("sessions", *parsed)
        assert (first.code, first.out) == (second.code, second.out) == (0, first.out)
    many = say_once(program, "needle")
    for _ in range(4):
        say_once(program, "needle once more", "resume", many)
    assert "and 7 more\n" in program.run("sessions", "search", "needle").out
    assert "and 7 more\n" not in program.run("sessions", "search", "needle", "--hits", "50").out
    assert program.run("sessions", "list", "--jsn").code == 2
    assert program.run("sessions", "search").code == 2
    for given in (["--limit"], ["--limit", "few"], ["--limit", "-1"], ["--limit=1", "--limit=2"], ["--hits", "1"]):
        assert program.run("sessions", "list", *given).code == 2
    assert "Usage" in program.run("sessions", "search", "--help").out


@pytest.mark.full
def test_on_a_terminal_the_list_is_the_picker_of_resume(program: Program) -> None:
    for text in ("first words", "second words"):
        program.run("-p", text, "-m", "script:echo")
    shown = []
    for command in (("resume",), ("sessions", "list"), ("sessions", "list", "-C", str(program.work))):
        with program.terminal(*command) as t:
            t.until("Resume which session?", "❯ second words", "Enter · Ctrl-R rename")
            shown.append([line for line in t.screen() if "words" in line])
            t.send("\x1b", until="No session chosen.")
            assert t.wait() == 0
    assert shown[0] == shown[1] == shown[2]
    with program.terminal("sessions", "list", "--limit", "1", columns=100) as t:
        t.until("last used", "second words")


def test_show_prints_plainly_where_nobody_pages(program: Program) -> None:
    first = say_once(program, "hello")
    whole = program.run("sessions", "show", first).out
    assert "#2 user" in whole
    assert "#3 assistant" in whole
    part = program.run("sessions", "show", first, "--offset", "2", "--limit", "1").out
    assert part.startswith("#3 assistant")
    assert "#2" not in part
    entries = json.loads(program.run("sessions", "show", first, "--json", "--offset", "1", "--limit", "1").out)[
        "entries"
    ]
    assert [entry["seq"] for entry in entries] == [2]


def test_show_goes_through_the_pager_on_a_terminal(program: Program) -> None:
    first = say_once(program, "hello \x1b[31mred")
    program.more = {"PAGER": "cat -A; echo paged"}
    with program.terminal("sessions", "show", first, columns=100, rows=30) as t:
        assert t.wait() == 0
        screen = "\n".join(t.history())
    assert "#2 user$" in screen
    assert "paged" in screen
    assert "^[[31m" not in screen


@pytest.mark.full
def test_a_session_that_is_open_elsewhere_can_be_read_or_forked(program: Program) -> None:
    first = say_once(program, "hello")
    (folder,) = program.sessions.glob(f"*/{first}")
    holder = program.start("resume", first, "-p", "on", "-m", "script:long-reply:200@100", "-o", "stream-json")
    try:
        assert holder.stdout is not None
        while '"delta":' not in holder.stdout.readline().replace(" ", ""):
            pass
        refused = program.run("resume", first, "-p", "me too", "-m", "script:echo")
        assert refused.code != 0
        assert f"process {holder.pid}" in refused.err
        assert f"agentcli sessions show {first}" in refused.err
        assert f"agentcli resume {first} --fork" in refused.err
        assert "#2 user" in program.run("sessions", "show", first).out
        copy = say_once(program, "in a copy", "resume", first, "--fork")
        assert copy != first
        assert folder.is_dir()
        assert program.run("sessions", "delete", first).code != 0
    finally:
        holder.kill()
        holder.communicate()


def test_a_deleted_session_is_fetched_back(program: Program) -> None:
    first = say_once(program, "precious")
    assert first in program.run("sessions", "delete", first).out
    assert listed(program) == []
    assert program.run("resume", first, "-p", "x", "-m", "script:echo").code != 0
    assert program.run("sessions", "delete", "--undo", first).code == 0
    assert [one["id"] for one in listed(program)] == [first]
    assert program.run("sessions", "check").out == "1 of 1 session OK.\n"


def test_a_damaged_session_is_found_by_check_and_doctor_and_mended(program: Program) -> None:
    first = say_once(program, "hello")
    (record,) = program.sessions.glob(f"*/{first}/records/000003-*")
    record.write_bytes(record.read_bytes()[:-20])
    assert "1 damaged" in program.run("doctor").out
    ran = program.run("sessions", "check", "--json")
    assert ran.code == 1
    [report] = json.loads(ran.out)
    assert next(problem["seq"] for problem in report["problems"] if problem["severity"] == "error") == 3
    assert "damaged/" in program.run("sessions", "check", "--repair").out
    assert program.run("sessions", "check").code == 0
    assert "0 damaged" in program.run("doctor").out
    assert say_once(program, "go on", "resume", first) == first


def test_retention_sweeps_what_it_says_and_nothing_by_default(program: Program) -> None:
    ids = [say_once(program, f"number {n}") for n in range(3)]
    assert program.run("sessions", "sweep").out == "Moved 0 sessions to the trash.\n"
    program.config("[retention]\ncount = 1\n")
    would = program.run("sessions", "sweep", "--dry-run").out
    assert ids[0] in would
    assert ids[1] in would
    assert len(listed(program)) == 3
    program.run("sessions", "sweep")
    assert [one["id"] for one in listed(program)] == [ids[2]]
    assert program.run("sessions", "delete", "--undo", ids[0]).code == 0


@pytest.mark.full
def test_a_session_that_is_left_alone_gets_a_better_title_from_the_cheap_model(program: Program) -> None:
    def model(asked: Asked) -> Reply:
        return say(
            "The clock is wrong on Mondays." if "haiku" not in str(asked.json["model"]) else "Login test and time"
        )

    with Loopback(model) as server:
        program.more = server.env
        with program.terminal("-m", CLAUDE, "--set", "ui.idle_after=1", columns=100, rows=30) as t:
            t.until("/968k")
            t.send("please find out why the login test fails\r", until="wrong on Mondays")
            ends = time.monotonic() + 20
            while len(server.requests) < 2 and time.monotonic() < ends:
                t.settle(0.2, 0.5)
            t.settle(0.3)
            t.send("\x04")
            assert t.wait() == 0
            assert "Login test and time" not in "\n".join(t.history())
    assert len(server.requests) == 2
    [one] = listed(program)
    assert one["title"] == "Login test and time"
    spent = [record["usage"]["input"] for record in program.records() if record.get("usage")]
    assert len(spent) == 2
    assert one["usage"]["input"] == sum(spent)  # type: ignore[index]


def test_a_run_without_a_person_asks_for_no_title(program: Program) -> None:
    with Loopback(lambda _: say("done")) as server:
        program.more = server.env
        assert program.run("-p", "do it", "-m", CLAUDE).code == 0
    assert len(server.requests) == 1


@pytest.mark.full
def test_a_rewind_of_both_goes_back_and_forth_and_leaves_git_alone(program: Program) -> None:
    def model(asked: Asked) -> Reply:
        if asked.turns[-1]["role"] == "user" and "write it" in asked.last_text:
            return say("", call("write", file_path="b.txt", content="new\n"), call("bash", command="echo two > a.txt"))
        return say("It is done.")

    work = program.work
    (work / "a.txt").write_text("one\n")
    for command in (["init", "-q"], ["add", "a.txt"]):
        subprocess.run(["git", *command], cwd=work, env=program.env, check=True)
    before = tree(work / ".git")
    with Loopback(model) as server:
        program.more = server.env
        with program.terminal("-m", CLAUDE, "--mode", "yolo", columns=100, rows=40, cwd=str(work)) as t:
            t.until("/968k")
            t.send("write it\r", until="It is done.")
            assert (work / "b.txt").exists()
            t.send("/rewind\r", until="Rewind to which prompt?")
            t.send("\r", until="Restore what?")
            t.send("\x1b[B\x1b[B\r", until="Restored")
            t.settle()
            assert (work / "a.txt").read_text() == "one\n"
            assert not (work / "b.txt").exists()
            t.send("\x15/redo\r", until="/redo once more")
            assert (work / "a.txt").read_text() == "one\n"
            t.send("/redo\r", until="Reapplied")
            assert (work / "a.txt").read_text() == "two\n"
            assert (work / "b.txt").read_text() == "new\n"
            t.settle()
            t.send("\x04")
            assert t.wait() == 0
    assert tree(work / ".git") == before
    [one] = listed(program)
    assert one["summary"] == {"additions": 1, "deletions": 0, "files": 2}


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_rewind_asks_about_files_only_if_some_have_changed(program: Program) -> None:
    with program.terminal("-m", "script:echo", columns=100, rows=40) as t:
        t.until("k/1")
        t.send("just talk\r", until="\njust talk")
        t.settle()
        t.send("/rewind\r", until="Rewind to which prompt?")
        t.send("\r", until="Rewound to before")
        assert "Restore what?" not in "\n".join(t.history())
        t.settle()
        t.send("\x15")
        t.settle()
        t.send("\x04")
        assert t.wait() == 0
    assert [record["target"] for record in program.records() if record["kind"] == "undo"] == ["rewind"]


def test_a_pinned_session_outlives_retention(program: Program) -> None:
    first, other = say_once(program, "keep me"), say_once(program, "goodbye")
    say_once(program, "the newest")
    config = program.base / "config" / "agentcli" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[retention]\ncount = 1\n")
    assert program.run("sessions", "pin", first).code == 0
    would = program.run("sessions", "sweep", "--dry-run").out
    assert other in would
    assert first not in would
    assert program.run("sessions", "pin", first, "--undo").code == 0
    assert first in program.run("sessions", "sweep", "--dry-run").out


def test_what_was_deleted_is_listed_until_it_is_fetched_back(program: Program) -> None:
    first = say_once(program, "to be deleted")
    assert program.run("sessions", "delete", first).code == 0
    assert program.run("sessions", "list").out.startswith("No sessions of this project. See `agentcli help sessions`.")
    assert first in program.run("sessions", "list", "--trash").out
    missing = program.run("sessions", "delete", "--undo", first, "nope")
    assert (missing.code, missing.out) == (42, "")
    assert "Unknown session 'nope' in the trash." in missing.err
    assert program.run("sessions", "delete", "--undo", first[:-2], first).out == f"Restored {first}.\n"
    assert program.run("sessions", "list", "--trash").out == "The trash is empty.\n"
    assert [one["id"] for one in listed(program)] == [first]


def damaged(program: Program) -> str:
    """A session of four records whose second cannot be read."""
    session = say_once(program, "the first words")
    [folder] = program.sessions.glob(f"*/{session}")
    os.truncate(folder / "records" / "000002-message.json", 40)
    return session


def test_a_record_that_is_lost_is_named_when_a_session_is_resumed(program: Program) -> None:
    session = damaged(program)
    ran = program.run("resume", session, "-p", "go on", "-m", "script:echo", "-o", "stream-json")
    assert ran.code == 0
    [warning] = [each for each in ran.of("warning") if "Non-interactive run" not in each["message"]]
    assert "record 2 is damaged" in warning["message"]
    again = program.run("resume", session, "-p", "and on", "-m", "script:echo", "-o", "stream-json")
    # It is told once, and kept aside.
    assert [each for each in again.of("warning") if "Non-interactive run" not in each["message"]] == []
    [folder] = program.sessions.glob(f"*/{session}")
    assert [path.name for path in (folder / "damaged").iterdir()] == ["000002-message.json"]


def test_a_record_that_is_lost_is_named_by_whatever_reads_the_session(program: Program) -> None:
    session = damaged(program)
    for command in (["show", session, "--json"], ["export", session]):
        ran = program.run("sessions", *command)
        assert ran.code == 0
        assert "note: record 2 is damaged" in ran.err
        assert "record 2" not in ran.out


@pytest.mark.full
@pytest.mark.parametrize("more", [[], ["--plain"]], ids=["terminal", "plain"])
def test_a_person_is_told_of_lost_records_and_ignored_settings_before_anything_is_said(
    program: Program, more: list[str]
) -> None:
    session = damaged(program)
    program.more = {"AGENTCLI_CONTXT__SOFT": "0.5"}
    with program.terminal("resume", session, *more, columns=100, rows=40) as t:
        t.until("record 2 is damaged", "Unknown setting 'contxt.soft'")
        t.send("/quit\r")
        assert t.wait() == 0


@pytest.mark.full
@pytest.mark.parametrize("files", [8, 10, 13])
def test_a_program_that_may_open_few_files_answers_and_says_what_it_cannot_save(program: Program, files: int) -> None:
    command = f"ulimit -n {files}; exec {sys.executable} -m agentcli -p hello -m script:echo"
    ran = subprocess.run(
        ["bash", "-c", command], env=program.env, cwd=program.work, capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in ran.stderr
    assert (ran.returncode, ran.stdout) == (0, "hello\n")
    assert listed(program) or "not being saved" in ran.stderr


@pytest.mark.full
def test_the_doctor_reads_the_newest_sessions_and_says_how_many(program: Program) -> None:
    damaged(program)
    say_once(program, "sound")
    assert "2 in this project, 1 damaged: run" in program.run("doctor").out
    store = Store(program.sessions)
    for _ in range(NEWEST_SESSIONS - 1):
        session = store.create(program.work)
        session.append(user("hello"))
        session.close()
    said = f"{NEWEST_SESSIONS + 1} in this project, the newest {NEWEST_SESSIONS} checked, 0 damaged"
    assert said in program.run("doctor").out


def test_where_sessions_cannot_be_kept_at_all_the_conversation_goes_on(program: Program) -> None:
    program.more = {"XDG_DATA_HOME": "/dev/null"}
    ran = program.run("-p", "hello", "-m", "script:echo")
    assert (ran.code, ran.out) == (0, "hello\n")
    assert "not being saved: Not a directory" in ran.err
    assert "Traceback" not in ran.err
    for command in (["list"], ["search", "x"], ["check"]):
        assert program.run("sessions", *command).code == 0


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def test_a_project_that_was_moved_has_its_sessions(program: Program) -> None:
    old, new = program.work / "old", program.work / "new"
    old.mkdir()
    git(old, "init", "-q")
    git(old, "commit", "-q", "--allow-empty", "-m", "first")
    first = say_once(program, "before the move", "-C", str(old))
    old.rename(new)
    listing = program.run("sessions", "list", "-C", str(new)).out
    assert first in listing
    assert f"old: {old} (gone)" in listing
    ran = program.run("-c", "-C", str(new), "-p", "after it", "-m", "script:echo", "-o", "stream-json")
    assert ran.result["session_id"] == first
    assert any(f"started in {old}, which is gone" in warning["message"] for warning in ran.of("warning"))
    out = program.run("sessions", "move", "-C", str(new)).out
    assert f"Moved {first} from " in out
    assert "(gone)" not in program.run("sessions", "list", "-C", str(new)).out
    [one] = json.loads(program.run("sessions", "list", "--json", "-C", str(new)).out)
    assert (one["id"], one["directory"]) == (first, str(new))
    ran = program.run("-c", "-C", str(new), "-p", "on", "-m", "script:echo", "-o", "stream-json")
    assert ran.result["session_id"] == first
    assert all("Non-interactive run" in warning["message"] for warning in ran.of("warning"))


def test_a_folder_outside_of_any_repository_is_moved_by_a_command_that_is_offered(program: Program) -> None:
    old, new = program.work / "old", program.work / "new"
    old.mkdir()
    first, second = (say_once(program, words, "-C", str(old)) for words in ("one", "two"))
    old.rename(new)
    refused = program.run("-c", "-C", str(new), "-p", "x", "-m", "script:echo")
    assert refused.code == 42
    assert f"folders that are gone: {old}" in refused.err
    assert "agentcli sessions move --from" in program.run("sessions", "list", "-C", str(new)).out
    assert program.run("sessions", "move", "-C", str(new)).code == 2
    assert program.run("sessions", "move", "-C", str(new), "--from", "/nowhere").code == 42
    assert program.run("sessions", "move", first, "--to", str(new)).code == 0
    assert program.run("sessions", "move", "--from", "old", "--to", "new").code == 0
    there = json.loads(program.run("sessions", "list", "--json", "-C", str(new)).out)
    assert {one["id"] for one in there} == {first, second}
    assert program.run("-c", "-C", str(new), "-p", "x", "-m", "script:echo").code == 0


def test_a_name_that_another_session_has_is_refused(program: Program) -> None:
    first, second = say_once(program, "one"), say_once(program, "two")
    assert program.run("sessions", "rename", first, "mine").code == 0
    refused = program.run("sessions", "rename", second, "mine")
    assert refused.code == 42
    assert first in refused.err
    assert say_once(program, "on", "resume", "mine") == first


@pytest.mark.full
def test_several_sessions_are_deleted_at_once_and_pinned_ones_only_if_that_is_meant(program: Program) -> None:
    ids = [say_once(program, f"number {n}") for n in range(4)]
    assert program.run("sessions", "delete", ids[0], "nothing").code == 42
    assert len(listed(program)) == 4
    assert program.run("sessions", "delete", ids[0], ids[1], ids[0]).code == 0
    assert {one["id"] for one in listed(program)} == {ids[2], ids[3]}
    program.run("sessions", "pin", ids[2])
    refused = program.run("sessions", "delete", ids[2], ids[3])
    assert refused.code == 2
    assert f"Nothing was deleted: these sessions are pinned: {ids[2]}" in refused.err
    assert len(listed(program)) == 2
    for answer, left in (("n", 2), ("y", 1)):
        with program.terminal("sessions", "delete", ids[2], columns=120, rows=10) as t:
            t.until("Delete anyway?")
            t.send(f"{answer}\r")
            assert t.wait() == (answer == "n")
        assert len(listed(program)) == left
    assert program.run("sessions", "delete", "--undo", ids[0], ids[2]).code == 0
    assert program.run("sessions", "delete", "--force", ids[0], ids[2]).code == 0
    assert [one["id"] for one in listed(program)] == [ids[3]]


def test_a_new_session_takes_the_id_that_it_is_given_once(program: Program) -> None:
    first = program.ask("-p", "hi", "-m", "script:echo", "--session-id", "my-own-id-1")
    assert (first.code, first.result["session_id"]) == (0, "my-own-id-1")
    again = program.ask("-p", "hi", "-m", "script:echo", "--session-id", "my-own-id-1")
    assert (again.code, again.result["subtype"]) == (42, "input")
    assert program.ask("resume", "my-own-id-1", "-p", "more").code == 0
    assert program.run("resume", "my-own-id-1", "-p", "more", "--session-id", "my-own-id-2").code == 2


def test_an_export_has_the_format_of_its_file_unless_one_is_given(program: Program) -> None:
    id = program.ask("-p", "hello", "-m", "script:echo").result["session_id"]
    for name, given, start in [
        ("page.HTML", [], "<!doctype html>"),
        ("all.json", [], '{"'),
        ("told.md", [], "# "),
        ("told", [], "# "),
        ("page.pdf", ["-f", "html"], "<!doctype html>"),
        ("trajectory.json", ["-f", "atif"], '{"schema_version":"ATIF'),
    ]:
        assert program.run("sessions", "export", id, "-o", name, *given).code == 0
        assert (program.work / name).read_text().startswith(start), name
    refused = program.run("sessions", "export", id, "-o", "other.pdf")
    assert (refused.code, (program.work / "other.pdf").exists()) == (42, False)
    assert "Can't export to .pdf files. Name the file .md, .html or .json. Or give the format with -f." in refused.err


def test_an_export_that_fails_leaves_the_file_as_it_was(program: Program) -> None:
    id = program.ask("-p", "hello", "-m", "script:echo").result["session_id"]
    kept, link = program.work / "kept.md", program.work / "link.md"
    kept.write_text("old")
    link.symlink_to(kept)
    program.work.chmod(0o500)  # no file can be made beside it
    refused = program.run("sessions", "export", id, "-o", str(kept))
    program.work.chmod(0o700)
    if os.geteuid():
        assert (refused.code, kept.read_text()) == (42, "old")
    assert program.run("sessions", "export", id, "-o", str(link)).code == 0
    assert (link.is_symlink(), "hello" in kept.read_text()) == (True, True)
    assert sorted(path.name for path in program.work.iterdir()) == ["kept.md", "link.md"]
    (program.work / "loop").symlink_to("loop")
    assert program.run("sessions", "export", id, "-o", "loop").code == 0
    assert "hello" in (program.work / "loop").read_text()
    nowhere = program.run("sessions", "export", id, "-o", str(kept / "below"))
    assert (nowhere.code, "Name another file with -o" in nowhere.err) == (42, True)
