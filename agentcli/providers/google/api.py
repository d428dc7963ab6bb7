"""Gemini through the official SDK's public client: the Gemini API with a key, or Vertex AI with the machine's account."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from agentcli.core.errors import ModelError
from agentcli.core.model import Request
from agentcli.core.sanitise import safe_line
from agentcli.core.streams import closing
from agentcli.providers.google.models import KIND
from agentcli.providers.google.request import Former, countable, to_json
from agentcli.providers.http import http_client, quiet_sdk, scrubbed, tls_context
from agentcli.providers.http_body import SLICE, event_data, sliced
from agentcli.providers.sdk_import import sdk_of
from agentcli.providers.settings import ProviderSettings


class _Exchange:
    """A request's body, and the response to it."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.response: Any = None


_sending: ContextVar[_Exchange | None] = ContextVar("sending", default=None)
"""The exchange that the SDK makes at present; None while it asks for something else."""


class GoogleApi:
    """Connection to generateContent by the SDK's client, with a key or a platform account.

    The SDK addresses and authorises a request. Hooks of the HTTP client, which is one of its options, send a body made
    here and take the reply. The SDK itself would copy the whole history for each request, and check each chunk.
    """

    def __init__(self, settings: ProviderSettings, key: str | None, base_url: str) -> None:
        self._settings = settings
        self._key = key
        self._base_url = base_url
        self._former = Former()
        self._http: Any = None
        self._client: Any = None

    def formed(self, request: Request) -> bytes:
        """Return the body of a request for `chunks`.

        Raises ModelError for a model name that would change the address.
        """
        if any(sign in request.model.id for sign in ("..", "?", "&")):
            raise ModelError(f"{safe_line(request.model.id)} is not the name of a model.", "bad_request")
        return to_json(request, self._settings, self._former)

    async def chunks(self, model: str, body: bytes) -> AsyncGenerator[tuple[Any, Mapping[str, str]], None]:
        """Yield the JSON of each chunk of a reply, with the response's headers.

        Raises ModelError for a refusal, also in mid-stream, and ValueError for what is not JSON.
        """
        client = await self._connected()
        exchange = _Exchange(body)
        try:
            with self._translated():
                await _exchanged(client, model, exchange)
            headers, bare = exchange.response.headers, list[bytearray]()
            async with closing(event_data(exchange.response.aiter_bytes(), bare)) as events:
                async for data in events:
                    for chunk in self._read(data, headers):
                        yield chunk, headers
            if bare:
                for chunk in self._read([bytearray(b"\n").join(bare)], headers):
                    yield chunk, headers
        finally:
            if exchange.response is not None:
                await exchange.response.aclose()

    def _read(self, data: list[bytearray], headers: Mapping[str, str]) -> Iterator[Any]:
        """Yield the chunks in an event, whose text is taken from `data`; raise ModelError for an error."""
        event = json.loads(data.pop().decode("utf-8", "replace"))
        for chunk in event if isinstance(event, list) else [event]:
            if "error" in chunk:
                from agentcli.providers.google.errors import from_answer

                raise from_answer(0, chunk, headers, self._key, self._settings)
            yield chunk

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
        self._http = http_client(self._settings, self._base_url, before_sending=_put_body, before_reading=_take_reply)
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


async def _exchanged(client: Any, model: str, exchange: _Exchange) -> None:
    """Send a request by the SDK, and await the response, which the SDK finds empty."""
    contents, config = _nothing_to_do()
    before = _sending.set(exchange)
    try:
        empty = await client.aio.models.generate_content_stream(model=model, contents=contents, config=config)
        async with closing(empty) as chunks:
            async for _ in chunks:
                pass
    finally:
        _sending.reset(before)


async def _put_body(request: Any) -> None:
    """Put the body of the exchange in place of the SDK's."""
    import httpx2

    if exchange := _sending.get():
        body = exchange.body
        request.headers["Content-Length"] = str(len(body))
        request.stream = sliced(body) if len(body) > SLICE else httpx2.ByteStream(body)


async def _take_reply(response: Any) -> None:
    """Take the response of the exchange; of one that the SDK accepts also the stream."""
    import httpx2

    if exchange := _sending.get():
        exchange.response = response
        if response.status_code == 200:
            kept = {name: getattr(response, name) for name in ("headers", "stream", "request", "extensions")}
            exchange.response = httpx2.Response(200, **kept)
            response.stream = httpx2.ByteStream(b"")


@cache
def _nothing_to_do() -> tuple[Any, Any]:
    """Return contents and configuration for the SDK, which requires some. Made once the SDK is imported."""
    types: Any = sdk_of(KIND).types

    class Config(types.GenerateContentConfig):  # type: ignore[misc]
        """The SDK's, with quick answers: it is copied three times, and asked for forty keys."""

        def __contains__(self, _: object) -> bool:
            return False  # as without this method: iteration yields pairs, never names

        def model_copy(self, **_: object) -> Any:
            return self  # no copy is changed

    # Constructed without validation, which would build more schemas at the first request.
    off = types.AutomaticFunctionCallingConfig.model_construct(disable=True)
    config = Config.model_construct(automatic_function_calling=off, automatic_continuation=False)
    return types.Content.model_construct(), config
