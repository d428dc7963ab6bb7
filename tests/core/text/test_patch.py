"""The patch format of OpenAI's models, as plain text: its changes, and the error for a text that is no patch."""

from __future__ import annotations

import pytest

from agentcli.core.text.patch import FileChange, Hunk, PatchError, moved_to, parse, touched
from tests.tables import each_row


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def update(*lines: str) -> str:
    return patch("*** Update File: a", *lines)


@each_row(
    ("lines", "change"),
    [
        (("*** Delete File: a b.py",), FileChange("delete", "a b.py")),
        (("*** Delete File:a.py  ",), FileChange("delete", "a.py")),
        (("  *** Delete File: a",), FileChange("delete", "a")),
        (("", "*** Delete File: a", " "), FileChange("delete", "a")),
        (("*** Environment: x", "*** Delete File: a"), FileChange("delete", "a")),
        (("*** Add File: a",), FileChange("add", "a")),
        (("*** Add File: a", "+x"), FileChange("add", "a", "x\n")),
        (("*** Add File: a", "+x", "", "+y"), FileChange("add", "a", "x\ny\n")),
        (("*** Add File: a", "+x", "+"), FileChange("add", "a", "x\n")),
        (("*** Add File: a", "+x", "+", "+"), FileChange("add", "a", "x\n\n")),
        (("*** Add File: a", "+"), FileChange("add", "a", "\n")),
        (("*** Add File: a", "++x"), FileChange("add", "a", "+x\n")),
        (("*** Update File: a", "*** Move to: b"), FileChange("update", "a", move_to="b")),
        (
            ("*** Update File: a", "*** Move to: b c ", "-x"),
            FileChange("update", "a", hunks=(Hunk(("x",), ()),), move_to="b c"),
        ),
    ],
)
def test_a_file_is_added_changed_moved_or_deleted(lines: tuple[str, ...], change: FileChange) -> None:
    assert parse(patch(*lines)) == (change,)
    assert parse("\r\n".join(["", *patch(*lines).split("\n"), ""])) == (change,)


@each_row(
    ("lines", "hunks"),
    [
        (("-a", "+b"), [Hunk(("a",), ("b",))]),
        ((" a", "+b"), [Hunk(("a",), ("a", "b"))]),
        (("@@", "-a"), [Hunk(("a",), ())]),
        (("@@ def f():", "+b"), [Hunk((), ("b",), ("def f():",))]),
        (("@@ class A", "@@   def f():", "+b"), [Hunk((), ("b",), ("class A", "  def f():"))]),
        (("@@def f():", "+b"), [Hunk((), ("b",), ("def f():",))]),
        (("@@ -1,2 +3,4 @@ def f():", "+b"), [Hunk((), ("b",), ("def f():",))]),
        (("@@ -1 +3 @@", "+b"), [Hunk((), ("b",))]),
        (("-a", "*** End of File"), [Hunk(("a",), (), (), True)]),
        (("-a", "*** End of File ", "-b"), [Hunk(("a",), (), (), True), Hunk(("b",), ())]),
        (("-a", "@@", "-b"), [Hunk(("a",), ()), Hunk(("b",), ())]),
        (("-a", "", "+b"), [Hunk(("a", ""), ("", "b"))]),
        ((" a", "-", "+"), [Hunk(("a", ""), ("a", ""))]),
        (("-a", "@@", "", ""), [Hunk(("a",), ())]),
        (("@@ a", "", "+b"), [Hunk(("",), ("", "b"), ("a",))]),
    ],
)
def test_a_changed_file_has_hunks_with_their_places(lines: tuple[str, ...], hunks: list[Hunk]) -> None:
    (change,) = parse(update(*lines))
    assert list(change.hunks) == hunks


@each_row(
    ("text", "why"),
    [
        ("hello", "A patch begins with the line '*** Begin Patch', and this one with 'hello'."),
        ("x" * 81, f"A patch begins with the line '*** Begin Patch', and this one with '{'x' * 80}'."),
        ("*** Begin Patch", "A patch ends with the line '*** End Patch', and this one with '*** Begin Patch'."),
        (
            "*** Begin Patch\n*** Delete File: a",
            "A patch ends with the line '*** End Patch', and this one with '*** Delete File: a'.",
        ),
        (
            f"*** Begin Patch\n{'x' * 81}",
            f"A patch ends with the line '*** End Patch', and this one with '{'x' * 80}'.",
        ),
        (patch("x" * 81), f"Line 2 of the patch is '{'x' * 80}': a line such as '*** Update File: path' is expected."),
        (patch(), "The patch changes no file."),
        (patch("*** Note: x"), "The patch changes no file."),
        (
            patch("", "x"),
            "Line 3 of the patch is 'x': a line such as '*** Update File: path' is expected.",
        ),
        (
            patch("*** Delete File: a", "*** Note: x"),
            "Line 3 of the patch is '*** Note: x': a line such as '*** Update File: path' is expected.",
        ),
        (
            patch("*** Add File: a", "+x", "y"),
            "Line 4 of the patch is 'y': each line of an added file begins with '+'.",
        ),
        (update(), "The patch has no change for a."),
        (update("", ""), "The patch has no change for a."),
        (update("@@ a"), "Line 3 of the patch is '@@ a': this place has no lines to change."),
        (
            update("-a", "b"),
            "Line 4 of the patch is 'b': a line of a change begins with ' ', '+' or '-', and a place with '@@'.",
        ),
    ],
)
def test_a_text_that_is_no_patch_is_told_by_its_line(text: str, why: str) -> None:
    with pytest.raises(PatchError) as refused:
        parse(text)
    assert str(refused.value) == why


@each_row("heading", ["cat <<'EOF'", "<<EOF", "<<-EOF", '<< "EOF"'])
def test_a_patch_may_stand_in_a_here_text(heading: str) -> None:
    text = f"{heading.removeprefix('cat ')}\n{patch('*** Delete File: a')}\nEOF\n"
    assert parse(text) == (FileChange("delete", "a"),)


def test_several_files_come_in_their_order_and_their_paths_once() -> None:
    text = patch(
        "*** Update File: a",
        "*** Move to: b",
        "*** Add File: c",
        "+x",
        "*** Update File: b",
        "-x",
        "*** Delete File: c",
    )
    assert [change.kind for change in parse(text)] == ["update", "add", "update", "delete"]
    assert [change.paths for change in parse(text)] == [("a", "b"), ("c",), ("b",), ("c",)]
    assert touched(text) == ("a", "b", "c")


def test_relative_paths_count_from_a_folder() -> None:
    text = patch("*** Update File: a", "*** Move to: /b", "*** Add File: c/d ", "+*** Add File: e")
    assert moved_to(text, "") == text
    assert touched(moved_to(text, "sub")) == ("sub/a", "/b", "sub/c/d")
    assert "\n+*** Add File: e\n" in moved_to(text, "sub")
