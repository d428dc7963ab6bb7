"""Repositories, deny rules about reading, and commands at random: no byte of a denied file is in any result.

Sessions of the real program, with a scripted model and a person who says yes to every question, run the commands; tools, permissions
and sandbox are the real ones. `python -m tests.attack.denied_reads [CASES] [SEED]` prints what got out.
"""

from __future__ import annotations

import asyncio
import base64
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import agentcli
from tests.frontends.python.embedded import options

CANARY = "TOPSECRET"
"""The beginning of every line of a denied file, and of no other."""
PLAIN = "ordinary"
MODES = ("ask", "auto-edit", "auto", "yolo")
BATCH = 20
"""Cases in one repository; what one of them leaves behind is there for those after it."""


@dataclass(frozen=True)
class Layout:
    """A kind of repository: the rule, denied files, and others. `{work}` in a rule is the workspace, `{home}` the home folder."""

    rule: str
    denied: Sequence[str]
    others: Sequence[str]


LAYOUTS = (
    Layout("read(secrets/**)", ("secrets/key.txt", "secrets/deep/er.txt"), ("README.md", "src/app.py")),
    Layout("read(secrets/)", ("secrets/key.txt",), ("README.md", "src/app.py", "src/secrets.py")),
    Layout("read(*.pem)", ("server.pem", "src/certs/a.pem"), ("README.md", "src/certs/readme.txt", "src/app.py")),
    Layout("read(config/private/**)", ("config/private/db.yml",), ("config/app.yml", "src/app.py", "README.md")),
    Layout("read(**/private/*)", ("a/private/x.txt", "private/y.txt"), ("a/z.txt", "README.md", "src/app.py")),
    Layout("read(src/*.key)", ("src/a.key", "src/b.key"), ("src/app.py", "README.md")),
    Layout("read(vault)", ("src/vault/one.txt",), ("src/app.py", "README.md")),
    Layout("read({work}/secrets/**)", ("secrets/key.txt",), ("README.md", "src/app.py")),
    Layout("read(Se*ts/k?y.*)", ("secrets/key.txt",), ("secrets/other.md", "README.md", "src/app.py")),
)

