"""Markdown as terminal lines. Nothing of a reply is dropped: tags are shown, addresses are linked or written out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from agentcli.core.sanitise import safe
from agentcli.core.text import markdown
from agentcli.core.text.markdown import ADDRESS, DEEPEST
from agentcli.frontends.terminal.render import tables
from agentcli.frontends.terminal.render.markdown_blocks import Block, Blocks
from agentcli.frontends.terminal.render.spans import Row, Run, indented, wrap, written
from agentcli.frontends.terminal.render.syntax import coloured
from agentcli.frontends.terminal.style import Look
from agentcli.system.cells import expand, width

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode as Node

LONGEST = 16_000
"""Maximum characters of a parsed block; longer ones are shown as source, because the parser may take quadratic time."""
_NARROWEST = 12
"""Minimal cells of a line's content inside nested blocks."""
_BULLETS = "•◦▪"
_NAME = "[a-z][a-z0-9_]*"
"""A word that is a name in Python between double underscores (`__init__`)."""


def lines(block: Block, columns: int, look: Look) -> list[str]:
    """Render the block as lines of at most `columns` cells without trailing blanks.

    If the block has a gap, a blank line comes first.
    """
    tree = _tree(block.source)
    rows = (
        wrap([Run(safe(expand(block.own)))], columns) if tree is None else _Writer(look, block).blocks(tree, columns, 0)
    )
    text = [written(_stripped(row)) for row in rows]
    return ["", *text] if block.gap else text


def document(source: str, columns: int, look: Look) -> list[str]:
    """Render a whole Markdown text; its paragraphs are reflowed, as in texts whose lines were broken for an editor."""
    look = replace(look, flows=True)
    state, blocks = Blocks().feed(source)
    return [line for block in (*blocks, *state.end()) for line in lines(block, columns, look)]


def warm(look: Look) -> None:
    """Preload the modules that the first block of each kind needs."""
    lines(Block("# a\n\n```python\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 日 |"), 80, look)


