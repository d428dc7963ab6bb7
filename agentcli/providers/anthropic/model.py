"""Anthropic Messages API, and every compatible server, through the official SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from agentcli.core.errors import Cause, ModelError
from agentcli.core.model import ModelSpec, Request, StreamEvent
from agentcli.core.streams import closing
from agentcli.providers.anthropic.models import KIND
from agentcli.providers.anthropic.reply import Reply
from agentcli.providers.anthropic.request import Former, to_body, to_wire
from agentcli.providers.errors import (
    BY_STATUS,
    bad_request_cause,
    error_name,
    refusal,
    retry_after,
    text_in,
    vendor_name,
)
from agentcli.providers.http import connection_error, http_client, quiet_sdk, scrubbed
from agentcli.providers.http_body import event_data
from agentcli.providers.platforms import PLATFORMS
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.sdk_import import sdk_of, warmed
from agentcli.providers.settings import ProviderSettings
from agentcli.providers.wire import UsedIds

_BY_TYPE: Mapping[str, Cause] = {
    "authentication_error": "auth",
    "permission_error": "auth",
    "billing_error": "billing",
    "not_found_error": "not_found",
    "request_too_large": "too_large",
    "rate_limit_error": "rate_limit",
    "overloaded_error": "overloaded",
    "timeout_error": "server",
    "api_error": "server",
    "conflict_error": "server",
}
_SPENT = ("contract_spend_limit_reached", "enforced_spend_limit_reached")


def from_status(error: Any, key: str | None, vendor: str = "The provider") -> ModelError:
    """Make a ModelError from the SDK's APIStatusError."""
    status = int(error.status_code)
    text = text_in(error.api_message)
    cause = _cause_of(status, error.type or "", error.error_code or "", text)
    headers = error.response.headers
    return refusal(
        error_name(status, str(error.type or "")),
        text,
        cause,
        key,
        headers=headers,
        retry_after=retry_after(headers),
        status=status,
        vendor=vendor,
        body="" if text or error.body is None else str(error.body),
    )


def from_event(event: Mapping[str, Any], key: str | None, vendor: str = "The provider") -> ModelError:
    """Make a ModelError from an `error` event in the middle of a stream, whose status, 200, means nothing."""
    raw = event.get("error")
    body: Mapping[str, Any] = raw if isinstance(raw, Mapping) else {}
    kind, text = str(body.get("type") or ""), text_in(body.get("message"))
    details = body.get("details")
    code = details.get("error_code") if isinstance(details, Mapping) else ""
    cause = _cause_of(500, kind, str(code or ""), text)
    return refusal(error_name(None, kind) or "an error", text, cause, key, vendor=vendor)


def _cause_of(status: int, kind: str, code: str, text: str) -> Cause:
    if 300 <= status < 400:
        return "not_found"
    if code in _SPENT:
        return "billing"
    if status in (408, 409):
        return BY_STATUS[status]
    if kind == "api_error" and 400 <= status < 500:
        kind = ""  # servers without other types use it for everything: the status is more precise
    if kind == "invalid_request_error" or (status == 400 and kind not in _BY_TYPE):
        return "too_large" if status == 413 else bad_request_cause(text)
    if kind in _BY_TYPE:
        return _BY_TYPE[kind]
    return BY_STATUS.get(status, "server" if status >= 500 else "bad_request")


