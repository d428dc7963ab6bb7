"""The HTTP client of all wires, also under the SDKs: an idle timeout, none for the whole reply, and a connection closed once nobody reads on."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import AsyncIterator, Callable, Iterable
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from agentcli.core.errors import Cause, ModelError
from agentcli.providers.registry import PRESETS
from agentcli.providers.settings import ProviderSettings, base_url_places

if TYPE_CHECKING:
    import ssl

    import httpx2

opened: ContextVar[list[httpx2.Response] | None] = ContextVar("opened", default=None)
"""The responses that the running stream has opened, for a reader that must close them itself."""


def http_client(
    settings: ProviderSettings, base_url: str = "", *, without_comments: bool = False
) -> httpx2.AsyncClient:
    """A client for requests below a URL, which all wait `idle_timeout` for the next byte, whatever an SDK asks for.

    `without_comments` spares the SDK the comments by which proxies keep a connection alive, for one that takes them for a reply that
    it cannot read. Raises ModelError where the environment names a proxy or certificates that cannot be used.
    """
    import httpx2

    limits = httpx2.Timeout(settings.idle_timeout, connect=settings.connect_timeout)

    async def be_patient(request: httpx2.Request) -> None:
        request.extensions = {**request.extensions, "timeout": limits.as_dict()}

    async def uncomment(response: httpx2.Response) -> None:
        packed = response.headers.get("content-encoding", "identity") != "identity"
        if not packed and "event-stream" in response.headers.get("content-type", ""):
            response.stream = uncommented(response.stream)

    async def refuse_page(response: httpx2.Response) -> None:
        if response.is_success and "html" in response.headers.get("content-type", "").lower():
            raise _not_an_api(response.request.url.host, settings)

    async def remember(response: httpx2.Response) -> None:
        responses = opened.get()
        if responses is not None:
            responses.append(response)

    mending = [uncomment] if without_comments else []
    hooks: dict[str, list[Callable[..., Any]]] = {
        "request": [be_patient],
        "response": [refuse_page, *mending, remember],
    }
    context = tls_context(base_url)
    try:
        # Redirects are not followed: they could take the key to another host.
        return httpx2.AsyncClient(timeout=limits, follow_redirects=False, event_hooks=hooks, verify=context)
    except ImportError:
        raise ModelError(
            f"{_PROXIES} is a SOCKS proxy, for which a package is missing: `pip install socksio`, or set an http:// proxy.",
            "bad_request",
        ) from None
    except (ValueError, httpx2.InvalidURL):
        raise ModelError(f"{_PROXIES} is no address such as http://host:port. Correct it.", "bad_request") from None


_PROXIES = "The proxy in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY"


def tls_context(base_url: str = "") -> ssl.SSLContext:
    """The TLS settings for requests below a URL, shared by all clients of the process: loading the certificates takes 30 ms and a megabyte.

    Where they are sent without TLS, none are loaded, so that no server would be trusted.
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
        why = "it holds none in PEM form" if isinstance(error, ssl.SSLError) else error.strerror
        raise ModelError(
            f"The certificates in SSL_CERT_FILE ({file}) cannot be read: {why}. Correct it, or remove the variable.",
            "certificate",
        ) from None


@cache
def _trusting_nobody() -> ssl.SSLContext:
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class PreparedRequest:
    """Address and headers of a request as an SDK has prepared it, for later ones with another body: preparing one takes an SDK as long as sending it."""

    def __init__(self, request: httpx2.Request, given: Iterable[str]) -> None:
        """`given` names the headers that are the same in all requests, such as those that the user has set."""
        remade = _OF_ONE_REQUEST.difference(map(str.lower, given))
        self._url = request.url
        self._headers = {name: value for name, value in request.headers.items() if name not in remade}
        # Such as the name for TLS of a server whose host has an underscore.
        self._extensions = request.extensions

    async def send(self, client: httpx2.AsyncClient, body: bytes) -> httpx2.Response:
        """The response to a request like it, its body not read yet."""
        request = client.build_request(
            "POST", self._url, content=body, headers=self._headers, extensions=self._extensions
        )
        return await client.send(request, stream=True)


