"""Reading: within limits, with numbers where a range is asked for, and nothing but regular files."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.images import pixels_of
from agentcli.core.tool import CallScope, ToolLimits, ToolOutput
from agentcli.tools.lib.reading import AT_ONCE
from agentcli.tools.read import read
from tests.tools.conftest import Call
from tests.tools.workplace import Bench

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_a_file_comes_as_it_is(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a").write_text("one\r\ntwo\n\nfour")
    outcome = call("read", file_path="a")
    assert outcome.output == call("read", file_path="a", offset=0).output == "one\ntwo\n\nfour"
    assert not outcome.truncated
    assert outcome.metadata["path"] == str(ctx.cwd / "a")


@pytest.mark.parametrize(("size", "threads"), [(AT_ONCE, 0), (AT_ONCE + 1, 1)])
def test_only_a_large_file_is_read_in_a_thread(ctx: Bench, size: int, threads: int) -> None:
    class Counting(ThreadPoolExecutor):
        def submit(self, *work: Any, **more: Any) -> Future[Any]:
            submitted.append(work)
            return super().submit(*work, **more)

    async def run() -> ToolOutput:
        asyncio.get_running_loop().set_default_executor(Counting())
        return await read(ctx, "c1", "a")

    submitted: list[object] = []
    (ctx.cwd / "a").write_text("x\n" * (size // 2) + "y" * (size % 2))
    assert asyncio.run(run()).output.startswith("x\nx")
    assert len(submitted) == threads


def test_a_part_is_read_and_the_notice_says_how_to_go_on(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a").write_text("".join(f"line {n}\n" for n in range(1, 5001)))
    whole = call("read", file_path="a")
    assert whole.truncated
    assert whole.output.endswith("[lines 1-2,000 of 5,000; go on with offset=2001]")
    part = call("read", file_path="a", offset=4999, limit=10)
    assert part.output == "4999\tline 4999\n5000\tline 5000"
    beyond = call("read", file_path="a", offset=6000)
    assert beyond.status == "error"
    assert "only 5,000 lines" in beyond.output


def test_long_lines_and_large_files_are_cut_at_whole_characters(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "long").write_text("é" * 3_000 + "\nend\n")
    long = call("read", file_path="long").output
    assert f"{'é' * 2_000} [… 1000 more characters]" in long
    assert long.endswith("\nend\n[for the rest of a long line use bash: cut -c or grep -o]")
    (ctx.cwd / "wide").write_text(("😀" * 1_000 + "\n") * 100)
    wide = call("read", file_path="wide")
    assert len(wide.output.encode()) < 51_500
    assert "cut at 51,200 bytes; go on with offset=13]" in wide.output
    assert "\ufffd" not in wide.output


def test_lines_have_numbers_where_a_range_is_asked_for_by_its_beginning(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a").write_text("one\ntwo\nthree")
    assert call("read", file_path="a", offset=1).output == "1\tone\n2\ttwo\n3\tthree"
    assert call("read", file_path="a", offset=2).output == "2\ttwo\n3\tthree"
    assert call("read", file_path="a", limit=1).output == "one\n[lines 1-1 of 3; go on with offset=2]"
    ctx.limits = ToolLimits(line_numbers="always")
    assert call("read", file_path="a", limit=1).output == "1\tone\n[lines 1-1 of 3; go on with offset=2]"


def test_without_line_numbers_the_notice_says_where_a_part_begins(call: Call, ctx: Bench) -> None:
    ctx.limits = ToolLimits(line_numbers="never")
    (ctx.cwd / "a").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    assert call("read", file_path="a", limit=2).output == "line 1\nline 2\n[lines 1-2 of 10; go on with offset=3]"
    assert call("read", file_path="a", offset=9).output == "line 9\nline 10\n[lines 9-10 of 10]"
    assert call("read", file_path="a").output.endswith("line 9\nline 10")


def test_numbers_do_not_count_as_bytes_of_the_file(call: Call, ctx: Bench) -> None:
    ctx.limits = ToolLimits(line_numbers="always")
    (ctx.cwd / "a").write_text("x" * 30 + "\n" + ("y" * 31 + "\n") * 1_599)
    assert (ctx.cwd / "a").stat().st_size == ctx.limits.read_bytes - 1
    assert not call("read", file_path="a").truncated


def test_the_bytes_of_a_read_limit_no_search(call: Call, ctx: Bench) -> None:
    ctx.limits = ToolLimits(read_bytes=100)
    for n in range(50):
        (ctx.cwd / f"a_rather_long_name_{n}.py").write_text("found it\n")
    (ctx.cwd / "large.txt").write_text("some line\n" * 100)
    assert call("read", file_path="large.txt").truncated
    for outcome in (call("glob", pattern="*.py"), call("grep", pattern="found"), call("list")):
        assert len(outcome.output) > 1_000
        assert not outcome.truncated


def test_the_entries_of_a_folder_are_read_as_they_are_listed(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "src").mkdir()
    (ctx.cwd / "a.py").touch()
    outcome = call("read", file_path=".")
    assert outcome.output == call("list").output == "src/\na.py"


def test_an_empty_file_is_said_to_be_empty(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a").touch()
    assert call("read", file_path="a").output == "[a is empty]"


def test_a_missing_file_is_told_with_names_that_look_alike(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "settings.py").touch()
    outcome = call("read", file_path="setings.py")
    assert outcome.output == "setings.py does not exist. Did you mean settings.py?"
    assert "no folder" in call("read", file_path="nowhere/a.py").output


def test_a_picture_goes_to_the_model_as_a_picture(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a.png").write_bytes(PIXEL)
    outcome = call("read", file_path="a.png")
    assert [(image.mime, base64.b64decode(image.data)) for image in outcome.images] == [("image/png", PIXEL)]


def test_a_picture_that_no_model_can_read_is_told_and_not_sent(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a.png").write_bytes(PIXEL[:-8])
    outcome = call("read", file_path="a.png")
    assert outcome.output.startswith("No model can read the image a.png: it is cut off.")
    assert outcome.images == ()


def test_a_picture_that_is_too_large_goes_to_the_model_as_a_smaller_copy_where_pillow_is_installed(
    call: Call, ctx: Bench
) -> None:
    pillow = pytest.importorskip("PIL.Image")
    pillow.effect_noise((8_200, 10), 90).save(ctx.cwd / "a.png")
    (image,) = call("read", file_path="a.png").images
    assert max(pixels_of(base64.b64decode(image.data)) or ()) == 2_000


def test_a_binary_file_is_recognised(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a.bin").write_bytes(bytes(range(256)) * 10)
    (ctx.cwd / "b.pdf").write_bytes(b"%PDF-1.7\n\0\1\2")
    assert "binary file of 2,560 bytes" in call("read", file_path="a.bin").output
    assert "pdftotext" in call("read", file_path="b.pdf").output


def test_what_is_no_regular_file_is_refused_at_once(call: Call, ctx: Bench) -> None:
    os.mkfifo(ctx.cwd / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(ctx.cwd / "socket"))
        for name, kind in (("pipe", "a named pipe"), ("socket", "a socket")):
            outcome = call("read", file_path=name)
            assert outcome.status == "error"
            assert kind in outcome.output, outcome.output
        assert call("write", file_path="pipe", content="x").status == "error"


@pytest.mark.parametrize(
    "path", ["/dev/zero", "/dev/stdin", "/proc/self/environ", "/proc/self/mem", "/sys/kernel/notes"]
)
def test_devices_and_the_kernels_files_are_refused_even_where_the_outside_is_allowed(
    call: Call, ctx: Bench, path: str
) -> None:
    for roots, allowed in (((Path("/"),), None), ((ctx.cwd,), Path(os.path.realpath(path)))):
        ctx.roots, ctx.scope = roots, CallScope((allowed,) if allowed else ())
        assert "belongs to the kernel" in call("read", file_path=path).output
        assert "belongs to the kernel" in call("grep", path=path, pattern="x").output


def test_a_huge_file_is_read_by_range_without_being_held(call: Call, ctx: Bench) -> None:
    ctx.limits = ToolLimits(file_bytes=100_000)
    with (ctx.cwd / "log").open("w") as file:
        for n in range(1, 50_001):
            file.write(f"line {n} é\n")
    outcome = call("read", file_path="log", offset=30_000, limit=2)
    assert outcome.output.startswith("30000\tline 30000 é\n30001\tline 30001 é\n[lines 30,000-30,001 of a file of")
    assert outcome.output.endswith("go on with offset=30002]")
    assert (ctx.cwd / "log") not in ctx.seen
    assert call("read", file_path="log", offset=49_999).output == "49999\tline 49999 é\n50000\tline 50000 é"
    assert "more than the 100,000" in call("edit", file_path="log", old_string="a", new_string="b").output


def test_a_huge_line_of_a_huge_file_is_cut(call: Call, ctx: Bench) -> None:
    ctx.limits = ToolLimits(file_bytes=100_000)
    (ctx.cwd / "min.js").write_text("ä" * 200_000 + "\nend\n")
    lines = call("read", file_path="min.js").output.split("\n")
    assert lines[0].startswith("ä" * 1_000)
    assert len(lines[0]) < 2_100
    assert "\ufffd" not in lines[0]
    assert lines[1] == "end"


def test_bytes_that_are_no_text_are_shown_replaced(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a").write_bytes("größe ä ö ü".encode() + b"\xff end")
    assert call("read", file_path="a").output == "größe ä ö ü\ufffd end"


def test_a_read_is_remembered_by_the_hash_of_the_whole_content(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a").write_text("1\n2\n3\n")
    call("read", file_path="a", limit=1)
    assert ctx.seen.knowledge(ctx.cwd / "a", b"1\n2\n3\n") == "current"
    assert ctx.seen.knowledge(ctx.cwd / "a", b"1\n") == "changed"


def test_a_path_from_home_and_an_absolute_one_are_understood(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a").write_text("x")
    assert call("read", file_path=str(ctx.cwd / "a")).status == "success"
    assert (
        str(Path.home()) in call("read", file_path="~/nothing").output
        or "outside" in call("read", file_path="~/x").output
    )
