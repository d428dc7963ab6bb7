"""Values that a word of the shell may have.

Braces are expanded and variables filled in. `UNKNOWN` stands for text that only the shell will know.
"""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from agentcli.permissions.shell.syntax.parse import UNKNOWN, Piece, parse_word, source_of

if TYPE_CHECKING:
    from tree_sitter import Node

Values = tuple[str, ...]
MOST = 64
"""Maximum values of a word, or lines of a command, to distinguish; beyond it they are unknown."""
UNSET = ""
"""Placeholder name: the values of all unset variables, as far as known."""
_OF_THE_SHELL = re.compile(
    r"BASH\w*|COMP_\w+|COPROC|DIRSTACK|EPOCH\w+|EUID|UID|FUNCNAME|GROUPS|HOSTNAME|HOSTTYPE|HISTCMD|IFS|LINENO|MACHTYPE|MAPFILE|OPT\w+|OSTYPE"
    r"|PIPESTATUS|PPID|PS4|RANDOM|READLINE_\w+|REPLY|SECONDS|SHELLOPTS|SHLVL|SRANDOM|TERM|COLUMNS|LINES|PATH"
)
"""Variables that the shell sets itself."""
_LONGEST = 1_000
"""Maximum characters of a value to remove a part from; beyond it the result is unknown."""
NUMBER = "4711"
"""Placeholder for a number that the shell or a program computes."""
NUMBERED = f"{UNKNOWN}:{NUMBER}"
"""Placeholder for lines of any text that begin with a number and a colon."""
BELOW = "\ue001"
"""Placeholder for the name of something in a folder that a command lists: of any length, but never `..`."""


def merged(values: Iterable[str]) -> Values:
    """Return the values without duplicates; if there are too many, only `UNKNOWN`."""
    found = tuple(dict.fromkeys(values))
    return found if len(found) <= MOST else (UNKNOWN,)


def word_values(node: Node, variables: Mapping[str, Values], output: Callable[[Node], Values | None]) -> Values:
    """Return the values that a word may have. `output` returns the names that the commands of `$(…)` print."""
    raw = source_of(node)
    match node.type:
        case "string" | "translated_string":
            parts = [child for child in node.children if child.type not in ('"', "$")]
            return _joined(_spaced(node, parts, variables, output))
        case "concatenation" | "command_name":
            joined = _joined([_shielded(child, word_values(child, variables, output)) for child in node.children])
            return tuple(value.translate(_SHOWN) for value in spread(joined))
        case "simple_expansion":
            return _variable(raw.lstrip("$"), variables)
        case "expansion":
            return _expansion(raw[2:-1], variables)
        case "command_substitution":
            found = output(node)
            return (UNKNOWN,) if found is None else found or ("",)
        case "arithmetic_expansion":
            return (NUMBER,)
        case "brace_expression":
            return (UNKNOWN,)
        case "process_substitution":
            return ("/dev/fd/9",)
        case "array":
            values = (value for child in node.named_children for value in word_values(child, variables, output))
            return merged(_SUBSCRIPT.sub("", value) for value in values)
        case _:
            piece: Piece = parse_word(node)
            return spread((piece.text,)) if piece.loose else (piece.text,)


_SUBSCRIPT = re.compile(r"\A\[[^]]*\]\+?=")
QUOTED = frozenset(("string", "raw_string", "ansi_c_string", "translated_string"))
_REPLACED = frozenset(("simple_expansion", "expansion", "command_substitution"))
EXPANDED = _REPLACED | {"arithmetic_expansion"}
"""Nodes instead of which the shell puts a value."""
_HIDDEN = str.maketrans("{},", "\udb00\udb01\udb02")
_SHOWN = str.maketrans("\udb00\udb01\udb02", "{},")
"""Placeholders for signs that expand nothing. No text contains them, because they are half characters."""


def _shielded(piece: Node, values: Values) -> Values:
    """Return the values of a piece of a word, with placeholders if the shell expands no braces in it."""
    return tuple(value.translate(_HIDDEN) for value in values) if piece.type in QUOTED | _REPLACED else values


