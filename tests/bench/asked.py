"""Questions that commands of real models would raise: `python -m tests.bench.asked FOLDER [--half tuning|unseen] [--reasons N]`.

FOLDER holds transcripts, one file for each session. The shares are printed by model, with and without the commands that need the
network or folders outside the session's own: for mode auto with a person who allows once, with one who takes the first answer of
each question (first), and with one who takes the widest "always" that is offered, which lasts for the session's project (answered);
and so for mode ask, with a sandbox and without one (bare). A first answer is what the dialog shows first: it adds a folder or rules to
the session if the question offers that; else it allows once. It ends with the session. Allowed once, a host behind the proxy is
asked about again. The branch is the recorded one, or the one to which a command switched. A folder elsewhere in which commands call git is a repository on its main branch.
A command that runs, fails in the sandbox and only then asks is not counted.
A folder is a linked work tree only if its name has the form that agents give one, or if a command recorded in the project added it:
before the session, or by the command of the session itself, after which it is the session's own.
A folder in which commands call `docker compose` has a plain compose file, with a build and a mount of that folder.
What `pkill` finds is the session's own if an earlier command has started it in the background; else it is somebody else's.
Reasons are printed of the tuning half only, so that the other stays unseen.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shlex
import shutil
import struct
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path

from agentcli.core.message import ToolCall
from agentcli.permissions.decide import Decision, decide
from agentcli.permissions.exposed import may_join
from agentcli.permissions.git_config import git_folders, work_tree_of
from agentcli.permissions.network.hosts import Hosts, hosts_in
from agentcli.permissions.paths import UndoCover, Workspace, judge_path
from agentcli.permissions.rules import Rules, paths_opened, paths_shown, proposed_rules
from agentcli.permissions.sandbox.visible import visible
from agentcli.permissions.shell.effects.git_repositories import git_placed, work_trees
from agentcli.permissions.shell.effects.private_tmp import seen_text
from agentcli.permissions.shell.programs.known_programs import uses_network
from agentcli.permissions.shell.syntax.flow import runs_of
from agentcli.permissions.shell.syntax.parse import UNKNOWN, contents, runs
from agentcli.tools.registry import TRAITS
from tests.bench.transcripts import Half, Recorded, Transcript, transcripts

_PATH = re.compile(
    r"(?<![\w/.$~-])[\w@][\w.@-]*(?:/[\w.@\[\]-]+)*\.[A-Za-z]\w{0,5}(?![\w/])|(?<![\w/.$~-])[\w@][\w.@-]*(?:/[\w.@-]+)+|(?<![\w/.$~-])\.env(?:\.[\w-]+)?(?![\w/])"
)
_STARTED = re.compile(
    r"(?:^|[;&|\n]|\b(?:do|then|time)\s)\s*(?:\w+=\S*\s+)*((?:\./|\.?\w)[\w.-]*(?:/[\w.-]+)+)(?=\s|$)"
)
"""A program called by its path below the folder that it runs in."""
_MOVED = re.compile(r"\s*cd\s+([\w.-]+(?:/[\w.-]+)*)\s*&&")
_NETWORK = re.compile(
    r"""(?x) (?:^|[;&|(`\n]|\$\(|\b(?:do|then|else|xargs|timeout\s+\S+|sudo|time|env)\s) \s* (?:\w+=\S*\s+)* (?:
    (?:gh|ssh|scp|sftp|aws|gcloud|az|kubectl|fly|flyctl|vercel|heroku|dig|nslookup|ping|telnet|nc)\s
    | git\s+(?:-C\s+\S+\s+)?(?:push|fetch|pull|clone|ls-remote|submodule\s+update|remote\s+(?:update|show|prune))\b
    | (?:npm|pnpm|yarn|bun|bundle|composer|poetry|pdm)\s+(?:\S+\s+)*?(?:install|i|ci|add|update|upgrade|publish|outdated|audit|view|info|login|create)\b
    | (?:npm|pnpm|bun)\s+(?:dlx|x)\b | (?:uv|pip3?|python3?\s+-m\s+pip|uv\s+pip)\s+(?:install|add|sync|download|index|lock|tool)\b
    | (?:apt|apt-get|brew|dnf|yum|apk|pacman|gem|cargo|go|rustup|mise|asdf|nix|conda)\s+(?:install|update|upgrade|get|add|publish|mod\s+(?:tidy|download)|use)\b
    | (?:npx|bunx|uvx|pipx|pnpx|npm\s+exec)\s | (?:docker|docker-compose|podman)\s+(?:pull|push|build|run|compose|login)\b
    | (?:curl|wget|http|xh)\s(?![^\n;|&]*(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]))
    | (?:wrangler|entire)\s+(?:deploy|login|publish|tail|secret|kv|d1|r2|push) )"""
)
"""Commands that fetch or send: packages, repositories, services."""
_COPIED = re.compile(r"\d*>&\d|&>")
_LEFT = re.compile(r"([^;&|\n]+)&(?!&)")
"""A command in the background, in a line without copied descriptors."""
_BRANCHES = re.compile(r"\bgit (?:-\S+ )*(?:checkout|switch)(?: -\S+)* ([\w.-]+(?:/[\w.-]+)+)(?=\s*(?:$|[;&|\n]|2>))")
"""A branch that a command switches to: no folder has its name."""
_SYSTEM = ("/tmp", "/dev/", "/usr", "/bin", "/etc", "/var/tmp", "/private/tmp", "/proc", "/opt")
_ABSOLUTE = re.compile(r"(?<![\w.:/$}~*\]\\-])(/[\w.@-]+(?:/[\w.@+-]*)*)")
_HOMES = re.compile(r"(?:/Users|/home)/[^/]+(?=/|\Z)|/root(?=/|\Z)")
_AWAY = re.compile(r"(?<![\w/.~$}*-])(?:~|\$HOME|\$\{HOME\}|(?:\.\./)*\.\.|/[\w.@+-]+)(?:/[\w.@+!-]+)+")
"""A path that leaves the folder in which it is named."""
_IN_GIT = re.compile(r"(?:\bcd|\bgit\s+-C)\s+[\"']?((?:~|\$HOME|\$\{HOME\}|/)[\w/.@+-]*)")
_SKILLS = (".agentcli/skills", ".agents/skills", ".claude/skills")
"""Folders of the home folder in which the program reads skills."""
_STARTUP = re.compile(r"\.\w*(?:rc|profile|login|env)")
"""Files that shells and other programs read as they start."""
_HOME = re.compile(r"(?<![\w/])(?:~|\$HOME|\$\{HOME\})(?:/|\b)")


def needs_network(command: str) -> bool:
    """Return True if a command fetches or sends, as its text says."""
    return _NETWORK.search(command) is not None


def elsewhere(command: str, folder: str) -> bool:
    """Return True if a command names a folder of the recording machine outside of the session's own, or of the home folder."""
    absolute = (path for path in _ABSOLUTE.findall(command) if path.count("/") > 1 or path in ("/Users", "/home"))
    others = (path for path in absolute if path != folder and not path.startswith((folder + "/", *_SYSTEM)))
    homes = ("/Users/", "/home/", "/root/", "/private/", "/var/folders/", "/workspace/", "/mnt/", "/Volumes/", "/repo")
    return any(path.startswith(homes) for path in others) or bool(_HOME.search(command)) or "../.." in command


@dataclass(slots=True)
class Tally:
    """Counts of one model: commands, and the questions in each way of counting."""

    of: int = 0
    auto: int = 0
    local: int = 0
    auto_local: int = 0
    first: int = 0
    """Questions of mode auto after the first answer of each earlier one."""
    answered: int = 0
    """Questions of mode auto after answers of "always"."""
    ask: int = 0
    ask_local: int = 0
    bare: int = 0
    bare_local: int = 0

    def line(self, name: str) -> str:
        """The shares as a line of a table."""
        every, local = max(1, self.of), max(1, self.local)
        return (
            f"{name:34} {self.of:6} {self.auto / every:8.1%} {self.first / every:8.1%} {self.answered / every:8.1%} {self.ask / every:8.1%} {self.bare / every:8.1%} "
            f"{self.local:6} {self.auto_local / local:8.1%} {self.ask_local / local:8.1%} {self.bare_local / local:8.1%}"
        )


@dataclass(slots=True)
class Outcome:
    """Figures of a half: tallies by model, and reasons with their commands."""

    models: defaultdict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    auto: list[tuple[str, str, bool]] = field(default_factory=list)
    """Questions in auto: reason, command, and whether it is local."""
    first: list[tuple[str, str, bool]] = field(default_factory=list)
    ask: list[tuple[str, str, bool]] = field(default_factory=list)
    bare: list[tuple[str, str, bool]] = field(default_factory=list)
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session would happen here: a home folder like the recorded one, with the session's folder in it."""

    top: Path
    folder: str
    home: str
    """Home folder of the recording machine; empty if the session's folder is in none."""

    @property
    def home_here(self) -> Path:
        return self.top / "home"

    @property
    def work(self) -> Path:
        if self.folder == self.home:
            return self.home_here
        inside = self.folder.removeprefix(self.home + "/") if self.home else ""
        return self.home_here / inside if inside and inside != self.folder else self.top / "work"

    def here(self, text: str) -> str:
        """Return a text with the folders of this machine instead of the recorded ones."""
        for recorded, here in ((self.folder, self.work), (self.home, self.home_here)):
            if recorded:
                text = re.sub(rf"(?<![\w/.]){re.escape(recorded)}(?=[/\s'\"`:;,&|)]|$)", lambda _: str(here), text)  # noqa: B023
        return text


