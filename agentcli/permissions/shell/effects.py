"""Effects of commands on files: known from options and operands for commands about files and git's records, or only destruction.

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

_COMMIT = """
-aqvsn -m:text -F:path --all --quiet --verbose --signoff --no-verify --message=text --file=path --author=text --date=text --allow-empty
--allow-empty-message --dry-run --trailer=text --no-gpg-sign --amend --no-edit --fixup=rev --squash=rev -C:rev --reuse-message=rev --reset-author
"""
_MERGING = "--continue --abort --skip --quit --no-edit --no-commit --signoff"
RECORDING: dict[str, tuple[Shape, ...]] = {
    "add": (
        Shape("-AuvnNf --all --update --verbose --dry-run --intent-to-add --force --renormalize --chmod=word", "rev*"),
    ),
    "commit": (Shape(_COMMIT, "rev*"),),
    "mv": (Shape("-kvn --verbose --dry-run", "path path path*"),),
    "rm": (Shape("-rqn --cached --quiet --dry-run --ignore-unmatch", "path path*"),),
    "branch": (Shape("-qt --quiet --track --no-track", "branch rev?"),),
    "tag": (Shape("-am:text --annotate --message=text", "branch rev?"),),
    "checkout": (
        Shape("-q -b:branch --quiet --track --no-track", "rev?", needs="-b"),
        Shape("-q --quiet --detach", "rev"),
    ),
    "switch": (
        Shape("-q -c:branch --create=branch --quiet --track --no-track", "rev?", needs="-c --create"),
        Shape("-q --quiet --detach", "rev"),
    ),
    "stash": (
        Shape("-ukqm:text"),
        Shape("-uq -m:text --include-untracked --keep-index --quiet --message=text", "=push rev*"),
        Shape("-q --index --quiet", "=pop|apply rev?"),
    ),
    "merge": (
        Shape(
            f"-qn -m:text --message=text --quiet --no-ff --ff --ff-only --squash --stat --no-stat --autostash {_MERGING}",
            "rev*",
        ),
    ),
    "rebase": (
        Shape("--continue --abort --skip --quit", needs="--continue --abort --skip --quit"),
        Shape("-q --quiet --autostash --no-autostash --onto=rev --onto:rev --keep-base --no-stat --stat", "rev rev?"),
    ),
    "cherry-pick": (Shape(f"-nx -m:number --mainline=number --allow-empty {_MERGING}", "rev*"),),
    "revert": (Shape(f"-n -m:number --mainline=number {_MERGING}", "rev*"),),
    "restore": (Shape("-Sq --staged --quiet", "rev rev*", needs="-S --staged"),),
    "reset": (
        Shape("-q --quiet"),
        Shape("-q --quiet", "=HEAD rev*"),
        Shape("-q --quiet --soft --mixed", "rev?", needs="--soft --mixed"),
    ),
}
"""Commands by which git records something and loses nothing that it does not keep."""
_OF_CONFLICT = "--ours --theirs --quiet -q"
DISCARDING: dict[str, tuple[Shape, ...]] = {
    "checkout": (Shape(_OF_CONFLICT, "rev rev*"),),
    "restore": (Shape("-qWSs:rev --worktree --staged --source=rev --quiet --ours --theirs", "rev rev*"),),
}
"""Commands by which git replaces files of the workspace, which only /undo could bring back."""


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
    return not isinstance(fitting, str) and _inside(fitting[1], folders, workspace, write=True)


def replaces_files(words: Sequence[str]) -> bool:
    """Return True if git, by its words, replaces files of the workspace by the ones of the repository."""
    return words[1] == "restore" or (words[1] == "checkout" and not {"--", "--ours", "--theirs"}.isdisjoint(words))


def records_in_git(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    """Return the reason why git does more than record, in a repository of the workspace that starts no program; or the empty string.

    If files can be restored, git may also replace them.
    """
    _, *arguments = words
    name = arguments[0] if arguments else ""
    replacing = workspace.undo is not None and bool(name) and replaces_files(words)
    shapes = (*RECORDING.get(name, ()), *(DISCARDING[name] if replacing else ()))
    fitting = fit(shapes, arguments[1:]) if shapes else ""
    if isinstance(fitting, str):
        return f"git {name} changes the repository".replace("  ", " ")
    if not _inside(fitting[1], folders, workspace, write=replacing or name in ("mv", "rm")):
        return f"git {name} leads outside the workspace"
    problems = (repository_problem(folder, workspace, name) or _tracking(arguments, folder) for folder in folders)
    return next(filter(None, problems), "")


def git_placed(words: Sequence[str], folders: Sequence[Path]) -> tuple[tuple[str, ...], list[Path]] | None:
    """Return a command of git without the options before its subcommand, and the folders it runs in; None if they do more than that."""
    rest, places = list(words[1:]), list(folders)
    while rest and rest[0].startswith("-") and rest[0] not in ("--version", "--help"):
        option = rest.pop(0)
        if option == "-C" and rest and UNKNOWN not in rest[0]:
            place = rest.pop(0)
            places = [folder / place for folder in places]
        elif option == "-c" and rest and _NAMING.fullmatch(rest[0]):
            rest.pop(0)
        elif option not in ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"):
            return None
    return (words[0], *rest), places


_NAMING = re.compile(
    r"(?:user\.(?:name|email)|color\.\w+|advice\.\w+|core\.(?:quotepath|abbrev))=[^`$]*|core\.pager=cat|core\.fsmonitor=false|commit\.gpgsign=false",
    re.IGNORECASE,
)
"""Settings on git's command line that start no program."""


