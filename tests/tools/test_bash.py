"""Commands: what they print, how they end, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agentcli.core.tool import Boxed, CallScope, CommandSandbox, ToolLimits, ToolOutput
from agentcli.permissions.sandbox.choose import detect
from agentcli.system.programs import environment
from agentcli.tools.registry import run, tools
from tests.processes import fresh_mark, living
from tests.tables import each_row
from tests.tools.conftest import Call
from tests.tools.workplace import Bench

BASH = tools({"bash"})[0]
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
def mark() -> str:
    return fresh_mark()


def test_settings_of_git_that_the_sandbox_keeps_are_no_failure(call: Call) -> None:
    said = "error: could not write config file .git/config: Device or resource busy"
    outcome = call("bash", command=f"echo '{said}'; echo 'Deleted branch a (was 8d7f1fd).'")
    assert outcome.output.endswith(
        "\n[the sandbox protects .git/config: git did the rest, and left these settings as they were]"
    )
    assert call("bash", command=f"echo '{said}'; exit 4").output == f"{said}\n[exit code 4]"


def test_output_and_errors_come_in_order_with_the_exit_code(call: Call) -> None:
    outcome = call("bash", command="echo one; echo two >&2; echo three; exit 3")
    assert outcome.output == "one\ntwo\nthree\n[exit code 3]"
    assert outcome.status == "error"
    assert outcome.metadata["exit_code"] == 3
    assert outcome.title == "$ echo one; echo two >&2; echo three; exit 3"


def test_success_shows_just_the_output(call: Call) -> None:
    assert call("bash", command="printf 'a b'").output == "a b"
    assert call("bash", command="true").output == "(no output)"
    assert call("bash", command="kill -9 $$").metadata["exit_code"] == 137


def test_each_command_starts_afresh_in_the_working_folder(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "sub").mkdir()
    call("bash", command="cd sub; export X=1")
    assert call("bash", command="pwd; echo ${X-unset}").output == f"{ctx.cwd}\nunset\n"


def test_standard_input_is_empty_and_there_is_no_terminal(call: Call) -> None:
    started = time.monotonic()
    assert call("bash", command="cat; read x || echo nothing").output == "nothing\n"
    outcome = call("bash", command="exec 3</dev/tty", timeout=60_000)
    assert outcome.status == "error"
    assert "there is none" in outcome.output
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    ("folder", "module", "has"),
    [
        ("typeguard_x", "typeguard_x", True),
        ("typeguard_x-1.2.dev3.dist-info", "typeguard_x", True),
        ("typeguard_x_more-1.2.dist-info", "typeguard_x", False),
        ("json", "json.nothing", False),
    ],
)
def test_a_module_that_only_the_projects_environment_has_is_told(
    call: Call, ctx: Bench, folder: str, module: str, has: bool
) -> None:
    (ctx.cwd / ".venv/lib/python3.12/site-packages" / folder).mkdir(parents=True)
    failing = f"{sys.executable} -c 'import {module}' 2>&1 | tail -1"
    note = "\n[typeguard_x is installed in .venv: run it with .venv/bin/python]"
    assert (
        call("bash", command=failing).output.rstrip() == f"ModuleNotFoundError: No module named '{module}'{note * has}"
    )


@pytest.mark.parametrize(
    "command",
    ["vim a.py", "cd x && nano y", "sudo vi /etc/hosts", "htop", "top", "watch ls", "tmux", "/usr/bin/vim a", "A=1 B= vim a", "env vim a",
     "time vim a", "nohup vim a &", "timeout 3 vim a", "( vim a )", "echo $(vim a)", "echo `vim`", "true\nvim a", "command exec vi"],
)  # fmt: skip
def test_programs_that_need_a_terminal_fail_at_once_with_a_hint(call: Call, command: str) -> None:
    outcome = call("bash", command=command)
    assert outcome.status == "error"
    assert "needs a terminal" in outcome.output


def test_a_program_with_such_a_name_that_needs_no_terminal_runs(call: Call) -> None:
    assert (
        call("bash", command="echo vim; type nano 2>/dev/null | cat; echo 'a; vim b' \"x|vim y\" # emacs").status
        == "success"
    )
    assert "load average" in call("bash", command="top -bn1 | head -1").output
    for command in (
        "vim --version",
        "vim -es -c q",
        "tmux ls",
        "./top",
        "bin/watch",
        "ls vim",
        "nvim --headless",
        "TOP=1 true",
    ):
        assert "needs a terminal" not in call("bash", command=command).output


@pytest.mark.parametrize("words", ["Press ^C at any time to quit.", "New password: ", "Proceed ([y]/n)? [y/n] "])
def test_a_program_that_asked_and_got_no_answer_is_explained(call: Call, words: str) -> None:
    assert "options such as -y" in call("bash", command=f"printf %s '{words}'; exit 1").output


def test_secrets_are_not_in_the_environment_of_commands() -> None:
    base = {
        "OPENAI_API_KEY": "1",
        "GITHUB_TOKEN": "1",
        "my_secret": "1",
        "DB_PASSWORD_2": "1",
        "HOME": "/h",
        "PATH": "/bin",
    }
    assert environment(base, ["GITHUB_TOKEN"])["GITHUB_TOKEN"] == "1"
    env = environment(base)
    assert {"HOME", "PATH"} <= set(env)
    assert not set(env) & {"OPENAI_API_KEY", "GITHUB_TOKEN", "my_secret", "DB_PASSWORD_2"}
    assert [env[name] for name in ("GIT_TERMINAL_PROMPT", "GIT_EDITOR", "PAGER", "TERM")] == [
        "0",
        "true",
        "cat",
        "dumb",
    ]


def test_the_shell_reads_no_start_files_and_signals_are_as_usual(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "rc").write_text("echo from rc")
    assert call("bash", command="yes | head -1; echo ${PIPESTATUS[0]}").output == "y\n141\n"


def test_a_long_output_keeps_its_ends_and_the_whole_is_in_a_file(call: Call, ctx: Bench) -> None:
    outcome = call("bash", command="seq 1 20000; echo end")
    whole = "".join(f"{n}\n" for n in range(1, 20_001)) + "end\n"
    assert outcome.truncated
    assert outcome.output.startswith("1\n2\n3\n")
    assert outcome.output.endswith("20000\nend\n")
    assert len(outcome.output) < 30_300
    assert '; recall(id="c1", pattern="…") searches the whole output]' in outcome.output
    assert outcome.output_file not in outcome.output
    head, tail = outcome.output.split("\n\n[")[0], outcome.output.split("]\n\n")[1]
    assert set(f"{head}\n{tail}".split()) <= {*map(str, range(1, 20_001)), "end"}, "no line is cut in two"
    assert Path(outcome.output_file).read_text() == whole
    assert Path(outcome.output_file).stat().st_mode & 0o777 == 0o600


def test_cuts_never_split_a_character(call: Call) -> None:
    for shift in range(4):
        outcome = call("bash", command=f"printf %{shift}s ''; for i in $(seq 3000); do printf 'é😀€ab'; done")
        assert outcome.truncated
        assert "\ufffd" not in outcome.output


def test_the_kept_file_has_a_cap(call: Call, ctx: Bench) -> None:
    ctx.limits = ToolLimits(output_file=50_000)
    outcome = call("bash", command="yes | head -c 200000")
    assert Path(outcome.output_file).stat().st_size == 50_000
    assert "its first 50,000 bytes" in outcome.output


def test_without_a_store_the_whole_is_kept_in_memory_up_to_a_cap(call: Call, ctx: Bench) -> None:
    ctx.outputs = None
    outcome = call("bash", command="seq 1 20000")
    assert ctx.kept["c1"] == "".join(f"{n}\n" for n in range(1, 20_001))
    assert 'left out here; recall(id="c1", pattern="…") searches the whole output]' in outcome.output
    outcome = call("bash", command="yes | head -c 6000000")
    assert len(ctx.kept["c1"]) == 5_000_000
    assert 'recall(id="c1", pattern="…") searches its first 5,000,000 bytes]' in outcome.output


def test_output_is_shown_while_the_command_runs(call: Call, ctx: Bench) -> None:
    call("bash", command="echo first; sleep 0.3; echo second")
    assert ctx.shown == ["first\n", "second\n"]


@pytest.mark.full
@linux
def test_a_command_that_takes_too_long_is_ended_with_all_its_children(call: Call, ctx: Bench, mark: str) -> None:
    ctx.limits = ToolLimits(bash_timeout=0.3)
    command = f"trap '' TERM; echo begun; setsid sleep {mark} & (setsid env -i setsid sleep {mark} &) ; sleep {mark}"
    outcome = call("bash", command=command)
    assert outcome.status == "error"
    assert outcome.output == "begun\n[stopped: not done after 0.3 s. Give it a longer timeout, or run_in_background]"
    assert living(mark) == []


@linux
def test_a_silent_command_is_ended(call: Call, ctx: Bench, mark: str) -> None:
    ctx.limits = ToolLimits(bash_idle=0.3)
    outcome = call("bash", command=f"for i in 1 2 3 4; do echo $i; sleep 0.15; done; sleep {mark}")
    assert outcome.output.startswith("1\n2\n3\n4\n[stopped: nothing printed for 0.3 s")
    assert living(mark) == []


@linux
def test_a_child_that_holds_the_output_open_delays_nothing_and_is_ended(call: Call, mark: str) -> None:
    started = time.monotonic()
    outcome = call("bash", command=f"sleep {mark} & setsid sleep {mark} & echo done")
    assert time.monotonic() - started < 20
    assert outcome.output.startswith("done\n[stopped what it left running (2 processes)")
    assert outcome.status == "success"
    assert living(mark) == []


@linux
@pytest.mark.skipif(detect().kind != "bubblewrap", reason="bubblewrap does not work here")
def test_a_sandbox_s_own_process_is_not_told_as_left_running(call: Call, ctx: Bench, mark: str) -> None:
    bubblewrap = [detect().program, "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    ctx.scope = CallScope(sandbox=CommandSandbox(lambda argv: Boxed([*bubblewrap, *argv])))
    # The first process of the sandbox lives as long as what the command leaves behind.
    outcome = call("bash", command=f"sleep {mark} & exit 3")
    assert outcome.output.startswith("[exit code 3]\n[stopped what it left running (1 process)")
    assert living(mark) == []


@linux
def test_an_interrupted_command_yields_what_came_and_leaves_nothing(ctx: Bench, mark: str) -> None:
    async def interrupt() -> tuple[ToolOutput, float]:
        command = f"trap '' TERM INT; echo begun; setsid sleep {mark} & sleep {mark}"
        task = asyncio.create_task(run(BASH, ctx, "c1", {"command": command}))
        while not ctx.shown:  # noqa: ASYNC110 (the command is what we wait for, and it sets no event)
            await asyncio.sleep(0.01)
        started = time.monotonic()
        task.cancel()
        return await task, time.monotonic() - started

    outcome, took = asyncio.run(interrupt())
    assert outcome.status == "interrupted"
    assert outcome.output.startswith("begun\n[interrupted")
    assert took < 20  # it would sleep for ever; how long it takes is measured in the bench
    assert living(mark) == []


@linux
@pytest.mark.parametrize("tries", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_whoever_is_just_being_born_when_a_command_is_interrupted_ends_too(ctx: Bench, mark: str, tries: int) -> None:
    async def interrupt(after: float) -> None:
        command = f"(setsid setsid sleep {mark} >/dev/null 2>&1 &) ; sleep {mark}"
        task = asyncio.create_task(run(BASH, ctx, "c1", {"command": command}))
        await asyncio.sleep(after)
        task.cancel()
        await task

    asyncio.run(run(BASH, ctx, "c0", {"command": "true"}))  # what starts commands is there from now on
    for number in range(tries):
        # A command needs about this long to have forked all of them.
        asyncio.run(interrupt(number % 20 / 1000))
    assert living(mark) == []


@linux
def test_a_command_that_kills_its_watcher_leaves_nothing(call: Call, mark: str) -> None:
    outcome = call("bash", command=f"setsid sleep {mark} & kill -9 $PPID; sleep {mark}")
    assert outcome.status == "error"
    assert call("bash", command="echo still here").output == "still here\n"
    deadline = time.monotonic() + 5
    while living(mark) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert living(mark) == []


@linux
def test_when_the_program_is_killed_its_commands_end_too(tmp_path: Path, mark: str) -> None:
    script = (
        "import asyncio, pathlib\n"
        "from tests.tools.workplace import Bench\n"
        "from agentcli.tools.registry import run, tools\n"
        f"work = Bench(pathlib.Path({str(tmp_path)!r}), pathlib.Path({str(tmp_path)!r}))\n"
        "tool = tools({'bash'})[0]\n"
        f"asyncio.run(run(tool, work, 'c', {{'command': 'setsid sleep {mark} & sleep {mark}'}}))\n"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", script], cwd=root) as process:
        deadline = time.monotonic() + 30
        while len(living(f"sleep {mark}")) < 4 and time.monotonic() < deadline:  # the program, bash and two sleeps
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 5
    while living(mark) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert living(mark) == []


def test_a_sandbox_can_be_put_around_every_command(call: Call, ctx: Bench) -> None:
    ctx.scope = CallScope(sandbox=CommandSandbox(wrap=lambda argv: Boxed(["env", "IN_SANDBOX=1", *argv])))
    assert call("bash", command="echo $IN_SANDBOX").output == "1\n"


def test_what_cannot_be_started_is_told(call: Call, ctx: Bench) -> None:
    ctx.scope = CallScope(sandbox=CommandSandbox(wrap=lambda argv: Boxed(["/no/such/sandbox", *argv])))
    outcome = call("bash", command="true")
    assert outcome.metadata["exit_code"] == 127
    assert "could not be started" in outcome.output
    assert "NUL" in call("bash", command="echo \0").output
    assert call("bash", command="x" * 300_000).status == "error"


def test_protected_files_that_a_command_made_are_told(call: Call, ctx: Bench) -> None:
    def watch(_: bool) -> Callable[[], list[str]]:
        before = set(os.listdir(ctx.cwd))
        return lambda: sorted(set(os.listdir(ctx.cwd)) - before)

    ctx.scope = CallScope(sandbox=CommandSandbox(wrap=Boxed, watch=watch))
    outcome = call("bash", command="echo x > .envrc; echo done")
    assert outcome.output.startswith("done\n[it made protected files: .envrc.")
    assert outcome.metadata["protected"] == [".envrc"]
    assert call("bash", command="echo done").output.strip() == "done"


def test_commands_run_at_the_same_time_keep_their_outputs_apart(ctx: Bench) -> None:
    async def several() -> list[ToolOutput]:
        calls = (
            run(BASH, ctx, f"c{n}", {"command": f"for i in 1 2 3; do echo {n}; sleep 0.02; done"}) for n in range(8)
        )
        return await asyncio.gather(*calls)

    outputs = [outcome.output for outcome in asyncio.run(several())]
    assert outputs == [f"{n}\n" * 3 for n in range(8)]


def test_no_descriptor_is_left_open(call: Call) -> None:
    call("bash", command="true")
    before = len(os.listdir("/dev/fd"))
    for _ in range(5):
        call("bash", command="echo x; sleep 0.01 & ls /dev/fd")
    assert len(os.listdir("/dev/fd")) == before


def test_a_command_inherits_nothing_but_its_three_descriptors(call: Call) -> None:
    assert call("bash", command="echo $(ls /dev/fd)").output.split()[:3] == ["0", "1", "2"]
    assert len(call("bash", command="echo $(ls /dev/fd)").output.split()) == 4  # the fourth is ls reading the folder
    piped = call("bash", command="ls /dev/fd | cat").output.split()
    assert len(piped) == 5  # and a pipe's exits are told through one


def big_output(size: int) -> dict[str, float]:
    """The bench's figures for a command that prints this much, from a process of its own so that its memory is its own."""
    code = f"import json; from tests.bench.bench_tools import big_output; print(json.dumps(big_output({size})))"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


