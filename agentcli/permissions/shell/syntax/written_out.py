"""Shell text with its constants written out: the values of variables that it sets first, and input from quoted texts.

The result is only judged; the line itself runs unchanged.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container
from typing import TYPE_CHECKING

from agentcli.permissions.shell.programs.administration import listed_first
from agentcli.permissions.shell.programs.forge import files_told
from agentcli.permissions.shell.programs.readers import fits_reading
from agentcli.permissions.shell.syntax.parse import below, parse_word, source_of, syntax_tree
from agentcli.permissions.shell.syntax.strict import without_here_texts

if TYPE_CHECKING:
    from tree_sitter import Node

_ASSIGNMENT = re.compile(
    r"""[ \t\n]*(?:set[ ]-[euo]+(?:[ ]pipefail)?
    |(?P<name>[A-Za-z_]\w*)=(?P<quote>["']?)(?:(?P<value>[\w./+@%,${}-]+(?:[ ]+[\w./+@%,${}-]+)*)
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
_CD_FIRST = re.compile(
    r"""[ \t\n]*cd[ \t]+(?:(?P<top>/[\w./+@%,-]*)|[\w.+@%,][\w./+@%,-]*|(?P<q>["'])(?:(?P<quoted>/[\w./+@%, -]*)|[\w.+@%,][\w./+@%, -]*)(?P=q))
    [ \t]*(?:;(?!;)|\n|(?P<only>&&))""",
    re.VERBOSE,
)
"""A `cd` to a plain path; `top` and `quoted` are absolute ones."""
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
    start = _after_cd(text) if "=" in text else 0
    if "=" in text and (found := _constants(text[start:])) is not None:
        index, named, filled = start + found[0], found[1], found[2]
        made = "$(" in text[start:index]
        if tmp or not made:
            kept = made or any(name in exported or re.search(rf"\$\{{?{name}\b", filled) for name in named)
            text = (text[:index] if kept else text[:start]) + filled
    plain, fed = without_here_texts(text) if "<<" in text else (text, ())
    return plain if all(map(_takes_text, fed)) else text


def _after_cd(text: str) -> int:
    """Return where a line continues after a first `cd`, even if that fails; 0 if there is none."""
    found = _CD_FIRST.match(text)
    if found is None:
        return 0
    top = found["top"] or found["quoted"]
    works = not found["only"] or (top is not None and os.access(f"{top}/.", os.X_OK))
    return found.end() if works else 0


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
    found = _constants(text)
    return None if found is None else found[:2]


def _constants(text: str) -> tuple[int, dict[str, str], str] | None:
    """Return the same, and the rest of the line with the values."""
    index, values = _first_values(text)
    filled = _filled(text[index:], values) if values else None
    return None if filled is None else (index, values, filled)


def _first_values(text: str) -> tuple[int, dict[str, str]]:
    """Return where a line's first assignments end, and the values of their variables, as far as they are certain."""
    values: dict[str, str] = {}
    index = 0
    while found := _ASSIGNMENT.match(text, index):
        if name := found["name"]:
            value = found["value"] or f"{_MADE}-{name}"
            if found["quote"] != "'":
                value = _VARIABLE_USED.sub(lambda used: values.get(used[1] or used[2], "$"), value)
            command = not found["quote"] and " " in (found["value"] or "")
            if command or name in values or CHANGING.fullmatch(name) or not _READ_ALIKE.fullmatch(value):
                break
            values[name] = value
        index = found.end()
    return index, values


_VARIABLE_USED = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_READ_ALIKE = re.compile(r"[\w./+@%, -]+")
"""Values that mean the same with and without double quotes, but for blanks."""


def _filled(rest: str, values: dict[str, str]) -> str | None:
    """Return a line with its variables' values where the shell puts them.

    Return None if a variable may change, or its value be split.
    """
    data = rest.encode("utf-8", "surrogatepass")
    root = syntax_tree(rest)
    if root.has_error or any(map(_sets_unknown, below(root))) or any(_may_set(name, rest, root) for name in values):
        return None
    pieces: list[bytes] = []
    end = 0
    for node in below(root):
        name = source_of(node)
        if node.type != "variable_name" or name not in values:
            continue
        use = node.parent
        if use is None or use.parent is None or (use.text or b"") not in (f"${name}".encode(), f"${{{name}}}".encode()):
            return None
        if " " in values[name] and use.parent.type not in ("string", "heredoc_body"):
            return None
        pieces += [data[end : use.start_byte], values[name].encode()]
        end = use.end_byte
    return b"".join([*pieces, data[end:]]).decode("utf-8", "surrogatepass")


def _may_set(name: str, rest: str, root: Node) -> bool:
    """Return True if a command may give a variable another value: its name is a word, or begins one.

    Quoted texts do not count unless the shell may run them, or they begin with the name.
    """
    shown = rest if _RUNS_TEXTS.search(rest) else _without_texts(rest, root, name)
    return re.search(rf"(?<![\w$./-])(?<!\$\{{)(?:-\w*[avp])?{name}(?![\w./-])", shown) is not None


_RUNS_TEXTS = re.compile(
    r"\b(?:eval|source|trap|alias|let|coproc|exec|builtin|command|enable|shopt|mapfile|readarray|fc|bind)\b|(?:^|[\s;&|(])\.\s"
    r"|\(\(|\$\[|\[\[|-v\b|\$\{\w+(?:\[|:[^-=+?])|(?:^|[;&|({!\n])\s*\S*[$`]"
)
"""Words and signs with which a shell runs or computes a text, and commands with an unknown name."""


def _without_texts(rest: str, root: Node, name: str) -> str:
    """Return a line in which `_` replaces the quoted texts that do not begin with a name."""
    data = bytearray(rest.encode("utf-8", "surrogatepass"))
    begins = re.compile(rf"['\"]?{name}(?!\w)".encode())
    for node in below(root):
        text = node.text or b""
        quoted = node.type in ("raw_string", "string_content", "heredoc_content", "comment")
        if (quoted or (node.type == "heredoc_body" and not node.children)) and not begins.match(text):
            data[node.start_byte : node.end_byte] = b"_" * len(text)
    return data.decode("utf-8", "surrogatepass")


def _sets_unknown(node: Node) -> bool:
    """Return True if a builtin sets a variable whose name only the shell knows."""
    if node.type not in ("command", "declaration_command", "unset_command"):
        return False
    words = [child for child in node.named_children if child.type not in ("variable_assignment", "variable_name")]
    named = source_of(words[0]) if node.type == "command" and words else ""
    if node.type == "command" and not (named in _SETTING or (named == "printf" and b" -v" in (node.text or b""))):
        return False
    return any(not parse_word(word).known for word in words if not word.type.endswith("redirect"))


_SETTING = frozenset({"read", "getopts", "unset", "wait"})
