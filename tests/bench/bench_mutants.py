"""Share of small faults in the source that the tests notice: one place is changed, and the tests that run through it are run.

    pip install coverage
    python -m tests.bench.bench_mutants map MAP TESTS ...
    python -m tests.bench.bench_mutants run MAP SEED COUNT SOURCES ...

`map` runs tests once and writes down how long each takes and which of them run through which line; tests that fail are left out.
`run` draws mutants at random from the sources and prints each that no test kills, and the share that is killed. Mutants are tried
in copies of the checkout, several at a time. A test kills a mutant if it fails on it and passes on the unchanged source.
"""

from __future__ import annotations

import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.util import cache_from_source
from itertools import takewhile
from pathlib import Path
from queue import SimpleQueue
from xml.etree import ElementTree

CHECKOUT = Path(__file__).parents[2]
COPIED = ("agentcli", "tests", "prompts", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE")
TESTING = 60
"""Seconds that the tests of a mutant take together at most; the fastest are run first, and the others not at all."""
SECONDS = 240
"""Longest run of them; one that takes longer counts as killed, since a loop that never ends is noticed."""
SAME = ("-p", "no:cacheprovider", "-p", "no:randomly", "--hypothesis-seed=0")
"""Arguments by which the tests do the same in each run, whether a mutant is there or not."""
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Variables with which modules are compiled once for all mutants."""
COPIES = 2
"""Mutants that are tried at a time."""


@dataclass(frozen=True, slots=True)
class Map:
    """Tests that pass."""

    seconds: Mapping[str, float]
    """How long each takes."""
    lines: Mapping[str, Mapping[str, Sequence[str]]]
    """Which of them run through each line, by file and number of the line; number 0 has those of the whole file."""

    def fastest(self, tests: Iterable[str]) -> Sequence[str]:
        """Return the fastest of some tests that take `TESTING` seconds together."""
        spent = 0.0

        def fits(test: str) -> bool:
            nonlocal spent
            spent += self.seconds[test]
            return spent <= TESTING

        return list(takewhile(fits, sorted(set(tests), key=lambda test: (self.seconds[test], test))))


COMPARISONS: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file with one changed place: its text, the line, and what was changed into what."""

    file: str
    line: int
    was: str
    now: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}  {self.was}  ->  {self.now}"


def main(arguments: Sequence[str]) -> None:
    """Carry out `map` or `run`."""
    match list(arguments):
        case ["map", file, *tests] if tests:
            made = mapped(tests)
            Path(file).write_text(json.dumps({"seconds": made.seconds, "lines": made.lines}))
        case ["run", file, seed, count, *sources] if sources:
            report(Map(**json.loads(Path(file).read_text())), int(seed), int(count), sources)
        case _:
            sys.exit(__doc__)


def mapped(tests: Sequence[str]) -> Map:
    """Run tests under coverage and return which of them run through which line."""
    from coverage import CoverageData

    with tempfile.TemporaryDirectory() as folder:
        place = copied(Path(folder))
        config, passed = place / "coverage.ini", place / "passed.xml"
        config.write_text("[run]\ndynamic_context = test_function\nsource = agentcli\n")
        run = [sys.executable, "-m", "coverage", "run", f"--rcfile={config}", "-m", "pytest", "-q", "-n", "0"]
        subprocess.run([*run, *SAME, f"--junitxml={passed}", *tests], cwd=place, check=False)
        seconds = passing(ElementTree.parse(passed).getroot())
        data = CoverageData(str(place / ".coverage"))
        data.read()
        found: dict[str, Mapping[str, Sequence[str]]] = {}
        for file in data.measured_files():
            lines: dict[str, list[str]] = defaultdict(list)
            for line, contexts in data.contexts_by_lineno(file).items():
                lines[str(line)] = [test for context in contexts if (test := _id(context)) in seconds]
            lines["0"] = sorted({test for each in lines.values() for test in each})
            found[str(Path(file).relative_to(place))] = dict(lines)
        return Map(seconds, found)


def passing(results: ElementTree.Element) -> Mapping[str, float]:
    """Return the seconds of each test function that passes with all its parameters."""
    seconds: dict[str, float] = defaultdict(float)
    failed = set()
    for case in results.iter("testcase"):
        test = _id(f"{case.get('classname')}.{case.get('name', '').partition('[')[0]}")
        seconds[test] += float(case.get("time", 0))
        if any(each.tag in ("failure", "error") for each in case):
            failed.add(test)
    return {test: took for test, took in seconds.items() if test not in failed}


def _id(name: str) -> str:
    """The id that pytest gives to a test function, by its full name."""
    module, _, function = name.rpartition(".")
    return f"{module.replace('.', '/')}.py::{function}"


