"""Names that commands print, and the commands that xargs makes of them."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

from agentcli.permissions.paths import Workspace
from agentcli.permissions.shell.programs.listing import fed_lines, listed, placed
from agentcli.permissions.shell.syntax.parse import UNKNOWN
from agentcli.permissions.shell.syntax.values import BELOW, MOST
from tests.tables import each_row

HOME = Path("/home/me")
SHOP = Path("/home/me/shop")
WORKSPACE = Workspace(SHOP, (SHOP,), HOME)


def told(command: str, *fed: str) -> list[str] | None:
    found = listed(shlex.split(command), fed or None, [SHOP], WORKSPACE)
    return None if found is None else [name.replace(BELOW, "…").replace(UNKNOWN, "?") for name in found]


@each_row(
    ("command", "names"),
    [
        ("", []),
        ("echo a b", ["a", "b"]),
        ("echo -n a", ["a"]),
        ("echo", []),
        ("echo %s a", ["%s", "a"]),
        ("printf a", ["a"]),
        ("printf %s a b", ["a", "b"]),
        ("printf '%s\\n' a", ["a"]),
        ("printf '%s\\0' a", ["a"]),
        ("printf '%s ' a", ["a"]),
        ("printf %d a", None),
        ("printf x%s a", ["xa"]),
        ("printf '%s=%q%%\\n' a 1 b 2", ["a=1%", "b=2%"]),
        ("printf '%%%s\\x25s' a", ["%a%s"]),
        ("printf 'a%s\\n'", ["a"]),
        ("printf '%b' 'a\\nb'", ["a", "b"]),
        *(
            (f"printf {form}", None)
            for form in ("'%q'", "%d a", "%d 007", "'%b' 'a\\c'", "'a\\c'", "'\\u0041'", "'\\e'", "'%1$s' a", "'a%'")
        ),
        ("echo -e 'a\\tb' -n", ["a\tb", "-n"]),
        ("echo -e 'a\\cb'", None),
        ("echo find -delete", ["find", "-delete"]),
        ("printf %5s a", None),
        ("ls", [".", "./…"]),
        ("ls -la", [".", "./…"]),
        ("ls a b/", ["a", "a/…", "b/", "b/…"]),
        ("/bin/ls a", ["a", "a/…"]),
        ("find", ["./…"]),
        ("find . -name x", ["./…"]),
        ("find a b/ -name x", ["a/…", "b/…"]),
        ("find -L a", ["a/…"]),
        ("find a ( -name x )", ["a/…"]),
        ("find a ! -name x", ["a/…"]),
        ("find -name x a", ["./…"]),
        ("fd x", ["./…"]),
        ("fd x a b", ["a/…", "b/…"]),
        ("fdfind x a", ["a/…"]),
        ("pwd", ["/home/me/shop"]),
        ("mktemp", [f"{tempfile.gettempdir()}/tmp.XXXXXXXXXX"]),
        ("mktemp -d", [f"{tempfile.gettempdir()}/tmp.XXXXXXXXXX"]),
        ("mktemp -p /x", ["/x/tmp.XXXXXXXXXX"]),
        ("mktemp -p x y.XXX", ["x/tmp.XXXXXXXXXX"]),
        ("mktemp -d -p /x", ["/x/tmp.XXXXXXXXXX"]),
        ("mktemp /x/y.XXX", ["/x/y.XXX"]),
        ("mktemp y.XXX", [f"{tempfile.gettempdir()}/tmp.XXXXXXXXXX"]),
        ("dirname a/b", ["a"]),
        ("dirname a", ["."]),
        ("dirname a/b c/d", ["a", "c"]),
        (f"dirname a/{UNKNOWN}", ["?"]),
        ("basename a/b", ["b"]),
        ("basename a/b/", ["b"]),
        ("basename /", ["/"]),
        ("basename a/b.c .c", ["b.c"]),
        ("realpath a", ["a"]),
        ("readlink -f a", ["a"]),
        ("whoami", ["x…"]),
        ("date", ["x…"]),
        ("date +%s", ["4711"]),
        ("wc -l", ["4711"]),
        ("wc -l x", ["x…"]),
        ("id -u", ["4711"]),
        ("grep -c x a", ["4711"]),
        ("grep -rc x a", None),
        ("grep -c x a b", None),
        ("grep -c x '*.py'", None),
        ("grep x a", None),
        ("cd a", []),
        ("true", []),
        ("make", None),
        ("cat a", None),
        ("rg -l x", ["./…"]),
        ("rg -l x a b/", ["a/…", "b/…"]),
        ("grep -rl x a", ["a/…"]),
        ("grep x a", None),
        ("rg --files", ["./…"]),
        ("rg --files a", ["a/…"]),
        ("rg --files-with-matches x", None),
        ("rg --multiline x", None),
        ("git rev-parse --show-toplevel", ["/home/me/shop"]),
        ("git rev-parse HEAD", ["x…"]),
        ("git branch", ["x…"]),
        ("git ls-files", ["./…"]),
        ("git ls-files a", ["./…"]),
        ("git ls-files ../a", ["./…", "../a"]),
        ("git diff --name-only /a ~/b", ["./…", "/a", "~/b"]),
        ("git stash list", None),
        ("git", None),
    ],
)
def test_a_command_prints_the_names_that_it_is_known_to_list(command: str, names: list[str] | None) -> None:
    assert told(command) == names


@each_row(
    ("command", "passes"),
    [
        ("cat", True),
        ("cat x", False),
        ("sort -u", True),
        ("cut -d/ -f1", True),
        ("head", True),
        ("head -n 3", True),
        ("head -n 3 x", False),
        ("grep x", True),
        ("grep x y", False),
        ("tee x", True),
        ("tee x y", False),
        ("awk '{print $1}'", True),
        ("awk '{ print $NF }'", True),
        ("awk '{print $1 $2}'", False),
        ("awk '{print $1}' x", False),
        ("tr '\\n' ' '", True),
        ("tr a b", False),
        ("sed s/a/b/", False),
        ("make", False),
    ],
)
def test_a_filter_passes_on_the_names_that_it_is_fed(command: str, passes: bool) -> None:
    assert told(command, "a", "b") == (["a", "b"] if passes else None)
    assert told(command) is None


@each_row(
    ("before", "command", "number"),
    [
        ("grep -n x a", "cut -d: -f1", True),
        ("grep -nF x a", "cut -d : -f1", True),
        ("grep -n x a", "cut -d: -f2", False),
        ("grep -n x a", "cut -d: -f1-", False),
        ("grep -n x a", "cat", False),
        ("grep -n x a b", "cut -d: -f1", False),
        ("grep -Hn x a", "cut -d: -f1", False),
        ("grep -n -A1 x a", "cut -d: -f1", False),
        ("grep -n x '[a]'", "cut -d: -f1", False),
    ],
)
def test_the_number_of_a_line_is_known_as_one(before: str, command: str, number: bool) -> None:
    lines = listed(shlex.split(before), None, [SHOP], WORKSPACE)
    assert (listed(shlex.split(command), lines, [SHOP], WORKSPACE) == ("4711",)) == number


def test_the_top_of_a_repository_is_looked_for_above_each_folder(tmp_path: Path) -> None:
    (tmp_path / "a/.git").mkdir(parents=True)
    folders = [tmp_path / "a/b/c", tmp_path / "a", tmp_path]
    found = listed(["git", "rev-parse", "--show-toplevel"], None, folders, WORKSPACE)
    assert found == (str(tmp_path / "a"), str(tmp_path / "a"), str(tmp_path))


@each_row(
    ("words", "inner", "fed", "lines"),
    [
        ("xargs", "rm", ("a",), ["rm a"]),
        ("xargs", "rm -f", ("a", "b"), ["rm -f a", "rm -f b", "rm -f a b"]),
        ("xargs", "rm", (), ["rm ?"]),
        ("xargs -I{}", "mv {} x", ("a", "b"), ["mv a x", "mv b x"]),
        ("xargs -I %", "mv % x%", ("a",), ["mv a xa"]),
        ("xargs --replace %", "mv % x", ("a",), ["mv a x"]),
        ("xargs -I%", "rm {}", ("a",), ["rm a"]),
        ("xargs -I", "rm %", ("a",), ["rm % a"]),
        ("xargs -a list", "rm", ("a",), ["rm ?"]),
        ("xargs --arg-file=list", "rm", ("a",), ["rm ?"]),
        ("parallel", "rm ::: a b", ("c",), ["rm a", "rm b", "rm a b"]),
        ("parallel", "mv {} x ::: a ::: b", (), ["mv a x", "mv b x"]),
        ("parallel", "rm :::", (), ["rm ?"]),
        ("parallel ::::", "rm", ("a",), ["rm ?"]),
    ],
)
def test_a_command_is_made_of_each_name_and_of_all(
    words: str, inner: str, fed: tuple[str, ...], lines: list[str]
) -> None:
    found = fed_lines(words.split(), inner.split(), fed or None)
    assert [" ".join(line).replace(UNKNOWN, "?") for line in found] == lines


def test_no_more_lines_are_made_than_can_be_followed() -> None:
    names = tuple(map(str, range(MOST + 5)))
    assert len(list(fed_lines(["xargs"], ["rm"], names))) == MOST + 1
    assert len(list(fed_lines(["xargs", "-I{}"], ["rm", "{}"], names))) == MOST


@each_row(
    ("word", "path"),
    [
        ("a", "/home/me/shop/a"),
        ("../a", "/home/me/a"),
        ("/a/../b", "/b"),
        ("~", "/home/me"),
        ("~/a", "/home/me/a"),
        ("~+/a", "/home/me/shop/a"),
        ("~nobody-here/a", "/home/me/shop/~nobody-here/a"),
        ("a~", "/home/me/shop/a~"),
    ],
)
def test_a_word_names_a_path_as_the_shell_reads_it(word: str, path: str) -> None:
    assert placed(word, SHOP, WORKSPACE) == Path(path)
