"""HTTP client of all wires, also under the SDKs.

It has an idle timeout, but none for the whole reply, and closes a connection once its reader stops.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Awaitable, Callable, Iterator
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentcli.core.errors import Cause, ModelError
from agentcli.core.text.secrets import mask
from agentcli.providers.http_body import SLICE, bounded, sliced
from agentcli.providers.registry import PRESETS, PROVIDERS
from agentcli.providers.settings import ProviderSettings, base_url_places, base_url_variable

if TYPE_CHECKING:
    import ssl

    import httpx2

BeforeSending = Callable[["httpx2.Request"], Awaitable[None]]
BeforeReading = Callable[["httpx2.Response"], Awaitable[None]]


def http_client(
    settings: ProviderSettings,
    base_url: str = "",
    *,
    before_sending: BeforeSending | None = None,
    before_reading: BeforeReading | None = None,
) -> httpx2.AsyncClient:
    """Make a client for requests below a URL. All wait `idle_timeout` for the next byte, even if an SDK sets another
    limit.

    `before_sending` may change a request, `before_reading` a response. Raises ModelError if the environment specifies
    an unusable proxy or certificate file.
    """
    import httpx2

    limits = httpx2.Timeout(settings.idle_timeout, connect=settings.connect_timeout)

    async def be_patient(request: httpx2.Request) -> None:
        request.extensions = {**request.extensions, "timeout": limits.as_dict()}
        if len(request.content) > SLICE:
            request.stream = sliced(request.content)

    taking = [before_reading] if before_reading else []
    hooks: dict[str, list[Callable[..., Any]]] = {
        "request": [be_patient, *([before_sending] if before_sending else [])],
        "response": [partial(_refuse_page, settings), partial(_bound, settings), _remember, *taking],
    }
    context = tls_context(base_url)
    try:
        # Redirects are not followed: they might take the key to another host.
        client: httpx2.AsyncClient = _patient_client(2 * settings.idle_timeout)(
            timeout=limits, follow_redirects=False, event_hooks=hooks, verify=context
        )
        return client
    except ImportError:
        from agentcli.system.installing import install

        raise ModelError(
            f"{_PROXIES} is a SOCKS proxy, for which a package is missing: `{install('socksio')}`, or set an http:// proxy.",
            "bad_request",
        ) from None
    except (ValueError, httpx2.InvalidURL):
        raise ModelError(f"{_PROXIES} is not an address such as http://host:port. Correct it.", "bad_request") from None


@cache
def _patient_client(seconds: float) -> Any:
    """Make the class once: httpx2 is imported only with the first client."""
    import asyncio

    import httpx2

    class Client(httpx2.AsyncClient):
        """A client that limits the wait for a response's headers, whatever drips in."""

        async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
            try:
                async with asyncio.timeout(seconds):
                    return await super().send(request, **options)
            except TimeoutError:
                raise httpx2.ReadTimeout("the head of the answer is not whole", request=request) from None

    return Client


async def _bound(settings: ProviderSettings, response: httpx2.Response) -> None:
    bounded(response, settings.idle_timeout)


async def _refuse_page(settings: ProviderSettings, response: httpx2.Response) -> None:
    if response.is_success and "html" in response.headers.get("content-type", "").lower():
        raise _not_an_api(response.request.url.host, settings)


async def _remember(response: httpx2.Response) -> None:
    response.request.extensions[_BEGUN] = response.is_success


_PROXIES = "The proxy in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY"


def tls_context(base_url: str = "") -> ssl.SSLContext:
    """Return the TLS settings for requests below a URL.

    The process shares them, because loading certificates takes 30 ms and 1 MB. Without TLS none are loaded, so no
    server would be trusted.
    """
    if base_url.startswith("http://"):
        return _trusting_nobody()
    return _tls_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=4)
def _tls_context(file: str | None, _folder: str | None) -> ssl.SSLContext:
    import ssl

    import httpx2

    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        why = "it contains none in PEM form" if isinstance(error, ssl.SSLError) else error.strerror
        raise ModelError(
            f"Can't read the certificates in SSL_CERT_FILE ({file}): {why}. Correct it, or remove the variable.",
            "certificate",
        ) from None


@cache
def _trusting_nobody() -> ssl.SSLContext:
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def connection_error(error: Exception, settings: ProviderSettings, host: str) -> ModelError:
    """Return the error for a transport failure. It shows the host, never the request."""
    import httpx2

    match error:
        case ModelError():
            return error  # raised by a hook of the client
        case httpx2.ReadTimeout():
            return ModelError(
                f"{host} sent nothing for {settings.idle_timeout:g} s, so the reply counts as dropped.",
                "network",
                brief=f"{host} sent nothing for {settings.idle_timeout:g} s",
                begun=_begun(error),
            )
        case httpx2.ConnectError() if (verdict := _certificate(error)) is not None:
            return _untrusted(host, verdict)
        case httpx2.ConnectError() | httpx2.ConnectTimeout():
            return _unreachable(error, settings, host)
        case httpx2.ProxyError():
            return _proxy_refuses(error, host)
        case httpx2.UnsupportedProtocol():
            return ModelError(
                f"The base URL of {settings.name} begins with neither http:// nor https://. Correct {base_url_places(settings)}.",
                "bad_request",
            )
        case httpx2.InvalidURL() | httpx2.LocalProtocolError() | httpx2.TooManyRedirects():
            return ModelError(
                f"Can't send requests to {host} ({type(error).__name__}). Check the base URL.", "bad_request"
            )
        case httpx2.DecodingError():
            return ModelError(f"The reply of {host} is garbled.", "bad_reply")
        case _:
            return ModelError(f"The connection to {host} was lost.", "network", begun=_begun(error))


