"""What bash runs is what was understood: the strict reader is held to the real shell."""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from agentcli.permissions.shell.syntax.parse import PLACE, UNKNOWN, Part, assigned_words, contents, parse, told_only
from agentcli.permissions.shell.syntax.strict import NotPlain, read_plain
from tests.permissions.corpus import commands
from tests.tables import each_row

SAFE = commands("safe.txt") + commands("everyday.txt")
BASH = shutil.which("bash") or "/bin/bash"
FRAGMENTS = (
    "; rm x", "$(rm x)", "`rm x`", " > out", "| sh", "\nrm x", " & rm x", "<(rm x)", "'", '"', "\\", "\\\n", "$x", "${x}", "*", "?", "[a]",
    "{a,b}", "~", "#", " # x", "!", "%", "^", "=", "(", ")", "{", "}", "&&", "||", "|", ";", "\n", "\t", " ", "''", '""', "\\ ", "\\'", '\\"',
    "2>/dev/null", " >/dev/null", " 2>&1", "&>/dev/null", "@{u}", "a=b", "$'x'", '$"x"', "é", "-", "--", "1", "<<x", "<<<x", "$((1))", "!!", "$",
    "$ ", '"$"', "\\$", "\\`", "if", " do ", "[", "]", "[[", ",", ":", "+", "@(a|b)", "\\\\", "0", "9>&1", ">&2", " < /dev/null",
)  # fmt: skip


def run_with_fakes(line: str, folder: Path) -> set[tuple[str, ...]]:
    """The argument lists that bash hands to programs, none of which is real; builtins are switched off."""
    log = folder / "log"
    log.write_bytes(b"")
    names = "echo printf test true false pwd type command cd kill"
    env = {"PATH": str(folder / "bin"), "LOG": str(log), "LC_ALL": "C.UTF-8"}
    script = f"command_not_found_handle() {{ /usr/bin/printf '%s\\1' \"$@\" $'\\2' >>$LOG; }}\nenable -n {names}\n"
    subprocess.run(
        [BASH, "--noprofile", "--norc", "-c", script + line],
        cwd=folder / "empty", env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False,
    )  # fmt: skip
    records = log.read_bytes().decode("utf-8", "surrogateescape").split("\2\1")
    return {tuple(record.split("\1")[:-1]) for record in records if record}


def hold_to_bash(line: str, folder: Path) -> bool:
    """Whether the line was plain; if so, nothing ran that was not understood, and nothing was written."""
    read = read_plain(line)
    if isinstance(read, NotPlain):
        return False
    ran = run_with_fakes(line, folder)
    understood = {
        tuple(word.replace(PLACE, value) for word in command.words)
        for command in read
        for value in (command.loop.words if command.loop else ("",))
    }
    assert ran <= understood, (line, ran, read)
    assert os.listdir(folder / "empty") == [], line
    return True


def mutated(dice: random.Random, line: str) -> str:
    for _ in range(dice.randint(1, 3)):
        place = dice.randint(0, len(line))
        if dice.random() < 0.75:
            line = line[:place] + dice.choice(FRAGMENTS) + line[place:]
        else:
            line = line[:place] + line[place + dice.randint(1, 3) :]
    return line


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / "empty").mkdir()
    return tmp_path


def hold_all(count: int, seed: int, folder: Path) -> int:
    dice = random.Random(seed)
    safe = [line for line in SAFE if line.strip() and "log.txt" not in line]
    return sum(hold_to_bash(mutated(dice, dice.choice(safe)), folder) for _ in range(count))


def test_bash_runs_what_was_understood_of_mutated_lines(folder: Path) -> None:
    assert hold_all(200, seed=3, folder=folder) > 20


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_bash_runs_what_was_understood_of_many_mutated_lines(folder: Path) -> None:
    assert hold_all(8_000, seed=5, folder=folder) > 800