@pytest.mark.full
def test_a_huge_output_is_not_held_in_memory() -> None:
    assert big_output(60_000_000)["memory"] < 30


@pytest.mark.slow
def test_a_gigabyte_of_output_costs_little_memory_and_less_than_twice_the_time_of_cat() -> None:
    figures = big_output(1_000_000_000)
    assert figures["memory"] < 100
    assert figures["ratio"] < 2


def repository(ctx: Bench) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=ctx.cwd, check=True)
    (ctx.cwd / "a").write_text("1\n")
    subprocess.run(["git", "add", "a"], cwd=ctx.cwd, check=True)
    (ctx.cwd / "a").write_text("2\n")


def test_looking_at_a_repository_runs_no_program_that_it_names(call: Call, ctx: Bench) -> None:
    repository(ctx)
    program = ctx.cwd / "program"
    program.write_text("#!/bin/sh\ntouch pwned\n")
    program.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "core.editor"):
        subprocess.run(["git", "config", key, "./program"], cwd=ctx.cwd, check=True)
    outcome = call("bash", command="git status --short; git diff")
    assert outcome.status == "success"
    assert outcome.output.startswith("AM a\n?? program\n")
    assert outcome.output.endswith("-1\n+2\n")
    assert not (ctx.cwd / "pwned").exists()


