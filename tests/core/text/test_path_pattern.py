"""Path patterns of rules, glob and grep, in all readings of their brackets and braces."""

from __future__ import annotations

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.core.text.path_pattern import (
    any_component,
    covers_below,
    literal,
    matches_in_some_reading,
    matching,
    path_regex,
    written_out,
)
from tests.tables import each_row


@each_row(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "x/y/a.py", True),
        ("./*.py", "x/a.py", False),
        ("./*.py", "a.py", True),
        ("x/*.py", "x/a.py", True),
        ("x/*.py", "x/y/a.py", False),
        ("x/**", "x/y/a.py", True),
        ("x/**", "x", False),
        ("x/", "x/y", True),
        ("x/", "z/x/y", True),
        ("x/", "x", False),
        ("**/a", "a", True),
        ("x/**/a", "x/a", True),
        ("x/**/a", "x/y/z/a", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[ab]", "a", True),
        ("[ab]", "c", False),
        ("[!ab]", "c", True),
        ("[^ab]", "a", False),
        ("[^]", "^", True),
        ("[!]", "!", True),
        ("[a-c]x", "bx", True),
        ("[[]", "[", True),
        ("[&~|]", "~", True),
        ("a.c", "abc", False),
        ("a[b", "a[b", True),
    ],
)
def test_a_path_pattern_is_read_like_one_of_gitignore(pattern: str, path: str, matches: bool) -> None:
    assert (path_regex(pattern).fullmatch(path) is not None) is matches


@each_row("path", ["a", "a*b", "a?b", "a[b]c", "[", "a]b", "{a,b}", "a\\\\b", "app/[slug]/x"])
def test_a_literal_pattern_matches_its_path_alone(path: str) -> None:
    assert path_regex(f"./{literal(path)}").fullmatch(path)
    assert not path_regex(f"./{literal(path)}").fullmatch(f"{path}x")


@each_row(
    ("pattern", "covers"),
    [("a", True), ("a/b", True), ("a/", True), ("a/**", True), ("a/*", False), ("*.py", False), ("a/b?", False), ("a/[b]", True), ("*/a", True)],
)  # fmt: skip
def test_a_pattern_that_names_a_folder_covers_what_is_below(pattern: str, covers: bool) -> None:
    assert covers_below(pattern) is covers


@each_row(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a/b/c.py", True),
        ("a/*.py", "a/b/c.py", False),
        ("a/**/*.py", "a/c.py", True),
        ("a/**/*.py", "a/b/b/c.py", True),
        ("**/c.py", "c.py", True),
        ("a/**", "a/b/c", True),
        ("*.{py,rs}", "x.rs", True),
        ("*.{py,rs}", "x.rst", False),
        ("{a,b/*}/c", "b/x/c", True),
        ("[!a].py", "b.py", True),
        ("[!a].py", "a.py", False),
        ("[a", "[a", True),
        ("a.b", "axb", False),
        ("./src/*.py", "src/a.py", True),
    ],
)
def test_globs_mean_what_people_expect(pattern: str, path: str, matches: bool) -> None:
    assert bool(path_regex(pattern).fullmatch(path)) is matches


@settings(max_examples=500)
@given(
    st.lists(st.sampled_from(["a", "b", "/", "?", "[ab]", "*", "**", "**/", "*a", "b/"]), max_size=9)
    .map("".join)
    .map(lambda pattern: pattern.lstrip("/") or "a"),
    st.text("aab/", max_size=12).map(lambda path: path.strip("/").replace("//", "/")),
)
def test_a_glob_matches_whatever_a_search_for_all_fits_finds(pattern: str, path: str) -> None:
    assert bool(path_regex(pattern).fullmatch(path)) is fits(
        pattern if "/" in pattern.rstrip("/") else f"**/{pattern}", path
    )


