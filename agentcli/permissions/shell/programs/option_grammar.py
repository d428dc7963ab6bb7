"""Option grammar: the arguments with which a command only reads; any others ask. Also programs for sed, awk, jq and yq.

The notation of `options`, separated by blanks:

    -abc            flags that may be bundled       -NUM             a number as an option (`head -5`)
    -n:number       takes a value, joined or next   --lines=number   the same for a long option, `=` or next
    --color[=word]  takes a value after `=` only    --all            takes none
    --arg=pair      takes a name and a value

`operands` are kinds in order; `*` after the last repeats it any number of times, `?` makes it optional. Kind `path`
obeys the path policy. So does `entry`, but only its name, size and times are shown, not its content. `text` is anything,
`=a|b` one of these words; `_KINDS` has all others. An abbreviated long option is not in the table and therefore asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from agentcli.core.dataclass import dataclass
from agentcli.permissions.shell.programs.known_programs import word_set

_CLASS = r"\[\^?\]?(?:[^\]/|,#\\\n]|\\[a-z])*\]"
_REGEX = rf"/(?:[^/\\\n\[]|\\[^\n]|{_CLASS})*/"
_ADDRESS = rf"(?:\d+|\$|{_REGEX})"
_SED_COMMAND = re.compile(
    rf"[ \t\n;]*(?:{_ADDRESS}(?:,(?:\+?\d+|{_ADDRESS}))?|\d+~\d+)?[ \t]*!?[ \t]*"
    r"(?:\{\s*|\}[ \t]*;?|(?:[pd=GhHxnNDPl]|q\d*|:[A-Za-z]\w*|[btT](?:[ \t]*[A-Za-z]\w*)?"
    r"|y/(?:[^/\\\n]|\\[^\n])*/(?:[^/\\\n]|\\[^\n])*/"
    rf"|s(?P<mark>[/|,#])(?:(?!(?P=mark))[^\\\n\[]|\\[^\n]|{_CLASS})*(?P=mark)"
    r"(?:(?!(?P=mark))[^\\\n]|\\[^\n])*(?P=mark)[gpI0-9]*)"
    r"[ \t]*(?:;|\n|\Z|(?=\})))"
)


def sed_only_prints(script: str) -> bool:
    """Return True if a sed script only prints, deletes, jumps, uses the hold space and substitutes.

    A substitution has no flag that writes or executes.
    """
    index = 0
    while index < len(script):
        command = _SED_COMMAND.match(script, index)
        if not command:
            return not script[index:].strip() and index > 0
        index = command.end()
    return bool(script.strip())


# An awk program affects the outside only through the calls and signs below, a pipe or an output redirection. A search
# in the raw text, including strings and regexes, does not depend on how awk splits it into tokens.
_AWK_EFFECTS = re.compile(r"\b(?:system|getline|close|ARGV|ARGC|SYMTAB|FUNCTAB|ENVIRON|PROCINFO)\b|@|\\\n|`")
_AWK_PIPE = re.compile(r"(?<!\|)\|(?!\|)|\|{3,}")
_AWK_CALLS = word_set("""
if while for print printf return length substr tolower toupper split index match sub gsub gensub sprintf int sqrt NF in
exp log sin cos atan2 rand srand strftime systime mktime strtonum asort asorti and or xor isarray
""")


def awk_only_prints(script: str) -> bool:
    """Return True if an awk program only computes and prints. `>` is accepted only as a comparison."""
    if not script.strip() or _AWK_EFFECTS.search(script):
        return False
    # Output to a pipe or a file can only occur within braces.
    _, brace, body = script.partition("{")
    if _AWK_PIPE.search(body):
        return False
    if brace and ">" in body.replace(">=", "") and not _compares(body):
        return False
    if not brace and "print" in script:
        return False
    return all(name in _AWK_CALLS for name in re.findall(r"([A-Za-z_]\w*)\s*\(", script))


def _compares(body: str) -> bool:
    """Return True if every `>` is inside parentheses, in a text without anything that quotes or hides a parenthesis."""
    depth = 0
    for letter in body:
        depth += (letter == "(") - (letter == ")")
        if letter in "\"'/\\#" or depth < 0 or (letter == ">" and depth == 0):
            return False
    return True


def jq_only_reads(program: str) -> bool:
    """Return True if a jq program reads neither the environment nor other files."""
    # A blank or a comment may separate `$` from the name.
    words = r"(?<![.\w])(?:env|ENV|import|include|modulemeta|get_search_list)\b|__prog"
    return not re.search(words, program)


def yq_only_reads(program: str) -> bool:
    """Return True if a yq program reads neither the environment nor other files, and evaluates no text."""
    return jq_only_reads(program) and not re.search(
        r"load|env\b|strenv|envsubst|eval|system|split_doc", program.replace(".env", "")
    )


ANYTHING = "anything"
"""Options of a command that only ever prints its arguments."""

Found = list[tuple[str, str]]
"""Values of a fitting command with their kinds: `option` for each given option, `behind` for each word after `--`."""

Kind = Callable[[str], object]


def _like(pattern: str) -> Kind:
    return re.compile(pattern, re.DOTALL | re.IGNORECASE).fullmatch


_RESULT = r"\s*\{(?:[^{}]|\{[^{}]*\})*\}\s*"
"""What a field of a mutation returns."""


def _mutation(fields: str) -> Kind:
    """Return the check of the parameters of a GraphQL call that has only these fields of a mutation."""
    one = rf"(?:\w+\s*:\s*)?(?:{fields})\s*\(\s*input\s*:\s*\{{[^{{}}]*\}}\s*\){_RESULT}"
    return _like(rf"query=\s*mutation\b[^{{]*\{{\s*(?:{one})+\}}\s*|(?!query=)\w+=(?!@).*")


_KINDS: dict[str, Kind] = {
    "text": _like(r".*"),
    "path": _like(r".+"),
    "entry": _like(r".+"),
    "rev": _like(r"[^-].*"),
    "ref": _like(r"HEAD|main|master|(?!-)[\w.-]+[/@][\w./@{}-]*"),
    "seconds": _like(r"\d*\.?\d+[smhd]?"),
    "name": _like(r"[a-z0-9][a-z0-9_.+-]*"),
    "branch": _like(r"(?!.*(?:\.\.|//|/\.|\.lock(?:/|\Z)))[a-z0-9][a-z0-9_.+#/-]*"),
    "range": _like(r".+:[^:]+"),
    "number": _like(r"[+-]?\d+"),
    "size": _like(r"[+-]?(?:\d+[a-z]{0,3}|[kmgtpezy]i?b?)"),
    "word": _like(r"[a-z0-9_,.:+/@%-]*"),
    "format": _like(r"(?!.*(?-i:%[-+ ]?G))(?!.*signature).*"),
    "key": _like(r"(?!url\.)(?!.*(token|secret|password|header|credential))[a-z][a-z0-9-]*\.[a-z0-9.-]*"),
    "date": _like(r"\+.*"),
    "printf": _like(r"(?!-)(?:[^%]|%%|%-?\d*[sbq])*"),
    "numbers": _like(r"(?!-)(?:[^%]|%%|%[-+0 ]?[\d.]*[sbqdiuxofc])*"),
    "strictness": _like(r"pipefail|errexit|nounset"),
    "plain": _like(r"[a-z0-9_. -]*"),
    "variable": _like(r"PATH|HOME|USER|SHELL|LANG|LC_[A-Z]+|PWD|TERM|VIRTUAL_ENV|EDITOR|HOSTNAME|TZ|NODE_ENV|CI"),
    "psfields": _like(
        r"(?:(?:pid|ppid|pgid|sid|user|uid|comm|args|cmd|command|etime|time|stat|state|pcpu|pmem|%cpu|%mem|rss|vsz|nice|tty|lstart|start)=?,?)+"
    ),
    "ps": _like(r"a?u?x|aux|axu"),
    "sockets": _like(r"[46]?(tcp|udp)?(:[0-9,-]+)?"),
    "socketstate": _like(r"tcp:(?:listen|established)"),
    "glob": _like(r".*"),
    "filetype": _like(r"[a-z0-9_+-]+"),
    "pair": _like(r".*"),
    "pattern": _like(r"[a-z0-9_./*-]+"),
    "assignment": _like(r"[a-z_][a-z0-9_]*=[a-z0-9_.,:-]*"),
    "object": _like(r"[^@].*"),
    "archive": _like(r"[^:-][^:]*"),
    "remote": _like(r"[a-z0-9_][\w.-]*|https://[\w.-]+(?::443)?/[^\s?#:]*"),
    "repo": _like(r"[\w.-]+/[\w.-]+"),
    "asked": _like(r".*"),
    "call": _like(r"/?(?!graphql\b)[\w{}.-]+(?:[/?]\S*)?"),
    "query": _like(r"query=\s*(?:\{|query\b)(?!.*\b(?:mutation|subscription)\b).*|(?!query=)\w+=(?!@).*"),
    "thread": _like(
        r"/?repos/[\w.{}-]+/[\w.{}-]+/(?:pulls|issues)/\d+/(?:comments(?:/\d+/replies)?|labels|assignees|requested_reviewers)"
    ),
    "said": _like(r"(?!event=)\w[\w\[\]]*=(?!@).*"),
    "pulled": _like(r"pull/(\d+)/head:(?!refs/|heads/|tags/|remotes/)[a-z][a-z_/-]*\1(?:-[\w-]+)?"),
    "remark": _mutation("(?:un)?resolveReviewThread|addPullRequestReviewThreadReply"),
    "comment": _mutation("add(?:Discussion)?Comment"),
    "sed": sed_only_prints,
    "awk": awk_only_prints,
    "jq": jq_only_reads,
    "yq": yq_only_reads,
}


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to call a command that only reads."""

    options: str = ""
    operands: str = ""
    needs: str = ""
    """Options of which one must be given, before any operand."""
    unless: tuple[str, ...] = ()
    """Files whose presence here or above makes the command do more."""
    manner: str = ""
    """A difference from the usual reading of options.

    With `first`, nothing after an operand may look like an option; with `ended`, it may, but is none. With `single`, letters cannot be bundled. With `apart`, a value
    is always a separate word.
    """


