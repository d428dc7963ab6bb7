"""Logins whose key expires: a service's addresses, a stored login, and its renewal, by one process for all."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from agentcli import __version__
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import CredentialsError, InputError, ModelError, in_words
from agentcli.providers.reachability import ErrorStatus, fetched
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.settings import ProviderSettings, address
from agentcli.system.disk import DISK, make_folder
from agentcli.system.key_store import KeyStore, Place
from agentcli.system.locked_file import FileLock

ISSUER = "https://auth.openai.com"
RESOURCE = "https://api.openai.com/v1"
"""The API that a login is for, by its public name."""
SECONDS = 30.0
"""Time limit of one request to the service."""
MARGIN = 300.0
"""Seconds before its end from which a key is renewed."""
PATIENCE = 60.0
"""Seconds to wait for another process that renews the same login."""
_TRIES, _PAUSE = 3, 0.5
"""Attempts to revoke a login, and the seconds between them."""
_ENDED = (
    "invalid_grant", "invalid_refresh_token", "token_expired", "refresh_token_expired", "refresh_token_invalidated",
    "refresh_token_reused",
)  # fmt: skip
"""Error codes after which only a new login helps."""
_ADDRESSES = ("authorization_endpoint", "token_endpoint", "jwks_uri", "revocation_endpoint")


def issuer_of(settings: ProviderSettings, env: Mapping[str, str]) -> str:
    """Return the address of the login service: the vendor's, or that of the user's own server."""
    root = address(settings, env)
    if root == PROVIDERS[settings.kind].url:
        return ISSUER
    parts = urlsplit(root)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def addresses(issuer: str) -> Mapping[str, str]:
    """Return what the service publishes about itself. Raises InputError unless each address is its own."""
    found = _asked(urllib.request.Request(f"{issuer}/.well-known/openid-configuration", headers=_headers()))
    own = {name: found.get(name) for name in _ADDRESSES}
    if found.get("issuer") != issuer or not all(isinstance(url, str) and _is_at(url, issuer) for url in own.values()):
        raise InputError(f"{urlsplit(issuer).hostname} names login addresses of another host. Nothing was sent there.")
    return {name: str(url) for name, url in own.items()}


def keys_of(url: str) -> Mapping[str, Any]:
    """Return the public keys with which a service signs. Raises InputError."""
    return _asked(urllib.request.Request(url, headers=_headers()))


def exchanged(url: str, **form: str) -> Mapping[str, Any]:
    """Return the answer of a token address to a form.

    Raises Refused if the service refuses the form, and InputError for other failures. Neither contains a token.
    """
    body = urlencode(form).encode()
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    return _asked(urllib.request.Request(url, body, {**_headers(), **kind}))


class Refused(InputError):
    """A service refused a request; `code` is its reason, and `status` its HTTP status."""

    def __init__(self, message: str, status: int, code: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def granted(answer: Mapping[str, Any], now: float) -> Mapping[str, Any]:
    """Return the fields of a login in a service's answer. Raises InputError if one is missing."""
    access, refresh, lasts = (answer.get(name) for name in ("access_token", "refresh_token", "expires_in"))
    if not (isinstance(access, str) and isinstance(refresh, str) and isinstance(lasts, int | float)):
        raise InputError("The answer of the service lacks a key, its lifetime or its refresh token.")
    earliest = answer.get("earliest_refresh_at")
    return {
        "access_token": access,
        "refresh_token": refresh,
        "expires": now + lasts,
        "earliest": earliest if isinstance(earliest, int | float) else 0,
    }