_WORKTREE = re.compile(
    r"(?P<home>/[^/]+/[^/]+)/\.codex/worktrees/[^/]+/(?P<name>[^/]+)$"
    r"|(?P<herd>/.+/\.herdr/worktrees/[^/]+)/[^/]+$|(?P<top>/.+)/(?:\.claude/worktrees|\.worktrees)/[^/]+$"
)
"""Folders that agents name after the repository whose worktrees they are."""


def project_of(folder: str) -> str:
    """Return what names the project of a folder: its worktrees share the rules that are saved for it."""
    found = _WORKTREE.match(folder)
    return folder if found is None else found["herd"] or found["top"] or f"{found['home']}/{found['name']}"


def place_of(top: Path, session: Transcript) -> Place:
    """The place of a session below a temporary folder."""
    home = _HOMES.match(session.folder)
    return Place(top, session.folder, home[0].rstrip("/") if home else "")


def workspace_in(place: Place, session: Transcript, trees: Sequence[Tree] = ()) -> Workspace:
    """Make a workspace in which the session could have happened: a repository and a home with the files that it names."""
    work, home = place.work, place.home_here
    for folder in (home, place.top / "tmp"):
        folder.mkdir(parents=True, exist_ok=True)
    if (main := main_of(place)) is not None:
        _link(work, main, place)
    else:
        _repository(work, "main")
    _check_out(work, session)
    own = [tree.folder for tree in trees if tree.session == session.session]

    def there(paths: Iterable[Path]) -> Iterator[Path]:
        return (path for path in paths if not any(map(path.is_relative_to, own)))

    for folder in there(_repositories(place, session)):
        with suppress(OSError):
            _repository(folder, "main")
    for tree in trees:
        if tree.session != session.session and tree.folder not in own:
            _link(tree.folder, tree.repository, place)
    for folder in there(_composed(place, session)):
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "compose.yml").write_text("services:\n  app:\n    build: .\n    volumes: ['.:/app']\n")
    called = _called(place, session)
    for path in there(_outside(place, session)):
        _make(path, path in called)
    entered = there(Path(place.here(folder)) for folder in session.entered)
    roots = tuple(
        dict.fromkeys((work, *(folder for folder in entered if folder.is_relative_to(home) and folder != home)))
    )
    for root in roots:
        root.mkdir(parents=True, exist_ok=True)
    cover = UndoCover(1_000_000, 20_000, frozenset({"node_modules", ".git", ".venv", "target", "dist"}))
    skills = tuple(folder for name in _SKILLS if (folder := home / name).is_dir())
    made = Workspace(
        work,
        roots,
        home,
        sandboxed=True,
        records=True,
        tmp=place.top / "tmp",
        loopback=lambda _: True,
        gated=True,
        exposes=True,
        undo=cover,
        readable=lambda: skills,
        path="/usr/local/bin:/usr/bin:/bin",
        env={},
    )
    seen = visible(made).personal
    return replace(made, installed=lambda: seen)


