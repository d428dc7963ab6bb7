"""The workspace, and one policy for all paths, from file tools and from recognised shell commands."""

from __future__ import annotations

import fnmatch
import itertools
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.sanitise import invisible
from agentcli.core.text.path_pattern import names_wildcard
from agentcli.core.text.secrets import TEMPLATES
from agentcli.permissions.git_config import GitFacts, git_facts, linked_repository, work_tree_of
from agentcli.system import probe
from agentcli.system.programs import search_path
from agentcli.system.resolve import follow, spelled


@dataclass(frozen=True, slots=True)
class CommandLimits:
    """Limits of the analysis of shell text.

    A command beyond `characters` or `parts` is not understood: it asks, or the sandbox contains it. A command beyond
    `bytes` is refused, because no system starts it. A search through hidden files asks if it would visit more than
    `walk` directory entries.
    """

    bytes: int = 131_071
    characters: int = 10_000
    parts: int = 50
    walk: int = 5_000


@dataclass(frozen=True, slots=True)
class UndoCover:
    """Extent of /undo: files of at most `bytes`, in a workspace of at most `files`, outside folders in `skipped`."""

    bytes: int
    files: int
    skipped: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Exposed:
    """Resolved paths outside the workspace that the sandbox of one command shows read-only, except for `hidden`."""

    paths: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()


EXPOSED_NOTHING = Exposed()


