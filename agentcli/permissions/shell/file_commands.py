"""Commands about files and git's records whose whole effect is known from their options and operands.

File names take the place of patterns first, as the shell finds them.
"""

from __future__ import annotations

import glob
import itertools
import re
from collections.abc import Sequence
from pathlib import Path

from agentcli.permissions.paths import Workspace, judge_path
from agentcli.permissions.readonly.option_grammar import Found, Shape, fit
from agentcli.permissions.shell.parse import PLACE, Command

MOST = 500
"""Largest number of file names that the patterns of a line may match; a line with more asks."""
_TOO_MANY = "names too many files to be looked at first"


def meanings(command: Command, folders: Sequence[Path], workspace: Workspace) -> list[tuple[str, ...]] | str:
    """Return the words of a command as it may run: with file names in place of patterns, once for each round of its loop.

    If they cannot be determined, return the reason. A pattern that matches no file stays unchanged.
    """
    values = [""]
    if command.loop:
        found = _expanded(command.loop.words, command.loop.globs, folders, workspace)
        if isinstance(found, str):
            return found
        values = list(dict.fromkeys(found))
    rounds: list[tuple[str, ...]] = []
    globs = command.globs or ("",) * len(command.words)
    words = _expanded(command.words, globs, folders, workspace)
    if isinstance(words, str):
        return words
    for value in values:
        rounds.append(tuple(word.replace(PLACE, value) for word in words))
    return rounds


def _expanded(
    words: Sequence[str], globs: Sequence[str], folders: Sequence[Path], workspace: Workspace
) -> list[str] | str:
    expanded: list[str] = []
    for word, pattern in zip(words, globs, strict=True):
        if not pattern:
            expanded.append(word)
            continue
        # In older shells `.?` and `..*` match the parent folder as well.
        if any(part.startswith(".") and {"*", "?"} & set(part) for part in word.split("/")):
            return "uses a wildcard for hidden names"
        top = _folder_before(word)
        if top and any(judge_path(top, workspace, write=False, cwd=folder).verdict != "free" for folder in folders):
            return f"{top} is outside the workspace"
        fitting = (found for folder in folders for found in glob.iglob(pattern, root_dir=folder))
        names = list(dict.fromkeys(itertools.islice(fitting, MOST + 1)))
        expanded += names or [word]
        if len(expanded) > MOST:
            return _TOO_MANY
    return expanded


def _folder_before(word: str) -> str:
    """Return the folder that a pattern looks in: all before its first component with a wildcard."""
    parts = list(itertools.takewhile(lambda part: not {"*", "?"} & set(part), word.split("/")))
    return "/".join(parts) or ("/" if word.startswith("/") else "")


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
"""Commands that change only files of their operands. None of them removes anything but a file in its way."""

_COMMIT = """
-aqvsn -m:text -F:path --all --quiet --verbose --signoff --no-verify --message=text --file=path --author=text --date=text --allow-empty
--allow-empty-message --dry-run --trailer=text --no-gpg-sign
"""
RECORDING: dict[str, tuple[Shape, ...]] = {
    "add": (
        Shape("-AuvnNf --all --update --verbose --dry-run --intent-to-add --force --renormalize --chmod=word", "rev*"),
    ),
    "commit": (Shape(_COMMIT, "rev*"),),
    "mv": (Shape("-kvn --verbose --dry-run", "path path path*"),),
    "rm": (Shape("-rqn --cached --quiet --dry-run --ignore-unmatch", "path path*"),),
    "branch": (Shape("-qt --quiet --track --no-track", "name name?"),),
    "tag": (
        Shape("-am:text --annotate --message=text", "name name?"),
        Shape("-a -m:text --annotate --message=text", "name name?"),
    ),
    "checkout": (Shape("-q -b:name --quiet", "name?", needs="-b"),),
    "switch": (Shape("-q -c:name --create=name --quiet", "name?", needs="-c --create"),),
    "stash": (
        Shape("-ukqm:text"),
        Shape("-uq -m:text --include-untracked --keep-index --quiet --message=text", "=push rev*"),
    ),
    "restore": (Shape("-Sq --staged --quiet", "rev rev*", needs="-S --staged"),),
    "reset": (Shape("-q --quiet"), Shape("-q --quiet", "=HEAD rev*")),
}
"""Commands by which git records something and loses nothing that it does not keep."""


def changes_inside_all(command: Command, folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if a command of a plain line changes only files inside the workspace, in every round of its loop.

    File names replace its patterns; `folders` are the folders that it may run in.
    """
    rounds = meanings(command, folders, workspace)
    return not isinstance(rounds, str) and all(changes_inside(words, folders, workspace) for words in rounds)


def changes_inside(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if a command, run in any of `folders`, is known to change only files inside the workspace."""
    name, *arguments = words
    if name == "sed" and "" in arguments[:2]:
        arguments.remove("")  # `sed -i ''` as on macOS; elsewhere '' is an empty script, and the script names no file
    fitting = fit(CHANGING[name], arguments) if name in CHANGING else ""
    return not isinstance(fitting, str) and _inside(fitting[1], folders, workspace, write=True)


def records_in_git(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    """Return the reason why git does more than record, in a repository of the workspace that starts no program; or the empty string."""
    _, *arguments = words
    name = arguments[0] if arguments else ""
    fitting = fit(RECORDING[name], arguments[1:]) if name in RECORDING else ""
    if isinstance(fitting, str):
        return f"git {name} changes the repository".replace("  ", " ")
    if not _inside(fitting[1], folders, workspace, write=name in ("mv", "rm")):
        return f"git {name} leads outside the workspace"
    return next(filter(None, (repository_problem(folder, workspace) for folder in folders)), "")


def _inside(found: Found, folders: Sequence[Path], workspace: Workspace, *, write: bool) -> bool:
    values = [value for kind, value in found if kind in ("path", "rev")]
    return all(
        judge_path(value, workspace, write=write, cwd=folder).verdict == "free"
        for value in values
        for folder in folders
    )


def repository_problem(folder: Path, workspace: Workspace) -> str:
    """Return the reason why git may start a program when it records in a folder, or write outside the workspace."""
    top = next((top for top in (folder, *folder.parents) if (top / ".git").exists()), None)
    inside = top is not None and any(root in (top, *top.parents) for root in workspace.resolved_roots)
    if top is None or not inside or (top / ".git").is_symlink() or not (top / ".git/config").is_file():
        return "the repository lies outside the workspace"
    if danger := workspace.git(folder).danger:
        return danger
    hooks = top / ".git/hooks"
    if not hooks.is_dir():
        return "the repository has no folder for hooks, which the sandbox could close"
    settings = (top / ".git/config", workspace.home / ".gitconfig", workspace.home / ".config/git/config")
    if found := next(filter(None, map(_program_at_commit, settings)), ""):
        return f"git is set to run a program when it records ({found})"
    active = sorted(hook.name for hook in hooks.iterdir() if hook.suffix != ".sample")
    return f"git runs the hook {active[0]} of the repository" if active else ""


_AT_COMMIT = re.compile(r"^\s*(hookspath|gpgsign)\s*=(?!\s*(?:false|no|off|0)\b)", re.IGNORECASE | re.MULTILINE)


def _program_at_commit(file: Path) -> str:
    """Return the setting of a git config that makes git run a program when it records, or the empty string."""
    try:
        found = _AT_COMMIT.search(file.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ""
    return found[1] if found else ""
