"""The removal of secrets from the texts of a session, tens of thousands of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache, partial

from agentcli.core.codec.encode import dumps
from agentcli.core.text.secrets import POSSIBLE, POSSIBLE_IN_JSON, is_plain, redact

_SHORT, _REMEMBERED = 100, 10_000
"""Characters of a text that is remembered with its outcome, since names and paths come again and again; the number of those texts."""
_LONG, _SUSPECTS = 20_000, 100
"""The same for texts that may hold a secret, since the same files are read again and again."""


class Redactor:
    """A filter that takes secrets out of texts, the `known` ones among them, and counts the texts that it `changed`."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = tuple(known)
        self._known_in_json = tuple(dumps(secret)[1:-1] for secret in self._known)
        self._remembered = lru_cache(_REMEMBERED)(self._redacted)
        self._suspects = lru_cache(_SUSPECTS)(partial(redact, known=self._known))
        self.changed = 0

    def __call__(self, text: str) -> str:
        clean = self._redacted(text) if len(text) > _SHORT else self._remembered(text)
        self.changed += clean != text
        return clean

    def passes(self, written: str) -> bool:
        """True if no text in a piece of JSON is changed. Other characters in it than must be escaped stand for themselves."""
        if search(POSSIBLE_IN_JSON, True)(written) or not is_plain(written):
            return False
        return not any(secret in written for secret in self._known_in_json)

    def notes(self) -> list[str]:
        """A line for people about what was taken out, if anything was."""
        if not self.changed:
            return []
        return [f"Secrets were taken out of {self.changed:,} texts; --keep-secrets leaves them in."]

    def _redacted(self, text: str) -> str:
        if search(POSSIBLE, True)(text) or not is_plain(text) or any(secret in text for secret in self._known):
            return self._suspects(text) if len(text) <= _LONG else redact(text, self._known)
        return text


@cache
def search(pattern: str, otherwise: bool) -> Callable[[str], bool]:
    """A search that is some fifty times as quick as `redact`: the regular expressions of pydantic take linear time.

    Without them the answer is always `otherwise`.
    """
    try:
        from pydantic_core import SchemaValidator, core_schema
    except ImportError:
        return lambda text: otherwise
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")).isinstance_python