def fits(pattern: str, path: str) -> bool:
    """Whether a glob matches, found by trying each length of each wildcard."""
    pattern += "**" if pattern.endswith("/") else ""

    @cache
    def from_here(p: int, q: int) -> bool:
        rest, left = pattern[p:], path[q:]
        if not rest:
            return not left
        if rest.startswith("**/"):
            folder, slash, _ = left.partition("/")
            return from_here(p + 3, q) or (bool(folder and slash) and from_here(p, q + len(folder) + 1))
        if rest.startswith("**"):
            return any(from_here(p + 2, n) for n in range(q, len(path) + 1))
        if rest[0] == "*":
            end = q + len(left.partition("/")[0])
            return any(from_here(p + 1, n) for n in range(q, end + 1))
        if not left:
            return False
        if rest.startswith("[ab]"):
            return left[0] in "ab" and from_here(p + 4, q + 1)
        return (left[0] == rest[0] or (rest[0] == "?" and left[0] != "/")) and from_here(p + 1, q + 1)

    return from_here(0, 0)


@each_row("wild", ["**/", "*a", "**a", "*a/**/"])
def test_many_wildcards_in_a_glob_take_no_time(wild: str) -> None:
    assert path_regex("x/" + wild * 40 + "b").fullmatch("x/" + "a" * 80 + "/a" * 80) is None


FILES = [
    "app/[slug]/page.tsx",
    "app/s/page.tsx",
    "app/[slug]/x.ts",
    "{a,b}.py",
    "a.py",
    "b.py",
    "x[1].txt",
    "x1.txt",
    "l/page.tsx",
]


@each_row(
    ("pattern", "found"),
    [
        ("app/[slug]/page.tsx", ["app/[slug]/page.tsx"]),
        ("app/\\[slug\\]/page.tsx", ["app/[slug]/page.tsx"]),
        ("**/[slug]/*.{ts,tsx}", ["app/[slug]/page.tsx", "app/[slug]/x.ts"]),
        ("{a,b}.py", ["{a,b}.py"]),
        ("[ab].py", ["a.py", "b.py"]),
        ("x[1].txt", ["x[1].txt"]),
        ("x[12].txt", ["x1.txt"]),
        ("[slug]/page.tsx", ["l/page.tsx"]),
        ("[z-a]", []),
        ("\\{a,b\\}.py", ["{a,b}.py"]),
    ],
)
def test_brackets_and_braces_are_text_where_a_file_has_them(pattern: str, found: list[str]) -> None:
    assert matching(pattern, FILES) == found


@each_row(
    ("pattern", "path"),
    [
        ("app/[slug]/**", "app/[slug]/x"),
        ("app/[slug]/**", "app/s/x"),
        ("\\[slug\\]/x", "[slug]/x"),
        ("[!a]", "b"),
        ("[!a]", "[!a]"),
    ],
)
def test_some_reading_of_a_pattern_matches(pattern: str, path: str) -> None:
    assert matches_in_some_reading(pattern, path)
    assert not matches_in_some_reading(pattern, f"{path}/y/z.nothing") or pattern.endswith("**")


def test_braces_are_written_out_as_alternatives_and_as_text() -> None:
    assert written_out("a/{b,c/{d,e}}*") == ("a/b*", "a/c/d*", "a/c/e*", "a/c/\\{d,e}*", "a/\\{b,c/\\{d,e}}*")
    assert written_out("a{b") == ("a{b",) or written_out("a{b") == ("a\\{b",)
    assert written_out("{a,b}" * 9)[0] == "*" * 9


_COMPONENT = st.text("ab.*?[]{},\\!-", min_size=1, max_size=6)


@given(st.lists(_COMPONENT, max_size=4), st.text("ab.*[]{},-", min_size=1, max_size=5))
def test_components_match_together_what_one_of_them_matches(components: list[str], name: str) -> None:
    alone = any(matches_in_some_reading(f"./{each}", name) for each in components)
    assert any_component(components)(name) == alone
