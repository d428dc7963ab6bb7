"""Effects of a command on files, by its options and operands: whether it changes only the workspace, and whether it can only destroy.

File names take the place of patterns first, as the shell finds them. Only destruction are the removal of whole important
trees, overwritten disks and fork bombs.
"""

from __future__ import annotations

import fnmatch
import glob
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentcli.permissions.paths import Workspace, impossible, judge_path, resolved
from agentcli.permissions.readonly.option_grammar import Found, Shape, fit
from agentcli.permissions.shell.known_programs import SHELLS, word_set
from agentcli.permissions.shell.parse import PLACE, UNKNOWN, Command, Part, contents, runs

MOST = 500
"""Largest number of file names that the patterns of a line may match; a line with more asks."""
_TOO_MANY = "names too many files to be looked at first"


def meanings(command: Command, folders: Sequence[Path], workspace: Workspace) -> list[tuple[str, ...]] | str:
    """Return the words of a command as it may run: with file names in place of patterns, once for each round of its loop.

    If they cannot be determined, return the reason. A pattern that matches no file stays unchanged.
    """
    values = [""]
    if command.loop:
        found = _expanded(command.loop.words, command.loop.globs, folders, workspace)
        if isinstance(found, str):
            return found
        values = list(dict.fromkeys(found))
    rounds: list[tuple[str, ...]] = []
    globs = command.globs or ("",) * len(command.words)
    words = _expanded(command.words, globs, folders, workspace)
    if isinstance(words, str):
        return words
    for value in values:
        rounds.append(tuple(word.replace(PLACE, value) for word in words))
    return rounds


def _expanded(
    words: Sequence[str], globs: Sequence[str], folders: Sequence[Path], workspace: Workspace
) -> list[str] | str:
    expanded: list[str] = []
    for word, pattern in zip(words, globs, strict=True):
        if not pattern:
            expanded.append(word)
            continue
        # In older shells `.?` and `..*` match the parent folder as well.
        if any(
            part.startswith(".") and {"*", "?", "["} & set(part) and fnmatch.fnmatchcase("..", part)
            for part in word.split("/")
        ):
            return "uses a wildcard for hidden names"
        top = _folder_before(word)
        if top and any(judge_path(top, workspace, write=False, cwd=folder).verdict != "free" for folder in folders):
            return f"{top} is outside the workspace"
        fitting = (found for folder in folders for found in glob.iglob(pattern, root_dir=folder))
        names = list(dict.fromkeys(itertools.islice(fitting, MOST + 1)))
        expanded += names or [word]
        if len(expanded) > MOST:
            return _TOO_MANY
    return expanded


def _folder_before(word: str) -> str:
    """Return the folder that a pattern looks in: all before its first component with a wildcard."""
    parts = list(itertools.takewhile(lambda part: not {"*", "?"} & set(part), word.split("/")))
    return "/".join(parts) or ("/" if word.startswith("/") else "")


_SED_SCRIPTS = "-nErsuiz -e:sed --expression=sed --in-place --quiet --silent --regexp-extended --sandbox --posix"
_SED = "-nErsuiz --in-place --quiet --silent --regexp-extended --sandbox --posix"

CHANGING: dict[str, tuple[Shape, ...]] = {
    "mkdir": (Shape("-pv -m:word --parents --verbose --mode=word", "path path*"),),
    "touch": (Shape("-acm -d:text -t:word --no-create --date=text", "path path*"),),
    "rmdir": (Shape("-pv --parents --verbose --ignore-fail-on-non-empty", "path path*"),),
    "cp": (
        Shape(
            "-aRrpfinuvTd --recursive --force --no-clobber --update --verbose --archive --parents", "path path path*"
        ),
    ),
    "mv": (Shape("-finuvT --force --no-clobber --update --verbose", "path path path*"),),
    "chmod": (Shape("-v --verbose", "word path path*"),),
    "sed": (Shape(_SED_SCRIPTS, "path path*", needs="-e --expression"), Shape(_SED, "sed path path*")),
}
"""Commands that change only files of their operands. None of them removes anything but a file in its way."""