def main_of(place: Place) -> Path | None:
    """Return where the repository of a session's folder is if the folder is a work tree by its name."""
    project = project_of(place.folder)
    if project == place.folder:
        return None
    known = Path(place.here(project))
    # Of these forms only the name of the repository is known.
    return known if place.work.is_relative_to(known) and "/.herdr/" not in project else place.home_here / known.name


@dataclass(frozen=True, slots=True)
class Tree:
    """A work tree that a recorded command adds, in the folders of this machine."""

    session: str
    command: str
    folder: Path
    repository: Path
    """The folder in which git was called."""


def trees_of(place: Place, session: Transcript) -> Iterator[Tree]:
    """Yield the work trees that a session's commands add."""
    for recorded in session.commands:
        if "worktree" not in recorded.command:
            continue
        here = Workspace(place.work, home=place.home_here, tmp=place.top / "tmp", env={})
        command, here = placed(recorded, place, here)
        for run in runs_of(seen_text(command, here), here) or ():
            git = git_placed(run.words, run.folders) if run.words[:1] == ("git",) else None
            if git is None or git[0][1:3] != ("worktree", "add"):
                continue
            valued = ("-b", "-B", "--reason")
            words = [word for before, word in pairwise(git[0][2:]) if word[:1] != "-" and before not in valued]
            for folder in git[1] if words and UNKNOWN not in words[0] else ():
                tree, repository = (Path(os.path.normpath(folder / name)) for name in (words[0], "."))
                if tree.is_relative_to(place.top):
                    yield Tree(session.session, recorded.command, tree, repository)


