"""Secrets in logs, exports and error messages, replaced by a word that says what stood there."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping

MASK = "[masked]"
_SHORTEST = 8
"""Characters below which a value from the environment is too common a word to be looked for."""

_NAMES = r"[A-Za-z0-9_.-]*(?:api[_-]?key|apikey|access[_-]?key|secret|token|passw(?:or)?d|passwd|credential|private[_-]?key)[A-Za-z0-9_-]*"
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_WHOLE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"
    r"|\bsk-[A-Za-z0-9_-]{16,}"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}"
    r"|\b(?:npm|hf|pypi|dop_v1|shpat|rk_live|sk_live|whsec)[_-][A-Za-z0-9_-]{16,}"
    r"|\bya29\.[A-Za-z0-9_-]{16,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    re.DOTALL,
)
_AFTER = re.compile(
    rf"(?P<before>\b(?:authorization|proxy-authorization|x-api-key|x-goog-api-key|cookie|set-cookie)[\"']?\s*[:=]\s*[\"']?(?:bearer\s+|basic\s+)?"
    rf"|\bbearer\s+"
    rf"|\b{_NAMES}[\"']?\s*[:=]\s*[\"']?"
    rf"|[?&](?:key|sig|signature|code)=)(?P<value>[^\s\"'&,;}}\])]{{4,}})",
    re.IGNORECASE,
)
_IN_URL = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://[^\s/:@]*:)(?P<value>[^\s/@]+)(?=@)", re.IGNORECASE)


def mask(text: str, known: Iterable[str] = ()) -> str:
    """The text without anything that looks like a secret, and without the `known` ones. Masking twice changes nothing more."""
    for secret in sorted(set(known), key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, MASK)
    text = _WHOLE.sub(MASK, text)
    text = _IN_URL.sub(rf"\g<before>{MASK}", text)
    return _AFTER.sub(rf"\g<before>{MASK}", text)


def known_secrets(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables whose names say that they are secret."""
    return tuple(value for name, value in environment.items() if _SECRET_NAME.search(name) and len(value) >= _SHORTEST)


class Masking(logging.Filter):
    """Masks every message that passes a handler, its traceback too."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        super().__init__()
        self._known = tuple(known)

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the message by its masked form and let it pass."""
        record.msg, record.args = mask(record.getMessage(), self._known), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = mask(record.exc_text, self._known)
        return True
