"""Clients of the Gemini SDK, whichever part of it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentcli.core.errors import ModelError
from agentcli.providers.http import quiet_sdk, scrubbed
from agentcli.providers.settings import ProviderSettings


def connected(
    make: Callable[..., Any], http: Any, settings: ProviderSettings, key: str | None, base_url: str, **more: Any
) -> Any:
    """A client made by `make`, an SDK's factory that takes `http_options`; `more` are options besides. Raises ModelError where it cannot start."""
    quiet_sdk("google.genai", "google_genai")
    options: dict[str, Any] = {"httpx_async_client": http, "headers": dict(settings.headers), **more}
    if base_url:
        options["base_url"] = base_url
    if settings.version:
        options["api_version"] = settings.version
    try:
        return make(http_options=options)
    except (ImportError, ValueError) as error:
        raise ModelError(f"The Gemini SDK cannot start: {scrubbed(str(error), key)}", "bad_request") from None
