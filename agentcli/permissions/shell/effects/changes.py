"""Checks of a command's changes to files: do they stay in the workspace, and could undo restore the files?"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from agentcli.permissions.git_config import changed, indexed, repository
from agentcli.permissions.paths import UndoCover, Workspace, below, judge_entry, judge_path, names_protected, resolved
from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.permissions.shell.programs.option_grammar import Found, Shape, fit
from agentcli.permissions.shell.syntax.file_names import meanings
from agentcli.permissions.shell.syntax.parse import UNKNOWN, Command, Part
from agentcli.system import probe

_SED_SCRIPTS = "-nErsuiz -e:sed --expression=sed --in-place --quiet --silent --regexp-extended --sandbox --posix"
_SED = "-nErsuiz --in-place --quiet --silent --regexp-extended --sandbox --posix"

CHANGING: dict[str, tuple[Shape, ...]] = {
    "mkdir": (Shape("-pv -m:word --parents --verbose --mode=word", "path path*"),),
    "touch": (Shape("-acm -d:text -t:word --no-create --date=text", "path path*"),),
    "rmdir": (Shape("-pv --parents --verbose --ignore-fail-on-non-empty", "path path*"),),
    "cp": (
        Shape(
            "-aRrpfinuvTd --recursive --force --no-clobber --update --verbose --archive --parents", "path path path*"
        ),
    ),
    "mv": (Shape("-finuvT --force --no-clobber --update --verbose", "path path path*"),),
    "chmod": (Shape("-v --verbose", "word path path*"),),
    "sed": (Shape(_SED_SCRIPTS, "path path*", needs="-e --expression"), Shape(_SED, "sed path path*")),
}
"""Commands that change only the files in their operands. None of them removes anything except a file in its way."""
_GONE_FOR_GOOD = word_set("shred srm wipe")
_REMOVING = word_set("rm unlink trash rimraf")
_DISCARDING = word_set("rsync truncate")
_BY_OPTION = word_set("-delete clean")
"""Words by which `find` and git remove files."""
_DECODING = word_set("base64 base32 xxd uudecode")
"""Programs whose output may be a command that nobody can read in the line."""
_TOKENS = re.compile(r"[\s'\"`()\[\]{},;=:<>|&!+$]+")
_CACHES = word_set("__pycache__ .mypy_cache .ruff_cache .cache")
"""Folders whose content programs make again."""


def replaces(name: str) -> bool:
    """Return True for a program whose purpose is to change or remove the files that it is given."""
    return name in CHANGING.keys() | _GONE_FOR_GOOD | _REMOVING | _DISCARDING


def names_remover(text: str) -> bool:
    """Return True if a text names a program or option that removes files, discards their content or decodes text.

    Whatever else a line hides, a sandbox contains it like a script. Only what it removes may be lost.
    """
    named = {os.path.basename(token) for token in _TOKENS.split(text.replace("\\", ""))}
    return not named.isdisjoint(_GONE_FOR_GOOD | _REMOVING | _DISCARDING | _BY_OPTION | _DECODING)


def changes_inside_all(command: Command, folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if a command changes only files inside the workspace, in every round of its loop.

    File names replace its patterns; `folders` are the folders in which it may run.
    """
    rounds = meanings(command, folders, workspace)
    return not isinstance(rounds, str) and all(changes_inside(words, folders, workspace) for words in rounds)