def test_a_repository_hidden_in_a_folder_is_not_used_unasked(call: Call, ctx: Bench) -> None:
    subprocess.run(["git", "init", "-q", "--bare", "inner"], cwd=ctx.cwd, check=True)
    outcome = call("bash", command="cd inner && git status")
    assert outcome.status == "error"
    assert "safe.bareRepository" in outcome.output


def test_what_the_sandbox_held_back_may_run_again_outside_when_the_user_says_so(call: Call, ctx: Bench) -> None:
    asked: list[tuple[str, str]] = []

    async def escalate(command: str, reason: str) -> bool:
        asked.append((command, reason))
        return "yes" in command

    box = ["env", "BOXED=1"]
    ctx.scope = CallScope(sandbox=CommandSandbox(wrap=lambda argv: Boxed([*box, *argv]), escalate=escalate))
    command = "if [ $BOXED ]; then echo x: Read-only file system; exit 1; fi; echo fine # "
    held = call("bash", command=command + "no")
    assert held.output == (
        "x: Read-only file system\n[exit code 1]\n"
        "[it ran in a sandbox, which can write only in the workspace and /tmp, and not in .git and other protected files. "
        "If that is why it failed: the user did not let it run outside. Do it another way, or leave it out and say so]"
    )
    again = call("bash", command=command + "yes")
    assert again.output.endswith(
        "outside the sandbox, as the user allowed: it says “x: Read-only file system”]\nfine\n"
    )
    assert again.status == "success"
    assert call("bash", command="echo ordinary failure; exit 1").status == "error"
    told = "(echo x: Read-only file system; exit {}) | tail -1"
    assert "it ran in a sandbox" in call("bash", command=told.format(1)).output, "tail hides that it failed"
    assert call("bash", command=told.format(0)).output == "x: Read-only file system\n"
    assert asked.pop() == (told.format(1), "it says “x: Read-only file system”")
    assert [reason for _, reason in asked] == ["it says “x: Read-only file system”"] * 2


