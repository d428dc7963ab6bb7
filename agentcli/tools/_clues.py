"""What a command and its output give away: that it wants a terminal, or that a sandbox held it back.

The patterns are compiled when first used: together they would cost several milliseconds of every start.
"""

from __future__ import annotations

import re

_QUOTED = r"""(?s)'[^']*'|"(?:[^"\\]|\\.)*\""""
_NEEDS_TERMINAL = (
    r"(?:^|[;&|({`\n]\s*)(?:(?:\w+=\S*|sudo|env|time|nohup|command|exec|nice|timeout\s+\S+)\s+)*(?:/(?:[\w.]+/)+)?"
    r"(vim?(?!\s+-[eE]s)|nvim(?!\s+(?:-[eE]s|--headless))|nano|pico|emacs(?!\s+--?batch)|top(?!\s+-\S*b)|"
    r"watch|htop|btop|tmux(?!\s+\w)|screen(?!\s+-(?:ls|d))|mc|ranger|lazygit|tig)(?=[\s;&|)}`]|$)(?!\s+(?:--version|--help|-V))"
)
_WANTED_TERMINAL = (
    r"(?i)not a (?:tty|terminal)|no tty present|inappropriate ioctl|cannot open /dev/tty|/dev/tty: no such device|failed tty get|"
    r"error opening terminal|terminal (?:unknown|is not fully functional)|EOF when reading a line|a terminal is required|"
    r"press \^C at any time to quit|new password:|output is not to a terminal|\[y/n\][)?: ]*$"
)
_HELD_BACK = (
    r"(?i)[^\n]*(?:read-only file system|permission denied|operation not permitted|network is unreachable|could not resolve|"
    r"name resolution|getaddrinfo|connection refused|no route to host|EROFS|EACCES|EPERM|ENETUNREACH|EAI_AGAIN)[^\n]{0,100}"
)
_LOOKED_AT = 4_000
"""Characters at the end of an output in which reasons are looked for."""


def needs_terminal(command: str) -> str:
    """The program in a command that does nothing useful without a terminal, or nothing. Quoted text is not looked at."""
    found = re.search(_NEEDS_TERMINAL, re.sub(_QUOTED, "_", command))
    return found.group(1) if found else ""


def wanted_terminal(output: str) -> bool:
    """Whether a program complains that there is no terminal or no input."""
    return re.search(_WANTED_TERMINAL, output[-_LOOKED_AT:]) is not None


def held_back(output: str) -> str:
    """The line that sounds as if a sandbox stood in the way, or nothing."""
    found = re.search(_HELD_BACK, output[-_LOOKED_AT:])
    return found.group().strip() if found else ""
