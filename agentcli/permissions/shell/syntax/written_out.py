"""Shell text with its constants written out: the values of variables that it sets first, and input from quoted texts.

The result is only judged; the line itself runs unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Container

from agentcli.permissions.shell.programs.administration import listed_first
from agentcli.permissions.shell.programs.forge import files_told
from agentcli.permissions.shell.programs.readers import fits_reading
from agentcli.permissions.shell.syntax.strict import without_here_texts

_ASSIGNMENT = re.compile(
    r"""[ \t\n]*(?:set[ ]-[euo]+(?:[ ]pipefail)?
    |(?P<name>[A-Za-z_]\w*)=(?P<quote>["']?)(?:(?P<value>[\w./+@%,$-]+)
    |(?P<made>\$\(mktemp(?:[ ]-[dq])*(?:[ ]--suffix=[\w.-]+)?(?:[ ]-t(?:[ ][\w.-]+)?)?(?P<mark>[ ]"?)?(?(mark)/tmp/[\w.-]*X{3,}[\w.-]*"?)\)))(?P=quote))[ \t]*(?:;(?!;)|&&|\n)""",
    re.VERBOSE,
)
_MADE = "/tmp/agentcli-made"
"""Placeholder for what `mktemp` makes: the sandbox keeps it in its /tmp."""
FINDING = re.compile(r"PATH|IFS|ENV|ZDOTDIR|FPATH|CDPATH|GLOBIGNORE|PS\d|PROMPT_COMMAND|BASH.*|SHELL.*|LD_.*|DYLD_.*")
"""Variables with which the shell or the loader finds programs, scripts and libraries."""
CHANGING = re.compile(rf"HOME|PWD|TMPDIR|{FINDING.pattern}")
"""Variables that change more than the words in which they are used."""


_QUIET = r"(?:(?:GH_PAGER|GIT_PAGER|PAGER|NO_COLOR|GH_NO_UPDATE_NOTIFIER)=(?:cat|1)?|GIT_TERMINAL_PROMPT=0)"
_QUIETLY = re.compile(rf"\A(?:\s*export {_QUIET}[ \t]*(?:;|&&|\n))+")
_QUIET_ONCE = re.compile(rf"\A\s*(?:env +)?(?:{_QUIET} +)+(?=[a-z])")
"""First settings of a line that only keep programs from paging, colours and prompts, as every command's environment does."""
_HOME_FIRST = re.compile(r"(\A[ \t]*cd[ \t]+)~(?=[/ \t;&\n])")
_VARIABLE = r"(?P<home>(?:\$HOME|\$\{HOME\})(?=/))"
_OUTSIDE = re.compile(rf"""\\.|'[^']*'|{_VARIABLE}|(?P<start>(?<![^\s;&|(])~(?=/|\s|\Z))|(?P<quote>")|.""", re.S)
_QUOTED = re.compile(rf"""\\.|{_VARIABLE}|(?P<start>(?!))|(?P<quote>")|.""", re.S)
"""Pieces of a line outside and inside of double quotes; `home` and `start` are the home folder."""


def written_out(text: str, exported: Container[str], home: str, tmp: bool) -> str:
    """Return a line as it is judged.

    `exported` are the variables that reach programs. `tmp` is true if /tmp is private.
    """
    text = listed_first(_QUIET_ONCE.sub("", _QUIETLY.sub("", text)))
    if "~" in text and re.fullmatch(r"/[\w./-]+", home):
        text = _HOME_FIRST.sub(lambda found: f"{found[1]}{home}", text)
    if "=" in text and (values := constants(text)) is not None and (tmp or "$(" not in text[: values[0]]):
        index, named = values
        filled = _filled(text[index:], named)
        kept = "$(" in text[:index] or any(name in exported for name in named)
        text = text[:index] + filled if kept else filled
    plain, fed = without_here_texts(text) if "<<" in text else (text, ())
    return plain if all(map(_takes_text, fed)) else text


def with_home(text: str, home: str) -> str:
    """Return a line with the home folder's path where the shell would write it; unchanged if in doubt."""
    if "<<" in text or not re.fullmatch(r"/[\w./-]+", home) or re.search(r"\bHOME\b(?<!\$HOME)(?<!\$\{HOME)", text):
        return text
    pieces: list[str] = []
    quoted, index = False, 0
    while index < len(text) and (found := (_QUOTED if quoted else _OUTSIDE).match(text, index)):
        pieces.append(home if found["home"] or found["start"] else found[0])
        quoted ^= found["quote"] is not None
        index = found.end()
    return text if quoted or "#" in text else "".join(pieces)


def _takes_text(words: tuple[str, ...]) -> bool:
    """Return True if a command treats its input as text: it reads it, git records it, or gh publishes it."""
    message = words[:2] in (("git", "commit"), ("git", "tag")) and not {"-F", "--file=-"}.isdisjoint(words)
    message = message or files_told(words) == ("-",)
    return message or fits_reading(words[0], list(words))


def constants(text: str) -> tuple[int, dict[str, str]] | None:
    """Return where a line's first assignments end, and the values of their variables; None if one may change later."""
    values: dict[str, str] = {}
    index = 0
    while found := _ASSIGNMENT.match(text, index):
        value = _filled(found["value"] or f"{_MADE}-{found['name']}", values) if found["name"] else ""
        if "$" in value or (found["name"] or "") in values:
            return None
        index = found.end()
        if found["name"]:
            values[found["name"]] = value
    rest = text[index:]
    if not values or any(CHANGING.fullmatch(name) or _uncertain(name, rest) for name in values):
        return None
    return index, values


def _uncertain(name: str, rest: str) -> bool:
    """Return True if a name may get another value later, or is quoted for another program."""
    again = re.search(rf"(?<![\w$./-]){name}(?:\+?=|\[|\s|;|\Z)|\$\{{{name}[^}}]", rest)
    return bool(again) or re.search(rf"'[^']*\$\{{?{name}\b[^']*'", rest) is not None


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = re.sub(rf"\$\{{{name}\}}|\${name}(?!\w)", value.replace("\\", r"\\"), text)
    return text