def _spaced(
    node: Node, parts: Sequence[Node], variables: Mapping[str, Values], output: Callable[[Node], Values | None]
) -> list[Values]:
    """Return the values of a quoted string's parts, with the blanks between them that the grammar omits."""
    pieces: list[Values] = []
    source, end = node.text or b"", node.start_byte + 1
    for part in parts:
        gap = source[end - node.start_byte : part.start_byte - node.start_byte].decode("utf-8", "replace")
        pieces += [(gap,)] if gap else []
        pieces.append(word_values(part, variables, output))
        end = part.end_byte
    return pieces


def _joined(parts: Sequence[Values]) -> Values:
    texts = ("".join(choice) for choice in itertools.product(*parts))
    return merged(itertools.islice(texts, MOST + 1))


def _variable(name: str, variables: Mapping[str, Values]) -> Values:
    if name in ("?", "$", "!", "#", "-"):
        return (NUMBER,)
    if name.isdecimal() or name in ("@", "*", "_"):
        return variables.get(name, (UNKNOWN,))
    unset = (UNKNOWN,) if _OF_THE_SHELL.fullmatch(name) else variables.get(UNSET, (UNKNOWN,))
    return variables.get(name, unset)


_EXPANSION = re.compile(r"(!?)(#?)(\w+|[@*])(?:\[[^\]]*\])?(?:(:?[-=?+]|%%?|##?|/|\^|,|:|@)(.*))?", re.DOTALL)


def _expansion(text: str, variables: Mapping[str, Values]) -> Values:
    """Return the values of `${…}`."""
    match = _EXPANSION.fullmatch(text)
    if match is None or match[1]:
        return (UNKNOWN,)
    if match[2]:
        return (NUMBER,)
    values, sign, word = _variable(match[3], variables), match[4] or "", match[5] or ""
    plain = re.sub(r"\$\{?(\w+)\}?", lambda found: _variable(found[1], variables)[0], word.strip("'\""))
    match sign:
        case "":
            return values
        case ":-" | "-" | ":=" | "=":
            return merged(value or plain for value in values)
        case ":+" | "+":
            return merged(("", plain))
        case ":?" | "?":
            return tuple(filter(None, values)) or ("",)
        case "%" | "%%" | "#" | "##":
            return merged(_trimmed(value, sign, plain) for value in values)
        case _:
            return (UNKNOWN,)


def _trimmed(value: str, sign: str, pattern: str) -> str:
    if len(value) > _LONGEST:
        return UNKNOWN
    if UNKNOWN in value or BELOW in value:
        # Removing part of one name leaves a name in the same folder.
        inner = "/" not in pattern and "%" in sign
        return value if inner else UNKNOWN
    ends = range(len(value) + 1)
    cuts = [index for index in ends if fnmatch.fnmatchcase(value[index:] if "%" in sign else value[:index], pattern)]
    if not cuts:
        return value
    longest = len(sign) == 2
    if "%" in sign:
        return value[: min(cuts) if longest else max(cuts)]
    return value[max(cuts) if longest else min(cuts) :]


_RANGE = re.compile(r"[^{}.,]+\.\.[^{},]+")


def spread(values: Values) -> Values:
    """Expand braces: `a/{b,c}` gives `a/b` and `a/c`."""
    waiting, done = list(reversed(values)), list[str]()
    while waiting and len(done) <= MOST:
        text = waiting.pop()
        braced = _braced(text)
        if braced is None:
            done.append(text)
            continue
        start, choices, end = braced
        waiting += [text[:start] + choice + text[end:] for choice in reversed(choices)]
    return merged([*done, *waiting])


def _braced(text: str) -> tuple[int, list[str], int] | None:
    """Return the first braces of a word that the shell expands: where they begin, their choices, and where they end."""
    for opening in re.finditer(r"\{", text):
        depth, begin, choices = 0, opening.end(), list[str]()
        for place in range(opening.start(), len(text)):
            sign = text[place]
            depth += {"{": 1, "}": -1}.get(sign, 0)
            if (depth == 1 and sign == ",") or not depth:
                choices.append(text[begin:place])
                begin = place + 1
            if not depth:
                if len(choices) > 1 or _RANGE.fullmatch(choices[0]):
                    return opening.start(), choices if len(choices) > 1 else [BELOW], place + 1
                break
    return None
