"""What a person answers once in mode auto holds for the session: a machine, a push, a folder."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from agentcli.permissions.sandbox import detect
from tests.e2e.program import Program

pytestmark = pytest.mark.skipif(detect().kind != "bubblewrap", reason="bubblewrap does not work here")
_SSH = """#!/bin/sh
echo "$@" >> {log}
for last; do :; done
case "$last" in git-receive-pack*) exec sh -c "$last" ;; esac
echo "from afar"
"""


@pytest.fixture
def home() -> Iterator[Program]:
    """The program with a home that is not below /tmp, which is another folder in the sandbox."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Program(Path(folder).resolve())


@pytest.fixture
def afar(home: Program) -> Program:
    """The program with an `ssh` that keeps what it is asked, and reaches only this machine."""
    program = home
    folder = program.base / "bin"
    folder.mkdir()
    (folder / "ssh").write_text(_SSH.format(log=program.base / "ssh.log"))
    (folder / "ssh").chmod(0o755)
    program.more = {**program.more, "PATH": f"{folder}:{os.environ['PATH']}"}
    return program


def script(program: Program, commands: Sequence[str]) -> str:
    """A model that calls these commands one by one."""
    replies = [{"calls": [{"name": "bash", "input": {"command": command}}]} for command in commands]
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": [*replies, {"text": "All done."}]}))
    return f"script:{file}"


def test_a_machine_is_asked_about_once(afar: Program) -> None:
    reads = [
        "ssh box.example.org uptime",
        "ssh -p 22 me@box.example.org 'tail -3 /var/log/a.log' | python3 -c 'print(1)'",
    ]
    model = script(afar, [*reads, "ssh box.example.org 'touch /srv/x'"])
    with afar.terminal("-m", model, "--mode", "auto", columns=120) as t:
        t.until("? keys")
        t.send("go\r", until="1. Yes, and reading box.example.org by ssh in this session")
        t.send("1", until="may change box.example.org")
        t.send("n", until="do instead")
        t.send("\r", until="All done.")
    asked = (afar.base / "ssh.log").read_text().splitlines()
    assert asked == ["box.example.org uptime", "-p 22 me@box.example.org tail -3 /var/log/a.log"]


def test_one_answer_allows_all_changes_on_a_machine_but_no_deletion(afar: Program) -> None:
    lines = [f"ssh box.example.org '{there}'" for there in ("systemctl restart app", "mv a b && ./start", "rm a")]
    with afar.terminal("-m", script(afar, lines), "--mode", "auto", columns=60) as t:
        t.until("? keys")
        t.send("go\r", until="4. Always allow here `ssh box.example.org` with any")
        t.send("p", until="$ ssh box.example.org 'rm a'")
        assert "Always allow here" not in "\n".join(t.screen())
        t.send("n", until="do instead")
        t.send("\r", until="All done.")
    asked = (afar.base / "ssh.log").read_text().splitlines()
    assert asked == ["box.example.org systemctl restart app", "box.example.org mv a b && ./start"]


def test_a_container_is_asked_about_once_unless_a_command_only_reads(afar: Program) -> None:
    docker = afar.base / "bin/docker"
    docker.write_text(f'#!/bin/sh\necho "$@" >> {afar.base}/docker.log\n')
    docker.chmod(0o755)
    lines = [
        "docker exec web ls",
        "docker exec web touch a",
        "docker exec web sh -c 'ls | wc -l' | python3 -c 'print(1)'",
        "docker exec web rm -r /data",
        "docker exec db touch a",
    ]
    with afar.terminal("-m", script(afar, lines), "--mode", "auto", columns=120) as t:
        t.until("? keys")
        t.send("go\r", until="1. Yes, and using the container web in this session")
        t.send("1", until="it removes folders there")
        t.send("n", until="do instead")
        t.send("\r", until="1. Yes, and using the container db in this session")
        t.send("2", until="All done.")
    asked = (afar.base / "docker.log").read_text().splitlines()
    assert asked == ["exec web ls", "exec web touch a", "exec web sh -c ls | wc -l", "exec db touch a"]


def test_commits_that_run_a_hook_are_asked_about_once(home: Program) -> None:
    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=home.work, env=home.env, check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q", "-b", "main")
    for name, value in (("user.name", "a"), ("user.email", "a@example.org")):
        git("config", name, value)
    hook = home.work / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\necho ran >> {home.base}/hook.log\n")
    hook.chmod(0o755)
    lines = [f"echo {number} > a.txt && git add -A && git commit -qm {number}" for number in ("second", "third")]
    lines = [*lines, "git commit -q --allow-empty -m fourth"]
    with home.terminal("-m", script(home, lines), "--mode", "auto", columns=100) as t:
        t.until("? keys")
        t.send("go\r", until="1. Yes, and `git commit …` in this session")
        t.send("1", until="All done.")
    assert git("log", "--format=%s").split()[:3] == ["fourth", "third", "second"]
    assert (home.base / "hook.log").read_text() == "ran\n" * 3
    given = ("-p", "go", "-m", script(home, ["git commit --allow-empty -m 'It commits.'"]), "--mode", "auto")
    assert [denied["allow"] for denied in home.ask(*given).result["permission_denials"]] == [["bash(git commit *)"]]
    assert "of the repository; allow it with --allow 'bash(git commit *)')" in home.run(*given).err
    assert not home.ask(*given, "--allow", "bash(git commit *)").result["permission_denials"]


