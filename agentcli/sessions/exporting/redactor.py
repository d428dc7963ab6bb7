"""The removal of secrets from the texts of a session, tens of thousands of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache

from agentcli.core.text.secrets import POSSIBLE, is_plain, redact

_SHORT, _REMEMBERED = 100, 10_000
"""Characters of a text that is remembered with its outcome, since names and paths come again and again; the number of those texts."""


class Redactor:
    """A filter that takes secrets out of texts, the `known` ones among them, and counts the texts that it `changed`."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = tuple(known)
        self._remembered = lru_cache(_REMEMBERED)(self._redacted)
        self.changed = 0

    def __call__(self, text: str) -> str:
        clean = self._redacted(text) if len(text) > _SHORT else self._remembered(text)
        self.changed += clean != text
        return clean

    def notes(self) -> list[str]:
        """A line for people about what was taken out, if anything was."""
        if not self.changed:
            return []
        return [f"Secrets were taken out of {self.changed:,} texts; --keep-secrets leaves them in."]

    def _redacted(self, text: str) -> str:
        if _matches()(text) or not is_plain(text) or any(secret in text for secret in self._known):
            return redact(text, self._known)
        return text


@cache
def _matches() -> Callable[[str], bool]:
    """A search for `POSSIBLE` that is some fifty times as quick as `redact`: the regular expressions of pydantic take linear time.

    Without them everything may be a secret.
    """
    try:
        from pydantic_core import SchemaValidator, core_schema
    except ImportError:
        return lambda text: True
    return SchemaValidator(core_schema.str_schema(pattern=POSSIBLE, regex_engine="rust-regex")).isinstance_python
