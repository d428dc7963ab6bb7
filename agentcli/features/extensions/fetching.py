"""HTTP requests of extensions, within the limits of the tool `web_fetch`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import urlsplit

from agentcli.core.errors import ToolError, in_words, innermost
from agentcli.core.tool import ToolLimits
from agentcli.extension import Fetched
from agentcli.system.network import EVERYWHERE, target
from agentcli.tools.lib.web_request import WebRequest, client_for, exchanged

LARGEST = 2_000_000
"""Maximum bytes of an answer."""


async def fetch(url: str, headers: Mapping[str, str], body: str, private: bool, limits: ToolLimits) -> Fetched:
    """Send a request, a POST if it has a body, and return the answer. Raises ToolError."""
    import httpx2

    place, seconds = urlsplit(url).netloc or url, limits.fetch_seconds
    request = WebRequest("POST" if body else "GET", headers, body.encode() if body else None)
    allowed = EVERYWHERE if private else limits.fetch_addresses
    try:
        async with asyncio.timeout(seconds), client_for(seconds) as client:
            page = await exchanged(client, await target(url, allowed), request, LARGEST)
    except TimeoutError as error:
        raise ToolError(f"{place} took longer than {seconds:g} s.") from error
    except httpx2.HTTPError as error:
        cause = innermost(error) if isinstance(error, httpx2.ConnectError) else error
        raise ToolError(f"Can't reach {place}: {in_words(cause)}.") from error
    except (httpx2.InvalidURL, ValueError) as error:
        raise ToolError(f"Can't ask {place}: {error}.") from error
    if isinstance(page, str):
        raise ToolError(f"{place} redirects to {page:.200}, which is not followed.")
    return Fetched(page.status, page.kind, page.body.decode("utf-8", "replace"))
