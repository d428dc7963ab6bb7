"""Commands that act outside the workspace: they delete, overwrite or move files there, or act on the machine as root."""

from __future__ import annotations

import itertools
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path

from agentcli.core.dataclass import replace
from agentcli.permissions.paths import Workspace, impossible, resolved
from agentcli.permissions.shell.effects.scripts import places_lost, shell_texts
from agentcli.permissions.shell.programs.administration import LISTING, REMOVING, RIGHTS, administers, kills, only_reads
from agentcli.permissions.shell.programs.known_programs import WRAPPERS, word_set
from agentcli.permissions.shell.programs.listing import placed
from agentcli.permissions.shell.syntax.flow import runs_of
from agentcli.permissions.shell.syntax.parse import UNKNOWN
from agentcli.permissions.shell.syntax.state import Run
from agentcli.permissions.shell.syntax.values import BELOW

# The shell connects to an address instead of opening /dev/tcp and /dev/udp: that counts as network access.
_STREAMS = re.compile(
    r"/dev/(?:null|zero|stdin|stdout|stderr|tty|full|fd/\d+|(?:tcp|udp)/[^/]+/[^/]+)|/proc/self/fd/\d+|&?\d+|-"
)
_WILD = re.compile(r"[*?\[]")
_ELSEWHERE = word_set("docker podman kubectl nerdctl ssh lxc")
"""Programs whose inner commands run on other files: in a container, or on another machine."""
_TOO_DEEP = "the command goes too deep to be followed"


def reach(text: str, workspace: Workspace, *, there: bool = True) -> str:
    """Return why a line acts outside the workspace, or an empty string.

    Unless `there`, leave out what it runs on other machines by ssh.
    """
    runs = runs_of(text, workspace)
    if runs is None:
        return _TOO_DEEP
    if not there:
        runs = [run for run in runs if run.within != "ssh" and "ssh" not in run.behind]
    if any("ln" in run.words for run in runs):
        runs = _through_links(runs, workspace)
    try:
        return next(filter(None, (_reaches(run, workspace) for run in runs)), "")
    except RecursionError:  # a script's expression may be nested as deep as it is long
        return _TOO_DEEP


def _reaches(run: Run, workspace: Workspace) -> str:
    for target in run.writes:
        if why := _lost("writing", target, run.folders, workspace, follows=True):
            return why
    if not run.words or not run.words[0]:
        return ""
    name, arguments = os.path.basename(run.words[0]), run.words[1:]
    if why := administers(name, arguments, workspace) or kills(name, arguments):
        return why
    if not _ELSEWHERE.isdisjoint(run.behind):
        return ""
    for target, follows in _targets(name, arguments, run):
        if why := _lost(name, target, run.folders, workspace, follows=follows):
            return why
    if name == "git" and (why := _git(arguments, run, workspace)):
        return why
    if (
        name not in _GIVEN_FOLDERS
        and not only_reads(name, arguments)
        and (whole := _whole_place(arguments, run, workspace))
    ):
        return f"{name} is given {whole}, all of it"
    if name not in _READ_ARGUMENTS and name not in _OUTPUTS and not only_reads(name, arguments):
        for option, value in itertools.pairwise((*arguments, "")):
            given = value if _OUTPUT.fullmatch(option) else option.partition("=")[2] if _OUTPUT.match(option) else ""
            given = option[2:] if option.startswith("-o/") else given
            if given.startswith(("/", "~", "..")) and (why := _lost(name, given, run.folders, workspace, follows=True)):
                return why
    known = name.startswith("-") or name in LISTING or name in _READ_ARGUMENTS or name in _JUDGED_BY_TARGET
    if not known and not only_reads(name, arguments):
        for word in _of_the_machine(arguments):
            if why := _lost(name, word, run.folders, workspace, follows=True):
                return why
    return _in_script(name, arguments, run, workspace)


# Links that the line itself makes