@pytest.mark.parametrize(
    ("line", "limit"),
    [
        ("OSError: [Errno 30] Read-only file system: '/etc/x'", "can write only in the workspace and /tmp"),
        ("EPERM: operation not permitted, open '/x'", "can write only in the workspace and /tmp"),
        ("curl: (6) Could not resolve host: example.com", "reaches no network but servers that you started"),
        ("Error: getaddrinfo EAI_AGAIN registry.example", "reaches no network but servers that you started"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "reaches no network but servers that you started"),
        ("connect ECONNREFUSED 127.0.0.1:3000", ""),
        ("failed: 3 tests", ""),
        ("ModuleNotFoundError: No module named 'nowhere'", ""),
        ("FileNotFoundError: config", ""),
        ("the workspaceAccess check failed", ""),
    ],
)
def test_an_error_of_the_kernel_in_the_sandbox_is_explained_when_nobody_can_answer(
    line: str, limit: str, call: Call, ctx: Bench
) -> None:
    async def nobody(command: str, reason: str) -> None:
        return None

    sandbox = CommandSandbox(wrap=Boxed, escalate=nobody, same_port=lambda port: port == 3000)
    ctx.scope = CallScope(sandbox=sandbox)
    output = call("bash", command=f'echo "{line}"; exit 1').output
    assert ("it ran in a sandbox" in output, limit in output) == (bool(limit), True)
    assert ("no one can let it run outside" in output) == bool(limit)


