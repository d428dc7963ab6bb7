"""Names that a command prints if it is known to list files or to compute a path.

xargs builds commands from them.
"""

from __future__ import annotations

import itertools
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentcli.permissions.git_config import work_tree_of
from agentcli.permissions.paths import Workspace, with_shell_folder
from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.permissions.shell.syntax.parse import UNKNOWN
from agentcli.permissions.shell.syntax.values import BELOW, MOST, NUMBER, NUMBERED, Values

_PASSING_WHOLE = word_set("cat sort uniq tac shuf cut")
_PASSING = word_set("head tail grep egrep fgrep tee")
"""Filters that pass on names, or columns of them; these take an operand that is not a file."""
_PRINTED = ("%s\\n", "%s\\0", "%s ", "%s", "%s\n")
"""Formats by which `printf` prints its arguments unchanged."""
_FINDING = frozenset(["rg", "grep", "egrep", "fgrep", "ag", "ack"])


def listed(words: Sequence[str], fed: Values | None, folders: Sequence[Path], workspace: Workspace) -> Values | None:
    """Return the names that a command prints, `BELOW` for any name in a folder; None if they are unknown.

    `fed` are the names on its standard input, empty if it has none.
    """
    if not words:
        return ()
    name, arguments = os.path.basename(words[0]), list(words[1:])
    options = [word for word in arguments if word.startswith("-")]
    operands = [word for word in arguments if not word.startswith("-")]
    if (counted := _counted(name, options, operands, fed)) is not None:
        return counted
    match name:
        case "echo":
            return _echoed(arguments)
        case "printf":
            return _printed(arguments[1:] if arguments[:1] == ["--"] else arguments)
        case "ls":
            return tuple(place for word in operands or ["."] for place in _with_content(word))
        case "find":
            return tuple(f"{top.rstrip('/')}/{BELOW}" if top != "." else f"./{BELOW}" for top in _tops(arguments))
        case "fd" | "fdfind":
            return tuple(f"{top}/{BELOW}" for top in operands[1:] or ["."])
        case "git":
            return _git(arguments, operands, folders, workspace)
        case "pwd":
            return tuple(map(str, folders))
        case "which" | "command" | "type" if not options if name == "which" else options in (["-v"], ["-P"], ["-p"]):
            return tuple(f"{UNKNOWN}/{os.path.basename(word)}" for word in operands)
        case "mktemp":
            return _made(arguments)
        case "dirname" | "basename" | "realpath" | "readlink":
            return _computed(name, operands)
        case "whoami" | "hostname" | "date" | "uname" | "id" | "nproc" | "wc" | "seq":
            return (f"x{BELOW}",)
        case "cd" | "pushd" | "set" | "export" | ":" | "true" | "test" | "[":
            return ()
        case _:
            return _filtered(name, options, operands, fed)


def prints_commit(words: Sequence[str]) -> bool:
    """Return True if git prints only the name of a commit, in numbers and letters."""
    options, operands = ([word for word in words[2:] if (word[:1] == "-") is dashed] for dashed in (True, False))
    plain = set(options) <= {"--short", "--verify"}
    return plain and (
        words[:2] == ("git", "merge-base") or (words[:2] == ("git", "rev-parse") and operands == ["HEAD"])
    )


def fed_lines(words: Sequence[str], inner: Sequence[str], fed: Values | None) -> Iterator[tuple[str, ...]]:
    """Yield the commands that xargs or parallel builds from a command and its input names.

    There is one for each name, and one for all.
    """
    line, items = tuple(inner), fed or (UNKNOWN,)
    if ":::" in line:
        cut = line.index(":::")
        line, items = line[:cut], tuple(word for word in line[cut + 1 :] if word != ":::") or (UNKNOWN,)
    elif "::::" in words or any(re.match(r"-a|--arg-file", word) for word in words):
        items = (UNKNOWN,)
    place = next((mark for mark in _places(words) if any(mark in word for word in line)), "")
    for item in items[:MOST]:
        yield tuple(word.replace(place, item) for word in line) if place else (*line, item)
    if not place and len(items) > 1:
        yield (*line, *items)