def test_bash_runs_the_first_command_of_a_safe_line(folder: Path) -> None:
    for line in ("ls -la | head", "echo 'a b' && ls", "cd src; ls", "git log --format='%h %s'"):
        read = read_plain(line)
        assert not isinstance(read, NotPlain)
        assert read[0].words in run_with_fakes(line, folder)


def test_bash_reads_safe_commands_as_we_do(folder: Path) -> None:
    for line in SAFE[::12]:
        assert hold_to_bash(line, folder), line


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_bash_reads_all_safe_commands_as_we_do(folder: Path) -> None:
    for line in SAFE:
        read = read_plain(line)
        if not (isinstance(read, NotPlain) and "sets a variable" in read.why):  # another reading knows harmless ones
            assert hold_to_bash(line, folder), line


def test_words_are_decoded_as_bash_does() -> None:
    read = read_plain(r"""grep 'a b' "c\"d" e\ f g"h"'i' "j\k" -- x=y""")
    assert not isinstance(read, NotPlain)
    assert read[0].words == ("grep", "a b", 'c"d', "e f", "ghi", r"j\k", "--", "x=y")


@each_row(
    ("line", "reason"),
    [
        ("l* x", "wildcard"),
        ("[ -f *.py ]", "wildcard"),
        ("for f in *; do ls $f; done", "variables"),
        ("for PATH in x; do ls; done", "loop"),
        ("while ls; do ls; done", "loop"),
        ("ls $x", "variables"),
        ("ls `x`", "variables"),
        ("ls > x", "redirects output"),
        ("ls &", "background"),
        ("(ls)", "subshell"),
        ("a=1 ls", "sets a variable"),
        ("ls \u202e", "invisible"),
    ],
)
def test_the_reason_why_a_line_is_not_plain_is_told(line: str, reason: str) -> None:
    read = read_plain(line)
    assert isinstance(read, NotPlain)
    assert reason in read.why


def test_every_nested_command_is_found() -> None:
    found = parse(
        "a $(b `c`) <(d); if e; then f & fi; g() { h; }; for i in $(j); do k; done; case x in y) l;; esac; ! m | n"
    )
    names = {part.words[0].text for part in found.parts if part.words}
    assert names == set("abcdefhjklmn")
    assert found.whole


def test_redirections_are_found_wherever_they_stand() -> None:
    parts = parse("a > b; > c; d 2>> e < f; { g; } > h; (i) >| j").parts
    assert {piece.text for part in parts for piece in part.writes} == {"b", "c", "e", "h", "j"}
    assert {piece.text for part in parts for piece in part.reads} == {"f"}


@each_row(
    ("line", "writes"),
    [
        ("cd a && ls > ../x", [[], ["../x"]]),
        ("a && b | c > x", [[], [], ["x"]]),
        ("a > x && b && c > y", [["x"], [], ["y"]]),
        ("cat <<E > x\ntext\nE", [["x"]]),
        ("cd a && cat <<E > x\ntext\nE", [[], ["x"]]),
        ("a > x <<E && b > y\ntext\nE", [["x"], ["y"]]),
    ],
)
def test_a_redirection_belongs_to_its_own_command(line: str, writes: list[list[str]]) -> None:
    assert [[piece.text for piece in part.writes] for part in parse(line).parts] == writes


@each_row(
    ("line", "words"),
    [
        ("a | b | c\nrm x > y", ["a", "b", "c", "rm x"]),
        ("a 2>&1 | b | c -1\nV=1 rm x 2>&1", ["a", "b", "c -1", "rm x"]),
        ("a | b | c # d\nrm x < y", ["a", "b", "c", "rm x"]),
        ("a | b | c '<<'\n\nrm x > y", ["a", "b", "c <<", "rm x"]),
        ("a | b | c &> d\nrm x > y", ["a", "b", "c", "rm x"]),
        ("a | b | c\n> y", ["a", "b", "c"]),
        ("a | b | c\ncd d && rm x > y", ["a", "b", "c", "cd d", "rm x"]),
        ("if a | b | c\nrm x > y; then d; fi", ["a", "b", "c", "rm x", "d"]),
        ("a | b | c\ncat <<E > y\nd\nE\nrm x", ["a", "b", "c", "cat", "rm x"]),
        ("a | b | c \\\n-1 > y", ["a", "b", "c -1"]),
    ],
)
def test_the_line_after_a_pipeline_is_another_command(line: str, words: list[str]) -> None:
    assert [" ".join(part.texts) for part in parse(line).parts if part.words] == words


