"""Commands inside commands: what wrappers, shells and `eval` would run, for rules that forbid."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from agentcli.agent.permissions.scripts import words
from agentcli.agent.permissions.shell import UNKNOWN, Part, dissect

WRAPPERS = words("""
env timeout gtimeout nice ionice nohup setsid stdbuf xargs parallel sudo doas su runuser chroot unshare nsenter time
command builtin exec eval source . trap alias watch strace ltrace gdb script flock chronic caffeinate taskset chrt
prlimit setpriv systemd-run bwrap firejail proxychains proxychains4 torsocks ssh bash sh zsh dash ksh fish busybox
toybox find fd coproc entr expect unbuffer rlwrap time gtime catchsegv faketime fakeroot sg newgrp dbus-run-session
xvfb-run direnv mise asdf npx bunx uvx pipx docker podman kubectl make git if then else elif do while until !
""")
"""Commands that run another command which stands among their arguments."""

SHELLS = words("bash sh zsh dash ksh ash fish busybox")
"""Programs that read shell text."""

_SCRIPTED = frozenset(" \t\n;|&$`(<>")
_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Contents:
    """All commands of a line, also those that wrappers and nested shells would run; `whole` when nothing was hidden from view."""

    parts: tuple[Part, ...]
    whole: bool


def contents(text: str) -> Contents:
    """Look into a line as deep as text can be followed."""
    parts: list[Part] = []
    whole = _look(text, parts, _DEPTH)
    return Contents(tuple(parts), whole)


def spellings(part: Part) -> Iterator[str]:
    """The ways in which a rule may name what this part runs, wrappers peeled off."""
    line = [piece.text for piece in part.words]
    if not line:
        return
    for form in (line, _plain_git(line)):
        yield " ".join(form)
        yield shlex.join(form)
        if "/" in form[0]:
            yield " ".join([os.path.basename(form[0]), *form[1:]])
    if os.path.basename(line[0]) in WRAPPERS:
        yield from _suffixes(line[1:])


def _suffixes(arguments: list[str]) -> Iterator[str]:
    for start in range(len(arguments)):
        rest = arguments[start:]
        yield " ".join(_plain_git(rest))
        if "/" in rest[0]:
            yield " ".join([os.path.basename(rest[0]), *rest[1:]])


_GIT_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})


def _plain_git(line: list[str]) -> list[str]:
    """`git -C x -c a=b push` as `git push`."""
    if os.path.basename(line[0]) != "git":
        return line
    rest = line[1:]
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in _GIT_VALUED else rest[1:]
    return [line[0], *rest]


def _look(text: str, parts: list[Part], depth: int) -> bool:
    anatomy = dissect(text)
    whole = anatomy.whole
    if depth and any(_reads_script(part) for part in anatomy.parts):
        for text in anatomy.fed:
            whole = _look(text, parts, depth - 1) and whole
    for part in anatomy.parts:
        parts.append(part)
        if not part.words:
            continue
        name = os.path.basename(part.words[0].text)
        whole = whole and part.words[0].known and not part.words[0].loose and not _reads_script(part)
        if name in WRAPPERS:
            whole = whole and all(word.known for word in part.words)
            whole = _look_inside(part, parts, depth) and whole
    return whole


def _reads_script(part: Part) -> bool:
    """Whether a shell takes what it runs from its input."""
    if not part.words:
        return False
    operands = [word.text for word in part.words[1:] if not word.text.startswith("-") or word.text in ("-", "-s", "-c")]
    return os.path.basename(part.words[0].text) in SHELLS and (not operands or operands[0] in ("-", "-s", "/dev/stdin"))


def _look_inside(part: Part, parts: list[Part], depth: int) -> bool:
    whole = True
    for word in part.words[1:]:
        if word.text == UNKNOWN or _SCRIPTED.isdisjoint(word.text):
            continue
        if depth == 0:
            return False
        for script in {word.text, word.text.partition("=")[2].lstrip("!")}:
            whole = _look(script, parts, depth - 1) and whole
    joined = " ".join(word.text for word in part.words[1:])
    if part.words[0].text == "eval" and depth:
        whole = _look(joined, parts, depth - 1) and whole
    return whole
