"""Commands inside commands: what wrappers, shells and `eval` would run, for rules that forbid."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from agentcli.agent.permissions.scripts import words
from agentcli.agent.permissions.shell import UNKNOWN, Part, dissect

WRAPPERS = words("""
env nice ionice nohup setsid stdbuf xargs parallel sudo doas runuser unshare nsenter time command builtin exec eval source . trap
alias watch strace ltrace gdb script chronic caffeinate prlimit setpriv systemd-run bwrap firejail proxychains proxychains4 torsocks
bash sh zsh dash ksh fish busybox toybox coproc entr expect unbuffer rlwrap gtime catchsegv faketime fakeroot dbus-run-session xvfb-run
direnv npx bunx uvx pipx timeout gtimeout su chroot flock ssh taskset chrt sg mise asdf find fd fdfind
complete mapfile readarray bind arch tmux
""")
"""Commands that run another command which stands among their arguments."""

_OPERANDS = {
    "timeout": 1,
    "gtimeout": 1,
    "su": 1,
    "chroot": 1,
    "flock": 1,
    "ssh": 1,
    "taskset": 1,
    "chrt": 1,
    "sg": 1,
    "mise": 1,
    "asdf": 1,
}
_OPERANDS |= {"faketime": 1, "direnv": 2, "git": 3, "docker": 3, "podman": 3, "kubectl": 3}
_OPERANDS |= dict.fromkeys(words("uv poetry pipenv conda mamba hatch pdm rye nix bundle npm pnpm yarn bun"), 2)
"""How many operands stand before the command that is run; elsewhere none."""

_RUNNING = {
    "git": words("bisect submodule rebase filter-branch difftool mergetool"),
    "docker": words("run exec compose container"),
    "podman": words("run exec compose container"),
    "kubectl": words("run exec"),
    **dict.fromkeys(words("uv poetry pipenv conda mamba hatch pdm rye nix bundle"), words("run exec shell develop")),
    **dict.fromkeys(words("npm pnpm yarn bun"), words("exec x dlx")),
}
"""Commands that run another one only by some of their subcommands."""

_ANYWHERE = words("bwrap coproc firejail systemd-run")
"""Wrappers whose options take so many values that the command may begin at any word."""

_MARKS = {
    "find": words("-exec -execdir -ok -okdir"),
    "fd": words("-x -X --exec --exec-batch"),
    "fdfind": words("-x -X --exec --exec-batch"),
}
"""Commands that run another one only after some option."""

SHELLS = words("bash sh zsh dash ksh ash fish busybox")
"""Programs that read shell text."""

_EVALUATING = words("test [ [[ printf read let declare typeset local export readonly unset getopts wait hash enable")
"""Builtins that run the `$(…)` of a subscript even where it is quoted."""

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
    # A word may go on in the next line, where the parser sees two of them.
    if "\\\n" in text:
        whole = _look(text.replace("\\\n", ""), parts, _DEPTH) and whole
    return Contents(tuple(parts), whole)


def spellings(part: Part) -> Iterator[str]:
    """The ways in which a rule may name what this part runs, wrappers peeled off."""
    line = [piece.text for piece in part.words]
    if not line:
        return
    for form in (line, _plain_git(line), [line[0].lower(), *line[1:]]):
        yield " ".join(form)
        yield shlex.join(form)
        if "/" in form[0]:
            yield " ".join([os.path.basename(form[0]), *form[1:]])
    for inner in _wrapped(line):
        yield " ".join(_plain_git(inner))
        if "/" in inner[0]:
            yield " ".join([os.path.basename(inner[0]), *inner[1:]])


def _wrapped(line: list[str]) -> Iterator[list[str]]:
    """The commands that a wrapper may run: wherever one may begin, as the value of an option cannot be told from an operand."""
    name, arguments = os.path.basename(line[0]), line[1:]
    if marks := _MARKS.get(name):
        yield from (arguments[place + 1 :] for place, word in enumerate(arguments[:-1]) if word in marks)
        return
    if name in _ANYWHERE:
        yield from (arguments[place:] for place in range(len(arguments)))
    if not _wraps(name, arguments):
        return
    waiting, after_option = _OPERANDS.get(name, 0), False
    for place, word in enumerate(arguments):
        yield arguments[place:]
        if word.startswith("-") or "=" in word.partition("/")[0]:
            after_option = word.startswith("-")
        elif after_option:
            after_option = False
        elif waiting:
            waiting -= 1
        else:
            yield from _wrapped(arguments[place:])
            return


def _wraps(name: str, arguments: list[str]) -> bool:
    running = _RUNNING.get(name)
    return name in WRAPPERS if running is None else not running.isdisjoint(arguments[:3])


_GIT_VALUED = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--attr-source"}
)


def _plain_git(line: list[str]) -> list[str]:
    """`git -C x -c a=b push` as `git push`, and `git-push` too."""
    name = os.path.basename(line[0])
    if name.startswith("git-"):
        return ["git", name.removeprefix("git-"), *line[1:]]
    if name != "git":
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
        if _wraps(name, [word.text for word in part.words[1:]]) or _has_alias(part):
            whole = whole and all(word.known for word in part.words)
            whole = _look_inside(part, parts, depth) and whole
        elif name in _EVALUATING and any("$(" in word.text or "`" in word.text for word in part.words[1:]):
            whole = _look_inside(part, parts, depth) and whole
    return whole


def _reads_script(part: Part) -> bool:
    """Whether a shell takes what it runs from its input."""
    if not part.words:
        return False
    operands = [word.text for word in part.words[1:] if not word.text.startswith("-") or word.text in ("-", "-s", "-c")]
    return os.path.basename(part.words[0].text) in SHELLS and (not operands or operands[0] in ("-", "-s", "/dev/stdin"))


def _has_alias(part: Part) -> bool:
    """Whether git is given a command of its own making: `git -c alias.x='!…' x`."""
    return part.words[0].text == "git" and any(word.text.startswith(("-c", "alias.")) for word in part.words[1:3])


def _look_inside(part: Part, parts: list[Part], depth: int) -> bool:
    whole = True
    for word in part.words[1:]:
        if word.text == UNKNOWN or _SCRIPTED.isdisjoint(word.text):
            continue
        if depth == 0:
            return False
        joined = word.text[2:] if word.text.startswith("-") else ""
        for script in {word.text, word.text.partition("=")[2].lstrip("!"), joined} - {""}:
            whole = _look(script, parts, depth - 1) and whole
    evaluated = " ".join(word.text for word in part.words[1:])
    if part.words[0].text == "eval" and depth:
        whole = _look(evaluated, parts, depth - 1) and whole
    return whole
