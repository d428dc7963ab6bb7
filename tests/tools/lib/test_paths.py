"""Nothing outside the workspace is read or written, whatever links do meanwhile."""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentcli.core.errors import ToolError
from agentcli.core.tool import CallScope
from agentcli.tools.lib.files import load
from agentcli.tools.lib.paths import open_parent
from agentcli.tools.registry import run, tools
from tests.tools.conftest import Call
from tests.tools.workplace import Bench

TOOLS = {tool.name: tool for tool in tools()}
linux = pytest.mark.skipif(sys.platform != "linux", reason="exchanges two names in one step with renameat2")
PATHS = {
    "read": {},
    "write": {"content": "escaped"},
    "edit": {"old_string": "secret", "new_string": "escaped"},
    "multi_edit": {"edits": [{"old_string": "secret", "new_string": "escaped"}]},
    "list": {},
    "glob": {"pattern": "*"},
    "grep": {"pattern": "secret"},
}


@pytest.fixture
def outside(ctx: Bench) -> Path:
    """A folder beside the workspace whose name begins like it, with a secret."""
    folder = ctx.cwd.parent / "project-two"
    folder.mkdir()
    (folder / "secret.txt").write_text("secret\n")
    return folder


def ways_out(ctx: Bench, outside: Path) -> list[str]:
    (ctx.cwd / "to-folder").symlink_to(outside)
    (ctx.cwd / "to-file").symlink_to(outside / "secret.txt")
    (ctx.cwd / "to-nothing").symlink_to(outside / "new.txt")
    (ctx.cwd / "chain").symlink_to("to-folder")
    (ctx.cwd / "sub").mkdir()
    (ctx.cwd / "sub/up").symlink_to("../..")
    return [
        "../project-two/secret.txt", "../project-two", str(outside / "secret.txt"), "to-folder/secret.txt", "to-folder/new.txt", "to-file",
        "to-nothing", "chain/secret.txt", "sub/up/project-two/secret.txt", "sub/../../project-two/secret.txt", "~/x", "/etc/passwd",
        "to-folder", "chain", "sub/up", "..", "/", f"{ctx.cwd}-two/secret.txt", "./sub/./../to-file", "/proc/self/cwd/../project-two",
        f"/proc/self/root{outside}/secret.txt",
    ]  # fmt: skip


@pytest.mark.parametrize("name", PATHS)
def test_no_way_leads_out_of_the_workspace(call: Call, ctx: Bench, outside: Path, name: str) -> None:
    field = TOOLS[name].traits.subject.field
    for path in ways_out(ctx, outside):
        outcome = call(name, **{field: path}, **PATHS[name])
        assert outcome.status == "error", (path, outcome.output)
        assert "secret.txt" not in outcome.output or "secret.txt" in path
        assert "outside the workspace" in outcome.output, (path, outcome.output)
    assert {file.name: file.read_text() for file in outside.iterdir()} == {"secret.txt": "secret\n"}


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "\ud800", "x" * 5_000])
def test_what_is_no_path_is_refused(call: Call, path: str) -> None:
    for name, given in PATHS.items():
        assert call(name, **{TOOLS[name].traits.subject.field: path}, **given).status == "error"


def test_links_within_the_workspace_work(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "real").mkdir()
    (ctx.cwd / "real/a.txt").write_text("x\n")
    (ctx.cwd / "link").symlink_to("real")
    (ctx.cwd / "absolute").symlink_to(ctx.cwd / "real/a.txt")
    assert call("read", file_path="link/a.txt").output == "x"
    assert call("read", file_path="absolute").output == "x"
    assert call("write", file_path="link/new/b.txt", content="y").status == "success"
    assert (ctx.cwd / "real/new/b.txt").read_text() == "y"
    assert list(ctx.seen) == [ctx.cwd / "real/a.txt", ctx.cwd / "real/new/b.txt"]


def test_added_folders_are_inside(call: Call, ctx: Bench, outside: Path) -> None:
    ctx.roots = (ctx.cwd, outside)
    assert call("read", file_path="../project-two/secret.txt").status == "success"


def test_an_allowed_path_outside_may_be_used_and_no_other(call: Call, ctx: Bench, outside: Path) -> None:
    ctx.scope = CallScope((outside / "secret.txt",))
    assert call("read", file_path="../project-two/secret.txt").status == "success"
    assert call("write", file_path="../project-two/other.txt", content="x").status == "error"
    assert call("read", file_path=".").status == "error"


def test_a_link_that_leads_elsewhere_after_it_was_judged_is_refused(call: Call, ctx: Bench, outside: Path) -> None:
    (ctx.cwd / "a.txt").write_text("inside\n")
    (ctx.cwd / "b.txt").write_text("inside, too\n")
    for link_to in (outside / "secret.txt", ctx.cwd / "b.txt"):
        (ctx.cwd / "link").symlink_to("a.txt")
        ctx.scope = CallScope((ctx.cwd / "a.txt",))
        assert call("read", file_path="link").status == "success"
        (ctx.cwd / "link").unlink()
        (ctx.cwd / "link").symlink_to(link_to)
        for name, given in PATHS.items():
            assert call(name, **{TOOLS[name].traits.subject.field: "link"}, **given).status == "error", name
        (ctx.cwd / "link").unlink()


