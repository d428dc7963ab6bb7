"""The web_fetch tool: a public web page as Markdown, or the answer to a question about it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.sanitise import replace_surrogates
from agentcli.core.tool import Behaviour, Subject, ToolContext, ToolOutput, Traits, as_json
from agentcli.tools.entry import Entry

if TYPE_CHECKING:
    from agentcli.tools.lib.web_request import Page

_REDIRECTS = 5
_CONVERTED = 400_000
"""Maximum characters of HTML that are turned into Markdown; the library needs seconds for a million."""
_UNSEEN = ("script", "style", "noscript", "svg", "template", "iframe")
_ACCEPT = "text/markdown, text/html, text/plain, */*;q=0.5"
_HTML = r"(?i)text/html|application/xhtml"


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """A redirect that a call does not follow by itself, and the reason."""

    url: str
    where: str
    why: str

    @property
    def text(self) -> str:
        """The answer for the model."""
        return f"{self.url} redirects to {self.where}\nThis was not followed: {self.why}. Fetch that address if you need it."


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """Answer of a small model about a page, with `spent` as metadata; or `trouble`, the reason why there is none."""

    text: str = ""
    trouble: str = ""
    model: str = ""
    spent: Mapping[str, Any] = field(default_factory=dict)


class Reader(Protocol):
    """The service that answers questions about pages."""

    async def answer(self, question: str, page: str) -> PageAnswer:
        """Answer a question from the text of a page."""


async def web_fetch(
    ctx: ToolContext,
    call_id: str,
    url: str,
    prompt: str = "",
) -> ToolOutput:
    from agentcli.tools.lib.truncate import whereabouts, whole_or_cut

    try:
        async with asyncio.timeout(ctx.limits.fetch_seconds):
            page = await _get(url, ctx)
            if isinstance(page, _Elsewhere):
                return ToolOutput(page.text, metadata={"url": page.url, "redirect": page.where})
            text = await asyncio.to_thread(_readable, page)
    except TimeoutError as error:
        raise ToolError(f"{url} took longer than {ctx.limits.fetch_seconds:g} s.") from error
    if page.status >= 400:
        raise ToolError(f"{page.url} answers {page.status}.\n{text[:1_000]}".rstrip())
    metadata = {"url": page.url, "status": page.status, "bytes": len(page.body)}
    head = f"[{page.url}, {page.kind or 'no content type'}]"
    if not prompt.strip() or not text.strip() or (reader := ctx.service(Reader)) is None:
        return whole_or_cut(ctx, call_id, f"{head}\n\n{text}", metadata)
    answer = await reader.answer(prompt, text)
    metadata |= answer.spent
    if not answer.text:
        missing = f"[No model has answered the prompt: {answer.trouble} The page itself follows.]"
        return whole_or_cut(ctx, call_id, f"{head}\n{missing}\n\n{text}", metadata)
    file = ctx.keep_output(call_id, replace_surrogates(f"{head}\n\n{text}"))
    source = f"[{answer.model} answered this from the page{whereabouts(file, call_id, 'the page')}]"
    return ToolOutput(f"{head}\n\n{answer.text}\n\n{source}", truncated=True, output_file=file, metadata=metadata)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Fetch https://example.com`."""
    return f"Fetch {given.get('url', '')}"


def preview(ctx: ToolContext, given: Mapping[str, Any]) -> str:
    """Return the input. Raises ToolError for a URL that would be refused, so that the user is not asked about it."""
    from agentcli.system.network import check_literal

    check_literal(given["url"], ctx.limits.fetch_addresses)
    return as_json(ctx, given)


async def _get(url: str, ctx: ToolContext) -> Page | _Elsewhere:
    import httpx2

    from agentcli.core.causes import in_words, innermost
    from agentcli.system.network import check_literal, same_site, target
    from agentcli.tools.lib.web_request import Page, Unreadable, WebRequest, client_for, exchanged

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
                return _Elsewhere(url, page, why)
            url = page
    raise ToolError(f"More than {_REDIRECTS} redirects; the last one leads to {url}.")


def _readable(page: Page) -> str:
    text = _decoded(page).removeprefix("\ufeff")
    if "\0" in text[:8_000]:
        raise ToolError(f"{page.url} is not text. Download it with bash if you need it.")
    if re.match(_HTML, page.kind) or (not page.kind and text.lstrip()[:1] == "<"):
        return markdown_of(text)
    return text


def _charset(page: Page) -> str:
    import codecs

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
    except (LookupError, ValueError):  # a codec for other data than text, or one that replaces nothing
        return page.body.decode("utf-8", "replace")


def markdown_of(html: str) -> str:
    """Convert a page from HTML to Markdown, in time linear in its length."""
    from markdownify import markdownify

    from agentcli.tools.lib.html_markup import plain_markup

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
    """Remove these elements with their content; an element that is never closed extends to the end."""
    begin, end = re.compile(rf"<{tag}\b", re.IGNORECASE), re.compile(rf"</{tag}\s*>", re.IGNORECASE)
    pieces, position = [], 0
    while opened := begin.search(html, position):
        pieces.append(html[position : opened.start()])
        closed = end.search(html, opened.end())
        if closed is None:
            return "".join(pieces)
        position = closed.end()
    return "".join([*pieces, html[position:]])


WEB_FETCH = Entry(
    "web_fetch", web_fetch, title, Traits("network", Subject("url", "url"), Behaviour(dispensable=True)), preview
)
