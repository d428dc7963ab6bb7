"""The web_fetch tool: a public web page as Markdown, or the answer to a question about it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.sanitise import replace_surrogates
from agentcli.core.tool import Behaviour, Subject, ToolContext, ToolOutput, Traits, as_json
from agentcli.tools.entry import Entry


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """Answer of a small model about a page, with `spent` as metadata; or `trouble`, the reason why there is none."""

    text: str = ""
    trouble: str = ""
    model: str = ""
    spent: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reader:
    """The service that answers questions about pages."""

    answer: Callable[[str, str], Awaitable[PageAnswer]]
    """Answers a question from the text of a page."""


async def web_fetch(
    ctx: ToolContext,
    call_id: str,
    url: str,
    prompt: str = "",
) -> ToolOutput:
    from agentcli.tools.lib.pages import Elsewhere, fetched, readable
    from agentcli.tools.lib.truncate import whereabouts, whole_or_cut

    try:
        async with asyncio.timeout(ctx.limits.fetch_seconds):
            page = await fetched(url, ctx)
            if isinstance(page, Elsewhere):
                return ToolOutput(page.text, metadata={"url": page.url, "redirect": page.where})
            text = await asyncio.to_thread(readable, page)
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


WEB_FETCH = Entry(
    "web_fetch", web_fetch, title, Traits("network", Subject("url", "url"), Behaviour(dispensable=True)), preview
)
