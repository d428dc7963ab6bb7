"""Share of small faults in the source that the tests notice: one place is changed, and the tests that run through it are run.

    pip install coverage
    python -m tests.bench.bench_mutants map MAP SOURCES ... -- TESTS ...
    python -m tests.bench.bench_mutants run MAP SEED COUNT SOURCES ...

`map` runs tests once and adds to the map, a folder, how long each takes and which of them run through which line of the sources;
tests that fail are left out. `run` draws mutants at random from the sources and prints each that no test kills, and the share that is
killed. A test kills a mutant if it fails on it and passes on the unchanged source. Everything happens in a copy of the checkout.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import cache_from_source
from itertools import chain, takewhile
from pathlib import Path

import pytest

from agentcli.extras.batch.intervals import wilson
from tests.bench.line_map import SAME, Map, add
from tests.bench.mutant_trials import LATE, SECONDS, Trials
from tests.bench.mutations import CHECKOUT, Mutant, mutant, places

COPIED = ("agentcli", "tests", "prompts", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE")
TESTING = 60
"""Seconds for the tests of a mutant in its own area, and again for the other tests; the fastest run first."""
ENDLESS = 100
"""Seconds after which a test fails, since a loop that never ends is noticed."""
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Variables with which modules are compiled once for all mutants."""


def main(arguments: Sequence[str]) -> None:
    """Carry out `map` or `run`, the latter in a copy."""
    match list(arguments):
        case ["map", folder, *rest] if "--" in rest[:-1]:
            cut = rest.index("--")
            with tempfile.TemporaryDirectory() as place:
                add(Path(folder).resolve(), copied(Path(place)), rest[cut + 1 :], rest[:cut])
        case ["run", folder, seed, count, *sources] if sources:
            with tempfile.TemporaryDirectory() as place:
                told = ["try", str(Path(folder).resolve()), seed, count, *sources]
                environment = COMPILED | {"PYTEST_DEBUG_TEMPROOT": place}
                run = [sys.executable, "-m", "tests.bench.bench_mutants", *told]
                subprocess.run(
                    run, cwd=copied(Path(place, "copy")), env=environment, stdin=subprocess.DEVNULL, check=False
                )
        case ["try", folder, seed, count, *sources]:
            report(Map.read(Path(folder)), int(seed), int(count), sources)
        case _:
            sys.exit(__doc__)


def copied(folder: Path) -> Path:
    """Copy the checkout into a folder."""
    folder.mkdir(exist_ok=True)
    for name in COPIED:
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    return folder


def report(tests: Map, seed: int, count: int, sources: Sequence[str]) -> None:
    """Print each mutant that survives, as soon as it is known, and in the end the share of those that are killed."""
    chosen = [mutant(*change) for change in random.Random(seed).sample(list(places(sources)), count)]
    rounds = [through(tests, each) for each in chosen]
    killed: dict[str, list[Mutant]] = defaultdict(list)

    def work(trials: Trials) -> None:
        for change, run in zip(chosen, rounds, strict=True):
            if test := killer(trials, tests, change, run):
                killed[test].append(change)
            else:
                print(change, f"({sum(map(len, run))} tests)", flush=True)
        for test in [test for test in killed if test != LATE and trials.failing(None, [test])]:
            for change in killed.pop(test):
                print(change, f"({test} fails without it)", flush=True)

    files = sorted({test.partition("::")[0] for test in chain.from_iterable(chain.from_iterable(rounds))})
    pytest.main([*LOADED, *SAME, *files], plugins=[Trials(work, {module_of(each.file) for each in chosen})])
    died = sum(map(len, killed.values()))
    rate = wilson(died, count)
    unrun = sum(not any(run) for run in rounds)
    print(f"{died} of {count} killed ({rate.value:.1%}, 95 % interval {rate.low:.1%} to {rate.high:.1%})")
    print(f"of these {len(killed[LATE])} did not end; {unrun} are run by no test")


LOADED = ("-q", "-s", "-n", "0", f"--timeout={ENDLESS}")


def through(tests: Map, mutant: Mutant) -> Sequence[Sequence[str]]:
    """Return the tests that run through the place, tests of its area first; for a line that runs on import, all tests of the file."""
    lines = tests.through(mutant.file)
    found = lines.get(mutant.line) if mutant.code else None  # the first import may be in the middle of one test
    found = found or [*chain.from_iterable(lines.values()), *_importing(tests, mutant.file)]
    area = Path("tests", *Path(mutant.file).parts[1:2])
    near = {test for test in found if area in Path(test).parents}
    return fastest(tests, near), fastest(tests, set(found) - near)


def _importing(tests: Map, file: str) -> Iterator[str]:
    """The tests in files that import a module, or any."""
    line = f"from {module_of(file)} import"
    importing = {
        str(file.relative_to(CHECKOUT))
        for file in CHECKOUT.glob("tests/**/test_*.py")
        if line in (text := file.read_text()) or "pkgutil" in text
    }
    return (test for test in tests.seconds if test.partition("::")[0] in importing)


def module_of(file: str) -> str:
    """Return the name of the module in a file."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def fastest(tests: Map, some: Iterable[str]) -> Sequence[str]:
    """Return the fastest of some tests that take `TESTING` seconds together."""
    spent = 0.0

    def fits(test: str) -> bool:
        nonlocal spent
        spent += tests.seconds[test]
        return spent <= TESTING

    return list(takewhile(fits, sorted(some, key=lambda test: (tests.seconds[test], test))))


def killer(trials: Trials, tests: Map, mutant: Mutant, rounds: Sequence[Sequence[str]]) -> str:
    """Return the test that fails on the mutant, or an empty text; what runs on import needs a process of its own."""
    file = CHECKOUT / mutant.file
    kept = file.read_text()
    file.write_text(mutant.text)
    try:
        loaded = trials.loaded(mutant)
        test = next((test for ids in rounds if loaded and (test := trials.failing(mutant, ids))), "")
        if test or (loaded and not tests.on_import(mutant.file, mutant.line)):
            return test
        return next((test for ids in rounds if ids and (test := failing(ids))), "")
    finally:
        file.write_text(kept)
        Path(cache_from_source(str(file))).unlink(
            missing_ok=True
        )  # a text of the same size and second would be taken for it
        print(".", end="", file=sys.stderr, flush=True)


def failing(ids: Sequence[str]) -> str:
    """Return the first of these tests that fails in a process of its own, or an empty text; the first of all if none can be loaded."""
    run = [sys.executable, "-m", "pytest", "-x", *LOADED, *SAME, *ids]
    try:
        ended = subprocess.run(
            run, cwd=CHECKOUT, env=COMPILED, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return LATE
    if not ended.returncode:
        return ""
    named = re.search(r"^(?:FAILED|ERROR) (\S+?::\w+)", ended.stdout, re.MULTILINE)
    return named[1] if named else ids[0]


if __name__ == "__main__":
    main(sys.argv[1:])
