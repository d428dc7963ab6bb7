"""Guards, each with two figures: how much of the bad it stops, and how much of the good it hinders.

A module of this package measures one guard: its `figures()` runs the product's own code on material that nobody wrote for it, and yields a
row for each kind of it. `python -m tests.guards` writes all rows to `tests/guards.md`; a test compares them with that file. The material lies
in `material/`, as JSON: `source` (where it comes from), `fetched` (the day), `bad` and `good` (samples without names, tokens or paths of
people).
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MATERIAL = Path(__file__).with_name("material")
TABLE = Path(__file__).parent.parent / "guards.md"

HEADER = """\
# Guards and their two figures

How much of the bad each guard stops, and how much of the good it hinders, on material that its authors did not write.
Made by `python -m tests.guards`; a test fails if a figure changes and this file does not.
"""
COLUMNS = """
| guard | bad stopped | good hindered | material |
|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """One guard on one kind of material: of `bad` cases `stopped` were stopped, of `good` ones `hindered` were hindered."""

    guard: str
    stopped: int
    bad: int
    hindered: int
    good: int
    material: str
    """What the cases are, and where they come from."""

    def row(self) -> str:
        return f"| {self.guard} | {_share(self.stopped, self.bad)} | {_share(self.hindered, self.good)} | {self.material} |"


def material(name: str) -> dict[str, Any]:
    """Return the JSON of one file of material."""
    content: dict[str, Any] = json.loads((MATERIAL / f"{name}.json").read_text())
    return content


def measured() -> list[str]:
    """Return the names of the modules that measure a guard."""
    return sorted(
        module.name
        for module in pkgutil.iter_modules([str(Path(__file__).parent)])
        if not module.name.startswith(("test_", "__"))
    )


def figures(name: str) -> list[Figures]:
    """Return the rows of one module."""
    rows: Iterable[Figures] = importlib.import_module(f"{__name__}.{name}").figures()
    return list(rows)


def section(name: str) -> str:
    """Return the part of the table that one module makes."""
    return f"\n## {name}\n{COLUMNS}" + "".join(row.row() + "\n" for row in figures(name))


def table() -> str:
    """Return the whole table, a section for each module, in the order of their names."""
    return HEADER + "".join(map(section, measured()))


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" if whole else "–"
