"""Markdown as terminal lines; the only place that knows rich."""

from __future__ import annotations

import io
from functools import cache
from typing import ClassVar

from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.padding import Padding
from rich.segment import Segment
from rich.syntax import Syntax
from rich.theme import Theme as RichTheme

from agentcli.ui.theme import Theme

_STYLES = {
    "markdown.code": "bold",
    "markdown.block_quote": "dim",
    "markdown.table.border": "dim",
    "markdown.table.header": "bold",
    "markdown.hr": "dim",
    "markdown.item.bullet": "none",
    "markdown.item.number": "none",
    "markdown.link_url": "underline",
    "markdown.link": "none",
    **{f"markdown.h{n}": "none" for n in range(1, 7)},
}
_ROLES = {"36": "cyan", "34": "blue"}


def lines(source: str, width: int, theme: Theme, gap: bool = False) -> list[str]:
    """The block as lines of at most `width` cells, without blanks at their ends; a blank line first where `gap` says so."""
    console = _console(bool(theme.code), theme.roles.get("accent", ""))
    options = console.options.update(width=max(width, 8), height=None)
    document = _Document(source, code_theme=theme.code or "ansi_dark", hyperlinks=False)
    rows = console.render_lines(document, options, pad=False)
    shown = [_ansi(row, console) for row in rows]
    first = next((n for n, line in enumerate(shown) if line), 0)
    while shown and not shown[-1]:
        shown.pop()
    return ["", *shown[first:]] if gap else shown[first:]


def warm(theme: Theme) -> None:
    """Import what the first code block would otherwise wait for."""
    lines("# a\n\n```python\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |", 80, theme)


class _Heading(Heading):
    """Headings at the left, as loud as their level."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text.copy()
        text.justify = "left"
        text.stylize("bold")
        if self.tag in ("h1", "h2"):
            text.stylize("markdown.loud")
        yield text


class _CodeBlock(CodeBlock):
    """Code on the terminal's own background, two cells in."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip("\n")
        coloured = Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, tab_size=4)
        yield Padding(coloured, (0, 0, 0, 2))


class _Document(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
    }


@cache
def _console(colours: bool, accent: str) -> Console:
    loud = _ROLES.get(accent, "none")
    styles = RichTheme({**_STYLES, "markdown.loud": loud, "markdown.code": loud if colours else "bold"})
    return Console(
        file=io.StringIO(), force_terminal=True, color_system="standard", theme=styles, legacy_windows=False, emoji=False,
        no_color=not colours,
    )  # fmt: skip


def _ansi(row: list[Segment], console: Console) -> str:
    """One line, its trailing blanks dropped unless they can be seen."""
    kept = [segment for segment in row if not segment.control and segment.text]
    while kept and not kept[-1].text.strip() and not _visible(kept[-1]):
        kept.pop()
    if not kept:
        return ""
    if not _visible(kept[-1]):
        kept[-1] = Segment(kept[-1].text.rstrip(), kept[-1].style)
    if console.no_color:
        kept = list(Segment.remove_color(kept))
    return "".join(
        piece.style.render(piece.text, color_system=ColorSystem.STANDARD) if piece.style is not None else piece.text
        for piece in Segment.simplify(kept)
    )


def _visible(segment: Segment) -> bool:
    style = segment.style
    return style is not None and bool(style.bgcolor or style.underline or style.reverse)