@each_row(
    ("command", "explained"),
    [
        ("(echo 'error: Could not resolve host: index.example'; exit 101) 2>&1 | tail -5", True),
        ("(echo 'dial udp: connect: network is unreachable'; exit 1) | tail -5 | cat", True),
        ("(echo 'Could not resolve host: index.example'; exit 0) | tail -5", False),
        ("(echo '[Errno -3] Temporary failure in name resolution'; exit 1); echo exit $?", True),
        ("(echo 'Could not resolve host: index.example'; exit 1); echo done", False),
        ("(echo 'Could not resolve host: index.example'; exit 141) | head -1", False),
        ("(echo 'find: x: Permission denied'; exit 1) | head -5", False),
        ("(echo 'FAILED 3 tests'; exit 1) | tail -5", False),
    ],
)
def test_a_failure_without_network_that_a_pipe_hides_is_explained(
    command: str, explained: bool, call: Call, ctx: Bench
) -> None:
    async def nobody(command: str, reason: str) -> None:
        return None

    ctx.scope = CallScope(sandbox=CommandSandbox(wrap=Boxed, escalate=nobody))
    outcome = call("bash", command=command)
    assert (outcome.status, "it ran in a sandbox" in outcome.output) == ("success", explained)


@each_row(("gated", "fetches"), [(True, False), (True, True), (False, False)])
def test_a_command_without_network_is_told_that_one_which_only_fetches_has_it(
    gated: bool, fetches: bool, call: Call, ctx: Bench
) -> None:
    async def nobody(command: str, reason: str) -> None:
        return None

    ctx.scope = CallScope(sandbox=CommandSandbox(wrap=Boxed, escalate=nobody, gated=gated, fetches=lambda _: fetches))
    output = call("bash", command="echo Could not resolve host: index.example; exit 101").output
    assert ("a command that only fetches packages" in output) == (gated and not fetches)
    assert "it ran in a sandbox" in output