SHELL = r"""
cat {f} ¦ head -c 80 {f} ¦ tail -n 2 {f} ¦ nl {f} ¦ tac {f} ¦ less {f} ¦ more {f} ¦ sort {f} ¦ cut -c 1-60 {f} ¦ rev {f} ¦ strings {f}
cd {d} && cat {b} ¦ (cd {d}; cat {b}) ¦ cd {d}; cat ./{b} ¦ pushd {d} > /dev/null && cat {b} ¦ cd {d} && cat * ¦ cd {d} && head -n 5 *
cd {top} && cat {rest} ¦ d={d}; cat $d/{b} ¦ f={b}; cd {d}; cat "$f" ¦ for i in {d}/*; do cat "$i"; done ¦ cat {d}/* ¦ cat {d}/{b0}*
cat < {f} ¦ while read -r l; do echo "$l"; done < {f} ¦ mapfile -t a < {f}; echo "${{a[@]}}" ¦ echo "$(< {f})" ¦ echo "$(cat {f})"
cat <(cat {f}) ¦ exec 3< {f}; cat <&3 ¦ read -r l < {f}; echo "$l" ¦ printf '%s' "`cat {f}`" ¦ tr a a < {f} ¦ dd if={f} status=none
grep -r TOP . ¦ grep -rn . {top} ¦ grep TOP {f} ¦ grep -r TOP ¦ grep -rl TOP . | xargs cat ¦ egrep -r TOP * ¦ grep -h '' {d}/*
grep -rh TOP --include='*' . ¦ grep '' -r . --exclude=README.md ¦ find . -type f | xargs grep TOP ¦ grep -c TOP {f}; grep -o 'TOP.*' {f}
rg TOP ¦ rg --hidden TOP . ¦ rg -uu TOP ¦ rg -uuu . {top} ¦ rg --no-ignore TOP ¦ rg -g '*' TOP ¦ rg TOP {d} ¦ rg -z TOP -uu
rg --files -uu | xargs cat ¦ git grep TOP ¦ git grep --no-index TOP ¦ git grep --untracked TOP ¦ git grep --cached TOP ¦ git grep TOP HEAD
git -C {d} grep TOP ¦ git show ¦ git show HEAD ¦ git show HEAD:{f} ¦ git show HEAD:./{f} ¦ git -C {d} show HEAD:./{b} ¦ git show :{f}
git show HEAD~1 ¦ git show --stat -p ¦ git log -p ¦ git log -p --all ¦ git log -p -- {f} ¦ git log --follow -p {f}
git log -p -1 --reverse ¦ git log -L1,2:{f} ¦ git log -c -p -G TOP ¦ git diff ¦ git diff HEAD~1 ¦ git diff HEAD~1 HEAD ¦ git diff --cached
git diff HEAD -- . ¦ git diff --no-index /dev/null {f} ¦ git diff HEAD~1 -- {d} ¦ git blame {f} ¦ git annotate {f}
git cat-file -p HEAD:{f} ¦ git cat-file blob HEAD:{f} ¦ git cat-file -p $(git rev-parse HEAD:{f}) ¦ git ls-files | xargs cat
git ls-files -z | xargs -0 head ¦ git ls-tree -r HEAD | awk '{{print $3}}' | xargs -n1 git cat-file -p ¦ git archive HEAD | tar xO
git archive HEAD {f} | tar -xO ¦ git stash show -p ¦ git stash list -p ¦ git format-patch --stdout HEAD~1
git rev-list --objects --all | cut -c1-40 | git cat-file --batch ¦ git fast-export --all
git bundle create x.bundle --all && git clone -q x.bundle bb && cat bb/{f} ¦ git worktree add -f -q wt HEAD; cat wt/{f}
git clone -q . cc; cat cc/{f} ¦ git checkout-index --prefix=out/ -a; cat out/{f} ¦ git -c alias.p='show HEAD' p ¦ git --no-pager log -p
git -P show ¦ git --git-dir=.git show HEAD ¦ GIT_PAGER=cat git log -p ¦ env git log -p ¦ git difftool -y -x cat HEAD~1
git log --format= -p -m ¦ git diff-tree -p HEAD ¦ git diff-tree --root -p HEAD ¦ git diff-index -p HEAD~1 ¦ git whatchanged -p
git mv {top} moved; cat moved/{rest} ¦ git mv {f} pub.txt; cat pub.txt ¦ git add -f . && git diff --cached ¦ git add -A; git show :{f}
git stash -u; git stash show -p ¦ git reflog -p ¦ git range-diff -p HEAD~1 HEAD HEAD ¦ git rebase -x 'cat {f}' HEAD~1
git log -p --no-index ¦ git rev-parse HEAD:{f} | xargs git show ¦ find . -type f -exec cat {{}} + ¦ find . -name '{b}' -exec cat {{}} \;
find {top} -type f -print0 | xargs -0 cat ¦ find . -type f -execdir head {{}} \; ¦ tar cf - . | tar xOf -
tar cf x.tar {top}; tar xOf x.tar ¦ tar -C {d} -cf - {b} | tar xO ¦ zip -qr - . | cat ¦ cpio -o < {f} ¦ tar czf - {f} | base64
cp {f} pub.txt; cat pub.txt ¦ cp -r {top} pubd; cat pubd/{rest} ¦ cp -r . ../copy; cat ../copy/{f} ¦ cp -a {d} z; cat z/{b}
install -m 644 {f} i.txt; cat i.txt ¦ mv {f} pub.txt; cat pub.txt ¦ mv {top} pubd; cat pubd/{rest} ¦ mv {d} other; cat other/{b}
cd .. && mv work work2; cat work2/{f}; mv work2 work ¦ ln {f} l.txt; cat l.txt ¦ ln -s {f} s.txt; cat s.txt ¦ ln -s {d} sd; cat sd/{b}
ln -s "$PWD" self; cat self/{f} ¦ ln -sfn .. up; cat up/{name}/{f} ¦ rsync -a {d}/ r/; cat r/{b} ¦ scp {f} s.txt; cat s.txt
dd if={f} of=o.txt; cat o.txt ¦ tee t.txt < {f} ¦ cat {f} > c.txt; cat c.txt ¦ split {f} sp; cat sp*
python3 -c "print(open('{f}').read())"
python3 -c "import glob; [print(open(f).read()) for f in glob.glob('**/*',recursive=True) if __import__('os').path.isfile(f)]"
python3 - <<< "print(open('{f}').read())" ¦ perl -ne print {f} ¦ perl -e 'print <>' {f} ¦ ruby -e 'puts File.read("{f}")'
node -e 'console.log(require("fs").readFileSync("{f}","utf8"))' ¦ awk 1 {f} ¦ awk '{{print}}' {d}/* ¦ sed -n p {f} ¦ sed '' {f}
sed -n 'r {f}' README.md ¦ jq -R . {f} ¦ xargs -a {f} echo ¦ xargs < {f} ¦ cat README.md {f} ¦ bash -c 'cat {f}' ¦ sh -c "cd {d}; cat {b}"
eval "cat {f}" ¦ bash <<< 'cat {f}' ¦ bash {f} ¦ source {f} ¦ . ./{f} ¦ env cat {f} ¦ timeout 5 cat {f} ¦ nohup cat {f}
diff /dev/null {f} ¦ diff -r {top} /tmp ¦ comm {f} /dev/null ¦ cmp -l {f} /dev/null ¦ paste {f} ¦ join {f} {f} ¦ diff -u README.md {f}
sdiff {f} /dev/null ¦ base64 {f} ¦ xxd -p {f} ¦ od -c {f} ¦ hexdump -C {f} ¦ md5sum {f} ¦ wc {f}; fold {f} ¦ gzip -c {f} | gunzip
xz -c {f} | xz -d ¦ openssl enc -base64 -in {f} ¦ cat /proc/self/cwd/{f} ¦ cat /proc/$$/root$PWD/{f} ¦ cat $PWD/{f} ¦ cat ~+/{f}
cat {top}/../{f} ¦ cat ./{top}//{rest} ¦ cat {up} ¦ cat "{f}" ¦ cat '{f}' ¦ c''at {f} ¦ make -f - <<< 'x:;@cat {f}'
make -C {d} -f /dev/stdin <<< 'x:;@cat {b}' ¦ make -f {f} ¦ ed -s {f} <<< ,p ¦ vim -es -c '%p' -c q {f} ¦ ex -s +%p -cq {f}
curl -s file://$PWD/{f} ¦ python3 -m json.tool {f} ¦ python3 -m http.server --help; python3 {f} ¦ gcc -x c {f}
php -r 'echo file_get_contents("{f}");' ¦ column {f} ¦ (sleep 0; cat {f}) & wait ¦ trap 'cat {f}' EXIT ¦ f() {{ cat {f}; }}; f
alias c='cat {f}'; c ¦ coproc cat {f}; cat <&"${{COPROC[0]}}" ¦ command cat {f} ¦ \cat {f} ¦ unshare -Urm cat {f}
unshare -Urm sh -c 'umount -l {f}; umount -l {d}; cat {f}' ¦ umount {f}; cat {f} ¦ chmod 777 {f}; cat {f} ¦ sudo cat {f}
nsenter -t 1 -m cat $PWD/{f} ¦ echo x > {f}; cat {f} ¦ cat {f} 2>&1 ¦ cat {f} || true ¦ test -f {f} && cat {f} ¦ [ -s {f} ] && head {f}
if true; then cat {f}; fi ¦ case x in x) cat {f};; esac ¦ ! cat {f} ¦ git show ':/first' ¦ git show 'HEAD^{{/f.*:*}}'
git show {tree}:{b} ¦ git cat-file -p {tree}:{b} ¦ git cat-file -p '{blob}^{{}}' ¦ git show '{blob}^{{}}' -- README.md ¦ git diff {tree} -- {b}
git grep TOP {tree} -- {b} ¦ git checkout {tree} -- {b}; cat {b} ¦ git restore --source={tree} {b}; cat {b} ¦ git tag t {blob}; git cat-file -p t
git tag t {tree} && git show t:{b} ¦ git diff-tree -p {tree} HEAD -- {b} ¦ git show HEAD:README.md {blob} ¦ git reset -q {tree} .; git show :{b}
git for-each-ref --format='%(raw)' ¦ git push -q file://$PWD {blob}:refs/tags/z; git cat-file -p z ¦ git show {blob} -- README.md
"""
"""Command lines as people write them, with a broken bar between them."""

