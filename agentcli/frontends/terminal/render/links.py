"""Terminal links (OSC 8): which terminals show them."""

from __future__ import annotations

from collections.abc import Mapping

_PROGRAMS = frozenset({"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio", "zed", "WarpTerminal"})
_TERMINALS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour", "rio")
_VTE = 5000
"""The first version of VTE (GNOME Terminal and others) that shows links."""


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
