"""Google's Gemini: the Gemini API with a key, or Vertex AI."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentcli.core.errors import ModelError
from agentcli.core.model import ModelSpec, Request, StreamEvent
from agentcli.core.streams import closing
from agentcli.providers.google.models import KIND
from agentcli.providers.google.reply import Reply
from agentcli.providers.google.request import Former, to_body
from agentcli.providers.http import connection_error
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.sdk_import import warmed
from agentcli.providers.settings import ProviderSettings
from agentcli.providers.wire import UsedIds

if TYPE_CHECKING:
    from agentcli.providers.google.api import GoogleApi


class GoogleModel:
    """A model behind generateContent."""

    def __init__(self, spec: ModelSpec, settings: ProviderSettings, key: str | None, base_url: str = "") -> None:
        self._spec = spec
        self._settings = settings
        self._key = key
        self._base_url = base_url
        self._used = UsedIds()

    @property
    def spec(self) -> ModelSpec:
        """Id, limits and prices of the model."""
        return self._spec

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Stream a reply as `Model.stream`."""
        await warmed(KIND)
        api = self._api
        # Built outside of the translation of wire errors, which would report our own errors as the provider's.
        body, reply = api.formed(request), Reply(self._used.of(request))
        with self._translated(reply):
            async with closing(api.chunks(request.model.id, body)) as chunks:
                async for chunk, headers in chunks:
                    for step in reply.read(chunk, headers):
                        yield step
        for step in reply.end():
            yield step

    async def count(self, request: Request) -> int | None:
        """Count tokens like `Model.count`.

        This API counts only contents, so system text and tools are counted as contents.
        """
        if not self._settings.counting:
            return None
        await warmed(KIND)
        try:
            with self._translated(Reply()):
                counted = await self._api.count(request)
        except ModelError as error:
            if error.cause == "not_found":
                raise  # an endpoint without counting
            return None
        return counted if isinstance(counted, int) else None

    def wire(self, request: Request) -> dict[str, Any]:
        """Return the body to send for this request."""
        return to_body(request, self._settings, Former())

    async def close(self) -> None:
        """Close the connections."""
        if "_api" in self.__dict__:
            await self._api.close()

    @contextmanager
    def _translated(self, reply: Reply) -> Iterator[None]:
        """Turn foreign errors into ModelErrors; ignore errors after the reply's finish reason."""
        import httpx2

        try:
            yield
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            if not reply.stopped:
                raise connection_error(error, self._settings, self._host) from None
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
            # This code expects well-formed input.
            if not reply.stopped:
                raise ModelError(
                    f"The reply does not follow the wire format ({type(error).__name__}).", "bad_reply"
                ) from error

    @property
    def _host(self) -> str:
        return urlsplit(self._base_url or PROVIDERS[KIND].url).hostname or self._settings.name

    @cached_property
    def _api(self) -> GoogleApi:
        from agentcli.providers.google.api import GoogleApi

        return GoogleApi(self._settings, self._key, self._base_url)