def changes_inside(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if a command, run in any of `folders`, is known to change only files inside the workspace."""
    name, *arguments = words
    if name == "sed" and "" in arguments[:2]:
        arguments.remove("")  # `sed -i ''` as on macOS; elsewhere '' is an empty script, and the script is not a file
    fitting = fit(CHANGING[name], arguments) if name in CHANGING else ""
    return not isinstance(fitting, str) and stays_inside(fitting[1], folders, workspace, write=True)


def stays_inside(
    found: Found, folders: Sequence[Path], workspace: Workspace, *, write: bool, named: bool = False
) -> bool:
    """Return True if all paths among the arguments are in the workspace, as seen from each of the folders.

    With `named`, a command uses only their names.
    """
    judge = (
        partial(judge_entry, workspace=workspace) if named else partial(judge_path, workspace=workspace, write=write)
    )
    values = [value for kind, value in found if kind in ("path", "rev")]
    return all(judge(value, cwd=folder).verdict == "free" for value in values for folder in folders)


def removal_problem(
    name: str, arguments: Sequence[str], part: Part, folders: Sequence[Path], workspace: Workspace
) -> str:
    """Return why files that a command removes could not be restored, or an empty string."""
    finds = name == "find" and ("-delete" in arguments or not (_REMOVING | _GONE_FOR_GOOD).isdisjoint(arguments))
    if name in _GONE_FOR_GOOD or name in _DISCARDING:
        return f"{name} discards the old content"
    if name not in _REMOVING and not finds:
        return ""
    operands = [word for word in arguments if not word.startswith("-")]
    if operands and in_tmp([folder / word for word in operands for folder in folders], workspace):
        return ""
    if workspace.undo is None:
        return "removes files, and nothing could put them back"
    if (
        part.words[0].text == "xargs"
        or any(UNKNOWN in word for word in operands)
        or (name in _REMOVING and not operands)
    ):
        return "removes what only the shell knows"
    if finds:
        operands = [word for word in operands[:1] if "/" in word or os.path.lexists(folders[0] / word)] or ["."]
    removed = [path for word in operands for folder in folders for path in matches(word, folder)]
    if _too_large(workspace, workspace.undo):
        return "removes files, and the workspace is too large to be restored"
    return next(filter(None, (loss(path, workspace) for path in removed)), "")


def overwriting_problem(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    """Return why files that a command replaces could not be restored, or an empty string."""
    if words[0] not in ("cp", "mv", "sed"):
        return ""
    targets = words[1:] if words[0] == "sed" else words[-1:]
    found = (folder / word for word in targets for folder in folders)
    files = filter(os.path.isfile, found)
    return next(filter(None, (loss(path, workspace) for path in files)), "")


def discarding_problem(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    """Return why undo could not restore the files that a git command replaces; empty if it replaces none."""
    name, *arguments = words[1:]
    if name == "reset" and "--hard" in arguments:
        return _reset_problem([word for word in arguments if not word.startswith("-")], folders, workspace)
    forced = (
        name == "rm" and "--cached" not in words and any(re.fullmatch("-[a-z]*f.*|--force", word) for word in words)
    )
    if not forced and (name not in ("checkout", "restore") or not {"-b", "-B", "--staged", "-S"}.isdisjoint(arguments)):
        return ""
    if workspace.undo is not None and _too_large(workspace, workspace.undo):
        return f"git {name} discards changes, and the workspace is too large to be restored"
    named = (folder / word for word in arguments for folder in folders if word != "--")
    judge = loss if _from_commit(name, arguments) else _replacing_problem
    return next(filter(None, (judge(path, workspace) for path in named)), "")


def _from_commit(name: str, arguments: Sequence[str]) -> bool:
    """Return True if git takes files from a commit, which may contain some that are not tracked now."""
    source = any(word.startswith(("-s", "--source")) for word in arguments)
    before = arguments[: arguments.index("--")] if "--" in arguments else []
    return name == "rm" or source or any(not word.startswith("-") for word in before)


def _replacing_problem(path: Path, workspace: Workspace) -> str:
    """Return why undo could not restore what git replaces at a path: in a folder, only files that it tracks."""
    places = repository(path) if probe.is_dir(path) else ()
    if not places or workspace.undo is None:
        return loss(path, workspace)
    try:
        lost = [file for file in changed(places[1], resolved(places[0])) if below(file, (resolved(path),))]
    except (OSError, ValueError, IndexError):
        return loss(path, workspace)
    return _unrestorable(lost, resolved(places[0]), workspace, workspace.undo)


def _unrestorable(files: Sequence[Path], top: Path, workspace: Workspace, undo: UndoCover) -> str:
    """Return why undo could not restore files of a work tree; empty if it could."""
    skipped = (path for path in files if not undo.skipped.isdisjoint(path.relative_to(top).parts))
    if why := next((f"{path.name} could not be restored" for path in skipped), ""):
        return why
    return next(filter(None, (loss(path, workspace) for path in files)), "")


def _reset_problem(revisions: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    """Return why undo could not restore the files that `git reset --hard` replaces.

    They are the changed ones of those that git tracks. Another commit may also contain a file that is not tracked now.
    """
    undo = workspace.undo
    if undo is None:
        return "git reset discards changes, and nothing could put them back"
    for folder in folders:
        top, *places = map(resolved, repository(folder))
        try:
            lost = changed(places[0], top)
        except (OSError, ValueError, IndexError):
            return "git reset discards changes, and the repository does not tell which"
        if revisions not in ([], ["HEAD"]):
            recorded = {top / path for path in indexed(places[0])}
            lost += [path for path in _large(workspace, undo) if resolved(path) not in recorded]
        if lost and _too_large(workspace, undo):
            return "git reset discards changes, and the workspace is too large to be restored"
        if why := _unrestorable(lost, top, workspace, undo):
            return why
    return ""


def loss(path: Path, workspace: Workspace) -> str:
    """Return why undo could not restore the content of a path.

    Return an empty text if it could, or if nothing of value exists there.
    """
    undo = workspace.undo
    if in_tmp([path], workspace):
        return ""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return ""
    if undo is None:
        return "replaces a file, and nothing could put it back"
    most, skipped = undo.bytes, undo.skipped
    if not stat.S_ISDIR(status.st_mode):
        return f"{path.name} is too large to be restored" if status.st_size > most else ""
    if path.name in skipped:
        return "" if path.name in _CACHES else f"{path.name} could not be restored"
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in (*folders, *sorted(names)):
            if (name in skipped and name not in _CACHES) or names_protected(name, write=True):
                return f"{path.name} contains {name}, which could not be restored"
        folders[:] = [name for name in folders if name not in _CACHES]
        large = (name for name in names if _size(os.path.join(folder, name)) > most)
        if found := next(large, ""):
            return f"{path.name} contains {found}, which is too large to be restored"
    return ""


def all_restorable(workspace: Workspace) -> bool:
    """Return True if any command would be harmless in the sandbox: undo could restore all files, and none is private.

    The repository and programs' settings are closed to it.
    """
    undo = workspace.undo
    if undo is None:
        return False
    left = undo.files
    for folder, folders, names in chain.from_iterable(map(os.walk, workspace.resolved_roots)):
        folders[:] = [name for name in folders if name != ".git" and name not in _CACHES]
        left -= len(names) + len(folders)
        if (
            left < 0
            or not undo.skipped.isdisjoint(folders)
            or any(names_protected(name, write=False) for name in names)
        ):
            return False
        if any(_size(os.path.join(folder, name)) > undo.bytes for name in names):
            return False
    return True


def in_tmp(paths: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if all paths are in the session's private /tmp, as far as known."""
    tmp = workspace.tmp
    known = (os.path.normpath(str(path).partition(UNKNOWN)[0]) for path in paths)
    return tmp is not None and all(path.startswith(f"{tmp}/") for path in known)


def matches(word: str, folder: Path) -> list[Path]:
    """Return the files that a word may mean; as in the shell, a pattern without a match means itself."""
    pattern = word.partition("{")[0] + "*" if "{" in word else word
    return [folder / found for found in sorted(glob.glob(pattern, root_dir=folder, include_hidden=True)) or [word]]


def _too_large(workspace: Workspace, undo: UndoCover) -> bool:
    """Return True if the workspace has more files than undo covers."""
    left = undo.files
    for root in workspace.resolved_roots:
        for _, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name not in undo.skipped]
            left -= len(names) + len(folders)
            if left < 0:
                return True
    return False


def _large(workspace: Workspace, undo: UndoCover) -> list[Path]:
    """Return the files of the workspace that are too large for undo, outside the folders that it leaves out."""
    found: list[Path] = []
    for folder, folders, names in chain.from_iterable(map(os.walk, workspace.resolved_roots)):
        folders[:] = [name for name in folders if name not in undo.skipped]
        found += [Path(folder, name) for name in names if _size(os.path.join(folder, name)) > undo.bytes]
    return found


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