def copied(folder: Path) -> Path:
    """Copy the checkout into a folder."""
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
    run = [through(tests, each) for each in chosen]
    killed: dict[str, list[Mutant]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(COPIES) as threads:
        free: SimpleQueue[Path] = SimpleQueue()
        for number in range(COPIES):
            free.put(copied(Path(folder, str(number))))
        for change, ids, test in zip(chosen, run, threads.map(partial(killer, free), chosen, run), strict=True):
            if test:
                killed[test].append(change)
            else:
                print(change, f"({len(ids)} tests)" if ids else "(no test runs it)", flush=True)
        place = free.get()
        for test in [test for test in killed if test != LATE and failing(place, [test])]:
            for change in killed.pop(test):
                print(change, f"({test} fails without it)")
    died = sum(map(len, killed.values()))
    print(f"{died} of {count} killed ({died / count:.0%}); {sum(not ids for ids in run)} run by no test")


def places(sources: Sequence[str]) -> Iterator[tuple[Path, int, int]]:
    """Each change that may be made in these files and folders: the file, the number of the node in it and that of its change."""
    for path in map(CHECKOUT.__truediv__, sources):
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            for number, node in enumerate(nodes(ast.parse(file.read_text()))):
                yield from ((file, number, which) for which, _ in enumerate(changes(node)))


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree but for parts that say what is so and do nothing: decorators, annotations, and what those need."""
    yield tree
    for name, value in ast.iter_fields(tree):
        if name not in ("decorator_list", "annotation", "returns"):
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST) and not _says_what_is_so(each):
                    yield from nodes(each)


def _says_what_is_so(node: ast.AST) -> bool:
    """True for `strict=True` of a `zip`, which states that lengths are equal, for imports that only annotations need, and for methods of ports."""
    match node:
        case ast.keyword(arg="strict", value=ast.Constant(value=True)) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case (
            ast.FunctionDef(body=[*_, ast.Expr(value=ast.Constant(value=last))])
            | ast.AsyncFunctionDef(body=[*_, ast.Expr(value=ast.Constant(value=last))])
        ):
            return last is ...
        case _:
            return False


def mutant(file: Path, number: int, which: int) -> Mutant:
    """The file with one change."""
    tree = ast.parse(file.read_text())
    node = next(each for n, each in enumerate(nodes(tree)) if n == number)
    was = ast.unparse(node).splitlines()[0]
    list(changes(node))[which].apply(node)
    now = ast.unparse(node).splitlines()[0]
    text = ast.unparse(ast.fix_missing_locations(tree))
    return Mutant(str(file.relative_to(CHECKOUT)), getattr(node, "lineno", 0), was[:90], now[:90], text)


@dataclass(frozen=True, slots=True)
class Change:
    """A field of a node and its other value; `index` names an element of a list."""

    name: str
    value: object
    index: int | None = None

    def apply(self, node: ast.AST) -> None:
        """Change the node."""
        if self.index is None:
            setattr(node, self.name, self.value)
        else:
            getattr(node, self.name)[self.index] = self.value


def changes(node: ast.AST) -> Iterator[Change]:
    """The changes that may be made to a node."""
    match node:
        case ast.Compare(ops=ops):
            for index, operator in enumerate(ops):
                yield Change("ops", COMPARISONS[type(operator)](), index)
        case ast.BoolOp(op=ast.And()):
            yield Change("op", ast.Or())
        case ast.BoolOp(op=ast.Or()):
            yield Change("op", ast.And())
        case ast.BinOp(op=operator) if type(operator) in OPERATORS and not _joins_types(node):
            yield Change("op", OPERATORS[type(operator)]())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield Change("operand", ast.UnaryOp(ast.Not(), operand))
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield Change("test", ast.UnaryOp(ast.Not(), test))
        case ast.Constant(value=bool(value)):
            yield Change("value", not value)
        case ast.Constant(value=int(value)):
            yield Change("value", value + 1)
        case ast.Return(value=ast.expr() as value) if not _is_constant(value):
            yield Change("value", ast.Constant(None))
        case ast.Expr(value=ast.Call()):
            yield Change("value", ast.Constant(None))
        case ast.keyword(arg=str(), value=ast.Name(id=str() as name)) if name != "None":
            yield Change("value", ast.Constant(None))
        case _:
            pass


def _joins_types(node: ast.BinOp) -> bool:
    """True for `A | B` and for texts put together, whose changes are no faults that a test must see."""
    return isinstance(node.op, ast.BitOr) or any(
        isinstance(each, ast.Constant | ast.JoinedStr) and not isinstance(getattr(each, "value", None), int)
        for each in (node.left, node.right)
    )


def _is_constant(value: ast.expr) -> bool:
    """True for what is changed as a constant already, or cannot be told from None, as `False` cannot."""
    return isinstance(value, ast.Constant) and not value.value


def through(tests: Map, mutant: Mutant) -> Sequence[str]:
    """The tests that run through the place; of a line that runs on import, those of the whole file and of test files that import it."""
    lines = tests.lines.get(mutant.file, {})
    if found := lines.get(str(mutant.line)):
        return tests.fastest(found)
    module = mutant.file.removesuffix(".py").replace("/", ".")
    importing = {
        str(file.relative_to(CHECKOUT))
        for file in CHECKOUT.glob("tests/**/test_*.py")
        if f"from {module} import" in file.read_text()
    }
    return tests.fastest(
        {*lines.get("0", ()), *(test for test in tests.seconds if test.partition("::")[0] in importing)}
    )


LATE = "too late"
"""Stands for the test that kills a mutant on which the tests do not end."""


def killer(free: SimpleQueue[Path], mutant: Mutant, ids: Sequence[str]) -> str:
    """Return the test that fails on the mutant, or an empty text."""
    if not ids:
        return ""
    place = free.get()
    file = place / mutant.file
    kept = file.read_text()
    file.write_text(mutant.text)
    try:
        return failing(place, ids)
    finally:
        file.write_text(kept)
        Path(cache_from_source(str(file))).unlink(
            missing_ok=True
        )  # a text of the same size and second would be taken for it
        free.put(place)
        print(".", end="", file=sys.stderr, flush=True)


def failing(place: Path, ids: Sequence[str]) -> str:
    """Return the first of these tests that fails in a copy of the checkout, or an empty text; the first of all if none can be loaded."""
    run = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", *SAME, *ids]
    try:
        ended = subprocess.run(
            run, cwd=place, env=COMPILED, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return LATE
    if not ended.returncode:
        return ""
    named = re.search(r"^(?:FAILED|ERROR) (\S+?::\w+)", ended.stdout, re.MULTILINE)
    return named[1] if named else ids[0]


if __name__ == "__main__":
    main(sys.argv[1:])
