"""Logins to MCP servers with OAuth: the official SDK speaks the protocol; tokens are stored between runs."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.core.streams import closing
from agentcli.features.mcp.config import ServerDefinition
from agentcli.features.mcp.lines import Limited
from agentcli.features.mcp.values import not_connected_to
from agentcli.system.locked_file import FileLock

CALLBACK = "/callback"
RENEWAL_SECONDS = 30.0
"""Seconds to wait for another process that renews the same login."""
LOGIN_BYTES = 1_000_000
"""Maximum bytes of an answer during a login: metadata, a registration or tokens, each a few kilobytes."""
REDIRECTS = 5
"""Largest number of redirects to follow at a login."""
_REQUEST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agentcli", "version": "1"}},
}


class Vault(Protocol):
    """Storage of one server's login, as JSON text."""

    def read(self) -> str:
        """Return the stored login; empty if there is none."""
        ...

    def write(self, text: str) -> None:
        """Store a login, replacing the old one; an empty text removes it."""
        ...


@dataclass(frozen=True, slots=True)
class LoginPage:
    """The person's browser: `open_url` shows a page, `answered` returns the address at which it ended."""

    redirect: str
    open_url: Callable[[str], Awaitable[None]]
    answered: Callable[[], Awaitable[str]]


class _Renewing(OAuthClientProvider):
    """Authentication with a login that several processes share: one renews it, the others use its result.

    A renewed login may invalidate the old refresh token, so a second renewal with that token would end the login.
    """

    def __init__(self, *arguments: Any, lock: Path | None, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._lock = lock

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        held = await self._to_renew()
        flow = super().async_auth_flow(request)
        async with closing(flow) as requests:
            try:
                sent = await anext(requests)
                while True:
                    if held is not None and sent is request:  # the renewal is over
                        held.release()
                    sent = await flow.asend((yield sent))
            except StopAsyncIteration:
                return
            finally:
                if held is not None:
                    held.release()

    async def _to_renew(self) -> FileLock | None:
        """Read a login that another process has renewed. If it is expired, return the lock for renewing it."""
        if self._lock is None or (self._initialized and self.context.is_token_valid()):
            return None
        held = await _locked(self._lock) if self._reload() else None
        if held is not None and not self._reload():
            held.release()
        return held

    def _reload(self) -> bool:
        """Let the SDK read the stored login again. Return True if it is expired."""
        storage = self.context.storage
        assert isinstance(storage, _Storage)
        storage.connect(self)
        self._initialized = False
        return bool(self.context.token_expiry_time and self.context.token_expiry_time < time.time())


async def _locked(path: Path) -> FileLock | None:
    """Return the lock of a login; None if another process holds it too long, or no file can be made."""
    until = time.monotonic() + RENEWAL_SECONDS
    while time.monotonic() < until:
        try:
            return FileLock(path, patience=0)
        except BlockingIOError:
            await asyncio.sleep(0.02)
        except OSError:
            return None
    return None


def provider(
    server: ServerDefinition, vault: Vault, page: LoginPage | None = None, lock: Path | None = None
) -> OAuthClientProvider:
    """Return the authentication of requests to a server. Without a page, an expired login is a failure, never a question.

    `lock` is the file that processes lock to renew the login.
    """
    storage = _Storage(server, vault, page.redirect if page else "http://127.0.0.1/callback")

    async def arrived() -> AuthorizationCodeResult:
        assert page is not None
        return code_of(await page.answered())

    made = _Renewing(
        server.url,
        storage.metadata,
        storage,
        redirect_handler=page.open_url if page else None,
        callback_handler=arrived if page else None,
        lock=lock,
    )
    storage.connect(made)
    return made


def code_of(address: str) -> AuthorizationCodeResult:
    """Return the code in a login's final address. Raise InputError with the server's reason if it has none."""
    found = {name: values[0] for name, values in parse_qs(urlsplit(address.strip()).query).items()}
    if "code" not in found:
        why = found.get("error_description") or found.get("error") or "the address contains no code"
        raise InputError(f"The login failed: {why}.")
    return AuthorizationCodeResult(code=found["code"], state=found.get("state"), iss=found.get("iss"))


async def login(server: ServerDefinition, vault: Vault, page: LoginPage) -> bool:
    """Log in to a server. Return False if it requires no login.

    Raise InputError if the login fails; an old login then stays unchanged.
    """
    fresh = _Fresh()
    auth = provider(server, fresh, page)
    # The only packed form that `Limited` unpacks.
    headers = {**server.headers, "Accept": "application/json, text/event-stream", "Accept-Encoding": "gzip"}
    method, body = ("GET", None) if server.transport.streams_only else ("POST", _REQUEST)
    try:
        hooks = {"response": [_bound]}
        async with httpx2.AsyncClient(auth=auth, headers=headers, timeout=30.0, event_hooks=hooks) as client:
            response = await _sent(client, client.build_request(method, server.url, json=body))
            if response.status_code in (401, 403):
                raise InputError(f"The login failed: the server still answers {response.status_code}.")
    except httpx2.ConnectError as error:
        raise InputError(f"The login failed: {not_connected_to(str(error.request.url), error, 0)}.") from error
    except httpx2.StreamError as error:
        raise InputError(f"The login failed: the server sent {error}.") from error
    except (OAuthFlowError, httpx2.HTTPError) as error:
        raise InputError(f"The login failed: {error}") from error
    vault.write(fresh.text)
    return bool(fresh.text)


async def _bound(response: httpx2.Response) -> None:
    """Limit an answer: the SDK reads those of a login whole."""
    response.stream = Limited(response, LOGIN_BYTES)


class _Fresh:
    """Storage of a login that has not succeeded yet."""

    def __init__(self) -> None:
        self.text = ""

    def read(self) -> str:
        return self.text

    def write(self, text: str) -> None:
        self.text = text


async def _sent(client: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
    """Send a request and return the response, its body not read.

    Follow redirects only on the same host, as the SDK does.
    """
    for _ in range(REDIRECTS):
        response = await client.send(request, stream=True)
        await response.aclose()
        after = response.next_request
        if after is None or after.method != request.method or _origin(after.url) != _origin(request.url):
            break
        request = after
    return response


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


class _FixedScopes(OAuthClientMetadata):
    """Metadata of a client with the definition's scopes, which the SDK would replace by the server's proposal."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "scope":
            super().__setattr__(name, value)


class _Storage:
    """Tokens and client of one login, with the data for renewing the tokens in a later run."""

    def __init__(self, server: ServerDefinition, vault: Vault, redirect: str) -> None:
        self._server, self._vault = server, vault
        self._provider: OAuthClientProvider | None = None
        settings = server.oauth
        self.metadata = (_FixedScopes if settings.scopes else OAuthClientMetadata).model_validate(
            {
                "client_name": "agentcli",
                "redirect_uris": [redirect],
                "scope": " ".join(settings.scopes) or None,
                "token_endpoint_auth_method": "client_secret_post" if settings.client_secret else "none",
            }
        )

    def connect(self, made: OAuthClientProvider) -> None:
        """Give the provider the data of an earlier run: when the token expires, and where to renew it."""
        self._provider, kept = made, self._kept()
        made.context.token_expiry_time = kept.get("expires")
        if "metadata" in kept:
            made.context.oauth_metadata = OAuthMetadata.model_validate(kept["metadata"])

    async def get_tokens(self) -> OAuthToken | None:
        kept = self._kept()
        return OAuthToken.model_validate(kept["tokens"]) if "tokens" in kept else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        known = self._provider.context.oauth_metadata if self._provider else None
        self._keep(
            tokens=tokens.model_dump(mode="json", exclude_none=True),
            expires=time.time() + tokens.expires_in if tokens.expires_in else None,
            **({"metadata": known.model_dump(mode="json", exclude_none=True)} if known else {}),
        )

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        settings, kept = self._server.oauth, self._kept()
        if settings.client_id:
            own = {"client_id": settings.client_id, "client_secret": settings.client_secret or None}
            given = {**self.metadata.model_dump(mode="json", exclude_none=True), **own}
            return OAuthClientInformationFull.model_validate(given)
        return OAuthClientInformationFull.model_validate(kept["client"]) if "client" in kept else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._keep(client=client_info.model_dump(mode="json", exclude_none=True))

    def _kept(self) -> dict[str, Any]:
        try:
            kept = json.loads(self._vault.read() or "{}")
        except ValueError:
            return {}
        return kept if isinstance(kept, dict) else {}

    def _keep(self, **values: Any) -> None:
        merged: Mapping[str, Any] = {**self._kept(), **values}
        self._vault.write(json.dumps(merged))
