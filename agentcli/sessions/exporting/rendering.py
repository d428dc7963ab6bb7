"""Markdown, diffs and highlighted code as HTML that is safe for any input, for the export and the page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import translate
from functools import cache, lru_cache
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from agentcli.core.text import markdown
from agentcli.core.text.unified_diff import Kind, parsed

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

HIGHLIGHT_LIMIT = 20_000
"""Maximum characters of a piece of code that an exported page colours; more would take too long."""

_SHORT, _REMEMBERED = 2_000, 1_000
"""Maximum characters of a piece of code that is cached with its colours, and the number of such pieces."""
_LANGUAGES = {"command": "bash", "sql": "sql"}


def coloured(code: str, language: str, limit: int = HIGHLIGHT_LIMIT) -> str:
    """Return the code as HTML spans; plain if the language is unknown, or the code too long."""
    if not language or len(code) > limit:
        return escape(code)
    # The same commands and edits occur again and again.
    return _remembered(code, language) if len(code) <= _SHORT else _highlighted(code, language)


def language_of(field: str, path: str) -> str:
    """Return the language of a call's input, by the field's name or the target file; empty if unknown."""
    if field in _LANGUAGES:
        return _LANGUAGES[field]
    if field not in ("content", "old_string", "new_string") or not path:
        return ""
    return language_of_file(path.rsplit("/", 1)[-1])


def language_of_file(name: str) -> str:
    """Return the language of a file by its name; empty if it is unknown."""
    return _language_of_ending(_endings(name))


def _highlighted(code: str, language: str) -> str:
    from pygments import highlight  # type: ignore[import-untyped]

    lexer = _lexer(language)
    return str(highlight(code, lexer, _formatter())) if lexer else escape(code)


_remembered = lru_cache(_REMEMBERED)(_highlighted)


# The libraries take a tenth of a second to load, and only this export needs them. Looking up a language or creating a
# formatter takes longer than colouring a short piece of code.
@lru_cache(1_000)
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        return get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return None


@cache
def _formatter() -> Any:
    from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]

    return HtmlFormatter(nowrap=True)


def _endings(name: str) -> str:
    """Return a name that all files with the same extensions share.

    If more of the name decides the language, return the name itself.
    """
    return name if _told_by_more().match(name) else f"x{''.join(name.partition('.')[1:])}"


@cache
def _told_by_more() -> re.Pattern[str]:
    from pygments.lexers import get_all_lexers

    # Looking for plugins reads the metadata of all installed packages.
    patterns = (pattern for _, _, patterns, _ in get_all_lexers(plugins=False) for pattern in patterns)
    return re.compile("|".join(translate(pattern) for pattern in patterns if not pattern.startswith("*.")))


@lru_cache(1_000)
def _language_of_ending(name: str) -> str:
    from pygments.lexers import find_lexer_class_for_filename

    lexer = find_lexer_class_for_filename(name)
    return str(lexer.aliases[0]) if lexer and lexer.aliases else ""


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ,.;?()/'-]*(?:(?<=[A-Za-z0-9])_[A-Za-z0-9][A-Za-z0-9 ,.;?()/'-]*)*(?<! )")
"""A line without any character that Markdown or HTML could take for markup: underscores only within words."""
_SORTS = {"+": "added", "-": "removed", " ": "same", "gap": "gap", "file": "name"}

_Line = tuple[Kind, int, str]


def rendered(text: str, limit: int = HIGHLIGHT_LIMIT) -> str:
    """Render Markdown as HTML. Tags in it are escaped; images are links. Code longer than `limit` characters stays
    plain.
    """
    if _PLAIN.fullmatch(text):
        return f"<p>{text}</p>\n"  # most texts between two calls are plain, and parsing is slow
    return str(_parser(limit).render(text))


def closed_part(text: str, limit: int = HIGHLIGHT_LIMIT) -> tuple[str, str, int]:
    """Render a growing text: the blocks that cannot change any more, the open one, and the lines of the former."""
    parser = _parser(limit)
    tokens = parser.parse(text)
    starts = [n for n, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0 and token.map]
    if not starts:
        return "", rendered(text, limit), 0
    last = starts[-1]

    def html(part: Sequence[Token]) -> str:
        return str(parser.renderer.render(part, parser.options, {}))

    return html(tokens[:last]), html(tokens[last:]), (tokens[last].map or [0])[0]


def diff_rows(diff: str, path: str = "", limit: int = HIGHLIGHT_LIMIT) -> str:
    """Render a unified diff as numbered lines in the colours of the file's language. `path` names the file if the diff
    does not.
    """
    hunk: list[_Line] = []
    rows: list[str] = []
    for line in parsed(diff):
        if line[0] in ("+", "-", " "):
            hunk.append(line)
            continue
        rows += _rows(hunk, path, limit)
        hunk = []
        path = line[2] or path
        if line[0] == "gap" or (line[0] == "file" and line[2]):
            rows.append(f'<div class="{_SORTS[line[0]]}">{escape(line[2]) or "⋮"}</div>')
    return f'<div class="diff">{"".join([*rows, *_rows(hunk, path, limit)])}</div>'


def _rows(hunk: Sequence[_Line], path: str, limit: int) -> Iterator[str]:
    """Yield the lines of a hunk; its old and its new side are each coloured as one text."""
    code = [escape(text) for _, _, text in hunk]
    language = language_of_file(PurePath(path).name) if path else ""
    for side in ("-", "+") if language else ():
        places = [n for n, (kind, _, _) in enumerate(hunk) if kind in (side, " ")]
        lines = coloured("\n".join(hunk[n][2] for n in places), language, limit).split("\n")
        for n, line in zip(places, lines, strict=False):
            code[n] = line
    for (kind, number, _), line in zip(hunk, code, strict=True):
        sign = kind if kind != " " else ""
        yield f'<div class="{_SORTS[kind]}"><span class="number">{number}</span><b>{sign}</b><code>{line}</code></div>'


@cache
def _parser(limit: int) -> MarkdownIt:
    from markdown_it.renderer import RendererHTML

    class Writer(RendererHTML):
        """Writes what differs from plain HTML: boxes of tasks, and only links that a reader may follow."""

        def list_item_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
            done = tokens[at].meta.get("done")
            return "<li>" if done is None else f'<li class="task"><span class="box">{"✔" if done else "☐"}</span> '

        def link_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
            env["url"] = url = str(tokens[at].attrs.get("href", ""))
            end = next(n for n in range(at, len(tokens)) if tokens[n].type == "link_close")
            env["words"] = "".join(each.content for each in tokens[at:end])
            return _opened(url)

        def link_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
            return _ended(env.pop("url", ""), env.pop("words", ""))

        def image(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
            words = f"image: {tokens[at].content}" if tokens[at].content else "image"
            url = str(tokens[at].attrs.get("src", ""))
            return f"{_opened(url)}{escape(words)}{_ended(url, words)}"

    def code(text: str, language: str, _: str) -> str:
        return coloured(text, language.split(maxsplit=1)[0] if language.strip() else "", limit)

    return markdown.parser({"highlight": code}, renderer_cls=Writer)


def _opened(url: str) -> str:
    return f'<a href="{escape(url)}">' if _followed(url) else "<span>"


def _ended(url: str, words: str) -> str:
    """Close a link; write its address out if the words name another host, or if nobody may follow it."""
    if not _followed(url):
        shown = "" if not url or words.strip() in (url, url.removeprefix("mailto:")) else f" ({escape(url)})"
        return f"</span>{shown}"
    return "</a>" if markdown.honest(words, url) else f"</a> ({escape(url)})"


def _followed(url: str) -> bool:
    return url.startswith("http") and bool(markdown.target(url))
