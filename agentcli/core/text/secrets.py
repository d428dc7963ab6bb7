"""Secrets: the variables that contain them, and their removal from any text that is stored or sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

SECRET = "[redacted secret]"
EMAIL = "[redacted e-mail]"
CARD = "[redacted card number]"
_SHORTEST = 8
"""Minimum characters of a variable's value: shorter values are often ordinary words."""


def holds_secret(name: str, value: str) -> bool:
    """Return True if a variable must be hidden from commands, because of its name or value."""
    if re.search(_NAME, re.sub(_CAMEL, "_", name)):
        return True
    if _holds_any(value, _TOKEN_HINTS) and re.search(_TOKEN, value):
        return True
    return "://" in value and "@" in value and bool(re.search(_URL_PASSWORD, value))


TEMPLATES = (".example", ".sample", ".template", ".dist")
"""Endings of templates of `.env` files, which contain no secrets and are shared: `.env.example`."""


def is_secret_file(path: str) -> bool:
    """Return True if a path is a file that is protected from reading, in any case.

    These are `.env` and names that begin with it, except templates.
    """
    folded = path.casefold()
    return ".env" in folded and any(
        part.startswith(".env") and not part.endswith(TEMPLATES) for part in folded.split("/")
    )


def known_secrets(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables that contain secrets."""
    return tuple(value for name, value in environment.items() if len(value) >= _SHORTEST and holds_secret(name, value))


def mask(text: str, known: Iterable[str] = ()) -> str:
    """Return the text without keys, tokens and passwords, and without the `known` ones. Masking twice changes nothing more."""
    text = _without_known(text, known)
    # Most texts contain no secret: try a pattern only if the text contains the common part of all its matches.
    if _PRIVATE_KEY_HINT in text:
        text = re.sub(_PRIVATE_KEY, SECRET, text)
    if "://" in text and "@" in text:
        text = re.sub(_URL_PASSWORD, rf"\1{SECRET}@", text)
    if _holds_any(text, _TOKEN_HINTS):
        text = re.sub(_TOKEN, SECRET, text)
    text = _without_assigned(text)
    if _holds_sent(_folded(text)):
        text = re.sub(_SENT, rf"\1{SECRET}", text)
    return text


def may_show_git_settings(text: str) -> bool:
    """Return True if a text may contain an address or a header with which git logs in."""
    return "@" in text or _holds_any(text, ("asic ", "earer ", "UTHORIZATION", "uthorization"))


def without_git_credentials(text: str, settings: str) -> str:
    """Return a text without the credentials that git's settings contain: of addresses, headers and passwords."""
    found = {value for match in re.finditer(_GIT_CREDENTIAL, settings) for value in match.groups() if value}
    for value in found:
        text = text.replace(f":{value}@", f":{SECRET}@")  # a short one may be a word elsewhere
    return _without_known(text, found)


def _without_known(text: str, known: Iterable[str]) -> str:
    for secret in sorted(set(known), key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, SECRET)
    return text


def redact(text: str, known: Iterable[str] = ()) -> str:
    """Return the text like `mask`, also without e-mail addresses and card numbers.

    It is for text that leaves the machine or is archived. Redacting twice changes nothing more. Names of variables
    stay, so readers know which value is missing.
    """
    text = mask(text, known)
    if "@" in text and _holds_address(text):
        text = re.sub(_MAIL, EMAIL, text)
    return re.sub(_DIGITS, _hide_card, text) if re.search(_DIGITS_HINT, text) else text


def _without_assigned(text: str) -> str:
    """Return the text without values assigned to names of secrets.

    Equal to substituting `_ASSIGNED` everywhere, but tries it only at keywords before `=` or `:`; no match begins
    elsewhere.
    """
    pieces: list[str] = []
    done = 0
    for hint in re.finditer(_ASSIGNED_HINT, _folded(text)):
        for keyword in re.compile(_KEYWORD).finditer(text, max(done, hint.start() - _BEGINNING), hint.end()):
            found = re.compile(_ASSIGNED).match(text, keyword.start())
            if found:
                pieces += (text[done : found.start()], _hide_value(found))
                done = found.end()
                break
    return "".join((*pieces, text[done:])) if pieces else text


def _holds_any(text: str, hints: Iterable[str]) -> bool:
    for hint in hints:  # noqa: SIM110 - a generator costs as much as the search itself
        if hint in text:
            return True
    return False


def _holds_sent(folded: str) -> bool:
    """Return True if the text contains the beginning of a header or URL parameter that may carry a secret."""
    for word in _SENT_WORDS:
        place = folded.find(word)
        while place >= 0:
            if re.compile(_SENT_HINT).match(folded, place):
                return True
            place = folded.find(word, place + 1)
    return False


def _holds_address(text: str) -> bool:
    """Return True if an `@` in the text may belong to an e-mail address.

    The characters on both sides must be valid there.
    """
    place = text.find("@", 1)
    while 0 < place < len(text) - 1:
        if text[place + 1].isalnum() and not text[place - 1].isspace():
            return True
        place = text.find("@", place + 1)
    return False


def is_plain(text: str) -> bool:
    """Return True if every regex engine finds `POSSIBLE` in a text in which this module finds it."""
    if text.isascii():
        return True
    if "\u0130" in text or "\u0131" in text or re.search(_DIGITS_HINT, text):
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _folded(text: str) -> str:
    """Return the text in lower case, so that a word is in it wherever a pattern that ignores case matches."""
    if text.isascii():
        return text.lower()
    return text.replace("\u0130", "i").replace("\u0131", "i").replace("\u017f", "s").lower()


def luhn(digits: str) -> bool:
    """Return True if a row of digits passes the check that payment cards use (ISO/IEC 7812-1)."""
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(value - 9 * (value > 9) for value in doubled) % 10 == 0


# Whole words, or the last part of one (PGPASSWORD, NPMTOKEN); not SSH_AUTH_SOCK, GIT_AUTHOR_NAME, SSH_ASKPASS, PATH, BYPASS_CACHE,
# TOKENIZERS_PARALLELISM or MY_KEYBOARD.
_NAME = r"""(?ix)(?:KEY|TOKEN|SECRET|(?<!ASK)(?<!BY)(?<!COM)PASS|PASSWORD|PASSWD|PASSPHRASE|PASSCODE|(?<=_)PWD|CREDENTIAL|AUTH(?!_SOCK)|JWT|COOKIE|BEARER
        |DSN|WEBHOOK|AUTHORIZATION|AUTHENTICATION|KEYID|(?<![A-Z0-9])(?:PAT|SK))
        (?:S|ES)?[0-9]*(?![A-Z0-9])"""
_CAMEL = r"(?<=[a-z0-9])(?=[A-Z])"
_PRIVATE_KEY = r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"
_PRIVATE_KEY_HINT = "-----BEGIN"
_URL_PASSWORD = r"(?i)(\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]*:)(?!\[redacted)[^\s/@]+@"
_GIT_CREDENTIAL = (
    r"(?im)://([\w-]{20,}(?=[:@]))?[^\s/:@]*(?::([^\s/@]+))?@"
    r"|^\s*(?:extraheader|password)\s*=(?:.*\s)?\"?([^\s\"]+)\"?\s*$"
)
_TOKEN = "|".join(
    (
        r"\bsk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic and kin
        r"\b[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9]{16,}",  # Stripe
        r"\bAIza[0-9A-Za-z_-]{30,}|\bya29\.[0-9A-Za-z_-]{16,}",  # Google
        r"\b(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}\b",  # Amazon
        r"\bgh[opsur]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}",  # GitHub
        r"\bglpat-[A-Za-z0-9_-]{16,}",  # GitLab
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bhooks\.slack\.com/services/[A-Za-z0-9/]{20,}",  # Slack
        r"\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{30,}|\bhf_[A-Za-z0-9]{30,}",  # registries
        r"\b(?:dop_v1|shpat)_[A-Za-z0-9]{16,}",  # DigitalOcean, Shopify
        r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",  # SendGrid
        r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # JSON web token
    )
)
_TOKEN_HINTS = (
    *("sk-", "k_live_", "k_test_", "whsec_", "AIza", "ya29.", "AKIA", "ASIA", "AROA", "AIDA"),
    *("gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xox", "hooks.slack.com/services/"),
    *("npm_", "pypi-", "hf_", "dop_v1_", "shpat_", "SG.", "eyJ"),
)
"""Every token contains one of them."""
_WORDS_FOR_SECRETS = r"""(?:password|passwd|passphrase|secret|api[_-]?key|apikey|access[_-]?key|private[_-]?key|
        auth[_-]?token|access[_-]?token|refresh[_-]?token|[_-]token|[_-]pass|[_-]pwd|credentials?)"""
_NAMES_OF_SECRETS = rf"{_WORDS_FOR_SECRETS}(?![a-z])"
_KEYWORD = "(?ix)" + _NAMES_OF_SECRETS
_BEGINNING = len("private_")
"""Maximum characters of a keyword before the word that the hint finds."""
_ASSIGNED = rf"""(?ix)(?P<name>{_NAMES_OF_SECRETS}[\w-]*["']?\s*(?:=|:(?!:))\s*)
        (?P<quote>["']?)(?P<value>(?!\[redacted)[^\s"',;`<>()\[\]{{}}$]{{4,}})(?P=quote)"""
_ASSIGNED_HINT = r"(?:pass|secret|key|token|pwd|credential)[\w-]*[\"']?\s*[=:]"
_SENT = r"""(?ix)(\b(?:Bearer|Basic)\s+|\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:Bearer\s+|Basic\s+|token\s+)?
        |\b(?:set-)?cookie["']?\s*:\s*["']?|[?&](?:key|sig|signature|code|token)=|\btoken["']?\s*[:=]\s*["']?)
        (?=[^\s]*[0-9=])[A-Za-z0-9._~+/=-]{12,}"""
"""Secrets in headers and addresses, with the text before them. A word without a digit is not a secret."""
_SENT_WORDS = ("bearer", "basic", "authorization", "cookie", "token", "key=", "sig=", "signature=", "code=")
_SENT_HINT = (
    r"(?:bearer|basic)\s|(?:authorization|cookie|token)[\"']?\s*[:=]|(?<=[?&])(?:key|sig|signature|code|token)="
)
"""A word that a secret may follow."""
_MAIL = r"\b(?!git@)[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b"
_DIGITS = r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-]|\.\d)"
_DIGITS_HINT = r"\d(?:[ -]?\d){12}"