@dataclass(frozen=True, slots=True)
class Workspace:
    """Folders in which the agent works: `cwd`, the workspace `roots` (only cwd if empty), and the user's own folders.

    `own` are agentcli's config, data and state folders: only the user and agentcli read or write there. `sandboxed` is
    true if commands run in a sandbox that works. `git` reads what a repository's config would start. `path` is PATH as
    the user set it.
    """

    cwd: Path
    roots: tuple[Path, ...] = ()
    home: Path = field(default_factory=Path.home)
    own: tuple[Path, ...] = ()
    sandboxed: bool = False
    masks: bool = False
    """True if single files can be hidden from any command, even an approved one."""
    concealed: frozenset[Path] = frozenset()
    """Files that deny rules hide from the judged command, which may therefore search through them."""
    denied: tuple[Path, ...] = ()
    """Resolved files and folders of the judged command's deny rules about reading."""
    records: bool = False
    """True if the sandbox can let only git write to a repository, except to its settings and hooks."""
    tmp: Path | None = None
    """Folder that commands in the sandbox see as /tmp during the session; None if their /tmp does not last."""
    loopback: Callable[[int], bool] | None = None
    """Returns True for a loopback port that leads a sandboxed command to the same server as outside.

    None if it can reach nothing there.
    """
    gated: bool = False
    """True if commands in the sandbox reach hosts that are allowed, through a proxy."""
    allows_host: Callable[[str], bool] = field(default=lambda _: False, compare=False)
    """Returns True for a host that a rule allows by its name; also for other places (see `rules.kind_of_place`)."""
    withholds: Callable[[str], bool] = field(default=lambda _: False, compare=False)
    """Returns True for a host, or another place, that a rule denies or asks about by its name."""
    approves: Callable[[str], bool] = field(default=lambda _: False, compare=False)
    """Returns True for the pattern of a rule that allows commands."""
    started_here: Callable[[int], bool] = field(default=lambda _: False, compare=False)
    """Returns True for the number of a process that a command of the session has started."""
    finds: Callable[[str], Mapping[str, bool] | None] = field(default=lambda _: None, compare=False)
    """Returns the processes that a pattern of `pkill` may find; None if they are not known.

    Each is True if a command of the session runs it in the sandbox.
    """
    hides_processes: bool = False
    """True if a command in the sandbox sees and ends only processes of the same sandbox."""
    exposes: bool = False
    """True if the sandbox can show a command paths outside the roots that it names, without what is private there."""
    exposed: Exposed = EXPOSED_NOTHING
    """What the sandbox of the judged command shows so."""
    undo: UndoCover | None = None
    """Extent of /undo; None if nothing is restored."""
    destroys: bool = False
    """True if commands that can only destroy are judged like any others."""
    begun: tuple[Path, ...] = ()
    """Resolved folders in which the judged line begins a repository."""
    readable: Callable[[], Sequence[Path]] = tuple
    """Resolved folders outside the roots that may be read unasked: folders of skills."""
    shown: Callable[[], Sequence[Path]] = tuple
    """Resolved paths outside the roots with allow rules about `read`: commands in the sandbox see them, too."""
    opened: Callable[[], Sequence[Path]] = tuple
    """Resolved protected or private files that allow rules about `read` name: they may be read, but not written."""
    installed: Callable[[], Sequence[Path]] = tuple
    """Resolved folders outside the roots that commands in the sandbox see: what package managers have installed or fetched."""
    git: Callable[[Path], GitFacts] = git_facts
    limits: CommandLimits = CommandLimits()
    path: str = field(default_factory=search_path)
    other_homes: tuple[Path, ...] = ()
    """Home folders other than `home` whose private files stay private: the process's home, if a session has another."""
    env: Mapping[str, str] = field(default_factory=lambda: os.environ, compare=False)
    """Environment of hooks and, except for `path`, of commands."""
    shell_env: Callable[[], Mapping[str, str] | None] = field(default=lambda: None, compare=False)
    """Exactly the environment that a command gets now; None if unknown: then `env` may lack a variable."""
    started: Callable[[], Mapping[Path, str]] = field(default=dict, compare=False)
    """Resolved files in the workspace that hooks and servers run, each with the reason why it is protected from writing."""
    added: Callable[[], Sequence[Path]] = tuple
    """Resolved folders that have joined the roots since: a person has added them, or the session has made them."""
    made: Callable[[], Sequence[Path]] = tuple
    """Resolved work trees that commands of the session have made."""
    _first_roots: tuple[Path, ...] = field(init=False, compare=False)
    """Roots (`cwd` if there are none) with links followed at creation."""

    @property
    def resolved_roots(self) -> tuple[Path, ...]:
        """All folders of the workspace, with links followed."""
        return (*self._first_roots, *self.added())

    @property
    def homes(self) -> tuple[Path, ...]:
        """All home folders, as they are named."""
        return (self.home, *self.other_homes)

    @property
    def command_env(self) -> Mapping[str, str]:
        """Environment of commands that a person or a rule allowed."""
        return {**self.env, "PATH": self.path}

    def __post_init__(self) -> None:
        object.__setattr__(self, "_first_roots", tuple(resolved(root) for root in self.roots or (self.cwd,)))


def impossible(path: str) -> str:
    """Return why no system call accepts this path, or an empty string."""
    if "\0" in path:
        return "the path contains a NUL byte"
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return "the path contains half a character"
    return ""


def resolved(path: Path | str) -> Path:
    """Return the path with every existing link followed, except for links of processes that may not be read.

    Raise ValueError for a path that no system call accepts.
    """
    try:
        return follow(os.fspath(path))
    except PermissionError:
        return Path(os.path.abspath(path))


def repositories(workspace: Workspace) -> tuple[Path, ...]:
    """Return the workspace's own repositories: those around the current folder and its roots that lie in a root."""
    roots = workspace.resolved_roots
    places = (resolved(workspace.cwd), *roots)
    found = dict.fromkeys(top for top in map(work_tree_of, places) if top is not None and probe.is_dir(top / ".git"))
    return tuple(top for top in found if any(map(top.is_relative_to, roots)))


def recorded_in(workspace: Workspace) -> tuple[Path, ...]:
    """Return the folders of the repositories in which git may record, its settings and hooks aside.

    They are the workspace's own, and those outside of which one of its folders is a linked work tree.
    """
    own = [top / ".git" for top in repositories(workspace)]
    roots = workspace.resolved_roots
    linked = (found for root in roots if (found := linked_repository(root)) is not None and found.name == ".git")
    return tuple(dict.fromkeys((*own, *(found for found in linked if not below(found, roots)))))


