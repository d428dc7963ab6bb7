"""Effects of a shell command on files, as far as its text is certain."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Literal

from agentcli.core.dataclass import dataclass

EffectKind = Literal["read", "created", "modified", "deleted"]


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect of a command on one file; the path is as written, after any `cd` before it."""

    kind: EffectKind
    path: str


def effects(command: str) -> tuple[Effect, ...]:
    """Return the effects of `rm`, `mv`, `cp`, `touch`, `cat`, redirections and the like on files, in order.

    Anything uncertain (globs, variables, substitutions, commands that cannot be parsed) is omitted.
    """
    found: list[Effect] = []
    folder = ""
    for words in _simple_commands(command):
        plain, written = _redirections(words)
        found += [Effect(kind, _join(folder, path)) for kind, path in written if _certain(path)]
        if plain[:1] == ["cd"] and len(plain) > 1:
            folder = _join(folder, plain[1])
            continue
        found += [Effect(kind, _join(folder, path)) for kind, path in _effects(plain) if _certain(path)]
    return tuple(found)


_HERE_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)(\w+)\1(.*?)\n.*?^\s*\2\s*$", re.DOTALL | re.MULTILINE)
_LONGEST = 20_000


def _simple_commands(command: str) -> Iterator[list[str]]:
    if len(command) > _LONGEST:
        return
    text = _HERE_DOCUMENT.sub(r"\3", command).replace("\n", " ; ")
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    try:
        tokens = list(lexer)
    except ValueError:
        return
    for token in tokens:
        if token in (";", "&&", "||", "|", "&", "(", ")", ";;", "|&"):
            yield words
            words = []
        else:
            words.append(token)
    yield words


def _redirections(words: Sequence[str]) -> tuple[list[str], list[tuple[EffectKind, str]]]:
    plain: list[str] = []
    written: list[tuple[EffectKind, str]] = []
    rest = iter(words)
    for word in rest:
        if word in (">", ">>", ">|", "&>"):
            if plain and plain[-1] in ("1", "2"):
                plain.pop()
            written.append(("modified" if word == ">>" else "created", next(rest, "")))
        elif word in (">&", "<", "<<", "<<<", "<&"):
            next(rest, None)
        else:
            plain.append(word)
    return plain, [(kind, path) for kind, path in written if not path.startswith(("/dev/", "&"))]


def _effects(words: Sequence[str]) -> Iterator[tuple[EffectKind, str]]:
    if words[:1] == ["sudo"]:
        words = words[1:]
    if words[:2] in (["git", "rm"], ["git", "mv"]):
        words = words[1:]
    paths = [word for word in words[1:] if not word.startswith("-")]
    match words[:1]:
        case ["rm" | "unlink" | "rmdir"]:
            yield from (("deleted", path) for path in paths)
        case ["mv"] if len(paths) == 2:
            yield "deleted", paths[0]
            yield "created", _into(paths[1], paths[0])
        case ["cp"] if len(paths) == 2:
            yield "created", _into(paths[1], paths[0])
        case ["touch"]:
            yield from (("created", path) for path in paths)
        case ["tee"]:
            yield from (("modified" if "-a" in words else "created", path) for path in paths)
        case ["cat" | "less" | "bat" | "nl"]:
            yield from (("read", path) for path in paths)
        case ["head" | "tail"]:
            yield from (("read", path) for path in paths if not path.isdigit())
        case ["sed"] if any(word.startswith("-i") for word in words):
            yield from (("modified", path) for path in _edited_by_sed(words[1:]))
        case _:
            return


def _edited_by_sed(words: Sequence[str]) -> Sequence[str]:
    """Return the files of a `sed -i`.

    They are neither options, nor the script, nor the suffix that macOS wants after `-i`.
    """
    files: list[str] = []
    scripted = False
    rest = iter(words)
    for word in rest:
        if _SED_TAKES_SCRIPT.fullmatch(word):
            scripted = True
            next(rest, None)
        elif word.startswith("-") and word != "-":
            scripted = scripted or bool(_SED_HAS_SCRIPT.match(word))
        else:
            files.append(word)
    if "-i" in words and files and _SED_SUFFIX.fullmatch(files[0]) and words[words.index("-i") + 1] == files[0]:
        files = files[1:]
    return files if scripted else files[1:]


_SED_TAKES_SCRIPT = re.compile(r"--(?:expression|file)|-[nErsuz]*[ef]")
_SED_HAS_SCRIPT = re.compile(r"--(?:expression|file)=|-[nErsuz]*[ef].")
_SED_SUFFIX = re.compile(r"|\.\w+|~")


def _into(target: str, source: str) -> str:
    return target + posixpath.basename(source) if target.endswith("/") else target


def _certain(path: str) -> bool:
    return bool(path) and path not in (".", "..") and not any(sign in path for sign in "*?[]{}$`<>|;&\n")


def _join(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path)) if folder else path