_SPACE, _QUOTE = r"[\s\x1c-\x1f]", r"[\"']"
POSSIBLE = "|".join(
    (
        r"-----BEGIN[A-Z ]*PRIVATE",
        r"://[^\s/:@]*:[^\s/@]+@",
        _TOKEN.replace(r"\b", ""),
        rf"(?ix:{_WORDS_FOR_SECRETS}[\w\u0080-\U0010ffff-]*{_QUOTE}?{_SPACE}*[=:]{_SPACE}*{_QUOTE}?[^\s\"',;`<>()\[\]{{}}$]{{4}})",
        rf"(?i:(?:(?:bearer|basic){_SPACE}|(?:authorization|cookie|token){_QUOTE}?{_SPACE}*[:=]{_SPACE}*{_QUOTE}?)"
        rf"(?:(?:bearer|basic|token){_SPACE})?{_SPACE}*[A-Za-z0-9._~+/=-]{{12}})",
        r"(?i:[?&](?:key|sig|signature|code|token)=[A-Za-z0-9._~+/=-]{12})",
        r"[A-Za-z0-9._%+-]@[A-Za-z0-9][A-Za-z0-9.-]*\.[A-Za-z]{2}",
        r"[0-9](?:[ -]?[0-9]){12}",
    )
)
"""A pattern that occurs in everything that `redact` removes, except known secrets, and also in other text.

It has no lookaround, so engines can search for it in linear time. Beyond ASCII, engines may differ in digits and in
upper and lower case.
"""
# A type or call after the name is code about secrets, not a secret.
_HARMLESS = (
    r"(?i)(?:str|string|int|bool|bytes|none|null|undefined|true|false|self|this|os|process|config|settings|env)\b"
)


def _hide_value(found: re.Match[str]) -> str:
    if re.match(_HARMLESS, found["value"]) and not found["quote"]:
        return found[0]
    return f"{found['name']}{found['quote']}{SECRET}{found['quote']}"


def _hide_card(found: re.Match[str]) -> str:
    digits = re.sub(r"\D", "", found[0])
    # Longer runs of one digit also pass the check, and are never cards.
    return CARD if luhn(digits) and len(set(digits)) > 1 else found[0]