Verdict = Literal["free", "outside", "protected", "refused"]

PROTECTED_FOLDERS = frozenset(
    {
        ".git",
        "git~1",  # the short name of .git on Windows file systems
        ".agentcli",
        ".claude",
        ".codex",
        ".gemini",
        ".cursor",
        ".vscode",
        ".idea",
        ".devcontainer",
    }
)
"""Folders whose files start programs; `.git` as a file is covered too."""

PROTECTED_FILES = frozenset(
    {".gitmodules", ".gitconfig", ".mcp.json", ".envrc", ".ripgreprc", "agents.md", "claude.md", "gemini.md"}
    | {".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc"}
    | {".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login"}
    | {".logout", "config.fish"}
)
"""Files that start programs or instruct an agent, in lower case."""

_ENVIRONMENTS = frozenset({".venv", "venv"})
_PACKAGE_PROGRAMS = ("node_modules", ".bin")

PRIVATE_IN_HOME = (
    (".ssh",),
    (".aws",),
    (".netrc",),
    (".gnupg",),
    (".config", "git"),
    (".config", "agentcli"),
    (".config", "gh"),
    (".config", "gcloud"),
    (".azure",),
    (".docker",),
    (".kube",),
    (".git-credentials",),
    (".npmrc",),
    (".pypirc",),
    (".password-store",),
    (".dotnet", "corefx"),
    (".pub-cache", "credentials.json"),
    (".local", "share", "gem", "credentials"),
)
"""Places of credentials in the home folder: reading them asks, too."""

PROGRAM_FOLDERS = (
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/usr",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/Applications",
    "/System",
    "/Library",
)
"""Folders of installed programs: nothing in them is personal."""
_SPECIAL_TREES = ("/proc", "/sys", "/dev")
_KERNEL = re.compile(
    r"/proc/(?:[a-z][\w-]*|(?:(?:\d+|self)/)?net/\w+|(?:\d+|self)/(?:cgroup|comm|limits|mountinfo|mounts|statm?|status))|/sys/(?:fs/cgroup|devices/system)/[\w./:@-]+",
    re.ASCII,
)
"""What the kernel tells about the machine, and of a process neither its words nor its environment, memory and files."""


@dataclass(frozen=True, slots=True)
class PathVerdict:
    """Verdict on a path: `free` by the mode, `outside` the workspace, `protected` in every mode, or `refused`.

    `path` is the target of its links at the time of the verdict. Only this path is allowed, even if the links change.
    """

    verdict: Verdict
    why: str = ""
    path: Path | None = None


def judge_path(text: str, workspace: Workspace, *, write: bool, cwd: Path | None = None) -> PathVerdict:
    """Judge `text` as a path relative to `cwd`, both as written and with links followed."""
    if why := impossible(text):
        return PathVerdict("refused", why)
    first, *others = (_judge(reading, workspace, write) for reading in _readings(text, workspace, cwd or workspace.cwd))
    if not _plain(text) and any(map(_unseen, text)):
        return PathVerdict("protected", "the path contains invisible characters", first.path)
    return replace(max((first, *others), key=lambda verdict: _SEVERITY[verdict.verdict]), path=first.path)


def judge_entry(text: str, workspace: Workspace, *, cwd: Path | None = None) -> PathVerdict:
    """Judge a query of a file's name, size and times: listing its folder shows them too."""
    verdict = judge_path(text, workspace, write=False, cwd=cwd)
    if verdict.verdict != "protected" or not verdict.path or any(map(_unseen, text)):
        return verdict
    folder = judge_path(str(verdict.path.parent), workspace, write=False)
    return replace(folder, path=verdict.path) if folder.verdict == "free" else verdict