def test_a_name_ends_only_the_sessions_own_processes_unasked(afar: Program) -> None:
    mark = f"own-{os.getpid()}"
    given: list[tuple[str, dict[str, object]]] = [
        ("bash", {"command": f"exec -a {mark} sleep 60", "run_in_background": True}),
        ("bash", {"command": "sleep 1"}),
        ("bash", {"command": f"pkill -f {mark}"}),
        ("bash", {"command": "sleep 0.2"}),
        ("bash_output", {"id": "job-1"}),
        ("bash", {"command": f"killall {mark}"}),
        ("bash", {"command": 'echo 2147483 > a.pid; kill "$(cat a.pid)"'}),
    ]

    def outputs() -> list[tuple[str, str]]:
        file = afar.base / "script.json"
        replies = [{"calls": [{"name": name, "input": values}]} for name, values in given]
        file.write_text(json.dumps({"replies": [*replies, {"text": "All done."}]}))
        ran = afar.ask("-p", "go", "-m", f"script:{file}", "--mode", "auto")
        return [(one["status"], one["output"]) for one in ran.of("tool_result")][2:]

    ended, _, job, nothing, number = outputs()
    assert ended[0] == "success"
    assert "exit code 143" in job[1]
    assert "no process found" in nothing[1]
    assert "No such process" in number[1]
    with subprocess.Popen([mark, "60"], executable="/bin/sleep") as foreign:
        refused, _, job = outputs()[:3]
        assert (refused[0], f"ends sleep ({foreign.pid}) outside" in refused[1]) == ("denied", True)
        assert "running" in job[1]
        assert foreign.poll() is None
        foreign.kill()


def test_what_a_container_prints_is_written_in_the_sandbox_with_its_exit_code(afar: Program) -> None:
    docker = afar.base / "bin/docker"
    docker.write_text('#!/bin/sh\necho "$@"\ncase "$*" in *fail*) exit 3 ;; esac\n')
    docker.chmod(0o755)
    lines = [
        "mkdir sub && docker exec web a > sub/a.txt && docker exec web b >> sub/a.txt && cat sub/a.txt",
        "docker exec web fail > bad.txt && echo never",
        "docker exec web fail > bad.txt || echo after; docker exec web fail | cat",
    ]
    allowed = ("--allow", "network(container:web)")
    ran = afar.ask("-p", "go", "-m", script(afar, lines), "--mode", "auto", *allowed)
    found = [(one["status"], one["output"]) for one in ran.of("tool_result")]
    assert found == [
        ("success", "exec web a\nexec web b\n"),
        ("error", "[exit code 3]"),
        ("success", "after\nexec web fail\n"),
    ]
    assert (afar.work / "bad.txt").read_text() == "exec web fail\n"


def test_without_anybody_a_rule_allows_a_machine(afar: Program) -> None:
    model = script(afar, ["ssh box.example.org uptime", "ssh other.example.org uptime"])
    ran = afar.ask("-p", "go", "-m", model, "--mode", "auto", "--allow", "network(ssh:box.example.org)")
    assert [one["status"] for one in ran.of("tool_result")] == ["success", "denied"]
    assert "from afar" in ran.of("tool_result")[0]["output"]
    assert (afar.base / "ssh.log").read_text() == "box.example.org uptime\n"


def test_a_commit_runs_in_the_sandbox_and_the_push_of_its_branch_outside(afar: Program) -> None:
    def git(*words: str) -> str:
        names = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        return subprocess.run(["git", *names, *words], cwd=afar.work, env=afar.env, capture_output=True, check=True, text=True).stdout  # fmt: skip

    remote = afar.base / "remote.git"
    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("clone", "-q", "--bare", ".", str(remote))
    git("remote", "add", "origin", f"me@box.example.org:{remote}")
    git("checkout", "-q", "-b", "feature")
    (afar.base / ".gitconfig").write_text("[user]\n\tname = a\n\temail = a@example.org\n")
    line = "touch new && git add new && git commit -q -m second && git push -q -u origin feature"
    ran = afar.ask("-p", "go", "-m", script(afar, [line, "git push origin feature:main"]), "--mode", "auto", "--trust")
    assert [one["status"] for one in ran.of("tool_result")] == ["success", "denied"], [
        one["output"] for one in ran.of("tool_result")
    ]
    heads = subprocess.run(["git", "branch", "--format=%(refname:short) %(subject)"], cwd=remote, capture_output=True, text=True, check=True).stdout  # fmt: skip
    assert heads.splitlines() == ["feature second", "main first"]


def test_a_folder_is_the_first_answer_and_asked_about_once(home: Program) -> None:
    other = home.base / "other"
    (other / ".git").mkdir(parents=True)
    lines = [f"cd {other} && python3 -c \"open('{name}', 'w').write('x')\"" for name in "ab"]
    with home.terminal("-m", script(home, lines), "--mode", "auto", columns=140) as t:
        t.until("? keys")
        t.send("go\r", until=f"1. Yes, and add {other} to this session")
        t.send("\r", until="All done.")
    assert sorted(path.name for path in other.iterdir()) == [".git", "a", "b"]


def test_undo_restores_a_folder_that_joined_while_its_first_command_ran(home: Program) -> None:
    other = home.base / "other"
    (other / ".git").mkdir(parents=True)
    (other / "old.txt").write_text("old\n")
    code = "import os; open('new.txt', 'w').write('x'); open('old.txt', 'a').write('more'); os.mkdir('made')"
    with home.terminal("-m", script(home, [f'cd {other} && python3 -c "{code}"']), "--mode", "auto", columns=140) as t:
        t.until("? keys")
        t.send("go\r", until=f"1. Yes, and add {other} to this session")
        t.send("\r", until="All done.")
        assert (other / "old.txt").read_text() == "old\nmore"
        t.send("/undo\r", until="Deleted")
    assert sorted(path.name for path in other.iterdir()) == [".git", "old.txt"]
    assert (other / "old.txt").read_text() == "old\n"