def changes_inside_all(command: Command, folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if a command of a plain line changes only files inside the workspace, in every round of its loop.

    File names replace its patterns; `folders` are the folders that it may run in.
    """
    rounds = meanings(command, folders, workspace)
    return not isinstance(rounds, str) and all(changes_inside(words, folders, workspace) for words in rounds)


def changes_inside(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if a command, run in any of `folders`, is known to change only files inside the workspace."""
    name, *arguments = words
    if name == "sed" and "" in arguments[:2]:
        arguments.remove("")  # `sed -i ''` as on macOS; elsewhere '' is an empty script, and the script names no file
    fitting = fit(CHANGING[name], arguments) if name in CHANGING else ""
    return not isinstance(fitting, str) and stays_inside(fitting[1], folders, workspace, write=True)


def stays_inside(found: Found, folders: Sequence[Path], workspace: Workspace, *, write: bool) -> bool:
    """Return True if all paths among the arguments lie in the workspace, as seen from each of the folders."""
    values = [value for kind, value in found if kind in ("path", "rev")]
    return all(
        judge_path(value, workspace, write=write, cwd=folder).verdict == "free"
        for value in values
        for folder in folders
    )


_FORMATTING = re.compile(r"mkfs(?:\..*)?|mke2fs|mkswap|mkdosfs|mkntfs|newfs(?:_.*)?|wipefs|blkdiscard")
_DEVICE = re.compile(r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|r?disk|dm-|md|mapper/|mem$|kmem$|port$)")
_FORK_BOMB = re.compile(
    r"([\w:.]+)\s*\(\)\s*\{[^}]*(?<![\w:.])\1\s*(?:\|\s*\1|&)"
    r"|fork\s+while\s+fork|fork\s+while\s+(?:1|true)|while\s*\(?\s*(?:True|true|1)\s*\)?\s*[:;{]?\s*(?:do\s+)?(?:os\.)?fork\b"
)
_SCRIPTED = re.compile(
    r"""(?:rmtree|rm_rf|rm_r|remove_dir_all|rmSync|rmdirSync|removeSync|rimraf|remove_tree)\b[^;\n]{0,40}?['"](?:/|~|~/|/\*|\.|\.git|/home|/etc|/usr)['"]"""
)
_SYSTEM = frozenset(
    map(
        Path,
        word_set("""
/bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /sbin /srv /sys /usr /var /usr/bin /usr/lib /usr/local /usr/share /var/lib
/Applications /Library /System /Users /Volumes /private /private/etc /private/var
"""),
    )
)
_WILD_PART = re.compile(r"[*?.{},\[\]!^]*[*?{\[][*?.{},\[\]!^]*")
"""A component that matches everything in a folder: `*`, `.*`, `{*,.*}`, `.[!.]*`."""
_NARROWING = word_set(
    "-name -iname -path -ipath -wholename -regex -iregex -empty -size -mtime -mmin -newer -newermt -user"
)
_REMOVING = word_set("rm shred srm wipe unlink")
_RIGHTS = word_set("chmod chown chgrp setfacl")
_HOME = r"\$HOME\b|\$\{HOME\}|\$PWD\b"
_ASSIGNED = re.compile(
    rf"""(?<![\w$])([A-Za-z_]\w*)=(?:'([^'$`]*)'|"((?:[^"$`]|{_HOME})*)"|((?:[^\s;&|'"$`()]|{_HOME})*))"""
)


def destruction(text: str, parts: Sequence[Part], workspace: Workspace) -> str:
    """Return the reason why a line can only destroy, or the empty string."""
    if _FORK_BOMB.search(text):
        return "a fork bomb stops the machine"
    if _SCRIPTED.search(text):
        return "it removes a whole tree, such as a home folder"
    parts = [*parts, *_with_values(text), *_printed(parts)]
    folders = _folders(text, parts, workspace)
    printed = [piece.text for part in parts if _name(part) in ("echo", "printf") for piece in part.words[1:]]
    for part in parts:
        for piece in part.writes:
            if _DEVICE.match(piece.text):
                return f"it overwrites {piece.text}"
        for words in runs(part):
            more = printed if _name(part) == "xargs" else []
            if why := _destroys([*words, *more], folders, workspace):
                return why
    return ""


def _name(part: Part) -> str:
    return os.path.basename(part.words[0].text) if part.words else ""


def _with_values(text: str) -> Sequence[Part]:
    """Return the parts of the line with the values of its own plain assignments filled in: `D=/; rm -rf $D`."""
    values = {match[1]: match[2] or match[3] or match[4] or "" for match in _ASSIGNED.finditer(text)}
    filled = text
    for name, value in values.items():
        for form in (rf"\$\{{{name}\}}", rf"\${name}\b"):
            filled = re.sub(form, value.replace("\\", r"\\"), filled)
    return contents(filled)[0] if filled != text else ()


def _printed(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield the commands in texts that the line prints, for a shell that reads them: `echo 'rm -rf /' | sh`."""
    if any(words[0] in SHELLS for part in parts for words in runs(part)):
        texts = (piece.text for part in parts if _name(part) in ("echo", "printf") for piece in part.words[1:])
        for text in texts:
            yield from contents(text)[0] if " " in text else ()


def _folders(text: str, parts: Sequence[Part], workspace: Workspace) -> list[Path]:
    """Return the folders that a command of the line may run in. A `cd` that fails stays in its folder."""
    folder, left = workspace.cwd, []
    for part in parts:
        values = [piece.text for piece in part.words]
        if len(values) == 2 and values[0] in ("cd", "pushd") and UNKNOWN not in values[1] and not impossible(values[1]):
            target = _at(values[1], folder, workspace)
            if not target.is_dir() and not re.search(rf"cd\s+\S*{re.escape(values[1])}\S*\s*&&", text):
                left.append(folder)
            folder = target
    return [folder, *left]


def _at(word: str, folder: Path, workspace: Workspace) -> Path:
    home = str(workspace.home)
    word = word.replace("${HOME}", home).replace("$HOME", home)
    return Path(os.path.normpath(folder / (home + word[1:] if word == "~" or word.startswith("~/") else word)))


def _destroys(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    name, *arguments = words
    options = [word for word in arguments if word.startswith("-") and word != "-"]
    operands = [word for word in arguments if word not in options]
    short = "".join(word[1:] for word in options if not word.startswith("--"))
    recursive = "r" in short.lower() or any(len(word) > 3 and "--recursive".startswith(word) for word in options)
    if _FORMATTING.fullmatch(name) and operands:
        return f"{name} erases the old content"
    if device := _overwritten(name, arguments, operands):
        return f"{name} overwrites {device}"
    if name == "rm" and "--no-preserve-root" in options:
        return "rm --no-preserve-root is destructive"
    if (name in _REMOVING and (recursive or name == "shred")) or (name == "mv" and operands[-1:] == ["/dev/null"]):
        whole = _whole(operands, folders, workspace)
        return f"{name} of {whole} is destructive" if whole else ""
    if name in _RIGHTS and recursive:
        above = _whole(operands, folders, workspace, own=False)
        return f"{name} -R of {above} is destructive" if above else ""
    if name == "rsync" and any(word.startswith("--del") for word in options):
        whole = _whole(operands[-1:], folders, workspace)
        return f"rsync --delete over {whole} is destructive" if whole else ""
    return _find(arguments, folders, workspace) if name == "find" else ""


def _find(arguments: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    removes = "-delete" in arguments or not _REMOVING.isdisjoint(map(os.path.basename, arguments))
    tops: list[str] = []
    for word in arguments:
        if word.startswith(("-", "(", "!")):
            break
        tops.append(word)
    narrowed = not _NARROWING.isdisjoint(arguments)
    found = _whole(tops or ["."], folders, workspace, own=not narrowed) if removes else ""
    return f"find removes all of {found}" if found else ""


def _overwritten(name: str, arguments: Sequence[str], operands: Sequence[str]) -> str:
    """Return the device that a command writes to, or the empty string."""
    match name:
        case "dd":
            targets = [word.removeprefix("of=") for word in arguments if word.startswith("of=")]
        case "tee" | "shred":
            targets = list(operands)
        case "cp" | "mv":
            targets = list(operands[-1:])
        case _:
            targets = []
    return next((target for target in targets if _DEVICE.match(target)), "")


def _whole(operands: Sequence[str], folders: Sequence[Path], workspace: Workspace, own: bool = True) -> str:
    """Return the operand that names an important tree; the workspace and its repository count only if `own`."""
    for word in operands:
        if word and word != "{}" and UNKNOWN not in word and "\n" not in word and not impossible(word):
            for folder in folders:
                if _is_whole(_at(_folder_of(word), folder, workspace), workspace, own):
                    return word
    return ""


def _folder_of(word: str) -> str:
    """Return the folder whose whole content a word matches: `/` of `/*`."""
    parts = word.split("/")
    while len(parts) > 0 and _WILD_PART.fullmatch(parts[-1]):
        parts.pop()
    return "/".join(parts) or ("/" if word.startswith("/") else ".")


def _is_whole(path: Path, workspace: Workspace, own: bool) -> bool:
    lost = [resolved(workspace.home), workspace.home]
    roots = [*workspace.resolved_roots, *(workspace.roots or (workspace.cwd,))]
    for form in {path, resolved(path)}:
        if form == Path("/") or form in _SYSTEM:
            return True
        if any(form == each or form in each.parents for each in lost) or any(form in root.parents for root in roots):
            return True
        if own and (form in roots or (form.name == ".git" and form.parent in roots)):
            return True
    return False
