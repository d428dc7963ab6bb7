"""Query endpoints for their lists of models: all at once, each within limits.

The responses have OpenAI's form, with the extra fields of OpenRouter and vLLM, or LiteLLM's, Anthropic's or Google's. Any
other response becomes a reason for people.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from agentcli import __version__
from agentcli.core.errors import InputError, in_words
from agentcli.core.sanitise import is_safe
from agentcli.core.setting import PRICE
from agentcli.providers.context_windows import LARGEST, SMALLEST, STATED
from agentcli.providers.endpoint_lists import MODELS, EndpointList
from agentcli.providers.reachability import NoRedirect, bare
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.settings import ProviderSettings, address, credentials, is_vendor

LARGEST_LIST = 64_000_000
"""Maximum bytes of a list."""
SECONDS = 15.0
"""Time limit for the lists of all endpoints."""
_PIECE = 1 << 16


def ask_all(
    providers: Sequence[ProviderSettings], env: Mapping[str, str], seconds: float = SECONDS
) -> Sequence[Asking]:
    """Query all endpoints at once; each query ends by itself, and nothing waits for a thread that does not."""
    asked = [Asking(settings, env, seconds) for settings in providers]
    for one in asked:
        one.start()
    return asked


class Asking(threading.Thread):
    """A query to one endpoint: `found` is its list, `trouble` the reason why there is none."""

    def __init__(self, settings: ProviderSettings, env: Mapping[str, str], seconds: float) -> None:
        super().__init__(daemon=True)
        self.provider = settings.name
        self.found: EndpointList | None = None
        self._trouble = ""
        self._settings, self._env, self._seconds = settings, env, seconds
        self._ends = time.monotonic() + seconds

    @property
    def trouble(self) -> str:
        """The reason why there is no list; also for an unfinished query."""
        if self.found is not None:
            return ""
        return self._trouble or f"{self.provider} took longer than {self._seconds:g} s to list its models."

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the answer arrives or the time is over; return True if it arrived."""
        left = max(0.0, self._ends - time.monotonic())
        self.join(left if seconds is None else min(seconds, left))
        return not self.is_alive()

    def run(self) -> None:
        """Ask."""
        try:
            self.found = self._list()
        except InputError as error:
            self._trouble = str(error)

    def _list(self) -> EndpointList:
        settings = self._settings
        url = address(settings, self._env)
        root = _with_version(url, settings.kind)
        listed = entries(self._answer(f"{root}/models"))
        if listed is None:
            raise InputError(f"{self.provider} does not answer with a list of models at {bare(root)}/models.")
        found, left_out, unusable = models(listed, MODELS)
        if settings.kind == "openai" and not any(found.values()):
            found |= self._of_litellm(root, found)
        if is_vendor(settings):
            # The vendor's own list also contains models without conversations; models for conversations state their
            # sizes.
            found = {name: stated for name, stated in found.items() if "window" in stated}
        return EndpointList(self.provider, url, time.time(), found, left_out, unusable)

    def _of_litellm(self, root: str, found: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return windows and prices of a server that states them beside its list, as LiteLLM does; nothing for other
        servers.
        """
        try:
            listed = entries(self._answer(f"{root.removesuffix('/v1')}/model/info"))
        except InputError:
            return {}
        stated = models(listed or (), MODELS)[0]
        return {name: fields for name, fields in stated.items() if name in found}

    def _answer(self, url: str) -> Any:
        """Return the JSON at an address. Raises InputError."""
        name = self.provider
        try:
            request = urllib.request.Request(url, headers=self._headers())
            left = max(0.1, self._ends - time.monotonic())
            with urllib.request.build_opener(NoRedirect).open(request, timeout=left) as reply:
                return json.loads(self._read(reply))
        except urllib.error.HTTPError as error:
            error.close()
            raise InputError(f"{name} answered {error.code} when asked for its models.") from None
        except (ValueError, RecursionError):
            raise InputError(f"{name} does not answer with a list of models at {bare(url)}.") from None
        except OSError as error:
            raise InputError(f"{name} does not list its models: {in_words(error)}.") from None
        except HTTPException as error:  # an answer that is no HTTP
            raise InputError(f"{name} does not list its models: {type(error).__name__}.") from None

    def _read(self, reply: Any) -> bytes:
        body = bytearray()
        while piece := reply.read1(_PIECE):
            body += piece
            if len(body) > LARGEST_LIST:
                raise InputError(f"{self.provider} lists its models in more than {LARGEST_LIST:,} bytes.")
            if time.monotonic() > self._ends:
                raise InputError(f"{self.provider} took longer than {self._seconds:g} s to list its models.")
        return bytes(body)

    def _headers(self) -> Mapping[str, str]:
        settings, key = self._settings, credentials(self._settings, self._env)
        vendor = PROVIDERS[settings.kind]
        sent = {"User-Agent": f"agentcli/{__version__}", "Accept": "application/json", **vendor.request_headers}
        if key and settings.kind == "google":
            sent[vendor.key_header] = key
        elif key:
            sent |= {"Authorization": f"Bearer {key}"} if settings.auth == "bearer" else {settings.auth: key}
        return {**sent, **settings.headers}


def _with_version(url: str, kind: str) -> str:
    """Return the address with the version of the API, which people often omit."""
    if kind == "google":
        return url if url.endswith(("/v1", "/v1beta")) else f"{url}/v1beta"
    if kind == "anthropic":
        return f"{url.removesuffix('/v1')}/v1"
    return url if urlsplit(url).path.strip("/") else f"{url}/v1"


LONGEST_NAME = 200
"""Maximum characters of a model's name."""
_CHATS = ("chat", "completion", "responses")
"""LiteLLM's modes of models that hold a conversation."""
_GENERATES = "generateContent"
Stated = dict[str, Any]


def entries(answer: Any) -> Sequence[Any] | None:
    """Return the entries of a response; None if it is not a list of models."""
    if not isinstance(answer, Mapping):
        return None
    found = answer.get("data", answer.get("models"))
    return found if isinstance(found, list) else None


def models(listed: Sequence[Any], most: int) -> tuple[dict[str, Stated], int, int]:
    """Return the first models with their stated facts, the number of others, and the number without a usable name."""
    found: dict[str, Stated] = {}
    left_out = unusable = 0
    for entry in listed:
        name = _name(entry)
        if name is None:
            unusable += 1
        elif not _converses(entry) or name in found:
            continue
        elif len(found) < most:
            found[name] = dict(_stated(entry))
        else:
            left_out += 1
    return found, left_out, unusable


def _name(entry: Any) -> str | None:
    if not isinstance(entry, Mapping):
        return None
    name = entry.get("model_name") or entry.get("id") or entry.get("slug") or entry.get("name")
    if not isinstance(name, str):
        return None
    name = name.removeprefix("models/")
    usable = 0 < len(name) <= LONGEST_NAME and name.isprintable() and " " not in name and is_safe(name)
    return name if usable else None


def _converses(entry: Mapping[str, Any]) -> bool:
    """Return False for a model with another stated purpose, such as embeddings, or that is hidden from people."""
    mode = _table(entry.get("model_info")).get("mode")
    outputs = _table(entry.get("architecture")).get("output_modalities")
    methods = entry.get("supportedGenerationMethods")
    return (
        entry.get("visibility", "list") == "list"
        and (not isinstance(mode, str) or mode in _CHATS)
        and (not isinstance(outputs, list) or "text" in outputs)
        and (not isinstance(methods, list) or _GENERATES in methods)
    )


def _stated(entry: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of ModelSpec that an entry gives."""
    info, top = _table(entry.get("model_info")), _table(entry.get("top_provider"))
    windows = (
        top.get("context_length"),
        *(entry.get(name) for name in STATED),
        info.get("max_input_tokens"),
        entry.get("max_input_tokens"),
        entry.get("inputTokenLimit"),
    )
    outputs = (
        top.get("max_completion_tokens"),
        info.get("max_output_tokens"),
        entry.get("max_tokens"),
        entry.get("outputTokenLimit"),
    )
    for name, values, least in (("window", windows, SMALLEST), ("max_output", outputs, 1)):
        if (value := next((value for value in values if _is_size(value, least)), None)) is not None:
            yield name, value
    if prices := _prices(_table(entry.get("pricing")), _ROUTER) or _prices(info, _LITELLM):
        yield "prices", prices
    inputs = _table(entry.get("architecture")).get("input_modalities")
    if isinstance(inputs, list):
        yield "images", "image" in inputs
    elif isinstance(info.get("supports_vision"), bool):
        yield "images", info["supports_vision"]


_ROUTER = ("prompt", "completion", "input_cache_read", "input_cache_write")
_LITELLM = (
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
)


def _prices(table: Mapping[str, Any], names: Sequence[str]) -> dict[str, float]:
    """Return prices in USD per million tokens from prices per token.

    Without cache prices, the cache costs as much as fresh input.
    """
    fresh, out, read, write = (_price(table.get(name)) for name in names)
    if fresh is None or out is None:
        return {}
    return {
        "input": fresh,
        "output": out,
        "cache_read": fresh if read is None else read,
        "cache_write": fresh if write is None else write,
    }


def _price(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        price = float(value) * 1e6
    except (ValueError, OverflowError):
        return None
    return round(price, 9) if price in PRICE else None


def _is_size(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= LARGEST


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
