"""Claude on Amazon Bedrock and on Vertex AI: the SDK's own clients, which find credentials and region themselves."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import Any

from agentcli.core.errors import ModelError
from agentcli.providers.http import http_client, scrubbed
from agentcli.providers.platforms import PLATFORMS
from agentcli.providers.settings import ProviderSettings

_CLIENTS = MappingProxyType(
    {
        "bedrock": ("anthropic.lib.bedrock", "AsyncAnthropicBedrock"),
        "vertex": ("anthropic.lib.vertex", "AsyncAnthropicVertex"),
    }
)


def on_platform(sdk: Any, settings: ProviderSettings, base_url: str) -> Any:
    """Make the SDK's client for the platform of these settings.

    Raises ModelError if it lacks, for example, a region.
    """
    # Neither class is an attribute of the package, so that sessions without a platform need not import it.
    module, name = _CLIENTS[settings.platform]
    make = getattr(import_module(module), name)
    headers: dict[str, str] = dict(settings.headers)
    if settings.beta_headers:
        headers["anthropic-beta"] = ",".join(settings.beta_headers)
    address = {"base_url": base_url} if base_url else {}
    try:
        return make(max_retries=0, http_client=http_client(settings, base_url), default_headers=headers, **address)
    except (sdk.AnthropicError, ValueError, ImportError) as error:
        raise refused_by_platform(error, settings) from None


def platform_errors(settings: ProviderSettings) -> tuple[type[Exception], ...]:
    """Return the errors by which a platform's SDK says that it finds no credentials; none without a platform."""
    if not settings.platform:
        return ()
    if settings.platform == "bedrock":
        from botocore.exceptions import BotoCoreError

        return BotoCoreError, RuntimeError
    from google.auth.exceptions import GoogleAuthError

    return GoogleAuthError, RuntimeError


def refused_by_platform(error: Exception, settings: ProviderSettings) -> ModelError:
    """Return the error for missing credentials or a missing region, with the variables that name them."""
    cloud = PLATFORMS[settings.platform]
    variables = ", ".join(" or ".join(group) for group in cloud.required)
    text = scrubbed(str(error), None).rstrip(".")
    return ModelError(f"Can't ask {cloud.title}: {text}. Log in there, and set {variables}.", "auth")