@pytest.mark.parametrize(
    ("end", "notes"),
    [
        ("exit 1", "[network: a.example is refused. If that is why it failed: no one can let it run outside. "),
        ("exit 0", "[network: a.example is refused]"),
        (
            "echo Read-only file system; exit 1",
            "[network: a.example is refused]\n[it ran in a sandbox, which can write only",
        ),
    ],
)
def test_a_refused_host_is_the_reason_of_a_failure_unless_the_command_gives_another(
    end: str, notes: str, call: Call, ctx: Bench
) -> None:
    async def nobody(command: str, reason: str) -> None:
        return None

    ctx.scope = CallScope(
        sandbox=CommandSandbox(wrap=Boxed, escalate=nobody, refused_hosts=lambda: {"a.example is refused": True})
    )
    output = call("bash", command=f"echo tried; {end}").output
    assert notes in output
    assert output.count("[network") == 1
    assert output.count("it ran in a sandbox") == notes.count("it ran in a sandbox")


def test_an_allowed_host_out_of_reach_is_told_once_and_asks_for_nothing(call: Call, ctx: Bench) -> None:
    async def never(command: str, reason: str) -> bool:
        raise AssertionError(reason)

    unreached = {"a.example is allowed, but does not answer": False}
    ctx.scope = CallScope(sandbox=CommandSandbox(wrap=Boxed, escalate=never, refused_hosts=lambda: unreached))
    output = call("bash", command="echo Bad Gateway; exit 1").output
    assert output.endswith("[exit code 1]\n[network: a.example is allowed, but does not answer]")


@each_row(("opens", "asked"), [(True, 0), (False, 1)])
def test_a_failing_network_is_no_reason_to_leave_a_sandbox_that_has_the_whole_network(
    opens: bool, asked: int, call: Call, ctx: Bench
) -> None:
    reasons = list[str]()

    async def no(command: str, reason: str) -> bool:
        reasons.append(reason)
        return False

    ctx.scope = CallScope(sandbox=CommandSandbox(wrap=Boxed, escalate=no, opens_network=opens))
    call("bash", command="echo Could not resolve host: a.example; exit 6")
    assert len(reasons) == asked


def test_a_late_answer_about_a_host_is_told_and_asks_for_nothing_else(call: Call, ctx: Bench) -> None:
    async def late(command: str) -> list[str]:
        return ["a.example: run it again"] if "a.example" in command else []

    async def never(command: str, reason: str) -> bool:
        raise AssertionError(command)

    ctx.scope = CallScope(sandbox=CommandSandbox(wrap=Boxed, escalate=never, late_hosts=late))
    failed = "echo 'curl: (28) Connection to a.example timed out: Read-only file system'; exit 28"
    assert call("bash", command=failed).output.endswith("[exit code 28]\n[network: a.example: run it again]")
    assert "[network" not in call("bash", command="echo fine").output