def _link(tree: Path, repository: Path, place: Place) -> None:
    """Make a linked work tree of the repository around a folder."""
    main = work_tree_of(repository) or repository
    with suppress(OSError, ValueError):
        if not (main / ".git").exists():
            _repository(main, "main")
        common = git_folders(main)[1]
        state = common / "worktrees" / f"{tree.name}-{len([*common.glob('worktrees/*')])}"
        for folder in (tree, state):
            folder.mkdir(parents=True, exist_ok=True)
        named = re.sub(rf"^{re.escape(str(place.top / 'tmp'))}/", "/tmp/", f"{tree}/.git")
        for name, text in (("HEAD", f"ref: refs/heads/{tree.name}"), ("commondir", "../.."), ("gitdir", named)):
            (state / name).write_text(f"{text}\n")
        (tree / ".git").write_text(f"gitdir: {state}\n")


def _check_out(top: Path, session: Transcript) -> None:
    """Make the files that a session names in its folder."""
    named = [path.removeprefix(session.folder + "/") for path in session.files if path.startswith(session.folder + "/")]
    for recorded in session.commands:
        named += _PATH.findall(recorded.command.replace(session.folder + "/", ""))
    programs = dict.fromkeys(_programs(session))
    branches = {recorded.branch for recorded in session.commands}
    branches.update(name for recorded in session.commands for name in _BRANCHES.findall(recorded.command))
    for name in dict.fromkeys((*named, *programs)):
        if name not in branches and len(name) < 200 and ".." not in name and not name.startswith((".git/", "/")):
            _make(top / name, name in programs)