def _through_links(runs: Sequence[Run], workspace: Workspace) -> list[Run]:
    """Return the commands of a line, with what they name through its own links out of the workspace."""
    links: dict[Path, str] = {}
    found: list[Run] = []
    for run in runs:
        if links and os.path.basename("".join(run.words[:1])) != "ln":
            run = replace(run, folders=tuple(Path(_led(folder, links) or folder) for folder in run.folders))
            through = partial(_through, links=links, run=run, workspace=workspace)
            words = (*run.words[:1], *map(through, run.words[1:]))
            run = replace(run, words=words, writes=tuple(map(through, run.writes)))
        found.append(run)
        links |= _links_made(run, links, workspace)
    return found


def _links_made(run: Run, links: Mapping[Path, str], workspace: Workspace) -> dict[Path, str]:
    """Return the links that an `ln` makes, with their targets outside the workspace."""
    if run.words[:1] != ("ln",):
        return {}
    operands, tops = _operands(run.words[1:], _VALUED["ln"].split())
    ends = tops or (operands[-1:] if len(operands) > 1 else ["."])
    targets = operands if tops or len(operands) == 1 else operands[:-1]
    made: dict[Path, str] = {}
    for folder, end, target in itertools.product(run.folders, ends, targets):
        there = placed(end, folder, workspace)
        for link in (there, there / os.path.basename(target.rstrip("/"))):
            real = placed(target, link.parent, workspace)
            real = Path(_led(real, links) or real)
            if not _is_ours(real, workspace, follows=True, below=False):
                made[link] = str(real)
    return made


def _through(word: str, links: Mapping[Path, str], run: Run, workspace: Workspace) -> str:
    """Return a word with the target of a link on its way, or at its end if that is followed."""
    if not word or word.startswith("-"):
        return word
    kept = os.path.basename(run.words[0]) in (*REMOVING, "mv") and not word.endswith("/") if run.words else False
    for folder in run.folders:
        place = placed(word, folder, workspace)
        if (led := _led(place.parent if kept else place, links)) is not None:
            return f"{led}/{place.name}" if kept else led
    return word


def _led(place: Path, links: Mapping[Path, str]) -> str | None:
    """Return where a path leads through these links; None if through none."""
    link = next((each for each in (place, *place.parents) if each in links), None)
    return None if link is None else os.path.join(links[link], place.relative_to(link)).rstrip("/.") or "/"


# Targets of deletion, overwriting and moving


_VALUED = {
    "truncate": "-s -r --size --reference",
    "shred": "-n -s --iterations --size",
    "install": "-m -o -g -S --mode --owner --group",
    "cp": "-S --suffix",
    "mv": "-S --suffix",
    "ln": "-S --suffix",
    "rsync": "-e --exclude --include --filter -f --rsh --exclude-from --files-from --out-format --log-file --bwlimit",
    "sed": "-e -f -l --expression --file",
    "perl": "-e -E -I -M",
    "ruby": "-e -r -I",
    "tee": "",
}
_TO_FOLDER = ("-t", "--target-directory")
_OUTPUTS: Mapping[str, tuple[str, ...]] = {
    "sort": ("-o", "--output"),
    "curl": ("-o", "--output", "--output-dir", "-D", "--dump-header"),
    "wget": ("-O", "--output-document", "-P", "--directory-prefix", "-o"),
    "unzip": ("-d",),
    "tar": ("-C", "--directory"),
    "bsdtar": ("-C", "--directory"),
    "patch": ("-d", "-o", "--directory", "--output"),
    "split": (),
}
"""Options whose value is a file or a folder that is written to."""
_OUTPUT = re.compile(r"-o(?==|\Z)|--out(?:put)?(?:[-_](?:file|dir|path))?(?==|\Z)")
"""Options by which any program names what it writes."""
_GIVEN_FOLDERS = word_set("cd pushd popd source . tar rsync scp git find code export echo printf test [ [[ read set")
_MOVES_TO_NULL = "/dev/null"