@dataclass(frozen=True, slots=True)
class _Options:
    flags: frozenset[str]
    valued: dict[str, str]
    long: frozenset[str]
    long_valued: dict[str, str]
    long_optional: dict[str, str]
    numbered: bool


def fit(shapes: Sequence[Shape], arguments: Sequence[str]) -> tuple[Shape, Found] | str:
    """Return the first shape that the arguments fit, with their values by kind.

    If none fits, return why the first shape does not.
    """
    reasons = []
    for shape in shapes:
        found = _fit(shape, arguments)
        if not isinstance(found, str):
            return shape, found
        reasons.append(found)
    return reasons[0]


def _fit(shape: Shape, arguments: Sequence[str]) -> Found | str:
    if shape.options == ANYTHING:
        return [("text", word) for word in arguments]
    table = _compiled(shape.options)
    found: Found = []
    operands: list[str] = []
    waiting = list(reversed(arguments))
    while waiting:
        word = waiting.pop()
        if "ended" in shape.manner and operands:
            operands.append(word)
            continue
        if problem := _unmannered(shape, table, word, operands):
            return problem
        if word == "--":
            found += [("option", word), *(("behind", behind) for behind in reversed(waiting))]
            operands.extend(reversed(waiting))
            break
        if word.startswith("--"):
            problem = _long(table, word, waiting, found)
        elif word.startswith("-") and word != "-":
            problem = _short(table, word, waiting, found)
        else:
            operands.append(word)
            continue
        if problem:
            return problem
    given = {value for kind, value in found if kind == "option"}
    # Not every program accepts options after operands: `command x -v` runs x.
    if shape.needs and (given.isdisjoint(shape.needs.split()) or not arguments[0].startswith("-")):
        return ""
    kinds = shape.operands.split()
    # `git stash -p list` is not a list: a subcommand counts only in the place that every program reads.
    if kinds and kinds[0].startswith("=") and arguments[:1] != operands[:1]:
        return f"{kinds[0][1:]} must come first"
    return _operands(kinds, operands, found)


