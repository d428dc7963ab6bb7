"""The project's own checks: format, lint, types, layers, and words that must not be committed."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "check",
    [
        ["ruff", "format", "--check", "."],
        ["ruff", "check", "."],
        pytest.param(["mypy"], marks=pytest.mark.full),
        ["lint-imports"],
    ],
    ids=lambda check: " ".join(check[:2]),
)
def test_the_code_passes(check: list[str]) -> None:
    tool = Path(sys.executable).parent / check[0]
    done = subprocess.run([tool, *check[1:]], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_test_has_the_name_of_its_module() -> None:
    """Tests mirror the source; those of several modules at once are stories."""
    doors = [each.name for each in (ROOT / "agentcli").iterdir() if (each / "__init__.py").exists()]
    wrong = []
    for file in [each for door in doors for each in (ROOT / "tests" / door).rglob("test_*.py")]:
        folder = ROOT / "agentcli" / file.parent.relative_to(ROOT / "tests")
        name = file.stem.removeprefix("test_")
        if not (folder / f"{name}.py").is_file() and not (folder / name / "__init__.py").is_file():
            wrong.append(str(file.relative_to(ROOT)))
    assert not wrong, "name it as its module, or move it to tests/stories:\n" + "\n".join(sorted(wrong))


def test_a_plain_run_tries_the_same_examples_each_time(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--hypothesis-profile") is None:
        assert settings().derandomize
    for file in (ROOT / "tests").rglob("*.py"):
        # The module's own functions share one state, which the order of the tests sets.
        shared = re.findall(r"\brandom\.(?:seed|random|sample|choice|choices|shuffle|rand\w+)\(", file.read_text())
        assert file.name == "link_swap.py" or not shared, f"{file} uses {shared}: use random.Random(SEED)"


@pytest.mark.slow
def test_programs_take_signals_though_the_tests_were_started_with_nohup() -> None:
    chosen = "tests/e2e/test_streams.py::test_a_command_that_a_signal_ends_has_the_code_of_the_signal"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "full or not full", "-p", "no:cacheprovider", chosen],
        cwd=ROOT, capture_output=True, text=True, preexec_fn=_ignore_signals,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def _ignore_signals() -> None:
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def test_every_prompt_is_found_and_every_tool_has_one() -> None:
    from agentcli.resources import prompt
    from agentcli.tools.registry import tools

    assert all(prompt(f"tools/{tool.name}.md") == tool.schema.description for tool in tools())
    assert prompt("system.md")


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="needs a git checkout")
def test_nothing_of_this_machine_is_committed() -> None:
    # The folder for temporary files is the same on many machines.
    own = [ROOT] if ROOT.parent == Path(tempfile.gettempdir()) else [ROOT, ROOT.parent]
    places = [*(f"{folder}/" for folder in own), "files.pythonhosted" + ".org", "index" + "-url ="]
    if len(ROOT.parts) < 3:
        pytest.skip("the checkout lies too close to / to tell its path from others")
    for place in places:
        found = subprocess.run(
            ["git", "grep", "-nIF", "-e", place, "--", "."], cwd=ROOT, capture_output=True, text=True
        )
        assert found.stdout == "", found.stdout