def _targets(name: str, arguments: Sequence[str], run: Run) -> Iterator[tuple[str, bool]]:
    """Yield the paths that a command deletes, overwrites or moves, each with True if a link there is followed."""
    valued = _VALUED.get(name, "").split()
    operands, folders = _operands(arguments, valued)
    if name in REMOVING:
        yield from ((word, False) for word in operands)
    elif name == "gio" and operands[:1] in (["trash"], ["remove"], ["move"]):
        yield from ((word, False) for word in operands[1:])
    elif name == "mv":
        yield from ((word, False) for word in (operands if folders else operands[:-1]))
        yield from ((word, True) for word in [*folders, *([] if folders else operands[-1:])] if word != _MOVES_TO_NULL)
    elif name in ("cp", "install", "ln", "link"):
        yield from ((word, True) for word in folders or (operands[-1:] if len(operands) > 1 else []))
    elif name in RIGHTS:
        takes = name == "chmod" and any(re.fullmatch(r"-[rwxXst]+", word) for word in arguments)
        yield from ((word, True) for word in (operands if takes else operands[1:]))
    elif name in ("tee", "truncate", "sponge"):
        yield from ((word, True) for word in operands)
    elif name == "dd":
        yield from ((word[3:], True) for word in arguments if word.startswith("of="))
    elif name in ("sed", "gsed", "perl", "ruby") and any(
        re.match(r"-[a-zA-Z]*i|--in-place", word) for word in arguments
    ):
        scripted = name in ("perl", "ruby") or any(
            re.match(r"-[a-zA-Z]*[ef]\Z|--(expression|file)", word) for word in arguments
        )
        bundled = any(re.fullmatch(r"-[a-zA-Z]+e", word) for word in arguments)
        operands = [word for word in operands if word]  # `sed -i ''` on macOS
        yield from ((word, True) for word in (operands if scripted and not bundled else operands[1:]))
    elif name == "rsync" and len(operands) > 1 and ":" not in operands[-1].partition("/")[0]:
        yield operands[-1], True
    elif name == "find":
        yield from _found(arguments)
    yield from ((word, True) for word in _outputs(name, arguments))


