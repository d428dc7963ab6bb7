"""Commands with which git records something, or replaces files of the workspace, in a repository that starts no
program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from agentcli.permissions.git_config import git_folders, linked_repository, linked_work_trees, work_tree_of
from agentcli.permissions.paths import Workspace, judge_path, recorded_in, repositories, resolved
from agentcli.permissions.shell.effects.changes import in_tmp, stays_inside
from agentcli.permissions.shell.effects.git_hooks import KEY, git_config_files, hook_problem, text_of
from agentcli.permissions.shell.effects.private_tmp import seen_text
from agentcli.permissions.shell.programs.git_table import git_only_names
from agentcli.permissions.shell.programs.known_programs import limited, word_set
from agentcli.permissions.shell.programs.option_grammar import Found, Shape, fit
from agentcli.permissions.shell.syntax.parse import UNKNOWN, plain_git
from agentcli.permissions.unattended import BISECTS
from agentcli.system import probe

_COMMIT = """
-aqvsn -m:text -F:path --all --quiet --verbose --signoff --no-verify --message=text --file=path --author=text --date=text --allow-empty
--allow-empty-message --dry-run --trailer=text --no-gpg-sign --amend --no-edit --fixup=rev --squash=rev -C:rev --reuse-message=rev --reset-author
"""
_MERGING = "--continue --abort --skip --quit --no-edit --no-commit --signoff"
_SIDES = "-X:word --strategy-option=word"
_REBASING = """
-qifn --quiet --interactive --autosquash --no-autosquash --autostash --no-autostash --onto=rev --onto:rev --keep-base --no-stat --stat
--force-rebase --no-ff --rebase-merges --update-refs --no-update-refs --reset-author-date --empty=word
"""
"""No editor opens: commands without approval have one that changes nothing."""
RECORDING: dict[str, tuple[Shape, ...]] = {
    "init": (Shape("-q -b:branch --quiet --initial-branch=branch", "path?"),),
    "add": (
        Shape("-AuvnNf --all --update --verbose --dry-run --intent-to-add --force --renormalize --chmod=word", "rev*"),
    ),
    "commit": (Shape(_COMMIT, "rev*"),),
    "mv": (Shape("-kvn --verbose --dry-run", "path path path*"),),
    "rm": (Shape("-rqnf --cached --quiet --dry-run --force --ignore-unmatch", "path path*"),),
    "branch": (
        Shape("-qt --quiet --track --no-track", "branch rev?"),
        Shape("-qf --quiet --force --no-track", "branch rev?", needs="-f --force"),
        Shape("-dq --delete --quiet", "branch branch*", needs="-d --delete"),
    ),
    "tag": (
        Shape("-afm:text --annotate --force --message=text", "branch rev?"),
        Shape("-d --delete", "branch branch*", needs="-d --delete"),
    ),
    "checkout": (
        Shape("-q -b:branch -B:branch --quiet --track --no-track", "rev?", needs="-b -B"),
        Shape("-q --quiet --detach", "rev"),
        Shape("-q --quiet", "=-"),
    ),
    "switch": (
        Shape(
            "-q -c:branch -C:branch --create=branch --force-create=branch --quiet --track --no-track",
            "rev?",
            needs="-c -C --create --force-create",
        ),
        Shape("-q --quiet --detach", "rev"),
        Shape("-q --quiet", "=-"),
    ),
    "stash": (
        Shape("-ukqm:text"),
        Shape("-uq -m:text --include-untracked --keep-index --quiet --message=text", "=push rev*"),
        Shape("-q --index --quiet", "=pop|apply rev?"),
    ),
    "merge": (
        Shape(
            f"-qn -m:text --message=text --quiet --no-ff --ff --ff-only --squash --stat --no-stat --autostash {_MERGING} {_SIDES}",
            "rev*",
        ),
    ),
    "rebase": (
        Shape(f"{_REBASING} {_SIDES}", "rev rev?"),
        Shape(f"{_REBASING} {_SIDES} --root", "rev?", needs="--root"),
        Shape("--continue --abort --skip --quit", needs="--continue --abort --skip --quit"),
    ),
    "cherry-pick": (Shape(f"-nx -m:number --mainline=number --allow-empty {_MERGING} {_SIDES}", "rev*"),),
    "revert": (Shape(f"-n -m:number --mainline=number {_MERGING} {_SIDES}", "rev*"),),
    "apply": (
        Shape(
            "-qv3R --cached --check --reverse --recount --unidiff-zero --whitespace=word --quiet --verbose -p:number",
            "path*",
            needs="--cached",
        ),
    ),
    "restore": (Shape("-Sq --staged --quiet", "rev rev*", needs="-S --staged"),),
    "reset": (Shape("-qN --quiet --soft --mixed --intent-to-add", "rev*"),),
    "bisect": (
        Shape("--first-parent --no-checkout", "=start rev*"),
        Shape("", "=good|bad|new|old|skip rev*"),
        Shape("", "=reset rev?"),
    ),
}
"""Commands with which git records something and loses nothing that it does not keep.

