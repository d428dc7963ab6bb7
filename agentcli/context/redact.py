"""Takes secrets out of any text that outlives its moment: summaries, ledgers, exports."""

from __future__ import annotations

import re

SECRET = "[redacted secret]"
EMAIL = "[redacted e-mail]"
CARD = "[redacted card number]"


def redact(text: str) -> str:
    """The text with keys, tokens, passwords, e-mail addresses and card numbers replaced by placeholders.

    Redacting twice changes nothing more. Names of variables stay, so that the reader knows what was there.
    """
    text = _PRIVATE_KEY.sub(SECRET, text)
    text = _URL_PASSWORD.sub(rf"\1{SECRET}@", text)
    for pattern in _TOKENS:
        text = pattern.sub(SECRET, text)
    text = _ASSIGNED.sub(_hide_value, text)
    text = _BEARER.sub(rf"\1{SECRET}", text)
    text = _MAIL.sub(EMAIL, text)
    return _DIGITS.sub(_hide_card, text)


def luhn(digits: str) -> bool:
    """Whether a row of digits passes the check that payment cards use (ISO/IEC 7812-1)."""
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(value - 9 * (value > 9) for value in doubled) % 10 == 0


_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_URL_PASSWORD = re.compile(r"(\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]*:)(?!\[redacted)[^\s/@]+@", re.IGNORECASE)
_TOKENS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\bsk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic and kin
        r"\b[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}",  # Stripe
        r"\bAIza[0-9A-Za-z_-]{30,}",  # Google
        r"\bya29\.[0-9A-Za-z_-]{20,}",
        r"\b(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}\b",  # Amazon
        r"\bgh[opsur]_[A-Za-z0-9]{30,}",  # GitHub
        r"\bgithub_pat_[A-Za-z0-9_]{30,}",
        r"\bglpat-[A-Za-z0-9_-]{18,}",  # GitLab
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",  # Slack
        r"\bhooks\.slack\.com/services/[A-Za-z0-9/]{20,}",
        r"\bnpm_[A-Za-z0-9]{30,}",
        r"\bpypi-[A-Za-z0-9_-]{30,}",
        r"\bhf_[A-Za-z0-9]{30,}",
        r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",  # SendGrid
        r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # JSON web token
    )
)
_ASSIGNED = re.compile(
    r"""(?P<name>["']?[\w.-]{0,40}(?:password|passwd|passphrase|secret|api[_-]?key|apikey|access[_-]?key|private[_-]?key|
        auth[_-]?token|access[_-]?token|refresh[_-]?token|[_-]token|[_-]pass|[_-]pwd|credentials?)(?![a-z])[\w-]*["']?
        \s*(?:=|:(?!:))\s*)
        (?P<quote>["']?)(?P<value>(?!\[redacted)[^\s"',;`<>()\[\]{}$]{4,})(?P=quote)""",
    re.IGNORECASE | re.VERBOSE,
)
_BEARER = re.compile(r"(\b(?:Bearer|Basic)\s+)(?=[^\s]*[0-9=])[A-Za-z0-9._~+/=-]{12,}")
_MAIL = re.compile(
    r"\b(?!git@)[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b"
)
_DIGITS = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-]|\.\d)")
# A type or a call after the name is code about secrets, not a secret.
_HARMLESS = re.compile(
    r"(?:str|string|int|bool|bytes|none|null|undefined|true|false|self|this|os|process|config|settings|env)\b",
    re.IGNORECASE,
)


def _hide_value(found: re.Match[str]) -> str:
    if _HARMLESS.match(found["value"]) and not found["quote"]:
        return found[0]
    return f"{found['name']}{found['quote']}{SECRET}{found['quote']}"


def _hide_card(found: re.Match[str]) -> str:
    digits = re.sub(r"\D", "", found[0])
    # Longer rows of one digit pass the check too, and are never cards.
    return CARD if luhn(digits) and len(set(digits)) > 1 else found[0]