def _operands(arguments: Sequence[str], valued: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the operands of a command, and the target folders in its options."""
    operands: list[str] = []
    folders: list[str] = []
    waiting = list(reversed(arguments))
    while waiting:
        word = waiting.pop()
        if word == "--":
            operands += reversed(waiting)
            break
        if word in _TO_FOLDER and waiting:
            folders.append(waiting.pop())
        elif word.startswith("--target-directory="):
            folders.append(word.partition("=")[2])
        elif word in valued and waiting:
            waiting.pop()
        elif not word.startswith("-") or word == "-":
            operands.append(word)
    return operands, folders


def _outputs(name: str, arguments: Sequence[str]) -> Iterator[str]:
    """Yield the values of options that are a file or folder to write to."""
    options, dash = _OUTPUTS.get(name, ()), "-?" if name.endswith("tar") else "-"
    if name.endswith("tar"):
        options = _of_tar(arguments)
    for word, after in zip(arguments, [*arguments[1:], ""], strict=False):
        for option in options:
            if word == option or (option[1:2] != "-" and re.fullmatch(rf"{dash}[a-zA-Z]+{option[1:]}", word)):
                yield after
            elif option.startswith("--") and word.startswith(f"{option}="):
                yield word.partition("=")[2]
            elif not option.startswith("--") and word.startswith(option) and not word.startswith("--"):
                yield word[2:]


def _extracts(arguments: Sequence[str]) -> bool:
    """Return True if tar may extract files; its first word alone may give short options without a hyphen."""
    bundled = bool(arguments) and re.match(r"[a-zA-Z]*x", arguments[0]) is not None
    return bundled or any(re.match(r"-[a-zA-Z]*x|--extract|--get", word) for word in arguments)


def _of_tar(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return tar's options for its output: the folder to extract to, or the archive."""
    words = [word for word in arguments if not word.startswith("--")]
    letters = "".join(
        word for index, word in enumerate(words) if re.fullmatch(r"-[a-zA-Z]+" if index else r"-?[a-zA-Z]+", word)
    )
    if _extracts(arguments):
        return ("-C", "--directory")
    if set("cruA") & set(letters) or not {"--create", "--append", "--update", "--delete", "--concatenate"}.isdisjoint(
        arguments
    ):
        return ("-f", "--file")
    return ()


def _found(arguments: Sequence[str]) -> Iterator[tuple[str, bool]]:
    tops: list[str] = []
    for word in arguments:
        if word in ("-L", "-H", "-P"):
            continue
        if word.startswith(("-", "(", "!", "\\")):
            break
        tops.append(word)
    if "-delete" in arguments:
        yield from ((f"{top}/{BELOW}", "-L" in arguments) for top in tops or ["."])
    for option, value in itertools.pairwise(arguments):
        if option.startswith(("-fprint", "-fls")):
            yield value, True


_KEEPING = word_set("""
status log diff show branch tag add commit fetch push pull merge rebase remote config init clone ls-files ls-tree ls-remote rev-parse rev-list
describe blame grep cat-file shortlog reflog name-rev for-each-ref show-ref merge-base notes worktree submodule bisect help version archive
cherry-pick revert format-patch bundle check-ignore count-objects fsck var whatchanged symbolic-ref stash switch
""")
"""Git commands that lose nothing that git does not keep."""


def _git(arguments: Sequence[str], run: Run, workspace: Workspace) -> str:
    """Return why git discards files outside the workspace, or an empty string."""
    rest, chosen, named = _git_options(arguments)
    if not rest or rest[0] in _KEEPING:
        return ""
    verb = f"git {rest[0]}"
    tops = [*(run.env[name] for name in ("GIT_WORK_TREE", "GIT_DIR") if name in run.env), *named]
    for folder in run.folders:
        for top in tops or ["."]:
            place = folder if top is chosen else placed(chosen, folder, workspace)
            if why := _lost(verb, top, (place,), workspace, follows=True):
                return why
    if "--" not in rest and rest[0] in ("rm", "mv", "clean"):
        away = (word for word in rest[1:] if word.startswith(("/", "~", "..")))
        return next(filter(None, (_lost(verb, word, run.folders, workspace, follows=True) for word in away)), "")
    return ""


def _git_options(arguments: Sequence[str]) -> tuple[list[str], str, list[str]]:
    """Return git's words from its subcommand on, the folder that it changes to, and the folders in its options."""
    rest, chosen, tops = list(arguments), "", list[str]()
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        name, equals, value = option.partition("=")
        if name in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path") and not equals and rest:
            value = rest.pop(0)
        if name in ("-C", "--work-tree", "--git-dir"):
            chosen = value if name == "-C" else chosen
            tops.append(value)
    return rest, chosen, tops


def _lost(verb: str, word: str, folders: Sequence[Path], workspace: Workspace, *, follows: bool) -> str:
    """Return why a word is neither a workspace file nor a temporary file; else an empty string.

    Any word that it may split into counts as well.
    """
    words = (word, *word.split()) if any(map(str.isspace, word)) else (word,)
    return next((why for one in words if (why := _one_lost(verb, one, folders, workspace, follows))), "")


def _one_lost(verb: str, word: str, folders: Sequence[Path], workspace: Workspace, follows: bool) -> str:
    if not word or _STREAMS.fullmatch(word):
        return ""
    known, unknown = word, False
    if UNKNOWN in word:
        known, unknown = word.partition(UNKNOWN)[0], True
        known = known.rpartition("/")[0] + "/" if "/" in known else ""
        if not known:
            return f"{verb} of what only the shell knows"
    if wild := _WILD.search(known):
        before = known[: wild.start()]
        known = (before.rpartition("/")[0] + "/" if "/" in before else "./") + "x"
    known = known.replace(BELOW, "x")
    if impossible(known):
        return f"{verb} of what no file can be named"
    for folder in folders:
        path = placed(known, folder, workspace)
        if not _is_ours(path, workspace, follows=follows or known.endswith("/"), below=unknown):
            return f"{verb} of {word.replace(UNKNOWN, '…').replace(BELOW, '…')} reaches past the workspace"
    return ""


def _is_ours(path: Path, workspace: Workspace, *, follows: bool, below: bool) -> bool:
    """Return True if a path is in the workspace or among temporary files.

    If `below`, it must be strictly below the top of either.
    """
    real = resolved(path) if follows else resolved(path.parent) / path.name
    if real == resolved(workspace.home) or any(real in (root, *root.parents) for root in map(resolved, workspace.own)):
        return False
    roots = workspace.resolved_roots
    if any(root in real.parents or (root == real and not below) for root in roots):
        return True
    if any(real in root.parents for root in roots):
        return False
    if any(
        top == real or top in real.parents
        for top in (resolved(workspace.home), *map(resolved, workspace.own))
        if top != Path("/")
    ):
        return False
    tops = _temporary(workspace.env.get("TMPDIR", ""))
    return any(top in real.parents for top in tops) or (follows and not below and real in tops)


def is_temporary(path: str, workspace: Workspace) -> bool:
    """Return True if an absolute path, with links followed, is below a folder of temporary files.

    Such a folder with the workspace or a home folder in it is none.
    """
    if not path.startswith("/") or ".." in path.split("/") or impossible(path):
        return False
    real, kept = resolved(path), (resolved(workspace.home), *workspace.resolved_roots, *map(resolved, workspace.own))
    tops = [
        top
        for top in _temporary(workspace.env.get("TMPDIR", ""))
        if not any(top in (one, *one.parents) for one in kept)
    ]
    return any(top in real.parents for top in tops)


@lru_cache(maxsize=8)
def _temporary(own: str) -> tuple[Path, ...]:
    tops = ["/tmp", "/var/tmp", "/dev/shm", tempfile.gettempdir(), *([own] if own.startswith("/") else [])]
    return tuple(dict.fromkeys(path for top in tops if (path := resolved(top)) != Path("/")))


def _whole_place(arguments: Sequence[str], run: Run, workspace: Workspace) -> str:
    """Return the word that gives an unknown program the whole root, home, or a folder above the workspace.

    Return an empty string if there is none.
    """
    homes = (resolved(workspace.home), Path("/"), *(root.parent for root in workspace.resolved_roots))
    contained = os.path.basename(run.words[0]) in _ELSEWHERE
    for word in arguments:
        for form in _mounted(word) if contained else (word, word.partition(":")[0]):
            text = form.rstrip("*").rstrip("/") or ("/" if form.startswith("/") else "")
            if not text or UNKNOWN in text or not text.startswith(("/", "~", "..")) or impossible(text):
                continue
            if any(resolved(placed(text, folder, workspace)) in homes for folder in run.folders):
                return form
    return ""


_MACHINE = r"/(?:etc|dev|boot|sys|proc/sys)/[^\s'\"`,;:|&<>(){}]+"
_GIVEN = re.compile(rf"(?:|-\w|[-\w]+=|[^/]*['\"(\s])(?P<path>{_MACHINE})(?:['\")\s].*)?", re.DOTALL)
"""A file of the machine: a word, the value of an option or variable, or quoted within a text."""
_READ_ARGUMENTS = (
    word_set(
        "cd pushd popd echo printf export test [ [[ read set source . type which cp mv ln rsync scp ssh git find grep egrep rg diff comm cmp less more"
    )
    | word_set(
        "sed gsed perl ruby python python3 node php lua awk gawk mawk mount umount findmnt df lsblk blkid tar curl wget dd openssl"
    )
    | _ELSEWHERE
    | WRAPPERS
)
"""Programs that only read such files unless a rule above applies."""
_JUDGED_BY_TARGET = REMOVING | RIGHTS | frozenset(_VALUED) | {"link", "tee", "sponge", "gio"}


def _of_the_machine(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the files of the system's settings and devices in the arguments of a program that may write to them."""
    for word in arguments:
        if (match := _GIVEN.fullmatch(word)) and not match["path"].startswith(
            ("/dev/null", "/dev/std", "/dev/tty", "/dev/shm")
        ):
            yield match["path"]


def _mounted(word: str) -> list[str]:
    """Return the folders that a word passes to a container: `/` of `/:/host`."""
    text = re.sub(r"\A(?:-v|--volume=?|--mount=?)", "", word)
    sources = re.findall(r"(?:\A|,)(?:src|source)=([^,]+)", text)
    return [*sources, *([text.partition(":")[0]] if ":" in text else [])]


# Programs given as text


def _in_script(name: str, arguments: Sequence[str], run: Run, workspace: Workspace) -> str:
    """Return why a script on the line acts outside the workspace, or an empty string."""
    for target in places_lost(name, arguments, run.script, str(workspace.home), str(run.folders[0])):
        if target.startswith(":"):
            return f"{name}: its script {target[1:]}"
        if why := _lost(f"{name}: its script loses or writes", target, run.folders, workspace, follows=True):
            return why
    for text in shell_texts(name, arguments, run.script):
        if why := reach(text, workspace):
            return why
    return ""