def placed(word: str, folder: Path, workspace: Workspace) -> Path:
    """Return the path of a word in a folder.

    `~` and `~user` are expanded like in the shell, and no link is followed.
    """
    if word == "~" or word.startswith("~/"):
        word = str(workspace.home) + word[1:]
    elif word.startswith("~"):
        word = os.path.expanduser(with_shell_folder(word, folder))
    return Path(os.path.normpath(folder / word))


def _places(words: Sequence[str]) -> Iterator[str]:
    for index, word in enumerate(words):
        if word in ("-I", "--replace") and index + 1 < len(words):
            yield words[index + 1]
        elif word.startswith("-I") and len(word) > 2:
            yield word[2:]
    yield "{}"


def _echoed(arguments: Sequence[str]) -> Values | None:
    """Return the words that `echo` prints, or None if they are not certain."""
    words = tuple(itertools.dropwhile(re.compile("-[neE]+").fullmatch, arguments))
    options = "".join(arguments[: len(arguments) - len(words)])
    if "e" not in options:
        return words
    said = tuple(map(_said, words))
    return None if None in said else tuple(map(str, said))


def _printed(arguments: Sequence[str]) -> Values | None:
    """Return the words or lines that `printf` prints, or None if they are not certain."""
    form, values = "".join(arguments[:1]), tuple(arguments[1:])
    if form in _PRINTED:
        return values
    if form == "-v":
        return ()
    if not set("%\\") & set(form):
        return (form,)
    places = sum(found["kind"] is not None for found in _TOKEN.finditer(form))
    starts = range(0, len(values) or 1, places or len(values) or 1)
    texts = [_formatted(form, values[start : start + places]) for start in starts[: MOST + 1]]
    if len(texts) > MOST or None in texts or UNKNOWN in form:
        return None
    return tuple(filter(None, "".join(map(str, texts)).split("\n")))


def _formatted(form: str, values: Sequence[str]) -> str | None:
    """Return a format of `printf` with its values, a missing one empty; None if the text is not certain."""
    left, pieces, end = iter(values), list[str | None](), 0
    for found in _TOKEN.finditer(form):
        pieces.append(form[end : found.start()])
        kind, end = found["kind"], found.end()
        value = next(left, "0" if kind == "d" else "") if kind else ""
        pieces.append("%" if found[0] == "%%" else _value(kind, value) if kind else _unescaped(found))
    pieces.append(form[end:])
    certain = all(piece is not None and not set("\0") & set(piece) for piece in pieces)
    return "".join(map(str, pieces)) if certain and not set("%\\") & set("".join(map(str, pieces[::2]))) else None


def _value(kind: str, value: str) -> str | None:
    """Return what `printf` prints for a value; None if that is not certain."""
    if kind == "d":
        return value if re.fullmatch(r"0|[1-9]\d{0,17}", value) else None
    if kind == "q" and (not value or "\n" in value):
        return None
    return _said(value) if kind == "b" else value


def _said(text: str) -> str | None:
    """Return a text with its escapes replaced as by `echo -e`; None if one is not among the usual ones."""
    plain = _ESCAPE.sub("", text)
    return None if "\\" in plain else _ESCAPE.sub(lambda found: str(_unescaped(found)), text)


def _unescaped(found: re.Match[str]) -> str | None:
    if found["letter"]:
        return {"n": "\n", "t": "\t"}.get(found["letter"], found["letter"])
    number = int(found["octal"], 8) if found["octal"] else int(found["hex"], 16)
    return chr(number) if number < 128 else None


_HEX = r"x(?P<hex>[0-7][0-9a-fA-F])"
_TOKEN = re.compile(rf"%%|%(?P<kind>[sbqd])|\\(?:(?P<octal>[01][0-7]{{2}}|0(?![0-7]))|{_HEX}|(?P<letter>[nt\\\"'?]))")
_ESCAPE = re.compile(rf"\\(?:0(?P<octal>[01][0-7]{{2}})|{_HEX}|(?P<letter>[nt\\]))")