def is_installed(target: Path, workspace: Workspace) -> bool:
    """Return True if a resolved path belongs to an installation that every command in the sandbox may read.

    All users may read it. For a missing path, the nearest folder above it counts.
    """
    try:
        near = next(path for path in (target, *target.parents) if probe.exists(path))
        readable = bool(near.stat().st_mode & stat.S_IROTH)
    except (OSError, ValueError):
        return False
    return readable and (_is_system(near, workspace) or below(near, workspace.installed()))


def _is_system(path: Path, workspace: Workspace) -> bool:
    """Return True if a resolved path is in a folder of installed programs, and not in a home folder there."""
    if not below(path, PROGRAM_FOLDERS):
        return False
    return not any(below(home, PROGRAM_FOLDERS) and below(path, (home,)) for home in map(resolved, workspace.homes))


def holds_nothing(target: Path, workspace: Workspace) -> bool:
    """Return True if a resolved path in a folder of installed programs does not exist: there is nothing to read."""
    return below(target, PROGRAM_FOLDERS) and not os.path.lexists(target)


def tells_of_machine(path: str | Path) -> bool:
    """Return True for a file of the kernel that every user may read."""
    if not _KERNEL.fullmatch(str(path)):
        return False
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) and bool(mode & stat.S_IROTH)


def is_exposed(target: Path | None, workspace: Workspace, *, hidden: bool = False) -> bool:
    """Return True if the sandbox of the judged command shows a resolved path because the command names it.

    With `hidden`, a path that looks empty there counts, too.
    """
    exposed = workspace.exposed
    if target is None or not below(target, exposed.paths):
        return False
    return hidden or not below(target, exposed.hidden)


def is_shown(target: Path | None, workspace: Workspace) -> bool:
    """Return True if commands in the sandbox see a resolved path outside the workspace: they cannot write there."""
    if target is None:
        return False
    named = any(below(target, folders()) for folders in (workspace.shown, workspace.readable))
    return named or is_installed(target, workspace) or is_exposed(target, workspace)


def installed_in(text: str, target: Path, workspace: Workspace) -> str:
    """Return the folder of installed programs that a path leads into (a virtual environment, `node_modules/.bin`), or
    an empty string.

    Edits there change what a command such as `pip` does. Commands that install something are not edits.
    """
    for path in (os.path.normpath(workspace.cwd / text), str(target)):
        parts = _below_root(path, path.split("/")[1:], workspace)[:-1]
        names = [canonical(part) for part in parts]
        if found := next((part for part, name in zip(parts, names, strict=True) if name in _ENVIRONMENTS), ""):
            return found
        if _PACKAGE_PROGRAMS in itertools.pairwise(names):
            return "/".join(_PACKAGE_PROGRAMS)
    above = (folder for folder in target.parents if below(folder, workspace.resolved_roots))
    return next((folder.name for folder in above if os.path.lexists(folder / "pyvenv.cfg")), "")


def is_template(name: str) -> bool:
    """Return True if a file name is a template of an `.env` file: `.env.example`."""
    plain = canonical(name)
    return plain.startswith(".env") and plain.endswith(TEMPLATES)


def leaves_templates(pattern: str) -> bool:
    """Return True if a pattern covers `.env` files but not their templates: a wildcard matches them without naming
    them.
    """
    last = pattern.rpartition("/")[2]
    named = any(template in last.casefold() for template in TEMPLATES)
    return names_wildcard(last) and bool(last.strip("*")) and not named


def names_protected(text: str, *, write: bool) -> str:
    """Return the protected name among the components of an unresolved path, or an empty string."""
    return next((part for part in text.split("/") if _protected_name(part, write)), "")


def could_name_protected(text: str, *, spread: bool = False) -> str:
    """Return the component with wildcards that could match a protected name, or an empty string.

    `spread` is true if the shell's braces are expanded: any that are left stand for themselves.
    """
    for part in text.replace("{", "x" if spread else "{").split("/"):
        plain = canonical(part)
        if any(sign in plain for sign in "*?[{") and plain.startswith((".", "[", "{")) and _glob_hits(plain):
            return part
    return ""