def test_a_workspace_within_another_is_reached_from_the_outer_one(call: Call, ctx: Bench, outside: Path) -> None:
    inner = ctx.cwd / "inner"
    inner.mkdir()
    (inner / "secret.txt").write_text("inside\n")
    ctx.roots = (inner, ctx.cwd)
    with open_parent(ctx, "inner/secret.txt") as handle:
        assert handle.target.root == ctx.cwd


@contextmanager
def swapping(folder: Path, outside: Path) -> Iterator[None]:
    """A thread that makes a folder of the workspace now a real one, now a link that leads out, as fast as it can."""
    stop = threading.Event()
    link = folder.with_name("link")
    link.symlink_to(outside)
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    here, both_ways = -100, 2  # AT_FDCWD and RENAME_EXCHANGE

    def swap() -> None:
        while not stop.is_set():
            assert exchange(here, os.fsencode(folder), here, os.fsencode(link), both_ways) == 0

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


async def _race(ctx: Bench, rounds: int) -> Counter[str]:
    """Reads, writes and edits through a path that changes all the time; how they ended."""
    ended: Counter[str] = Counter()
    for n in range(rounds):
        calls = [
            ("read", {"file_path": "swap/file.txt"}),
            ("write", {"file_path": f"swap/new-{n}.txt", "content": "escaped"}),
            ("edit", {"file_path": "swap/file.txt", "old_string": "inside", "new_string": "inside"[::-1]}),
        ]
        for name, given in calls:
            outcome = await run(TOOLS[name], ctx, "c", given)
            assert "secret" not in outcome.output
            ended[f"{name} {outcome.status}"] += 1
    return ended


def _race_in(ctx: Bench, outside: Path, rounds: int) -> Counter[str]:
    inside = ctx.cwd / "swap"
    inside.mkdir()
    (inside / "file.txt").write_text("inside\n")
    (outside / "file.txt").write_text("secret\n")
    before = {file.name: file.read_bytes() for file in outside.iterdir()}
    with swapping(inside, outside):
        ended = asyncio.run(_race(ctx, rounds))
    assert {file.name: file.read_bytes() for file in outside.iterdir()} == before
    assert ended["read success"], ended
    assert ended["read error"], ended
    assert ended["write success"], ended
    return ended


@linux
def test_a_link_swapped_meanwhile_leads_nowhere(ctx: Bench, outside: Path) -> None:
    _race_in(ctx, outside, 150)


@linux
@pytest.mark.slow
def test_a_link_swapped_during_ten_thousand_reads_and_writes_leads_nowhere(ctx: Bench, outside: Path) -> None:
    _race_in(ctx, outside, 3_400)


async def _search_race(ctx: Bench, rounds: int) -> Counter[str]:
    """Searches through and above a folder that changes all the time; how they ended."""
    searches = [
        ("grep", {"pattern": "secret|inside", "output_mode": "content", "path": "swap"}),
        ("grep", {"pattern": "secret|inside", "output_mode": "content"}),
        ("grep", {"pattern": "secret|inside", "output_mode": "content", "path": "swap/deep/file.txt"}),
        ("glob", {"pattern": "**/*.txt"}),
        ("glob", {"pattern": "*", "path": "swap/deep"}),
        ("list", {"path": "swap/deep"}),
    ]
    ended: Counter[str] = Counter()
    for n in range(rounds):
        name, given = searches[n % len(searches)]
        outcome = await run(TOOLS[name], ctx, "c", given)
        assert "secret" not in outcome.output, (name, given)
        found = "inside" in outcome.output or "file.txt" in outcome.output
        ended[f"{name} {'found' if found else 'missed'}"] += 1
    return ended


def _search_race_in(ctx: Bench, outside: Path, rounds: int) -> None:
    inside = ctx.cwd / "swap"
    (inside / "deep").mkdir(parents=True)
    (outside / "deep").mkdir()
    (inside / "deep/file.txt").write_text("inside\n")
    for name in ("file.txt", "secret-name.txt"):
        (outside / "deep" / name).write_text("secret\n")
    with swapping(inside, outside):
        ended = asyncio.run(_search_race(ctx, rounds))
    assert ended["grep found"], ended
    assert ended["glob found"], ended
    assert ended["list found"], ended


@pytest.mark.full
@linux
def test_a_search_through_a_swapped_link_shows_nothing_from_outside(ctx: Bench, outside: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    _search_race_in(ctx, outside, 150)
    assert len(os.listdir("/proc/self/fd")) <= before + 3, "the files that were held are closed"


@linux
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_thousands_of_searches_through_a_swapped_link_show_nothing_from_outside(ctx: Bench, outside: Path) -> None:
    _search_race_in(ctx, outside, 3_000)


def test_a_folder_swapped_for_a_link_after_it_was_resolved_is_not_followed(ctx: Bench, outside: Path) -> None:
    folder = ctx.cwd / "folder"
    folder.mkdir()
    (folder / "secret.txt").write_text("inside\n")
    with open_parent(ctx, "folder/secret.txt") as handle:
        folder.rename(ctx.cwd / "moved")
        folder.symlink_to(outside)
        assert load(ctx, handle) == b"inside\n"
        (ctx.cwd / "moved/secret.txt").unlink()
        (ctx.cwd / "moved/secret.txt").symlink_to(outside / "secret.txt")
        with pytest.raises(ToolError, match="a link that was just put there"):
            load(ctx, handle)