def _repository(top: Path, branch: str) -> None:
    """Make a repository on a branch, cloned by HTTPS: recordings do not tell."""
    for name in ("objects", "refs", "hooks"):
        (top / ".git" / name).mkdir(parents=True, exist_ok=True)
    (top / ".git/HEAD").write_text(f"ref: refs/heads/{branch}\n")
    head = b"DIRC" + struct.pack(">II", 2, 0)
    (top / ".git/index").write_bytes(head + hashlib.sha1(head).digest())
    remote = '[remote "origin"]\n\turl = https://github.com/owner/name.git\n'
    (top / ".git/config").write_text(f"[core]\n\tbare = false\n{remote}")


def _repositories(place: Place, session: Transcript) -> Iterator[Path]:
    """Yield the folders of the home folder, outside the session's own, in which its commands call git."""
    home = str(place.home_here)
    for recorded in session.commands:
        command = place.here(recorded.command)
        named = [place.here(recorded.folder), *_IN_GIT.findall(command)] if "git " in command else []
        for word in named:
            path = re.sub(r"^(?:~|\$HOME|\$\{HOME\})", home, word)
            if path.startswith(f"{home}/") and len(path) < 300 and not f"{path}/".startswith(f"{place.work}/"):
                yield Path(path)


def _composed(place: Place, session: Transcript) -> Iterator[Path]:
    """Yield the folders in which commands call `docker compose` without a file's name: there was a plain one."""
    for recorded in session.commands:
        if "docker compose" in recorded.command:
            moved = re.search(r"\bcd\s+[\"']?([\w/.~@+-]+)", place.here(recorded.command))
            path = os.path.join(place.here(recorded.folder), moved[1] if moved else "")
            if path.startswith(str(place.top)) and len(path) < 300:
                yield Path(os.path.normpath(path))


def _make(path: Path, program: bool) -> None:
    """Make a file, or a folder for a name without a suffix."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        if "." in path.name.lstrip(".") or program or _STARTUP.fullmatch(path.name):
            path.touch(0o755 if program else 0o644)
        else:
            path.mkdir(exist_ok=True)


def _outside(place: Place, session: Transcript) -> Iterator[Path]:
    """Yield the paths of the home folder, outside the session's own, that its commands name or run in: they were there."""
    home = str(place.home_here)
    for recorded in session.commands:
        folder = place.here(recorded.folder)
        if folder.startswith(home + "/") and not f"{folder}/".startswith(f"{place.work}/"):
            yield Path(folder)
        for word in _AWAY.findall(place.here(recorded.command)):
            text = re.sub(r"^(?:~|\$HOME|\$\{HOME\})", home, word)
            path = os.path.normpath(os.path.join(folder, text))
            if path.startswith(home + "/") and len(path) < 300 and not path.startswith(f"{place.work}/"):
                yield Path(path)


def _called(place: Place, session: Transcript) -> set[Path]:
    """The programs of the home folder that its commands call by their paths."""
    parts = (part for recorded in session.commands for part in contents(place.here(recorded.command))[0])
    words = (part.texts[0] for part in parts if part.words)
    return {Path(_HOME_ITSELF.sub(str(place.home_here), word)) for word in words if "/" in word}


_HOME_ITSELF = re.compile(r"^(?:~|\$HOME|\$\{HOME\})(?=/)")


def _programs(session: Transcript) -> Iterator[str]:
    """The programs of the session's folder that its commands call by path."""
    for recorded in session.commands:
        inside = os.path.relpath(recorded.folder, session.folder)
        moved = _MOVED.match(recorded.command)
        folder = os.path.join(inside, moved[1] if moved else "")
        for name in _STARTED.findall(recorded.command):
            yield os.path.normpath(os.path.join(folder, name))


