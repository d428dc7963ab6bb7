"""Lines with their constants written out: what is judged instead of variables, and of texts as input."""

import pytest

from agentcli.permissions.shell.syntax.written_out import written_out


def judged(text: str) -> str:
    return written_out(text, {"EXPORTED"}, "/home/me", tmp=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("S=/tmp/x\ncp a $S/b", "cp a /tmp/x/b"),
        ("S=/tmp/x; T=$S/y; ls ${T}", " ls /tmp/x/y"),
        ("set -e; S=src && ls $S", " ls src"),
        ("S=/tmp/x\nawk '/a/' a > $S/b\ngrep -c '^b' $S/b", "awk '/a/' a > /tmp/x/b\ngrep -c '^b' /tmp/x/b"),
        ('B="/opt/a b/c"; "$B" -x "${B}d"', ' "/opt/a b/c" -x "/opt/a b/cd"'),
        ("S=src; T=${S}/x; ls $T", " ls src/x"),
        ("S=a; rm '$S' $S", "S=a; rm '$S' a"),
        ("S=a\ngit commit -m 'the S of x'\nls $S", "git commit -m 'the S of x'\nls a"),
        ("EXPORTED=1; ls $EXPORTED", "EXPORTED=1; ls 1"),
        ("d=$(mktemp -d); rm -rf $d", "d=$(mktemp -d); rm -rf /tmp/agentcli-made-d"),
        ("cd src\nS=/tmp/x\nrm -rf $S/m", "cd src\nrm -rf /tmp/x/m"),
        ("cd 'a b'; S=x; rm $S", "cd 'a b'; rm x"),
        ("cd /usr && S=x; rm $S", "cd /usr && rm x"),
        ('cd "/usr/lib" && S=x; rm $S', 'cd "/usr/lib" && rm x'),
        ("cd ~/shop && ls", "cd /home/me/shop && ls"),
        ("git commit -F - <<'EOF' && ls\nan 'open quote\nEOF\nls", "git commit -F - </dev/null && ls\nls"),
        ('cat <<"EOF" | grep x\n$(rm a)\nEOF\n', "cat </dev/null | grep x\n"),
    ],
)
def test_constants_are_written_out(text: str, expected: str) -> None:
    assert judged(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "S=a; S=b; ls $S",
        "S=a; read S; rm $S",
        "S=a; read S<<<b; rm $S",
        "S=a; read \\S; rm $S",
        "S=a; (read S&&rm $S)",
        "S=a; x=$(cat b); read $x; rm $S",
        "S=a; printf -vS b; rm $S",
        "S=a; eval 'x; S=b'; rm $S",
        "S=a; $x 'x; S=b'; rm $S",
        "S=a; trap 'x; S=b' DEBUG; rm $S",
        "S=a; (( S++ )); rm $S",
        'S=a; ls "$(S=b; rm $S)"',
        'S="a b"; rm $S',
        "S=a T=b make; rm $T",
        "T=a; S='$T'; rm $S",
        "S=a; for S in /; do rm $S; done",
        "S=a; sh -c 'rm $S'",
        "S=a; ls ${S:-/}",
        "PATH=/tmp/x; ls $PATH",
        "false && S=a; rm $S/b",
        "cd src && S=a; rm $S/b",
        "cd /none/such && S=a; rm $S/b",
        "cd $X\nS=a; rm $S/b",
        "cd x || S=a; rm $S/b",
        "cd x & S=a; rm $S/b",
        "cd -; S=a; rm $S/b",
        "cd x\nS=a; S=b; rm $S",
        "S=$(cat a); rm $S",
        "cat <<EOF\n$(rm a)\nEOF",
        "python3 - <<'EOF'\nimport os\nEOF",
        "sh <<'EOF'\nrm a\nEOF",
        'echo "<<\'EOF\'\nx"; rm a; echo "\nEOF\n"',
        "cat <<'EOF'\nno end",
    ],
)
def test_what_may_change_or_run_stays(text: str) -> None:
    assert judged(text) == text