def _tracking(arguments: Sequence[str], folder: Path) -> str:
    """Return the reason why a new branch would get an upstream, which git keeps in the config; or the empty string."""
    if arguments[0] not in ("checkout", "switch", "branch") or "--no-track" in arguments:
        return ""
    top = next((top for top in (folder, *folder.parents) if (top / ".git").is_dir()), None)
    remotes = top / ".git/refs/remotes" if top is not None else folder
    if top is None or not (remotes.is_dir() or "refs/remotes/" in _packed(top)):
        return ""
    operands = [word for word in arguments[1:] if not word.startswith("-")]
    creates = not {"-b", "-c", "--create"}.isdisjoint(arguments) or arguments[0] == "branch"
    start = operands[1:2] if creates else operands[:1]
    packed = _packed(top)
    for word in start:
        if creates and ((remotes / word).exists() or f" refs/remotes/{word}\n" in packed or "--track" in arguments):
            return f"git {arguments[0]} sets an upstream in the repository's config"
        local = (
            any((top / ".git" / kind / word).exists() for kind in (".", "refs/heads", "refs/tags"))
            or f"/{word}\n" in packed
        )
        if (
            not creates
            and not local
            and not (folder / word).exists()
            and not re.fullmatch(r"[0-9a-f]{4,40}|HEAD[~^\d]*|-|.*[@~^].*", word)
        ):
            return f"git {arguments[0]} may set an upstream in the repository's config"
    return ""


def _packed(top: Path) -> str:
    try:
        return (top / ".git/packed-refs").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _inside(found: Found, folders: Sequence[Path], workspace: Workspace, *, write: bool) -> bool:
    values = [value for kind, value in found if kind in ("path", "rev")]
    return all(
        judge_path(value, workspace, write=write, cwd=folder).verdict == "free"
        for value in values
        for folder in folders
    )


_COMMIT_HOOKS = word_set("pre-commit prepare-commit-msg commit-msg post-commit")
_HOOKS = {
    "commit": _COMMIT_HOOKS | {"post-rewrite", "pre-auto-gc"},
    "merge": _COMMIT_HOOKS | {"pre-merge-commit", "post-merge", "pre-auto-gc"},
    "rebase": _COMMIT_HOOKS | {"pre-rebase", "post-checkout", "post-rewrite", "pre-auto-gc"},
    "cherry-pick": _COMMIT_HOOKS,
    "revert": _COMMIT_HOOKS,
    "checkout": frozenset({"post-checkout"}),
    "switch": frozenset({"post-checkout"}),
}
"""Hooks that a command of git runs, beside those of every command that changes references or the index."""
_ALWAYS = frozenset({"reference-transaction", "post-index-change"})
_SIGNING = word_set("commit merge rebase cherry-pick revert tag")


def repository_problem(folder: Path, workspace: Workspace, subcommand: str) -> str:
    """Return the reason why git may start a program when it records in a folder, or write outside the workspace."""
    top = next((top for top in (folder, *folder.parents) if (top / ".git").exists()), None)
    inside = top is not None and any(root in (top, *top.parents) for root in workspace.resolved_roots)
    if top is None or not inside or (top / ".git").is_symlink() or not (top / ".git/config").is_file():
        return "the repository lies outside the workspace"
    if danger := workspace.git(folder).danger:
        return danger
    hooks = top / ".git/hooks"
    if not hooks.is_dir():
        return "the repository has no folder for hooks, which the sandbox could close"
    if top != next((above for above in (workspace.cwd, *workspace.cwd.parents) if (above / ".git").exists()), None):
        return "the repository is not the one around the current folder"
    settings = [text for file in _settings(top, workspace) if (text := _text(file))]
    if subcommand in _SIGNING and any(map(_SIGNS.search, settings)):
        return "git is set to run a program when it records (gpgsign)"
    chosen = next((found[-1] for text in settings if (found := _HOOKS_PATH.findall(text))), "")
    if chosen:
        hooks = Path(os.path.normpath(top / os.path.expanduser(chosen)))
    named = _HOOKS.get(subcommand, frozenset()) | _ALWAYS
    active = sorted(hook.name for hook in hooks.iterdir() if hook.name in named) if hooks.is_dir() else []
    return f"git runs the hook {active[0]} of the repository" if active else ""


_HOOKS_PATH = re.compile(r"^\s*hookspath\s*=\s*\"?([^\"\n#;]*?)\"?\s*$", re.IGNORECASE | re.MULTILINE)
_SIGNS = re.compile(r"^\s*gpgsign\s*(?:=(?!\s*(?:false|no|off|0)\b)|$)", re.IGNORECASE | re.MULTILINE)


def _settings(top: Path, workspace: Workspace) -> Sequence[Path]:
    """Return git's files of settings, the strongest first."""
    return (top / ".git/config", workspace.home / ".gitconfig", workspace.home / ".config/git/config")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


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
