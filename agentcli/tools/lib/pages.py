"""Web pages: fetched by address, with HTML as Markdown.

HTML is first made plain in one pass: whole tags with the attributes that Markdown can express. Parsers would search the
rest again for each piece of markup that is never closed.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from html import escape, unescape

import httpx2

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError, in_words, innermost
from agentcli.core.tool import ToolContext
from agentcli.system.network import check_literal, same_site, target
from agentcli.tools.lib.web_request import Page, Unreadable, WebRequest, client_for, exchanged

_REDIRECTS = 5
_CONVERTED = 400_000
"""Maximum characters of HTML to convert to Markdown; the library needs seconds for a million."""
_UNSEEN = ("script", "style", "noscript", "svg", "template", "iframe")
_ACCEPT = "text/markdown, text/html, text/plain, */*;q=0.5"
_HTML = r"(?i)text/html|application/xhtml"
_KEPT = frozenset({"href", "title", "colspan", "start", "alt"})
"""Attributes that Markdown can express."""
_BLANKS = 200
"""Maximum blanks in a row outside of tags: the library's patterns search a run again from each of them."""
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:_-]{0,63}")
_STOP = re.compile(r"[>\"']")
_ATTRIBUTE = re.compile(r"""([^\s=>"'/]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>"'][^\s>]*))?""")
_RUN = re.compile(rf"[ \t]{{{_BLANKS},}}|(?:[ \t]*\n){{{_BLANKS},}}")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A redirect that a call does not follow by itself, and the reason."""

    url: str
    where: str
    why: str

    @property
    def text(self) -> str:
        """The answer for the model."""
        return f"{self.url} redirects to {self.where}\nThis was not followed: {self.why}. Fetch that address if you need it."


async def fetched(url: str, ctx: ToolContext) -> Page | Elsewhere:
    """Return the page of an address, or the redirect that is not followed. Raises ToolError."""
    limits, get = ctx.limits, WebRequest(headers={"Accept": _ACCEPT})
    async with client_for(limits.fetch_seconds) as client:
        for _ in range(_REDIRECTS + 1):
            goal = await target(url, limits.fetch_addresses)
            try:
                page = await exchanged(client, goal, get, limits.fetch_bytes)
            except Unreadable as error:
                raise ToolError(f"{error} Download it with bash if you need it.") from error
            except httpx2.HTTPError as error:
                cause = innermost(error) if isinstance(error, httpx2.ConnectError) else error
                raise ToolError(f"Can't fetch {url}: {in_words(cause)}.") from error
            except httpx2.InvalidURL as error:
                raise ToolError(f"{url!r} is not a URL: {error}.") from error
            if isinstance(page, Page):
                return page
            check_literal(page, limits.fetch_addresses)
            why = ctx.scope.objection(page) if same_site(url, page) else "it is another host"
            if why:
                return Elsewhere(url, page, why)
            url = page
    raise ToolError(f"More than {_REDIRECTS} redirects; the last one leads to {url}.")


def readable(page: Page) -> str:
    """Return the text of a page; HTML as Markdown. Raises ToolError if it is not text."""
    text = _decoded(page).removeprefix("\ufeff")
    if "\0" in text[:8_000]:
        raise ToolError(f"{page.url} is not text. Download it with bash if you need it.")
    if re.match(_HTML, page.kind) or (not page.kind and text.lstrip()[:1] == "<"):
        return markdown_of(text)
    return text


def _charset(page: Page) -> str:
    declared = re.search(r"charset=[\"']?([\w-]+)", page.kind) or re.search(
        r"<meta[^>]{0,200}charset=[\"']?([\w-]+)", page.body[:2_000].decode("ascii", "ignore"), re.IGNORECASE
    )
    try:
        return codecs.lookup(declared.group(1)).name if declared else "utf-8"
    except LookupError:
        return "utf-8"


def _decoded(page: Page) -> str:
    try:
        return page.body.decode(_charset(page), "replace")
    except (LookupError, ValueError):  # a codec for data other than text, or one that replaces nothing
        return page.body.decode("utf-8", "replace")


def markdown_of(html: str) -> str:
    """Convert a page from HTML to Markdown, in time linear in its length."""
    from markdownify import markdownify

    for tag in _UNSEEN:
        html = _without(html, tag)
    cut = f"\n\n[cut: {len(html) - _CONVERTED:,} more characters of HTML]" if len(html) > _CONVERTED else ""
    plain = plain_markup(html[:_CONVERTED])
    try:
        text = markdownify(plain, heading_style="ATX", strip=["img"])
    except RecursionError:  # thousands of nested elements
        text = re.sub(r"<[^<>]*>", " ", plain)
    return re.sub(r"\n\s*\n\s*\n+", "\n\n", str(text)).strip() + cut


def _without(html: str, tag: str) -> str:
    """Remove these elements with their content; an unclosed element extends to the end."""
    begin, end = re.compile(rf"<{tag}\b", re.IGNORECASE), re.compile(rf"</{tag}\s*>", re.IGNORECASE)
    pieces, position = [], 0
    while opened := begin.search(html, position):
        pieces.append(html[position : opened.start()])
        closed = end.search(html, opened.end())
        if closed is None:
            return "".join(pieces)
        position = closed.end()
    return "".join([*pieces, html[position:]])


def plain_markup(text: str) -> str:
    """Return the page without markup that Markdown cannot express.

    An unclosed tag extends to the end, as in a browser.
    """
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    position = 0
    while (opened := text.find("<", position)) >= 0:
        yield _few_blanks(text[position:opened])
        after = text[opened + 1 : opened + 2]
        if after.isascii() and (after.isalpha() or after == "/"):
            end = _end_of_tag(text, opened + 1)
            if end < 0:
                return
            yield _tag(text[opened + 1 : end])
        elif after in ("!", "?"):
            comment = text.startswith("<!--", opened)
            end = text.find("-->", opened + 4) + 2 if comment else text.find(">", opened)
            if end < opened:
                return
        else:
            yield "&lt;"
            end = opened
        position = end + 1
    yield _few_blanks(text[position:])


def _few_blanks(text: str) -> str:
    return _RUN.sub(lambda run: run[0][:1] * _BLANKS if "\n" not in run[0] else "\n\n", text)


def _end_of_tag(text: str, start: int) -> int:
    """Return the position of the `>` that ends a tag; -1 if there is none.

    A `>` in quotes after `=` does not count.
    """
    position = start
    while (stop := _STOP.search(text, position)) is not None:
        if stop[0] == ">":
            return stop.start()
        position = stop.end()
        if text[max(start, stop.start() - 50) : stop.start()].rstrip()[-1:] == "=":
            closed = text.find(stop[0], position)
            if closed < 0:
                return -1
            position = closed + 1
    return -1


def _tag(inside: str) -> str:
    """Return a tag from the text between its brackets; empty if it is not a tag."""
    closing = inside.startswith("/")
    name = _NAME.match(inside, 1 if closing else 0)
    if name is None:
        return ""
    if closing:
        return f"</{name[0]}>"
    kept = [
        f' {found[1].lower()}="{escape(unescape(_unquoted(found[2])))}"'
        for found in _ATTRIBUTE.finditer(inside, name.end())
        if found[2] and found[1].lower() in _KEPT
    ]
    return f"<{name[0]}{''.join(kept)}{' /' if inside.endswith('/') else ''}>"


def _unquoted(value: str) -> str:
    return value[1:-1] if value[0] in "\"'" else value