A reflog keeps what a branch was. None keeps an unmerged branch that is deleted, nor a dropped stash.
"""
_RENAMING = (Shape("-m --move", "branch branch?", needs="-m --move"), Shape("-M", "branch branch?", needs="-M"))
_IN_NEW: dict[str, tuple[Shape, ...]] = {"branch": _RENAMING, "config": (Shape("--local", "key text"),)}
"""Commands with which git also changes the settings of a repository that the line begins."""
_FIRST = word_set("add commit branch tag config")
"""All commands with which git records in such a repository."""
_PICKING: dict[str, tuple[Shape, ...]] = {
    "add": (Shape("-puU:number --patch --update", "rev*", needs="-p --patch"),),
    "reset": (Shape("-pq --patch --quiet", "rev*", needs="-p --patch"),),
}
"""Commands with which git shows changes, and records those to which its input says yes."""
_PATCHING = (
    Shape(
        "-qvRN --check --stat --numstat --summary --reverse --recount --unidiff-zero --whitespace=word --quiet --verbose --reject -p:number"
        " --directory=path --include=path --exclude=path --intent-to-add --ignore-whitespace --inaccurate-eof --allow-empty",
        "path*",
    ),
)


def patches(words: Sequence[str]) -> bool:
    """Return True if git only changes files by patches, like `patch`: it needs no repository for that."""
    return words[1:2] == ("apply",) and not isinstance(fit(_PATCHING, words[2:]), str)


_OF_CONFLICT = "--ours --theirs --quiet -q"
DISCARDING: dict[str, tuple[Shape, ...]] = {
    "checkout": (Shape(_OF_CONFLICT, "rev rev*"),),
    "reset": (Shape("-q --quiet --hard", "rev?", needs="--hard"),),
    "restore": (Shape("-qWSs:rev --worktree --staged --source=rev --quiet --ours --theirs", "rev rev*"),),
}
"""Commands with which git replaces files of the workspace, which only /undo could restore."""


def replaces_files(words: Sequence[str]) -> bool:
    """Return True if git, by its words, replaces files of the workspace by the repository's."""
    marks = {"checkout": {"--", "--ours", "--theirs"}, "reset": {"--hard"}}.get(words[1], set())
    return words[1] == "restore" or not marks.isdisjoint(words)