class AnthropicModel:
    """A model behind the Messages API."""

    def __init__(self, spec: ModelSpec, settings: ProviderSettings, key: str | None, base_url: str = "") -> None:
        self._spec = spec
        self._settings = settings
        self._key = key
        # The SDK adds /v1 itself, and people often copy addresses that include it. A platform has addresses by region.
        bare = base_url if settings.platform else base_url.rstrip("/").removesuffix("/v1")
        self._base_url = bare or ("" if settings.platform else PROVIDERS[KIND].url)
        self._former = Former()
        self._used = UsedIds()

    @property
    def spec(self) -> ModelSpec:
        """Id, limits and prices of the model."""
        return self._spec

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Stream a reply as `Model.stream`."""
        await warmed(KIND, self._whole)
        reply = Reply(self._used.of(request))
        with self._translated(reply):
            async with closing(self._events(request)) as stream:
                async for data in stream:
                    for step in self._read(reply, data):
                        yield step
        for step in reply.end():
            yield step

    async def count(self, request: Request) -> int | None:
        """Count tokens as `Model.count`."""
        platform = PLATFORMS.get(self._settings.platform)
        if not self._settings.counting or (platform and not platform.counts):
            return None
        await warmed(KIND, self._whole)
        try:
            with self._translated(Reply()):
                return await self._counted(request)
        except (ModelError, LookupError, TypeError, ValueError) as error:
            if isinstance(error, ModelError) and error.cause == "not_found":
                raise  # an endpoint without counting
            return None

    def wire(self, request: Request) -> dict[str, Any]:
        """Return the body to send for this request."""
        return to_wire(request, self._settings)

    async def close(self) -> None:
        """Close the connections."""
        if "_client" in self.__dict__:
            await self._client.close()

    async def _events(self, request: Request) -> AsyncIterator[list[bytearray]]:
        """Yield the JSON of each event of a reply like `event_data`."""
        if self._settings.platform == "bedrock":
            # Framed by Amazon's own rules, which only the SDK reads.
            answer = await self._client.messages.create(**to_wire(request, self._settings), stream=True)
            async with answer as typed, closing(typed) as events:
                async for event in events:
                    yield [bytearray(event.to_json(indent=None).encode())]
        elif self._settings.platform:
            # The SDK moves fields of the body.
            create = self._client.messages.with_streaming_response.create
            async with (
                create(**to_wire(request, self._settings), stream=True) as response,
                closing(self._data(response.http_response)) as stream,
            ):
                async for data in stream:
                    yield data
        else:
            async with closing(self._data(await self._post(request))) as stream:
                async for data in stream:
                    yield data

    async def _counted(self, request: Request) -> int:
        if not self._settings.platform:
            return int((await self._post(request, counting=True)).json()["input_tokens"])
        wire = to_wire(request, self._settings)
        del wire["max_tokens"]
        return int((await self._client.messages.count_tokens(**wire)).input_tokens)

    async def _post(self, request: Request, *, counting: bool = False) -> Any:
        """Send a body made here; return the response.

        The SDK would copy, check and encode the whole history for each request.
        """
        import httpx2

        body, headers = to_body(request, self._settings, self._former, counting=counting)
        path = "/v1/messages/count_tokens" if counting else "/v1/messages"
        given: dict[str, Any] = {"cast_to": httpx2.Response, "content": body, "options": {"headers": headers}}
        return await self._client.post(path, **given, stream=not counting)

    async def _data(self, response: Any) -> AsyncIterator[list[bytearray]]:
        """Yield the data of each event like `event_data`, at a fraction of the cost of the SDK's typed events.

        Those would also hide unknown kinds and the exact bytes of a block.
        """
        try:
            await self._refuse_json(response)
            async with closing(event_data(response.aiter_bytes())) as stream:
                async for data in stream:
                    yield data
        finally:
            await response.aclose()

    async def _refuse_json(self, response: Any) -> None:
        """Raise ModelError for a response whose content type is no event stream, such as an error with status 200."""
        if "json" in response.headers.get("content-type", "").lower():
            raise _in_json(await response.aread(), self._key, vendor_name(self._settings))

    def _read(self, reply: Reply, data: list[bytearray]) -> Iterator[StreamEvent]:
        try:
            event = json.loads(data.pop().decode())
            if event["type"] == "error":
                raise from_event(event, self._key, vendor_name(self._settings))
            yield from reply.read(event)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if reply.stopped:  # such as the last line of another wire format
                return
            raise ModelError(
                f"The reply does not follow the wire format ({type(error).__name__}).", "bad_reply"
            ) from error

    @contextmanager
    def _translated(self, reply: Reply) -> Iterator[None]:
        """Turn foreign errors into ModelErrors; ignore errors after the reply's stop reason."""
        import httpx2

        sdk = self._sdk
        try:
            yield
        except sdk.APIStatusError as error:
            raise from_status(error, self._key, vendor_name(self._settings)) from None
        except sdk.APIConnectionError as error:
            raise connection_error(_cause(error), self._settings, self._host) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            if not reply.stopped:
                raise connection_error(error, self._settings, self._host) from None
        except UnicodeDecodeError as error:
            if not reply.stopped:
                raise ModelError("The reply is garbled.", "bad_reply") from error
        except platform_errors(self._settings) as error:
            raise refused_by_platform(error, self._settings) from None
        except sdk.AnthropicError as error:
            raise ModelError(f"The SDK refused the request ({type(error).__name__}).", "bad_request") from None

    @property
    def _host(self) -> str:
        return urlsplit(self._base_url).hostname or self._settings.name

    @cached_property
    def _sdk(self) -> Any:
        return sdk_of(KIND, self._whole)

    @property
    def _whole(self) -> bool:
        """True if the whole SDK is needed: the clients of platforms need most of it."""
        return bool(self._settings.platform)

    @cached_property
    def _http(self) -> Any:
        return http_client(self._settings, self._base_url)

    @cached_property
    def _client(self) -> Any:
        quiet_sdk(self._sdk.__name__, "anthropic")
        if self._settings.platform:
            return on_platform(self._sdk, self._settings, self._base_url)
        return self._sdk.AsyncAnthropic(
            api_key=self._key or "",
            base_url=self._base_url,
            max_retries=0,
            open_telemetry=False,
            http_client=self._http,
            default_headers=self._headers(),
        )

    def _headers(self) -> dict[str, Any]:
        headers: dict[str, Any] = dict(self._settings.headers)
        if self._settings.beta_headers:
            headers["anthropic-beta"] = ",".join(self._settings.beta_headers)
        if self._settings.version:
            headers["anthropic-version"] = self._settings.version
        if not self._key:
            headers["Authorization"] = self._sdk.omit
        elif self._settings.auth != "bearer":
            headers |= {self._settings.auth: self._key, "Authorization": self._sdk.omit}
        return headers


