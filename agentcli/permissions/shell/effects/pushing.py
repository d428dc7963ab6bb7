"""A plain `git push` of the branch that is worked on, to the repository's own remote."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass, replace
from agentcli.permissions.git_config import git_folders, linked_repository, work_tree_of
from agentcli.permissions.paths import Workspace, names_protected, recorded_in, resolved
from agentcli.permissions.shell.effects.git_hooks import hook_problem
from agentcli.permissions.shell.effects.git_repositories import git_placed, repository_problem
from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.permissions.shell.programs.option_grammar import Shape, fit
from agentcli.permissions.shell.syntax.parse import UNKNOWN, contents, plain_git
from agentcli.system import probe

_PLAIN = Shape(
    "-quvn --quiet --verbose --set-upstream --dry-run --progress --no-progress --porcelain --force-with-lease",
    "remote? branch?",
)
_LEASED = "--force-with-lease"
_URL = re.compile(
    r"https://[\w.-]+(?::443)?/[\w./~+-]*|ssh://(?:[\w.-]+@)?\w[\w.-]*(?::\d+)?/[\w./~+-]*|(?:\w[\w.-]*@)?\w[\w.-]*:(?!:|//)[\w~/][\w./~+-]*"
)
_SECTION = re.compile(r'(?m)^\s*\[\s*([\w.-]+)\s*(?:"([^"\n]*)")?\s*\]')
_ENTRY = re.compile(r"(?m)^\s*([A-Za-z][\w-]*)[ \t]*=[ \t]*([^\n]*?)[ \t]*$")
_DECIDING = re.compile(
    r"(?:remote\.[^\n]*\.(?:push|pushurl|mirror|receivepack|proxy|vcs)|url\.[^\n]*|push\.(?!autosetupremote$|default$)[^\n]*"
    r"|remote\.pushdefault|branch\.[^\n]*\.pushremote|include\.[^\n]*|includeif\.[^\n]*)",
    re.IGNORECASE,
)
"""Settings of a repository that send a push elsewhere, or more than the branch."""
_OF_OTHERS = word_set("""
main master trunk default develop development dev staging stage production prod release stable live deploy gh-pages pages next
""")
"""Branches that others work on, or that publish something, if the repository does not tell which."""


@dataclass(frozen=True, slots=True)
class Push:
    """What a `git push` would do."""

    why: str = ""
    """Reason to ask; empty if it only pushes the branch that is worked on."""
    plain: str = ""
    """The command as a rule may allow it, `git push REMOTE BRANCH`; empty if no rule is enough."""
    named: bool = False
    """True if the command names the branch, so that it pushes no other one if an earlier command switches."""
    fresh: str = ""
    """The branch, if it does not exist yet."""


def push_of(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> Push | None:
    """Return what a command pushes; None if it is no `git push`."""
    placed = git_placed(words, folders)
    if placed is None or placed[0][1:2] != ("push",):
        return None
    words, folders = placed
    fitting = fit((_PLAIN,), list(words[2:]))
    if isinstance(fitting, str) or len(folders) != 1 or any(UNKNOWN in word for word in words):
        return Push("it does more than push a branch")
    operands = [value for kind, value in fitting[1] if kind in ("remote", "branch")]
    found = _outside(folders[0], workspace)
    why = (
        _problem(found, workspace)
        if found is not None
        else repository_problem(folders[0], workspace, "push", frozenset())
    )
    if why:
        return Push(why)
    top = work_tree_of(folders[0]) or folders[0]
    known = resolved(top) in workspace.resolved_roots or linked_repository(top) in recorded_in(workspace)
    if found is None and not known:
        return Push("the repository is not a folder of the session, so a program may have made it")
    git = found or _Git(top, *git_folders(top))
    push = _pushed(operands, git, workspace)
    if secret := next((path for path in workspace.git(top).secrets if names_protected(path, write=False)), ""):
        return replace(push, why=f"{os.path.relpath(secret, top)} is part of the branch")
    return _forced(push) if _LEASED in words else push


@dataclass(frozen=True, slots=True)
class _Git:
    """A work tree, the folder of its own state, and the folder that it shares with others: settings and branches."""

    top: Path
    own: Path
    common: Path


def _outside(folder: Path, workspace: Workspace) -> _Git | None:
    """Return the work tree around a folder of the workspace if its repository lies outside, where no command can write.

    The workspace is then a linked work tree, or a folder below the top.
    """
    roots = workspace.resolved_roots
    top = next((top for top in (folder, *folder.parents) if os.path.lexists(top / ".git")), None)
    if top is None or not any(map(resolved(folder).is_relative_to, roots)):
        return None
    try:
        own, common = git_folders(top)
    except (OSError, ValueError):
        return None
    linked = linked_repository(top) is not None
    around = any(root != resolved(top) and root.is_relative_to(resolved(top)) for root in roots)
    written = (*roots, *([workspace.tmp] if workspace.tmp is not None else ()), *_TEMPORARY)
    kept = not any(place.is_relative_to(each) for place in (own, common) for each in written)
    known = (linked and resolved(top) in roots) or (around and (linked or own == common == resolved(top) / ".git"))
    return _Git(top, own, common) if known and kept else None


_TEMPORARY = (Path("/private/tmp"), Path("/private/var/folders"))
"""Folders outside the workspace that commands in the sandbox of macOS can write to."""


def _problem(git: _Git, workspace: Workspace) -> str:
    return workspace.git(git.top).danger or hook_problem(git.top, git.common, workspace, "push", frozenset())


def _forced(push: Push) -> Push:
    """Return what a push does that may replace commits of the remote. A rule is enough for the current branch."""
    if push.why or push.fresh:
        return Push(push.why or "it may replace commits of a branch that is not the current one")
    plain = push.plain.replace("git push", f"git push {_LEASED}", 1)
    return replace(push, why="it may replace commits of your branch there", plain=plain)


def _pushed(operands: Sequence[str], git: _Git, workspace: Workspace) -> Push:
    settings = _settings_of(git.common / "config")
    if probe.exists(git.common / "modules") and any("recurse" in text.lower() for text in _own_settings(workspace)):
        return Push("your settings of git push submodules, too")
    if settings is None or any(probe.exists(folder / "config.worktree") for folder in (git.own, git.common)):
        return Push("the settings of the repository decide what it pushes")
    return _judged(operands, git, settings, workspace)


def _judged(operands: Sequence[str], git: _Git, settings: dict[str, list[str]], workspace: Workspace) -> Push:
    current = _current(git)
    branch = operands[1] if len(operands) > 1 and operands[1] != "HEAD" else current
    remote = operands[0] if operands else (settings.get(f"branch.{current}.remote") or ["origin"])[-1]
    urls = settings.get(f"remote.{remote}.url", [])
    if not current or not branch or len(urls) != 1 or not _URL.fullmatch(urls[0].strip('"')):
        return Push("it does not push a branch to a remote of this repository")
    merged = settings.get(f"branch.{branch}.merge", [f"refs/heads/{branch}"])
    modes = {*settings.get("push.default", []), *_own_modes(workspace)} - {
        "simple",
        "current",
        "nothing",
        "upstream",
        "tracking",
    }
    if merged != [f"refs/heads/{branch}"] or (modes and len(operands) < 2):
        return Push("the settings of git decide what it pushes")
    plain = f"git push {remote} {branch}"
    if branch in _shared(git, remote, workspace):
        return Push(f"{branch} is a branch that others use", plain, named=len(operands) > 1)
    if branch != current and _exists(git, branch):
        return Push(f"{branch} is not the current branch", plain, named=True)
    if branch != current and _names_another(git, branch):
        return Push(
            f"{branch} names something other than a branch",
            plain if probe.exists(git.common / "refs/tags" / branch) else "",
            named=True,
        )
    fresh = branch if branch != current else ""
    return Push(plain=plain, named=len(operands) > 1 and operands[1] != "HEAD", fresh=fresh)


def why_published(text: str, earlier: Sequence[str], workspace: Workspace) -> str:
    """Return why a push would publish a file of secrets that its line adds; or an empty string."""
    from agentcli.permissions.sandbox.protected import found_in  # the sandbox of an earlier part needs it, too

    adding = [words for each in earlier for words in _git_commands(each) if words[1:2] == ("add",)]
    if not adding or not any(words[1:2] == ("push",) for words in _git_commands(text)):
        return ""
    forced = any(re.fullmatch(r"-\w*f\w*|--force", word) for words in adding for word in words)
    named = all(probe.is_file(workspace.cwd / word) for words in adding for word in words[2:] if word[:1] != "-")
    if named and not any(re.fullmatch(r"-\w*A\w*|--all", word) for words in adding for word in words):
        return ""
    tops = {top for top in workspace.resolved_roots if probe.exists(top / ".git")}
    for secret in (name.path for name in found_in(workspace.resolved_roots).private):
        top = next((top for top in tops if secret.is_relative_to(top)), None)
        if top is not None and (forced or not _ignored(secret, top)):
            return f"git push would publish {os.path.relpath(secret, top)}, which .gitignore does not name"
    return ""


def _git_commands(text: str) -> Sequence[tuple[str, ...]]:
    lines = (plain_git(part.texts) for part in contents(text)[0] if part.words)
    return [tuple(words) for words in lines if words[0] == "git"]


def _ignored(file: Path, top: Path) -> bool:
    """Return True if git surely ignores a file because of its name, or of a folder around it."""
    for folder in (folder for folder in file.parents if folder.is_relative_to(top)):
        verdict = False
        rows = _text(folder / ".gitignore").splitlines()
        rows = [*(_text(top / ".git/info/exclude").splitlines() if folder == top else ()), *rows]
        for row in map(str.strip, rows):
            pattern = row.removeprefix("!").removeprefix("/").removeprefix("**/").rstrip("/")
            names = file.relative_to(folder).parts
            if row[:1] != "#" and pattern and any(fnmatch.fnmatchcase(name, pattern) for name in names):
                verdict = not row.startswith("!") and (row[:1] != "/" or fnmatch.fnmatchcase(names[0], pattern))
        if verdict:
            return True
    return False


def _settings_of(file: Path) -> dict[str, list[str]] | None:
    """Return a repository's settings, with lower-case sections and keys; None if one of them decides what is pushed."""
    found: dict[str, list[str]] = {}
    text = _text(file)
    if "\\\n" in text or "\r" in text.replace("\r\n", "\n"):
        return None
    sections = list(_SECTION.finditer(text))
    for number, section in enumerate(sections):
        end = sections[number + 1].start() if number + 1 < len(sections) else len(text)
        name = section[1].lower() + ("" if section[2] is None else f".{section[2]}")
        rows = [row for row in text[section.end() : end].split("\n") if row.strip() and row.strip()[0] not in "#;"]
        for row in rows:
            entry = _ENTRY.fullmatch(row)
            key = f"{name}.{entry[1].lower() if entry else row.strip().split('=')[0].strip().lower()}"
            if _DECIDING.fullmatch(key):
                return None
            found.setdefault(key, []).append(entry[2] if entry else "")
    return found