_TEMPORARY = re.compile(r"(?<![\w/.])(?:/private/tmp|(?:/private)?/var/folders/\w+/\w+/T)(?![\w.-])")
"""Names of the folder of temporary files on macOS."""


def placed(recorded: Recorded, place: Place, workspace: Workspace) -> tuple[str, Workspace]:
    """Return the command with the folders of this machine, and the workspace with the folder that it ran in."""
    folder, command = (
        _TEMPORARY.sub("/tmp", place.here(text)) for text in (recorded.folder.rstrip("/"), recorded.command)
    )
    if not any(Path(folder).is_relative_to(root) for root in (*workspace.roots, *workspace.added())):
        return f"cd {shlex.quote(folder)} && {command}", workspace
    here = Path(folder)
    try:
        here.mkdir(parents=True, exist_ok=True)
    except OSError:
        return command, workspace
    return command, replace(workspace, cwd=here)


def decided(command: str, rules: Rules, mode: str, workspace: Workspace) -> Decision:
    """The decision about a command."""
    return decide(ToolCall("c", "bash", {"command": command}), TRAITS, rules, mode, workspace)  # type: ignore[arg-type]


def measured(sessions: Iterable[Transcript], most: int = 0) -> Outcome:
    """Replay sessions through the permissions."""
    outcome = Outcome()
    kept: defaultdict[tuple[str, str, bool], Rules] = defaultdict(Rules)
    left = most or sys.maxsize
    # Not below /tmp: a command in the sandbox sees another folder there.
    with tempfile.TemporaryDirectory(prefix="asked-", dir="/var/tmp") as folder, _same_home_after():
        known = [(session, _place_in(folder, session)) for session in sessions]
        trees: defaultdict[str, list[Tree]] = defaultdict(list)
        for session, place in known:
            os.environ["HOME"] = str(place.home_here)
            trees[project_of(session.folder)] += trees_of(place, session)
            shutil.rmtree(place.top, ignore_errors=True)
        for session, place in known:
            os.environ["HOME"] = str(place.home_here)
            added = trees[project_of(session.folder)]
            run = _Run(place, workspace_in(place, session, added), session, added)
            for recorded in session.commands:
                left -= 1
                if left < 0:
                    return outcome
                _count(recorded, run, outcome, kept)
                run.ran(recorded.command)
            shutil.rmtree(place.top)
    return outcome


@contextmanager
def _same_home_after() -> Iterator[None]:
    before = os.environ.get("HOME", "")
    try:
        yield
    finally:
        os.environ["HOME"] = before


def _place_in(folder: str, session: Transcript) -> Place:
    """Return the place of a session, the same for all sessions of a project: saved rules name paths."""
    name = hashlib.sha256(project_of(session.folder).encode()).hexdigest()[:8]
    return place_of(Path(os.path.realpath(folder), name), session)