def _made(arguments: Sequence[str]) -> Values:
    """Return the files or folders that `mktemp` makes."""
    pairs = list(itertools.pairwise(("", *arguments)))
    given = [word for option, word in pairs if option != "-p" and "/" in word and not word.startswith("-")]
    top = next((word for option, word in pairs if option == "-p"), "")
    return tuple(given) or (f"{top or tempfile.gettempdir()}/tmp.XXXXXXXXXX",)


def _computed(name: str, operands: Sequence[str]) -> Values:
    """Return the paths that a program computes from its arguments."""
    match name:
        case "dirname":
            return tuple(UNKNOWN if UNKNOWN in word else os.path.dirname(word) or "." for word in operands)
        case "basename":
            return tuple(os.path.basename(word.rstrip("/")) or "/" for word in operands[:1])
        case _:
            return tuple(operands)


def _filtered(name: str, options: Sequence[str], operands: Sequence[str], fed: Values | None) -> Values | None:
    if name in _FINDING and (
        any("l" in option for option in options if not option.startswith("--")) or "--files" in options
    ):
        return tuple(
            f"{top.rstrip('/')}/{BELOW}" for top in (operands if "--files" in options else operands[1:]) or ["."]
        )
    whole = name in _PASSING_WHOLE and not operands
    columns = name == "awk" and len(operands) == 1 and re.fullmatch(r"\{ ?print \$(?:\d|NF) ?\}", operands[0])
    ends = name == "tr" and {"\\n", "\\0", " ", "\n"}.issuperset(operands)
    return fed or None if whole or columns or ends or (name in _PASSING and len(operands) < 2) else None


def _counted(name: str, options: Sequence[str], operands: Sequence[str], fed: Values | None) -> Values | None:
    """Return the number that a program prints, or that its lines begin with; None if it prints anything else."""
    flags = "".join(word.removeprefix("-") for word in options)
    match name:
        case "nproc":
            return (NUMBER,)
        case "date" if operands == ["+%s"]:
            return (NUMBER,)
        case "id" if flags in ("u", "g") and not operands:
            return (NUMBER,)
        case "wc" if flags in ("l", "c", "w", "m") and not operands:
            return (NUMBER,)
        case "grep" | "egrep" | "fgrep" if len(operands) == 2 and not _SEVERAL.search(operands[1]):
            if set(flags) <= _ONE_FILE and {"c", "n"} & set(flags):
                return (NUMBER,) if "c" in flags else (NUMBERED,)
        case "cut" if fed == (NUMBERED,) and {*options, *operands} in ({"-d:", "-f1"}, {"-d", ":", "-f1"}):
            return (NUMBER,)
        case _:
            pass
    return None


_SEVERAL = re.compile(rf"[*?\[{{{UNKNOWN}{BELOW}]")
"""A word that may be several files, whose names would stand before the numbers."""
_ONE_FILE = frozenset("cnEFiwxsh")
"""Options of grep with which its lines begin with their number."""


def _with_content(word: str) -> tuple[str, str]:
    return word, f"{word.rstrip('/')}/{BELOW}"


def _tops(arguments: Sequence[str]) -> list[str]:
    tops: list[str] = []
    for word in arguments:
        if word in ("-L", "-P", "-H"):
            continue
        if word.startswith(("-", "(", "!", "\\(")):
            break
        tops.append(word)
    return tops or ["."]


def _git(
    arguments: Sequence[str], operands: Sequence[str], folders: Sequence[Path], workspace: Workspace
) -> Values | None:
    match arguments[:1]:
        case ["rev-parse"] if "--show-toplevel" in arguments:
            return tuple(str(work_tree_of(folder) or folder) for folder in folders)
        case ["ls-files" | "diff" | "grep" | "status" | "show"]:
            outside = [word for word in operands[1:] if word.startswith(("/", "~", ".."))]
            return (f"./{BELOW}", *outside)
        case ["rev-parse" | "branch" | "describe" | "tag" | "log"]:
            return (f"x{BELOW}",)
        case _:
            return None