def _own_modes(workspace: Workspace) -> frozenset[str]:
    """Return what the person's own settings say about pushes without a branch."""
    texts = _own_settings(workspace)
    found = (re.findall(r"(?ims)^\s*\[push\][^\[]*?^\s*default\s*=\s*(\w+)", text) for text in texts)
    return frozenset(mode.lower() for modes in found for mode in modes)


def _own_settings(workspace: Workspace) -> Sequence[str]:
    return [_text(workspace.home / name) for name in (".gitconfig", ".config/git/config")]


def _current(git: _Git) -> str:
    """Return the current branch of a work tree; empty if it has none."""
    found = re.fullmatch(r"ref: refs/heads/(\S+)\s*", _text(git.own / "HEAD"))
    return found[1] if found else ""


def _shared(git: _Git, remote: str, workspace: Workspace) -> frozenset[str]:
    """Return the branches that others use: the remote's default branch, the person's default, and the usual names."""
    head = re.fullmatch(
        rf"ref: refs/remotes/{re.escape(remote)}/(\S+)\s*", _text(git.common / f"refs/remotes/{remote}/HEAD")
    )
    texts = _own_settings(workspace)
    chosen = [name for text in texts for name in re.findall(r"(?im)^\s*defaultbranch\s*=\s*\"?([^\s\"]+)", text)]
    return _OF_OTHERS | {*chosen, *([head[1]] if head else [])}


def _exists(git: _Git, branch: str) -> bool:
    named = probe.exists(git.common / "refs/heads" / branch)
    return named or f" refs/heads/{branch}\n" in _text(git.common / "packed-refs")


def _names_another(git: _Git, name: str) -> bool:
    """Return True if git finds a tag, a remote's branch or anything else by a name."""
    kinds = (".", "refs", "refs/tags", "refs/remotes")
    found = any(probe.exists(folder / kind / name) for folder in (git.own, git.common) for kind in kinds)
    return found or bool(re.search(rf"(?m)[ /]{re.escape(name)}$", _text(git.common / "packed-refs")))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