def _unmannered(shape: Shape, table: _Options, word: str, operands: list[str]) -> str:
    """Return why the program may parse this word differently from most programs, or an empty string."""
    if not shape.manner or not word.startswith("-") or word == "-":
        return ""
    if "first" in shape.manner and operands:
        return f"{word} is not an option after an operand"
    letters = "" if word.startswith("--") else word[1:]
    joined = any(letter in table.valued for letter in letters[:-1])
    bundled = len(letters) > 1 and letters[0] not in table.valued
    if ("apart" in shape.manner and joined) or ("single" in shape.manner and bundled):
        return f"{word} can be read in more than one way"
    return ""


def _long(table: _Options, word: str, waiting: list[str], found: Found) -> str:
    name, equals, value = word.partition("=")
    found.append(("option", name))
    if not equals and (name in table.long or name in table.long_optional):
        return ""
    if equals and name in table.long_optional:
        return _value(table.long_optional[name], value, name, found)
    if name in table.long_valued:
        kind = table.long_valued[name]
        if (kind == "pair" and equals) or (not equals and len(waiting) < 1 + (kind == "pair")):
            return f"{name} has no value"
        if kind == "pair":
            waiting.pop()
        return _value(kind, value if equals else waiting.pop(), name, found)
    return f"{name} may change files"


