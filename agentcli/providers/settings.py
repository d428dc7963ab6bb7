"""Settings of a provider: wire format, base URL, key, and abilities of its server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import urlsplit

from agentcli.core.dataclass import dataclass
from agentcli.core.model import ThinkingStyle
from agentcli.providers.registry import PRESETS, PROVIDERS

_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """One provider: a built-in one, or a `[providers.<name>]` table of the configuration.

    `kind` is the key of its entry in `PROVIDERS`: its wire format. Empty strings leave the SDK's default. `platform` names
    a cloud that serves the vendor's models, whose credentials the SDK finds itself. `wire` picks one of OpenAI's two wire
    formats: without it the vendor's own models use Responses, and all others chat completions. `auth` is the header that
    carries the key, `version` the `anthropic-version` header or the Gemini API version. `thinking` overrides the models'
    own style, for servers with only a part of the wire format. `caching` and `counting` switch off features that a server
    lacks; `extra_body` is added to every request. Times are in seconds: a reply that sends nothing for `idle_timeout`
    counts as dropped.
    """

    name: str
    kind: str
    base_url: str = ""
    api_key_env: str = ""
    platform: Literal["", "bedrock", "vertex", "vertexai"] = ""
    wire: Literal["", "responses", "chat"] = ""
    auth: Literal["bearer", "x-api-key", "api-key"] = "bearer"
    version: str = ""
    caching: bool = True
    counting: bool = True
    thinking: ThinkingStyle | Literal[""] = ""
    beta_headers: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=lambda: _NONE)
    extra_body: Mapping[str, Any] = field(default_factory=lambda: _NONE)
    idle_timeout: float = 300.0
    connect_timeout: float = 10.0


BUILT_IN: Mapping[str, ProviderSettings] = MappingProxyType(
    {kind: ProviderSettings(kind, kind) for kind in PROVIDERS}
    | {
        name: ProviderSettings(name, kind, base_url=preset.base_url, api_key_env=preset.key_variable, counting=False)
        for name, (kind, preset) in PRESETS.items()
    }
)
"""The providers that need no configuration."""


def key_variables(settings: ProviderSettings) -> tuple[str, ...]:
    """Return the environment variables that may hold this provider's key.

    A provider from the configuration has only the variable that it names: a vendor's key is never sent to another
    server.
    """
    if settings.api_key_env:
        return (settings.api_key_env,)
    vendor = PROVIDERS.get(settings.name)
    return vendor.key_variables if vendor else ()


def key_variable(settings: ProviderSettings, env: Mapping[str, str]) -> str:
    """Return the environment variable that holds the key; empty if none does."""
    return next((name for name in key_variables(settings) if env.get(name, "").strip()), "")


def credentials(settings: ProviderSettings, env: Mapping[str, str]) -> str | None:
    """Return the key, or None if no variable holds one."""
    return env.get(key_variable(settings, env), "").strip() or None


def base_url(settings: ProviderSettings, env: Mapping[str, str]) -> str:
    """Return the base URL; empty for the vendor's own."""
    return settings.base_url or env.get(base_url_variable(settings), "")


def address(settings: ProviderSettings, env: Mapping[str, str]) -> str:
    """Return the base URL, also the vendor's own."""
    return (base_url(settings, env) or PROVIDERS[settings.kind].url).rstrip("/")


def is_vendor(settings: ProviderSettings) -> bool:
    """Return True for the vendor's own provider on its own platform, at any address."""
    return settings.name == settings.kind and not settings.platform


def base_url_variable(settings: ProviderSettings) -> str:
    """Return the environment variable that may hold the address; only a vendor's own provider has one."""
    vendor = PROVIDERS.get(settings.name)
    return vendor.base_url_variable if vendor else ""


def base_url_places(settings: ProviderSettings) -> str:
    """Return the places where the address may be set, for a message."""
    return " or ".join(filter(None, (base_url_variable(settings), f"base_url in [providers.{settings.name}]")))


def needs_key(settings: ProviderSettings, env: Mapping[str, str]) -> bool:
    """Return True if a request needs a key: not for scripts and servers on this machine or the local network."""
    if not PROVIDERS[settings.kind].takes_key or settings.platform:
        return False
    try:
        host = urlsplit(base_url(settings, env)).hostname or ""
    except ValueError:
        return True
    return not (host in ("localhost", "::1") or host.startswith(_LOCAL_NETS) or host.endswith((".local", ".internal")))


_LOCAL_NETS = ("127.", "10.", "192.168.", *(f"172.{n}." for n in range(16, 32)))
