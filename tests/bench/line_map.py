"""Which tests run through which line of the source, and how much processor time each takes: what `bench_mutants` chooses tests by.

    pip install coverage

A map is a folder. Each of its runs adds to it, so that tests that are new or changed can be mapped alone. It is a plugin of pytest too,
which tells coverage what test runs: also what a fixture, a task or a thread of a test runs belongs to that test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

SAME = ("-p", "no:cacheprovider", "-p", "no:randomly", "--hypothesis-seed=0")
"""Arguments by which the tests do the same in each run, whether a mutant is there or not."""
TIMES = "seconds.json"
LINES = "lines.sqlite"


@dataclass(frozen=True, slots=True)
class Map:
    """The tests in a folder that pass."""

    folder: Path
    seconds: Mapping[str, float]
    """Processor time that each test function takes with all its parameters."""

    @classmethod
    def read(cls, folder: Path) -> Map:
        """Read a map."""
        return cls(folder, _times(folder))

    def through(self, file: str) -> Mapping[int, Sequence[str]]:
        """Return the tests that run through each line of a file."""
        lines = _contexts(self.folder, file)
        return {line: [test for test in tests if test in self.seconds] for line, tests in lines.items()}

    def on_import(self, file: str, line: int) -> bool:
        """Return whether a line of a file runs while modules are imported."""
        return "" in _contexts(self.folder, file).get(line, ())


def add(folder: Path, place: Path, tests: Sequence[str], sources: Sequence[str]) -> None:
    """Run tests of a copy of the checkout, each file or folder by itself, and add the tests that pass to a map of some sources."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "coverage.ini"
    include = ", ".join(each if each.endswith(".py") else f"{each}/*" for each in sources)
    config.write_text(f"[run]\nrelative_files = true\ninclude = {include}\ndata_file = {folder / LINES}\n")
    run = [sys.executable, "-m", "coverage", "run", "--append", f"--rcfile={config}", "-m", "pytest", "-q"]
    for test in tests:
        plugin = ["-n", "0", "--timeout=0", "-p", "tests.bench.line_map", f"--line-map={folder}"]
        subprocess.run([*run, *SAME, *plugin, test], cwd=place, check=False)


def _times(folder: Path) -> dict[str, float]:
    """Read how long the tests of a map take."""
    try:
        return dict(json.loads((folder / TIMES).read_text()))
    except FileNotFoundError:
        return {}


@cache
def _contexts(folder: Path, file: str) -> Mapping[int, Sequence[str]]:
    """Read the tests of each line of a file."""
    from coverage import CoverageData

    data = CoverageData(str(folder / LINES))
    data.read()
    return data.contexts_by_lineno(file)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the folder of a map."""
    parser.addoption("--line-map", type=Path, help="folder of the map that the tests are added to")


def pytest_configure(config: pytest.Config) -> None:
    """Watch the tests for a map."""
    if folder := config.getoption("--line-map"):
        config.pluginmanager.register(_Watch(folder))


@dataclass(slots=True, eq=False)
class _Watch:
    """Takes note of each test that runs."""

    folder: Path
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    failed: set[str] = field(default_factory=set)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Tell coverage what test runs."""
        from coverage import Coverage

        running = Coverage.current()
        assert running is not None
        before = sum(os.times()[:4])
        running.switch_context(function_of(item.nodeid))
        yield
        running.switch_context("")
        self.seconds[function_of(item.nodeid)] += sum(os.times()[:4]) - before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of a test that fails."""
        if report.failed:
            self.failed.add(function_of(report.nodeid))

    def pytest_sessionfinish(self) -> None:
        """Write down the tests that pass with all their parameters."""
        new = {test: took for test, took in self.seconds.items() if test not in self.failed}
        old = {test: took for test, took in _times(self.folder).items() if test not in self.seconds}
        (self.folder / TIMES).write_text(json.dumps(old | new))


def function_of(test: str) -> str:
    """The id of a test without its parameters."""
    return test.partition("[")[0]