def _cause(error: Exception) -> Exception:
    cause = error.__cause__
    return cause if isinstance(cause, Exception) else error


def _in_json(body: bytes, key: str | None, vendor: str) -> ModelError:
    """Return the error for a JSON response to a request for a stream."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict) and answer.get("error"):
        return from_event(answer, key, vendor)
    return ModelError("The provider sent JSON instead of a stream.", "bad_reply")


_CLIENTS = MappingProxyType(
    {
        "bedrock": ("anthropic.lib.bedrock", "AsyncAnthropicBedrock"),
        "vertex": ("anthropic.lib.vertex", "AsyncAnthropicVertex"),
    }
)


def on_platform(sdk: Any, settings: ProviderSettings, base_url: str) -> Any:
    """Make the SDK's client for the platform in these settings.

    Raises ModelError if something is missing, for example a region.
    """
    # Neither class is an attribute of the package, so that sessions without a platform need not import it.
    module, name = _CLIENTS[settings.platform]
    make = getattr(import_module(module), name)
    headers: dict[str, str] = dict(settings.headers)
    if settings.beta_headers:
        headers["anthropic-beta"] = ",".join(settings.beta_headers)
    address = {"base_url": base_url} if base_url else {}
    try:
        return make(max_retries=0, http_client=http_client(settings, base_url), default_headers=headers, **address)
    except (sdk.AnthropicError, ValueError, ImportError) as error:
        raise refused_by_platform(error, settings) from None


def platform_errors(settings: ProviderSettings) -> tuple[type[Exception], ...]:
    """Return the errors with which a platform's SDK reports missing credentials; none without a platform."""
    if not settings.platform:
        return ()
    if settings.platform == "bedrock":
        from botocore.exceptions import BotoCoreError

        return BotoCoreError, RuntimeError
    from google.auth.exceptions import GoogleAuthError

    return GoogleAuthError, RuntimeError


def refused_by_platform(error: Exception, settings: ProviderSettings) -> ModelError:
    """Return the error for missing credentials or a missing region, with the variables to set."""
    cloud = PLATFORMS[settings.platform]
    variables = ", ".join(" or ".join(group) for group in cloud.required)
    text = scrubbed(str(error), None).rstrip(".")
    return ModelError(f"Can't ask {cloud.title}: {text}. Log in there, and set {variables}.", "auth")
