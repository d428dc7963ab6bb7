"""Questions that commands of real models would raise: `python -m tests.bench.asked FOLDER [--half tuning|unseen] [--reasons N]`.

FOLDER holds transcripts, one file for each session. The shares are printed by model, for mode auto with and without the commands that
need the network or the folders of other machines, and for mode ask with a person who takes the widest "always" that is offered, which
lasts for the session's project: on a machine with a sandbox, and on one without (bare). Reasons are printed of the tuning half only, so that the other stays unseen.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from agentcli.core.message import ToolCall
from agentcli.permissions.decide import Decision, decide
from agentcli.permissions.paths import UndoCover, Workspace
from agentcli.permissions.rules import Rules, parse_rules
from agentcli.tools.registry import TRAITS
from tests.bench.transcripts import Half, Recorded, Transcript, transcripts

_PATH = re.compile(
    r"(?<![\w/.$~-])[\w@][\w.@-]*(?:/[\w.@\[\]-]+)*\.[A-Za-z]\w{0,5}(?![\w/])|(?<![\w/.$~-])[\w@][\w.@-]*(?:/[\w.@-]+)+"
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
_SYSTEM = ("/tmp", "/dev/", "/usr", "/bin", "/etc", "/var/tmp", "/private/tmp", "/proc", "/opt")
_ABSOLUTE = re.compile(r"(?<![\w.:/$}~*\]\\-])(/[\w.@-]+(?:/[\w.@+-]*)*)")
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
    ask: int = 0
    ask_local: int = 0
    bare: int = 0
    bare_local: int = 0

    def line(self, name: str) -> str:
        """The shares as a line of a table."""
        every, local = max(1, self.of), max(1, self.local)
        return (
            f"{name:34} {self.of:6} {self.auto / every:8.1%} {self.ask / every:8.1%} {self.bare / every:8.1%} "
            f"{self.local:6} {self.auto_local / local:8.1%} {self.ask_local / local:8.1%} {self.bare_local / local:8.1%}"
        )


@dataclass(slots=True)
class Outcome:
    """Figures of a half: tallies by model, and reasons with their commands."""

    models: defaultdict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    auto: list[tuple[str, str, bool]] = field(default_factory=list)
    """Questions in auto: reason, command, and whether it is local."""
    ask: list[tuple[str, str, bool]] = field(default_factory=list)
    bare: list[tuple[str, str, bool]] = field(default_factory=list)
    dropped: int = 0


def workspace_in(top: Path, session: Transcript) -> Workspace:
    """Make a workspace in which the session could have happened: a repository with the files that it names."""
    work, home = top / "work", top / "home"
    for folder in (work / ".git/objects", work / ".git/refs", work / ".git/hooks", home, top / "tmp"):
        folder.mkdir(parents=True, exist_ok=True)
    (work / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (work / ".git/config").write_text("[core]\n\tbare = false\n")
    named = [path.removeprefix(session.folder + "/") for path in session.files if path.startswith(session.folder + "/")]
    for recorded in session.commands:
        named += _PATH.findall(recorded.command.replace(session.folder + "/", ""))
    programs = dict.fromkeys(_programs(session))
    for name in dict.fromkeys((*named, *programs)):
        if len(name) < 200 and ".." not in name and not name.startswith((".git/", "/")):
            try:
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                if "." in os.path.basename(name) or name in programs:
                    (work / name).touch()
                else:
                    (work / name).mkdir(exist_ok=True)
            except OSError:
                continue
    cover = UndoCover(1_000_000, 20_000, frozenset({"node_modules", ".git", ".venv", "target", "dist"}))
    return Workspace(
        work,
        (work,),
        home,
        sandboxed=True,
        records=True,
        tmp=top / "tmp",
        loopback=lambda _: True,
        undo=cover,
        path="/usr/local/bin:/usr/bin:/bin",
        env={},
    )


def _programs(session: Transcript) -> Iterator[str]:
    """The programs of the session's folder that its commands call by path."""
    for recorded in session.commands:
        inside = os.path.relpath(recorded.folder, session.folder)
        moved = _MOVED.match(recorded.command)
        folder = os.path.join(inside, moved[1] if moved else "")
        for name in _STARTED.findall(recorded.command):
            yield os.path.normpath(os.path.join(folder, name))


