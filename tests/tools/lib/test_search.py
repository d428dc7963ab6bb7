"""grep and glob: what is found, and that ripgrep and the Python search answer alike."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentcli.tools.lib.openat import DirHandle
from agentcli.tools.lib.search import Line, Wanted, files, lines
from tests.tools.conftest import Call
from tests.tools.workplace import Bench

RG = shutil.which("rg") or ""
needs_ripgrep = pytest.mark.skipif(not RG, reason="ripgrep is not installed")


def plant(base: Path, tree: dict[str, str | bytes]) -> None:
    for name, content in tree.items():
        file = base / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())


TREE: dict[str, str | bytes] = {
    ".gitignore": "*.log\n/build/\n!keep.log\nnode_modules\n# comment\ndocs/*.tmp\n",
    ".git/config": "needle",
    ".git/info/exclude": "private.txt\n",
    "private.txt": "needle",
    "a.py": "def needle():\n    pass\n\nneedle()\n",
    "a.log": "needle",
    "keep.log": "needle",
    "build/out.py": "needle",
    "src/build/in.py": "a Needle here\n",
    "src/.gitignore": "secret.py\n!*.log\n",
    "src/secret.py": "needle",
    "src/b.log": "one\ntwo needle\nthree",
    "src/deep/c.ts": "x\nneedle\r\ny\r\n",
    "src/deep/d.tsx": "größe needle ünï\n",
    "node_modules/x/index.js": "needle",
    "docs/a.tmp": "needle",
    "docs/sub/a.tmp": "needle",
    ".hidden/e.txt": "needle",
    ".env": "needle=1",
    ".env.local": "needle=1",
    ".ENV": "needle=1",
    "sub/.env~": "needle=1",
    ".environment/x": "needle=1",
    ".env.example": "needle=",
    "inner/.git/HEAD": "ref",
    "inner/f.log": "needle",
    "inner/node_modules": "needle",
    "binary.bin": b"needle\0\1\2",
    "wide.txt": b"\xff\xfe" + "ein needle\nzwei\n".encode("utf-16-le"),
    "marked.txt": b"\xef\xbb\xbfneedle first\n",
    "latin.txt": "größe needle\n".encode("latin-1"),
    "empty.txt": "",
    "-dash.txt": "needle",
    "with space.txt": "needle",
}
FOUND = [
    "-dash.txt", ".env.example", ".hidden/e.txt", "a.py", "docs/sub/a.tmp", "inner/f.log", "inner/node_modules", "keep.log", "latin.txt",
    "marked.txt", "src/b.log", "src/deep/c.ts", "src/deep/d.tsx", "wide.txt", "with space.txt",
]  # fmt: skip


def searched(base: Path, names: list[str], wanted: Wanted, rg: str = "") -> list[Line]:
    top = DirHandle(base, os.open(base, os.O_RDONLY))
    try:
        return list(lines(top, names, wanted, rg))
    finally:
        top.close()


@pytest.fixture
def planted(ctx: Bench) -> Bench:
    plant(ctx.cwd, TREE)
    (ctx.cwd / "link.py").symlink_to("a.py")
    (ctx.cwd / "outside").symlink_to("/etc")
    return ctx


@pytest.mark.parametrize("rg", ["", pytest.param(RG, marks=needs_ripgrep)])
def test_only_what_git_would_track_is_searched(planted: Bench, rg: str) -> None:
    names = files(planted.cwd, "", rg)
    found = {line.file for line in searched(planted.cwd, names, Wanted("needle"), rg) if line.matches}
    assert sorted(found) == FOUND


@needs_ripgrep
@pytest.mark.parametrize(
    "base", [".", "src", "src/deep", "node_modules", "node_modules/x", "inner", "build", ".hidden"]
)
@pytest.mark.parametrize("glob", ["", "*.py", "**/*.ts", "*.{ts,tsx}", "src/**", "deep/*", "[a-c].*", "?.py", "*.log"])
def test_both_searches_list_the_same_files(planted: Bench, base: str, glob: str) -> None:
    assert files(planted.cwd / base, glob, RG) == files(planted.cwd / base, glob)


@needs_ripgrep
@pytest.mark.parametrize(
    "wanted",
    [
        Wanted("needle"),
        Wanted("NEEDLE", ignore_case=True),
        Wanted("needle", before=1, after=2),
        Wanted(r"^\s*needle\b"),
        Wanted(r"needle$"),
        Wanted(r"\w+ needle"),
        Wanted(r"(?i)GRÖSSE|größe"),
        Wanted(r"needle(?=\()"),
        Wanted(r"(?<!def )needle"),
        Wanted("needle()"),
        Wanted(r"\{|x"),
        Wanted("-dash"),
        Wanted(""),
    ],
)
def test_both_searches_find_the_same_lines(planted: Bench, wanted: Wanted) -> None:
    names = files(planted.cwd)
    assert searched(planted.cwd, names, wanted, RG) == searched(planted.cwd, names, wanted)


@needs_ripgrep
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rules=st.lists(
        st.sampled_from(
            [
                "*.a",
                "!x.a",
                "d",
                "d/",
                "/d",
                "d/x.a",
                "**/x.b",
                "!d",
                "*",
                "!*/",
                "e*",
                "x.?",
                "[xy].b",
                "d/**",
                "!d/x.a",
                "**/d/",
                "e/**/x.b",
                "/*",
                "!/d",
                "*.[!a]",
                "x.a  ",
                "# x.b",
                "e/**/",
                "**",
                "[",
                "x\\.b",
                "!e/d/",
            ]
        )
    ),
    inner=st.lists(st.sampled_from(["!x.a", "x.b", "/y.a", "*", "!y.b", "e", "!e/", "**/y.a"])),
)
def test_both_searches_read_ignore_files_alike(
    tmp_path_factory: pytest.TempPathFactory, rules: list[str], inner: list[str]
) -> None:
    base = tmp_path_factory.mktemp("tree")
    names = [f"{folder}{name}" for folder in ("", "d/", "e/", "e/d/", "d/e/") for name in ("x.a", "y.a", "x.b", "y.b")]
    plant(
        base,
        dict.fromkeys(names, "") | {".gitignore": "\n".join(rules), "d/.gitignore": "\n".join(inner), ".git/HEAD": ""},
    )
    for folder in (".", "d", "e/d"):
        assert files(base / folder, "", RG) == files(base / folder), (folder, rules, inner)


def test_grep_shows_files_where_only_they_are_asked_for(call: Call, planted: Bench) -> None:
    outcome = call("grep", pattern="needle", path="src", output_mode="files_with_matches")
    assert outcome.output.split("\n") == ["src/b.log", "src/deep/c.ts", "src/deep/d.tsx"]
    assert outcome.metadata["matches"] == 3


def test_grep_shows_lines_under_the_name_of_their_file_with_those_around_them(call: Call, planted: Bench) -> None:
    content = call("grep", pattern="needle", path="src", glob="*.{log,ts}", **{"-C": 1})
    assert content.output.split("\n") == [
        "src/b.log", "1-one", "2:two needle", "3-three", "", "src/deep/c.ts", "1-x", "2:needle", "3-y",
    ]  # fmt: skip
    apart = call("grep", pattern="needle|pass", path="a.py", **{"-A": 0, "-B": 0})
    assert apart.output == "a.py\n1:def needle():\n2:    pass\n4:needle()"
    plain = call("grep", pattern="NEEDLE", path="src/build", **{"-i": True, "-n": False})
    assert plain.output == "src/build/in.py\na Needle here"
    assert call("grep", pattern="needle", path="a.py", output_mode="count").output == "a.py:2"


def test_context_that_does_not_follow_is_set_apart(call: Call, ctx: Bench) -> None:
    plant(ctx.cwd, {"a": "x\n1\n2\n3\nx\n"})
    assert call("grep", pattern="x", **{"-A": 1}).output == "a\n1:x\n2-1\n--\n5:x"


PYTHON_FILE = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n\n\nlist = []\nfoo(1)\n"


@pytest.mark.parametrize(
    ("pattern", "reading", "lines"),
    [
        (r"add\|sub", "add|sub", ["1:def add(a, b):", "5:def sub(a, b):"]),
        (r"def \(add\|sub\)", "def (add|sub)", ["1:def add(a, b):", "5:def sub(a, b):"]),
        (r"def \w+(\|foo(", r"def \w\+\(|foo\(", ["10:foo(1)"]),
        (r"\w+ (add\|sub)", r"\w+ (add|sub)", ["1:def add(a, b):", "5:def sub(a, b):"]),
        (r"o\{2\}", "o{2}", ["10:foo(1)"]),
    ],
)
@pytest.mark.parametrize("ripgrep", [True, False])
def test_operators_with_a_backslash_are_understood_where_nothing_else_matches(
    call: Call, ctx: Bench, monkeypatch: pytest.MonkeyPatch, ripgrep: bool, pattern: str, reading: str, lines: list[str]
) -> None:
    plant(ctx.cwd, {"a.py": PYTHON_FILE})
    if not ripgrep:
        monkeypatch.setenv("PATH", "")
    note, *rest = call("grep", pattern=pattern).output.split("\n")
    assert (
        note
        == f"[nothing matches {pattern} as it is written; this matches {reading}: operators take no backslash here]"
    )
    assert rest == ["a.py", *lines]


def test_a_pattern_that_matches_as_it_is_written_is_not_read_otherwise(call: Call, ctx: Bench) -> None:
    plant(ctx.cwd, {"a": "x | y\nx\n", "b.c": "c++\ncall()\n"})
    assert call("grep", pattern=r"x \| y").output == "a\n1:x | y"
    assert call("grep", pattern=r"call\(\)").output == "b.c\n2:call()"
    assert call("grep", pattern=r"cell\(\)").output == "No matches in 2 files."
    assert call("grep", pattern=r"d\+\+").output == "No matches in 2 files."


def test_no_matches_says_where_it_looked_and_what_would_match(call: Call, ctx: Bench) -> None:
    plant(ctx.cwd, {"src/a.py": "Needle\nNEEDLE\n", "src/b.py": "x\n"})
    assert call("grep", pattern="nowhere").output == "No matches in 2 files."
    assert call("grep", pattern="needle", glob="a.*").output == (
        "No matches in 1 file (a.*). 2 lines would match with -i (case ignored)."
    )
    assert call("grep", pattern="x", path="src", glob="*.ts").output == (
        "No file matches *.ts in src; what .gitignore names is left out."
    )
    assert "so \\n never matches" in call("grep", pattern=r"Needle\nNEEDLE").output
    assert call("grep", pattern="nowhere").metadata == {"matches": 0}


def test_more_matches_than_the_limit_are_counted_and_kept(call: Call, ctx: Bench) -> None:
    plant(ctx.cwd, {f"f{n:03}.txt": "x\nx\n" for n in range(150)})
    content = call("grep", pattern="x")
    assert sum(line[1:] == ":x" for line in content.output.split("\n")) == 100
    assert '[200 more of 300 matching lines; recall(id="c1", pattern="…") searches the whole output]' in content.output
    assert Path(content.output_file).read_text().count(":x") == 300
    names = call("grep", pattern="x", output_mode="files_with_matches")
    assert "[50 more of 150 files; 300 matching lines in all" in names.output
    few = call("grep", pattern="x", output_mode="files_with_matches", head_limit=3)
    assert few.output.startswith("f000.txt\nf001.txt\nf002.txt\n[147 more")
    assert "[100 of 150 files, newest first; 50 more" in call("glob", pattern="*.txt").output


@needs_ripgrep
def test_the_tools_answer_alike_where_ripgrep_is_missing(
    call: Call, planted: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers() -> list[str]:
        return [
            call("grep", pattern="needle").output,
            call("grep", pattern="needle", glob="*.{py,ts}", **{"-C": 2}).output,
            call("grep", pattern="needle", path="src", output_mode="count").output,
            call("glob", pattern="**/*.py").output,
        ]

    with_ripgrep = answers()
    monkeypatch.setenv("PATH", str(planted.outputs))
    assert answers() == with_ripgrep


def test_a_bad_pattern_is_explained(call: Call, ctx: Bench) -> None:
    plant(ctx.cwd, {"a": "x"})
    outcome = call("grep", pattern="(unclosed")
    assert outcome.status == "error"
    assert re.fullmatch(
        r"'\(unclosed' is not a regular expression: [^\n]+\. Its text does not occur either\.", outcome.output
    )
    assert outcome.output.endswith("Its text does not occur either.")


@pytest.mark.parametrize("ripgrep", [True, False])
def test_a_bad_pattern_is_read_as_text(call: Call, ctx: Bench, monkeypatch: pytest.MonkeyPatch, ripgrep: bool) -> None:
    plant(ctx.cwd, {"a": "def f (x):\ny[0](*\n"})
    if not ripgrep:
        monkeypatch.setenv("PATH", "")
    for pattern, line in (("def f (", "1:def f (x):"), ("y[0](*", "2:y[0](*")):
        note = f"[{pattern} is not a regular expression; these lines have it as text]"
        assert call("grep", pattern=pattern).output == f"{note}\na\n{line}"


def test_very_long_lines_are_clipped(call: Call, ctx: Bench) -> None:
    plant(ctx.cwd, {"min.js": "x" * 5_000_000 + "needle\nneedle\n"})
    outcome = call("grep", pattern="needle")
    assert len(outcome.output) < 5_000
    assert outcome.output.startswith("min.js\n1:")
    assert outcome.output.endswith("\n2:needle")


def test_glob_gives_the_newest_first(call: Call, ctx: Bench) -> None:
    plant(ctx.cwd, {"old.py": "", "new.py": "", "sub/mid.py": "", "x.txt": ""})
    for age, name in enumerate(("new.py", "sub/mid.py", "old.py")):
        os.utime(ctx.cwd / name, (1_000_000 - age, 1_000_000 - age))
    assert call("glob", pattern="*.py").output == "new.py\nsub/mid.py\nold.py"
    assert call("glob", pattern="sub/*.py").output == "sub/mid.py"
    assert call("glob", pattern="*.py", path="sub").output == "sub/mid.py"
    assert call("glob", pattern=f"{ctx.cwd}/sub/*.py").output == "sub/mid.py"
    assert call("glob", pattern="*.rs").output == "No file matches *.rs."


def test_a_name_with_brackets_is_found_and_no_other(call: Call, ctx: Bench) -> None:
    plant(ctx.cwd, {"app/[slug]/page.tsx": "needle", "app/s/page.tsx": "needle", "app/{a,b}.ts": "needle"})
    for pattern in ("app/[slug]/page.tsx", f"{ctx.cwd}/app/[slug]/*.tsx", "**/[slug]/page.{ts,tsx}"):
        assert call("glob", pattern=pattern).output == "app/[slug]/page.tsx"
    assert call("glob", pattern="app/{a,b}.ts").output == "app/{a,b}.ts"
    assert call("glob", pattern=r"app/\[slug\]/*").output == "app/[slug]/page.tsx"
    assert call("glob", pattern="app/[s]/page.tsx").output == "app/s/page.tsx"
    found = call("grep", pattern="needle", glob="app/[slug]/*", output_mode="files_with_matches")
    assert found.output == "app/[slug]/page.tsx"


def test_list_shows_folders_first_and_is_capped(call: Call, ctx: Bench) -> None:
    plant(ctx.cwd, {"b.txt": "", "a.txt": "", "sub/x": ""})
    (ctx.cwd / "link").symlink_to("a.txt")
    assert call("list").output == "sub/\na.txt\nb.txt\nlink@"
    assert call("list", path="sub").output == "x"
    assert "not a folder" in call("list", path="a.txt").output
    many = ctx.cwd / "many"
    many.mkdir()
    for n in range(1_200):
        (many / f"{n:04}").touch()
    outcome = call("list", path="many")
    assert outcome.truncated
    assert outcome.output.endswith("0999\n[1,000 of 1,200 entries; use glob with a pattern to find the others]")


@pytest.mark.slow
def test_a_folder_of_a_huge_number_of_entries_is_listed_quickly(call: Call, ctx: Bench) -> None:
    import time

    fd = os.open(ctx.cwd, os.O_RDONLY)
    for n in range(100_000):
        os.close(os.open(f"file-{n}", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    started = time.perf_counter()
    count = sum(1 for _ in os.scandir(ctx.cwd))
    bare = time.perf_counter() - started
    started = time.perf_counter()
    outcome = call("list")
    assert time.perf_counter() - started < 2 * bare + 0.5
    assert count == 100_000
    assert "of more than 50,000 entries" in outcome.output