_OF_ONE_REQUEST = frozenset({"content-length", "cookie"})
"""Headers that are made anew for each request."""


def uncommented(stream: Any) -> Any:
    """The same stream of server-sent events without the lines that are comments. A line is passed on when it is whole."""
    return _uncommented_streams()(stream)


@cache
def _uncommented_streams() -> Callable[[Any], Any]:
    """A class, made once: one for each stream would keep that stream, with the request, until garbage is collected."""
    import httpx2

    class Uncommented(httpx2.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            rest = b""
            async for piece in self._stream:
                *lines, rest = (rest + piece).split(b"\n")
                yield b"".join(line + b"\n" for line in lines if not line.startswith(b":"))
            yield rest

        async def aclose(self) -> None:
            await self._stream.aclose()

    return Uncommented


def connection_error(error: Exception, settings: ProviderSettings, host: str) -> ModelError:
    """The error for a transport failure. Names the host, never the request."""
    import httpx2

    match error:
        case ModelError():
            return error  # raised by a hook of the client
        case httpx2.ReadTimeout():
            return ModelError(
                f"{host} sent nothing for {settings.idle_timeout:g} s, so the reply counts as dropped.",
                "network",
                brief=f"{host} sent nothing for {settings.idle_timeout:g} s",
            )
        case httpx2.ConnectError() if (verdict := _certificate(error)) is not None:
            return ModelError(
                f"The certificate of {host} is not trusted: {verdict}. If you trust its issuer (a company proxy, for example), "
                "set SSL_CERT_FILE to a PEM file with that CA, or SSL_CERT_DIR to a folder of such files.",
                "certificate",
            )
        case httpx2.ConnectError() | httpx2.ConnectTimeout():
            return ModelError(
                f"{host} cannot be reached. {_cure(settings)}", "network", brief=f"{host} cannot be reached"
            )
        case httpx2.ProxyError():
            answer = scrubbed(str(error), None)
            said = f"{_PROXIES} does not connect to {host}"
            cause: Cause = "bad_request" if answer.startswith("4") else "network"  # such as 407, which no retry passes
            return ModelError(f"{said}: {answer}. Check its address, user and password.", cause, brief=said)
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
            return ModelError(f"The connection to {host} was lost.", "network")


def _cure(settings: ProviderSettings) -> str:
    """The thing to do where nothing answers: start the server, where it is one of the user's own that we know."""
    _, preset = PRESETS.get(settings.name, ("", None))
    if preset is None or not preset.is_local:
        return "Check the network, the proxy and the base URL."
    moved = f"; where it is elsewhere, set base_url in [providers.{settings.name}]"
    return f"Nothing runs at {settings.base_url}. Start {preset.title}: `{preset.start}`{moved}."


def _not_an_api(host: str, settings: ProviderSettings) -> ModelError:
    return ModelError(
        f"{host} sent a web page instead of a reply, so this is not the address of an API. "
        f"Check base_url in [providers.{settings.name}], or the variable that sets it, and log in if the network asks for it.",
        "no_api",
    )


def _certificate(error: BaseException) -> str | None:
    """The reason that a certificate was not trusted, if the connection failed for that."""
    import ssl

    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, ssl.SSLCertVerificationError):
            return inner.verify_message or "it cannot be verified"
        inner = inner.__cause__ or inner.__context__
    return None


def quiet_sdk(package: str, logger: str) -> None:
    """Keep an SDK's warnings about old models, new enum values and doubled variables off the user's screen."""
    import logging

    warnings.filterwarnings("ignore", module=rf"{re.escape(package)}(\.|$)")
    warnings.filterwarnings("ignore", category=DeprecationWarning, message=r"The model '.*' is deprecated")
    if not logging.getLogger(logger).handlers:
        logging.getLogger(logger).addHandler(logging.NullHandler())


def scrubbed(text: str, secret: str | None, longest: int = 300) -> str:
    """A server's text, fit for an error message: one line, not too long, and without the key should it have been echoed."""
    if secret:
        text = text.replace(secret, "…")
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1] + "…"