def _short(table: _Options, word: str, waiting: list[str], found: Found) -> str:
    for index, letter in enumerate(word[1:], 2):
        if table.numbered and word[index - 1 :].isdigit():
            return ""
        found.append(("option", f"-{letter}"))
        if letter in table.valued:
            rest = word[index:]
            if not rest and not waiting:
                return f"-{letter} has no value"
            return _value(table.valued[letter], rest or waiting.pop(), f"-{letter}", found)
        if letter not in table.flags:
            return f"-{letter} may change files"
    return ""


def _operands(kinds: list[str], operands: list[str], found: Found) -> str | Found:
    for index, operand in enumerate(operands):
        last = kinds[-1] if kinds else ""
        kind = kinds[index] if index < len(kinds) else last if last.endswith("*") else ""
        if not kind:
            return f"{operand!r} is one operand too many to only read"
        if problem := _value(kind.rstrip("*?"), operand, "operand", found):
            return problem
    needed = sum(not kind.endswith(("*", "?")) for kind in kinds)
    return found if len(operands) >= needed else "an operand is missing"


def _value(kind: str, value: str, where: str, found: Found) -> str:
    fits = value in kind[1:].split("|") if kind.startswith("=") else _KINDS[kind](value)
    if not fits:
        return f"{value!r} is not known to only read as {where}"
    found.append((kind, value))
    return ""


@lru_cache(maxsize=512)
def _compiled(options: str) -> _Options:
    flags: set[str] = set()
    valued: dict[str, str] = {}
    long: set[str] = set()
    long_valued: dict[str, str] = {}
    long_optional: dict[str, str] = {}
    for option in options.split():
        name, _, kind = option.partition("=")
        if option.startswith("--"):
            if name.endswith("["):
                long_optional[name[:-1]] = kind.rstrip("]")
            elif kind:
                long_valued[name] = kind
            else:
                long.add(name)
        elif ":" in option:
            letters, _, kind = option[1:].partition(":")
            flags.update(letters[:-1])
            valued[letters[-1]] = kind
        elif option != "-NUM":
            flags.update(option[1:])
    return _Options(frozenset(flags), valued, frozenset(long), long_valued, long_optional, "-NUM" in options.split())