@dataclass(frozen=True, slots=True)
class Renewal:
    """The key of a stored login, which one process at a time renews before it expires.

    A renewal replaces the refresh token, so a second renewal with the old one would end the login.
    """

    store: KeyStore
    entry: str
    lock: Path
    issuer: str

    def __call__(self) -> str:
        """Return a valid key.

        Raises CredentialsError if only a new login helps, ModelError if the service cannot be reached.
        """
        found = self._usable()
        if isinstance(found, str):
            return found
        with _held(self.lock):
            found = self._usable()
            return found if isinstance(found, str) else self._renewed(found)

    def _usable(self) -> str | Mapping[str, Any]:
        """Return the stored key, or its login if it must be renewed first."""
        login = self.store.login(self.entry)
        if login.get("issuer") != self.issuer:
            raise CredentialsError(f"No login for {self._name} at this address. {self._cure}")
        now = time.time()
        if login["expires"] - now > MARGIN or login["earliest"] > now < login["expires"]:
            return str(login["access_token"])
        return login

    def _renewed(self, login: Mapping[str, Any]) -> str:
        form = {name: login[name] for name in ("client_id", "refresh_token")}
        try:
            answer = exchanged(login["token_endpoint"], grant_type="refresh_token", resource=RESOURCE, **form)
            fresh = granted({"refresh_token": login["refresh_token"], **answer}, time.time())
        except Refused as error:
            if error.code in _ENDED:
                raise CredentialsError(f"The login for {self._name} has ended ({error.code}). {self._cure}") from None
            raise self._unrenewed(error, "overloaded" if error.status >= 500 else "auth") from None
        except InputError as error:
            if login["expires"] > time.time():
                return str(login["access_token"])
            raise self._unrenewed(error, "network") from None
        self.store.set_login(self.entry, {**login, **fresh})
        return str(fresh["access_token"])

    def _unrenewed(self, error: InputError, cause: Any) -> ModelError:
        return ModelError(f"The login for {self._name} could not be renewed. {error}", cause)

    @property
    def _name(self) -> str:
        return self.entry.replace("/", ", account ")

    @property
    def _cure(self) -> str:
        provider, _, account = self.entry.partition("/")
        return f"Run `agentcli auth login {provider}{account and f' --name {account}'}`."


def renewal(folder: Path, state: Path, entry: str, issuer: str) -> Renewal:
    """Return the renewal of a login in the store of a folder; its lock is in the state folder."""
    return Renewal(KeyStore(folder), entry, _lock(state, entry), issuer)


def keep(folder: Path, state: Path, entry: str, login: Mapping[str, Any]) -> Place:
    """Store a login and return its place. A renewal of the former one in another process ends first."""
    with _held(_lock(state, entry)):
        return KeyStore(folder).set_login(entry, login)


def end(folder: Path, state: Path, entry: str) -> bool:
    """Forget a login, and end it at its service after a renewal in another process.

    Returns True if the service confirms it. Raises InputError if no login is stored.
    """
    store = KeyStore(folder)
    with _held(_lock(state, entry)):
        login = store.login(entry)
        store.remove(entry)
    return revoke(login)


def _lock(state: Path, entry: str) -> Path:
    return state / f".login-{entry.replace('/', '-')}.lock"


def _held(lock: Path) -> FileLock:
    """Return the lock of a login. Raises ModelError if another process holds it too long."""
    make_folder(DISK, lock.parent)
    try:
        return FileLock(lock, patience=PATIENCE)
    except BlockingIOError:
        raise ModelError("Another process is still renewing the login. Try again.", "network") from None


def revoke(login: Mapping[str, Any]) -> bool:
    """End a login at its service; return True if the service confirms it."""
    form = {"token": str(login["refresh_token"]), "token_type_hint": "refresh_token", "client_id": login["client_id"]}
    for attempt in range(_TRIES):
        time.sleep(_PAUSE * attempt)
        try:
            exchanged(login["revocation_endpoint"], **form)
        except Refused as error:
            if error.status < 500:
                return False
        except InputError:
            continue
        else:
            return True
    return False


def _is_at(url: str, issuer: str) -> bool:
    parts, own = urlsplit(url), urlsplit(issuer)
    return (parts.scheme, parts.netloc) == (own.scheme, own.netloc)


def _headers() -> dict[str, str]:
    return {"User-Agent": f"agentcli/{__version__}", "Accept": "application/json"}


def _asked(request: urllib.request.Request) -> Mapping[str, Any]:
    """Return the JSON object in an answer, empty for an empty answer."""
    host = request.host
    try:
        text = fetched(request, SECONDS)
        answer = json.loads(text or b"{}")
    except ErrorStatus as error:
        code = _code_in(error.body)
        raise Refused(f"{host} answered {error.status}{code and f' ({code})'}.", error.status, code) from None
    except (ValueError, RecursionError):
        answer = None
    except HTTPException as error:
        raise InputError(f"{host} sent an answer that is not valid HTTP ({type(error).__name__}).") from None
    except OSError as error:
        raise InputError(f"Can't reach {host} ({in_words(error)}).") from None
    if not isinstance(answer, dict):
        raise InputError(f"{host} sent an answer that is not a JSON object.")
    return answer


def _code_in(body: bytes) -> str:
    """Return the reason in a refusal if it is a plain code. The rest may repeat what was sent."""
    try:
        raw: Any = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    raw = raw.get("error", raw) if isinstance(raw, dict) else ""
    code = raw.get("code") if isinstance(raw, dict) else raw
    return code if isinstance(code, str) and code.replace("_", "").isalnum() and len(code) <= 60 else ""
