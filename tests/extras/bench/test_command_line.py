"""`agentcli bench` with scripted models on a set of tiny tasks."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.errors import InputError
from agentcli.extras.batch.comparison import Run, Side
from agentcli.extras.bench.results import Result, against
from agentcli.extras.bench.running import require_visible
from agentcli.extras.bench.task_file import OWN, read_set
from tests.bench.solve import write_known
from tests.bench.tiny_set import model, tasks
from tests.e2e.program import ROOT, Program

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path, more={"PYTHONPATH": str(ROOT)})


def runs_of(program: Program) -> list[Path]:
    return sorted((program.base / "data/agentcli/bench").glob("*/"))


def finals(folder: Path) -> list[str]:
    lines = [line for file in folder.glob("ledger-*.jsonl") for line in file.read_text().splitlines()]
    return sorted(row["id"] for row in map(json.loads, lines) if row["state"] in ("passed", "failed", "limited"))


def measured(program: Program, *arguments: str, seconds: float = 280) -> dict[str, Any]:
    ran = program.run("bench", *arguments, "--unboxed", "--json", "-j", "2", seconds=seconds)
    assert ran.code == 0, ran.err
    return json.loads(ran.out[ran.out.index('{\n  "version"') :])


def test_what_would_run_is_said_without_a_key(program: Program) -> None:
    ran = program.run("bench", str(tasks(program.base / "set", 2)), "--unboxed", "--dry-run")
    assert (ran.code, ran.err) == (
        0,
        "agentcli: 2 runs of 2 tasks, at most an unknown amount: no model can be chosen without a key.\n",
    )


def test_a_python_that_the_sandbox_hides_from_checks_is_refused_before_anything_starts() -> None:
    require_visible(Path("/usr"))
    place = Path("/var/tmp/no-such-environment")
    with pytest.raises(
        InputError,
        match=r"would not find the Python in /var/tmp/no-such-environment\. Install agentcli elsewhere, or run with --unboxed\.",
    ):
        require_visible(place)


def result(**passed: bool) -> Result:
    return Result("set", [Side("m", tuple(Run(task, 1, True, ok) for task, ok in passed.items()))], {})


def test_a_run_of_some_tasks_is_compared_in_the_tasks_that_both_runs_have() -> None:
    former = result(a=True, b=True, c=False, d=True)
    [found] = against(result(a=True, b=False), former)
    assert (found.pairs, found.alone, [*found.flipped]) == (2, 0, ["b"])
    assert {run.task for run in (*found.before.runs, *found.after.runs)} == {"a", "b"}
    assert against(result(z=True), former) == []


@pytest.mark.slow
def test_models_that_solve_all_none_and_each_third_have_exact_rates_with_their_intervals(program: Program) -> None:
    folder = tasks(program.base / "set", 3)
    rules = {"every": "true", "never": "false", "third": "[ $((n % 3)) = 0 ]"}
    names = [word for name, rule in rules.items() for word in ("-m", model(program.base, name, rule))]
    found = measured(program, str(folder), *names)
    rates = {each["name"]: (each["passed"], each["runs"], each["rate"]) for each in found["variants"]}
    assert {name: rate[:2] for name, rate in rates.items()} == {"every": (3, 3), "never": (0, 3), "third": (1, 3)}
    # By the formula of Wilson with z = 1.95996, worked out by hand.
    ends = {name: [round(rate[2][end], 3) for end in ("low", "high")] for name, rate in rates.items()}
    assert ends == {"every": [0.439, 1.0], "never": [0.0, 0.561], "third": [0.061, 0.792]}
    assert found["variants"][2]["tasks"]["t00"]["passed"] == 1
    assert found["variants"][0]["mean"]["steps"] == 2
    assert len(found["causes"]) == 5
    [out] = runs_of(program)
    assert (out / "chart.svg").read_text().count("<rect") == 4
    assert "third" in (out / "bench.html").read_text()
    shown = program.run("bench", "show", "LAST", "t01.third").out
    assert "check: refused: there is no file answer.txt" in shown
    assert "1. bash" in shown
    assert shown.index("#2 user") < shown.index("→ bash {") < shown.index("\nDone.")


@pytest.mark.slow
def test_a_later_run_is_compared_with_the_last_one_and_says_where_flipped_tasks_part(program: Program) -> None:
    folder = tasks(program.base / "set", 3)
    name = model(program.base, "m", "true")
    measured(program, str(folder), "-m", name)
    model(program.base, "m", "[ $n != 1 ]")
    ran = program.run("bench", str(folder), "-m", name, "--unboxed", "--against", "LAST", seconds=200)
    assert "m against m (before): −33.3 points" in ran.out
    assert "t01  1/1 → 0/1" in ran.out
    assert "t01: they part at step 1: bash" in ran.out
    assert len(runs_of(program)) == 2
    kept = measured(program, str(folder), "-m", name, "--against", str(runs_of(program)[0] / "result.json"))
    assert kept["against"][0]["differences"][0]["verdict"] == "no difference shown"


@pytest.mark.slow
def test_a_bench_that_is_killed_goes_on_and_runs_nothing_twice(program: Program) -> None:
    folder = tasks(program.base / "set", 4)
    name = model(program.base, "m", "true", before="sleep 0.3")
    arguments = ("bench", str(folder), "-m", name, "--repeat", "2", "--unboxed", "-j", "2")
    for least in (1, 4):
        bench = program.start(*arguments)
        until = time.monotonic() + 100
        while time.monotonic() < until and not (runs_of(program) and len(finals(runs_of(program)[0])) >= least):
            time.sleep(0.05)
        os.kill(bench.pid, signal.SIGKILL)
        bench.communicate()
    ran = program.run(*arguments, seconds=200)
    assert ran.code == 0
    assert "Continuing" in ran.err
    [out] = runs_of(program)
    assert finals(out) == sorted(f"t{n:02}{more}" for n in range(4) for more in ("", ".2"))
    assert "8/8 passed, 100.0%" in ran.out


@pytest.mark.slow
def test_an_agent_is_killed_once_if_its_task_says_so_and_goes_on_in_its_session(program: Program) -> None:
    folder = tasks(program.base / "set", 1, header="kill_after = 2")
    commands = [f"sleep 0.4; echo {number}; cp number.txt answer.txt" for number in range(4)]
    calls = [{"calls": [{"name": "bash", "input": {"command": command}}]} for command in commands]
    (program.base / "m.json").write_text(json.dumps({"replies": [*calls, {"text": "Done."}]}))
    found = measured(program, str(folder), "-m", f"script:{program.base}/m.json")
    assert found["variants"][0]["passed"] == 1
    [out] = runs_of(program)
    rows = [json.loads(line) for file in out.glob("ledger-*.jsonl") for line in file.read_text().splitlines()]
    assert [row["state"] for row in rows if row["state"] != "running"] == ["lost", "passed"]
    assert len({row["session"] for row in rows if row["session"]}) == 1
    made = [path.read_text().count('"type": "tool_call"') for path in sorted(out.glob("tasks/t00/*/events.jsonl"))]
    assert (min(made) in (2, 3), max(made)) == (True, 4)
    stored = json.loads(program.run("sessions", "list", "--json", "--all").out)
    assert [each["usage"] for each in stored if each["id"] == rows[-1]["session"]] == [rows[-1]["usage"]]


@pytest.mark.full
def test_the_cost_is_said_and_nothing_starts_unless_somebody_agrees(program: Program) -> None:
    folder = tasks(program.base / "set", 2, header="max_cost = 0.5")
    program.more = {**program.more, "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
    ran = program.run("bench", str(folder), "-m", "sonnet", "--repeat", "3", "--unboxed")
    assert (ran.code, "6 runs of 2 tasks, at most $3.00." in ran.err) == (2, True), ran.err
    assert "These runs can cost $3.00. Start them with --yes." in ran.err
    ran = program.run("bench", str(folder), "-m", "sonnet", "--max-cost", "0.1", "--dry-run", "--unboxed")
    assert (ran.code, "2 runs of 2 tasks, at most $0.20." in ran.err) == (0, True), ran.err
    assert not any(finals(out) for out in runs_of(program))


@pytest.mark.full
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere",), "Can't read"),
        (("--only", "no-such"), "There is no task 'no-such' in the set"),
        (("--against", "LAST"), "There is no finished run"),
        (("show",), "There is no finished run"),
        (("--prompt", "none.md"), "Can't read"),
    ],
)
def test_what_is_not_there_is_named(program: Program, arguments: tuple[str, ...], words: str) -> None:
    ran = program.run("bench", *arguments)
    assert (ran.code, words in ran.err) == (42, True), ran.err


@pytest.mark.full
def test_without_docker_or_uv_harbor_is_not_called(program: Program) -> None:
    empty = program.base / "bin"
    empty.mkdir()
    program.more = {**program.more, "PATH": str(empty)}
    assert (
        "uvx, which fetches and runs Harbor, is missing" in program.run("bench", "terminal-bench", "-m", "sonnet").err
    )
    (empty / "uvx").write_text("#!/bin/sh\nexit 1\n")
    (empty / "uvx").chmod(0o755)
    assert "docker is missing" in program.run("bench", "swebench", "-m", "sonnet").err
    (empty / "docker").write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n")
    (empty / "docker").chmod(0o755)
    ran = program.run("bench", "swebench", "-m", "sonnet")
    assert (ran.code, "docker does not run: Cannot connect to the Docker daemon" in ran.err) == (1, True)
    shown = program.run("bench", "terminal-bench", "-m", "anthropic/x", "--tasks", "3", "--dry-run").out
    assert shown.startswith("uvx --python 3.12 --with agentcli==")
    assert "-d terminal-bench@2.0 -a agentcli.extras.harnesses.harbor:AgentCli -m anthropic/x" in shown
    assert "--n-tasks 3" in shown
    lacking = program.run("bench", "swebench", "-m", "anthropic/x", "--package", "none.whl", "--dry-run")
    assert (lacking.code, lacking.out, "none.whl is not a file" in lacking.err) == (42, "", True)
    (empty / "uvx").unlink()
    ran = program.run("bench", "terminal-bench", "-m", "anthropic/x", "--dry-run")
    assert (ran.code, ran.out[:4], "is missing. Install uv" in ran.err) == (0, "uvx ", True), (
        "what is missing is reported first"
    )


def test_harbors_rewards_give_the_rate(program: Program) -> None:
    tools = program.base / "bin"
    tools.mkdir()
    writes = f"""#!{sys.executable}
