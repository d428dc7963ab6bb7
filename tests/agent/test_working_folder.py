"""A `cd` lasts: where commands start, are judged and run, and what brings it back."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agentcli.agent.session import AgentSession
from agentcli.agent.working_folder import first_move, folder_after
from agentcli.core.message import ToolCall
from agentcli.core.record import Settings
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import parse_rules
from agentcli.providers.scripted.model import Reply, call, say
from agentcli.sessions.in_memory import MemorySession
from tests.agent.open_session import Person, open_session, results, say_to
from tests.tables import each_row


def sh(command: str) -> ToolCall:
    return call("bash", command=command)


def script(*commands: str) -> list[Reply]:
    return [*(say("", sh(command)) for command in commands), say("Done.")]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "in_a.txt").write_text("a\n")
    return folder


def ran(work: Path, *commands: str, **more: object) -> tuple[AgentSession, list[str]]:
    session = open_session(work, script(*commands), mode="yolo", **more)  # type: ignore[arg-type]
    say_to(session, "go")
    return session, [result.output for result in results(session)]


def test_a_move_lasts_until_the_next_one_and_is_told(work: Path) -> None:
    session, outputs = ran(work, "cd a", "pwd; ls", "cd b && pwd", "pwd", "cd ../.. && pwd", "pwd")
    assert f"[commands of your next replies start in a; paths for other tools still start in {work}]" in outputs[0]
    assert outputs[1].splitlines() == [f"{work}/a", "b", "in_a.txt"]
    assert outputs[2].splitlines() == [
        f"{work}/a/b",
        f"[commands of your next replies start in a/b; paths for other tools still start in {work}]",
    ]
    assert outputs[3] == f"{work}/a/b\n"
    assert outputs[4].splitlines() == [str(work), f"[commands of your next replies start in {work}]"]
    assert outputs[5] == f"{work}\n"
    assert session.core.folder.shown() == ""


@pytest.mark.parametrize("rest", ["2>&1 | tail -5", "2>/dev/null | sort | uniq", "> out.txt 2>&1 | cat && pwd"])
def test_a_move_lasts_before_a_pipe_with_redirections(work: Path, rest: str) -> None:
    _, outputs = ran(work, f"cd a && ls {rest}", "pwd")
    assert outputs[1] == f"{work}/a\n"


def test_a_move_out_of_the_workspace_does_not_last(work: Path) -> None:
    _, outputs = ran(work, "cd / && pwd", "pwd", "cd a", "cd /tmp", "pwd")
    assert outputs[0].splitlines() == ["/", f"[the next command starts in {work} again]"]
    assert outputs[1] == f"{work}\n"
    assert "[the next command starts in a again]" in outputs[3]
    assert outputs[4] == f"{work}/a\n"


def test_a_failed_command_moves_only_where_that_is_certain(work: Path) -> None:
    _, outputs = ran(work, "cd a && false", "pwd", "false && cd b", "pwd", "cd nowhere", "pwd")
    assert outputs[1] == outputs[3] == outputs[5] == f"{work}/a\n"
    assert "[the next command starts in a again]" in outputs[2]


def test_the_same_relative_move_works_again_for_models_that_expect_a_fresh_shell(work: Path) -> None:
    _, outputs = ran(work, "cd a && ls", "cd a && ls", "cd a && pwd")
    assert outputs[1].splitlines() == ["b", "in_a.txt"]
    assert outputs[2].splitlines()[0] == f"{work}/a"


def test_a_command_with_a_folder_of_its_own_runs_there_wherever_the_session_is(work: Path) -> None:
    calls = [call("shell", command="pwd", workdir=folder) for folder in (str(work / "a"), str(work), "a/b")]
    session = open_session(work, [*(say("", each) for each in calls), say("Done.")], mode="yolo")
    say_to(session, "go")
    told = [result.output.splitlines()[0] for result in results(session)]
    assert told == [f"{work}/a", str(work), f"{work}/a/b"]


def test_a_move_in_a_subshell_is_none(work: Path) -> None:
    _, outputs = ran(work, "(cd a && pwd)", "pwd")
    assert outputs == [f"{work}/a\n", f"{work}\n"]


def test_commands_of_one_reply_start_in_the_same_folder(work: Path) -> None:
    session = open_session(work, [say("", sh("cd a"), sh("pwd")), say("", sh("pwd")), say("Done.")], mode="yolo")
    say_to(session, "go")
    assert [result.output for result in results(session)][1:] == [f"{work}\n", f"{work}/a\n"]


def test_rules_judge_a_command_in_the_folder_it_starts_in(work: Path) -> None:
    (work / "a" / ".env.local").write_text("SECRET=1\n")
    rules = parse_rules(deny=["read(a/.env.local)"])
    _, outputs = ran(work, "cd a", "cat .env.local", "cat in_a.txt", rules=rules)
    assert "SECRET" not in outputs[1]
    assert outputs[2] == "a\n"


def test_a_command_that_leaves_the_workspace_from_a_folder_in_it_is_seen(work: Path) -> None:
    person = Person()
    session = open_session(work, script("cd a", "cat ../in_work.txt", "cat ../../outside.txt"), person=person)
    (work / "in_work.txt").write_text("w\n")
    (work.parent / "outside.txt").write_text("o\n")
    say_to(session, "go")
    assert [result.status for result in results(session)] == ["success", "success", "denied"]
    assert [ask.why.startswith(f"It starts in {work}/a.") for ask in person.asked] == [True]


def test_it_is_part_of_the_session_on_resume_and_gone_with_its_folder(work: Path) -> None:
    journal = MemorySession()
    ran(work, "cd a", journal=journal)
    again, outputs = ran(work, "pwd", journal=journal)
    assert outputs[-1] == f"{work}/a\n"
    assert again.core.folder.shown() == "a"
    (work / "a" / "in_a.txt").unlink()
    (work / "a" / "b").rmdir()
    (work / "a").rmdir()
    assert again.core.folder.now == work


def test_it_is_carried_over_a_compaction(work: Path) -> None:
    session, _ = ran(work, "cd a")
    assert session.history.carry.folder == str(work / "a")


def test_a_folder_of_another_place_is_not_taken(work: Path, tmp_path: Path) -> None:
    journal = MemorySession()
    journal.append(Settings(folder="/etc"))
    session = open_session(work, script("pwd"), mode="yolo", journal=journal)
    assert session.core.folder.now == work


@pytest.mark.parametrize(
    ("text", "succeeded", "folder"),
    [
        ("ls", True, "."),
        ("cd a", True, "a"),
        ("cd a/b && make", True, "a/b"),
        ("cd a && make", False, "a"),
        ("make && cd a", False, None),
        ("cd a; cd b", True, "a/b"),
        ('cd "$(mktemp -d)"', True, None),
        ("cd a | cat", True, "."),
        ("echo cd a", True, "."),
        ("cd -", True, None),
        ("cd a && cd ..", True, "."),
    ],
)
def test_the_folder_after_a_line_is_known_or_not(work: Path, text: str, succeeded: bool, folder: str | None) -> None:
    after = folder_after(text, Workspace(work), succeeded=succeeded)
    assert after == (None if folder is None else work / folder)


@each_row(
    ("text", "folder"),
    [("cd a && ls", "a"), ("cd 'a b'", ""), ("cd /a", ""), ("cd $X", ""), ("ls; cd a", ""), (" cd -- a/b; x", "a/b"), ("cd ~", "")],
)  # fmt: skip
def test_the_first_move_of_a_line_is_found(text: str, folder: str) -> None:
    assert first_move(text) == folder


@each_row(
    ("text", "folder"),
    [
        ("cd src", "src"),
        ("  cd src && make", "src"),
        ("pushd src; make", "src"),
        ("cd 'my.dir' && make", "my.dir"),
        ("cd -- src\nmake", "src"),
        ("cd src/pkg && make", "src/pkg"),
        ("cd /src", ""),
        ("cd ../src", "../src"),
        ("cd ~", ""),
        ("cd $x", ""),
        ("cd src || make", ""),
        ("make && cd src", ""),
        ("cd", ""),
    ],
)
def test_a_line_moves_first_to_a_relative_folder(text: str, folder: str) -> None:
    assert first_move(text) == folder


@each_row(
    ("text", "succeeded", "folder"),
    [
        ("make", True, "."),
        ("make", False, "."),
        ("cd src", True, "src"),
        ("cd src", False, "src"),
        ("cd src && make", False, "src"),
        ("cd src && cd pkg", True, "src/pkg"),
        ("cd src && cd pkg", False, None),
        ("make && cd src", True, "src"),
        ("make && cd src", False, None),
        ("(cd src && make)", True, "."),
        ("cd gone", True, None),
        ("echo cd", True, "."),
    ],
)
def test_a_line_ends_in_a_folder_if_that_is_certain(
    text: str, succeeded: bool, folder: str | None, tmp_path: Path
) -> None:
    (tmp_path / "src/pkg").mkdir(parents=True)
    workspace = Workspace(tmp_path, (tmp_path,), tmp_path / "home")
    found = folder_after(text, workspace, succeeded=succeeded)
    assert found == (None if folder is None else tmp_path / folder)


def test_a_work_tree_that_a_command_makes_is_the_sessions_own_and_no_other(work: Path) -> None:
    top = work.parent
    for line in ("init -q -b main", "-c user.name=a -c user.email=a@b commit -q --allow-empty -m First"):
        subprocess.run(["git", *line.split()], cwd=work, check=True)
    subprocess.run(["git", "worktree", "add", "-q", "../theirs", "-b", "theirs"], cwd=work, check=True)
    found = list[Path]()
    commands = (
        "git worktree add -q ../own -b own; git worktree add -q inner -b inner",
        "T=hid; git worktree add -q ../${T}e -b other",
        "git worktree move ../theirs ../moved; git worktree list",
        "git worktree remove ../own && git branch -q renamed",
        "git worktree add -q ../own own",
    )
    ran(work, *commands, add_work_tree=found.append)
    assert found == [work / "inner", top / "own", top / "own"]