def placed(recorded: Recorded, session: Transcript, workspace: Workspace) -> tuple[str, Workspace]:
    """Return the command with the session's folder as the workspace, and the workspace with the folder that it ran in."""
    top = str(workspace.roots[0])
    command = recorded.command
    folder = recorded.folder.rstrip("/")
    inside = folder == session.folder or folder.startswith(session.folder + "/")
    if not inside:
        command = f"cd {folder} && {command}"
    command = re.sub(r"(?<![\w/.])/private/tmp(?![\w.-])", "/tmp", command)  # its name on macOS
    command = re.sub(rf"{re.escape(session.folder)}(?=[/\s'\"`;&|)]|$)", top.replace("\\", "\\\\"), command)
    if not inside or folder == session.folder:
        return command, workspace
    here = Path(top + folder.removeprefix(session.folder))
    try:
        here.mkdir(parents=True, exist_ok=True)
    except OSError:
        return command, workspace
    return command, replace_folder(workspace, here)


def replace_folder(workspace: Workspace, folder: Path) -> Workspace:
    """Return the workspace with another current folder."""
    return replace(workspace, cwd=folder)


def decided(command: str, rules: Rules, mode: str, workspace: Workspace) -> Decision:
    """The decision about a command."""
    return decide(ToolCall("c", "bash", {"command": command}), TRAITS, rules, mode, workspace)  # type: ignore[arg-type]


def measured(sessions: Iterable[Transcript], most: int = 0) -> Outcome:
    """Replay sessions through the permissions."""
    outcome = Outcome()
    kept: defaultdict[tuple[str, bool], Rules] = defaultdict(Rules)
    left = most or sys.maxsize
    for session in sessions:
        with tempfile.TemporaryDirectory(prefix="asked-") as folder:
            workspace = workspace_in(Path(os.path.realpath(folder)), session)
            for recorded in session.commands:
                left -= 1
                if left < 0:
                    return outcome
                _count(recorded, session, workspace, outcome, kept)
    return outcome


def _count(
    recorded: Recorded, session: Transcript, workspace: Workspace, outcome: Outcome, kept: dict[tuple[str, bool], Rules]
) -> None:
    command, here = placed(recorded, session, workspace)
    tally = outcome.models[recorded.model or "unknown"]
    tally.of += 1
    local = not needs_network(recorded.command) and not elsewhere(
        command.replace(str(workspace.roots[0]), "."), session.folder
    )
    tally.local += local
    auto = decided(command, Rules(), "auto", here)
    if auto.decision != "allow":
        tally.auto += 1
        tally.auto_local += local
        outcome.auto.append((auto.why, recorded.command, local))
    if why := _asked(command, here, kept, session.folder):
        tally.ask += 1
        tally.ask_local += local
        outcome.ask.append((why, recorded.command, local))
    if why := _asked(command, replace(here, sandboxed=False, tmp=None, loopback=None), kept, session.folder):
        tally.bare += 1
        tally.bare_local += local
        outcome.bare.append((why, recorded.command, local))


def _asked(command: str, here: Workspace, kept: dict[tuple[str, bool], Rules], project: str) -> str:
    """Return the reason for a question in mode ask, and keep the rules of a person who answers "always"; empty if nothing is asked."""
    rules = kept[project, here.sandboxed]
    ask = decided(command, rules, "ask", here)
    if ask.decision == "allow":
        return ""
    widest = ask.prefixes or ((ask.always,) if ask.always else (ask.session,))
    fresh = parse_rules(allow=filter(None, widest), origin="session")
    known = {str(rule) for rule in rules.allow}
    if any(str(rule) not in known for rule in fresh.allow):
        kept[project, here.sandboxed] = rules + fresh
    return f"{'' if ask.prefixes else 'NO PREFIX '}{ask.why}"


def report(outcome: Outcome) -> Iterator[str]:
    """The figures as a table."""
    yield f"{'model':34} {'of':>6} {'auto':>8} {'ask':>8} {'bare':>8} {'local':>6} {'auto':>8} {'ask':>8} {'bare':>8}"
    total = Tally()
    for name, tally in sorted(outcome.models.items(), key=lambda item: -item[1].of):
        yield tally.line(name)
        for part in fields(Tally):
            setattr(total, part.name, getattr(total, part.name) + getattr(tally, part.name))
    yield total.line("all")


def reasons(outcome: Outcome, most: int) -> Iterator[str]:
    """The most frequent reasons of questions, each with some of its commands."""
    groups: dict[str, list[tuple[str, str]]] = {
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