@dataclass(frozen=True, slots=True)
class _Run:
    place: Place
    given: Workspace
    session: Transcript
    trees: Sequence[Tree]
    made: list[Path] = field(default_factory=list)
    """Work trees that the session has made."""
    joined: list[Path] = field(default_factory=list)
    """Work trees that have joined its workspace."""
    hosts: set[str] = field(default_factory=set)
    """Questions about hosts: a first answer holds for the session."""
    first: list[Path] = field(default_factory=list)
    """Folders that the first answers have added."""
    rules_first: list[Rules] = field(default_factory=lambda: [Rules()])
    """Rules of the first answers."""
    background: list[str] = field(default_factory=list)
    """Commands that the session has left running."""
    added: defaultdict[tuple[str, bool], list[Path]] = field(default_factory=lambda: defaultdict(list))
    """Folders that answers have added to the session's workspace, by mode and whether there is a sandbox."""

    @property
    def project(self) -> str:
        return project_of(self.place.folder)

    @property
    def workspace(self) -> Workspace:
        return replace(self.given, added=lambda: self.joined, made=lambda: self.made, finds=self._found)

    def _found(self, pattern: str) -> dict[str, bool]:
        own = any(re.search(pattern, text, re.IGNORECASE) for text in self.background)
        return {"recorded (1)": own}

    def ran(self, command: str) -> None:
        """Make the work trees that a recorded command has added, and keep what it has left running."""
        self.background.extend(_LEFT.findall(_COPIED.sub(" ", command)))
        for tree in self.trees:
            if (tree.session, tree.command) != (self.session.session, command) or tree.folder in self.made:
                continue
            before = work_trees(self.workspace)
            _link(tree.folder, tree.repository, self.place)
            _check_out(tree.folder, self.session)
            if work_trees(self.workspace).keys() == before.keys():
                continue  # another repository's
            self.made.append(tree.folder)
            away = judge_path(str(tree.folder), self.workspace, write=False).verdict == "outside"
            self.joined.extend([tree.folder] if away and may_join(tree.folder, self.workspace) else [])


def _count(recorded: Recorded, run: _Run, outcome: Outcome, kept: dict[tuple[str, str, bool], Rules]) -> None:
    command, here = placed(recorded, run.place, run.workspace)
    head = "0" * 40 if recorded.branch == "HEAD" else f"ref: refs/heads/{recorded.branch or 'main'}"
    (git_folders(run.place.work)[0] / "HEAD").write_text(f"{head}\n")
    tally = outcome.models[recorded.model or "unknown"]
    tally.of += 1
    given = re.sub(rf"{re.escape(str(run.place.work))}(?![\w.@-])", ".", command).replace(str(run.place.home_here), "~")
    local = not needs_network(recorded.command) and not elsewhere(given, run.place.folder)
    tally.local += local
    auto = decided(command, Rules(), "auto", here)
    why = auto.why if auto.decision != "allow" else _asked_by_host(command, run)
    if why:
        tally.auto += 1
        tally.auto_local += local
        outcome.auto.append((why, recorded.command, local))
    by_host = why if auto.decision == "allow" and why not in run.hosts else ""
    if by_host:
        run.hosts.add(by_host)
    if why:
        tally.answered += bool(_asked(command, here, kept, run, "auto") or by_host)
    if why := _asked_first(command, here, run) or by_host:
        tally.first += 1
        outcome.first.append((why, recorded.command, local))
    if why := _asked(command, here, kept, run):
        tally.ask += 1
        tally.ask_local += local
        outcome.ask.append((why, recorded.command, local))
    bare = replace(here, sandboxed=False, gated=False, exposes=False, tmp=None, loopback=None)
    if why := _asked(command, bare, kept, run):
        tally.bare += 1
        tally.bare_local += local
        outcome.bare.append((why, recorded.command, local))


def _asked_by_host(command: str, run: _Run) -> str:
    """Return the question that a host would raise while a command runs. Allowed once, the next command asks again.

    Remotes of these repositories are on github.com. Package managers name no host; their registries are on the list.
    """
    if not any(uses_network(words, (run.place.work,)) for part in contents(command)[0] for words in runs(part)):
        return ""
    known = Hosts(remotes=frozenset({"github.com"}))
    hosts = [host for host in sorted(hosts_in([command])) if known.verdict(host)[0] == "ask"]
    return f"the network: {hosts[0]}" if hosts else ""


def _asked_first(command: str, here: Workspace, run: _Run) -> str:
    """Return the reason for a question in mode auto; empty if nothing is asked. Keep what its first answer allows."""
    rules = run.rules_first[0]
    here = replace(
        here,
        added=lambda: (*run.joined, *run.first),
        shown=lambda home=here.home: paths_shown(rules.allow, home),
        opened=lambda here=here: paths_opened(rules.allow, here),
    )
    ask = decided(command, rules, "auto", here)
    if ask.decision == "allow":
        return ""
    folders, fresh = ask.first_answer("auto")
    run.first.extend(folder for folder in folders if folder not in run.first)
    run.rules_first[0] = rules + proposed_rules(fresh)
    return f"{'FOLDER ' if folders else 'RULE ' if fresh else ''}{ask.why}"


