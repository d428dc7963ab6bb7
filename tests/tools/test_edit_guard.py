"""Knowledge of a file that an edit or a write needs: an exact and unique match, or the present content."""

from __future__ import annotations

import subprocess

from tests.tools.conftest import Call
from tests.tools.workplace import Bench


def test_an_exact_and_unique_match_needs_no_read(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a.py").write_text("x = 1\ny = 2\n")
    outcome = call("edit", file_path="a.py", old_string="x = 1", new_string="x = 3")
    assert outcome.output == "Edited a.py: 1 replacement."
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
        "a.py has not been read yet, and old_string is there only if indentation may differ. Nothing was changed. "
        "Read it first, then change it."
    )
    several = call("edit", file_path="a.py", old_string=" = ", new_string=" == ", replace_all=True)
    assert several.output == "a.py has not been read yet. Nothing was changed. Read it first, then change it."
    assert file.read_text() == "if x:\n    y = 2\nz = 1\n"


def test_no_line_of_a_file_that_was_never_read_is_shown(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a.py").write_text("password = 1\n")
    outcome = call("edit", file_path="a.py", old_string="password = 2", new_string="password = 3")
    assert outcome.output == (
        "old_string is not in a.py, which has not been read yet. Nothing was changed. Read it first."
    )


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
    assert again.output == "Edited a.py: 1 replacement."


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
