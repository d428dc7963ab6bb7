"""One command made of a line's parts that need separate sandboxes: a shell outside starts only the sandboxes.

No text of the line reaches that shell: every sandbox is a run of its positional parameters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.tool import Boxed, LinePart, Wrap
from agentcli.system import probe
from agentcli.system.programs import find_program, trusted_path

_FIRST = 20
"""The first descriptor with a sandbox's data; the shell keeps lower ones for itself."""
TOLD = 199
"""The descriptor on which the shell reports; no part has it."""
_EARLIER = 2
"""Seconds before the line from which a repository counts as created by it: clocks of file systems lag."""
_MADE_REPOSITORY = (
    "git was not started: a part before it made a repository in the workspace, or the look for one failed. "
    "Run git in a call of its own."
)
_LOOK = f"""
quiet() {{ local made; made=$("$@" 2>&1) && [ -z "$made" ] || {{ printf '%s\\n' '[{_MADE_REPOSITORY}]' >&2; exit 1; }}; }}
kept() {{ local code=$?; set +o pipefail; return "$code"; }}
tried() {{ local code=$?; if IFS= read -rN 1 -u "$1" _; then printf %s "$2" >&{TOLD}; exit "$code"; fi; return "$code"; }}
"""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Context of the parts: the shell that starts the sandboxes, the folders, both environments, and the wrap of git's
    parts.
    """

    shell: str
    cwd: Path
    roots: Sequence[Path]
    env: Mapping[str, str]
    hardened: Mapping[str, str]
    """Environment of a part in which git commits."""
    recorder: Wrap
    leaving: Wrap | None = None
    """The part of the sandbox that holds around parts outside; None if there is none."""


def in_one(
    parts: Sequence[LinePart],
    shell: Callable[[str], Sequence[str]],
    wrap: Wrap,
    around: Surroundings,
    since: int | None = None,
) -> Boxed:
    """Return the command that runs each part in its sandbox, joined as in the line.

    `shell` makes the argv of a part. `since` is when the line began, in seconds; None for now.

    A sandbox gets no descriptor of another one. Git does not start after a part that created a repository, whose
    settings may name programs. If a sandbox fails before its part starts, the line ends and can go on there. That
    excludes parts of a pipe: the others have run.
    """
    since = int(time.time()) if since is None else since
    given: list[str] = []
    files: dict[int, bytes] = {}
    lines: list[tuple[str, dict[int, int], int]] = []
    look = _place(given, _finding(around, since))
    for part in parts:
        argv = shell(part.text)
        if part.outside:
            boxed = around.leaving(argv) if around.leaving is not None else Boxed(argv)
        else:
            boxed = (around.recorder if part.records else wrap)(argv)
        changed = _changed(around) if part.records else _trusting(around) if part.outside else ()
        own = {number: _FIRST + len(files) + at for at, number in enumerate(boxed.files)}
        files |= {own[number]: data for number, data in boxed.files.items()}
        lines.append((_place(given, [*changed, *boxed.argv]), own, boxed.read_last))
    script = [_LOOK]
    for number, (part, (words, own, last)) in enumerate(zip(parts, lines, strict=True)):
        handed = "".join(f" {number}<&{held}" for number, held in own.items())
        closed = "".join(f" {held}<&-" for held in (*files, TOLD))
        run = f"{words}{handed}{closed}"
        joint = f" {part.joint} " if part.joint != ";" else "\n"
        follower = parts[number + 1] if number + 1 < len(parts) else None
        if last and part.joint != "|" and (follower is None or follower.joint != "|"):
            run = f"{{ {run} || tried {own[last]} {number}; }}"
        run = f"{{ quiet {look}; {run}; }}" if part.after_others else run
        written = follower is not None and follower.keeps
        run = f"{{ set -o pipefail; {run}" if written else f"{run}; kept; }}" if part.keeps else run
        script.append(f"{joint}{run}")

    def rest(number: int) -> Boxed:
        return in_one([replace(parts[number], joint=""), *parts[number + 1 :]], shell, wrap, around, since)

    outer = [around.shell, "--noprofile", "--norc", "-p", "-c", "".join(script), "bash"]
    return Boxed([*outer, *given], files, again=rest, tells=TOLD)


def _place(given: list[str], words: Sequence[str]) -> str:
    """Add words to the positional parameters, and return the text with which the shell refers to them."""
    given += words
    return f'"${{@:{len(given) - len(words) + 1}:{len(words)}}}"'


def _changed(around: Surroundings) -> Sequence[str]:
    """Return the words before a command that give it the hardened environment."""
    program = find_program("env", around.roots, "/usr/bin:/bin") or "/usr/bin/env"
    gone = [word for name in around.env.keys() - around.hardened.keys() for word in ("-u", name)]
    new = [f"{name}={text}" for name, text in around.hardened.items() if around.env.get(name) != text]
    return [program, *gone, *new]


def _trusting(around: Surroundings) -> Sequence[str]:
    """Return the words before a command so that it finds no program in the workspace."""
    program = find_program("env", around.roots, "/usr/bin:/bin") or "/usr/bin/env"
    return [program, f"PATH={trusted_path(around.env.get('PATH', ''), around.roots)}"]


def _finding(around: Surroundings, since: int) -> Sequence[str]:
    """Return the command that prints a repository that the line has created in the workspace, other than the
    workspace's own.
    """
    program = find_program("find", around.roots, "/usr/bin:/bin") or "/usr/bin/find"
    own = next((top / ".git" for top in (around.cwd, *around.cwd.parents) if probe.exists(top / ".git")), None)
    left_out = ["-path", str(own), "-o"] if own is not None else []
    unseen = ["-type", "d", "(", "!", "-readable", "-o", "!", "-executable", ")"]
    made = ["-iname", ".git", "-newerct", f"@{since - _EARLIER}", "-print", "-quit"]
    return [program, *map(str, around.roots), "(", *left_out, *unseen, ")", "-prune", "-o", *made]
