"""Windows of models on the user's own servers: stated by the server, or by its refusal of a long prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from agentcli import __version__

SMALLEST, LARGEST = 1_000, 100_000_000
"""Tokens between which a number counts as a window."""
_BODY = 4_000_000
"""Maximum bytes of an answer that are read."""
STATED = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length")
"""Fields of an entry of `/v1/models` with the server's window, the effective one first."""
_REFUSED = (
    r"\bn_ctx\W{1,4}(\d+)",
    r"> ?(\d[\d,]*) maximum",
    r"(?:maximum|max)\b[^.]{0,60}?\b(?:context|tokens allowed|length|window)\b\D{0,30}(\d[\d,]*)",
    r"(?:context|window)[ _](?:length|size|window|limit)?\D{0,30}(\d[\d,]*)",
)
"""Wordings of a refusal that name the window."""


def stated_window(url: str, model: str, key: str | None, seconds: float) -> int:
    """Ask a server for a model's window in tokens; 0 if it states none. Each query takes at most `seconds`."""
    root = _root(url)
    entries = _asked(f"{root}/v1/models", key, seconds).get("data")
    for entry in entries if isinstance(entries, list) else []:
        if (
            isinstance(entry, dict)
            and entry.get("id") == model
            and (found := _first(entry.get(name) for name in STATED))
        ):
            return found
    if found := loaded_window(url, model, key, seconds):
        return found
    props = _asked(f"{root}/props", key, seconds)
    defaults = props.get("default_generation_settings")
    if found := _first((props.get("n_ctx"), defaults.get("n_ctx") if isinstance(defaults, dict) else None)):
        return found
    return _window_in(_asked(f"{root}/api/show", key, seconds, {"model": model}))


def loaded_window(url: str, model: str, key: str | None, seconds: float) -> int:
    """Ask a server for the window of a loaded model; 0 if it states none.

    The window may be smaller than the model's own.
    """
    root = _root(url)
    running = _asked(f"{root}/api/ps", key, seconds).get("models")
    for entry in running if isinstance(running, list) else []:
        if isinstance(entry, dict) and model in (
            entry.get("name"),
            entry.get("model"),
            str(entry.get("name")).removesuffix(":latest"),
        ):
            return _first([entry.get("context_length")])
    return 0


def window_in(answer: str) -> int:
    """Return the window that a refusal of a too long prompt states; 0 if it states none."""
    for wording in _REFUSED:
        if (found := re.search(wording, answer.lower())) and (window := _first([int(found[1].replace(",", ""))])):
            return window
    return 0


def listed_models(url: str, key: str | None, seconds: float) -> list[str]:
    """Return the ids of the models that a server lists."""
    root = _root(url)
    entries = _asked(f"{root}/v1/models", key, seconds).get("data")
    return (
        [str(entry["id"]) for entry in entries if isinstance(entry, dict) and entry.get("id")]
        if isinstance(entries, list)
        else []
    )


def _root(url: str) -> str:
    return url.rstrip("/").removesuffix("/v1").removesuffix("/v1beta")


def _window_in(answer: Mapping[str, Any]) -> int:
    """Return the window in a response of `/api/show`: the configured one, else the model's own."""
    parameters, info = answer.get("parameters"), answer.get("model_info")
    if isinstance(parameters, str) and (found := re.search(r"^num_ctx\s+(\d+)", parameters, re.MULTILINE)):
        return _first([int(found[1])])
    values = info.items() if isinstance(info, dict) else ()
    return _first(value for name, value in values if name.endswith(".context_length"))


def _first(values: Any) -> int:
    return next((value for value in values if isinstance(value, int) and SMALLEST <= value <= LARGEST), 0)


def _asked(url: str, key: str | None, seconds: float, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """Return the JSON object in a server's response; empty for any other response."""
    import urllib.request

    from agentcli.providers.reachability import fetched

    headers = {"User-Agent": f"agentcli/{__version__}", "Content-Type": "application/json"}
    if key:
        headers |= {"Authorization": f"Bearer {key}", "x-api-key": key}
    data = json.dumps(body).encode() if body is not None else None
    try:
        answer = json.loads(fetched(urllib.request.Request(url, data, headers), seconds, _BODY))
    except (OSError, ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}
