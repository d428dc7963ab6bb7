"""Create a Model from its spec; the provider's adapter is imported on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from agentcli.core.errors import ConfigError, CredentialsError, InputError, ModelError
from agentcli.core.model import Model, ModelSpec
from agentcli.core.text.words import instead
from agentcli.providers.capable import CapableModel, WireModel
from agentcli.providers.endpoint_facts import EndpointMemory
from agentcli.providers.platforms import PLATFORMS
from agentcli.providers.provider import Provider
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.retrying import RetryingModel, gate_for
from agentcli.providers.sdk_import import warm
from agentcli.providers.settings import (
    BUILT_IN,
    ProviderSettings,
    RetryPolicy,
    base_url,
    base_url_places,
    credentials,
    is_plan,
    key_variables,
    needs_key,
)

__all__ = ["connect", "warm"]

Make = Callable[[ModelSpec], Model]
Adapter = Callable[[ModelSpec, ProviderSettings, str | None, str], WireModel]
_NO_MODELS: Mapping[str, Make] = MappingProxyType({})


def connect(
    spec: ModelSpec,
    settings: ProviderSettings | None,
    env: Mapping[str, str],
    retry: RetryPolicy | None = None,
    *,
    built_in: Mapping[str, Make] = _NO_MODELS,
    memory: EndpointMemory | None = None,
    stored: Set[str] = frozenset(),
    gates: Path | None = None,
    attended: bool = False,
    passes_on: Callable[[ModelError], bool] = lambda _: False,
    minimal: bool = False,
    renewed: Callable[[], str] | None = None,
) -> Model:
    """Make a Model for `spec` that retries, and continues without capabilities that its endpoint lacks.

    These are stored in `memory`. No SDK is imported before the first request. With `settings` None, the built-in
    provider of that name is used. `built_in` makes models without a server, by id. `stored` are the variables of `env`
    that contain stored keys.

    `attended` means that a person may start a local server. If the provider refuses requests, all processes with the
    same folder `gates` space theirs. Errors that `passes_on` are not retried: another account takes over. With
    `minimal`, its requests contain only fields that every server accepts. `renewed` returns a valid key before each
    request, for a key that expires.

    Raises CredentialsError if a required key is missing, and InputError for an unknown provider or script. Raises
    ConfigError for an invalid base URL.
    """
    settings = settings or BUILT_IN.get(spec.provider)
    if settings is None:
        raise InputError(f"The provider {spec.provider!r} is not configured. Add a [providers.{spec.provider}] table.")
    provider = PROVIDERS[spec.kind]
    if not provider.takes_key and spec.id in built_in:
        return RetryingModel(built_in[spec.id](spec), retry)
    require_sdk(provider, spec, settings.platform)
    key = _key(settings, env)
    url = _url(settings, env)
    adapter = _imported(provider.adapter)
    model: WireModel
    if renewed is not None and key is not None:
        from agentcli.providers.renewing import RenewingModel

        model = RenewingModel(lambda key: adapter(spec, settings, key, url), key, renewed)
    else:
        model = adapter(spec, settings, key, url)
    if not provider.takes_key:
        return RetryingModel(model, retry)

    def explained(error: ModelError) -> ModelError:
        from agentcli.providers.errors import key_refused

        return key_refused(error, settings, env, stored)

    capable = CapableModel(model, provider.fields, memory or EndpointMemory(), url, key, explained, minimal=minimal)
    return RetryingModel(
        capable, retry, gate=gate_for(gates, settings.name, url, key), attended=attended, passes_on=passes_on
    )


def require_sdk(provider: Provider, spec: ModelSpec, platform: str) -> None:
    """Raise InputError, with the command that installs it, if the SDK or a platform's package is missing."""
    if platform and not _is_installed(PLATFORMS[platform].module):
        from agentcli.system.installing import install_extra

        cloud = PLATFORMS[platform]
        raise InputError(
            f"{spec.name} needs a package for {cloud.title}, which is not installed. "
            f"Install it: {install_extra(cloud.extra)}"
        )
    if not is_installed(provider):
        from agentcli.system.installing import install_extra

        doubt = "" if spec.known else _unheard_of(provider, spec)
        raise InputError(
            f"{doubt}{spec.name} needs the SDK of {provider.title}, which is not installed. "
            f"Install it: {install_extra(provider.extra)}"
        )


def _unheard_of(provider: Provider, spec: ModelSpec) -> str:
    """Return the beginning of a message about an unknown model: nobody should install anything for a misspelled name."""
    near = instead(spec.id, [model.id for model in provider.models])
    return f"agentcli does not know the model {spec.id!r}.{near} `agentcli models` lists those that it knows. If it exists: "


def is_installed(provider: Provider) -> bool:
    """Return True if the provider's SDK is installed; an SDK without an extra always is."""
    return not provider.extra or _is_installed(provider.sdk)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _key(settings: ProviderSettings, env: Mapping[str, str]) -> str | None:
    key = credentials(settings, env)
    if key is None and needs_key(settings, env):
        raise CredentialsError(_how_to_set(settings))
    if key is not None and not (key.isascii() and key.isprintable()):
        raise CredentialsError(
            f"The key in {' or '.join(key_variables(settings))} has characters that keys never have. Set it again."
        )
    return key


def _url(settings: ProviderSettings, env: Mapping[str, str]) -> str:
    url = base_url(settings, env)
    try:
        urlsplit(url).port  # noqa: B018 - reading the port checks that it is a number
    except ValueError:
        raise ConfigError(
            f"The base URL of {settings.name} is not an address such as https://host:port. Correct {base_url_places(settings)}."
        ) from None
    return url


def _imported(adapter: str) -> Adapter:
    module, _, name = adapter.partition(":")
    loaded: Adapter = getattr(import_module(module), name)
    return loaded


def _how_to_set(settings: ProviderSettings) -> str:
    if is_plan(settings):
        return f"Not logged in to {settings.name}. Run `agentcli auth login {settings.name}`."
    names = (
        " or ".join(key_variables(settings))
        or f"`api_key_env` in [providers.{settings.name}] and the variable it names"
    )
    return f"No key for {settings.name}. Run `agentcli auth set {settings.name}` or set {names}; `agentcli demo` needs none."
