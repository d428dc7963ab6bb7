"""Batches by the program itself, with scripted agents."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentcli.frontends.headless.print_mode import LIFELINE
from tests.e2e.program import Program
from tests.extras.batch.repository import DONE, WRITES, ledger, results, script
from tests.extras.batch.repository import program as made

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SLEEPS = {"calls": [{"name": "bash", "input": {"command": "echo began > began.txt; sleep 600"}}]}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return made(tmp_path, ["t0", "t1", "t2"])


def run(program: Program, model: str, *more: str) -> tuple[str, ...]:
    return ("batch", "run", "tasks.jsonl", "out", "-m", model, "--unboxed", *more)


def test_a_batch_runs_checks_commits_and_merges(program: Program) -> None:
    model = script(program, WRITES, DONE)
    ran = program.run(*run(program, model, "--check", "test -f new.txt", "-j", "2"), seconds=200)
    assert ran.code == 0, ran.out + ran.err
    assert "3/3 · 3 passed" in ran.out
    lines = results(program).values()
    assert all(line["commit"] and line["check"] == 0 and line["text"] == "Done." for line in lines)
    merged = program.run("batch", "merge", "out")
    assert (merged.code, "1 task merged into agentcli/out." in merged.out) == (1, True)
    assert program.run("batch", "status", "out").out.startswith("3/3")
    assert program.run("batch", "report", "out").code == 0
    assert (program.work / "out" / "report.html").read_text().count("session.html") == 3
    assert "session:" in program.run("batch", "show", "out", "t0").out
    assert not list(trees(program).glob("out-*"))
    listed = json.loads(program.run("sessions", "list", "--json").out)
    assert len(listed) == 3


def test_each_task_is_run_with_each_model_as_often_as_requested_and_once_each(program: Program) -> None:
    good, bad = script(program, WRITES, DONE), "script:echo"
    (program.work / "terse.md").write_text("Answer in one word.")
    arguments = [
        *run(program, good, "-m", bad, "--check", "test -f new.txt", "-j", "2"),
        "--system-prompt-file",
        "terse.md",
    ]
    assert program.run(*arguments, "--only", "t0", seconds=200).code == 1
    assert sorted(results(program)) == ["t0.echo", "t0.script"]
    assert program.run(*arguments, "--only", "t0", "--repeat", "2", seconds=200).code == 1
    assert {id: line["state"] for id, line in results(program).items()} == {
        **dict.fromkeys(("t0.script", "t0.script.2"), "passed"),
        **dict.fromkeys(("t0.echo", "t0.echo.2"), "failed"),
    }
    assert sum(row["state"] in ("passed", "failed") for row in ledger(program)) == 4
    shown = program.run("batch", "compare", "out").out
    assert "echo against script: −100.0 points" in shown
    [last] = [row for row in ledger(program) if (row["id"], row["state"]) == ("t0.script.2", "passed")]
    assert last["turns"] == 2
    exported = json.loads(program.run("sessions", "export", str(last["session"]), "-f", "json").out)
    assert "Answer in one word." in json.dumps(exported)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"base": "gone"}, "Unknown commit gone in"), ({"repo": ".."}, "not a git repository")],
)
def test_a_task_without_a_commit_to_start_from_is_bad_input(
    program: Program, wrong: dict[str, str], words: str
) -> None:
    (program.work / "tasks.jsonl").write_text(json.dumps({"id": "t0", "prompt": "x", **wrong}))
    ran = program.run(*run(program, "script:echo"))
    assert ran.code == 42, ran.err
    for said in (words, "Correct the `base` or `repo`"):
        assert said in ran.err


def test_a_check_may_delete_its_tree(program: Program) -> None:
    model = script(program, WRITES, DONE)
    ran = program.run(*run(program, model, "--check", "rm -rf ./* .git && false", "--only", "t0"), seconds=200)
    assert ran.code == 1
    [line] = [row for row in ledger(program) if row["state"] == "failed"]
    assert line["commit"]


def test_a_check_sees_no_secret(program: Program) -> None:
    program.more = {**program.more, "SOME_API_KEY": "sk-ant-" + "x" * 40}
    model = script(program, WRITES, DONE)
    ran = program.run(*run(program, model, "--check", 'test -z "$SOME_API_KEY"', "--only", "t0"), seconds=200)
    assert ran.code == 0, ran.out


def test_a_task_cannot_write_outside_of_its_tree(program: Program) -> None:
    outside = program.base / "outside"
    outside.mkdir()
    content = f"echo x > {outside}/x; echo x > {program.work}/x; echo y > y\n"
    calls = [
        {"name": "write", "input": {"file_path": "run.sh", "content": content}},
        {"name": "bash", "input": {"command": "sh run.sh"}},
    ]
    model = script(program, *({"calls": [call]} for call in calls), DONE)
    ran = program.run("batch", "run", "tasks.jsonl", "out", "-m", model, "--only", "t0", seconds=200)
    if "No sandbox works here" in ran.err:
        pytest.skip(ran.err)
    assert ran.code == 0, ran.out + ran.err
    assert not (outside / "x").exists()
    assert not (program.work / "x").exists()
    assert "+++ b/y" in next((program.work / "out/tasks/t0").glob("*/patch.diff")).read_text()


def test_a_batch_whose_driver_was_killed_goes_on_in_the_same_sessions(program: Program) -> None:
    model = script(program, SLEEPS)
    driver = program.start(*run(program, model, "-j", "3"))
    until(lambda: len(list(trees(program).glob("*/began.txt"))) == 3)
    assert "3 running" in program.run("batch", "status", "out").out
    os.kill(driver.pid, signal.SIGKILL)
    driver.communicate()
    first, *tasks = program.run("batch", "status", "out").out.splitlines()
    assert first == "0/3 · 3 stopped · $0.00"
    assert sorted(tasks) == [f"stopped  t{n}  attempt 1  $0.000  Its driver ended before it." for n in range(3)]
    shown = program.run("batch", "show", "out", "t0").out
    assert shown.startswith("stopped  attempt 1  0 s  $0.000  Its driver ended before it.\n")
    sessions = {row["session"] for row in ledger(program)}
    script(program, DONE)
    ran = program.run(*run(program, model, "-j", "3"), seconds=200)
    assert ran.code == 0, ran.out + ran.err
    assert {row["session"] for row in ledger(program)} == sessions
    finals = [str(row["id"]) for row in ledger(program) if row["state"] == "passed"]
    assert sorted(finals) == ["t0", "t1", "t2"]


def test_an_agent_that_is_killed_is_lost_and_goes_on_in_its_session(program: Program) -> None:
    model = script(program, SLEEPS)
    driver = program.start(*run(program, model, "--only", "t0"))
    until(lambda: [*trees(program).glob("*/began.txt")])
    script(program, DONE)
    for pid in living(program, "--session-id"):
        os.kill(pid, signal.SIGKILL)
    out, _ = driver.communicate(timeout=120)
    assert driver.returncode == 0, out
    assert [row["state"] for row in ledger(program)] == ["running", "lost", "running", "passed"]
    assert len({row["session"] for row in ledger(program)}) == 1


def test_a_second_driver_is_refused_with_exit_code_1(program: Program) -> None:
    model = script(program, SLEEPS)
    driver = program.start(*run(program, model, "--only", "t0"))
    until(lambda: [*trees(program).glob("*/began.txt")])
    second = program.run(*run(program, model))
    assert (second.code, "Another process is already working on" in second.err) == (1, True)
    assert program.run("batch", "stop", "out").code == 0
    driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert not [*living(program)]


def test_warm_agents_are_forked_and_nothing_of_them_stays_behind(program: Program) -> None:
    model = script(program, WRITES, DONE)
    assert program.run(*run(program, model, "--warm", "--only", "t0,t1"), seconds=200).code == 0
    assert {id: line["text"] for id, line in results(program).items()} == {"t0": "Done.", "t1": "Done."}
    until(lambda: not [*living(program)])
    model = script(program, SLEEPS)
    driver = program.start("batch", "run", "tasks.jsonl", "other", "-m", model, "--unboxed", "--warm")
    until(lambda: len([*trees(program).glob("other-*/began.txt")]) == 3)
    assert [*living(program, "fork_server")]
    driver.kill()
    driver.communicate()
    until(lambda: not [*living(program)])


def test_tasks_whose_fork_server_is_killed_go_on_and_pass(program: Program) -> None:
    go = program.base / "go"
    waits = {
        "calls": [{"name": "bash", "input": {"command": f"touch began.txt; until test -e {go}; do sleep 0.1; done"}}]
    }
    driver = program.start(*run(program, script(program, waits, DONE), "--warm"))
    until(lambda: len([*trees(program).glob("out-*/began.txt")]) == 3)
    for server in living(program, "fork_server"):
        if parent(server) == driver.pid:
            os.kill(server, signal.SIGKILL)
    go.touch()
    out, err = driver.communicate(timeout=100)
    assert driver.returncode == 0, out + err
    assert {line["state"] for line in results(program).values()} == {"passed"}


def parent(pid: int) -> int:
    """The process that has started another one."""
    return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])


def test_a_run_whose_starter_is_gone_ends_as_by_a_signal(program: Program) -> None:
    watched, held = os.pipe()
    program.more = {**program.more, LIFELINE: str(watched)}
    process = program.start("-p", "go", "-m", script(program, SLEEPS), "--mode", "yolo", pass_fds=(watched,))
    os.close(watched)
    until(lambda: (program.work / "began.txt").exists())
    os.close(held)
    process.communicate(timeout=60)
    assert process.returncode == 143


def trees(program: Program) -> Path:
    """The folder of the trees."""
    return program.base / "cache" / "agentcli" / "worktrees"


def until(wanted: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not wanted():
        assert time.monotonic() < end
        time.sleep(0.1)


def living(program: Program, *words: str) -> Iterator[int]:
    """The agents of this test, and what has started them, that are alive."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().decode(errors="replace")
            home = (process / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        known = any(word in line for word in words or ("--session-id", "resume", "fork_server"))
        if known and f"HOME={program.base}\0" in home:
            yield int(process.name)
