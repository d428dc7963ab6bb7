"""`python -m tests.texts`: print the texts that reach people, file by file, to be read from top to end."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import agentcli

PACKAGE = Path(agentcli.__file__).parent
SAYING = frozenset(
    {
        "say",
        "warn",
        "print",
        "print_styled",
        "Finding",
        "confirm",
        "input",
        "getpass",
        "_aside",
        "Option",
        "Argument",
        "Typer",
    }
)
"""Calls whose texts are printed."""


def texts() -> Iterator[tuple[str, int, str]]:
    """File, line and text: of errors, of what is printed, of help; `…` stands for values."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = str(path.relative_to(PACKAGE))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            for text in _spoken(node):
                if " " in text.strip():
                    yield name, getattr(node, "lineno", 0), text


def _spoken(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Name(called) | ast.Attribute(attr=called), args=args, keywords=keywords):
            if called in SAYING or called.endswith(("Error", "Reached", "Busy")):
                for each in (*args, *(keyword.value for keyword in keywords if keyword.arg != "metavar")):
                    yield from _strings(each)
        case ast.FunctionDef() | ast.AsyncFunctionDef() if _is_command(node):
            yield ast.get_docstring(node) or ""


def _is_command(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True for a function whose docstring is the help of a command."""
    for each in node.decorator_list:
        called = each.func if isinstance(each, ast.Call) else each
        if getattr(called, "attr", getattr(called, "id", "")) == "command":
            return True
    return False


def _strings(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=values):
            yield "".join(str(each.value) if isinstance(each, ast.Constant) else "…" for each in values)
        case ast.Call() | ast.Lambda():
            return
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _strings(child)


if __name__ == "__main__":
    file = ""
    for name, line, text in texts():
        if name != file:
            file = name
            print(f"\n{name}")
        print(f"{line:5}  {' '.join(text.split())}")