class _Writer:
    """Writes nodes of the syntax tree as rows of runs."""

    def __init__(self, look: Look, block: Block) -> None:
        self._look, self._block = look, block
        self._sgr = look.theme.sgr

    def blocks(self, nodes: Sequence[Node], room: int, depth: int, tight: bool = False) -> list[Row]:
        """Stack the blocks, with a blank row between them unless they belong to a tight list."""
        found: list[Row] = []
        for before, node in pairwise([None, *nodes]):
            assert node is not None
            if before is not None and not (tight or (before.type == node.type == "paragraph" and before.hidden)):
                found.append([])
            found += self._block_rows(node, room, depth)
        return found

    def _block_rows(self, node: Node, room: int, depth: int) -> list[Row]:
        match node.type:
            case "paragraph":
                return wrap(self._inline(node.children), room)
            case "heading":
                role = "heading" if node.tag in ("h1", "h2") else "strong"
                return wrap([run.also(self._sgr(role)) for run in self._inline(node.children)], room)  # type: ignore[arg-type]
            case "fence" | "code_block":
                return self._code(node, room)
            case "bullet_list" | "ordered_list":
                return self._list(node, room, depth)
            case "blockquote":
                bar = Run("▌ " if room >= _NARROWEST + 2 else "", self._sgr("dim"))
                rows = self.blocks(node.children, room - len(bar.text), depth + 1)
                return indented([[run.also(self._sgr("quote")) for run in row] for row in rows], bar, bar)
            case "hr":
                return [[Run("─" * room, self._sgr("dim"))]]
            case "table":
                return self._table(node, room)
            case _:
                return wrap(self._inline(node.children), room) if node.children else []

    def _code(self, node: Node, room: int) -> list[Row]:
        # A piece that begins in the middle keeps its blank lines: they are part of the code.
        rows = coloured(safe(node.content.removesuffix("\n")), node.info, self._look.theme)
        margin = Run("  " if room >= _NARROWEST + 2 else "")
        wrapped = [row for line in rows for row in wrap(line, room - len(margin.text))]
        return indented(wrapped, margin, margin)

    def _list(self, node: Node, room: int, depth: int) -> list[Row]:
        number = int(str(node.attrs.get("start", 1)))
        found: list[Row] = []
        for n, item in enumerate(node.children):
            tight = all(child.hidden for child in item.children if child.type == "paragraph")
            mark = _mark(item, f"{number + n}." if node.type == "ordered_list" else _BULLETS[min(depth, 2)])
            if n and not tight:
                found.append([])
            if room < _NARROWEST + width(mark):
                found += [[Run(mark, self._sgr("dim"))], *self.blocks(item.children, room, depth + 1, tight)]
                continue
            rows = self.blocks(item.children, room - width(mark), depth + 1, tight)
            found += indented(rows or [[]], Run(mark, self._sgr("dim")), Run(" " * width(mark)))
        return found

    def _table(self, node: Node, room: int) -> list[Row]:
        head, rows = self._cells(node)
        aligns = [_align(cell) for cell in node.children[0].children[0].children]
        above = (
            [row for one in (_tree(self._block.before) or ())[:1] for row in self._cells(one)[1]]
            if self._block.before
            else []
        )
        wide = tables.columns([head, *above, *rows], room)
        dim, strong, again = self._sgr("dim"), self._sgr("strong"), bool(self._block.repeats)
        if wide is None:
            return tables.listed(head, rows, room, dim, strong, again)
        return tables.drawn([] if again else head, rows, aligns, wide, dim, strong)

    def _cells(self, node: Node) -> tuple[list[Row], list[list[Row]]]:
        parts = [
            [[self._inline(cell.children) for cell in row.children] for row in part.children] for part in node.children
        ]
        return parts[0][0], parts[1] if len(parts) > 1 else []

    def _inline(self, nodes: Sequence[Node], sgr: str = "") -> Row:
        return [run for node in nodes for run in self._inline_runs(node, sgr)]

    def _inline_runs(self, node: Node, sgr: str) -> Row:
        match node.type:
            case "text":
                return [Run(safe(node.content), sgr)]
            case "softbreak" if self._look.flows:
                return [Run(" ", sgr)]
            case "softbreak" | "hardbreak":
                return [Run("\n")]
            case "code_inline":
                return [Run(safe(node.content), _also(sgr, self._sgr("code")))]
            case "strong" if node.markup == "__" and re.fullmatch(_NAME, said := _text(node)):
                return [Run(f"__{said}__", sgr)]
            case "strong":
                return self._inline(node.children, _also(sgr, self._sgr("strong")))
            case "em":
                return self._inline(node.children, _also(sgr, self._sgr("stress")))
            case "s":
                return self._inline(node.children, _also(sgr, self._sgr("struck")))
            case "link" if node.markup == ADDRESS:
                return self._address(str(node.attrs["href"]), sgr)
            case "link":
                return self._link(self._inline(node.children, sgr), str(node.attrs.get("href", "")), sgr)
            case "image":
                label = [Run(f"image: {safe(node.content)}" if node.content else "image", sgr)]
                return self._link(label, str(node.attrs.get("src", "")), sgr)
            case _:
                return self._inline(node.children, sgr) if node.children else [Run(safe(node.content), sgr)]

    def _link(self, words: Row, url: str, sgr: str) -> Row:
        text = "".join(run.text for run in words)
        target = markdown.target(url) if self._look.links else ""
        if not url or text.strip() in (url, url.removeprefix("mailto:")):
            return self._address(url, sgr) if markdown.target(url) else words
        if target and markdown.honest(text, url):
            return [Run(run.text, _also(run.sgr, self._sgr("link")), target) for run in words]
        return [*words, Run(" (", sgr), *self._address(url, sgr), Run(")", sgr)]

    def _address(self, url: str, sgr: str) -> Row:
        target = markdown.target(url) if self._look.links else ""
        return [Run(safe(url), _also(sgr, self._sgr("link")), target)]


def _text(node: Node) -> str:
    return "".join(child.content for child in node.children)


def _also(sgr: str, more: str) -> str:
    return ";".join(filter(None, (sgr, more)))


def _align(cell: Node) -> tables.Align:
    style = str(cell.attrs.get("style", ""))
    return "right" if "right" in style else "center" if "center" in style else "left"


def _stripped(row: Row) -> Row:
    """Remove the trailing blanks of a row."""
    while row and not row[-1].text.strip():
        row = row[:-1]
    return [*row[:-1], Run(row[-1].text.rstrip(), row[-1].sgr, row[-1].link)] if row else row


def _tree(source: str) -> Sequence[Node] | None:
    """Return the syntax tree of the source; None if it is too long or too deeply nested for the parser."""
    from markdown_it.tree import SyntaxTreeNode

    if len(source) > LONGEST:
        return None
    tokens = markdown.reader().parse(expand(source))
    if any(token.level >= DEEPEST - 2 for token in tokens):
        return None
    root = SyntaxTreeNode(tokens)
    for node in root.walk():  # otherwise the nodes of thousands of blocks would wait for the garbage collection
        node.parent = None
    return root.children


def _mark(item: Node, bullet: str) -> str:
    """Return an item's bullet or number; the box of a task instead."""
    return f"{bullet} " if "done" not in item.meta else "✔ " if item.meta["done"] else "☐ "
