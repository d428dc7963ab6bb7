"""The Gemini API, asked through the official SDK's own HTTP client: of the SDK only that is imported, and it is given the body as bytes.

The SDK's hundreds of models of requests and replies take longer to import than all else that a run does, and convert the whole
history anew for each request.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from types import ModuleType
from typing import Any

from agentcli.core.errors import ModelError
from agentcli.core.model import Request
from agentcli.core.sanitise import safe_line
from agentcli.providers.google.client import connected
from agentcli.providers.google.errors import from_answer, from_api_error
from agentcli.providers.google.request import Former, Json, countable, to_body
from agentcli.providers.http import PreparedRequest, http_client, tls_context
from agentcli.providers.settings import ProviderSettings


class GeminiApi:
    """Connection to generateContent with a key."""

    def __init__(self, settings: ProviderSettings, key: str | None, base_url: str, sdk: ModuleType) -> None:
        self._sdk = sdk
        self._settings = settings
        self._key = key
        self._base_url = base_url
        self._former = Former()
        self._prepared: tuple[str, PreparedRequest] | None = None
        """A request with the model in its address."""

    def fits(self) -> bool:
        """True if the SDK has what is used of it here, some of which it calls private."""
        try:
            asked = self._client._build_request("post", "models/any:countTokens", {})
            used = self._client._async_request, self._client.async_request, self._sdk.HttpResponse
            refused = self._sdk.errors.APIError.raise_for_async_response
            return bool(asked.url and asked.headers and refused and all(used))
        except Exception:  # noqa: BLE001 - an SDK that is built differently may fail in any way
            return False

    async def chunks(self, request: Request) -> AsyncGenerator[Json, None]:
        """The chunks of a reply, as they come. Raises ModelError for a refusal, also one in the middle of the stream."""
        with self._translated():
            answer = await self._post(request)
            try:
                async for chunk in answer.async_segments():
                    if "error" in chunk:  # in the middle of a stream, with a status that was good
                        raise from_answer(0, chunk, answer.headers, self._key, self._settings)
                    yield chunk
            finally:
                await answer.response_stream.aclose()

    async def _post(self, request: Request) -> Any:
        """The response to a request for a stream. Raises the SDK's error for a refusal."""
        model, body = _model(request), to_body(request, self._settings, self._former)
        if self._prepared and self._prepared[0] == model:
            response = await self._prepared[1].send(self._http, body)
            await self._sdk.errors.APIError.raise_for_async_response(response)
            return self._sdk.HttpResponse(response.headers, response)
        asked = self._client._build_request("post", f"{model}:streamGenerateContent?alt=sse", {})
        asked.data = body
        answer = await self._client._async_request(asked, stream=True)
        self._prepared = model, PreparedRequest(answer.response_stream.request, self._settings.headers)
        return answer

    async def count(self, request: Request) -> Any:
        """The number of tokens as the API counts them."""
        contents = countable(request)
        with self._translated():
            answer = await self._client.async_request("post", f"{_model(request)}:countTokens", {"contents": contents})
        return json.loads(answer.body)["totalTokens"]

    async def close(self) -> None:
        """Give the connections back."""
        if "_http" in self.__dict__:
            await self._http.aclose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """The SDK's own errors become ModelErrors."""
        try:
            yield
        except self._sdk.errors.APIError as error:
            raise from_api_error(error, self._key, self._settings) from None

    @cached_property
    def _http(self) -> Any:
        return http_client(self._settings, self._base_url, without_comments=True)

    @cached_property
    def _client(self) -> Any:
        make = partial(self._sdk.BaseApiClient, vertexai=False, api_key=self._key or "none")
        # It would make a client of its own for requests that wait, and load the certificates again for web sockets; neither is used.
        unused = {"httpx_client": self._http, "async_client_args": {"ssl": tls_context(self._base_url)}}
        return connected(make, self._http, self._settings, self._key, self._base_url, **unused)


def _model(request: Request) -> str:
    """The model in a path, as the SDK writes it."""
    model = request.model.id
    name = model if model.startswith(("models/", "tunedModels/")) else f"models/{model}"
    if ".." in name or "?" in name or "&" in name:
        raise ModelError(f"{safe_line(model)} is no name of a model.", "bad_request")
    return name
