"""OpenAI's Responses API, and chat completions of every compatible server, through the official SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from agentcli.core.errors import ModelError
from agentcli.core.model import ModelSpec, Request, StreamEvent
from agentcli.core.streams import closing
from agentcli.providers.errors import vendor_name
from agentcli.providers.http import connection_error, http_client, quiet_sdk
from agentcli.providers.http_body import event_data
from agentcli.providers.openai import chat_reply, chat_request, responses_reply, responses_request
from agentcli.providers.openai.errors import from_event, from_status
from agentcli.providers.openai.models import KIND
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.sdk_import import sdk_of, warmed
from agentcli.providers.settings import ProviderSettings
from agentcli.providers.wire import UsedIds

_LAST = b"[DONE]"
_LINE = 100
"""Bytes of an event that are compared with it."""
_NONE: Mapping[str, Any] = MappingProxyType({})


class OpenAIModel:
    """A model behind the Responses API or chat completions, depending on `settings.wire`."""

    def __init__(self, spec: ModelSpec, settings: ProviderSettings, key: str | None, base_url: str = "") -> None:
        self._spec = spec
        self._settings = settings
        self._key = key
        self._base_url = _with_version(base_url or PROVIDERS[KIND].url)
        self._used = UsedIds()
        self._items, self._messages = responses_request.Former(), chat_request.Former()
        own = settings.name == KIND and PROVIDERS[KIND].owns(spec.id)
        self._responses = (settings.wire or ("responses" if own else "chat")) == "responses"

    @property
    def spec(self) -> ModelSpec:
        """Id, limits and prices of the model."""
        return self._spec

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Stream a reply as `Model.stream`."""
        await warmed(KIND)
        if request.compaction is not None:
            for step in await self._compacted(request):
                yield step
            return
        body, reply = self._body(request), self._reply(request)
        with self._translated(reply):
            path = "/responses" if self._responses else "/chat/completions"
            # Raw events cost a fraction of the SDK's typed ones, and keep fields that servers add.
            async with (
                closing(await self._post(path, stream=True, content=body)) as response,
                closing(self._events(response)) as stream,
            ):
                async for data in stream:
                    for step in self._read(reply, data):
                        yield step
        for step in reply.end():
            yield step

    async def _compacted(self, request: Request) -> Sequence[StreamEvent]:
        """Return the steps of a summary by the provider, which has its own endpoint without streaming."""
        if not self._responses:
            raise ModelError("This wire format has no compaction.", "not_found")
        with self._translated(self._reply(request)):
            wire = responses_request.compacted(request, self._settings)
            extra = wire.pop("extra_body", None)
            answer = await self._post("/responses/compact", {"extra_json": extra}, body=wire)
            try:
                return list(responses_reply.compacted(answer.json(), self._spec.id))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ModelError(f"The summary does not follow the wire format ({error}).", "bad_reply") from error

    async def count(self, request: Request) -> int | None:
        """Count tokens like `Model.count`.

        Only the Responses API counts, and hardly any server except the vendor's.
        """
        if not (self._settings.counting and self._responses and _is_vendors(self._base_url)):
            return None
        await warmed(KIND)
        wire = responses_request.countable(self.wire(request))
        try:
            with self._translated(self._reply(request)):
                answer = await self._post("/responses/input_tokens", body=wire)
                return int(answer.json()["input_tokens"])
        except (ModelError, TypeError, ValueError, KeyError) as error:
            if isinstance(error, ModelError) and error.cause == "not_found":
                raise  # an endpoint without counting
            return None

    async def close(self) -> None:
        """Close the connections."""
        if "_client" in self.__dict__:
            await self._client.close()

    def wire(self, request: Request) -> dict[str, Any]:
        """Return the body to send for this request."""
        to_wire = responses_request.to_wire if self._responses else chat_request.to_wire
        return to_wire(request, self._settings)

    def _reply(self, request: Request) -> responses_reply.Reply | chat_reply.Reply:
        return (
            responses_reply.Reply(self._used.of(request))
            if self._responses
            else chat_reply.Reply(self._used.of(request))
        )

    def _body(self, request: Request) -> bytes:
        """Return the body of a streaming request: the SDK would copy and encode the whole history for each."""
        if self._responses:
            return responses_request.to_body(request, self._settings, self._items)
        return chat_request.to_body(request, self._settings, self._messages)

    async def _post(self, path: str, options: Mapping[str, Any] = _NONE, *, stream: bool = False, **sent: Any) -> Any:
        """Return the SDK's response to a request. Its typed methods would import hundreds of unneeded models."""
        import httpx2

        merged = {**options, "security": {"bearer_auth": True}, **self._unauthorized}
        return await self._client.post(path, cast_to=httpx2.Response, options=merged, stream=stream, **sent)

    async def _events(self, response: Any) -> AsyncIterator[list[bytearray]]:
        """Yield the JSON of each event of a reply like `event_data`.

        If the server does not stream, yield the whole reply as one event.
        """
        if "json" in response.headers.get("content-type", "").lower():
            yield [_as_event(await response.aread(), self._key, vendor_name(self._settings))]
            return
        async with closing(event_data(response.aiter_bytes())) as stream:
            async for data in stream:
                yield data

    def _read(self, reply: Any, data: list[bytearray]) -> Iterator[StreamEvent]:
        if data[0][:_LINE].strip() == _LAST:
            reply.close()
            return
        try:
            event = reply.parsed(data.pop())
            if error := _error_in(event):
                raise from_event(error, self._key, vendor_name(self._settings))
            yield from reply.read(event)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if reply.stopped:  # such as the last line of another wire format
                return
            raise ModelError(
                f"The reply does not follow the wire format ({type(error).__name__}).", "bad_reply"
            ) from error

    @contextmanager
    def _translated(self, reply: Any) -> Iterator[None]:
        """Turn foreign errors into ModelErrors; ignore errors after the reply's end."""
        import httpx2

        sdk = self._sdk
        try:
            yield
        except sdk.APIStatusError as error:
            raise from_status(error, self._key, self._settings) from None
        except sdk.APIConnectionError as error:
            raise connection_error(_cause(error), self._settings, self._host) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            if not reply.stopped:
                raise connection_error(error, self._settings, self._host) from None
        except ValueError as error:
            if not reply.stopped:
                raise ModelError("The reply is garbled.", "bad_reply") from error
        except sdk.OpenAIError as error:
            raise ModelError(f"The SDK refused the request ({type(error).__name__}).", "bad_request") from None

    @property
    def _host(self) -> str:
        return urlsplit(self._base_url).hostname or self._settings.name

    @cached_property
    def _sdk(self) -> Any:
        return sdk_of(KIND)

    @cached_property
    def _client(self) -> Any:
        quiet_sdk(self._sdk.__name__, "openai")
        return self._sdk.AsyncOpenAI(
            api_key=self._key or "none",
            base_url=self._base_url,
            max_retries=0,
            http_client=http_client(self._settings, self._base_url),
            default_headers=self._headers(),
        )

    def _headers(self) -> dict[str, Any]:
        omitted = self._sdk.omit
        # The SDK reads an organization and a project from the environment; these are only for the vendor.
        foreign = {} if self._settings.name == KIND else {"OpenAI-Organization": omitted, "OpenAI-Project": omitted}
        headers: dict[str, Any] = foreign | dict(self._settings.headers)
        return headers if self._bearer else headers | ({self._settings.auth: self._key} if self._key else {})

    @property
    def _bearer(self) -> bool:
        """True if the key is sent in the SDK's own way."""
        return bool(self._key) and self._settings.auth == "bearer"

    @property
    def _unauthorized(self) -> dict[str, Any]:
        """Request option for a key outside the SDK's header; the SDK needs it with each request."""
        return {} if self._bearer else {"headers": {"Authorization": self._sdk.omit}}


