"""Which addresses may be links that a terminal follows, and whether it knows such links (OSC 8)."""

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
    """The URL where a terminal may be given it: printable ASCII, web or file; else nothing."""
    return url if len(url) <= LONGEST and _TARGET.fullmatch(url) else ""


def honest(text: str, url: str) -> bool:
    """Whether the text of a link does not name another place than where the link leads."""
    said, leads = _HOST.match(text.strip()), _HOST.match(url)
    return said is None or (leads is not None and said[1].lower() == leads[1].lower())


def trimmed(url: str) -> str:
    """A URL that was found in running text without the marks that belong to the sentence."""
    url = url.rstrip(_TRAILING)
    while _unopened(url):
        url = url[:-1].rstrip(_TRAILING)
    return url


def known(setting: str, environment: Mapping[str, str]) -> bool:
    """Whether to write links: `always`, `never`, or `auto`, where the terminal is known to show them; never with NO_COLOR.

    Others would show the text alone, and nobody could tell where it leads. Inside tmux or screen it is not known what is outside.
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
    """Whether it ends in a bracket that it does not open."""
    return (url.endswith(")") and url.count(")") > url.count("(")) or (
        url.endswith("]") and url.count("]") > url.count("[")
    )
