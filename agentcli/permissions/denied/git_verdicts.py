"""Denied content that a command of git shows, by its words and by what a repository is known to hold."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.permissions.denied.files import Held
from agentcli.permissions.denied.objects import Named, named_objects
from agentcli.permissions.paths import Workspace
from agentcli.permissions.readonly.git_table import GIT_READERS, covers, limits, path_named, shows_text
from agentcli.permissions.readonly.option_grammar import Found, fit
from agentcli.permissions.shell.git_repositories import RECORDING, repository_problem
from agentcli.permissions.shell.known_programs import word_set
from agentcli.system.git_keys import reads_only

_CHANGING = word_set("""
add commit branch tag checkout switch stash restore reset push pull fetch merge rebase cherry-pick revert remote init gc prune clean
""")
"""Commands that show no content of files, with the options below."""
_QUIET = word_set("""
-q --quiet -f --force --force-with-lease -u --set-upstream --set-upstream-to -a --all -A -m --message -am --amend --no-edit -b -B -c -C
-d -D --delete --ff-only --no-ff --ff --rebase --no-rebase --autostash --no-autostash --continue --abort --skip --quit --onto --hard
--soft --mixed --keep --staged -S --worktree --prune --tags --no-tags --depth --unshallow --signoff -s --no-verify --allow-empty
--include-untracked --keep-index --index --track --no-track -t --detach --orphan --create --dry-run -n --update -N --intent-to-add
--ours --theirs --no-commit --squash --author --date --source -x -e --cleanup --progress --no-progress --porcelain -- -F --file
--show-current --list -l -r --remotes -fd -fdx -df --merged --no-merged --contains --sort
""")
"""Options of such commands that make them show no content either."""
_TAKING = word_set("add commit stash")
"""Commands that may put the content of files of the work tree into the repository."""
_SENDING = word_set("push pull fetch remote")
"""Commands that may use another repository on this machine, to which no rule would apply."""
_ADDRESS = re.compile(r"(?!file:)[a-z][a-z+.-]*://|[^/:]+:(?!:)")
"""Address of a repository on another machine: `https://host/path` or `host:path`."""
_TREES = word_set("diff grep log show whatchanged rev-list diff-tree diff-index range-diff")
"""Commands that show the text of files of a tree, if they show any."""
_OID = re.compile(r"[0-9a-fA-F]{4,64}")
_EXCLUDING = re.compile(r":(?:(?P<sign>[!^]/?|/[!^])|\((?P<words>[a-z,]*)\))(?P<rest>.*)", re.DOTALL)

Shows = Literal["nothing", "denied", "unknown"]


@dataclass(frozen=True, slots=True)
class GitVerdict:
    """Which denied content a git command shows; `name` is a denied file, relative to the top of its work tree."""

    shows: Shows
    name: str = ""
    held: Held | None = None
    masked: bool = True
    """True if denied files must be hidden from it anyway: it runs programs of the repository, or would record the files."""


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
    elsewhere = name in _SENDING and _to_this_machine(name, arguments, places, held)
    if name in _CHANGING and _known_quiet(name, arguments) and not elsewhere:
        named = _named(arguments, places, held, workspace)
        for each in held:
            if each.any and named.shows(each, trees=True):
                return GitVerdict("denied", min(each.names, default=""), each)
        takes = name in _TAKING and not tracked and not _takes_named(name, arguments, places)
        hooks = any(repository_problem(folder, workspace, name) for folder in places)
        return GitVerdict("nothing", masked=takes or hooks)
    return _unknown(held)


def _known_quiet(name: str, arguments: Sequence[str]) -> bool:
    fitting = fit(RECORDING[name], arguments) if name in RECORDING else ""
    if not isinstance(fitting, str):
        return True
    options = [word.partition("=")[0] for word in arguments if word.startswith("-")]
    return all(option in _QUIET for option in options)


def _to_this_machine(name: str, arguments: Sequence[str], folders: Sequence[Path], held: Sequence[Held]) -> bool:
    """Return True if a command may send to or fetch from a repository on this machine, also one that does not exist yet."""
    if any(word.startswith("file:") or os.path.lexists(folder / word) for folder in folders for word in arguments):
        return True
    words = iter(arguments)
    operands = [
        word for word in words if not (word.startswith("-") and (word != "--depth" or next(words, "") is not None))
    ]
    if name == "remote":
        return operands[:1] in (["add"], ["set-url"]) and not all(map(_ADDRESS.match, operands[2:]))
    remotes = frozenset[str]().union(*(each.remotes for each in held))
    return bool(operands) and operands[0] not in remotes and not _ADDRESS.match(operands[0])


def _named(words: Iterable[str], folders: Sequence[Path], held: Sequence[Held], workspace: Workspace) -> Named:
    return named_objects(words, folders, workspace.resolved_roots) if any(each.any for each in held) else Named()


def _takes_named(name: str, arguments: Sequence[str], folders: Sequence[Path]) -> bool:
    """Return True if a command puts only named files or the content of the index into the repository."""
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
    values = [value for kind, value in found if kind == "rev"]
    named = _named(values, folders, held, workspace)
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
        if shown and any(_in_scope(name, found, folder, each) for folder in folders):
            file = next((_in_scope(name, found, folder, each) for folder in folders), "")
            return GitVerdict("denied", file, each)
    return GitVerdict("nothing", masked=danger)


def _named_object(values: Iterable[str], folders: Sequence[Path], held: Held) -> str:
    """Return a denied file that a revision names, by the id of its content or as `HEAD:path`; else the empty string."""
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
    """Return a denied file that a command with text output may show in a folder, or the empty string."""
    here = os.path.realpath(folder)
    followed = ("option", "--follow") in found
    specs = [] if followed else limits(name, found, here)
    included = [spec for spec in specs if _excluded(spec) is None]
    left_out = [pattern for spec in specs if (pattern := _excluded(spec)) is not None]
    names = held.names if held.known else {"(its history could not be looked through)"}
    for each in sorted(names):
        path = str(held.top / each)
        inside = not included or any(covers(spec, here, path) for spec in included)
        if inside and not any(_left_out(pattern, here, held.top, each) for pattern in left_out):
            return each
    return ""


def _excluded(spec: str) -> tuple[bool, str] | None:
    """Return what a pathspec excludes: whether it counts from the top, and its pattern; None if it excludes nothing."""
    match = _EXCLUDING.fullmatch(spec)
    if not match:
        return None
    if match["sign"]:
        return "/" in match["sign"], match["rest"]
    words = set(match["words"].split(","))
    if "glob" in words and not match["rest"].endswith("/**"):
        return None
    return ("top" in words, match["rest"]) if "exclude" in words and words <= {"exclude", "top", "glob"} else None


def _left_out(excluded: tuple[bool, str], here: str, top: Path, name: str) -> bool:
    """Return True if a pattern certainly excludes a file; False if in doubt."""
    from_top, pattern = excluded
    base = str(top) if from_top else here
    path = os.path.relpath(top / name, base)
    pattern = pattern.removesuffix("/**").removesuffix("/*").rstrip("/")
    if not pattern or path.startswith(".."):
        return False
    plain = not set(pattern) & set("*?[\\")
    if plain:
        return path == pattern or path.startswith(pattern + "/")
    return "\\" not in pattern and fnmatch.fnmatchcase(path, pattern)
