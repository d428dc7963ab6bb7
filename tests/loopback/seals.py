"""Signatures as a provider makes them: bound to the text, the model and, for preserved thinking, to everything before."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Seals:
    """Issues signatures and knows its own again. `bound` false leaves the prefix out for every model."""

    bound: bool = True
    _issued: dict[str, str] = field(default_factory=dict)
    _thoughts: dict[str, list[Any]] = field(default_factory=dict)

    def issue(self, model: str, content: Any, prefix: Any) -> str:
        """A signature for `content`; `prefix` is everything before it, or None where it is not bound to that."""
        seal = _seal(model, content, prefix if self.bound else None)
        self._issued[seal] = model
        return seal

    def is_good(self, seal: str, model: str, content: Any, prefix: Any) -> bool:
        """Whether the signature was made by this model for this content in this place."""
        return seal == _seal(model, content, prefix if self.bound else None) and seal in self._issued

    def issuer(self, seal: str) -> str | None:
        """The model that made a signature, or None for one that nobody here made."""
        return self._issued.get(seal)

    def remember(self, call_id: str, thoughts: list[Any]) -> None:
        """The thinking blocks of the reply that made this call."""
        self._thoughts[call_id] = thoughts

    def thoughts_with(self, call_id: str) -> list[Any] | None:
        """The thinking blocks that came with a call, or None for a call from elsewhere."""
        return self._thoughts.get(call_id)


def bare(value: Any) -> Any:
    """A value without its cache marks, which are no part of what the model reads."""
    if isinstance(value, dict):
        return {key: bare(item) for key, item in value.items() if key != "cache_control"}
    return [bare(item) for item in value] if isinstance(value, list) else value


def _seal(model: str, content: Any, prefix: Any) -> str:
    text = json.dumps([model, bare(content), bare(prefix)], sort_keys=True)
    # Characters that a careless round trip through another base64 alphabet would change.
    return base64.b64encode(b"\xfb\xff\xbf" + hashlib.sha512(text.encode()).digest()).decode()
