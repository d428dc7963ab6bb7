"""The Gemini API, asked as the vendor's SDK asks it, but without the SDK.

Its hundreds of models of requests and replies take longer to import than all else in a short run, and nothing here needs them. A test
compares address, headers and body of a request with those of the SDK.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from agentcli import __version__
from agentcli.core.errors import ModelError
from agentcli.core.model import Request
from agentcli.core.sanitise import safe_line
from agentcli.providers.body import written
from agentcli.providers.google.errors import from_answer
from agentcli.providers.google.models import KIND
from agentcli.providers.google.request import Former, Json, countable, to_body
from agentcli.providers.http import http_client
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.settings import ProviderSettings
from agentcli.providers.sse import event_data

VERSION = "v1"
"""The version of the API that is asked where the settings name none."""


class GeminiApi:
    """Connection to generateContent with a key."""

    def __init__(self, settings: ProviderSettings, key: str | None, base_url: str) -> None:
        self._settings = settings
        self._key = key
        self._base_url = base_url
        self._former = Former()

    async def chunks(self, request: Request) -> AsyncGenerator[Json, None]:
        """The chunks of a reply, as they come. Raises ModelError for a refusal, also one in the middle of the stream."""
        body = to_body(request, self._settings, self._former)
        url = self._url(request.model.id, "streamGenerateContent", "alt=sse")
        async with self._http.stream("POST", url, content=body, headers=self._headers) as response:
            await self._refuse(response)
            async for text in event_data(response.aiter_bytes(), bare=True):
                chunk = json.loads(text)
                if "error" in chunk:  # in the middle of a stream, with a status that was good
                    raise from_answer(0, chunk, response.headers, self._key, self._settings)
                yield chunk

    async def count(self, request: Request) -> Any:
        """The number of tokens as the API counts them."""
        body = written({"contents": countable(request)})
        url = self._url(request.model.id, "countTokens")
        response = await self._http.post(url, content=body, headers=self._headers)
        await self._refuse(response)
        return response.json()["totalTokens"]

    async def close(self) -> None:
        """Give the connections back."""
        if "_http" in self.__dict__:
            await self._http.aclose()

    async def _refuse(self, response: Any) -> None:
        """Raise ModelError for an answer that is no reply."""
        if response.status_code == 200:
            return
        await response.aread()
        try:
            answer = response.json()
        except ValueError:
            answer = {"message": response.text, "status": response.reason_phrase}
        raise from_answer(response.status_code, answer, response.headers, self._key, self._settings)

    def _url(self, model: str, method: str, query: str = "") -> str:
        parts = urlsplit(self._base_url or PROVIDERS[KIND].url)
        name = model if model.startswith(("models/", "tunedModels/")) else f"models/{model}"
        if ".." in name or "?" in name or "&" in name:
            raise ModelError(f"{safe_line(model)} is no name of a model.", "bad_request")
        path = f"{parts.path.rstrip('/')}/{self._settings.version or VERSION}/{name}:{method}"
        return parts._replace(path=path, query="&".join(filter(None, (query, parts.query)))).geturl()

    @cached_property
    def _headers(self) -> dict[str, str]:
        own = {name.lower(): value for name, value in self._settings.headers.items()}
        fixed = {"content-type": "application/json", PROVIDERS[KIND].key_header: self._key or "none"}
        return {"user-agent": f"agentcli/{__version__}"} | own | fixed

    @cached_property
    def _http(self) -> Any:
        return http_client(self._settings)
