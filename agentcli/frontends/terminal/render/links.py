"""Terminal links (OSC 8): safe targets, honest texts, terminal support."""

from __future__ import annotations

import re
from collections.abc import Mapping

LONGEST = 2_000
"""Characters of a URL; terminals take about so much."""

BARE = re.compile(r"https?://[^\s<>\"'`|\\^{}\x00-\x1f]+")
"""A URL in running text."""
_TARGET = re.compile(r"(?:https?://[^/\s]|file:///)[!-~]*")
_HOST = re.compile(r"(?:https?://)?(?:www\.)?([a-z0-9-]+(?:\.[a-z0-9-]+)+)", re.IGNORECASE)
_TRAILING = ".,;:!?*_~'\""
_PROGRAMS = frozenset({"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio", "zed", "WarpTerminal"})
_TERMINALS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour", "rio")
_VTE = 5000
"""The first version of VTE (GNOME Terminal and others) that shows links."""


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


def known(setting: str, environment: Mapping[str, str]) -> bool:
    """Return whether to write links: `always`, `never`, or `auto` for terminals known to support them; never with
    NO_COLOR.

    Other terminals would show only the text, without its target. Inside tmux or screen the outer terminal is unknown.
    """
    if environment.get("NO_COLOR"):
        return False
    if setting != "auto":
        return setting == "always"
    if environment.get("TMUX") or environment.get("STY"):
        return False
    term, version = environment.get("TERM", ""), environment.get("VTE_VERSION", "")
    return (
        environment.get("TERM_PROGRAM", "") in _PROGRAMS
        or term.startswith(_TERMINALS)
        or (version.isdigit() and int(version) >= _VTE)
        or any(environment.get(name) for name in ("WT_SESSION", "KONSOLE_VERSION", "KITTY_WINDOW_ID"))
    )


def _unopened(url: str) -> bool:
    """Return whether the URL ends in an unmatched bracket."""
    return (url.endswith(")") and url.count(")") > url.count("(")) or (
        url.endswith("]") and url.count("]") > url.count("[")
    )