@lru_cache(maxsize=4096)
def canonical(name: str) -> str:
    """Return a file name as the most lenient file system would compare it."""
    if not _plain(name):
        name = unicodedata.normalize("NFKC", "".join(letter for letter in name if not invisible(letter)))
    name = name.casefold().strip()
    return name.split(":")[0].rstrip(" .") if name.strip(".") else name


def _unseen(letter: str) -> bool:
    """Return True for an invisible character. Fonts show those for private use as icons."""
    return invisible(letter) and unicodedata.category(letter) != "Co"


def _plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


_SEVERITY: dict[Verdict, int] = {"free": 0, "outside": 1, "protected": 2, "refused": 3}


def _readings(text: str, workspace: Workspace, cwd: Path) -> list[str]:
    """Return the paths that `text` may mean: first as file tools read it, then unchanged, then as a shell might."""
    forms = {text, text.strip()}
    if "$" in text or text.startswith("~"):
        home = str(workspace.home)
        expanded = text.replace("${HOME}", home).replace("$HOME", home)
        at_home = expanded == "~" or expanded.startswith("~/")
        forms.add(home + expanded[1:] if at_home else os.path.expanduser(with_shell_folder(expanded, cwd)))
    return list(dict.fromkeys([spelled(cwd, text), *(os.path.join(cwd, form) for form in forms)]))


def with_shell_folder(word: str, cwd: Path) -> str:
    """Return a word with the folder that `~+` means. For `~-` and `~2`, which may mean any folder, it begins with `/`."""
    first, _, rest = word.partition("/")
    if first == "~+":
        return f"{cwd}/{rest}"
    return f"/{rest}" if first == "~-" or (first[:1] == "~" and first[1:].lstrip("+-").isdigit()) else word


def _judge(path: str, workspace: Workspace, write: bool) -> PathVerdict:
    try:
        target = str(follow(path))
    except (OSError, ValueError):
        return PathVerdict("refused", "can't resolve the path")
    forms = {os.path.normpath(path), target}
    kernel = not write and all(map(tells_of_machine, forms))
    if special := _special(forms if not kernel else (), target):
        return PathVerdict("refused", special, Path(target))
    closed = next(filter(None, (_closed(form, workspace, write) for form in forms)), "")
    if closed and (write or not is_opened(target, workspace)):
        return PathVerdict("protected", closed, Path(target))
    if write and (started := _started(Path(target), workspace)):
        return PathVerdict("protected", started, Path(target))
    if not below(target, [*workspace.resolved_roots, *filter(None, [workspace.tmp])]):
        return PathVerdict("outside", f"{target} is outside the workspace", Path(target))
    return PathVerdict("free", "", Path(target))


def _closed(form: str, workspace: Workspace, write: bool) -> str:
    """Return why a form of a path is private or protected, or an empty string."""
    parts = form.split("/")[1:]
    named = (part for part in _below_root(form, parts, workspace) if _protected_name(part, write))
    return _private(parts, workspace) or next((f"{part} is protected" for part in named), "")


def is_opened(path: str | Path, workspace: Workspace) -> bool:
    """Return True if a path is a protected or private file that a rule about reading names."""
    named = os.path.normpath(path)
    return any(named == str(each) for each in workspace.opened())


def _started(target: Path, workspace: Workspace) -> str:
    """Return why a file or a folder around it decides what a hook or server runs; or an empty string."""
    if why := workspace.started().get(target):
        return why
    if target in workspace.resolved_roots:
        return ""
    return next((why for path, why in workspace.started().items() if target in path.parents), "")


def _special(forms: Iterable[str], target: str) -> str:
    """Return why a path cannot be an ordinary file, or an empty string."""
    for form in forms:
        if below(form, _SPECIAL_TREES):
            return f"{form} is not a regular file"
    try:
        mode = os.stat(target).st_mode
    except (OSError, ValueError):
        return ""
    return "" if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else f"{target} is not a regular file"


