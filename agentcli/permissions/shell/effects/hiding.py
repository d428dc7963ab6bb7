"""Check whether a line with partly unknown words may run a command in a rule."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agentcli.permissions.paths import PROGRAM_FOLDERS
from agentcli.permissions.shell.effects.always_asked import names_only
from agentcli.permissions.shell.programs.known_programs import MARKS, WRAPPERS, word_set
from agentcli.permissions.shell.syntax.parse import UNKNOWN, Part, Piece, runs, spellings
from agentcli.permissions.shell.syntax.values import BELOW

if TYPE_CHECKING:
    from pathlib import Path

    from agentcli.permissions.shell.syntax.state import Run

_UNSURE = re.compile(rf"[*?\[{UNKNOWN}{BELOW}]")
_OF_PROGRAMS = word_set("bin sbin libexec shims git-core")
"""Names of folders of programs."""
_ALIASING = re.compile(r"alias\.|include(?:if)?\.", re.IGNORECASE)
_BY_ENVIRONMENT = re.compile(r"GIT_CONFIG|GIT_EXEC_PATH")
_GIT_COMMANDS = word_set("""
add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout
checkout-index cherry cherry-pick clean clone column commit commit-graph commit-tree config count-objects credential describe diagnose diff
diff-files diff-index diff-tree difftool fast-export fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref format-patch fsck
gc get-tar-commit-id grep gui hash-object help hook index-pack init instaweb interpret-trailers log ls-files ls-remote ls-tree mailinfo
maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag mktree mv name-rev notes pack-objects pack-refs patch-id prune
prune-packed pull push range-diff read-tree rebase reflog remote repack replace request-pull rerere reset restore rev-list rev-parse revert rm
send-email shortlog show show-branch show-index show-ref sparse-checkout stash status stripspace submodule switch symbolic-ref tag
unpack-objects update-index update-ref update-server-info var verify-commit verify-pack verify-tag version whatchanged worktree write-tree
""")
"""Git's own commands, which no alias can replace. `send-pack` is missing, as it pushes under another name."""


def spelled(run: Run) -> Iterator[str]:
    """Yield the texts by which a rule may match a command as it would run."""
    if run.words and not any(_UNSURE.search(word) for word in run.words[:1]):
        yield from spellings(Part(tuple(Piece(word) for word in run.words)))


def may_run(run: Run, head: str) -> bool:
    """Return True if a command's unknown words may make it begin with `head`."""
    wanted = head.split()
    words = " ".join(run.words).split()
    if not words or not wanted:
        return False
    words = next(iter(runs(Part(tuple(Piece(word) for word in words)))), words)
    name = os.path.basename(wanted[0])
    if name == "git" and len(wanted) > 1 and _aliases(run):
        return True
    if any(_is_program(text, at, name) for text in _files_got(run) for at in run.folders):
        return True
    if words[0] == name and words[1:2] and words[1].startswith("-") and wanted[1:] and wanted[1] in words:
        return True
    return _may_match(words, [name, *wanted[1:]], whole=head.endswith(" "))


def _files_got(run: Run) -> Iterator[str]:
    """Yield the words of a command that may be files whose content it gets."""
    if names_only(run.words):
        return
    starts = run.words[0] in WRAPPERS and run.words[0] not in MARKS
    for word in (*run.reads, *(() if starts else run.words[1:])):
        if not any(map(str.isspace, word)):
            yield from (word, *re.split("[=:]", word)[1:])


def _is_program(text: str, folder: Path, name: str) -> bool:
    """Return True if a path may lead to a program of this name.

    What gets the content of its file can make another program of it.
    """
    base = os.path.basename(text)
    if not fnmatch.fnmatchcase(name, re.sub(f"[{UNKNOWN}{BELOW}]", "*", base)):
        return False
    if not text.startswith(("/", "~/")):
        return (text.startswith(UNKNOWN) and base == name) or f"{folder}/".startswith(_INSTALLED)
    path = os.path.normpath(text)
    return os.path.basename(os.path.dirname(path)) in _OF_PROGRAMS or os.access(path, os.X_OK)


_INSTALLED = tuple(f"{folder}/" for folder in PROGRAM_FOLDERS)


def hides(text: str, head: str) -> bool:
    """Return True if a rule is about a git command and the line makes git read other settings."""
    return head.startswith("git ") and bool(_BY_ENVIRONMENT.search(text))


def _aliases(run: Run) -> bool:
    """Return True if git gets an alias, or a command that is not built in."""
    words = [os.path.basename(run.words[0]), *run.words[1:]]
    if words[0] != "git":
        return False
    settings = [after for word, after in zip(words, [*words[1:], ""], strict=True) if word in ("-c", "--config-env")]
    settings += [word[2:] for word in words if word.startswith("-c")]
    settings += [word.partition("=")[2] for word in words if word.startswith("--config-env=")]
    if any(_ALIASING.match(setting) or UNKNOWN in setting for setting in settings):
        return True
    if any(word.startswith("--exec-path=") for word in words):
        return True
    plain = next(iter(runs(Part(tuple(Piece(word) for word in words)))), words)
    command = plain[1] if len(plain) > 1 else ""
    if command == "config":
        return any(_ALIASING.match(word) for word in plain[2:])
    return bool(command) and command not in _GIT_COMMANDS and not _UNSURE.search(command)


def _may_match(words: Sequence[str], wanted: Sequence[str], *, whole: bool) -> bool:
    """Return True if unknown words may match the wanted ones. One unknown word may expand to several."""
    unsure = False
    for index, want in enumerate(wanted):
        if index >= len(words):
            return unsure and any(UNKNOWN in word or BELOW in word for word in words)
        word = os.path.basename(words[index]) if index == 0 else words[index]
        if _UNSURE.search(word):
            pattern = re.sub(f"[{UNKNOWN}{BELOW}]", "*", word)
            last = index == len(wanted) - 1 and not whole
            if not fnmatch.fnmatchcase(want, pattern) and not (last and fnmatch.fnmatchcase(want, f"{pattern}*")):
                return False
            unsure = True
        elif word != want and not (index == len(wanted) - 1 and not whole and word.startswith(want)):
            return unsure and any(UNKNOWN in one for one in words[:index])
    return unsure
