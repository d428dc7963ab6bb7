"""Small faults in source files: one place is changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

CHECKOUT = Path(__file__).parents[2]

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
    code: CodeType | None
    """Code of the outermost function or method that has the place; None for a place that runs on import."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}  {self.was}  ->  {self.now}"


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
    within = _function_around(tree.body, node)
    code = _code_of(within, compile(tree, str(file), "exec", dont_inherit=True)) if within else None
    return Mutant(str(file.relative_to(CHECKOUT)), getattr(node, "lineno", 0), was[:90], now[:90], text, code)


def _function_around(body: Sequence[ast.stmt], node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the outermost function whose body has a node."""
    for each in body:
        match each:
            case ast.FunctionDef(body=inner) | ast.AsyncFunctionDef(body=inner):
                if any(node is found for statement in inner for found in ast.walk(statement)):
                    return each
            case ast.ClassDef(body=inner) | ast.If(orelse=inner):
                if (found := _function_around(inner, node)) is not None:
                    return found
            case _:
                pass
    return None


def _code_of(function: ast.FunctionDef | ast.AsyncFunctionDef, within: CodeType) -> CodeType | None:
    """Return the code of a function in that of its module."""
    line = min(each.lineno for each in (function, *function.decorator_list))
    for inner in within.co_consts:
        if isinstance(inner, CodeType):
            if (inner.co_name, inner.co_firstlineno) == (function.name, line):
                return inner
            if (found := _code_of(function, inner)) is not None:
                return found
    return None


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