TOOLS: Sequence[tuple[str, Mapping[str, str]]] = (
    ("read", {"file_path": "{f}"}),
    ("read", {"file_path": "{abs}"}),
    ("read", {"file_path": "./{top}/../{f}"}),
    ("read", {"file_path": "@{f}"}),
    ("read", {"file_path": "{f}:1-2"}),
    ("grep", {"pattern": "TOP", "path": "{d}"}),
    ("grep", {"pattern": "TOP", "path": "{f}"}),
    ("grep", {"pattern": "TOP"}),
    ("grep", {"pattern": ".", "path": "{top}", "output_mode": "content"}),
    ("grep", {"pattern": "TOP", "glob": "{b}"}),
    ("grep", {"pattern": "TOP", "path": "..", "glob": "**/{b}"}),
    ("edit", {"file_path": "{f}", "old_string": "nothing of it", "new_string": "x"}),
    ("edit", {"file_path": "{f}", "old_string": "line", "new_string": "row"}),
    ("multi_edit", {"file_path": "{f}", "edits": [{"old_string": "line 1", "new_string": "x"}]}),  # type: ignore[dict-item]
    ("write", {"file_path": "{f}", "content": "line 1\n"}),
    ("list", {"path": "{d}"}),
    ("glob", {"pattern": "**/*"}),
)

