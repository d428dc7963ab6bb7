"""Lines that must ask in every mode: they may show or change a protected file, or can only destroy.

Destruction is removing a whole important tree, overwriting a disk, or a fork bomb.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from agentcli.core.dataclass import replace
from agentcli.permissions.paths import (
    Workspace,
    below,
    could_name_protected,
    impossible,
    is_opened,
    judge_entry,
    judge_path,
    names_protected,
    resolved,
)
from agentcli.permissions.shell.effects.other_machine import is_key
from agentcli.permissions.shell.effects.reading import Reader, Reading
from agentcli.permissions.shell.programs.git_table import SETTINGS_SHOWN, fits_git_reading, git_only_names, leaves_out
from agentcli.permissions.shell.programs.known_programs import (
    KNOWN,
    SHELLS,
    WRAPPERS,
    is_interpreter,
    runs_a_file,
    uses_network,
    word_set,
)
from agentcli.permissions.shell.programs.option_grammar import fit
from agentcli.permissions.shell.programs.readers import fits_reading, shows_no_content
from agentcli.permissions.shell.syntax.parse import (
    UNKNOWN,
    Command,
    Part,
    Piece,
    assigned_words,
    contents,
    runs,
    told_only,
)
from agentcli.permissions.shell.syntax.values import BELOW, spread
from agentcli.system import probe

_READING = word_set("""
ls dir cat tac nl head tail wc stat du df realpath readlink strings od hexdump cksum sum md5sum sha1sum sha224sum sha256sum
sha384sum sha512sum b2sum shasum grep egrep fgrep rg cut tr comm join paste column fold fmt expand unexpand rev diff cmp jq basename
dirname echo printf test which type
""")
"""Programs that write no file, whatever their options: they only read a protected name among their words."""

_READING_GIT = word_set("add commit diff log show blame status grep ls-files check-ignore")
"""Git commands that change no file of the workspace, whatever their options."""

MOST_FOLDERS = 8
"""Maximum folders in which a line's commands are examined."""
_IN_SCRIPTS = re.compile(r"[\s'\"`()\[\]{},;=:<>|&!+]+")
_PROCESS_SECRETS = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?(?:environ|mem|root|cwd|fd)(?:/|\Z)")


def why_protected(
    text: str,
    readings: Sequence[Reading],
    parts: Sequence[Part],
    workspace: Workspace,
    reader: Reader,
    *,
    boxed: bool = False,
) -> str:
    """Return why the line must ask in every mode, or an empty string.

    `readings` is empty if the line is not understood. With `boxed` it would run in the sandbox. There no program can
    write an existing protected file, or anything outside the workspace. A program that is not known to change files may
    then be given its name. An interpreter may run a script outside the workspace: it only reads it.
    """
    if readings and not any(reading.why for reading in readings):
        return ""
    for reading in readings:
        if reading.protected:
            return reading.why
    folders, told = folders_of(parts, workspace), told_only(text, _only_shows)
    for part in parts:
        if why := _part_protected(part, folders, workspace, reader, feeds=part.words not in told, boxed=boxed):
            return why
    return ""


def _only_shows(part: Part) -> bool:
    """Return True if a command only reads, in any folder, or only shows names."""
    words = part.texts
    return bool(words) and (fits_reading(words[0], words) or names_only(words))


def names_only(words: Sequence[str]) -> bool:
    """Return True if a command shows only names, sizes and times of the files that it names."""
    return words[0] in _PRINTING or shows_no_content(words) or git_only_names(words)


_PRINTING = ("echo", "printf")
"""Programs that print their own words."""


def folders_of(parts: Sequence[Part], workspace: Workspace) -> list[Path]:
    """Return the folders in which a line's commands may run: each `cd` may fail."""
    folders = [workspace.cwd]
    for part in parts:
        values = [piece.text for piece in part.words if piece.known and not piece.text.startswith("-")]
        if len(values) == 2 and values[0] in ("cd", "pushd") and not impossible(values[1]):
            target = values[1].replace("$HOME", str(workspace.home))
            target = str(workspace.home) + target[1:] if target == "~" or target.startswith("~/") else target
            folders += [folder / target for folder in folders]
    return list(dict.fromkeys(folders))[:MOST_FOLDERS]


def _names_none(program: str, before: Piece, piece: Piece, workspace: Workspace) -> bool:
    """Return True for a word that names no file to read, such as a key that ssh only uses.

    A shell's script names none if all its commands are parts of the line, with words that are known.
    """
    key = program == "ssh" and before.text == "-i" and is_key(piece.text, workspace.home)
    return (
        key
        or (program == "gh" and before.text in ("-q", "--jq"))
        or (_is_script(program, before, piece) and _is_plain(piece.text))
    )


