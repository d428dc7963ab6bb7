"""Functions for the checks of tasks.

A check runs agent code only in processes that see no other, and judges its output itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from agentcli.extras.bench import enclosed
from agentcli.system import probe

SECONDS = 20.0
"""Maximum seconds for one run of agent code."""
_LEFT_BEHIND = frozenset({".git", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"})
"""Folders that programs leave behind; no check counts them as changes."""


SOLVED = "solved"
"""The last line that a check prints if the tree solves the task."""
REFUSED = "refused: "
"""Prefix of the line that a check prints if the tree does not solve the task."""


class Refused(Exception):
    """The tree does not solve the task."""


def judge(check: Callable[[Path, Path], None]) -> NoReturn:
    """Call a check with the agent's tree and its original folder, and exit, with 1 if it raises Refused."""
    enclosed.close_memory()
    try:
        check(Path(sys.argv[1]), Path(sys.argv[2]))
    except Refused as refusal:
        print(f"{REFUSED}{refusal}")
        sys.exit(1)
    print(SOLVED)
    sys.exit(0)


def require(condition: object, why: str) -> None:
    """Raise Refused if a condition is false."""
    if not condition:
        raise Refused(why)


def ran(
    tree: Path, *command: str, stdin: str = "", env: Mapping[str, str] | None = None, seconds: float = SECONDS
) -> tuple[int, str]:
    """Run a command in the tree, where it sees no other process; return its exit code and stdout. Raise Refused if it does not end."""
    plain = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(tree), "LC_ALL": "C.UTF-8", **(env or {})}
    with tempfile.TemporaryFile() as out:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-S", enclosed.__file__, *command],
                cwd=tree,
                input=stdin.encode(),
                stdout=out,
                stderr=subprocess.DEVNULL,
                timeout=seconds,
                env=plain,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Refused(f"{command[0]} does not end") from None
        out.seek(0)
        return done.returncode, out.read().decode("utf-8", "replace")


def python(tree: Path, *arguments: str, **more: Any) -> tuple[int, str]:
    """Run Python in the tree; see `ran`."""
    return ran(tree, sys.executable, "-B", *arguments, **more)


def evaluated(
    tree: Path, statements: str, expressions: Sequence[str], env: Mapping[str, str] | None = None
) -> list[Any]:
    """Return the values of Python expressions, after statements, in the tree: JSON values, or `raised NAME` for an exception.

    Raise Refused if the code ends early.
    """
    lines = ["import json, sys", "sys.path.insert(0, '')", statements, "_values = []"]
    for expression in expressions:
        lines += ["try:", f"    _values.append({expression})"]
        lines += ["except Exception as _error:", "    _values.append('raised ' + type(_error).__name__)"]
    lines.append("print('\\n' + json.dumps(_values))")
    code, out = python(tree, "-c", "\n".join(lines), env=env)
    try:
        values = json.loads(out.rpartition("\n")[0].rpartition("\n")[2])
    except ValueError:
        values = None
    if code or not isinstance(values, list) or len(values) != len(expressions):
        raise Refused("the code does not run")
    return values


def require_values(tree: Path, statements: str, expected: Mapping[str, Any]) -> None:
    """Raise Refused if an expression does not have its expected value."""
    for (expression, value), found in zip(expected.items(), evaluated(tree, statements, [*expected]), strict=True):
        require(found == value and type(found) is type(value), f"{expression} is {found!r}, not {value!r}")


def require_unchanged(tree: Path, original: Path, besides: Collection[str] = ()) -> None:
    """Raise Refused if a file other than these differs from the original, is missing or is new. A name that ends in /
    is a folder.
    """
    before, after = _contents(original), _contents(tree)
    for name in sorted({*before, *after}):
        allowed = any(name == each or (each.endswith("/") and name.startswith(each)) for each in besides)
        require(allowed or before.get(name) == after.get(name), f"{name} was changed")


def content(path: Path) -> bytes:
    """Return the bytes of a file of the tree. Raise Refused if it is not a plain file."""
    require(probe.is_file(path) and not path.is_symlink(), f"there is no file {path.name}")
    return path.read_bytes()


def answer(tree: Path, name: str = "ANSWER.txt") -> str:
    """Return the text of the answer file, stripped."""
    return content(tree / name).decode("utf-8", "replace").strip()


def _contents(folder: Path) -> dict[str, bytes]:
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        if _LEFT_BEHIND.intersection(name.parts):
            continue
        if path.is_symlink():
            found[str(name)] = b"link to " + os.fsencode(os.readlink(path))
        elif probe.is_file(path):
            found[str(name)] = path.read_bytes()
    return found
