"""Commands that a sandbox may run unasked: it contains them, and their changes in the workspace can be undone."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise
from pathlib import Path

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.tool import LinePart
from agentcli.permissions.exposed import has_secret_settings
from agentcli.permissions.paths import (
    Workspace,
    could_name_protected,
    is_shown,
    judge_entry,
    judge_path,
    names_protected,
)
from agentcli.permissions.sandbox.visible import SYSTEM
from agentcli.permissions.shell.effects.always_asked import gives_script, names_only
from agentcli.permissions.shell.effects.changes import (
    CHANGING,
    all_restorable,
    changes_inside,
    discarding_problem,
    in_tmp,
    loss,
    names_remover,
    overwriting_problem,
    removal_problem,
    replaces,
)
from agentcli.permissions.shell.effects.git_repositories import (
    begun_by,
    from_remote,
    git_placed,
    patches,
    records_in_git,
)
from agentcli.permissions.shell.effects.harmless_values import harmless_assignments
from agentcli.permissions.shell.effects.network_use import network_problem, only_fetches, remote_problem
from agentcli.permissions.shell.effects.private_tmp import TOP, seen_line
from agentcli.permissions.shell.effects.reading import STREAMS, Reader
from agentcli.permissions.shell.programs.administration import ends_jobs, found_by_name
from agentcli.permissions.shell.programs.git_table import GIT_READERS, SETTINGS_SHOWN, fits_git_reading, git_only_names
from agentcli.permissions.shell.programs.known_programs import (
    INTERPRETERS,
    SHELLS,
    WRAPPERS,
    command_name,
    is_ordinary,
    uses_network,
    word_set,
)
from agentcli.permissions.shell.programs.option_grammar import fit
from agentcli.permissions.shell.programs.readers import fits_reading
from agentcli.permissions.shell.syntax.parse import (
    UNKNOWN,
    Command,
    Part,
    assigned_words,
    assignments,
    below,
    parse,
    runs,
    source_of,
    starts_in_background,
    syntax_tree,
)
from agentcli.permissions.shell.syntax.values import BELOW, spread
from agentcli.permissions.shell.syntax.written_out import CHANGING as CHANGING_VARIABLES

_OUTSIDE = word_set("""
sudo doas su pkexec runuser systemctl service launchctl crontab at batch kill killall pkill skill reboot shutdown halt poweroff init
telinit mount umount swapon swapoff losetup modprobe insmod rmmod sysctl iptables ip6tables nft ufw firewall-cmd useradd userdel usermod
groupadd groupdel passwd chpasswd visudo chroot unshare nsenter setpriv lxc virsh machinectl loginctl hostnamectl timedatectl
defaults osascript xdg-open open gdbus dbus-send busctl notify-send wall write screen tmux ssh-add ssh-agent ssh-keygen ssh-copy-id gpg
bwrap firejail systemd-run security scutil networksetup diskutil fdisk sfdisk parted cryptsetup lvremove vgremove pvremove zpool zfs
""")
"""Programs that act on other programs, on the system, or with other rights: in the sandbox they would only fail."""
_MEANING = word_set("alias shopt enable hash")
"""Builtins that change the meaning of later words of the line."""
_FED = word_set("xargs parallel find fd fdfind")
"""Programs that complete a command with names that they read or find."""
_SYSTEM_PROGRAMS = ("/bin/", "/sbin/", "/usr/", "/opt/", "/nix/", "/run/current-system/", "/Applications/", "/System/")
_LONGEST_PATH = 4_096
"""Length of a text from which no system accepts it as a path."""
_TOKENS = re.compile(r"[\s'\"`()\[\]{},;=:<>|&!+$]+")


@dataclass(frozen=True, slots=True)
class Containment:
    """Verdict on a line in the sandbox."""

    why: str = ""
    """The reason to ask; empty if it may run."""
    records: bool = False
    """True if git commits in it."""
    reads: bool = False
    """True if every command only reads. It then runs as a read-only line, even if another process changes its paths."""
    mixed: bool = False
    """True if git commits beside other programs: no single sandbox is right, but the line may run in `parts`."""
    parts: tuple[LinePart, ...] = ()
    stores: bool = False
    """True if git does not change the work tree."""
    outside: bool = False
    """True if it runs outside the sandbox: it only reads elsewhere, or pushes."""
    switched: bool = False
    """True if it pushes whatever branch is current by then."""
    fresh: tuple[str, ...] = ()
    """Branches that it pushes and that do not exist yet."""
    takes: bool = False
    """True if it takes a file of the workspace elsewhere."""
    settled: bool = False
    """True if it acts as files of the workspace say."""


ASKED = Containment("no sandbox can contain it")


def containment(
    text: str,
    parts: Sequence[Part],
    whole: bool,
    plain: bool,
    places: Sequence[Sequence[Path]],
    workspace: Workspace,
    reader: Reader,
) -> Containment:
    """Judge a line as it would run in the sandbox.

    `whole` is true if `parts` are all commands that it runs, `plain` if it consists of words only. `places` are the
    folders in which each of its parts may run.
    """
    if (not whole or _renames(parts)) and _hides_loss(text, parts, places) and not all_restorable(workspace):
        return Containment("the line hides what it runs")
    written = parts
    if _looks_different(text, parts, places, workspace):
        text, parts, places = seen_line(text, parts, places, workspace)
    folders = list(dict.fromkeys(chain.from_iterable(places))) or [workspace.cwd]
    if why := _line_problem(text, folders, workspace):
        return Containment(why)
    begun = (
        there
        for part, at in zip(parts, places, strict=True)
        if "init" in part.texts
        for there in begun_by(part.texts, at)
    )
    workspace = replace(workspace, begun=tuple(begun))
    judged = [_judged(part, each, workspace, reader) for part, each in zip(parts, places, strict=True)]
    if why := next((one.why for one in judged if one.why), "") or _others_end(text, parts, workspace):
        return Containment(why)
    if why := scripts_problem(text, parts):
        return Containment(why)
    records = any(one.records for one in judged)
    only_git = all(one.records or one.trusted for one in judged)
    copies = bool(workspace.begun) and any(words[0] in ("cp", "mv") for part in parts for words in runs(part))
    known = only_git and not copies and (plain or (whole and _nothing_beside(text, parts, places, workspace)))
    if records and not (known and _compares_plainly(text)):
        return Containment("git changes the repository beside programs that are not known", mixed=True)
    # A command that only reads has a sandbox without the session's /tmp.
    return Containment(records=records, reads=plain and parts == written and all(one.reads for one in judged))


def _nothing_beside(text: str, parts: Sequence[Part], places: Sequence[Sequence[Path]], workspace: Workspace) -> bool:
    """Return True if the shell itself lets git read other settings nowhere in a line, and writes no protected file.

    `parts` are all its commands.
    """
    given = assignments(text, lambda name: _of_the_shell(name, workspace))
    if given is None or starts_in_background(text):
        return False
    folders = list(dict.fromkeys(chain.from_iterable(places)))
    if not all(_for_git(name) and harmless_assignments({name: value}, folders, workspace) for name, value in given):
        return False
    targets = (
        judge_path(piece.text, workspace, write=True, cwd=folder)
        for part, at in zip(parts, places, strict=True)
        for piece in part.writes
        if not STREAMS.fullmatch(piece.text)
        for folder in at
    )
    return all(piece.known for part in parts for piece in part.writes) and all(one.verdict == "free" for one in targets)


def _for_git(name: str) -> bool:
    """Return True if a variable leads git to no other settings, folders or programs, unless its value does."""
    return _GIT_VARIABLES.fullmatch(name) is not None or not (
        name.startswith(("GIT", "XDG")) or CHANGING_VARIABLES.fullmatch(name)
    )


def _of_the_shell(name: str, workspace: Workspace) -> bool:
    """Return True if a variable that is not exported changes nothing outside the words in which it is used."""
    given = workspace.shell_env() or workspace.command_env
    return _for_git(name) and not _READ_BY_MANY.fullmatch(name) and name not in given


_GIT_VARIABLES = re.compile(
    r"GIT_(?:TRACE\w*|(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)|(?:SEQUENCE_)?EDITOR|PAGER|MERGE_AUTOEDIT|TERMINAL_PROMPT|OPTIONAL_LOCKS)"
)
_READ_BY_MANY = re.compile(
    r"(?i:\w*(?:PAGER|EDITOR|VISUAL|ASKPASS|PROXY|LESS\w*|COLOR))|LC_\w+|LANG\w*|TERM\w*|USER|LOGNAME|TZ"
)
"""Variables that may be set for every command, so that git gets a new value."""
_SETTING = re.compile(r"[-+][eux]+o?|[-+]o|pipefail|errexit|nounset|xtrace")
"""Words of `set` by which a shell stops at an error, or prints its commands."""


def _renames(parts: Sequence[Part]) -> bool:
    """Return True if a command may change the meaning of later words of its line, or makes names a script."""
    return any(
        name in _MEANING or (name in SHELLS and _fills_in(part.texts, arguments))
        for part in parts
        for name, *arguments in runs(part)
    )


def _hides_loss(text: str, parts: Sequence[Part], places: Sequence[Sequence[Path]]) -> bool:
    """Return True if a hidden command of a line may remove files, or run what another one fetched.

    A sandbox contains all others as it contains a script.
    """
    fetched = (
        uses_network(words, folders) and only_fetches(words)  # any other use of the network asks by itself
        for part, folders in zip(parts, places, strict=True)
        for words in runs(part)
    )
    return names_remover(text) or any(fetched)


def _looks_different(text: str, parts: Sequence[Part], places: Sequence[Sequence[Path]], workspace: Workspace) -> bool:
    """Return True if a line may mean something else in the sandbox.

    It then mentions /tmp, or runs in another folder than the current one.
    """
    here = workspace.cwd
    if str(here) == TOP or any(folder != here for folders in places for folder in folders):
        return True
    pieces = (piece for part in parts for piece in (*part.words, *part.writes, *part.reads))
    return workspace.tmp is not None and (TOP in text or any(TOP in piece.text for piece in pieces))


def _line_problem(text: str, folders: Sequence[Path], workspace: Workspace) -> str:
    """Return the reason to ask about a line whatever its commands are: its folder, or a word that it assigns."""
    if any(_outside(str(folder), (folder,), workspace, reads=True) for folder in folders):
        return "the line leads outside the workspace"
    assigned = (
        form for word in assigned_words(text) for form in _listed(word) if not _only_named(form, text, workspace)
    )
    return next(filter(None, (_assigned_problem(word, folders, workspace) for word in assigned)), "")


def _assigned_problem(word: str, folders: Sequence[Path], workspace: Workspace) -> str:
    """Return the reason to ask about the value of a variable. One with blanks may be a path too."""
    if not any(map(str.isspace, word)):
        return _word_problem(word, folders, workspace, reads=True)
    path = word.startswith(("/", "~", "..")) and UNKNOWN not in word and "\n" not in word
    system = word.startswith(_SYSTEM_PROGRAMS) and ".." not in word
    away = path and not system and _outside(word, folders, workspace, reads=True)
    return f"{word} is outside the workspace" if away else ""


def _only_named(word: str, text: str, workspace: Workspace) -> bool:
    """Return True if a protected name is in a variable that only commands showing names get."""
    if not names_protected(word, write=False):
        return False
    from agentcli.permissions.shell.syntax.flow import runs_of  # 15 ms; few lines name such a file

    found = runs_of(text, workspace)
    taking = [run.words for run in found or () if any(word in each for each in run.words)]
    return bool(taking) and all(map(names_only, taking))


def _listed(word: str) -> Sequence[str]:
    """Return the paths of a list such as PATH, without folders of the system's programs; any other word alone."""
    places = word.split(":")
    if len(places) < 2 or not all(place.startswith(("/", "~", ".", UNKNOWN)) or not place for place in places):
        return (word,)
    return [place for place in places if not f"{place}/".startswith(_SYSTEM_PROGRAMS) or ".." in place]