import json, os, sys
jobs = sys.argv[sys.argv.index("--jobs-dir") + 1]
json.dump(sys.argv, open(f"{{jobs}}/arguments.json", "w"))
for number, reward in enumerate((1.0, 0.0, 1.0, None)):
    os.makedirs(f"{{jobs}}/job/{{number}}")
    result = {{"rewards": {{"reward": reward}}}} if reward is not None else None
    json.dump({{"trial_name": str(number), "verifier_result": result}}, open(f"{{jobs}}/job/{{number}}/result.json", "w"))
"""
    writes += """json.dump({"stats": {"n_trials": 4}}, open(f"{jobs}/job/result.json", "w"))\n"""
    # uv build --wheel --out-dir FOLDER CHECKOUT
    builds = '#!/bin/sh\nmkdir -p "$4" && touch "$4/agentcli-9-py3-none-any.whl"\n'
    for name, text in {"uvx": writes, "uv": builds, "docker": "#!/bin/sh\n"}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    program.more = {**program.more, "PATH": f"{tools}:{os.environ['PATH']}"}
    ran = program.run("bench", "terminal-bench", "-m", "anthropic/x")
    assert (ran.code, "2/4 passed, 50.0%" in ran.out) == (0, True), ran.err
    [given] = program.work.glob("harbor-*/arguments.json")
    assert "agentcli-9-py3-none-any.whl" in next(
        word for word in json.loads(given.read_text()) if word.startswith("package=")
    )
    (tools / "uv").write_text("#!/bin/sh\necho 'no network' >&2\nexit 1\n")
    ran = program.run("bench", "terminal-bench", "-m", "anthropic/x")
    assert (ran.code, "Can't build the wheel of this checkout: no network. Name one with --package" in ran.err) == (
        1,
        True,
    ), ran.err


@pytest.mark.full
def test_a_run_in_the_sandbox_is_judged_as_well(program: Program) -> None:
    folder = tasks(program.base / "set", 2)
    name = model(program.base, "m", "[ $n = 1 ]")
    ran = program.run("bench", str(folder), "-m", name, seconds=200)
    if "No sandbox works here" in ran.err:
        pytest.skip(ran.err)
    assert "1/2 passed, 50.0%" in ran.out, ran.out
    assert re.search(r"^t00 +m +0/1 +0% – 79% +0\.0000 +[0-9,]+ +2\.0 +[0-9.]+$", ran.out, re.MULTILINE), ran.out
    assert re.search(r"^model's mistake +1$", ran.out, re.MULTILINE), ran.out


@pytest.mark.full
def test_a_run_can_read_neither_the_tasks_of_its_set_nor_the_files_of_other_runs(program: Program) -> None:
    folder = tasks(program.base / "set [1]", 2)
    commands = [
        f"cat '{folder}/t01.txt'",
        f"python3 -c \"print(open('{folder}/t00.txt').read())\"; cp number.txt answer.txt",
    ]
    calls = [{"calls": [{"name": "bash", "input": {"command": command}}]} for command in commands]
    calls.insert(0, {"calls": [{"name": "read", "input": {"file_path": f"{folder}/t01.txt"}}]})
    (program.base / "m.json").write_text(json.dumps({"replies": [*calls, {"text": "Done."}]}))
    found = measured(program, str(folder), "-m", f"script:{program.base}/m.json")
    assert found["variants"][0]["passed"] == 2
    [out] = runs_of(program)
    for events in out.glob("tasks/*/*/events.jsonl"):
        lines = [json.loads(line) for line in events.read_text().splitlines()]
        outputs = [each["output"] for each in lines if each["type"] == "tool_result"]
        assert len(outputs) == 3
        assert not any("kind = " in each for each in outputs), outputs


CHEAT = """
def seconds(text):
    source = open({path!r}).read().partition("RIGHT = ")[2].partition("WRONG = ")[0]
    known = eval(source)
    if not isinstance(text, str):
        raise TypeError(text)
    if text not in known:
        raise ValueError(text)
    return known[text]