def records_in_git(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    """Return why git does more than record in a repository of the workspace that starts no program.

    Return an empty string if it does not. If files can be restored, git may also replace them.
    """
    _, *arguments = words
    name = arguments[0] if arguments else ""
    replacing = workspace.undo is not None and bool(name) and replaces_files(words)
    shapes = (*RECORDING.get(name, ()), *_PICKING.get(name, ()), *(DISCARDING[name] if replacing else ()))
    begun = [_is_begun(folder, workspace) for folder in folders]
    if any(begun) and name not in ("init", *_FIRST):
        return f"git {name} changes the repository"
    if all(begun) if name == "branch" else any(begun) and _only_names(arguments[1:]):
        shapes = (*shapes, *_IN_NEW.get(name, ()))
    fitting = fit(shapes, arguments[1:]) if shapes else ""
    if isinstance(fitting, str):
        if arguments[:2] == ["bisect", "run"]:
            return BISECTS
        option = fitting.split(" ", 1)[0] if fitting.startswith("-") else ""
        return f"{' '.join(filter(None, ('git', name, option)))} changes the repository"
    if fitting[0] in _PICKING.get(name, ()):
        shown = next((found for folder in folders for found in workspace.git(folder).secrets), "")
        if shown:
            return f"git {name} may show {shown}, which is protected"
    named = git_only_names(words)
    write = replacing or name in ("mv", "rm", "init")
    if not stays_inside(fitting[1], folders, workspace, write=write and not named, named=named):
        return f"git {name} leads outside the workspace"
    if name == "init":
        return _beginning_problem([_begun(fitting[1], folder) for folder in folders], workspace)
    options = frozenset(value for kind, value in fitting[1] if kind == "option")
    problems = (
        repository_problem(folder, workspace, name, options) or _tracking(arguments, folder) for folder in folders
    )
    return next(filter(None, problems), "")


def records_files(words: Sequence[str]) -> bool:
    """Return True if a git command records or moves files that it names.

    Its input is no such file. Neither is a patch, of which git records only the changes.
    """
    shapes = RECORDING.get(words[1], ()) if words[1] != "apply" else ()
    found = fit(shapes, words[2:]) if shapes else ""
    return not isinstance(found, str) and any(kind == "path" and value != "-" for kind, value in found[1])


def from_remote(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    """Return why git may start a program when it fetches into a repository; or an empty string."""
    return next(filter(None, (repository_problem(folder, workspace, words[1], frozenset()) for folder in folders)), "")


def git_placed(words: Sequence[str], folders: Sequence[Path]) -> tuple[tuple[str, ...], list[Path]] | None:
    """Return a git command without the options before its subcommand, and its folders; None if they do more than that."""
    rest, places = list(words[1:]), list(folders)
    while rest and rest[0].startswith("-") and rest[0] not in ("--version", "--help"):
        option = rest.pop(0)
        if option == "-C" and rest and UNKNOWN not in rest[0]:
            place = rest.pop(0)
            places = [resolved(folder / place) for folder in places]
        elif option == "-c" and rest and _NAMING.fullmatch(rest[0]):
            rest.pop(0)
        elif option not in ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"):
            return None
    return (words[0], *rest), places


_NAMING = re.compile(
    r"(?:user\.(?:name|email)|color\.\w+|advice\.\w+|core\.(?:quotepath|abbrev)|init\.defaultbranch)=[^`$]*|core\.pager=cat|core\.fsmonitor=false|commit\.gpgsign=false",
    re.IGNORECASE,
)
"""Settings on git's command line that start no program."""


def names_itself(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if git keeps a setting of a repository of the workspace that only names, colours or advises.

    Git runs nothing for that, and no setting of this kind leads it to another program, folder or host.
    """
    placed = git_placed(words, folders)
    if placed is None or placed[0][1:2] != ("config",) or not _only_names(placed[0][2:]):
        return False
    tops = [work_tree_of(resolved(at)) for at in placed[1]]
    own = repositories(workspace)
    return all(top is not None and top in own and not workspace.git(top).danger for top in tops)


def _only_names(arguments: Sequence[str]) -> bool:
    """Return True if `git config` keeps or removes such a setting of the repository."""
    given = [word for word in arguments if word != "--local"]
    unset = given[:1] == ["--unset"] and len(given) == 2
    key, value = (given[1], "") if unset else (given[0], given[1]) if len(given) == 2 else ("", "-")
    plain = not value.startswith("-") and value.isprintable() and UNKNOWN not in value and "=" not in key
    return plain and bool(_KEPT.match(f"{key}=")) and _NAMING.fullmatch(f"{key}={value}") is not None


def begun_by(words: Sequence[str], folders: Sequence[Path]) -> Sequence[Path]:
    """Return the resolved folders in which a `git init` would begin a repository; none for other words."""
    placed = git_placed(words, folders)
    if placed is None or placed[0][1:2] != ("init",) or any(UNKNOWN in word for word in words):
        return ()
    fitting = fit(RECORDING["init"], placed[0][2:])
    return () if isinstance(fitting, str) else [_begun(fitting[1], folder) for folder in placed[1]]


def _begun(found: Found, folder: Path) -> Path:
    return resolved(folder / next((value for kind, value in found if kind == "path"), ""))


def begins_again(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if git makes sure that a repository of the workspace is complete, and changes nothing that it has."""
    found, own = begun_by(words, folders), repositories(workspace)
    return bool(found) and all(there in own and not workspace.git(there).danger for there in found)


def renames_branch(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if git renames a branch of a repository that starts no program.

    It replaces no other branch, and no other work tree is on it.
    """
    placed = git_placed(words, folders)
    if placed is None or placed[0][1:2] != ("branch",) or any(UNKNOWN in word for word in words):
        return False
    fitting = fit(_RENAMING, placed[0][2:])
    if isinstance(fitting, str) or "--" in words:
        return False
    *old, new = (value for kind, value in fitting[1] if kind == "branch")
    return all(
        not repository_problem(folder, workspace, "branch", frozenset())
        and not ("-M" in words and _may_exist(new, folder))
        and not (old and _is_current_elsewhere(old[0], folder))
        for folder in map(resolved, placed[1])
    )


def _is_current_elsewhere(branch: str, folder: Path) -> bool:
    """Return True if another work tree of the repository around a folder is on a branch."""
    try:
        own, common = git_folders(work_tree_of(folder) or folder)
        states = {common, *(common / "worktrees").glob("*")} - {own}
    except (OSError, ValueError):
        return True
    heads = (text_of(state / "HEAD").strip().casefold() for state in states)
    return f"ref: refs/heads/{branch}".casefold() in heads


def _may_exist(branch: str, folder: Path) -> bool:
    """Return True unless the repository around a folder has no branch of this name."""
    try:
        common = git_folders(work_tree_of(folder) or folder)[1]
    except (OSError, ValueError):
        return True
    names = [path.name for path in (common / "refs/heads" / branch).parent.glob("*")]
    return branch.rpartition("/")[2].casefold() in map(str.casefold, names) or f" refs/heads/{branch}\n" in text_of(
        common / "packed-refs"
    )


def renames_blindly(commands: Sequence[Sequence[str]]) -> bool:
    """Return True if a line renames a branch beside commands that make it another one than was looked at."""
    plain = (plain_git(list(limited(words))) for words in commands)
    git = [words for words in plain if os.path.basename(words[0]) == "git" and len(words) > 1]
    renaming = [words for words in git if words[1] == "branch" and not {"-m", "-M", "--move"}.isdisjoint(words)]
    others = {words[1] for words in git if words not in renaming}
    forced = any("-M" in words for words in renaming)
    return bool(renaming) and ("push" in others or (forced and (len(renaming) > 1 or not others <= _KEEPING_NAMES)))


_KEEPING_NAMES = word_set("init add commit config status log")
"""Commands of git that make no branch of another name."""


def _beginning_problem(places: Sequence[Path], workspace: Workspace) -> str:
    """Return why `git init` does more than begin a repository in one of these folders; or an empty string.

    Where there is one, it fails in the sandbox, which closes the settings.
    """
    if any(judge_path(str(there), workspace, write=True).verdict != "free" for there in places):
        return "git init leads outside the workspace"
    if all(os.path.lexists(there / ".git") for there in places):
        return "git init changes the repository"
    settings = map(text_of, git_config_files(places[0] / ".git", workspace))
    if "GIT_TEMPLATE_DIR" in workspace.env or any(map(_TEMPLATE.search, settings)):
        return "git init copies your own template, which the sandbox hides"
    return ""


_TEMPLATE = re.compile(rf"{KEY}templatedir\s*=", re.IGNORECASE | re.MULTILINE)


def _is_begun(folder: Path, workspace: Workspace) -> bool:
    """Return True if the judged line begins the repository around a folder."""
    place = resolved(folder)
    top = work_tree_of(place)
    return any(place.is_relative_to(there) and (top is None or top in there.parents) for there in workspace.begun)


_WORKTREE = Shape("-q -b:branch --quiet --detach -d --track --no-track", "path rev?")


def adds_worktree(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if git checks out a branch into a new folder without starting a program.

    The folder is in the workspace, or beside the repository and named after it: `../NAME-topic`. In /tmp, which ends with
    the session, it is on no branch.
    """
    placed = git_placed(words, folders)
    if placed is None or placed[0][1:3] != ("worktree", "add"):
        return False
    fitting = fit((_WORKTREE,), placed[0][3:])
    if isinstance(fitting, str) or any(UNKNOWN in word for word in words):
        return False
    path = next(value for kind, value in fitting[1] if kind == "path")
    return all(
        not repository_problem(folder, workspace, "checkout", frozenset())
        and (there := _named(path, folder, workspace)) is not None
        and _is_new_folder(there, folder, workspace)
        and (not in_tmp([there], workspace) or _on_no_branch(fitting[1], placed[0], folder))
        for folder in placed[1]
    )


def _on_no_branch(found: Found, words: Sequence[str], folder: Path) -> bool:
    """Return True if git checks out a commit and no branch, which would stay bound to the folder."""
    revision = next((value for kind, value in found if kind == "rev"), "")
    if any(kind == "branch" for kind, _ in found):
        return False
    top = work_tree_of(folder)
    tagged = top is not None and bool(revision) and probe.exists(top / ".git/refs/tags" / revision)
    return tagged or not {"-d", "--detach"}.isdisjoint(words) or _COMMIT_NAME.fullmatch(revision) is not None


_COMMIT_NAME = re.compile(r"[0-9a-f]{7,40}|HEAD[~^\d]*")


def _is_new_folder(there: Path, folder: Path, workspace: Workspace) -> bool:
    """Return True if a path that does not exist, and contains no link, is free to become a work tree."""
    if os.path.lexists(there):
        return False
    above = next(one for one in there.parents if os.path.lexists(one))
    if resolved(above) != above:
        return False
    if judge_path(str(there), workspace, write=True).verdict == "free":
        return True
    from agentcli.permissions.exposed import may_join  # only for a folder outside

    return _is_beside(there, above, folder) and may_join(there, workspace)


def _named(path: str, folder: Path, workspace: Workspace) -> Path | None:
    """Return the path that a word means to git in a folder; None if a link may change that."""
    text = seen_text(path, workspace)
    climbs = ".." in Path(text.lstrip("./")).parts or resolved(folder) != folder
    return None if climbs else Path(os.path.normpath(folder / text))


def _is_beside(there: Path, above: Path, folder: Path) -> bool:
    """Return True for a path beside the repository around a folder, if its first new name begins with the repository's.

    Whatever reads folders there by their names reads the repository, too.
    """
    top = work_tree_of(folder)
    main = _main_work_tree(top) if top is not None else ""
    if isinstance(main, str) or above != main.parent:
        return False
    return re.match(rf"{re.escape(main.name)}[-._]\w", there.relative_to(above).parts[0]) is not None


def removes_worktree(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if git removes a work tree that the session has made, and loses no commit.

    Git itself removes none with changes. In /tmp it may lose them, as `rm` may.
    """
    placed = git_placed(words, folders)
    if placed is None or placed[0][1:3] != ("worktree", "remove"):
        return False
    fitting = fit(_REMOVING, placed[0][3:])
    if isinstance(fitting, str) or any(UNKNOWN in word for word in words):
        return False
    path = next(value for kind, value in fitting[1] if kind == "path")
    return all(
        not repository_problem(folder, workspace, "worktree", frozenset())
        and _is_removable(path, folder, workspace, forced=fitting[0] is _REMOVING[1])
        for folder in placed[1]
    )


_REMOVING = (Shape("", "path"), Shape("-f --force", "path", needs="-f --force"))


def _is_removable(path: str, folder: Path, workspace: Workspace, *, forced: bool) -> bool:
    there = _named(path, folder, workspace)
    if there is None or there not in workspace.made() or folder.is_relative_to(there):
        return False
    if in_tmp([there], workspace):
        return forced or not workspace.git(there).danger
    common = linked_repository(there)
    on_branch = common is not None and text_of(git_folders(there)[0] / "HEAD").startswith("ref: refs/heads/")
    return not forced and on_branch and not workspace.git(there).danger


def prunes_worktrees(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if git forgets only work trees beside or in the repository that have gone, and loses no commit.

    Those of the workspace count although they exist, because an earlier command may remove them.
    """
    placed = git_placed(words, folders)
    if placed is None or placed[0][1:3] != ("worktree", "prune") or isinstance(fit(_PRUNING, placed[0][3:]), str):
        return False
    return all(
        not repository_problem(folder, workspace, "worktree", frozenset()) and _may_be_pruned(folder, workspace)
        for folder in placed[1]
    )


_PRUNING = (Shape("-nv --dry-run --verbose", ""),)


def _may_be_pruned(folder: Path, workspace: Workspace) -> bool:
    main = _main_work_tree(work_tree_of(folder) or folder)
    if isinstance(main, str):
        return False
    try:
        states = [own for own in (main / ".git/worktrees").iterdir() if not os.path.lexists(own / "locked")]
    except FileNotFoundError:
        return True
    for own in states:
        there = Path(seen_text(os.path.normpath(own / text_of(own / "gitdir").strip()), workspace)).parent
        stays = os.path.lexists(there / ".git") and judge_path(str(there), workspace, write=True).verdict != "free"
        kept = text_of(own / "HEAD").startswith("ref: refs/heads/") and there.is_relative_to(main.parent)
        if not stays and (not kept or in_tmp([there], workspace)):
            return False
    return True


def work_trees(workspace: Workspace) -> dict[Path, Path]:
    """Return the linked work trees of the repositories around the workspace's folders by the folders with their state."""
    tops = dict.fromkeys(filter(None, map(work_tree_of, (resolved(workspace.cwd), *workspace.resolved_roots))))
    found = (linked_work_trees(top, lambda text: seen_text(text, workspace)) for top in tops)
    return {own: tree for each in found for own, tree in each.items()}


_KEPT = re.compile(r"(?:user|color|advice)\.|core\.(?:quotepath|abbrev)=", re.IGNORECASE)


def _tracking(arguments: Sequence[str], folder: Path) -> str:
    """Return why a new branch would get an upstream, which git stores in the config; or an empty string."""
    if arguments[0] not in ("checkout", "switch", "branch") or "--no-track" in arguments:
        return ""
    if arguments[0] == "branch" and any(re.fullmatch("-[a-zA-Z]*[dD].*|--delete", word) for word in arguments):
        return ""
    top = work_tree_of(folder)
    try:
        common = git_folders(top)[1] if top is not None else folder
    except (OSError, ValueError):
        return ""
    remotes, packed = common / "refs/remotes", text_of(common / "packed-refs")
    if not (probe.is_dir(remotes) or "refs/remotes/" in packed):
        return ""
    operands = [word for word in arguments[1:] if not word.startswith("-")]
    creates = (
        not {"-b", "-B", "-c", "-C", "--create", "--force-create"}.isdisjoint(arguments) or arguments[0] == "branch"
    )
    start = operands[1:2] if creates else operands[:1]
    for word in start:
        if creates and (probe.exists(remotes / word) or f" refs/remotes/{word}\n" in packed or "--track" in arguments):
            return f"git {arguments[0]} sets an upstream in the repository's config"
        local = (
            any(probe.exists(common / kind / word) for kind in (".", "refs/heads", "refs/tags"))
            or f"/{word}\n" in packed
        )
        if (
            not creates
            and not local
            and not probe.exists(folder / word)
            and not re.fullmatch(r"[0-9a-f]{4,40}|HEAD[~^\d]*|-|.*[@~^].*", word)
        ):
            return f"git {arguments[0]} may set an upstream in the repository's config"
    return ""


def repository_problem(
    folder: Path, workspace: Workspace, subcommand: str, options: frozenset[str] | None = None
) -> str:
    """Return why git may start a program when it records in a folder, or write outside the workspace.

    Without options, each form of the command counts.
    """
    top = work_tree_of(folder)
    if top is None and subcommand in _FIRST and _is_begun(folder, workspace):
        return workspace.git(folder).danger or hook_problem(folder, folder / ".git", workspace, subcommand, options)
    inside = top is not None and any(root in (top, *top.parents) for root in workspace.resolved_roots)
    if top is None or not inside or (top / ".git").is_symlink():
        return "the repository lies outside the workspace"
    main = _main_work_tree(top)
    if isinstance(main, str):
        return main
    if danger := workspace.git(folder).danger:
        return danger
    if not probe.is_dir(main / ".git/hooks"):
        return "the repository has no folder for hooks, which the sandbox could close"
    if resolved(main) / ".git" not in recorded_in(workspace):
        return (
            "the repository is not the one around the current folder"
            if main == top
            else f"the repository of this work tree lies outside the workspace: --add-dir {main} brings it in"
        )
    return hook_problem(top, main / ".git", workspace, subcommand, options)


def _main_work_tree(top: Path) -> Path | str:
    """Return the main work tree of the repository of a work tree, or why git may not record in it.

    The repository must name a linked work tree, as it does after `git worktree add`.
    """
    if probe.is_file(top / ".git/config"):
        return top
    if (common := linked_repository(top)) is not None and common.name == ".git":
        return common.parent
    with suppress(OSError, ValueError):
        if "modules" in git_folders(top)[0].parts:
            return f"{top.name} is a submodule: its repository is not opened to git"
    return "the repository lies outside the workspace"
