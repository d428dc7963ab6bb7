"""Google's Gemini: the Gemini API with a key, or Vertex AI."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agentcli.core.errors import ModelError
from agentcli.core.model import ModelSpec, Request, StreamEvent
from agentcli.providers.google.models import KIND
from agentcli.providers.google.reply import Reply
from agentcli.providers.http import connection_error
from agentcli.providers.preload import own_sdk, warmed
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.settings import ProviderSettings
from agentcli.providers.wire import UsedIds

if TYPE_CHECKING:
    from agentcli.providers.google.api import GeminiApi
    from agentcli.providers.google.sdk import SdkApi


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
        """See `Model.stream`."""
        await warmed(KIND)
        reply = Reply(self._used.of(request))
        with self._translated(reply):
            async with aclosing(self._api.chunks(request)) as chunks:
                async for chunk in chunks:
                    for step in reply.read(chunk):
                        yield step
        for step in reply.end():
            yield step

    async def count(self, request: Request) -> int | None:
        """See `Model.count`. This API counts contents only, so system text and tools are counted as if they were one."""
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

    async def close(self) -> None:
        """Give the connections back."""
        if "_api" in self.__dict__:
            await self._api.close()

    @contextmanager
    def _translated(self, reply: Reply) -> Iterator[None]:
        """Foreign errors become ModelErrors; one that strikes after the reply's finish reason is of no interest."""
        import httpx2

        try:
            yield
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            if not reply.stopped:
                raise connection_error(error, self._settings, self._host) from None
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
            # The SDK takes what it reads for well-formed, and so do we: its own errors and pydantic's are ValueErrors.
            if not reply.stopped:
                raise ModelError(
                    f"The reply does not follow the wire format ({type(error).__name__}).", "bad_reply"
                ) from None

    @property
    def _host(self) -> str:
        return urlsplit(self._base_url or PROVIDERS[KIND].url).hostname or self._settings.name

    @cached_property
    def _api(self) -> GeminiApi | SdkApi:
        from agentcli.providers.google.api import GeminiApi
        from agentcli.providers.google.sdk import SdkApi

        if not self._settings.platform:
            api = GeminiApi(self._settings, self._key, self._base_url, own_sdk(KIND))
            if api.fits():
                return api
        return SdkApi(self._settings, self._key, self._base_url)
