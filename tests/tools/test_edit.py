"""Edits: found by a ladder of allowances, applied to the byte, refused with help."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import threading
import time
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from agentcli.core.text.encodings import decode, encode
from agentcli.core.tool import ToolOutput
from agentcli.tools.lib.matching import find
from agentcli.tools.registry import run, tools
from tests.tools.conftest import Call
from tests.tools.workplace import Bench


def put(ctx: Bench, name: str, data: bytes) -> Path:
    """A file that the model has read."""
    file = ctx.cwd / name
    file.write_bytes(data)
    tool = tools({"read"})[0]
    assert asyncio.run(run(tool, ctx, "r", {"file_path": name})).status == "success"
    return file


def test_one_edit_follows_another_without_a_new_read(call: Call, ctx: Bench) -> None:
    file = put(ctx, "a.py", b"x = 1\n")
    assert call("edit", file_path="a.py", old_string="1", new_string="2").status == "success"
    assert call("edit", file_path="a.py", old_string="2", new_string="3").status == "success"
    assert file.read_text() == "x = 3\n"


def test_what_an_edit_did_is_told_as_a_diff(call: Call, ctx: Bench) -> None:
    put(ctx, "a.py", b"a\nb\nc\n")
    outcome = call("edit", file_path="a.py", old_string="b\n", new_string="B\nBB\n")
    assert outcome.metadata["diff"] == "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+BB\n c\n"
    assert (outcome.metadata["additions"], outcome.metadata["deletions"]) == (2, 1)
    assert outcome.metadata["path"] == str(ctx.cwd / "a.py")
    assert outcome.metadata["created"] is False


def test_a_text_that_occurs_twice_is_refused_with_the_lines(call: Call, ctx: Bench) -> None:
    file = put(ctx, "a.py", b"x\ny\nx\n")
    outcome = call("edit", file_path="a.py", old_string="x", new_string="z")
    assert "occurs 2 times in a.py (lines 1, 3)" in outcome.output
    assert file.read_bytes() == b"x\ny\nx\n"
    assert call("edit", file_path="a.py", old_string="x", new_string="z", replace_all=True).status == "success"
    assert file.read_bytes() == b"z\ny\nz\n"


LADDER = [
    ("exact", "a\n  b\nc\n", "  b", "  B", "a\n  B\nc\n"),
    ("line endings", "a\r\nb\r\nc\r\n", "a\nb", "a\nB\nBB", "a\r\nB\r\nBB\r\nc\r\n"),
    ("line endings", "a\r\nfoo\r\nb\r\n", "\nfoo", "", "a\r\nb\r\n"),
    ("trailing blanks", "a  \nb\t\nc\n", "a\nb\nc", "a\nB\nc", "a  \nB\nc\n"),
    ("trailing blanks", "a\nb\n", "a   \nb", "a   \nB", "a\nB\n"),
    (
        "indentation",
        "if x:\n    a\n\n    b\nc\n",
        "a\n\nb",
        "a\n\nif b:\n    c",
        "if x:\n    a\n\n    if b:\n        c\nc\n",
    ),
    ("indentation", "a\n  b\n", "    a\n      b", "    a\n      B", "a\n  B\n"),
    ("indentation", "a\n  b\n", "    b", "  B", "a\n  B\n"),
    ("indentation", "a\n  b\n", "    b", "  b", "a\nb\n"),
    ("indentation", "\tif a:\n\t\tb\n", "if a:\n\tb\n", "if a:\n\tB\n", "\tif a:\n\t\tB\n"),
    ("punctuation", "say(“hi”)\nx – y\n", 'say("hi")\nx - y', 'say("ho")\nx - y', "say(“ho”)\nx – y\n"),
    ("punctuation", "  it’s\n", "it's", "it is", "  it is\n"),
]


@pytest.mark.parametrize(("rung", "text", "old", "new", "after"), LADDER)
def test_each_rung_of_the_ladder_finds_its_kind_and_keeps_the_rest(
    call: Call, ctx: Bench, rung: str, text: str, old: str, new: str, after: str
) -> None:
    file = put(ctx, "a.py", text.encode())
    assert find(text, old)[1] == rung
    outcome = call("edit", file_path="a.py", old_string=old, new_string=new)
    assert outcome.status == "success", outcome.output
    assert file.read_bytes() == after.encode()
    assert rung == "exact" or rung in outcome.output


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("total = price * count\n", "total = price * amount"),
        ("if x:\n    a\n  b\n", "a\nb"),  # not uniform
        ("if x:\n    return 1\n", "if x:\n\treturn 1"),
        ("a\nb\n", "b\na"),
        ("\r\n", "\r\r"),
        ("foo ( x )", "foo(x)"),
    ],
)
def test_below_the_ladder_nothing_is_applied(call: Call, ctx: Bench, text: str, old: str) -> None:
    file = put(ctx, "a.py", text.encode())
    outcome = call("edit", file_path="a.py", old_string=old, new_string="something else")
    assert outcome.status == "error"
    assert "Nothing was changed" in outcome.output
    assert file.read_bytes() == text.encode()


def test_a_failed_edit_shows_the_nearest_place(call: Call, ctx: Bench) -> None:
    body = "".join(f"def f{n}():\n    return {n}\n\n" for n in range(100))
    put(ctx, "a.py", body.encode())
    outcome = call("edit", file_path="a.py", old_string="def f42():\n    return 43\n", new_string="x")
    assert "Nearest: lines 125-130" in outcome.output
    assert "-     return 43" in outcome.output
    assert "+     return 42" in outcome.output


@pytest.mark.slow
def test_a_failed_edit_of_many_lines_alike_is_answered_at_once_and_shortly(call: Call, ctx: Bench) -> None:
    """Without a bound the search took half a minute, and the diff ended in a recursion error."""
    put(ctx, "a.txt", b"x\n" * 30_000)
    old = "x\n" * 1_000 + "y\n" + "x\n" * 1_000
    started = time.process_time()
    outcome = call("edit", file_path="a.txt", old_string=old, new_string="z")
    assert time.process_time() - started < 20
    assert outcome.status == "error"
    assert "- y" in outcome.output
    assert outcome.output.count("\n") < 40


def test_the_nearest_place_is_shown_where_it_begins_to_differ(call: Call, ctx: Bench) -> None:
    body = "".join(f"line {n}\n" for n in range(200))
    put(ctx, "a.txt", body.encode())
    outcome = call("edit", file_path="a.txt", old_string=body.replace("line 150", "line 15O"), new_string="z")
    assert "Nearest: lines 146-" in outcome.output
    assert "- line 15O" in outcome.output
    assert "+ line 150" in outcome.output


@pytest.mark.parametrize(("text", "old"), [("aaa", "aa"), ("x\nx\nx\n", "x\nx\n"), ("ababa", "aba")])
def test_a_text_that_overlaps_itself_is_not_guessed_at(call: Call, ctx: Bench, text: str, old: str) -> None:
    file = put(ctx, "a.txt", text.encode())
    outcome = call("edit", file_path="a.txt", old_string=old, new_string="z")
    assert outcome.status == "error"
    assert "overlapping" in outcome.output
    assert file.read_text() == text
    assert call("edit", file_path="a.txt", old_string=old, new_string="z", replace_all=True).status == "success"


@given(st.binary(max_size=80), st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"]))
def test_bytes_come_back_as_they_were_whatever_they_are(data: bytes, mark: bytes) -> None:
    decoded = decode(mark + data)
    if decoded is not None:
        assert encode(decoded[0], decoded[1], "a") == mark + data


ENCODINGS = [
    pytest.param("größe = 1\n".encode(), id="utf-8"),
    pytest.param(b"\xef\xbb\xbf" + "größe = 1\n".encode(), id="utf-8 with a mark"),
    pytest.param(b"\xff\xfe" + "größe = 1\r\n".encode("utf-16-le"), id="utf-16 little"),
    pytest.param(b"\xfe\xff" + "größe = 1\n".encode("utf-16-be"), id="utf-16 big"),
    pytest.param("size = 1, plain ascii text\n".encode("utf-16-le"), id="utf-16 without a mark"),
    pytest.param("größe = 1\n".encode("latin-1"), id="latin-1"),
    pytest.param("größe, äöü = 1".encode() + b"\xff\n", id="utf-8 with one bad byte"),
    pytest.param(b"a = 1\r\nb = 2\nc = 3\rd", id="mixed newlines"),
    pytest.param(b"a = 1", id="no newline at the end"),
]


@pytest.mark.parametrize("data", ENCODINGS)
def test_encoding_mark_newlines_and_end_survive(call: Call, ctx: Bench, data: bytes) -> None:
    file = put(ctx, "a.txt", data)
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data
    one, two = ("1\0", "2\0") if wide and data[:1] != b"\xfe" else ("\x001", "\x002") if wide else ("1", "2")
    outcome = call("edit", file_path="a.txt", old_string="= 1", new_string="= 2") if b"=" in data else None
    assert outcome is not None
    assert outcome.status == "success", outcome.output
    assert file.read_bytes() == data.replace(one.encode(), two.encode(), 1)


def test_a_character_that_the_encoding_cannot_spell_is_refused(call: Call, ctx: Bench) -> None:
    file = put(ctx, "a.txt", "größe\n".encode("latin-1"))
    outcome = call("edit", file_path="a.txt", old_string="e\n", new_string="→\n")
    assert "latin-1, which has no '→'" in outcome.output
    assert file.read_bytes() == "größe\n".encode("latin-1")


def test_mode_bits_survive_and_no_temporary_file_stays(call: Call, ctx: Bench) -> None:
    file = put(ctx, "run.sh", b"echo 1\n")
    file.chmod(0o751)
    assert call("edit", file_path="run.sh", old_string="1", new_string="2").status == "success"
    assert stat.S_IMODE(file.stat().st_mode) == 0o751
    assert os.listdir(ctx.cwd) == ["run.sh"]


def test_a_link_stays_a_link_and_its_target_is_changed(call: Call, ctx: Bench) -> None:
    target = put(ctx, "real", b"1\n")
    (ctx.cwd / "link").symlink_to("real")
    assert call("edit", file_path="link", old_string="1", new_string="2").status == "success"
    assert (ctx.cwd / "link").is_symlink()
    assert target.read_bytes() == b"2\n"


def test_a_notebook_is_refused_with_a_hint(call: Call, ctx: Bench) -> None:
    put(ctx, "a.ipynb", b'{"cells": []}')
    outcome = call("edit", file_path="a.ipynb", old_string="[]", new_string="[1]")
    assert outcome.status == "error"
    assert "notebook" in outcome.output
    assert "bash" in outcome.output


def test_an_edit_that_changes_nothing_is_refused(call: Call, ctx: Bench) -> None:
    put(ctx, "a", b"x\n")
    assert call("edit", file_path="a", old_string="x", new_string="x").status == "error"


def test_an_empty_old_text_makes_a_new_file_and_never_overwrites(call: Call, ctx: Bench) -> None:
    assert call("edit", file_path="new/a.py", old_string="", new_string="x\n").metadata["created"] is True
    assert (ctx.cwd / "new/a.py").read_text() == "x\n"
    assert call("edit", file_path="new/a.py", old_string="", new_string="y\n").status == "error"
    assert (ctx.cwd / "new/a.py").read_text() == "x\n"


def test_several_edits_are_made_in_order_or_not_at_all(call: Call, ctx: Bench) -> None:
    file = put(ctx, "a.py", b"a\nb\n")
    good = [{"old_string": "a", "new_string": "c"}, {"old_string": "c", "new_string": "d"}]
    outcome = call("multi_edit", file_path="a.py", edits=[*good, {"old_string": "zz", "new_string": "y"}])
    assert outcome.status == "error"
    assert "Edit 3 of 3" in outcome.output
    assert file.read_bytes() == b"a\nb\n"
    assert call("multi_edit", file_path="a.py", edits=good).status == "success"
    assert file.read_bytes() == b"d\nb\n"


def test_edits_of_one_file_from_many_threads_are_all_made(ctx: Bench) -> None:
    names = [f"line {n}" for n in range(24)]
    file = put(ctx, "a.txt", "\n".join(names).encode())
    edit = tools({"edit"})[0]
    outcomes: list[ToolOutput] = []

    def change(n: int) -> None:
        given = {"file_path": "a.txt", "old_string": f"line {n}\n", "new_string": f"LINE {n}\n"}
        outcomes.append(asyncio.run(run(edit, ctx, f"c{n}", given)))

    threads = [threading.Thread(target=change, args=(n,)) for n in range(23)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {outcome.status for outcome in outcomes} == {"success"}
    assert file.read_text().count("LINE") == 23


CHARACTERS = st.text(st.sampled_from("ab \t\n\r“\"'’-–é😀x"), max_size=60)


@given(text=CHARACTERS, old=CHARACTERS)
@example(text="a", old="a\r")
def test_every_match_is_the_old_text_but_for_the_named_allowances(text: str, old: str) -> None:
    assume(old)
    for match in find(text, old)[0]:
        assert 0 <= match.start < match.end <= len(text)
        found = text[match.start : match.end] + ("\n" if match.unended else "")
        assert _plain(found) == _plain(old)


def _plain(text: str) -> list[str]:
    """Lines without what the ladder may overlook."""
    folded = text.translate(str.maketrans("“’–", "\"'-")).replace("\r\n", "\n").replace("\r", "\n")
    return [line.strip(" \t") for line in folded.split("\n")]


# Knowledge of a file that an edit or a write needs: an exact and unique match, or the present content.


def test_an_exact_and_unique_match_needs_no_read(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a.py").write_text("x = 1\ny = 2\n")
    outcome = call("edit", file_path="a.py", old_string="x = 1", new_string="x = 3")
    assert outcome.output == "Edited a.py: line 1."
    assert (ctx.cwd / "a.py").read_text() == "x = 3\ny = 2\n"


def test_a_match_with_an_allowance_or_in_several_places_needs_a_read(call: Call, ctx: Bench) -> None:
    file = ctx.cwd / "a.py"
    file.write_text("if x:\n    y = 1\nz = 1\n")
    loose = call("edit", file_path="a.py", old_string="if x:\n  y = 1  \n", new_string="if x:\n  y = 2\n")
    assert "a.py has not been read yet" not in loose.output or "Read it first" in loose.output
    indented = {"old_string": "y = 1\n", "new_string": "y = 2\n"}
    assert call("edit", file_path="a.py", **indented).status == "success"  # exact, though it begins within a line
    deeper = call("edit", file_path="a.py", old_string="  if x:\n      y = 2", new_string="  if x:\n      y = 3")
    assert deeper.output == (
        "a.py has not been read yet, and old_string is there only if indentation may differ. Nothing was changed.\n"
        "Nearest: lines 1-3 (- your old_string, + the file):\n"
        "-   if x:\n+ if x:\n-       y = 2\n+     y = 2\n  z = 1"
    )
    several = call("edit", file_path="a.py", old_string=" = ", new_string=" == ", replace_all=True)
    assert several.output == (
        "a.py has not been read yet. Nothing was changed. Read it first, or replace these places one by one:\n"
        "Lines 1-3:\nif x:\n    y = 2\nz = 1\nLines 1-3:\nif x:\n    y = 2\nz = 1"
    )
    assert file.read_text() == "if x:\n    y = 2\nz = 1\n"


def test_a_failed_edit_of_an_unread_file_shows_the_nearest_lines(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a.py").write_text("limit = 1\n")
    outcome = call("edit", file_path="a.py", old_string="limit = 2", new_string="limit = 3")
    assert outcome.output == (
        "old_string is not in a.py, which has not been read yet. Nothing was changed.\n"
        "Nearest: lines 1-1 (- your old_string, + the file):\n- limit = 2\n+ limit = 1"
    )
    assert call("edit", file_path="a.py", old_string="limit = 1", new_string="limit = 3").status == "success"


def test_no_line_of_a_secret_file_that_was_never_read_is_shown(call: Call, ctx: Bench) -> None:
    (ctx.cwd / ".env").write_text("PASSWORD=1\nPASSWORD=1\n")
    outcome = call("edit", file_path=".env", old_string="PASSWORD=2", new_string="PASSWORD=3")
    assert outcome.output == (
        "old_string is not in .env, which has not been read yet. Nothing was changed. Read it first."
    )
    assert "\n" not in call("edit", file_path=".env", old_string="PASSWORD=1", new_string="x").output


def test_a_text_that_is_not_unique_is_shown_with_the_lines_around_each_place(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a.py").write_text("def a():\n    x = 1\n    return x\n\n\ndef b():\n    x = 1\n    return -x\n")
    outcome = call("edit", file_path="a.py", old_string="x = 1", new_string="x = 2")
    assert outcome.output.splitlines()[1:] == [
        *("Lines 1-4:", "def a():", "    x = 1", "    return x", ""),
        *("Lines 5-8:", "", "def b():", "    x = 1", "    return -x"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("3\n", "three\n", "line 3"),
        ("3\n4\n5\n", "three\nfour\nfive\nsix\n", "lines 3-6"),
        ("3\n4\n", "", "line 3"),
        ("9\n", "nine", "line 9"),
    ],
)
def test_an_edit_names_the_lines_that_it_changed(call: Call, ctx: Bench, old: str, new: str, lines: str) -> None:
    (ctx.cwd / "a.txt").write_text("".join(f"{n}\n" for n in range(1, 10)))
    assert call("edit", file_path="a.txt", old_string=old, new_string=new).output == f"Edited a.txt: {lines}."


def test_many_places_are_named_by_their_number_and_the_first_lines(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a.txt").write_text("".join(f"x\n{n}\n" for n in range(10)))
    call("read", file_path="a.txt")
    outcome = call("edit", file_path="a.txt", old_string="x", new_string="y", replace_all=True)
    assert outcome.output == "Edited a.txt: 10 replacements, lines 1, 3, 5, 7, 9, 11, 13, 15 and 2 more."


def test_an_edit_of_a_file_that_has_changed_shows_its_lines_as_they_are_now(call: Call, ctx: Bench) -> None:
    file = ctx.cwd / "a.py"
    file.write_text("".join(f"line {n}\n" for n in range(1, 21)))
    call("read", file_path="a.py")
    file.write_text("# new\n" + file.read_text())
    outcome = call("edit", file_path="a.py", old_string="line 10\n", new_string="line ten\n")
    assert outcome.output == (
        "Edited a.py: 1 replacement (the file had changed since you read it; lines 8-14 now:)\n"
        "line 7\nline 8\nline 9\nline ten\nline 11\nline 12\nline 13"
    )
    again = call("edit", file_path="a.py", old_string="line 12\n", new_string="line twelve\n")
    assert again.output == "Edited a.py: line 13."


def test_a_failed_edit_of_a_file_that_has_changed_shows_the_nearest_place_at_once(call: Call, ctx: Bench) -> None:
    file = ctx.cwd / "a.py"
    file.write_text('import { a } from "./b"\nrest\n')
    call("read", file_path="a.py")
    file.write_text('import { a, c } from "./b"\nrest\n')
    outcome = call("edit", file_path="a.py", old_string='import { a } from "./b"', new_string="x")
    assert outcome.output == (
        "old_string is not in a.py, which has changed since you read it. Nothing was changed.\n"
        "Nearest: lines 1-2 (- your old_string, + the file):\n"
        '- import { a } from "./b"\n+ import { a, c } from "./b"\n  rest'
    )


def test_an_edit_without_a_read_does_not_allow_to_replace_the_whole(call: Call, ctx: Bench) -> None:
    file = ctx.cwd / "a.py"
    file.write_text("x = 1\nprecious\n")
    call("edit", file_path="a.py", old_string="x = 1", new_string="x = 2")
    assert "has not been read yet" in call("write", file_path="a.py", content="y\n").output
    call("read", file_path="a.py")
    file.write_text("x = 2\nmore precious\n")
    call("edit", file_path="a.py", old_string="x = 2", new_string="x = 3")
    assert "has changed since you read it. Read it again" in call("write", file_path="a.py", content="y\n").output
    assert file.read_text() == "x = 3\nmore precious\n"


def test_all_edits_of_a_call_are_proved_by_their_own_matches(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a.py").write_text("a\nb\n")
    edits = [{"old_string": "a\n", "new_string": "c\n"}, {"old_string": "c\nb", "new_string": "d"}]
    assert call("multi_edit", file_path="a.py", edits=edits).status == "success"
    assert (ctx.cwd / "a.py").read_text() == "d\n"


def test_a_file_made_of_text_in_a_command_counts_as_seen(call: Call, ctx: Bench) -> None:
    outcome = call("bash", command="mkdir src && cat > src/a.py <<'EOF'\nx = 1\n\ny = 2\nEOF\necho done")
    assert list(outcome.metadata["seen"]) == [str(ctx.cwd / "src/a.py")]
    assert call("write", file_path="src/a.py", content="z\n").status == "success"


def test_a_heredoc_that_the_shell_has_expanded_does_not_count_as_seen(call: Call, ctx: Bench) -> None:
    call("bash", command="cat > a.py <<EOF\nx = $(seq 3)\nEOF")
    assert "has not been read yet" in call("write", file_path="a.py", content="z\n").output


def test_a_file_that_a_command_prints_whole_counts_as_seen(call: Call, ctx: Bench) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (ctx.cwd / name).write_text(f"{name} = 1\n{name} = 2\n")
    call("bash", command="cat a.py; cat -n b.py; cat c.py | head -1")
    assert call("write", file_path="a.py", content="z\n").status == "success"
    assert call("write", file_path="b.py", content="z\n").status == "success"
    assert "has not been read yet" in call("write", file_path="c.py", content="z\n").output


def test_a_file_that_was_moved_or_copied_counts_as_seen(call: Call, ctx: Bench) -> None:
    subprocess.run(["git", "init", "-q"], cwd=ctx.cwd, check=True)
    for name in ("a.py", "b.py", "c.py"):
        call("write", file_path=f"old/{name}", content=f"{name}\n")
    moved = call("bash", command="mkdir new; git add .; git mv old/a.py new/; mv old/b.py new/x.py; cp -r old copy")
    assert moved.status == "success", moved.output
    for path in ("new/a.py", "new/x.py", "copy/c.py"):
        assert call("write", file_path=path, content="z\n").status == "success", path


@pytest.mark.parametrize(
    ("before", "old", "new", "made"),
    [
        ("total += price\n", "total += price", "total += price * count", False),
        ("total += price * count\n", "total += price", "total += price * count", True),
        ("import a\nimport b\n", "import b", "import a\nimport b", True),
        ("import a\nimport c\nimport b\n", "import b", "import a\nimport b", False),
        ("    return x\n", "return x", "    return x", False),
        ("a\n\nb\n", "a\n", "a\n\n", False),
        ("f(x)\n", "f(x)\n", "g(f(x)\n", False),
    ],
)
def test_an_edit_that_adds_something_is_not_made_twice(
    before: str, old: str, new: str, made: bool, call: Call, ctx: Bench
) -> None:
    file = put(ctx, "a.py", before.encode())
    outcome = call("edit", file_path="a.py", old_string=old, new_string=new)
    assert (file.read_text() == before, outcome.status == "error") == (made, made)
    if made:
        assert outcome.output == (
            "new_string is already there (line 1). This edit was made before. Nothing was changed. "
            "To add the same once more, quote the lines as they are now in old_string."
        )
    file.write_text(before)
    assert call("edit", file_path="a.py", old_string=old, new_string=new, replace_all=True).status == "success"


def test_an_unread_file_with_other_line_endings_is_to_be_read_and_shows_no_difference(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a.csv").write_bytes(b"a,b\r\n1,2\r\n")
    assert call("edit", file_path="a.csv", old_string="a,b\n1,2", new_string="a,b\n1,3").output == (
        "a.csv has not been read yet, and old_string is there only if line endings may differ. Nothing was changed. "
        "Read it first, then change it."
    )
