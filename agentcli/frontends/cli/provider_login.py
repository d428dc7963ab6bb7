"""Log in to a provider in the browser, by the way that it documents for other programs: OpenRouter's, with PKCE.

ChatGPT's is in `plan_login`. The reasons why others have none are here.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import urlencode, urlsplit

from agentcli import __version__
from agentcli.core.errors import InputError, in_words
from agentcli.providers.platforms import PLATFORMS
from agentcli.providers.reachability import ErrorStatus, bare, fetched
from agentcli.providers.registry import PRESETS, PROVIDERS
from agentcli.providers.settings import ProviderSettings, address
from agentcli.system.browser_login import (
    LOGIN_SECONDS,
    Pasted,
    answer,
    challenge_of,
    fields_in,
    listen,
    pasted_in,
    require_code,
    show,
)

SECONDS = 30.0
"""Time limit of exchanging the code for a key."""
KEYS_STAY: Mapping[str, str] = {
    "openrouter": "The key itself is valid until you delete it at openrouter.ai/settings/keys: programs cannot revoke it."
}
"""Providers whose login makes a key that stays valid, with what to do about a removed one."""
_LOGINS = (*KEYS_STAY, "chatgpt")
"""Providers that one can log in to."""
_ELSEWHERE: Mapping[str, str] = {
    "anthropic": (
        "Claude plans (Pro, Max) may not be used by other programs: `agentcli sessions export SESSION -f claude-code"
        " --install` hands work to Claude Code."
    ),
    "openai": "To use a ChatGPT plan, run `agentcli auth login chatgpt`.",
    "google": "Google's plans may not be used by other programs. For Vertex AI, run `gcloud auth application-default login`.",
}
"""How to use a vendor's plan, if at all, by provider."""
_UNREGISTERED = ("copilot", "github", "huggingface", "poe", "vercel")
"""Services that document a login only for programs that their authors have registered there."""


def require_login(settings: ProviderSettings) -> None:
    """Raise InputError with where to make a key if a provider documents no login for other programs."""
    name = settings.name
    if name in _LOGINS:
        return
    preset, vendor = PRESETS[name][1] if name in PRESETS else None, PROVIDERS.get(name)
    title = preset.title if preset else vendor.title if vendor else name
    if preset and preset.is_local:
        raise InputError(f"{title} runs on this machine and needs no key.")
    place = vendor.key_advice[1] if vendor else f"at {preset.key_site}" if preset else "on its site"
    raise InputError(
        f"agentcli can log in only to {' and '.join(_LOGINS)}. For {title}, make an API key {place}, then run"
        f" `agentcli auth set {name}`. {_ELSEWHERE.get(name, '')}".rstrip()
    )


def why_no_login(name: str) -> str:
    """Return why there is no login to a well-known service that is no provider; empty for other names."""
    if name in PLATFORMS:
        return (
            f"{PLATFORMS[name].title} uses the login of its cloud's own program, such as `aws sso login` or"
            " `gcloud auth application-default login`. See `agentcli help models`."
        )
    if name not in _UNREGISTERED:
        return ""
    return (
        f"agentcli can't log in to {name}, which allows that only to programs registered there."
        " If it has API keys, see `agentcli help models`."
    )


def new_key(
    settings: ProviderSettings, env: Mapping[str, str], say: Callable[[str], None], seconds: float = LOGIN_SECONDS
) -> str:
    """Let the person log in in the browser, and return the new key. Raises InputError if that fails."""
    root = bare(address(settings, env))
    verifier, path = secrets.token_urlsafe(48), f"/callback/{secrets.token_urlsafe(24)}"
    code = asyncio.run(_code(root, verifier, path, env, say, pasted_in(say), seconds))
    return exchanged(root, code, verifier)


async def _code(
    root: str,
    verifier: str,
    path: str,
    env: Mapping[str, str],
    say: Callable[[str], None],
    pasted: Pasted | None,
    seconds: float,
) -> str:
    """Return the code that the login ends with.

    The state is a part of the callback's path: the service documents no parameter that it sends back.
    """
    arrived: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    listening = await listen(arrived, path)
    try:
        callback = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}{path}"
        await show(_page(root, callback, verifier), env, say)
        return code_of(await answer(arrived, pasted, seconds), path)
    finally:
        listening.close()


def _page(root: str, callback: str, verifier: str) -> str:
    query = {"callback_url": callback, "code_challenge": challenge_of(verifier), "code_challenge_method": "S256"}
    return urlsplit(root)._replace(path="/auth", query=urlencode(query), fragment="").geturl()


def code_of(text: str, path: str) -> str:
    """Return the code of a login's final address, or a code that was pasted alone.

    Raises InputError if the address belongs to another login or contains no code.
    """
    text = text.strip()
    if "/" not in text and "?" not in text and " " not in text:
        return text
    parts = urlsplit(text)
    if not secrets.compare_digest(parts.path.encode(), path.encode()):
        raise InputError("The login failed: this address belongs to another login. Start again.")
    found = fields_in(parts.query)
    require_code(found)
    return found["code"]


def exchanged(root: str, code: str, verifier: str) -> str:
    """Exchange the code for a key. Raises InputError, never with the code or the service's own text."""
    body = json.dumps({"code": code, "code_verifier": verifier, "code_challenge_method": "S256"}).encode()
    headers = {"User-Agent": f"agentcli/{__version__}", "Content-Type": "application/json"}
    host = urlsplit(root).hostname
    try:
        request = urllib.request.Request(f"{root}/auth/keys", body, headers)
        answered: Any = json.loads(fetched(request, SECONDS))
    except ErrorStatus as error:
        if error.status == 403:
            raise InputError(
                "The login failed: the code is wrong, too old or already used. Run `agentcli auth login` again."
            ) from None
        raise InputError(f"The login failed: {host} answered {error.status}.") from None
    except OSError as error:
        raise InputError(f"The login failed: can't reach {host} ({in_words(error)}).") from None
    except (ValueError, RecursionError, HTTPException):
        answered = None
    key = answered.get("key") if isinstance(answered, dict) else None
    if not isinstance(key, str):
        raise InputError(f"The login failed: {host} answered without a key.")
    return key
