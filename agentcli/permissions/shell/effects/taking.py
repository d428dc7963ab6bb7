"""Files of the workspace that a command outside the sandbox takes elsewhere, such as into a container."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from agentcli.permissions.paths import Workspace, below, judge_path, names_protected, resolved
from agentcli.permissions.shell.effects.always_asked import names_only
from agentcli.permissions.shell.effects.changes import matches
from agentcli.permissions.shell.effects.private_tmp import seen_text
from agentcli.permissions.shell.programs.forge import files_told
from agentcli.permissions.shell.programs.known_programs import limited, word_set
from agentcli.permissions.shell.programs.listing import placed
from agentcli.permissions.shell.programs.readers import fits_reading
from agentcli.permissions.shell.programs.services import after_compose_options, reads_service
from agentcli.permissions.shell.syntax.parse import UNKNOWN, Command, contents, plain_git, syntax_tree
from agentcli.permissions.shell.syntax.parse import below as nodes_below
from agentcli.permissions.shell.syntax.state import Run
from agentcli.system import probe


def may_be_taken(text: str, folder: Path, workspace: Workspace) -> bool:
    """Return True for a file of the workspace or /tmp that may be read unasked, or does not exist."""
    there = folder / seen_text(text, workspace)
    return _free(text, there, folder, workspace, write=False) and (os.path.isfile(there) or not os.path.lexists(there))


def may_be_made(text: str, name: str, folder: Path, workspace: Workspace) -> bool:
    """Return True if a file put there, or into that folder under its `name`, replaces none and is not protected."""
    there = folder / seen_text(text, workspace)
    if os.path.isdir(there):
        text, there = os.path.join(text, name), there / name
    return _free(text, there, folder, workspace, write=True) and not os.path.lexists(there)


def _free(text: str, there: Path, folder: Path, workspace: Workspace, *, write: bool) -> bool:
    if workspace.tmp is not None and below(resolved(there), (resolved(workspace.tmp),)):
        return True
    return judge_path(text, workspace, write=write, cwd=folder).verdict == "free"


def takes_own(command: Command, folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if a command of `gh` takes only text of the line itself and such files."""
    files = files_told(command.words)
    piped = "-" in files and command.joint == "|"
    return not piped and all(file == "-" or may_be_taken(file, at, workspace) for file in files for at in folders)


_WRITING = word_set("cat echo printf mkdir touch tee cd true sleep kill killall pkill")


def makes_no_links(words: Sequence[str]) -> bool:
    """Return True if a command surely puts no link in the place of a file that is taken later."""
    name, *arguments = words
    if name in _WRITING or fits_reading(name, list(words)) or changes_no_file(words):
        return True
    if (name, *arguments[:1]) in (("docker", "cp"), ("podman", "cp")):
        return ":" in arguments[-1]  # out of a container, it may copy a link
    fetches = not {"api", "checkout", "clone", "download"}.isdisjoint(arguments)
    return (
        (name, *arguments[:1]) in (("git", "push"), ("git", "fetch")) or name == "ssh" or (name == "gh" and not fetches)
    )


def changes_no_file(words: Sequence[str]) -> bool:
    """Return True if a command about containers surely changes no file of the workspace, now or later."""
    name, *arguments = words
    if name != "docker":
        return False
    if arguments[:1] != ["compose"]:
        return arguments[:1] in (["build"], ["pull"]) or reads_service(words)
    rest = after_compose_options(arguments[1:])
    return rest[:1] in (["build"], ["pull"], ["down"], ["stop"]) or reads_service(words)


def line_changes_no_file(text: str) -> bool:
    """Return True if that is so for every command of a line, apart from changes of the folder."""
    parts, whole = contents(text)
    lines = [part.texts for part in parts]
    return whole and all(not words or words[0] == "cd" or changes_no_file(words) for words in lines)


def line_makes_no_links(text: str) -> bool:
    """Return True if that is so for every command of a line."""
    parts, whole = contents(text)
    lines = [part.texts for part in parts]
    return whole and all(not words or makes_no_links(words) for words in lines)


def displaces(text: str, runs: Sequence[Run], workspace: Workspace) -> bool:
    """Return True if a line puts a link or a protected file where another of its commands may use it.

    Such a path was looked at before anything was there.
    """
    links = any(_moved(run)[:1] == ["ln"] for run in runs)
    moving = [number for number, run in enumerate(runs) if _displaces(run, workspace, links)]
    if not moving:
        return False
    ordered = _TOGETHER.isdisjoint(node.type for node in nodes_below(syntax_tree(text)))
    others = [run for number, run in enumerate(runs) if number != moving[0] and (number > moving[0] or not ordered)]
    return any(run.reads or run.writes or (run.words and not _shows_names(run.words)) for run in others)


_TOGETHER = word_set(
    "pipeline for_statement while_statement c_style_for_statement function_definition & command_substitution"
)
"""Forms in which a later command of the text may run earlier."""
_COPYING = re.compile(r"-\w*[aRrdPl]\w*|--(?:archive|recursive|no-dereference|links)")
_MOST_LOOKED_AT = 2_000
"""Maximum files of a folder to look at; a larger one counts as one with links."""


def _moved(run: Run) -> list[str]:
    """Return the words of a command that moves, copies or links files; none for any other."""
    words = plain_git(list(limited(run.words))) if run.words else []
    words = words[1:] if words[:2] == ["git", "mv"] else words
    return words if words and words[0] in ("mv", "cp", "ln", "rsync") else []


def _displaces(run: Run, workspace: Workspace, links: bool) -> bool:
    """Return True if a command puts a link or a protected file at another path. `links`: the line makes links."""
    words = _moved(run)
    if not words or (words[0] in ("cp", "rsync") and not any(map(_COPYING.fullmatch, words))):
        return False
    *sources, target = [word for word in words[1:] if not word.startswith("-")] or [""]
    if not sources or any(UNKNOWN in word for word in words):
        return True
    if words[0] == "ln" and ("/" in target or os.path.isdir(run.folders[0] / target)):
        return True  # a relative name means another file there
    found = [path for word in sources for at in run.folders for path in matches(str(placed(word, at, workspace)), at)]
    if words[0] == "ln":
        return any(path.is_symlink() or not probe.is_file(path) for path in found)
    return any(_has_links(path) or (links and not os.path.lexists(path)) for path in found)


def _has_links(path: Path) -> bool:
    """Return True if a path is a link, or a folder with one or with a protected file in it."""
    if path.is_symlink() or not probe.is_dir(path):
        return path.is_symlink()
    names = ((folder, name) for folder, folders, files in os.walk(path) for name in (*folders, *files))
    looked = list(islice(names, _MOST_LOOKED_AT + 1))
    return len(looked) > _MOST_LOOKED_AT or any(
        names_protected(name, write=True) or os.path.islink(os.path.join(folder, name)) for folder, name in looked
    )


def _shows_names(words: Sequence[str]) -> bool:
    return words[0] != "git" and (words[0] in ("true", ":") or names_only(words))
