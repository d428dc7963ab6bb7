"""From a model's name to a Model: the one table of adapters, each imported only when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from agentcli.core.errors import CredentialsError, InputError
from agentcli.core.model import Model, ModelSpec
from agentcli.providers.retrying import Retrying, RetryPolicy
from agentcli.providers.settings import (
    BUILT_IN,
    ProviderSettings,
    base_url,
    credentials,
    key_variables,
    needs_key,
)
from agentcli.providers.warming import warm

__all__ = ["connect", "warm"]

Make = Callable[[ModelSpec], Model]
_NO_MODELS: Mapping[str, Make] = MappingProxyType({})


def connect(
    spec: ModelSpec,
    settings: ProviderSettings | None,
    env: Mapping[str, str],
    retry: RetryPolicy | None = None,
    *,
    built_in: Mapping[str, Make] = _NO_MODELS,
) -> Model:
    """A Model for `spec` that retries. No SDK is imported before its first request.

    `settings` None means the built-in provider of that name. `built_in` makes the models of kind "demo", by id. Raises
    CredentialsError where a key is needed and none is set, InputError for a provider or script that does not exist.
    """
    settings = settings or BUILT_IN.get(spec.provider)
    if settings is None:
        raise InputError(f"The provider {spec.provider!r} is not configured. Add a [providers.{spec.provider}] table.")
    if spec.kind in ("demo", "scripted"):
        return Retrying(_scripted(spec, built_in), retry)
    key = credentials(settings, env)
    if key is None and needs_key(settings, env):
        raise CredentialsError(_how_to_set(settings))
    if key is not None and not (key.isascii() and key.isprintable()):
        raise CredentialsError(
            f"The key in {' or '.join(key_variables(settings))} has characters that no key has. Set it anew."
        )
    return Retrying(_adapter(spec, settings, key, base_url(settings, env)), retry)


def _adapter(spec: ModelSpec, settings: ProviderSettings, key: str | None, url: str) -> Model:
    if settings.kind == "google":
        from agentcli.providers.google import GoogleModel

        return GoogleModel(spec, settings, key, url)
    from agentcli.providers.anthropic import AnthropicModel

    return AnthropicModel(spec, settings, key, url)


def _scripted(spec: ModelSpec, built_in: Mapping[str, Make]) -> Model:
    if spec.id in built_in:
        return built_in[spec.id](spec)
    from agentcli.providers.scripts import scripted

    return scripted(spec)


def _how_to_set(settings: ProviderSettings) -> str:
    names = (
        " or ".join(key_variables(settings))
        or f"`api_key_env` in [providers.{settings.name}] and the variable it names"
    )
    return f"There is no key for {settings.name}. Set {names}, or try `agentcli demo`, which needs none."
