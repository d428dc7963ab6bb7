"""What a command does to files, as far as its words are certain."""

from __future__ import annotations

import pytest

from agentcli.context.ledger.shell_effects import effects
from tests.tables import each_row


def told(command: str) -> list[str]:
    return [f"{effect.kind} {effect.path}" for effect in effects(command)]


@each_row(
    ("command", "expected"),
    [
        ("", []),
        ("ls a", []),
        ("rm a b", ["deleted a", "deleted b"]),
        ("rm -rf a", ["deleted a"]),
        ("sudo rm a", ["deleted a"]),
        ("unlink a", ["deleted a"]),
        ("rmdir a", ["deleted a"]),
        ("git rm a", ["deleted a"]),
        ("git mv a b", ["deleted a", "created b"]),
        ("git add a", []),
        ("mv a b", ["deleted a", "created b"]),
        ("mv x/a b/", ["deleted x/a", "created b/a"]),
        ("mv -f a b", ["deleted a", "created b"]),
        ("mv a b c", []),
        ("mv a", []),
        ("cp a b", ["created b"]),
        ("cp -r x/a b/", ["created b/a"]),
        ("cp a b c", []),
        ("touch a b", ["created a", "created b"]),
        ("tee a", ["created a"]),
        ("tee -a a", ["modified a"]),
        ("cat a b", ["read a", "read b"]),
        ("less a", ["read a"]),
        ("head -n 5 a", ["read a"]),
        ("tail -5 a", ["read a"]),
        ("head 5", []),
        ("cat *", []),
        ("cat a? [b] $x {c,d} `e` .", []),
        ("cat ..", []),
        ("cat ../a", ["read ../a"]),
        ("cat 'a b'", ["read a b"]),
        ("cat 'a", []),
        ("cd x && rm a", ["deleted x/a"]),
        ("cd x; cd y; rm a", ["deleted x/y/a"]),
        ("cd x && rm ../a /b", ["deleted a", "deleted /b"]),
        ("cd && rm a", ["deleted a"]),
        ("rm a && cd x", ["deleted a"]),
        ("(rm a) & rm b | rm c || rm d", ["deleted a", "deleted b", "deleted c", "deleted d"]),
        ("rm a\nrm b", ["deleted a", "deleted b"]),
        ("echo x > a", ["created a"]),
        ("echo x >> a", ["modified a"]),
        ("echo x >| a", ["created a"]),
        ("make &> a", ["created a"]),
        ("make 2> a", ["created a"]),
        ("make 1>a 2>&1", ["created a"]),
        ("make > /dev/null", []),
        ("make 2>&1", []),
        ("cat < a", []),
        ("cat <<< a", []),
        ("> a", ["created a"]),
        ("echo >", []),
        ("cd x && echo > a", ["created x/a"]),
        ("echo > *", []),
        ("cat a > b", ["created b", "read a"]),
        ("cat > a <<'E'\nrm b\nE\nrm c", ["created a", "deleted c"]),
        ("cat <<-E > a\n\trm b\n\tE", ["created a"]),
        ("sed -i s/a/b/ f", ["modified f"]),
        ("sed -i s/a/b/ f g", ["modified f", "modified g"]),
        ("sed -i -e s/a/b/ f", ["modified f"]),
        ("sed -i -n -e s/a/b/ -e p f", ["modified f"]),
        ("sed -ne p -i f", ["modified f"]),
        ("sed -i -es/a/b/ f", ["modified f"]),
        ("sed -i --expression=p f", ["modified f"]),
        ("sed -i --expression p f", ["modified f"]),
        ("sed -i --file s.sed f", ["modified f"]),
        ("sed -i '' s/a/b/ f", ["modified f"]),
        ("sed -i .bak s/a/b/ f", ["modified f"]),
        ("sed -i.bak s/a/b/ f", ["modified f"]),
        ("sed -E -i '~' s/a/b/ f", ["modified f"]),
        ("sed -i s/a/b/", []),
        ("sed s/a/b/ f", []),
        ("sed -n p f", []),
    ],
)
def test_a_command_does_to_files_what_its_words_say(command: str, expected: list[str]) -> None:
    assert told(command) == expected


@pytest.mark.parametrize(("length", "known"), [(20_000, True), (20_001, False)])
def test_a_command_that_is_very_long_is_not_read(length: int, known: bool) -> None:
    assert bool(told("rm a;".ljust(length))) is known