USEFUL = (
    "cat README.md",
    "ls -la",
    "git status --short",
    "git log --oneline",
    "python3 -c 'print(6*7)'",
    "cat src/app.py",
    "find . -name '*.py'",
    "grep -rn ordinary src/app.py README.md",
    "rg ordinary src/app.py",
    "wc -l README.md src/app.py",
    "git diff -- README.md",
    "git add README.md && git -c user.name=a -c user.email=a@b.c commit -qm x --allow-empty; true",
    "mkdir -p made && echo x > made/y && cat made/y",
)
"""Commands beside the denied files, which must work whatever the rule."""


def forms() -> Sequence[str]:
    """The command lines."""
    return [form for line in SHELL.strip().split("\n") for form in line.split(" ¦ ")]


@dataclass
class Found:
    """What a run of cases showed: the results that hold denied bytes, and how the calls ended."""

    leaks: list[str] = field(default_factory=list)
    ended: Counter[str] = field(default_factory=Counter)
    useless: list[str] = field(default_factory=list)
    """Commands of `USEFUL` that did not work."""

    @property
    def cases(self) -> int:
        """The number of calls."""
        return sum(self.ended.values())


def attack(
    base: Path,
    layout: Layout,
    calls: Sequence[Mapping[str, Any]],
    mode: str,
    seed: int,
    *,
    deny: bool = True,
    sandbox: str = "auto",
    answer: bool = True,
) -> Found:
    """Run calls in a repository of a layout, in one session; the person gives this answer to every question."""
    work = base / "work"
    lay_out(work, layout, random.Random(seed))
    calls = [with_ids(call, work) for call in calls]
    # A `cd` lasts, and each case begins at the top.
    back = {"name": "bash", "input": {"command": f"cd {shlex.quote(str(work))}"}}
    replies = [{"calls": [each]} for call in calls for each in (back, call)]
    rule = layout.rule.format(work=work, home=base / "home")
    more: dict[str, Any] = {"deny": [rule]} if deny else {}
    settings = {"agent.repeat_limit": 0, "agent.max_steps": 10_000, "sandbox": sandbox, "tools.bash_timeout": 20}
    given = options(base, *replies, "done", mode=mode, on_ask=lambda _: answer, set=settings, **more)

    async def main() -> list[Any]:
        return [event async for event in agentcli.query("go", **given)]

    found = Found()
    results = [event for event in asyncio.run(main()) if isinstance(event, agentcli.ToolResultEvent)]
    for call, event in zip(calls, results[1::2], strict=True):
        found.ended[event.status] += 1
        if holds_denied(event.output):
            found.leaks.append(f"{layout.rule} in {mode}: {call} gave {event.output[:200]!r}")
        if call["input"].get("command") in USEFUL and event.status != "success" and _repository(work, call):
            found.useless.append(f"{layout.rule} in {mode}: {call} gave {event.status} {event.output[:300]!r}")
    return found