@each_row(
    ("line", "last"),
    [
        ("git commit -F - <<'E'\na\nE", "-"),
        ("cd a && git commit -F - <<'E' 2>&1 | tail\na\nE", "-"),
        ("git commit -F - > x <<'E'\na\nE", "-"),
        ("git commit -F a <<'E'\na\nE", "a"),
        ("git commit -F <<'E' - a\na\nE", "a"),
    ],
)
def test_a_dash_before_a_here_document_is_a_word(line: str, last: str) -> None:
    (commit,) = (part for part in parse(line).parts if part.words[0].text == "git")
    assert commit.words[-1].text == last


@each_row(
    ("line", "words"),
    [
        ('B="/a b/c"; "$B" x', ["/a b/c"]),
        ('cd x && B="/a b" && cat "${B}/c"', ["/a b"]),
        ('B="/a b"; $B x', ["/a", "b"]),
        ('B="/a b"; "$B"; ls $B', ["/a", "b"]),
        ("export B='/a b'; sh -c 'ls $B'", ["/a", "b"]),
        ("PAGER='cat /b' git log", ["cat", "/b"]),
        ('B="/a b"; sh -c "cat $B"', ["/a", "b"]),
        ('B="/a b"; eval "cat $B"', ["/a", "b"]),
        ('B="/a b"; xargs cat <<< "$B"', ["/a", "b"]),
        ('for b in "/a b"; do ls "$b"; done', ["/a", "b"]),
    ],
)
def test_a_quoted_value_is_one_word_where_no_shell_divides_it(line: str, words: list[str]) -> None:
    assert list(assigned_words(line)) == words


def test_the_lines_of_a_quoted_text_stay_apart() -> None:
    (part,) = parse('bash -c "echo a\n\nrm $X\nb\n"').parts
    assert part.words[-1].text == f"echo a\n\nrm {UNKNOWN}\nb\n"
    (part,) = parse('grep "foo$" a.txt').parts
    assert part.words[1].text == "foo"


def test_the_commands_of_a_word_are_found_in_the_same_order_in_every_process() -> None:
    parts, _ = contents("alias a='rm -rf x' b='ls -l'")
    found = [" ".join(piece.text for piece in part.words) for part in parts]
    assert found == ["alias a=rm -rf x b=ls -l", "-rf x", "rm -rf x", "-l", "ls -l"]


def test_each_command_of_a_pipe_is_judged_once() -> None:
    judged: list[str] = []

    def reads(part: Part) -> bool:
        judged.append(part.texts[0])
        return True

    names = [f"a{number}" for number in range(50)]
    assert len(told_only("|".join(names), reads)) == 50
    assert judged == names


@each_row(
    ("line", "known"),
    [
        *((line, False) for line in ("bash", "timeout 3 bash", "env -i A=1 bash -s", "sudo -u me sh", "nice busybox sh", "exec sh -")),
        *((f"echo 'a b' | bash {words}", False) for words in ("-eo pipefail", "+O extglob", "--rcfile x", "-es x", "+x", "-e /dev/fd/0")),
        *((line, True) for line in ("bash - x.sh", "bash -cs ls", "bash -o pipefail x.sh")),
        *((line, True) for line in ("mise activate bash", "direnv hook bash", "env bash x.sh", "xargs bash", "find . -exec sh {} +", "timeout 3 bash -c ls")),
    ],
)  # fmt: skip
def test_a_shell_reads_its_commands_from_input_also_behind_wrappers_that_pass_it_on(line: str, known: bool) -> None:
    assert contents(line)[1] is known