@dataclass(frozen=True, slots=True)
class _Judged:
    why: str = ""
    records: bool = False
    trusted: bool = False
    """True if nothing from the workspace runs."""
    reads: bool = False


def _judged(part: Part, folders: Sequence[Path], workspace: Workspace, reader: Reader) -> _Judged:
    for piece in (*part.reads, *part.writes):
        if why := _target_problem(piece.text, piece in part.writes, folders, workspace):
            return _Judged(why)
    words = tuple(part.texts)
    if not words:
        return _Judged(trusted=True)
    command = Command(words, "", True)
    plain = all(piece.known and not piece.loose for piece in part.words)
    reading = reader.of(command, tuple(folders))
    if plain and reading.path:
        named = (word for word in words[1:] if not word.startswith(_SYSTEM_PROGRAMS) or ".." in word)
        why = next(filter(None, (_word_problem(word, folders, workspace, reads=True) for word in named)), "")
        # A link that leads out at the first look counts, even if another process has changed it since.
        by_name = any(word.startswith(("/", "~")) or ".." in word for word in words[1:])
        return _Judged(why or ("" if by_name else reading.why))
    if plain and (not reading.why or changes_inside(words, folders, workspace)):
        return _Judged(
            overwriting_problem(words, folders, workspace), trusted=True, reads=not reading.why and not part.writes
        )
    if words[0] == "git":
        return _git(words, folders, workspace)
    if (words[0] == "set" and all(map(_SETTING.fullmatch, words[1:]))) or _changes_nothing(part):
        return _Judged(trusted=True)
    # A program elsewhere runs where it can only read. One that fails there asks, and the answer may add the folder.
    if any(replaces(named[0]) for named in runs(part)) and any(_outside(".", (at,), workspace) for at in folders):
        return _Judged("the line leads outside the workspace")
    return _Judged(next(filter(None, _problems(part, words, folders, workspace)), ""))