def _is_script(program: str, before: Piece, piece: Piece) -> bool:
    """Return True for the word with the script of a shell."""
    return gives_script(program, before.text) and piece.known


def gives_script(program: str, option: str) -> bool:
    """Return True if the word behind this option is a script for this shell."""
    return os.path.basename(program) in _SHELLS and _GIVES_SCRIPT.fullmatch(option) is not None


_SHELLS = SHELLS - {"fish", "busybox"}
_GIVES_SCRIPT = re.compile(r"-[a-z]*c")


def _is_plain(script: str) -> bool:
    """Return True if a script consists of commands with known words, and sets no variable."""
    parts, whole = contents(script)
    return whole and not assigned_words(script) and all(map(_all_known, parts))


def _all_known(part: Part) -> bool:
    return all(piece.known and not piece.loose for piece in (*part.words, *part.reads, *part.writes))


def _part_protected(
    part: Part, folders: Sequence[Path], workspace: Workspace, reader: Reader, *, feeds: bool, boxed: bool
) -> str:
    values = part.texts
    entries = bool(values) and names_only(values)
    words = () if entries and not feeds else part.words[1:]
    words = tuple(
        piece
        for before, piece in pairwise(part.words)
        if piece in words and not _names_none(values[0], before, piece, workspace)
    )
    for piece in (*words, *part.reads, *part.writes):
        if piece.loose and _could_stand_for_protected(piece.text):
            return f"{piece.text} may match a protected file"
    alone = len(folders) == 1 and not part.writes and not part.reads
    if values and not entries and alone and all(piece.known for piece in part.words):
        ((reading, _),) = reader.in_turn((Command(tuple(values), "", True),))
        if not reading.why or reading.protected:
            return reading.why
    name = os.path.basename(values[0]) if values else ""
    reads = name in _READING or fits_reading(name, values) or (name == "git" and _only_shows_git(values))
    if name == "git" and not fits_git_reading(values):
        workspace = replace(workspace, opened=tuple)  # it may record what it reads
    tries = boxed and not reads and _changes_unknown(part)
    starts = is_interpreter(name) or name == "." if boxed else runs_a_file(name)
    script = next(iter(part.words[1:2]), None) if starts and all(piece.known for piece in part.words[:2]) else None
    runs = script is not None and all(_is_outside(script.text, folder, workspace) for folder in folders)
    targets = [(piece.text, not reads and not (runs and piece is script)) for piece in words]
    targets += [(piece.text, True) for piece in part.writes]
    if entries and not feeds and (why := _entry_protected(values, folders, workspace)):
        return why
    scripts = [piece.text for before, piece in pairwise(part.words) if boxed and _is_script(values[0], before, piece)]
    for word, write in [*targets, *((piece.text, False) for piece in part.reads)]:
        for candidate in dict.fromkeys((*paths_in(word), *_quoted_in(name, word))):
            for folder in folders:
                closed = tries and os.path.lexists(folder / os.path.expanduser(candidate))
                closed = closed or (word in scripts and _is_outside(candidate, folder, workspace))
                if why := _word_protected(candidate, write and not closed, folder, workspace):
                    return why
    return ""


def _only_shows_git(values: Sequence[str]) -> bool:
    """Return True if a git command changes no file of the workspace, whatever the files that it names."""
    words = values[1:]  # options before the command may start programs, or lead into a protected folder
    if not words:
        return False
    shows = words[0] == "config" and not isinstance(fit(SETTINGS_SHOWN, words[1:]), str)
    return words[0] in _READING_GIT or shows or fits_git_reading(values)


def _changes_unknown(part: Part) -> bool:
    """Return True if nothing says that a command changes files, uses the network or runs a script.

    Its first words tell, as in `tool rm a.txt`.
    """
    words = [os.path.basename(piece.text) for piece in part.words]
    plain = bool(words) and all(piece.known for piece in part.words) and not part.writes
    if not plain or words[0] in _TOLD or not _CHANGING.isdisjoint(words[1:3]):
        return False
    writes = any(piece.text.startswith(("-o", "--out")) for piece in part.words)
    return not writes and not any(map(is_interpreter, words[:3])) and not uses_network(words, ())


def _is_outside(word: str, folder: Path, workspace: Workspace) -> bool:
    """Return True if a word names a path outside the workspace and temporary files, wherever its links lead."""
    named = os.path.normpath(folder / os.path.expanduser(word))
    tops = [*workspace.roots, *workspace.resolved_roots, workspace.cwd, Path("/tmp"), *filter(None, [workspace.tmp])]
    return not impossible(named) and not any(below(path, tops) for path in (named, resolved(named)))