@pytest.mark.parametrize(
    ("line", "answer", "held"),
    [
        ("touch: cannot touch '/etc/x/y': Read-only file system", None, True),
        ("error: could not lock config file .git/config: Read-only file system", None, True),
        ("cat: ~/.hidden: No such file or directory", None, True),
        ("touch: cannot touch '/etc/x/y': Read-only file system", False, False),
        ("bash: ./run.sh: Permission denied", None, False),
        ("the disk is a Read-only file system", None, False),
        ("curl: (6) Could not resolve host: example.com", None, False),
        ("cat: ~/.missing: No such file or directory", None, False),
    ],
)
def test_a_command_that_certainly_failed_because_of_the_sandbox_is_told_if_nobody_can_answer(
    line: str, answer: bool | None, held: bool, call: Call, ctx: Bench
) -> None:
    async def answers(command: str, reason: str) -> bool | None:
        return answer

    found: list[str] = []
    sandbox = CommandSandbox(
        wrap=Boxed,
        escalate=answers,
        held=lambda _, reason: found.append(reason),
        unseen=lambda path: path.endswith("/.hidden"),
    )
    ctx.scope = CallScope(sandbox=sandbox)
    call("bash", command=f'echo "{line}"; exit 1')
    assert found == [line] * held


def test_without_a_sandbox_nobody_is_asked_to_leave_it(call: Call, ctx: Bench) -> None:
    async def escalate(command: str, reason: str) -> bool:
        raise AssertionError("nobody should be asked")

    ctx.scope = CallScope(sandbox=CommandSandbox(escalate=escalate))
    assert call("bash", command="echo Permission denied; exit 1").status == "error"


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("false | true", [1, 0]),
        ("no-such-program -q | tail -1", [127, 0]),
        ("echo a; (exit 5) | cat | (exit 6)", [5, 0, 6]),
        ("true | cat", [0, 0]),
        ("false | true; echo hi", None),
        ("trap 'echo mine' EXIT; false | true", None),
        ("echo 'a | b'", None),
        ("exec sh -c 'false | true'", None),
    ],
)
@pytest.mark.parametrize("boxed", [False, True])
def test_each_part_of_a_last_pipe_has_its_exit(
    call: Call, ctx: Bench, command: str, parts: list[int] | None, boxed: bool
) -> None:
    if boxed:
        if detect().kind != "bubblewrap":
            pytest.skip("bubblewrap does not work here")
        bubblewrap = [detect().program, "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        ctx.scope = CallScope(sandbox=CommandSandbox(lambda argv: Boxed([*bubblewrap, *argv])))
    outcome = call("bash", command=command)
    assert outcome.metadata.get("parts") == parts
    assert outcome.metadata["exit_code"] == (parts[-1] if parts else 0)


@each_row(
    ("command", "output"),
    [
        ("(exit 7) | head -3", "[no output; the parts of the pipe ended with 7, 0]"),
        ("(exit 127) | cat | cat", "[no output; the parts of the pipe ended with 127, 0, 0]"),
        ("grep x /dev/null | head", "(no output)"),
        ("(exit 141) | true", "(no output)"),
        ("(exit 7) | echo on", "on\n"),
    ],
)
def test_a_failure_that_a_pipe_without_output_hides_is_told(command: str, output: str, call: Call) -> None:
    assert call("bash", command=command).output == output


def test_the_parts_of_a_pipe_have_their_exits_in_a_folder_below_too(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "sub").mkdir()
    ctx.scope = CallScope(folder=ctx.cwd / "sub")
    outcome = call("bash", command="pwd; (exit 5) | cat")
    assert outcome.output == f"{ctx.cwd / 'sub'}\n"
    assert outcome.metadata["parts"] == [5, 0]


@linux
@pytest.mark.skipif(detect().kind != "bubblewrap", reason="bubblewrap does not work here")
@each_row(
    ("command", "left"),
    [
        ("sleep {mark} & echo on", "1 process"),
        ("sleep {mark} & sleep {mark} & true && echo on", "2 processes"),
        ("sleep {mark} & kill $!; wait; echo on", ""),
        ("echo on 2>&1 && true", ""),
        ("(exit 5) | echo on", ""),
    ],
)
def test_what_a_sandbox_ends_with_its_command_is_told(
    command: str, left: str, call: Call, ctx: Bench, mark: str
) -> None:
    inside = ["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    bubblewrap = [detect().program, *inside]
    ctx.scope = CallScope(sandbox=CommandSandbox(lambda argv: Boxed([*bubblewrap, *argv])))
    output = call("bash", command=command.format(mark=mark)).output
    told = f"\n[stopped what it left running ({left}); use run_in_background for what should go on]" if left else "\n"
    assert output == f"on{told}"
    assert living(mark) == []


def test_nothing_of_the_report_on_parts_is_seen_by_a_command(call: Call) -> None:
    assert "BASH_ENV" not in call("bash", command="set +x; env | cat").output
    assert "PIPESTATUS" not in call("bash", command="set -x; true | true").output