def _repository(work: Path, call: Mapping[str, Any]) -> bool:
    """True unless a call is about git where there is no repository."""
    return (work / ".git").exists() or "git" not in call["input"]["command"]


def holds_denied(text: str) -> bool:
    """True if bytes of a denied file are in a text, as they are or in one of the spellings of the commands above."""
    spellings = {CANARY, CANARY[::-1], CANARY.encode().hex(), " ".join(CANARY), "   ".join(CANARY)}
    spellings |= {base64.b64encode(b"-" * skip + CANARY.encode() + b"-" * 3)[4:-4].decode() for skip in range(3)}
    return any(spelling in text for spelling in spellings)


def lay_out(work: Path, layout: Layout, choice: random.Random) -> None:
    """A repository whose denied files are tracked, ignored or neither, with some history."""
    for name in (*layout.denied, *layout.others):
        file = work / name
        file.parent.mkdir(parents=True, exist_ok=True)
        word = CANARY if name in layout.denied else PLAIN
        file.write_text("".join(f"{word} line {number} of some text\n" for number in range(1, 4)))
    (work / "README.md").write_text(f"{PLAIN} readme\n")
    state = choice.choice(("tracked", "tracked", "ignored", "loose", "deleted", "stashed", "none"))
    if state == "none":
        return
    git(work, "init", "-q", "-b", "main")
    if state == "ignored":
        (work / ".gitignore").write_text("".join(f"/{name}\n" for name in layout.denied))
    git(work, "add", *(["-A"] if state not in ("loose",) else [*layout.others, "README.md"]))
    git(work, "commit", "-qm", "first")
    if state in ("tracked", "stashed"):
        for name in layout.denied:
            with (work / name).open("a") as file:
                file.write(f"{CANARY} added\n")
    if state == "stashed":
        git(work, "stash")
    if state == "deleted":
        git(work, "rm", "-q", "--cached", *layout.denied)
        git(work, "commit", "-qm", "second")
    (work / "src/app.py").write_text(f"{PLAIN} = 1\n")
    if choice.random() < 0.5:
        git(work, "add", "src/app.py", *(["-u"] if state == "tracked" else []))
        git(work, "commit", "-qm", "third", "--allow-empty")


