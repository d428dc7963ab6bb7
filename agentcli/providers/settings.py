"""Settings of a provider: wire format, base URL, key, and capabilities of its server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import urlsplit

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import OUTAGES, ModelError
from agentcli.core.model import ThinkingStyle
from agentcli.core.setting import Requests, Seconds, setting
from agentcli.providers.registry import PRESETS, PROVIDERS

_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """One provider: a built-in one, or a `[providers.<name>]` table of the configuration.

    Empty strings keep the SDK's default. Times are in seconds.
    """

    name: str
    kind: str
    """The key of its entry in `PROVIDERS`: its wire format."""
    base_url: str = ""
    api_key_env: str = ""
    platform: Literal["", "bedrock", "vertex", "vertexai"] = ""
    """A cloud that serves the vendor's models; the SDK finds its credentials."""
    wire: Literal["", "responses", "chat"] = ""
    """One of OpenAI's two wire formats. By default, the vendor's own models use Responses, all others chat completions.
    """
    auth: Literal["bearer", "x-api-key", "api-key"] = "bearer"
    """The header with the key."""
    version: str = ""
    """The `anthropic-version` header, or the Gemini API version."""
    caching: bool = True
    """False if the server lacks it, like `counting`."""
    counting: bool = True
    thinking: ThinkingStyle | Literal[""] = ""
    """Overrides the models' own style, for servers with only a part of the wire format."""
    beta_headers: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=lambda: _NONE)
    extra_body: Mapping[str, Any] = field(default_factory=lambda: _NONE)
    """Fields added to every request."""
    idle_timeout: float = 300.0
    """A reply that sends nothing for so long counts as dropped."""
    connect_timeout: float = 10.0


BUILT_IN: Mapping[str, ProviderSettings] = MappingProxyType(
    {kind: ProviderSettings(kind, kind) for kind in PROVIDERS}
    | {
        name: ProviderSettings(
            name,
            kind,
            base_url=preset.base_url,
            api_key_env=preset.key_variable,
            counting=False,
            wire="responses" if preset.plan else "",
        )
        for name, (kind, preset) in PRESETS.items()
    }
)
"""The providers that need no configuration."""


def key_variables(settings: ProviderSettings) -> tuple[str, ...]:
    """Return the environment variables that may contain this provider's key.

    A configured provider has only its own variable: a vendor's key is never sent to another server.
    """
    if settings.api_key_env:
        return (settings.api_key_env,)
    vendor = PROVIDERS.get(settings.name)
    return vendor.key_variables if vendor else ()


def key_variable(settings: ProviderSettings, env: Mapping[str, str]) -> str:
    """Return the environment variable that contains the key; empty if none does."""
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


def is_plan(settings: ProviderSettings) -> bool:
    """Return True for a provider whose requests use a person's subscription: its key comes from a login and expires."""
    return settings.name in PRESETS and PRESETS[settings.name][1].plan


def base_url_variable(settings: ProviderSettings) -> str:
    """Return the environment variable that may contain the address; only a vendor's own provider has one."""
    vendor = PROVIDERS.get(settings.name)
    return vendor.base_url_variable if vendor else ""


def base_url_places(settings: ProviderSettings) -> str:
    """Return the places where the address may be set, for a message."""
    return " or ".join(filter(None, (base_url_variable(settings), f"base_url in [providers.{settings.name}]")))


def needs_key(settings: ProviderSettings, env: Mapping[str, str]) -> bool:
    """Return True if a request needs a key; scripts, local servers and servers in the local network need none."""
    if not PROVIDERS[settings.kind].takes_key or settings.platform:
        return False
    try:
        host = urlsplit(base_url(settings, env)).hostname or ""
    except ValueError:
        return True
    return not (host in ("localhost", "::1") or host.startswith(_LOCAL_NETS) or host.endswith((".local", ".internal")))


_LOCAL_NETS = ("127.", "10.", "192.168.", *(f"172.{n}." for n in range(16, 32)))


OTHER_ATTEMPTS = 5
"""Maximum requests for a fault that time alone does not fix, such as a reply that violates the wire format."""
ASKED_JITTER = 0.1
"""Maximum share added at random to a requested wait, so that waiting clients do not all return at once."""
BEGUN_ATTEMPTS = 5
"""Maximum replies to one request that may begin and break off.

Each costs money, and the cause (a proxy, a size limit) may recur at the same place.
"""
UNSTARTED_PATIENCE = 3.0
"""Seconds of repeating requests, in unattended runs, to a local server that does not run or an unknown host.

Both may appear later.
"""
ASKED_AT_LEAST = 1.0
"""Seconds: shorter requested waits are replaced by our own growing ones."""
SHORT_PATIENCE = 30.0
"""Like `patience`, in seconds, if there is a substitute for the model."""
JITTER = 0.25
"""Maximum share subtracted at random from a wait."""
_MOST_DOUBLINGS = 30


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`[retry]`: limits of retrying. Times in seconds; the wait doubles from `first` to `longest`."""

    patience: Seconds = setting(600.0, project="never")
    """Limits on repeating requests that fail (overload, network, rate limits)."""
    attempts: Requests = setting(0, project="never")
    """Maximum, the first included; 0: by `patience`. A reply that has begun is asked for five times at most."""
    first: Seconds = setting(0.5, project="never")
    """The first wait; each further one is twice as long."""
    longest: Seconds = setting(15.0, project="never")
    """The longest wait."""

    @property
    def short(self) -> RetryPolicy:
        """The policy with a substitute: a fallback model, or a snapshot made without a model."""
        return replace(self, patience=min(self.patience, SHORT_PATIENCE))

    @property
    def unattended(self) -> RetryPolicy:
        """The policy of unattended runs for a server that does not run or an unknown host."""
        return replace(self, patience=min(self.patience, UNSTARTED_PATIENCE))

    def delay(
        self, attempt: int, error: ModelError, chance: float, elapsed: float = 0.0, begun: int = 0
    ) -> float | None:
        """Return the seconds to wait after failed attempt number `attempt` (from 1), or None to give up.

        `chance` is in [0, 1), `elapsed` the seconds since the first failure, `begun` the number of replies that had
        begun.
        """
        most = self.attempts or (0 if error.cause in OUTAGES else OTHER_ATTEMPTS)
        if not error.retryable or 0 < most <= attempt or begun >= BEGUN_ATTEMPTS:
            return None
        asked = error.retry_after or 0.0
        wait = self._wait(attempt, asked, chance)
        least = asked if asked >= ASKED_AT_LEAST else wait
        return wait if elapsed + least <= self.patience else None

    def _wait(self, attempt: int, asked: float, chance: float) -> float:
        if asked >= ASKED_AT_LEAST:
            return asked * (1 + ASKED_JITTER * chance)
        growing = self.first * 2.0 ** min(attempt - 1, _MOST_DOUBLINGS)
        return max(asked, min(self.longest, growing) * (1 - JITTER * chance))