def _asked(
    command: str, here: Workspace, kept: dict[tuple[str, str, bool], Rules], run: _Run, mode: str = "ask"
) -> str:
    """Return the reason for a question in a mode; empty if nothing is asked.

    Keep what a person answers who takes the widest offer: a folder for the session, or rules for the project.
    """
    rules, added = kept[run.project, mode, here.sandboxed], run.added[mode, here.sandboxed]
    here = replace(
        here,
        shown=lambda home=here.home: paths_shown(rules.allow, home),
        opened=lambda here=here: paths_opened(rules.allow, here),
        added=lambda: (*run.joined, *added),
    )
    ask = decided(command, rules, mode, here)
    if ask.decision == "allow":
        return ""
    if folders := ask.widen():
        added += [folder for folder in folders if folder not in added]
        return f"ADDED {ask.why}"
    boxes = ask.boxes()
    programs = () if boxes else ask.programs()
    widest = ask.grants() or ((boxes,) if boxes else ask.prefixes or ((ask.always,) if ask.always else (ask.session,)))
    fresh = proposed_rules(filter(None, programs or widest), whole=bool(programs))
    kept[run.project, mode, here.sandboxed] = rules + Rules(tuple(set(fresh.allow) - set(rules.allow)))
    return f"{'' if boxes or programs or ask.prefixes else 'NO PREFIX '}{ask.why}"


def report(outcome: Outcome) -> Iterator[str]:
    """The figures as a table."""
    yield f"{'model':34} {'of':>6} {'auto':>8} {'first':>8} {'answered':>8} {'ask':>8} {'bare':>8} {'local':>6} {'auto':>8} {'ask':>8} {'bare':>8}"
    total = Tally()
    for name, tally in sorted(outcome.models.items(), key=lambda item: -item[1].of):
        yield tally.line(name)
        for part in fields(Tally):
            setattr(total, part.name, getattr(total, part.name) + getattr(tally, part.name))
    yield total.line("all")


def reasons(outcome: Outcome, most: int) -> Iterator[str]:
    """The most frequent reasons of questions, each with some of its commands."""
    groups: dict[str, list[tuple[str, str]]] = {
        "auto, first answers": [(why, command) for why, command, _ in outcome.first],
        "auto, local": [(why, command) for why, command, local in outcome.auto if local],
        "ask, local": [(why, command) for why, command, local in outcome.ask if local],
        "ask without a sandbox, local": [(why, command) for why, command, local in outcome.bare if local],
    }
    for title, found in groups.items():
        yield f"\n== {title}: {len(found)}"
        counts = Counter(_form(why) for why, _ in found)
        for form, count in counts.most_common(most):
            yield f"{count:6} {form}"
            shown = [command for why, command in found if _form(why) == form]
            yield from (f"           {command[:220]!r}" for command in shown[:: max(1, len(shown) // 4)][:4])


def _form(why: str) -> str:
    return re.sub(r"\S*[/.~]\S*", "PATH", why)


def main() -> None:
    """Print the figures of a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=("tuning", "unseen"), default="tuning")
    parser.add_argument("--reasons", type=int, default=0, help="how many reasons to print; of the tuning half only")
    parser.add_argument("--most", type=int, default=0, help="stop after so many commands")
    given = parser.parse_args()
    half: Half = given.half
    outcome = measured((session for session in transcripts(given.folder) if session.half == half), given.most)
    print("\n".join(report(outcome)))
    if given.reasons and half == "tuning":
        print("\n".join(reasons(outcome, given.reasons)))


if __name__ == "__main__":
    main()
