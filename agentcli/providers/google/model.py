"""Google's Gemini API through the official SDK."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from agentcli.core.errors import ModelError
from agentcli.core.model import ModelSpec, Request, StreamEvent
from agentcli.providers.google.errors import from_api_error
from agentcli.providers.google.models import KIND
from agentcli.providers.google.reply import Reply
from agentcli.providers.google.request import Former, countable, to_wire
from agentcli.providers.http import connection_error, http_client, opened, quiet_sdk, scrubbed
from agentcli.providers.preload import warmed
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.settings import ProviderSettings
from agentcli.providers.wire import used


class GoogleModel:
    """A model behind generateContent."""

    def __init__(self, spec: ModelSpec, settings: ProviderSettings, key: str | None, base_url: str = "") -> None:
        self._spec = spec
        self._settings = settings
        self._key = key
        self._base_url = base_url
        self._former = Former()

    @property
    def spec(self) -> ModelSpec:
        """Id, limits and prices of the model."""
        return self._spec

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """See `Model.stream`."""
        await warmed(KIND)
        wire = to_wire(request, self._settings, self._former)
        reply = Reply(used(request))
        responses: list[Any] = []
        opened.set(responses)
        try:
            with self._translated(reply):
                async for chunk in await self._client.aio.models.generate_content_stream(**wire):
                    for step in reply.read(chunk):
                        yield step
        finally:
            # Closing the SDK's generator leaves the connection open until garbage collection; closing the response does not.
            opened.set(None)
            for response in responses:
                await response.aclose()
        for step in reply.end():
            yield step

    async def count(self, request: Request) -> int | None:
        """See `Model.count`. This API counts contents only, so system text and tools are counted as if they were one."""
        if not self._settings.counting:
            return None
        try:
            with self._translated(Reply()):
                counted = await self._client.aio.models.count_tokens(
                    model=request.model.id, contents=countable(request)
                )
        except (ModelError, TypeError, ValueError) as error:
            if isinstance(error, ModelError) and error.cause == "not_found":
                raise  # an endpoint without counting
            return None
        return counted.total_tokens if isinstance(counted.total_tokens, int) else None

    async def close(self) -> None:
        """Give the connections back."""
        if "_http" in self.__dict__:
            await self._http.aclose()

    @contextmanager
    def _translated(self, reply: Reply) -> Iterator[None]:
        """Foreign errors become ModelErrors; one that strikes after the reply's finish reason is of no interest."""
        import httpx2
        from google.genai import errors

        try:
            yield
        except errors.APIError as error:
            raise from_api_error(error, self._key, self._settings) from None
        except _auth_errors(self._settings) as error:
            raise ModelError(f"Vertex AI cannot be asked: {scrubbed(str(error), self._key)}", "auth") from None
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
    def _http(self) -> Any:
        return http_client(self._settings, without_comments=True)

    @cached_property
    def _client(self) -> Any:
        from google import genai

        quiet_sdk("google.genai", "google_genai")
        options: dict[str, Any] = {"httpx_async_client": self._http, "headers": dict(self._settings.headers)}
        if self._base_url:
            options["base_url"] = self._base_url
        if self._settings.version:
            options["api_version"] = self._settings.version
        try:
            if self._settings.platform:  # credentials, project and location as the SDK finds them
                return genai.Client(vertexai=True, http_options=options, **self._account())
            return genai.Client(api_key=self._key or "none", vertexai=False, http_options=options)
        except (ImportError, ValueError) as error:
            raise ModelError(f"The Gemini SDK cannot start: {scrubbed(str(error), self._key)}", "bad_request") from None

    def _account(self) -> dict[str, str]:
        """Project and location, which the SDK finds itself but drops, and the credentials with them, where a base URL is set.

        An address whose headers have an authorization of their own is a gateway, which is given neither.
        """
        project = os.environ.get("GOOGLE_CLOUD_PROJECT", "")
        own = any(name.lower() == "authorization" for name in self._settings.headers)
        if not self._base_url or not project or own:
            return {}
        return {"project": project, "location": os.environ.get("GOOGLE_CLOUD_LOCATION") or "global"}


def _auth_errors(settings: ProviderSettings) -> tuple[type[Exception], ...]:
    """The errors by which the SDK says that it finds no credentials of a platform."""
    if not settings.platform:
        return ()
    from google.auth.exceptions import GoogleAuthError

    return (GoogleAuthError,)