def _changes_nothing(part: Part) -> bool:
    """Return True if a builtin prints its words, ends the line or compares (see `_compares_plainly`)."""
    return part.words[0].known and part.words[0].text in ("echo", "exit", "[")


def _compares_plainly(text: str) -> bool:
    """Return True if every `[ … ]` of a line compares or tests whole words.

    Other operators, such as `-v`, take a name in which the shell would run commands.
    """
    tests = (source_of(node) for node in below(syntax_tree(text)) if node.type == "test_command")
    return all(map(_COMPARISON.fullmatch, tests))


_OPERAND = r"""(?:"\$(?:\w+|\{\w+\})"|"[^"$`\\]*"|'[^']*'|[\w./-]+)"""
_COMPARISON = re.compile(
    rf"\[ +(?:! +)?(?:{_OPERAND} +(?:=|==|!=|-eq|-ne|-lt|-le|-gt|-ge)|-[zndfesrwx]) +{_OPERAND} +\]"
)


def _problems(part: Part, words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> Iterator[str]:
    yield _name_problem(words[0], folders, workspace)
    # A program `git-sync` is another one, to which the repository is closed.
    called = any(word.rpartition("/")[2] == "git" for word in words)
    for named in runs(part) if words[0] != "complete" else ():  # a shell without a terminal completes nothing
        name, *arguments = named
        if name in _OUTSIDE and not _ends_in_sandbox(named, workspace):
            yield f"{name} acts outside the sandbox"
        if name == "git" and called and (why := _git(("git", *arguments), folders, workspace, alone=False).why):
            yield why
        if uses_network(named, folders) and not (name == "git" and workspace.gated):
            yield "" if workspace.gated and only_fetches(named) else network_problem(named, workspace.loopback)
        yield removal_problem(name, arguments, part, folders, workspace)
    yield overwriting_problem(words, folders, workspace)
    if words[0] in CHANGING or not is_ordinary(words):
        yield from _word_problems(part, words, folders, workspace)


def _word_problems(part: Part, words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> Iterator[str]:
    started = {named[0] for named in runs(part)}
    changes = any(map(replaces, started))
    shown = not changes and bool(workspace.exposed.paths)
    for before, word in pairwise(words):
        called = "/" in word and "=" not in word and not word.startswith("-") and os.path.basename(word) in started
        if called and words[0] in WRAPPERS and not gives_script(words[0], before):
            yield _name_problem(word, folders, workspace)
            continue
        value = word.partition("=")[2] if word.startswith("-") else word
        if _leads_nowhere(value) and not changes:
            continue
        # What `cp` copies it only reads, as other programs do what the line names elsewhere.
        reads = shown or fits_reading(words[0], words) or (words[0] == "cp" and word is not words[-1])
        yield _word_problem(word, folders, workspace, reads=reads, named=names_only(words))


def _fills_in(words: Sequence[str], arguments: Sequence[str]) -> bool:
    """Return True if a program that reads or finds names makes them all or part of a script."""
    if words[0] not in _FED:
        return False
    script = arguments[1] if len(arguments) > 1 and arguments[0] == "-c" else "{}"
    return "{}" in script or (
        words[0] != "find" and any(word.startswith(("-I", "-i", "--replace", "--rep")) for word in words)
    )


def _others_end(text: str, parts: Sequence[Part], workspace: Workspace) -> str:
    """Return the reason to ask about a line that ends processes that it did not start."""
    ends = any(words[0] == "kill" and not ends_jobs(words) for part in parts for words in runs(part))
    # A command in a sandbox wrote the number into the file of the workspace: outside, it is another process's.
    files = [found["file"] for found in _OF_FILE.finditer(text)]
    own = all(judge_path(file, workspace, write=False).verdict == "free" for file in files)
    known = workspace.hides_processes and own and "kill" not in _OF_FILE.sub("", text)
    return "kill acts outside the sandbox" if ends and not known and not starts_in_background(text) else ""


_OF_FILE = re.compile(
    r"\bkill(?: -\w+)?(?: --)? (?P<quote>\"?)\$\((?:cat |< ?)(?P<more>\"?)(?P<file>[\w./~-]+)(?P=more)(?: 2>/dev/null)?\)(?P=quote)(?=\s|;|\Z)"
)
"""A command that ends the process whose number a file holds."""


def _ends_in_sandbox(words: Sequence[str], workspace: Workspace) -> bool:
    """Return True if a command ends only what runs in its own sandbox, if anything."""
    if words[0] == "kill":
        return _names_jobs(words[1:])
    return workspace.hides_processes and found_by_name(words, workspace) == {}


def _names_jobs(arguments: Sequence[str]) -> bool:
    """Return True if `kill` refers to processes by shell jobs: the sandbox has only its own."""
    named = [word for word in arguments if not word.startswith("-")]
    return bool(named) and all(UNKNOWN in word or word.startswith("%") for word in named)


def _git(words: Sequence[str], folders: Sequence[Path], workspace: Workspace, alone: bool = True) -> _Judged:
    """Judge a git command; `alone` is false if another program starts it, and the repository then stays closed.

    Reading commands may run: without write access to the repository, git can write no more than other programs.
    """
    placed_in = git_placed(words, folders)
    if placed_in is None:
        return _Judged("git is called in a way that is not known")
    words, folders = placed_in
    remote = uses_network(words, folders)
    if remote and (
        why := remote_problem(words, folders) if workspace.gated else f"{command_name(words)} uses the network"
    ):
        return _Judged(why)
    if words[1:2] == ("ls-remote",):
        return _Judged(next(filter(None, (workspace.git(folder).danger for folder in folders)), ""))
    if words[1:2] == ("clone",):
        return _clone(words, folders, workspace)
    named = git_only_names(words)
    reads = len(words) > 1 and (words[1] in _READING_GIT or fits_git_reading(words) or _shows_settings(words, folders))
    problems = (_word_problem(word, folders, workspace, follows=False, reads=reads, named=named) for word in words[2:])
    if why := next(filter(None, problems), ""):
        return _Judged(why)
    if any(_outside(str(folder), (folder,), workspace, reads) for folder in folders):
        return _Judged("git leads outside the workspace")
    if reads:
        return _Judged(_shown_in_git(words, folders, workspace))
    return _changing_git(words, folders, workspace, alone, remote)


def _changing_git(
    words: Sequence[str], folders: Sequence[Path], workspace: Workspace, alone: bool, remote: bool
) -> _Judged:
    """Judge a git command that may change something; `remote` is true if it uses the network."""
    if in_tmp([folder / "." / "x" for folder in folders], workspace) or patches(words):
        return _Judged()
    if not alone:
        return _Judged("git is called in a way that is not known")
    if any(UNKNOWN in word for word in words):
        return _Judged("git gets words that only the shell knows")
    if not workspace.records:
        return _Judged("git changes the repository, which this sandbox cannot open to git alone")
    if why := from_remote(words, folders, workspace) if remote else records_in_git(words, folders, workspace):
        return _Judged(why)
    if why := discarding_problem(words, folders, workspace):
        return _Judged(why)
    return _Judged(records=True)


def _clone(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> _Judged:
    """Judge a clone: it belongs into the session's /tmp, since a repository in the workspace could start programs."""
    target = words[-1]
    places = [folder / target for folder in folders]
    kept = in_tmp(places, workspace) and all(UNKNOWN not in word for word in words)
    return _Judged("" if kept else "git clones into another folder than /tmp")


_READING_GIT = (
    GIT_READERS.keys() - word_set("clean worktree symbolic-ref notes bisect branch tag remote stash reflog config")
) | word_set(
    "archive cat-file check-attr check-mailmap check-ref-format column fmt-merge-msg format-patch hash-object interpret-trailers"
    " mailinfo merge-tree patch-id stripspace verify-commit verify-tag"
)
"""Commands of git that change no repository, whatever their options."""


def _shows_settings(words: Sequence[str], folders: Sequence[Path]) -> bool:
    """Return True if git shows settings, and none of the repository's has credentials.

    The sandbox hides a person's own settings that have some.
    """
    if words[1] != "config" or isinstance(fit(SETTINGS_SHOWN, words[2:]), str):
        return False
    return not has_secret_settings(folders)


def _shown_in_git(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    """Return why a git command may show a protected file from the repository, or an empty string."""
    if words[1] in _WITHOUT_CONTENT:
        return ""
    reading = Reader(workspace).of(Command(tuple(words), "", True), tuple(folders))
    if not {"--no-index", "--untracked"}.isdisjoint(words) and (reading.why or "--untracked" in words):
        return f"git {words[1]} may show files that are not in the repository"
    if fits_git_reading(words):
        if not any(UNKNOWN in word for word in words):
            return reading.why if "protected" in reading.why else ""
    else:
        named = (
            folder / form for word in words[2:] for form in (word, word.partition("=")[2]) for folder in folders if form
        )
        files = filter(os.path.isfile, named)
        if why := next(filter(None, (loss(path, workspace) for path in files)), ""):
            return why
    secrets = (workspace.git(folder).secrets for folder in folders)
    shown = next((found[0] for found in secrets if found), "")
    return f"git {words[1]} may show {shown}, which is protected" if shown else ""


_WITHOUT_CONTENT = word_set("status rev-parse ls-files branch tag remote config describe merge-base help version")
"""Commands of git that show no content of files."""


def _name_problem(name: str, folders: Sequence[Path], workspace: Workspace) -> str:
    if "/" not in name or name.startswith(_SYSTEM_PROGRAMS):
        return ""
    # The interpreter of a virtual environment is a link into an installation, which the sandbox shows.
    found = (judge_path(name, workspace, write=False, cwd=folder) for folder in folders)
    shown = all(one.verdict == "outside" and is_shown(one.path, workspace) for one in found)
    return (
        ""
        if shown or _leads_nowhere(name) or not _outside(name, folders, workspace)
        else f"{name} lies outside the workspace"
    )


def _leads_nowhere(word: str) -> bool:
    """Return True if a word looks like a path whose first folder below the root does not exist.

    It is a route, a label or a command of another program. Nothing can be read or written there.
    """
    parts = [part for part in word.split("/") if part not in ("", ".")]
    if not word.startswith("/") or not parts or ".." in parts or UNKNOWN in word or _WILD.search(parts[0]):
        return False
    first = parts[0]
    return first.casefold() not in _TOP_FOLDERS and not os.path.lexists(f"/{first}")


_TOP_FOLDERS = {folder.parts[1].casefold() for folder in SYSTEM} | word_set(
    "home users root private volumes mnt media tmp var srv run proc boot workspace workspaces app repo data"
)
"""Folders of the root on some machine, with folders of work, in lower case."""


def _target_problem(text: str, write: bool, folders: Sequence[Path], workspace: Workspace) -> str:
    """Return the reason to ask about a redirection, or an empty string."""
    if UNKNOWN in text or STREAMS.fullmatch(text):
        return ""
    if _outside(text, folders, workspace, reads=not write):
        return f"{text} is outside the workspace"
    return next(filter(None, (loss(folder / text, workspace) for folder in folders)), "") if write else ""


def _word_problem(
    word: str,
    folders: Sequence[Path],
    workspace: Workspace,
    *,
    reads: bool,
    follows: bool = True,
    named: bool = False,
) -> str:
    """Return the reason to ask about a command's word.

    It refers to something outside the workspace, or to a protected file. `follows` is false for a program that follows
    no link matched by a pattern. `named` is true for one that uses only the names of files.
    """
    for form in (word, word.partition("=")[2]):
        if not form or UNKNOWN in form or STREAMS.fullmatch(form) or any(map(str.isspace, form)):
            continue
        if len(form) >= _LONGEST_PATH:
            continue
        values = spread((form,))
        hits = (names_protected(value, write=False) or could_name_protected(value, spread=True) for value in values)
        if not named and (hit := next(filter(None, hits), "") or ("" if BELOW not in "".join(values) else form)):
            return f"{hit} is protected"
        for meant in _named_by(form, folders) if follows else (form,):
            if _leads_out(meant, folders) and _outside(meant, folders, workspace, reads, named):
                return f"{meant} is outside the workspace"
    return ""


_MATCHES = 200
"""Maximum files matched by a pattern that are examined one by one."""


def _named_by(word: str, folders: Sequence[Path]) -> Iterator[str]:
    """Yield a word. If it has wildcards, add its current matches and the folder before the first wildcard."""
    yield word
    if wild := _WILD.search(word):
        yield word[: wild.start()].rpartition("/")[0] or "."
        for folder in folders:
            yield from islice(glob.iglob(word, root_dir=folder, include_hidden=True), _MATCHES)


_WILD = re.compile(r"[*?\[{]")


def _leads_out(word: str, folders: Sequence[Path]) -> bool:
    """Return True if a word is a path that may lead out of its folder.

    It is absolute, from the home folder, upwards, or through a link.
    """
    if word.startswith(("/", "~", "..", "$HOME")):
        return True
    before, up, _ = word.partition("/..")
    return any(os.path.lexists(folder / (before if up else word)) for folder in folders)


def _outside(
    word: str, folders: Sequence[Path], workspace: Workspace, reads: bool = False, named: bool = False
) -> bool:
    """Return True if a word leads outside the workspace.

    What the sandbox shows there is free for a command that only `reads`. One that only has a name `named` may be given
    a protected one.
    """
    found = (
        judge_entry(word, workspace, cwd=folder) if named else judge_path(word, workspace, write=False, cwd=folder)
        for folder in folders
    )
    away = (one for one in found if one.verdict != "free")
    return any(not reads or one.verdict != "outside" or not is_shown(one.path, workspace) for one in away)


def scripts_problem(text: str, parts: Sequence[Part]) -> str:
    """Return the reason to ask about a script on the line: it mentions a protected file."""
    names = {os.path.basename(part.words[0].text).rstrip("0123456789.") for part in parts if part.words}
    if names.isdisjoint(INTERPRETERS - {"sed", "awk", "jq"}) or "<<" not in text:
        return ""
    tokens = (token for given in _script_texts(text, parts) for token in _TOKENS.split(given))
    named = next((token for token in tokens if token and names_protected(token, write=True)), "")
    return f"{named} is protected" if named else ""


def _script_texts(text: str, parts: Sequence[Part]) -> Sequence[str]:
    """Return the texts in which a script may name files: input on the line, and values of variables.

    Return the whole line if the shell completes such an input, or the line cannot be told apart.
    """
    found: list[str] = []
    for line in (text, *(piece.text for part in parts for piece in part.words if "<<" in piece.text)):
        parsed = parse(line)
        inner = sum(piece.text.count("<<") for part in parsed.parts for piece in part.words)
        if not parsed.whole or line.count("<<") != len(parsed.fed) + inner or any(map(_EXPANDED.search, parsed.fed)):
            return (text,)
        found += [*parsed.fed, *assigned_words(line)]
    return found


_EXPANDED = re.compile(rf"[$`{UNKNOWN}]")