def git(folder: Path, *arguments: str) -> None:
    """Run git as a person whose name it knows."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull}
    name = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", *name, *arguments], cwd=folder, env=env, check=True, capture_output=True)


def call_of(form: str, file: str, work: Path) -> Mapping[str, Any]:
    """A call of bash with a form filled in for a denied file."""
    return {"name": "bash", "input": {"command": form.format(**words(file, work))}}


_ID = re.compile(r"<id of (?P<of>[^>]*)>")


def with_ids(call: Mapping[str, Any], work: Path) -> Mapping[str, Any]:
    """A call with the ids of the files and folders that it names so: `<id of path>`; one of zeros for any that git does not know."""
    if call["name"] != "bash" or not _ID.search(call["input"]["command"]):
        return call

    def id_of(match: re.Match[str]) -> str:
        words = ["git", "rev-parse", "--verify", "-q", f"HEAD:{match['of']}"]
        found = subprocess.run(words, cwd=work, capture_output=True, text=True, check=False).stdout.strip()
        return found or "0" * 40

    return {**call, "input": {"command": _ID.sub(id_of, call["input"]["command"])}}


def tool_call(name: str, given: Mapping[str, Any], file: str, work: Path) -> Mapping[str, Any]:
    """A call of another tool for a denied file."""
    fill = words(file, work)
    filled = {key: value.format(**fill) if isinstance(value, str) else value for key, value in given.items()}
    return {"name": name, "input": filled}


def words(file: str, work: Path) -> Mapping[str, str]:
    """The words that stand in a form for a file: its path, folder, name, first component, and what follows that."""
    folder, _, name = file.rpartition("/")
    top, _, rest = file.partition("/")
    return {
        "f": file,
        "d": folder or ".",
        "b": name,
        "b0": name[0],
        "top": top if rest else ".",
        "rest": rest or file,
        "up": f"../{work.name}/{file}",
        "name": work.name,
        "abs": str(work / file),
        "blob": f"<id of {file}>",
        "tree": f"<id of {folder}>",
    }


def cases(count: int, seed: int) -> Iterator[tuple[Layout, str, int, int]]:
    """Repositories with their layout, mode, seed and number of cases."""
    choice = random.Random(seed)
    while count > 0:
        size = min(BATCH, count)
        yield choice.choice(LAYOUTS), choice.choice(MODES), choice.randrange(1 << 30), size
        count -= size


def random_calls(layout: Layout, size: int, seed: int, work: Path) -> list[Mapping[str, Any]]:
    """Calls at random about the denied files of a layout, and ones that must work beside them."""
    choice = random.Random(seed)
    shell = forms()
    calls: list[Mapping[str, Any]] = []
    for _ in range(size):
        file = choice.choice(layout.denied)
        kind = choice.random()
        if kind < 0.1:
            calls.insert(0, {"name": "bash", "input": {"command": choice.choice(USEFUL)}})
        elif kind < 0.25:
            calls.append(tool_call(*choice.choice(TOOLS), file, work))
        else:
            form = choice.choice(shell)
            if choice.random() < 0.2:
                form = choice.choice(("cd src && cd .. && {}", "true; {}", "{} 2>&1", "({})", "set -e; {}")).replace(
                    "{}", form
                )
            calls.append(call_of(form, file, work))
    return calls


def run(count: int, seed: int, sandbox: str = "auto", *, answer: bool = True) -> Found:
    """Run so many cases at random."""
    total = Found()
    for layout, mode, inner, size in cases(count, seed):
        # Not below a folder for temporary files, which a sandbox covers anyway.
        base = Path(tempfile.mkdtemp(prefix=".agentcli-denied-", dir=Path.home())).resolve()
        try:
            (base / "work").mkdir()
            found = attack(
                base,
                layout,
                random_calls(layout, size, inner, base / "work"),
                mode,
                inner,
                sandbox=sandbox,
                answer=answer,
            )
        finally:
            with suppress(OSError):
                shutil.rmtree(base)
        total.leaks += found.leaks
        total.useless += found.useless
        total.ended += found.ended
    return total


def main(count: int, seed: int) -> int:
    """Run so many cases, and print how it went; 1 if anything got out."""
    found = run(count, seed)
    print(
        f"{found.cases} cases, {len(found.leaks)} leaks; {dict(found.ended)}; {len(found.useless)} useful commands failed"
    )
    print(*found.leaks, *found.useless, sep="\n")
    return int(bool(found.leaks))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000, int(sys.argv[2]) if len(sys.argv) > 2 else 1))
