"""Sessions under what a machine may do to them: clocks that jump, files that may not grow, several programs at once."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from agentcli.sessions.store import Store
from tests.e2e.program import Program

CLOCK = """
import datetime, os, time
DAYS, time_now = float(os.environ["CLOCK_DAYS"]), time.time
class Shifted(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(days=DAYS)
datetime.datetime, time.time = Shifted, lambda: time_now() + DAYS * 86_400
"""
"""A clock that is wrong by so many days, for the whole program."""


def prompts(program: Program) -> list[str]:
    """What the user said in the only session, in its order."""
    said = [record for record in program.records() if record["kind"] == "message" and record["role"] == "user"]
    return [record["parts"][-1]["text"] for record in said]


@pytest.mark.full
def test_a_clock_that_jumps_loses_nothing(program: Program) -> None:
    (program.base / "clock").mkdir()
    (program.base / "clock/sitecustomize.py").write_text(CLOCK)
    for number, days in enumerate((0, -4_000, 4_000, 0)):
        program.more = {"PYTHONPATH": str(program.base / "clock"), "CLOCK_DAYS": str(days)}
        ran = program.ask(*(["resume", "--last"] if number else []), "-p", f"prompt {number}", "-m", "script:echo")
        assert ran.code == 0, ran.err
    assert prompts(program) == [f"prompt {number}" for number in range(4)]
    years = {record["time"][:4] for record in program.records()}
    assert len(years) == 3, "the clock did jump"
    program.more = {}
    assert program.run("sessions", "check").code == 0


@pytest.mark.full
def test_files_that_may_not_grow_are_told_and_what_was_saved_stays(program: Program) -> None:
    assert program.run("-p", "first", "-m", "script:echo").code == 0
    before = {path: path.read_bytes() for path in program.sessions.glob("*/*/records/*")}
    # Python keeps the part of a compiled file that it could write: every later run would fail at it.
    command = f"ulimit -f 1; exec {sys.executable} -B -m agentcli resume --last -p {'x' * 3_000} -m script:echo"
    ran = subprocess.run(
        ["bash", "-c", command], env=program.env, cwd=program.work, capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in ran.stderr
    assert (ran.returncode, ran.stdout) == (0, "x" * 3_000 + "\n")
    assert "not being saved: File too large" in ran.stderr
    assert {path: path.read_bytes() for path in before} == before
    assert program.run("resume", "--last", "-p", "second", "-m", "script:echo").out == "second\n"
    assert prompts(program)[0] == "first"


@pytest.mark.full
def test_a_compiled_file_that_a_full_disk_cut_off_is_named_with_its_cure(program: Program) -> None:
    compiled = program.base / "compiled"
    program.more = {"PYTHONPYCACHEPREFIX": str(compiled)}
    assert program.run("help").code == 0
    [cut] = compiled.glob("**/agentcli/frontends/cli/__init__.*.pyc")
    cut.write_bytes(cut.read_bytes()[:1_024])
    ran = program.run("help")
    assert (ran.code, ran.out) == (1, "")
    assert "Traceback" not in ran.err
    assert f"Delete the __pycache__ folders in {compiled}" in ran.err
    shutil.rmtree(compiled)
    assert program.run("help").code == 0


@pytest.mark.full
def test_of_four_programs_on_one_session_each_is_served_or_told(program: Program) -> None:
    session = program.ask("-p", "first", "-m", "script:echo").result["session_id"]
    running = [program.start("resume", session, "-p", f"prompt {n}", "-m", "script:echo") for n in range(4)]
    ended = [(process.communicate(timeout=60)[1], process.returncode) for process in running]
    served = [f"prompt {n}" for n, (_, code) in enumerate(ended) if code == 0]
    assert served
    assert all("is open for writing in another" in err for err, code in ended if code != 0), ended
    assert sorted(prompts(program)) == ["first", *served]
    assert len(Store(program.sessions).list()) == 1
    assert program.run("sessions", "check").code == 0
