"""Log in with ChatGPT, as its service documents for open-source programs: the requests use the person's plan.

The first login registers this program for the person's account. Later logins reuse that registration.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from agentcli.core.errors import InputError
from agentcli.providers.logins import RESOURCE, addresses, exchanged, granted, issuer_of, keys_of
from agentcli.providers.settings import ProviderSettings
from agentcli.system.browser_login import (
    LOGIN_SECONDS,
    answer,
    challenge_of,
    fields_in,
    listen,
    pasted_in,
    require_code,
    show,
)
from agentcli.system.locked_file import update

FILE = "registrations.json"
"""File in the state folder with this machine's id and the registrations; it contains no secret."""
USAGE = "chatgpt.com/settings/usage"
"""Where the person sees and limits what this program uses."""
CALLBACK = "/auth/callback"
_FIRST = "dynamic_agent_client"
"""The client of a first login, which returns the one to use from then on."""
_PLAN = "chatgpt.tokens.use.direct"
_SCOPE = f"openid profile email offline_access resource.invoke {_PLAN}"
_LEEWAY = 30
"""Seconds by which this machine's clock may differ from the service's."""


def logged_in(
    settings: ProviderSettings,
    env: Mapping[str, str],
    state: Path,
    account: str,
    say: Callable[[str], None],
) -> Mapping[str, Any]:
    """Let the person log in in the browser, and return the login to store. Raises InputError if that fails."""
    issuer = issuer_of(settings, env)
    places = addresses(issuer)
    file, name = state / FILE, f"{issuer} {account}".strip()
    known = _registered(file, name, {})
    own, host = known.get(name, {}), known["host"]
    verifier, seal, nonce = (secrets.token_urlsafe(48) for _ in range(3))
    asked = {
        "client_id": own.get("client_id", _FIRST),
        **({} if own else {"agent_name_hint": "agentcli"}),
        "ext_agent_host_id": host,
        "response_type": "code",
        "scope": _SCOPE,
        "resource": RESOURCE,
        "state": seal,
        "nonce": nonce,
        "code_challenge_method": "S256",
        "code_challenge": challenge_of(verifier),
    }
    final, redirect = asyncio.run(_visited(places["authorization_endpoint"], asked, env, say))
    found = callback(final, seal, own.get("client_id", ""))
    form = {"client_id": found["client_id"], "code": found["code"], "code_verifier": verifier, "redirect_uri": redirect}
    answered = exchanged(places["token_endpoint"], grant_type="authorization_code", resource=RESOURCE, **form)
    subject = verified(answered.get("id_token"), keys_of(places["jwks_uri"]), issuer, found["client_id"], nonce)
    if own and own["subject"] != subject:
        raise InputError("The login failed: this is another ChatGPT account. Store it with `--name ACCOUNT`.")
    _registered(file, name, {"client_id": found["client_id"], "subject": subject})
    if _PLAN not in str(answered.get("scope", "")).split():
        raise InputError(
            "You are logged in, but agentcli may not use your ChatGPT plan. Log in again and allow it, or use an API key:"
            " `agentcli auth set openai`."
        )
    ends = {name: places[name] for name in ("token_endpoint", "revocation_endpoint")}
    return {"issuer": issuer, "client_id": found["client_id"], **ends, **granted(answered, time.time())}


async def _visited(
    page: str, asked: Mapping[str, str], env: Mapping[str, str], say: Callable[[str], None]
) -> tuple[str, str]:
    """Return the final address of the login, and the address to which the browser was told to return."""
    arrived: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    listening = await listen(arrived, CALLBACK)
    try:
        redirect = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}{CALLBACK}"
        await show(f"{page}?{urlencode({**asked, 'redirect_uri': redirect})}", env, say)
        return await answer(arrived, pasted_in(say), LOGIN_SECONDS), redirect
    finally:
        listening.close()


def callback(address: str, seal: str, client: str) -> Mapping[str, str]:
    """Return code and client in a login's final address. Raises InputError for that of another login, or a refusal."""
    found = fields_in(urlsplit(address.strip()).query)
    if not secrets.compare_digest(found.get("state", "").encode(), seal.encode()):
        raise InputError("The login failed: this address belongs to another login. Start again.")
    require_code(found)
    issued = found.get("client_id") or client
    if issued in ("", _FIRST) or (client and issued != client):
        raise InputError("The login failed: the service returned no client id, or that of another registration.")
    return {"code": found["code"], "client_id": issued}


def verified(token: object, keys: Mapping[str, Any], issuer: str, client: str, nonce: str) -> str:
    """Return the account (`sub`) of an ID token. Raises InputError unless the token is valid for this login."""
    import jwt

    try:
        kid = jwt.get_unverified_header(str(token)).get("kid")
        key = next(each for each in jwt.PyJWKSet.from_dict(dict(keys)).keys if each.key_id == kid)
        claims = jwt.decode(
            str(token),
            key,
            algorithms=["RS256", "ES256"],
            audience=client,
            issuer=issuer,
            leeway=_LEEWAY,
            options={"require": ["exp", "iat", "sub", "nonce"]},
        )
    except (jwt.PyJWTError, StopIteration, ValueError, TypeError) as error:
        raise InputError(f"The login failed: its ID token is not valid ({type(error).__name__}).") from None
    if not secrets.compare_digest(str(claims["nonce"]).encode(), nonce.encode()):
        raise InputError("The login failed: its ID token belongs to another login.")
    return str(claims["sub"])


def _registered(file: Path, name: str, more: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the registrations, with `more` about one; the first call chooses this machine's id."""
    known: dict[str, Any] = {}

    def changed(text: str) -> str:
        try:
            read = json.loads(text or "{}")
        except ValueError:
            read = {}
        known.update(read if isinstance(read, dict) else {})
        known.setdefault("host", f"urn:uuid:{uuid.uuid4()}")
        if more:
            known[name] = dict(more)
        return json.dumps(known, indent=1) + "\n"

    update(file, changed)
    return known