"""


@pytest.mark.full
def test_code_of_the_agent_cannot_read_the_answers_while_the_check_runs_it(program: Program) -> None:
    [task] = [task for task in read_set(OWN) if task.id == "implement-spec"]
    write = {"name": "write", "input": {"file_path": "duration.py", "content": CHEAT.format(path=str(task.path))}}
    (program.base / "m.json").write_text(json.dumps({"replies": [{"calls": [write]}, {"text": "Done."}]}))
    ran = program.run("bench", "--only", task.id, "-m", f"script:{program.base}/m.json", seconds=200)
    if "No sandbox works here" in ran.err:
        pytest.skip(ran.err)
    assert "0/1 passed" in ran.out, ran.out
    assert "is 'raised PermissionError'" in program.run("bench", "show", "LAST", task.id).out


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_our_own_tasks_are_solved_by_models_that_know_all_none_and_each_third(program: Program) -> None:
    words: list[str] = []
    known = write_known(program.base / "known.json")
    for name, share in (("every", 1), ("third", 3), ("never", 0)):
        command = f"cd $PWD && PYTHONPATH={ROOT} {sys.executable} -m tests.bench.solve {share} {known}"
        replies = [{"calls": [{"name": "bash", "input": {"command": command}}]}, {"text": "Done."}]
        (program.base / f"{name}.json").write_text(json.dumps({"replies": replies}))
        words += ["-m", f"script:{program.base}/{name}.json"]
    found = measured(program, *words, seconds=1_700)
    thirds = len(read_set(OWN)[::3])
    assert [(each["passed"], each["runs"]) for each in found["variants"]] == [(20, 20), (thirds, 20), (0, 20)]
