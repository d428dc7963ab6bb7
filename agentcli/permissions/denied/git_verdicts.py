"""Denied content that a git command shows, judged by its words and the known contents of a repository."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.permissions.denied.history import Held, excluding
from agentcli.permissions.denied.objects import Named, named_objects
from agentcli.permissions.paths import Workspace
from agentcli.permissions.shell.effects.git_repositories import RECORDING, repository_problem
from agentcli.permissions.shell.programs.git_table import (
    GIT_READERS,
    LIMITED,
    limits,
    path_named,
    shows_path,
    shows_text,
)
from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.permissions.shell.programs.option_grammar import Found, fit
from agentcli.system.git import reads_only

_CHANGING = word_set("""
add commit branch tag checkout switch stash restore reset push pull fetch merge rebase cherry-pick revert remote init gc prune clean rm mv
""")
"""Commands that, with the options below, show no content of files."""
_QUIET = word_set("""
-q --quiet -f --force --force-with-lease -u --set-upstream --set-upstream-to -a --all -A -m --message -am --amend --no-edit -b -B -c -C
-d -D --delete --ff-only --no-ff --ff --rebase --no-rebase --autostash --no-autostash --continue --abort --skip --quit --onto --hard
--soft --mixed --keep --staged -S --worktree --prune --tags --no-tags --depth --unshallow --signoff -s --no-verify --allow-empty
--include-untracked --keep-index --index --track --no-track -t --detach --orphan --create --dry-run -n --update -N --intent-to-add
--ours --theirs --no-commit --squash --author --date --source -x -e --cleanup --progress --no-progress --porcelain -- -F --file
--show-current --list -l -r --remotes -fd -fdx -df --merged --no-merged --contains --sort
""")
"""Options of such commands with which they show no content either."""
_QUIET_FORMS = [("worktree", [form]) for form in ("remove", "prune", "lock", "unlock")]
"""Subcommands that show no content either, whatever their options."""
_TAKING = word_set("add commit stash")
"""Commands that may put the content of work tree files into the repository."""
_TREES = word_set("diff grep log show whatchanged rev-list diff-tree diff-index range-diff")
"""Commands that, if they show file text, show that of a tree."""
_OID = re.compile(r"[0-9a-fA-F]{4,64}")

_OTHERS = "Use git diff, git show or git log -p: such files are left out of what these show."
_ELSEWHERE = (
    "It copies such files to where no rule names them: work in this folder without it, or say that it was left out."
)
_COPYING = word_set("worktree clone bundle checkout-index read-tree")
"""Commands that write tracked files to other places."""
_BY_ITSELF = (
    "Run git by itself, with its words written out, such as `git diff` or `git show COMMIT`: such files are left out."
)

Shows = Literal["nothing", "denied", "unknown"]


@dataclass(frozen=True, slots=True)
class GitVerdict:
    """Denied content that a git command shows; `name` is a denied file, relative to the top of its work tree."""

    shows: Shows
    name: str = ""
    held: Held | None = None
    masked: bool = True
    """True if denied files must be hidden from it anyway.

    It runs programs of the repository, or would commit the files.
    """
    programs: bool = True
    """True if it may run programs of the repository, which could read any object of its history."""
    exclusions: tuple[str, ...] = ()
    """Pathspecs with which it would show no denied file; empty if no pathspec can do that."""
    advice: str = _OTHERS
    """The next step if no pathspec can do that."""
    limit: str = ""
    """The first operand that it treats as a path without `--` before it; empty if there is none."""


def judge_git(
    words: Sequence[str], folders: Sequence[Path], held: Sequence[Held], tracked: bool, workspace: Workspace
) -> GitVerdict:
    """Judge a git command that may run in any of `folders`. `tracked` is true if every existing denied file is in the index."""
    rest, places = list(words[1:]), list(folders)
    while rest and rest[0].startswith("-") and rest[0] != "--version":
        option = rest.pop(0)
        if option == "-C" and rest:
            into = rest.pop(0)
            places = [folder / into for folder in places]
        elif option == "-c" and rest and reads_only(rest[0].partition("=")[0].lower()):
            rest.pop(0)
        elif option not in ("--no-pager", "-P", "--no-optional-locks"):
            return _unknown(held)
    if not rest:
        return GitVerdict("nothing", masked=False)
    name, *arguments = rest
    if name in GIT_READERS:
        fitting = fit(GIT_READERS[name], arguments)
        if not isinstance(fitting, str):
            return _reads(name, fitting[1], places, held, workspace)
    if (name in _CHANGING and _known_quiet(name, arguments)) or (name, arguments[:1]) in _QUIET_FORMS:
        named = _named(arguments, places, held, workspace)
        for each in held:
            if each.any and named.shows(each, trees=True):
                return GitVerdict("denied", min(each.names, default=""), each)
            if name == "mv" and each.any and (file := _moved(arguments, places, each)):
                return GitVerdict(
                    "denied", file, each, advice="Name what to move, one file or folder beside it after the other."
                )
        takes = name in _TAKING and not tracked and not _takes_named(name, arguments, places)
        hooks = any(repository_problem(folder, workspace, name) for folder in places)
        return GitVerdict("nothing", masked=takes or hooks, programs=hooks)
    return replace(_unknown(held), advice=_ELSEWHERE if name in _COPYING else _OTHERS)


def _known_quiet(name: str, arguments: Sequence[str]) -> bool:
    fitting = fit(RECORDING[name], arguments) if name in RECORDING else ""
    if not isinstance(fitting, str):
        given = [value for kind, value in fitting[1] if kind == "option"]
        verbose = sum(option in ("-v", "--verbose") for option in given)
        # These print changes as text, where a commit alone opens them in an editor.
        return name != "commit" or not verbose or (verbose == 1 and "--dry-run" not in given)
    options = [word.partition("=")[0] for word in arguments if word.startswith("-")]
    return all(option in _QUIET for option in options)


def _moved(arguments: Sequence[str], folders: Sequence[Path], held: Held) -> str:
    """Return a denied file that a move would rename, or an empty string."""
    names = held.names if held.known else {"."}
    moved = [folder / word for folder in folders for word in arguments if not word.startswith("-")]
    paths = [os.path.normpath(path) for path in moved]
    return next((name for name in sorted(names) if any((held.top / name).is_relative_to(path) for path in paths)), "")


def _named(words: Iterable[str], folders: Sequence[Path], held: Sequence[Held], workspace: Workspace) -> Named:
    return named_objects(words, folders, workspace.resolved_roots) if any(each.any for each in held) else Named()


def _takes_named(name: str, arguments: Sequence[str], folders: Sequence[Path]) -> bool:
    """Return True if a command puts only listed files or the index into the repository."""
    options = [word for word in arguments if word.startswith("-") and word != "--"]
    operands = [word for word in arguments if not word.startswith("-")]
    if name == "commit":
        fitting = fit(RECORDING[name], arguments)
        if isinstance(fitting, str):
            return False
        found = fitting[1]
        return not any(pair in found for pair in (("option", "-a"), ("option", "--all"))) and not any(
            kind == "rev" for kind, _ in found
        )
    files = all(os.path.isfile(folder / word) for folder in folders for word in operands)
    return name == "add" and bool(operands) and files and not options


def _unknown(held: Sequence[Held]) -> GitVerdict:
    holding = next((each for each in held if each.any), None)
    return GitVerdict("unknown", min(holding.names, default="") if holding else "", holding)


def _reads(name: str, found: Found, folders: Sequence[Path], held: Sequence[Held], workspace: Workspace) -> GitVerdict:
    danger = any(workspace.git(folder).danger for folder in folders)
    shown = shows_text(name, found)
    behind = sum(kind == "behind" for kind, _ in found)
    revs = [value for kind, value in found if kind == "rev"]
    values = revs[: len(revs) - behind]
    named = _named(values, folders, held, workspace)
    scopes: list[tuple[Held, str]] = []
    for each in held:
        if not each.any:
            continue
        by_name = any(path_named(value) is not None for value in values)
        if each.replaced and (shown or by_name):
            return GitVerdict("denied", min(each.names, default=""), each)
        if file := _named_object(values, folders, each):
            return GitVerdict("denied", file, each)
        if named.shows(each, trees=shown and name in _TREES):
            return GitVerdict("denied", min(each.names, default=""), each)
        if name == "cat-file" and each.known:
            continue
        if shown and (file := next(filter(None, (_in_scope(name, found, folder, each) for folder in folders)), "")):
            scopes.append((each, file))
    if scopes:
        (first, file), *_ = scopes
        exclusions = tuple(dict.fromkeys(spec for each, _ in scopes for spec in each.exclusions))
        if why_not := _no_exclusions(name, found):
            return GitVerdict("denied", file, first, advice=why_not)
        return GitVerdict(
            "denied", file, first, exclusions=exclusions, advice=_BY_ITSELF, limit=_first_path(name, found, folders)
        )
    return GitVerdict("nothing", masked=danger)


def _no_exclusions(name: str, found: Found) -> str:
    """Return what to do instead of a command that pathspecs cannot limit further; empty if they can."""
    options = {value for kind, value in found if kind == "option"}
    if "--follow" in options or "-L" in options:
        return (
            f"Omit {'--follow' if '--follow' in options else '-L'}: `git log -p -- FILE` shows the changes of a file."
        )
    if name == "stash":
        return "`git diff 'stash@{0}^' 'stash@{0}'` shows a stash without such files."
    return "" if name in LIMITED else _OTHERS


def _first_path(name: str, found: Found, folders: Sequence[Path]) -> str:
    if ("option", "--") in found:
        return ""
    values = [value for kind, value in found if kind == "rev"]
    return next((path for folder in folders for path in limits(name, found, str(folder)) if path in values), "")


def _named_object(values: Iterable[str], folders: Sequence[Path], held: Held) -> str:
    """Return a denied file that a revision refers to, by the id of its content or as `HEAD:path`.

    Return an empty string if there is none.
    """
    for value in values:
        if _OID.fullmatch(value) and (not held.known or any(blob.startswith(value.lower()) for blob in held.blobs)):
            return min(held.names, default=value)
        if not (path := path_named(value)):
            continue
        if not held.known:
            return path
        spelled = {os.path.normpath(path)}
        spelled |= {os.path.relpath(os.path.normpath(folder / path), held.top) for folder in folders}
        if match := next((each for each in held.names if each in spelled), ""):
            return match
    return ""


def _in_scope(name: str, found: Found, folder: Path, held: Held) -> str:
    """Return a denied file that a command with text output may show in a folder, or an empty string."""
    here = os.path.realpath(folder)
    specs = [] if ("option", "--follow") in found else limits(name, found, here)
    if held.specs and all(excluding(spec) in specs for spec in held.specs):
        return ""
    names = held.names if held.known else {"(its history could not be looked through)"}
    return next((each for each in sorted(names) if shows_path(specs, here, held.top, str(held.top / each))), "")
