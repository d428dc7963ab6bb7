"""Gemini through the official SDK's public client, all of which is imported.

For Vertex AI, whose credentials, project and location the SDK finds itself, and for an SDK that is built otherwise than `api.py` takes it to be.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from agentcli.core.errors import ModelError
from agentcli.core.model import Request
from agentcli.providers.google.client import connected
from agentcli.providers.google.errors import from_api_error
from agentcli.providers.google.request import Json, countable, to_sdk, typed
from agentcli.providers.http import http_client, opened, scrubbed
from agentcli.providers.settings import ProviderSettings


class SdkApi:
    """Connection to generateContent by the SDK's client, with the account of a platform or a key."""

    def __init__(self, settings: ProviderSettings, key: str | None, base_url: str) -> None:
        self._settings = settings
        self._key = key
        self._base_url = base_url
        self._http: Any = None
        self._client: Any = None

    async def chunks(self, request: Request) -> AsyncGenerator[Json, None]:
        """The chunks of a reply in the field names of the wire. Raises ModelError for a refusal, also one in the middle of the stream."""
        client = await self._connected()
        responses: list[Any] = []
        opened.set(responses)
        try:
            with self._translated():
                wire = to_sdk(request, self._settings)
                async for chunk in await client.aio.models.generate_content_stream(**wire):
                    yield chunk.model_dump(by_alias=True)
        finally:
            # Closing the SDK's generator leaves the connection open until garbage collection; closing the response does not.
            opened.set(None)
            for response in responses:
                await response.aclose()

    async def count(self, request: Request) -> Any:
        """The number of tokens as the API counts them."""
        client = await self._connected()
        with self._translated():
            counted = await client.aio.models.count_tokens(model=request.model.id, contents=typed(countable(request)))
        return counted.total_tokens

    async def close(self) -> None:
        """Give the connections back."""
        if self._http is not None:
            await self._http.aclose()

    async def _connected(self) -> Any:
        if self._client is None:
            # It takes a second, and must not block the event loop: another request may connect meanwhile.
            sdk = await asyncio.to_thread(import_module, "google.genai")
            self._client = self._client or self._connect(sdk)
        return self._client

    def _connect(self, sdk: Any) -> Any:
        self._http = http_client(self._settings, self._base_url, without_comments=True)
        with self._translated():
            make = partial(sdk.Client, **self._account())
            return connected(make, self._http, self._settings, self._key, self._base_url)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """The SDK's own errors become ModelErrors."""
        from google.auth.exceptions import GoogleAuthError
        from google.genai.errors import APIError

        try:
            yield
        except APIError as error:
            raise from_api_error(error, self._key, self._settings) from None
        except GoogleAuthError as error:
            raise ModelError(f"Vertex AI cannot be asked: {scrubbed(str(error), self._key)}", "auth") from None

    def _account(self) -> dict[str, Any]:
        """The key, or for Vertex AI project and location, which the SDK finds itself but drops, and the credentials with them, where a base URL is set.

        An address whose headers have an authorization of their own is a gateway, which is given neither.
        """
        if not self._settings.platform:
            return {"vertexai": False, "api_key": self._key or "none"}
        project = os.environ.get("GOOGLE_CLOUD_PROJECT", "")
        own = any(name.lower() == "authorization" for name in self._settings.headers)
        if not self._base_url or not project or own:
            return {"vertexai": True}
        location = os.environ.get("GOOGLE_CLOUD_LOCATION") or "global"
        return {"vertexai": True, "project": project, "location": location}
