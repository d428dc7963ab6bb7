"""Gemini through the official SDK's public client: the Gemini API with a key, or Vertex AI with the machine's account."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from agentcli.core.errors import ModelError
from agentcli.core.model import Request
from agentcli.core.streams import closing
from agentcli.providers.google.models import KIND
from agentcli.providers.google.request import Former, Json, countable, to_arguments, to_json
from agentcli.providers.http import http_client, opened, quiet_sdk, scrubbed, tls_context
from agentcli.providers.http_body import SLICE, sliced
from agentcli.providers.sdk_import import sdk_of
from agentcli.providers.settings import ProviderSettings

_BODY = "x-agentcli-body"
"""Header that names the body of a request within this process; it is not sent."""


class GoogleApi:
    """Connection to generateContent by the SDK's client, with a key or a platform account."""

    def __init__(self, settings: ProviderSettings, key: str | None, base_url: str) -> None:
        self._settings = settings
        self._key = key
        self._base_url = base_url
        self._former = Former()
        self._bodies: dict[str, bytes] = {}
        self._http: Any = None
        self._client: Any = None

    def formed(self, request: Request) -> tuple[Json, bytes]:
        """Return a request for `chunks`: the SDK's arguments, and the body."""
        body = to_json(request, self._settings, self._former)
        return to_arguments(request), body

    async def chunks(self, arguments: Json, body: bytes) -> AsyncGenerator[Json, None]:
        """Yield the chunks of a reply with the wire's field names.

        Raises ModelError for a refusal, also in mid-stream.
        """
        client = await self._connected()
        responses: list[Any] = []
        opened.set(responses)
        name = secrets.token_hex(8)
        self._bodies[name] = body
        config = _config(name)
        try:
            with self._translated():
                async with closing(
                    await client.aio.models.generate_content_stream(**arguments, config=config)
                ) as chunks:
                    async for chunk in chunks:
                        yield chunk.model_dump(by_alias=True, exclude_none=True)
        finally:
            # Closing the SDK's generator leaves the connection open until garbage collection; closing the response
            # closes it.
            opened.set(None)
            del self._bodies[name]
            for response in responses:
                await response.aclose()

    async def count(self, request: Request) -> Any:
        """Return the number of tokens that the API counts."""
        client = await self._connected()
        options = {"http_options": {"extra_body": {"contents": countable(request)}}}
        with self._translated():
            counted = await client.aio.models.count_tokens(model=request.model.id, contents="", config=options)
        return counted.total_tokens

    async def close(self) -> None:
        """Close the connections."""
        if self._http is not None:
            await self._http.aclose()

    async def _connected(self) -> Any:
        if self._client is None:
            sdk = sdk_of(KIND)
            # For Vertex AI it searches for credentials, which takes time and must not block the event loop.
            connect = self._connect
            made = await asyncio.to_thread(connect, sdk) if self._settings.platform else connect(sdk)
            self._client = self._client or made
        return self._client

    def _connect(self, sdk: Any) -> Any:
        quiet_sdk(sdk.__name__, "google_genai")
        context = tls_context(self._base_url)
        self._http = http_client(self._settings, self._base_url, without_comments=True, before_sending=self._put_body)
        options: dict[str, Any] = {
            "httpx_async_client": self._http,
            "headers": dict(self._settings.headers),
            # It also creates unused clients for synchronous requests and web sockets. With the same TLS settings, they
            # load no certificates.
            "client_args": {"verify": context},
            "async_client_args": {"ssl": context},
        }
        if self._base_url:
            options["base_url"] = self._base_url
        if self._settings.version:
            options["api_version"] = self._settings.version
        with self._translated():
            try:
                return sdk.Client(http_options=options, **self._account())
            except (ImportError, ValueError) as error:
                why = scrubbed(str(error), self._key)
                raise ModelError(f"The Gemini SDK cannot start: {why}", "bad_request") from None

    async def _put_body(self, request: Any) -> None:
        """Put the body that a request names in place of the SDK's."""
        import httpx2

        if name := request.headers.pop(_BODY, ""):
            body = self._bodies[name]
            request.headers["Content-Length"] = str(len(body))
            request.stream = sliced(body) if len(body) > SLICE else httpx2.ByteStream(body)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn the SDK's own errors into ModelErrors."""
        from google.auth.exceptions import GoogleAuthError

        try:
            yield
        except sdk_of(KIND).errors.APIError as error:
            from agentcli.providers.google.errors import from_api_error

            raise from_api_error(error, self._key, self._settings) from None
        except GoogleAuthError as error:
            raise ModelError(f"Can't ask Vertex AI: {scrubbed(str(error), self._key)}", "auth") from None

    def _account(self) -> dict[str, Any]:
        """Return the key, or project and location for Vertex AI.

        The SDK finds these two itself, but with a base URL it drops them and the credentials. If the headers contain an
        authorization, the address is a gateway, which gets neither.
        """
        if not self._settings.platform:
            return {"vertexai": False, "api_key": self._key or "none"}
        project = os.environ.get("GOOGLE_CLOUD_PROJECT", "")
        own = any(name.lower() == "authorization" for name in self._settings.headers)
        if not self._base_url or not project or own:
            return {"vertexai": True}
        location = os.environ.get("GOOGLE_CLOUD_LOCATION") or "global"
        return {"vertexai": True, "project": project, "location": location}


def _config(name: str) -> Any:
    """Return the configuration of a request with this body: nothing in it is the SDK's to do."""
    options = sdk_of(KIND).types.HttpOptions(headers={_BODY: name})
    return _nothing_to_do().model_copy(update={"http_options": options})


@cache
def _nothing_to_do() -> Any:
    """Make it once: the SDK is imported only with the first request."""
    types: Any = sdk_of(KIND).types

    class Config(types.GenerateContentConfig):  # type: ignore[misc]
        """The SDK's, with a quick answer: it asks for forty keys, and each would be compared with all fields."""

        def __contains__(self, _: object) -> bool:
            return False  # as without this method: iteration yields pairs, never names

    # Constructed without validation, which would build one more schema at the first request.
    off = types.AutomaticFunctionCallingConfig(disable=True)
    return Config.model_construct(automatic_function_calling=off, automatic_continuation=False)
