"""Keys of providers: their place in the environment, and a test of one."""

from __future__ import annotations

from collections.abc import Mapping

from agentcli.core.errors import CredentialsError, InputError
from agentcli.providers.reachability import accepts
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.settings import ProviderSettings, base_url, key_variables

SECONDS = 10.0
"""Time limit of trying a key."""


def with_keys(
    env: Mapping[str, str], providers: Mapping[str, ProviderSettings], stored: Mapping[str, str]
) -> Mapping[str, str]:
    """Return the environment with the stored keys, each in its provider's variable; variables that are set take
    precedence.
    """
    more = {}
    for name, key in stored.items():
        settings = providers.get(name)
        variables = key_variables(settings) if settings is not None else ()
        if variables and not any(env.get(variable, "").strip() for variable in variables):
            more[variables[0]] = key
    return {**env, **more} if more else env


def provider_of(key: str) -> str:
    """Return the provider whose keys have this key's prefix; empty if unknown."""
    return next((kind for kind, each in PROVIDERS.items() if each.key_prefix and key.startswith(each.key_prefix)), "")


def checked(key: str) -> str:
    """Return the key without surrounding blanks. Raises InputError if it cannot be a key."""
    key = key.strip()
    if not key or not (key.isascii() and key.isprintable()) or " " in key:
        raise InputError(
            "That is not a valid key: it is empty, or has spaces or other characters that keys never have."
        )
    return key


def try_key(settings: ProviderSettings, key: str, env: Mapping[str, str]) -> str:
    """Send one free request with the key; return why it could not be tried, or an empty text.

    Raises CredentialsError if it is rejected.
    """
    if not settings.kind:
        return f"each search with {settings.name} is billed"
    vendor = PROVIDERS[settings.kind]
    url = base_url(settings, env) or vendor.url

    accepted, answer = accepts(url, vendor.models_path, vendor.key_headers(key), SECONDS)
    if accepted is False:
        raise CredentialsError(f"{vendor.title or settings.name} rejected the key ({answer}). Nothing was stored.")
    return "" if accepted else answer
