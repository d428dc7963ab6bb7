"""Which little programs for sed, awk, jq and find can only print what they read."""

from __future__ import annotations

import re
from collections.abc import Sequence


def words(text: str) -> frozenset[str]:
    """The words of a text, for tables that are read by people."""
    return frozenset(text.split())


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
    """Whether a sed script only prints, deletes, jumps, keeps lines in hand, and substitutes without flags that write or execute."""
    place = 0
    while place < len(script):
        command = _SED_COMMAND.match(script, place)
        if not command:
            return not script[place:].strip() and place > 0
        place = command.end()
    return bool(script.strip())


# All that an awk program can do to the world goes through system(), getline, a pipe, an output redirection, `@`, ARGV or the
# tables that lead there. Looking for them in the raw text, strings and regexes included, leaves no room for a lexer's quirk.
_AWK_EFFECTS = re.compile(r"\b(?:system|getline|close|ARGV|ARGC|SYMTAB|FUNCTAB|ENVIRON|PROCINFO)\b|@|\\\n|`")
_AWK_PIPE = re.compile(r"(?<!\|)\|(?!\|)|\|{3,}")
_AWK_CALLS = words("""
if while for print printf return length substr tolower toupper split index match sub gsub gensub sprintf int sqrt NF in
exp log sin cos atan2 rand srand strftime systime mktime strtonum asort asorti and or xor isarray
""")


def awk_only_prints(script: str) -> bool:
    """Whether an awk program computes and prints, and no more. `>` may stand only where it compares."""
    if not script.strip() or _AWK_EFFECTS.search(script):
        return False
    # What is printed to a pipe or a file is printed within braces.
    _, brace, body = script.partition("{")
    if _AWK_PIPE.search(body):
        return False
    if brace and ">" in body.replace(">=", "") and not _compares(body):
        return False
    if not brace and "print" in script:
        return False
    return all(name in _AWK_CALLS for name in re.findall(r"([A-Za-z_]\w*)\s*\(", script))


def _compares(body: str) -> bool:
    """Whether every `>` stands in parentheses, in a text where nothing quotes or hides a parenthesis."""
    depth = 0
    for letter in body:
        depth += (letter == "(") - (letter == ")")
        if letter in "\"'/\\#" or depth < 0 or (letter == ">" and depth == 0):
            return False
    return True


def jq_only_reads(program: str) -> bool:
    """Whether a jq program reads neither the environment nor other files."""
    # A blank or a comment may stand between `$` and the name.
    words = r"(?<![.\w])(?:env|ENV|import|include|modulemeta|get_search_list)\b|__prog"
    return not re.search(words, program)


def yq_only_reads(program: str) -> bool:
    """Whether a yq program reads neither the environment nor other files, and evaluates no text."""
    return jq_only_reads(program) and not re.search(
        r"load|env\b|strenv|envsubst|eval|system|split_doc", program.replace(".env", "")
    )


_FIND_FLAGS = words("""
-print -print0 -ls -prune -true -false -quit -daystart -noleaf -empty -readable -writable -executable -nouser
-nogroup -depth -mount -xdev -not -a -and -o -or ! ( ) ,
""")
_FIND_TESTS = words("""
-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -mmin -atime
-amin -ctime -cmin -newermt -perm -user -group -uid -gid -links -inum -maxdepth -mindepth -printf -lname -ilname
-fstype -used
""")
_FIND_FILES = words("""
-newer -anewer -cnewer -samefile
""")


def find_reads(arguments: Sequence[str]) -> list[tuple[str, str]] | str:
    """The paths that a `find` without actions looks at, or why it may do more."""
    found: list[tuple[str, str]] = []
    waiting = list(reversed(arguments))
    while waiting and (waiting[-1] in ("-H", "-P") or not waiting[-1].startswith(("-", "(", "!", ","))):
        word = waiting.pop()
        if not word.startswith("-"):
            found.append(("path", word))
    while waiting:
        word = waiting.pop()
        if word in _FIND_FLAGS:
            continue
        if word not in _FIND_TESTS | _FIND_FILES:
            return f"find {word} is not known to only read"
        if not waiting:
            return f"find {word} lacks its value"
        found.append(("path" if word in _FIND_FILES else "text", waiting.pop()))
    return found
