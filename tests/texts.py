"""`python -m tests.texts`: print the texts that reach people, file by file, to be read from top to end."""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
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
        "Noticed",
        "Warned",
        "Note",
        "Choice",
        "Dialog",
    }
)
"""Calls whose texts are printed."""


Text = tuple[str, int, str]
"""File, line and text."""


def texts() -> tuple[Text, ...]:
    """Return the texts of errors, printed lines and help; `…` stands for values."""
    return _read()[0]


def literals() -> tuple[Text, ...]:
    """All string literals of the packages that speak to people; no docstrings, patterns or lists of words.

    `…` stands for the values of a text: what is between them may be a single word.
    """
    return _read()[1]


def sentences(code: str) -> Iterator[tuple[int, str]]:
    """Line and text of each sentence in the docstrings and comments of a module."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield from ((node.lineno, each) for each in _split(text))
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    first = before = 0
    text = ""
    for token in comments:
        line, column = token.start
        if line == before + 1 and not token.line[:column].strip():
            text = f"{text} {token.string.lstrip('# ')}"
        else:
            yield from ((first, each) for each in _split(text))
            first, text = line, token.string.lstrip("# ")
        before = line
    yield from ((first, each) for each in _split(text))


def _split(text: str) -> Iterator[str]:
    """Sentences of a text; an indented block is an example."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if paragraph.startswith(" "):
            continue
        yield from re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split()))


@cache
def _read() -> tuple[tuple[Text, ...], tuple[Text, ...]]:
    """Texts and literals of the package, each file parsed once."""
    printed: list[Text] = []
    written: list[Text] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = str(path.relative_to(PACKAGE))
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        spoken = ((getattr(node, "lineno", 0), text) for node in nodes for text in _spoken(node))
        printed += ((name, line, text) for line, text in spoken if " " in text.strip())
        if not name.startswith(FOR_THE_MODEL):
            written += ((name, line, text) for line, text in _literals(nodes))
    return tuple(printed), tuple(written)


def _literals(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    silent = set(_silent(nodes))
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            text = "".join(_strings(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            text = node.value
        else:
            continue
        if " " in text.strip() and "\\" not in text and ".*" not in text:
            yield getattr(node, "lineno", 0), text


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


FOR_THE_MODEL = (
    "tools/",
    "agent/",
    "seeds/",
    "context/compaction/",
    "context/snapshot/",
    "context/view",
    "context/inv",
)
"""Paths whose texts go to the model unless they are errors or printed."""


def _silent(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Identities of strings that nobody is shown: docstrings of all but commands, and lists of words to look up."""
    for node in nodes:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "word_set":
            yield from map(id, node.args)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            command = not isinstance(node, ast.ClassDef | ast.Module) and _is_command(node)
            for n, child in enumerate(node.body):
                if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant) and not (command and n == 0):
                    yield id(child.value)


def pages() -> Iterator[tuple[str, int, str]]:
    """File, line and text of the manual, the README and the changelog, without code and the targets of links."""
    root = PACKAGE.parent
    for path in (*sorted((PACKAGE / "manual").glob("*.md")), root / "README.md", root / "CHANGELOG.md"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not line.startswith("    "):
                yield path.name, number, re.sub(r"`[^`]*`|\]\([^)]*\)|<[^>]*>", "…", line)


if __name__ == "__main__":
    file = ""
    for name, line, text in texts():
        if name != file:
            file = name
            print(f"\n{name}")
        print(f"{line:5}  {' '.join(text.split())}")