def _with_version(url: str) -> str:
    """Return the address with the API version: people copy addresses without it, and the SDK adds none."""
    parts = urlsplit(url.rstrip("/"))
    return parts._replace(path=parts.path if parts.path.strip("/") else "/v1").geturl()


def _is_vendors(url: str) -> bool:
    """Return True for the vendor's own address, under any provider name."""
    host = urlsplit(url).hostname or ""
    return host == "api.openai.com" or host.endswith(".api.openai.com")


def _error_in(event: Any) -> Any:
    """Return the error in an event of either wire; None for any other event."""
    if not isinstance(event, dict):
        return None
    if event.get("type") == "response.failed":
        response = event.get("response")
        return (response.get("error") if isinstance(response, dict) else None) or {"message": "it failed"}
    if event.get("type") == "error":
        return event.get("error") or event
    choices = event.get("choices")
    inner = choices[0].get("error") if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    return event.get("error") or inner


def _cause(error: Exception) -> Exception:
    cause = error.__cause__
    return cause if isinstance(cause, Exception) else error


def _as_event(body: bytes, key: str | None, vendor: str) -> bytearray:
    """Return a JSON response to a request for a stream as an event. Raises ModelError unless it is a reply."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict) and answer.get("error"):
        raise from_event(answer["error"], key, vendor)
    if isinstance(answer, dict) and isinstance(answer.get("choices"), list):
        return bytearray(json.dumps(answer).encode())
    if isinstance(answer, dict) and isinstance(answer.get("output"), list):
        event = {"type": f"response.{answer.get('status') or 'completed'}", "response": answer}
        return bytearray(json.dumps(event).encode())
    raise ModelError("The provider sent JSON instead of a stream.", "bad_reply")