def below(path: str | Path, tops: Iterable[str | Path]) -> bool:
    """Return True if a path is one of the folders, or in one.

    Compares texts, which takes a tenth of the time of `Path.is_relative_to`.
    """
    return f"{path}/".startswith(prefixes(tops))


def free_either_way(path: str, workspace: Workspace, *, write: bool, cwd: Path) -> bool:
    """Return True if a path is free, and means one place (see `means_one`)."""
    return means_one(path, cwd) and judge_path(path, workspace, write=write, cwd=cwd).verdict == "free"


def means_one(path: str, cwd: Path) -> bool:
    """Return True if a path leads to one place, whether its links are followed or its `..` are removed first."""
    there = cwd / path
    return not impossible(path) and resolved(there) == resolved(os.path.normpath(there))


def holds_denied(path: Path, workspace: Workspace) -> bool:
    """Return True if deny rules keep a path, or a file below it, from being read."""
    there = resolved(path) if workspace.denied else path
    return any(below(one, (there,)) or below(there, (one,)) for one in workspace.denied)


def prefixes(tops: Iterable[str | Path]) -> tuple[str, ...]:
    """Return the beginnings of all paths in these folders, and of the folders with a `/` added."""
    return tuple(f"{str(top).rstrip('/')}/" for top in tops)


def names_inside(word: str, at: Path, workspace: Workspace) -> bool:
    """Return True if a word in the folder `at` names a path of the workspace, wherever its links lead."""
    named = os.path.normpath(at / os.path.expanduser(word))
    return below(named, workspace.resolved_roots) and not impossible(named)


def _private(parts: list[str], workspace: Workspace) -> str:
    """Return why a path is private to the user, or an empty string. Compares like a case-insensitive file system."""
    names: list[str] | None = None
    for folder, reason in _private_folders(workspace.homes, workspace.own):
        if len(parts) >= len(folder):
            names = names or [canonical(part) for part in parts]
            if tuple(names[: len(folder)]) == folder:
                return reason
    return ""


@lru_cache(maxsize=16)
def _private_folders(homes: tuple[Path, ...], own: tuple[Path, ...]) -> list[tuple[tuple[str, ...], str]]:
    """Return the private folders as canonical components, each with the reason to report."""
    found = [(folder, f"{folder} belongs to agentcli") for folder in own]
    private = ((home.joinpath(*parts), parts) for home in dict.fromkeys(homes) for parts in PRIVATE_IN_HOME)
    found += [(folder, f"~/{'/'.join(parts)} is private") for folder, parts in private]
    both = [(form, reason) for folder, reason in found for form in {folder, resolved(folder)}]
    return [(tuple(canonical(part) for part in folder.parts[1:]), reason) for folder, reason in both]


def _below_root(path: str, parts: list[str], workspace: Workspace) -> list[str]:
    """Return the components below the workspace's own root, or all if the path is outside."""
    roots = {*workspace.resolved_roots, *(workspace.roots or (workspace.cwd,))}
    depths = [len(root.parts) - 1 for root in roots if below(path, (root,))]
    return parts[max(depths, default=0) :]


def _protected_name(part: str, write: bool) -> bool:
    name = canonical(part)
    if name.startswith(".env"):
        return not is_template(name)
    return write and (name in PROTECTED_FOLDERS or name in PROTECTED_FILES)


def _glob_hits(pattern: str) -> bool:
    if "{" in pattern and ("," in pattern or ".." in pattern):
        return True
    return any(
        fnmatch.fnmatchcase(name, pattern) for name in (".env", ".env.local", *PROTECTED_FOLDERS, *PROTECTED_FILES)
    )


def entries_of(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of a folder; none after an error of the system."""
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return


def entries_below(top: Path) -> Iterator[os.DirEntry[str]]:
    """Yield everything below a folder, breadth first, without entering git's own folder or links."""
    waiting = [str(top)]
    for folder in waiting:
        for entry in entries_of(folder):
            yield entry
            if entry.is_dir(follow_symlinks=False) and entry.name != ".git":
                waiting.append(entry.path)
