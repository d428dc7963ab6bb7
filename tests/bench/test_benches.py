"""`python -m tests.bench`: every bench is listed and can be run by its name."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.bench", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_every_bench_is_listed_with_what_it_measures() -> None:
    listed = dict(line.split(maxsplit=1) for line in run("--list").stdout.splitlines())
    assert listed.keys() == {path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py")}
    assert listed["turns"].startswith("Processor time and function calls of a tool turn")


def test_help_of_one_says_what_its_arguments_are_and_runs_nothing() -> None:
    assert "[RECORDS] [CHARACTERS] [SESSIONS]" in run("large", "--help").stdout


def test_an_unknown_name_says_how_to_find_the_right_one() -> None:
    failed = run("larg")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "--list" in failed.stderr
