"""Commands that a line would run, as far as its words can be known without running it."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.permissions.paths import Workspace
from agentcli.permissions.shell.flow import Run, runs_of
from agentcli.permissions.shell.parse import UNKNOWN
from agentcli.permissions.shell.values import BELOW

SHOP = Path("/nowhere/shop")
WORKSPACE = Workspace(SHOP, (SHOP,), SHOP.parent, env={"OUT": "build"})


def told(run: Run) -> str:
    """Return a run as `program that starts it: words in folders > files written < script with variables`."""
    text = "/".join(run.behind) + ": " if run.behind else ""
    text += " ".join(word or "''" for word in run.words)
    if run.folders != (SHOP,):
        text += " in " + " or ".join(str(folder).replace("/nowhere", "~") for folder in run.folders)
    text += "".join(f" > {file}" for file in run.writes)
    text += f" < {run.script!r}" if run.script else ""
    text += "".join(f" with {name}={value}" for name, value in run.env.items())
    return text.replace(BELOW, "*any*").replace(UNKNOWN, "*unknown*")


def followed(text: str, workspace: Workspace = WORKSPACE) -> list[str]:
    runs = runs_of(text, workspace)
    assert runs is not None
    return list(map(told, runs))


FOLLOWED = {
    'f() { rm "$1" "$2"; }; f a b': ["rm a b"],
    'f() { rm "$@"; }; f a b': ["rm a", "rm b"],
    'f() { rm "$*"; }; f': ["rm ''"],
    'function f { g x; }; g() { rm "$1"; }; f': ["rm x"],
    "f() { f; rm x; }; f": ["rm x"],
    "f() { cd sub; }; f; rm x": ["cd sub", "rm x in ~/shop/sub or ~/shop"],
    "f() { rm x; }": [],
    "x=a; rm $x; x=b; rm $x": ["rm a", "rm b"],
    "x+=a; rm $x": ["rm *unknown*"],
    'x=; rm "$x"y': ["rm y"],
    "x=$(rm y); ls": ["rm y", "ls"],
    "X=a Y=$OUT make": ["make with X=a with Y=build"],
    "if true; then x=a; else x=b; fi; rm $x": ["true", "rm a", "rm b"],
    "for f in a b; do rm $f; done; rm $f": ["rm a", "rm b", "rm a", "rm b"],
    "for f; do rm $f; done": ["rm *unknown*"],
    "for f in $(rm y); do ls; done": ["rm y", "ls"],
    "while read -r f; do rm $f; done": ["read -r f", "rm *unknown*"],
    "ls sub | while read f; do rm $f; done": ["ls sub", "read f", "rm sub", "rm sub/*any*"],
    "echo a b | xargs rm": ["echo a b", "xargs rm", "xargs: rm a", "xargs: rm b", "xargs: rm a b"],
    "echo a b | sort | xargs rm": ["echo a b", "sort", "xargs rm", "xargs: rm a", "xargs: rm b", "xargs: rm a b"],
    "echo a | sh": ["echo a", "sh", "a"],
    "echo 'rm x' | sh -e": ["echo rm x", "sh -e", "sh: -e", "rm x"],
    "echo 'rm x' | sh run.sh": ["echo rm x", "sh run.sh", "sh: run.sh"],
    "sh <<< 'rm x'": ["sh", "rm x", "rm x"],
    "sh -s <<EOF\nrm x\nEOF": ["sh -s", "sh: -s", "rm", "x", "rm x"],
    "cat <<EOF | sh\nrm x\nEOF": ["cat", "sh", "rm", "x", "rm x"],
    "cat <<EOF > out.txt && rm y\na\nEOF": ["cat", "rm y"],
    "python <<EOF\nprint(1)\nEOF": ["python < 'print(1)\\n'"],
    "cat <<EOF\na b\nEOF": ["cat"],
    "source /dev/stdin <<< 'rm x'": ["source /dev/stdin", "source: stdin", "rm x"],
    "source run.sh <<< 'rm x'": ["source run.sh < 'rm x'", "source: run.sh"],
    "bash < <(echo rm x)": ["bash", "rm", "x"],
    "source <(echo rm x)": ["echo rm x", "source /dev/fd/9", "source: 9", "rm x"],
    ". <(printf 'rm x')": ["printf rm x", ". /dev/fd/9", ".: 9", "rm x"],
    "cat <(rm x)": ["rm x", "cat /dev/fd/9"],
    "xargs rm < <(echo a b)": ["xargs rm", "xargs: rm a", "xargs: rm b", "xargs: rm a b"],
    "make -f - <<< 'a: ; rm x'": ["make -f -", "rm x"],
    "make -f - <<EOF\na:\n\trm x\nEOF": ["make -f", "a:", "rm x"],
    'eval "rm x"': ["eval rm x", "rm x"],
    "eval rm '$x'": ["eval rm $x", "rm ''"],
    "alias r='rm x'; r": ["alias r=rm x", "rm x", "r"],
    'read a b <<< "x y"; rm $a': ["read a b", "rm x y"],
    "read 1a; rm $a": ["read 1a", "rm ''"],
    'set -- a; rm "$@"': ["set -- a", "rm *unknown*"],
    "cd sub && rm x": ["cd sub", "rm x in ~/shop/sub"],
    "cd sub; rm x": ["cd sub", "rm x in ~/shop/sub or ~/shop"],
    "cd; rm x": ["cd", "rm x in ~ or ~/shop"],
    "cd -; rm x": ["cd -", "rm x in ~/shop or /"],
    "cd /tmp/a$(x); rm x": ["x", "cd /tmp/a*unknown*", "rm x in /tmp/ax"],
    "cd $(x) && rm x": ["x", "cd *unknown*", "rm x in ~/shop or /"],
    "pushd -n sub && rm x; popd; rm y": [
        "pushd -n sub",
        "rm x in ~/shop/sub",
        "popd in ~/shop/sub",
        "rm y in ~/shop/sub or /",
    ],
    "cd sub && rm $PWD": ["cd sub", "rm /nowhere/shop/sub in ~/shop/sub"],
    "(cd sub && rm x); rm y": ["cd sub", "rm x in ~/shop/sub", "rm y"],
    "cd a && cd b && rm x": ["cd a", "cd b in ~/shop/a", "rm x in ~/shop/a/b"],
    "sudo rm x": ["sudo rm x", "sudo: rm x"],
    "sudo env A=b nice rm x": [
        "sudo env A=b nice rm x",
        "sudo: env A=b nice rm x",
        "sudo: A=b nice rm x",
        "sudo: nice rm x",
        "sudo: rm x",
    ],
    "sh -c 'rm x'": ["sh -c rm x", "sh: -c rm x", "sh: rm x", "rm x"],
    'sh -c \'rm "$1" "$0"\' a b': [
        'sh -c rm "$1" "$0" a b',
        'sh: -c rm "$1" "$0" a b',
        'sh: rm "$1" "$0" a b',
        "sh: a b",
        "rm b a",
    ],
    "sh -c 'rm \"$@\"' a b c": [
        'sh -c rm "$@" a b c',
        'sh: -c rm "$@" a b c',
        'sh: rm "$@" a b c',
        "sh: a b c",
        "rm b",
        "rm c",
    ],
    "bash -c 'rm x; ls' ; rm y": ["bash -c rm x; ls", "bash: -c rm x; ls", "bash: rm x; ls", "rm x", "ls", "rm y"],
    "env -S 'rm x'": ["env -S rm x", "env: -S rm x", "rm x", "env: rm x", "rm x"],
    "env -S'rm x'": ["env -Srm x", "env: -Srm x", "-Srm x"],
    "timeout 5 sh -c 'rm x'": [
        "timeout 5 sh -c rm x",
        "timeout: 5 sh -c rm x",
        "timeout: sh -c rm x",
        "rm x",
        "timeout: -c rm x",
        "timeout: rm x",
    ],
    "trap 'rm x' EXIT": ["trap rm x EXIT", "trap: rm x EXIT", "rm x"],
    "watch 'rm x'": ["watch rm x", "watch: rm x", "rm x"],
    "ssh host 'rm x'": ["ssh host rm x", "ssh: host rm x", "ssh: rm x", "rm x"],
    "time sh -c 'rm x'": ["time sh -c rm x", "time: sh -c rm x", "rm x", "time: -c rm x", "time: rm x"],
    "echo 'rm x'": ["echo rm x"],
    "find . -exec rm {} +": ["find . -exec rm {} +", "find: rm ./*any*"],
    "find sub -name '*.py' -exec rm {} \\; -exec ls {} \\;": [
        "find sub -name *.py -exec rm {} ; -exec ls {} ;",
        "find: rm sub/*any*",
        "find: ls sub/*any*",
    ],
    "fd x sub -x rm": ["fd x sub -x rm", "fd: rm sub/*any*", "fd: rm rm/*any*"],
    "fd x -x rm {} y": ["fd x -x rm {} y", "fd: rm rm/*any* y", "fd: rm {}/*any* y", "fd: rm y/*any* y"],
    "find $x -exec rm {} \\;": ["find '' -exec rm {} ;", "find: rm /*any*"],
    "echo a | xargs -I{} sh -c 'rm {}'": [
        "echo a",
        "xargs -I{} sh -c rm {}",
        "xargs: -Ia sh -c rm a",
        "xargs: sh -c rm a",
        "sh: -c rm a",
        "sh: rm a",
        "rm a",
        "rm a",
        "xargs: -c rm a",
        "xargs: rm a",
    ],
    "parallel rm ::: a b": ["parallel rm ::: a b", "parallel: rm a", "parallel: rm b", "parallel: rm a b"],
    "echo a > out.txt": ["echo a > out.txt"],
    "{ ls; rm x; } > out.txt": ["ls", "rm x > out.txt"],
    "> out.txt": [" > out.txt"],
    "ls > a > b": ["ls > a > b"],
    "cat < in.txt": ["cat"],
    "ls 2>&1": ["ls > 1"],
    "ls &> out.txt": ["ls > out.txt"],
    'x=a ; y=$x ; rm "$y"': ["rm a"],
    "for a in 1 2 3 4 5; do for b in 1 2; do rm $a$b; done; done": [
        "rm 11",
        "rm 12",
        "rm 21",
        "rm 22",
        "rm 31",
        "rm 32",
        "rm 41",
        "rm 42",
        "rm 51",
        "rm 52",
    ],
    "case $x in a) rm a;; *) rm b;; esac": ["rm a", "rm b"],
    "rm x & ls": ["rm x", "ls"],
    "! rm x": ["rm x"],
    "while rm x; do ls; done": ["rm x", "ls"],
    "[[ -n $(rm x) ]] && ls": ["rm x", "[[ *unknown* ]]", "ls"],
    'echo "$(rm x)"': ["rm x", "echo *unknown*"],
    "local y=$(rm x)": ["rm x"],
    "export A=b; rm $A": ["rm b"],
    "declare -x A=b; rm $A": ["rm b"],
    "rm $(echo a b)": ["echo a b", "rm a", "rm b"],
    "rm $(ls sub | head -1)": ["ls sub", "head -1", "rm sub", "rm sub/*any*"],
    "rm $(cd sub; ls)": ["cd sub", "ls in ~/shop/sub or ~/shop", "rm *unknown*"],
    "rm $(pwd)/x": ["pwd", "rm /nowhere/shop/x"],
    "rm `echo a`": ["echo a", "rm a"],
    "rm $(echo $(echo $(echo $(echo $(echo $(echo $(echo $(echo a))))))))": [
        "echo a",
        "echo a",
        "echo a",
        "echo a",
        "echo a",
        "echo a",
        "echo a",
        "echo a",
        "rm a",
        "rm *unknown*",
    ],
    'arr=(a b); rm "${arr[@]}"': ["rm a", "rm b"],
    "rm {a,b}": ["rm a", "rm b"],
    "rm a*": ["rm a*"],
    "rm ~/x": ["rm ~/x"],
    'rm "$HOME/x"': ["rm /nowhere/x"],
    "rm $UNSET": ["rm ''"],
    "rm $(printf '%s\\n' a b)": ["printf %s\\n a b", "rm a", "rm b"],
    "rm $(printf a b)": ["printf a b", "rm a", "rm b"],
    "rm $(printf '%d' 3)": ["printf %d 3", "rm *unknown*"],
    "rm $(printf 'x%s' 3)": ["printf x%s 3", "rm *unknown*"],
    "rm $(echo -n a)": ["echo -n a", "rm a"],
    "rm $(ls)": ["ls", "rm .", "rm ./*any*"],
    "rm $(ls -a sub d)": ["ls -a sub d", "rm sub", "rm sub/*any*", "rm d", "rm d/*any*"],
    "rm $(find a/ b -name x)": ["find a/ b -name x", "rm a/*any*", "rm b/*any*"],
    "rm $(find)": ["find", "rm ./*any*"],
    "rm $(find -name x)": ["find -name x", "rm ./*any*"],
    "rm $(fd x)": ["fd x", "rm ./*any*"],
    "rm $(fd x a b)": ["fd x a b", "rm a/*any*", "rm b/*any*"],
    "rm $(git ls-files)": ["git ls-files", "rm ./*any*"],
    "rm $(git ls-files sub)": ["git ls-files sub", "rm ./*any*"],
    "rm $(git diff --name-only)": ["git diff --name-only", "rm ./*any*"],
    "rm $(git diff)": ["git diff", "rm ./*any*"],
    "rm $(git rev-parse --show-toplevel)": ["git rev-parse --show-toplevel", "rm /nowhere/shop"],
    "rm $(git rev-parse HEAD)": ["git rev-parse HEAD", "rm x*any*"],
    "rm $(git branch --show-current)": ["git branch --show-current", "rm x*any*"],
    "rm $(git status)": ["git status", "rm ./*any*"],
    "rm $(git)": ["git", "rm *unknown*"],
    "rm $(mktemp -p d)": ["mktemp -p d", "rm d/*any*"],
    "rm $(mktemp d/XX)": ["mktemp d/XX", "rm d/XX"],
    "rm $(dirname a/b x /)": ["dirname a/b x /", "rm a", "rm .", "rm /"],
    'rm $(dirname "$(x)/y")': ["x", "dirname *unknown*/y", "rm *unknown*"],
    "rm $(basename a/b/)": ["basename a/b/", "rm b"],
    "rm $(basename /)": ["basename /", "rm /"],
    "rm $(basename a/b.c .c)": ["basename a/b.c .c", "rm b.c"],
    "rm $(realpath x)": ["realpath x", "rm x"],
    "rm $(readlink -f x)": ["readlink -f x", "rm x"],
    "rm $(date +%s)": ["date +%s", "rm x*any*"],
    "rm $(wc -l x)": ["wc -l x", "rm x*any*"],
    "rm $(seq 3)": ["seq 3", "rm x*any*"],
    "rm $(cat x)": ["cat x", "rm *unknown*"],
    "rm $(rg -l x)": ["rg -l x", "rm ./*any*"],
    "rm $(rg -l x sub d)": ["rg -l x sub d", "rm sub/*any*", "rm d/*any*"],
    "rm $(rg x)": ["rg x", "rm *unknown*"],
    "rm $(rg --files)": ["rg --files", "rm ./*any*"],
    "rm $(rg --files sub)": ["rg --files sub", "rm sub/*any*"],
    "rm $(rg --files-with-matches x)": ["rg --files-with-matches x", "rm *unknown*"],
    "rm $(rg --color x)": ["rg --color x", "rm *unknown*"],
    "rm $(grep -rl x sub)": ["grep -rl x sub", "rm sub/*any*"],
    "rm $(grep -rn x sub)": ["grep -rn x sub", "rm *unknown*"],
    "rm $(ag -g x)": ["ag -g x", "rm *unknown*"],
    "rm $(ls a | sort -r)": ["ls a", "sort -r", "rm a", "rm a/*any*"],
    "rm $(ls a | sort b)": ["ls a", "sort b", "rm *unknown*"],
    "rm $(ls a | uniq)": ["ls a", "uniq", "rm a", "rm a/*any*"],
    "rm $(ls a | grep x)": ["ls a", "grep x", "rm a", "rm a/*any*"],
    "rm $(ls a | grep x y)": ["ls a", "grep x y", "rm *unknown*"],
    "rm $(ls a | head -n 3)": ["ls a", "head -n 3", "rm a", "rm a/*any*"],
    "rm $(ls a | tail -5)": ["ls a", "tail -5", "rm a", "rm a/*any*"],
    "rm $(ls a | tee log)": ["ls a", "tee log", "rm a", "rm a/*any*"],
    "rm $(ls a | cut -d/ -f1)": ["ls a", "cut -d/ -f1", "rm a", "rm a/*any*"],
    "rm $(ls a | awk '{print $1}')": ["ls a", "awk {print $1}", "rm a", "rm a/*any*"],
    "rm $(ls a | awk '{print $1}' x)": ["ls a", "awk {print $1} x", "rm *unknown*"],
    "rm $(ls a | sed s/a/b/)": ["ls a", "sed s/a/b/", "rm *unknown*"],
    "rm $(ls a | tr a b)": ["ls a", "tr a b", "rm *unknown*"],
    "rm $(ls a | tr -d x)": ["ls a", "tr -d x", "rm *unknown*"],
    "rm $(ls a | wc -l)": ["ls a", "wc -l", "rm x*any*"],
    "rm $(ls a | xargs dirname)": [
        "ls a",
        "xargs dirname",
        "xargs: dirname a",
        "xargs: dirname a/*any*",
        "xargs: dirname a a/*any*",
        "rm *unknown*",
    ],
    "rm $(ls a > b)": ["ls a > b", "rm a", "rm a/*any*"],
    "rm $(python x)": ["python x", "rm *unknown*"],
    "rm $(true)": ["true", "rm ''"],
    "rm $(which x)": ["which x", "rm *unknown*"],
    "echo a b | xargs -n 1 rm": [
        "echo a b",
        "xargs -n 1 rm",
        "xargs: -n 1 rm a",
        "xargs: -n 1 rm b",
        "xargs: -n 1 rm a b",
        "xargs: 1 rm a",
        "xargs: 1 rm b",
        "xargs: 1 rm a b",
        "xargs: rm a",
        "xargs: rm b",
        "xargs: rm a b",
    ],
    "echo a b c | xargs -n2 rm": [
        "echo a b c",
        "xargs -n2 rm",
        "xargs: -n2 rm a",
        "xargs: -n2 rm b",
        "xargs: -n2 rm c",
        "xargs: -n2 rm a b c",
        "xargs: rm a",
        "xargs: rm b",
        "xargs: rm c",
        "xargs: rm a b c",
    ],
    "echo a b | xargs -I{} rm {}/x": [
        "echo a b",
        "xargs -I{} rm {}/x",
        "xargs: -Ia rm a/x",
        "xargs: -Ib rm b/x",
        "xargs: rm a/x",
        "xargs: rm b/x",
        "xargs: x a",
        "xargs: x b",
        "xargs: x a b",
    ],
    "echo a | xargs -i rm {}": ["echo a", "xargs -i rm {}", "xargs: -i rm a", "xargs: rm a", "xargs: a"],
    "echo a | xargs -J % rm % x": [
        "echo a",
        "xargs -J % rm % x",
        "xargs: -J % rm % x a",
        "xargs: % rm % x a",
        "xargs: rm % x a",
    ],
    "echo a | xargs -0 -r rm -f": [
        "echo a",
        "xargs -0 -r rm -f",
        "xargs: -0 -r rm -f a",
        "xargs: -r rm -f a",
        "xargs: rm -f a",
        "xargs: -f a",
    ],
    "echo a | xargs": ["echo a", "xargs"],
    "x | xargs rm": ["x", "xargs rm", "xargs: rm *unknown*"],
    "ls | xargs -P 4 -L 1 rm": [
        "ls",
        "xargs -P 4 -L 1 rm",
        "xargs: -P 4 -L 1 rm .",
        "xargs: -P 4 -L 1 rm ./*any*",
        "xargs: -P 4 -L 1 rm . ./*any*",
        "xargs: 4 -L 1 rm .",
        "xargs: 4 -L 1 rm ./*any*",
        "xargs: 4 -L 1 rm . ./*any*",
        "xargs: -L 1 rm .",
        "xargs: -L 1 rm ./*any*",
        "xargs: -L 1 rm . ./*any*",
        "xargs: 1 rm .",
        "xargs: 1 rm ./*any*",
        "xargs: 1 rm . ./*any*",
        "xargs: rm .",
        "xargs: rm ./*any*",
        "xargs: rm . ./*any*",
    ],
    "parallel rm {} ::: a b": ["parallel rm {} ::: a b", "parallel: rm a", "parallel: rm b"],
    "ls sub | parallel rm": [
        "ls sub",
        "parallel rm",
        "parallel: rm sub",
        "parallel: rm sub/*any*",
        "parallel: rm sub sub/*any*",
    ],
    'rm "${x:-a}"': ["rm a"],
    'rm "${OUT:-a}"': ["rm build"],
    'rm "${OUT:+a}"': ["rm ''", "rm a"],
    'rm "${OUT#b}"': ["rm uild"],
    'rm "${OUT%d}"': ["rm buil"],
    'rm "${OUT##*/}"': ["rm build"],
    'rm "${OUT%%l*}"': ["rm bui"],
    'rm "${OUT/b/g}"': ["rm *unknown*"],
    'rm "${OUT:1}"': ["rm *unknown*"],
    'rm "${#OUT}"': ["rm 4711"],
    'rm "${!OUT}"': ["rm *unknown*"],
    'rm "${OUT:?}"': ["rm build"],
    'rm "${OUT:=a}"': ["rm build"],
    'rm "${NONE:=a}"': ["rm a"],
    'rm "${NONE-a}" "${NONE+b}" "${OUT-a}" "${OUT+b}"': [
        "rm a '' build ''",
        "rm a '' build b",
        "rm a b build ''",
        "rm a b build b",
    ],
    'x=a/b.c; rm "${x%.c}" "${x%/*}" "${x##*/}" "${x%%.*}"': ["rm a/b a b.c a/b"],
    'x=a/; rm "${x%/}"': ["rm a"],
    "rm $OUT/$OUT": ["rm build/build"],
    "rm '$OUT' \\$OUT": ["rm $OUT $OUT"],
    "rm $((1+2))": ["rm 4711"],
    "rm $'a\\tb'": ["rm a\tb"],
    "rm \"a\"'b'c": ["rm abc"],
    "rm $1": ["rm *unknown*"],
    "rm $?": ["rm 4711"],
    "rm $$": ["rm ''"],
    "rm {1..3}": ["rm *unknown*"],
    "rm a{b,c}d{e,f}": ["rm abde", "rm abdf", "rm acde", "rm acdf"],
    "rm ${arr[0]}": ["rm ''"],
    "f() { cd sub && rm $1; }; (f a); f b": ["cd sub", "rm a in ~/shop/sub", "cd sub", "rm b in ~/shop/sub"],
    "f() { local x=$1; rm $x; }; f a; f b": ["rm a", "rm b"],
    "x=a; f() { x=b; }; f; rm $x": ["rm b"],
    "x=a; (x=b); rm $x": ["rm a"],
    "x=a; x=b | ls; rm $x": ["ls", "rm a"],
    "x=a; { x=b; }; rm $x": ["rm b"],
    "true && x=a || x=b; rm $x": ["true", "rm a", "rm b"],
    "x=a; while true; do x=b; done; rm $x": ["true", "rm a", "rm b"],
    "x=a; case y in y) x=b;; z) x=c;; esac; rm $x": ["rm a", "rm b", "rm c"],
    "x=a; if true; then x=b; elif false; then x=c; fi; rm $x": ["true", "false", "rm a", "rm b", "rm c"],
    "cd a || cd b; rm x": [
        "cd a",
        "cd b in ~/shop/a or ~/shop",
        "rm x in ~/shop/a/b or ~/shop/b or ~/shop/a or ~/shop",
    ],
    "cd a; cd b; rm x": ["cd a", "cd b in ~/shop/a or ~/shop", "rm x in ~/shop/a/b or ~/shop/b or ~/shop/a or ~/shop"],
    "cd / && rm x": ["cd /", "rm x in /"],
    "cd .. && rm x": ["cd ..", "rm x in ~"],
    "cd ~/y && rm x": ["cd ~/y", "rm x in ~/y"],
    "cd a && ls > b; rm x": ["cd a", "ls in ~/shop/a > b", "rm x in ~/shop/a"],
    "cd a > log && rm x": ["cd a > log", "rm x in ~/shop/a"],
    "pushd a && popd && rm x": ["pushd a", "popd in ~/shop/a", "rm x in ~/shop/a or /"],
    "chdir a && rm x": ["chdir a", "rm x in ~/shop/a"],
    "cd a b && rm x": ["cd a b", "rm x in ~/shop/a"],
    "cd -P a && rm x": ["cd -P a", "rm x in ~/shop/a"],
}


@pytest.mark.parametrize("text", FOLLOWED)
def test_the_commands_of_a_line_are_known_with_their_words(text: str) -> None:
    assert followed(text) == FOLLOWED[text]


def test_a_file_of_mktemp_lies_in_the_folder_for_temporary_files() -> None:
    assert followed("rm $(mktemp)")[1] == f"rm {tempfile.gettempdir()}/*any*"


def test_a_sandbox_has_a_folder_for_temporary_files_though_no_variable_names_one() -> None:
    assert followed("rm $TMPDIR/x") == ["rm /x"]
    assert followed("rm $TMPDIR/x", replace(WORKSPACE, sandboxed=True)) == [f"rm {tempfile.gettempdir()}/x"]
    given = replace(WORKSPACE, sandboxed=True, env={"TMPDIR": "/mine"})
    assert followed("rm $TMPDIR/x", given) == ["rm /mine/x"]


def test_the_folder_of_a_repository_is_where_its_git_folder_lies(tmp_path: Path) -> None:
    (tmp_path / "shop/.git").mkdir(parents=True)
    (tmp_path / "shop/src").mkdir()
    inside = replace(WORKSPACE, cwd=tmp_path / "shop/src")
    assert f"rm {tmp_path / 'shop'}" in [
        " ".join(run.words) for run in runs_of("rm $(git rev-parse --show-toplevel)", inside) or ()
    ]


def test_a_folder_that_exists_is_entered_for_certain(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    here = replace(WORKSPACE, cwd=tmp_path)
    (_, removes) = runs_of("cd src; rm x", here) or ()
    assert removes.folders == (tmp_path / "src",)


@pytest.mark.parametrize(
    ("last", "too_deep"),
    [
        ("eval " * 7 + "ls", False),
        ("eval " * 8 + "ls", True),
        ("ls;" * 2_000, False),
        ("ls;" * 2_010, True),
        ("sudo " * 150 + "ls", False),
        ("sudo " * 210 + "ls", True),
    ],
)
def test_a_line_is_followed_up_to_a_depth_and_a_number_of_commands(last: str, too_deep: bool) -> None:
    assert (runs_of(last, WORKSPACE) is None) == too_deep