_BEGUN = "begun"
"""Extension of a request that marks it as accepted: its reply is on its way."""


def _begun(error: Exception) -> bool:
    import httpx2

    try:
        return isinstance(error, httpx2.RequestError) and bool(error.request.extensions.get(_BEGUN))
    except RuntimeError:  # it belongs to no request
        return False


def _untrusted(host: str, verdict: str) -> ModelError:
    return ModelError(
        f"The certificate of {host} is not trusted: {verdict}. If you trust its issuer (a company proxy, for example), "
        "set SSL_CERT_FILE to a PEM file with that CA, or SSL_CERT_DIR to a folder of such files.",
        "certificate",
    )


def _proxy_refuses(error: httpx2.ProxyError, host: str) -> ModelError:
    answer = scrubbed(str(error), None)
    said = f"{_PROXIES} does not connect to {host}"
    cause: Cause = "bad_request" if answer.startswith("4") else "network"  # such as 407, which no retry cures
    return ModelError(f"{said}: {answer}. Check its address, user and password.", cause, brief=said)


def _unreachable(error: httpx2.RequestError, settings: ProviderSettings, host: str) -> ModelError:
    """Return the error for an address that refuses connections: the reason, and the setting with the address."""
    address = _address(error, host)
    why = _why_not(error, settings.connect_timeout)
    unstarted = why == _REFUSED and _is_this_machine(host)
    _, preset = PRESETS.get(settings.name, ("", None))
    if unstarted and preset is not None and preset.is_local:
        started = f"Start {preset.title}: `{preset.start}`"
        message = f"Nothing runs at {settings.base_url}. {started}; if it runs elsewhere, set base_url in [providers.{settings.name}]."
        return ModelError(message, "network", brief=f"Nothing runs at {address}. {started}", unstarted=True)
    brief = f"Can't reach {address}: {why}"
    origin = _origin(settings, host)
    if unstarted:
        cure = f"Start the server that should listen there, or correct {origin}." if origin else "Start a server there."
    else:
        cure = (
            f"Check the network{f', the proxy and {origin}, which sets the address' if origin else ' and the proxy'}."
        )
    message = f"{brief}. {cure}"
    return ModelError(message, "network", brief=brief, unstarted=unstarted, unresolved=why == _NO_HOST)


_REFUSED = "connection refused"
_NO_HOST = "there is no such host"


def _why_not(error: BaseException, seconds: float) -> str:
    """Return briefly why no connection could be made."""
    import socket

    import httpx2

    if isinstance(error, httpx2.ConnectTimeout):
        return f"no answer within {seconds:g} s"
    for inner in _causes(error):
        match inner:
            case ConnectionRefusedError():
                return _REFUSED
            case socket.gaierror():
                return _NO_HOST
            case TimeoutError():
                return f"no answer within {seconds:g} s"
            case OSError(strerror=str(said)) if said:
                return said[:1].lower() + said[1:]
            case _:
                pass
    return "the connection failed"


def _address(error: httpx2.RequestError, host: str) -> str:
    """Return host and port of the requested address, for a message."""
    try:
        url = error.request.url
    except RuntimeError:  # it belongs to no request
        return host
    port = url.port or {"https": 443, "http": 80}.get(url.scheme)
    shown = f"[{url.host}]" if ":" in url.host else url.host
    return f"{shown}:{port}" if port else shown


def _origin(settings: ProviderSettings, host: str) -> str:
    """Return the setting with the address; empty for the vendor's own address."""
    _, preset = PRESETS.get(settings.name, ("", None))
    if settings.base_url or preset is not None:
        return f"base_url in [providers.{settings.name}]"
    vendor = PROVIDERS.get(settings.name)
    own = vendor is None or urlsplit(vendor.url).hostname == host
    return "" if own or settings.platform else base_url_variable(settings)


def _is_this_machine(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _not_an_api(host: str, settings: ProviderSettings) -> ModelError:
    return ModelError(
        f"{host} sent a web page instead of a reply, so this is not the address of an API. "
        f"Check base_url in [providers.{settings.name}], or the variable that sets it, and log in if the network asks for it.",
        "no_api",
    )


def _certificate(error: BaseException) -> str | None:
    """Return why a certificate was not trusted, if the connection failed for that."""
    import ssl

    for inner in _causes(error):
        if isinstance(inner, ssl.SSLCertVerificationError):
            return inner.verify_message or "verification failed"
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all its causes, including the errors of parallel attempts."""
    waiting: list[BaseException | None] = [error]
    while waiting:
        inner = waiting.pop()
        if inner is not None:
            yield inner
            waiting += getattr(inner, "exceptions", ())
            waiting.append(inner.__cause__ or inner.__context__)


def quiet_sdk(package: str, logger: str) -> None:
    """Keep an SDK's warnings about old models, new enum values and duplicate variables off the user's screen."""
    import logging

    warnings.filterwarnings("ignore", module=rf"{re.escape(package)}(\.|$)")
    warnings.filterwarnings("ignore", category=DeprecationWarning, message=r"The model '.*' is deprecated")
    if not logging.getLogger(logger).handlers:
        logging.getLogger(logger).addHandler(logging.NullHandler())


def scrubbed(text: str, secret: str | None, longest: int = 300) -> str:
    """Shorten a server's text to one line for an error message, without the key in case it was echoed."""
    text = " ".join(mask(text, [secret] if secret else []).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"
