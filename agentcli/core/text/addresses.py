"""Web addresses in texts: where they begin and end, and which of them a reader may follow."""

from __future__ import annotations

import re

LONGEST = 2_000
"""Characters of a URL; terminals take about so much."""

BARE = re.compile(r"https?://[^\s<>\"'`|\\^{}\x00-\x1f]+")
"""A URL in running text."""
_TARGET = re.compile(r"(?:https?://[^/\s]|file:///)[!-~]*")
_HOST = re.compile(r"(?:https?://)?(?:www\.)?([a-z0-9-]+(?:\.[a-z0-9-]+)+)", re.IGNORECASE)
_TRAILING = ".,;:!?*_~'\""


def target(url: str) -> str:
    """Return the URL if it is safe as a link target: printable ASCII, web or file; else empty."""
    return url if len(url) <= LONGEST and _TARGET.fullmatch(url) else ""


def honest(text: str, url: str) -> bool:
    """Return True if the link's text contains no host, or the same host as its target."""
    named, leads = _HOST.match(text.strip()), _HOST.match(url)
    return named is None or (leads is not None and named[1].lower() == leads[1].lower())


def trimmed(url: str) -> str:
    """Return a URL from running text without trailing punctuation."""
    url = url.rstrip(_TRAILING)
    while _unopened(url):
        url = url[:-1].rstrip(_TRAILING)
    return url


def _unopened(url: str) -> bool:
    """Return whether the URL ends in an unmatched bracket."""
    return (url.endswith(")") and url.count(")") > url.count("(")) or (
        url.endswith("]") and url.count("]") > url.count("[")
    )
