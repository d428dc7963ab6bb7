"""When a sandbox holds a command whatever it is: nothing is private, and /undo could restore every file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agentcli.permissions.decide import Decision
from agentcli.permissions.paths import UndoCover, Workspace
from tests.permissions.deciding import explain_command
from tests.tables import each_row

COVER = UndoCover(bytes=10, files=4, skipped=frozenset({"node_modules", ".git", "__pycache__"}))


def made(top: Path, files: dict[str, int], cover: UndoCover | None = COVER) -> Workspace:
    """A workspace with files of so many bytes; a name that ends in a slash is a folder."""
    work = top / "work"
    work.mkdir()
    for name, size in files.items():
        path = work / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_bytes(b"x" * size)
    return Workspace(work, (work,), top / "home", sandboxed=True, records=True, undo=cover)


def decided(command: str, workspace: Workspace) -> Decision:
    return explain_command(command, workspace, "auto")


ALL_HELD: list[dict[str, int]] = [
    {},
    {"a": 10},
    {"a": 1, "b": 1, "c": 1, "d": 1},
    {"a/b": 1, "a/c": 1, "d/": 0},
    {".git/objects/a": 99, ".git/b": 1, ".git/c": 1, ".git/d": 1, "a": 1},
    {"a/.cache/b": 99, "a/.cache/c": 1, "a/.cache/d": 1, "a/.cache/e": 1, "f": 1},
    {"__pycache__/b": 99},
    {"README.md": 1, "AGENTS.md": 1},
]
NOT_HELD: list[dict[str, int]] = [
    {"a": 11},
    {"a/b/c": 11},
    {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1},
    {"a/b": 1, "a/c": 1, "d/e": 1},
    {"node_modules/": 0},
    {"a/node_modules/": 0},
    {".env": 1},
    {"a/.env": 1},
]


HIDING = ("alias x=rm; x -r a", "$(echo rm) -r a", 'eval "rm $x"', "ls | xargs -I% sh -c 'rm %'")
"""Lines that may remove what only the shell knows."""
UNSEEN = (
    'eval "$x"',
    "alias x=y; make",
    "$X make",
    "echo x | sh",
    "find . | xargs sh -c '{}'",
    "hash -r; [ -d a ] && $X",
)
"""Lines that hide what they run, and name no program that removes."""


@each_row("files", ALL_HELD)
def test_what_hides_what_it_removes_runs_where_every_file_could_be_restored(
    files: dict[str, int], tmp_path: Path
) -> None:
    workspace = made(tmp_path, files)
    for command in ("$(echo rm) -r a", 'eval "$x clean"'):
        assert decided(command, workspace).decision == "allow"


@each_row("files", NOT_HELD)
def test_what_hides_what_it_removes_asks_where_a_file_could_not_be_restored(
    files: dict[str, int], tmp_path: Path
) -> None:
    workspace = made(tmp_path, files)
    for command in HIDING:
        assert decided(command, workspace).decision == "ask", command
    for command in UNSEEN:
        assert decided(command, workspace).decision == "allow", command


def test_without_undo_nothing_is_held(tmp_path: Path) -> None:
    assert decided('eval "rm $x"', made(tmp_path, {"a": 1}, None)).why == "the line hides what it runs"


def test_every_root_counts(tmp_path: Path) -> None:
    first = made(tmp_path, {"a": 1, "b": 1})
    for count, decision in ((2, "allow"), (3, "ask")):
        other = tmp_path / f"other{count}"
        other.mkdir()
        for number in range(count):
            (other / str(number)).touch()
        both = replace(first, roots=(first.cwd, other))
        assert decided("$(echo rm) -r a", both).decision == decision


TOO_LARGE = "removes files, and the workspace is too large to be restored"


@each_row(
    ("files", "why"),
    [
        ({"a": 1}, ""),
        ({"a": 1, "b": 1, "c/d": 1}, ""),
        ({"a": 1, "b": 1, "c/d": 1, "e": 1}, TOO_LARGE),
        ({"a": 1, "node_modules/b": 1, "node_modules/c": 1, "node_modules/d": 1, "node_modules/e": 1}, ""),
        ({"a": 11}, "a is too large to be restored"),
        ({"a/b": 10}, ""),
        ({"a/b": 11}, "a contains b, which is too large to be restored"),
        ({"a/.env": 1}, "a contains .env, which could not be restored"),
        ({"a/AGENTS.md": 1}, "a contains AGENTS.md, which could not be restored"),
        ({"a/node_modules/": 0}, "a contains node_modules, which could not be restored"),
        ({"a/__pycache__/b": 11}, ""),
        ({"a/.cache/node_modules/": 0}, ""),
    ],
)
def test_what_is_removed_must_come_back(files: dict[str, int], why: str, tmp_path: Path) -> None:
    found = decided("rm -r a", made(tmp_path, files))
    assert (found.decision, found.why if why else "") == ("ask" if why else "allow", why)


@each_row(
    ("command", "name", "why"),
    [
        ("rm a[1]", "a[1]", "a[1] is too large to be restored"),
        ("rm a[1]", "a1", "a1 is too large to be restored"),
        ("rm a?", "ab", "ab is too large to be restored"),
        ("rm a{b,c}", "ab", "ab is too large to be restored"),
        ("rm .xy*", ".xyz", ".xyz is too large to be restored"),
        ("rm b*", "ab", ""),
        ("rm b", "ab", ""),
    ],
)
def test_a_pattern_removes_what_it_matches_or_else_what_it_is(
    command: str, name: str, why: str, tmp_path: Path
) -> None:
    found = decided(command, made(tmp_path, {name: 11}))
    assert (found.decision, found.why if why else "") == ("ask" if why else "allow", why)


DISCARDS = "discards changes, and the workspace is too large to be restored"


@each_row(
    ("command", "files", "why"),
    [
        ("git restore a", {"a": 10}, ""),
        ("git restore a", {"a": 11}, "a is too large to be restored"),
        ("git restore -- a", {"a": 11}, "a is too large to be restored"),
        ("git restore b a", {"a": 11}, "a is too large to be restored"),
        ("git restore --staged a", {"a": 11}, ""),
        ("git restore -S a", {"a": 11}, ""),
        ("git restore .", {"c/a": 11}, "work contains .git, which could not be restored"),
        ("git restore c", {"c/a": 11}, "c contains a, which is too large to be restored"),
        ("git checkout -- a", {"a": 10}, ""),
        ("git checkout -- a", {"a": 11}, "a is too large to be restored"),
        ("git checkout -b a", {"a": 11}, ""),
        ("git commit -m x", {"a": 11}, ""),
        ("git restore a", {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}, f"git restore {DISCARDS}"),
        ("git checkout -- a", {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}, f"git checkout {DISCARDS}"),
        ("git restore a", {"a": 1, "b": 1, "c": 1, "d": 1}, ""),
        ("git restore --staged a", {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}, ""),
    ],
)
def test_git_replaces_only_files_that_come_back(command: str, files: dict[str, int], why: str, tmp_path: Path) -> None:
    workspace = made(tmp_path, {**files, ".git/HEAD": 1, ".git/config": 0, ".git/hooks/": 0})
    found = decided(command, workspace)
    assert (found.decision, found.why if why else "", found.records) == (
        ("ask", why, False) if why else ("allow", "", True)
    )
