"""Removal of secrets from the texts of a session, tens of thousands of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache, partial

from agentcli.core.text.secrets import POSSIBLE, is_plain, redact

_SHORT, _REMEMBERED = 100, 10_000
"""Maximum characters of a text whose result is cached, because names and paths recur; the number of such texts."""
_LONG, _SUSPECTS = 20_000, 100
"""The same for texts that may contain a secret, because the same files are read repeatedly."""


class Redactor:
    """A filter that removes secrets from texts, including the `known` ones, and counts the texts that it `changed`."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = tuple(known)
        self._remembered = lru_cache(_REMEMBERED)(self._redacted)
        self._suspects = lru_cache(_SUSPECTS)(partial(redact, known=self._known))
        self.changed = 0

    def __call__(self, text: str) -> str:
        clean = self._redacted(text) if len(text) > _SHORT else self._remembered(text)
        self.changed += clean != text
        return clean

    def notes(self) -> list[str]:
        """Return a line for people about removed secrets, if there were any."""
        if not self.changed:
            return []
        return [f"Removed secrets from {self.changed:,} texts; --keep-secrets keeps them."]

    def _redacted(self, text: str) -> str:
        if search(POSSIBLE, True)(text) or not is_plain(text) or any(secret in text for secret in self._known):
            return self._suspects(text) if len(text) <= _LONG else redact(text, self._known)
        return text


@cache
def search(pattern: str, otherwise: bool) -> Callable[[str], bool]:
    """Return a search some fifty times as fast as `redact`: pydantic's regular expressions take linear time.

    Without pydantic, it always returns `otherwise`.
    """
    try:
        from pydantic_core import SchemaValidator, core_schema
    except ImportError:
        return lambda text: otherwise
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")).isinstance_python