_CHANGING = word_set("""
git cp mv ln rm rmdir chmod chown chgrp tee dd install patch sed ex ed vi vim nvim emacs nano touch mkdir unlink shred truncate
rsync tar unzip cpio sponge write edit apply fix format fmt add set remove delete update create init reset clean
""")
_TOLD = _CHANGING | KNOWN | WRAPPERS | SHELLS
"""Programs, and commands of programs, of which one knows that they change files or run others."""


def _entry_protected(values: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    """Return why a command that shows no content must ask about a name that it shows."""
    if values[0] in _PRINTING:
        return ""
    named = (word for word in values[1:] if not word.startswith("-"))
    shown = (judge_entry(word, workspace, cwd=folder) for word in named for folder in folders)
    return next((verdict.why for verdict in shown if verdict.verdict == "protected"), "")


def _could_stand_for_protected(text: str) -> bool:
    """Return True if the shell may substitute a protected name for a word with wildcards or braces."""
    words = spread((text,))
    if any(BELOW in word for word in words):
        return True
    return any(
        could_name_protected(word, spread=True) or (len(words) > 1 and names_protected(word, write=True))
        for word in words
    )


def _quoted_in(name: str, word: str) -> Iterator[str]:
    """Yield possible names in an interpreter's script: `python -c 'open(".env")'`."""
    if is_interpreter(name):
        yield from (token for token in _IN_SCRIPTS.split(word) if token and token != word)


def paths_in(word: str) -> Iterator[str]:
    """Yield possible paths in a word of an unknown command.

    They are the word, and its part after `=`, `:`, `@` or an option's letter. A pathspec that excludes files from git's
    output contains none.
    """
    if leaves_out(word):
        return iter(())
    forms = [word, word.partition("=")[2], word.rpartition(":")[2], word.rpartition("@")[2], word.lstrip("@<>")]
    if len(word) > 2 and word[0] == "-" and word[1] != "-":
        forms.append(word[2:])
    return (
        form for form in dict.fromkeys(forms) if form and len(form) < 4096 and not {"\n", "\t"} & set(form.strip("\t"))
    )


def _word_protected(text: str, write: bool, folder: Path, workspace: Workspace) -> str:
    top = next((f"{root}/" for root in workspace.resolved_roots if text.startswith(f"{root}/")), "")
    named = names_protected(text.removeprefix(top), write=write)
    if named and (write or not is_opened(folder / os.path.expanduser(text), workspace)):
        return f"{named} is protected"
    if UNKNOWN in text or text.startswith("-"):
        return ""
    verdict = judge_path(text, workspace, write=write, cwd=folder)
    secret = verdict.verdict == "refused" and _PROCESS_SECRETS.match(os.path.normpath(folder / text))
    return verdict.why if secret or verdict.verdict == "protected" else ""


# Destruction


_FORMATTING = re.compile(r"mkfs(?:\..*)?|mke2fs|mkswap|mkdosfs|mkntfs|newfs(?:_.*)?|wipefs|blkdiscard")
_DEVICE = re.compile(r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|r?disk|dm-|md|mapper/|mem$|kmem$|port$)")
_FORK_BOMB = re.compile(
    r"(?<![\w:.])([\w:.]+)\s*\(\)\s*\{[^}]*(?<![\w:.])\1\s*(?:\|\s*\1|&)"
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
    """Return why a line can only destroy, or an empty string."""
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
    """Return the parts of the line with the values of its own plain assignments: `D=/; rm -rf $D`."""
    values = {match[1]: match[2] or match[3] or match[4] or "" for match in _ASSIGNED.finditer(text)}
    filled = text
    for name, value in values.items():
        for form in (rf"\$\{{{name}\}}", rf"\${name}\b"):
            filled = re.sub(form, value.replace("\\", r"\\"), filled)
    return contents(filled)[0] if filled != text else ()


def _printed(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield the commands in texts that the line prints for a shell: `echo 'rm -rf /' | sh`."""
    if any(words[0] in SHELLS for part in parts for words in runs(part)):
        texts = (piece.text for part in parts if _name(part) in ("echo", "printf") for piece in part.words[1:])
        for text in texts:
            yield from contents(text)[0] if " " in text else ()


def _folders(text: str, parts: Sequence[Part], workspace: Workspace) -> list[Path]:
    """Return the folders in which a command of the line may run. A failed `cd` stays in its folder."""
    folder, left = workspace.cwd, []
    for part in parts:
        values = part.texts
        if len(values) == 2 and values[0] in ("cd", "pushd") and UNKNOWN not in values[1] and not impossible(values[1]):
            target = _at(values[1], folder, workspace)
            if not probe.is_dir(target) and not re.search(rf"cd\s+\S*{re.escape(values[1])}\S*\s*&&", text):
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
    """Return the device to which a command writes, or an empty string."""
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
    """Return the operand that is an important tree; the workspace and its repository count only if `own`."""
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
