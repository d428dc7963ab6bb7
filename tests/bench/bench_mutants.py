"""Share of small faults in the source that the tests notice: one place is changed, and the tests that run through it are run.

    pip install coverage
    python -m tests.bench.bench_mutants map MAP TESTS ...
    python -m tests.bench.bench_mutants run MAP SEED COUNT SOURCES ...

`map` runs tests once and writes down which of them run through which line; `run` draws mutants at random from the sources and
prints those that no test kills, with the share of those that were killed. Mutants are tried in a copy of the checkout.
"""

from __future__ import annotations

import ast
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
COPIED = ("agentcli", "tests", "prompts", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE")
SECONDS = 90
"""Longest run of the tests of a mutant; one that takes longer counts as killed, since a loop that never ends is noticed."""
MOST_TESTS = 150
"""Tests that are run for a mutant, those that run through the fewest lines first."""

Map = Mapping[str, Mapping[str, Sequence[str]]]
"""The tests that run through each line, by file and number of the line; number 0 has those of the whole file."""

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


def main(arguments: Sequence[str]) -> None:
    """Carry out `map` or `run`."""
    match list(arguments):
        case ["map", file, *tests] if tests:
            Path(file).write_text(json.dumps(mapped(tests)))
        case ["run", file, seed, count, *sources] if sources:
            report(json.loads(Path(file).read_text()), int(seed), int(count), sources)
        case _:
            sys.exit(__doc__)


def mapped(tests: Sequence[str]) -> Map:
    """Run tests under coverage and return which of them run through which line."""
    from coverage import CoverageData

    with tempfile.TemporaryDirectory() as folder:
        place = copied(Path(folder))
        config = place / "coverage.ini"
        config.write_text("[run]\ndynamic_context = test_function\nsource = agentcli\n")
        run = [sys.executable, "-m", "coverage", "run", f"--rcfile={config}", "-m", "pytest", "-q", "-n", "0"]
        subprocess.run([*run, "-p", "no:cacheprovider", *tests], cwd=place, check=False)
        data = CoverageData(str(place / ".coverage"))
        data.read()
        found: dict[str, dict[str, list[str]]] = {}
        for file in data.measured_files():
            lines: dict[str, list[str]] = defaultdict(list)
            for line, contexts in data.contexts_by_lineno(file).items():
                lines[str(line)] = [test for context in contexts if (test := _test(place, context))]
            lines["0"] = sorted({test for each in lines.values() for test in each})
            found[str(Path(file).relative_to(place))] = dict(lines)
        return found


def _test(place: Path, context: str) -> str:
    """The id of a test from the name that coverage gives it, or an empty text."""
    module, _, function = context.rpartition(".")
    file = module.replace(".", "/") + ".py"
    return f"{file}::{function}" if function and (place / file).is_file() else ""


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
    """Print each mutant that survives, and the share of those that are killed."""
    chosen = random.Random(seed).sample(list(places(sources)), count)
    killed = unseen = 0
    with tempfile.TemporaryDirectory() as folder:
        place = copied(Path(folder))
        for number, change in enumerate(chosen, 1):
            changed = mutant(*change)
            ids = through(tests, changed)
            unseen += not ids
            died = bool(ids) and kills(place, changed, ids)
            killed += died
            if not died:
                why = f"{len(ids)} tests" if ids else "no test runs it"
                print(f"{changed.file}:{changed.line}  {changed.was}  ->  {changed.now}  ({why})", flush=True)
            elif number % 25 == 0:
                print(f"... {killed} of {number} killed", file=sys.stderr, flush=True)
    print(f"{killed} of {count} killed ({killed / count:.0%}); {unseen} run by no test")


def places(sources: Sequence[str]) -> Iterator[tuple[Path, int, int]]:
    """Each change that may be made in these files and folders: the file, the number of the node in it and that of its change."""
    for path in map(CHECKOUT.__truediv__, sources):
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            for number, node in enumerate(nodes(ast.parse(file.read_text()))):
                yield from ((file, number, which) for which, _ in enumerate(changes(node)))


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree but for decorators and annotations, which say what is so and do nothing."""
    yield tree
    for name, value in ast.iter_fields(tree):
        if name not in ("decorator_list", "annotation", "returns"):
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST):
                    yield from nodes(each)


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
    """The tests that run through the place; of a line that runs on import, those of the whole file."""
    lines = tests.get(mutant.file, {})
    ids = lines.get(str(mutant.line)) or lines.get("0") or ()
    return list(ids)[:MOST_TESTS]


def kills(place: Path, mutant: Mutant, ids: Sequence[str]) -> bool:
    """True if one of these tests fails on the mutant."""
    file = place / mutant.file
    kept = file.read_text()
    file.write_text(mutant.text)
    run = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:randomly", "-p", "no:cacheprovider", *ids]
    try:
        ended = subprocess.run(run, cwd=place, capture_output=True, timeout=SECONDS, check=False)
        return ended.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_text(kept)


if __name__ == "__main__":
    main(sys.argv[1:])
