"""Rules about a whole program: `pnpm *`, `docker exec *`, `git commit *`, `rm *`.

Such a rule lasts for all arguments, in lines of every form. What it covers depends on what the program can do. Task
runners, package managers, containers and unknown programs may run any code, but not publish. Git and clients of
services have no words that force, discard or delete. Commands about files act in the workspace and on temporary files.

Programs that only start others, act as root, or send what they are given have none.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from itertools import dropwhile, pairwise
from pathlib import Path

from agentcli.core.dataclass import dataclass, replace
from agentcli.permissions.exposed import has_secret_settings
from agentcli.permissions.paths import UndoCover, Workspace, judge_path
from agentcli.permissions.shell.effects.changes import CHANGING, changes_inside, loss, matches
from agentcli.permissions.shell.effects.consequences import named_consequence
from agentcli.permissions.shell.effects.containers import empties_data
from agentcli.permissions.shell.effects.covered import why_uncovered
from agentcli.permissions.shell.effects.git_repositories import git_placed, replaces_files
from agentcli.permissions.shell.effects.network_use import local_server
from agentcli.permissions.shell.effects.other_machine import SETTING, machine, secret_there, visit
from agentcli.permissions.shell.effects.prefixes import interpreter_of, runs_code
from agentcli.permissions.shell.effects.reaching import is_temporary
from agentcli.permissions.shell.effects.starting import starts_another
from agentcli.permissions.shell.programs.administration import BY_NUMBER, RIGHTS, administers, numbers_ended
from agentcli.permissions.shell.programs.forge import COMMENTS, REVIEW_THREADS, reads_forge, writes_forge
from agentcli.permissions.shell.programs.git_table import SETTINGS_SHOWN
from agentcli.permissions.shell.programs.known_programs import (
    BUILTINS,
    CLIENTS,
    EVALUATING,
    FETCHING,
    MARKS,
    NETWORK,
    ORDINARY,
    SHELLS,
    WRAPPERS,
    is_interpreter,
    word_set,
)
from agentcli.permissions.shell.programs.option_grammar import Shape, fit
from agentcli.permissions.shell.programs.readers import READERS
from agentcli.permissions.shell.syntax.file_names import read_both
from agentcli.permissions.shell.syntax.parse import UNKNOWN, Command, Part, Piece, contents, runs


@dataclass(frozen=True, slots=True)
class Whole:
    """The rule about a whole program that covers a command."""

    pattern: str
    code: bool = False
    """True if the program can run any code: then its rule covers whatever its line could do."""
    exact: bool = False
    """True if it covers only words that the shell does not take apart."""
    also: str = ""
    """The pattern of another rule that covers the command."""


def whole_program_of(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> Whole | None:
    """Return the rule about a whole program that covers a command in all of these folders; None if none may."""
    found = _as_written(words, folders, workspace)
    if found is None or not found.exact:
        return found
    both = read_both(words, folders, workspace)
    same = not isinstance(both, str) and all(_as_written(each, folders, workspace) == found for each in both[1:])
    return found if same else None


def _as_written(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> Whole | None:
    """Return the same for words in which the shell substitutes no file names."""
    if not words or UNKNOWN in words[0] or not _NAME.fullmatch(words[0]):
        return None
    name = os.path.basename(words[0])
    if words[0] in ("source", "."):
        return _sourced(words, folders, workspace)
    if name == "git":
        return _git(words, folders, workspace)
    if name in FILE_PROGRAMS:
        return _of_files(words, folders, workspace) if words[0] == name else None
    if name in _FORGES:
        return _forge(words)
    if name in _ENGINES:
        return _engine(words)
    if words[0] in ("ssh", "scp"):
        return _on_machine(words, folders, workspace)
    if words[0] == "kill":
        return Whole(BY_NUMBER, exact=True) if numbers_ended(words) else None
    if words[0] == "curl":
        return _local_request(words, folders, workspace)
    if name in NETWORK - _PACKAGES:
        return _service(words)
    return _any_code(words, folders, workspace)


_NAME = re.compile(r"(?!-)[\w.~/+-]+")
_VERB = re.compile(r"[a-z][a-z0-9-]*")
PUSHES = "git push *"
"""Pattern of the rule about all pushes that are not forced."""
_STARTING_ANY = (WRAPPERS | SHELLS | BUILTINS | EVALUATING | RIGHTS) - word_set(
    "mise asdf npx bunx uvx pipx pnpx direnv tmux xvfb-run"
)
"""Programs that are other programs' names or rights: a rule about them would be one about everything."""
_PACKAGES = word_set("pip pip3 gem")
_ALONE = word_set(
    "dd shred srm wipe mkfs kill killall pkill crontab at batch truncate install patch rsync less more man"
)
"""Programs that are approved each time: they end what others started, or keep nothing of what they replace."""
_OTHERS_SEE = word_set("""
publish unpublish deprecate undeprecate owner access token login logout adduser dist-tag team yank star unstar profile hook trust push
""")
"""Commands of package managers that change what others get, or a person's account."""
_REMOVING = re.compile(
    r"(?:delete|destroy|remove|purge|drop|terminate|uninstall|prune|archive|transfer|rm|rmi|rb|reset|revoke|rollback|down|drain|cordon|unlink)"
    r"(?:-.*|s)?"
)
"""Verbs with which a client of a service removes what nobody can restore here."""


def meaning(patterns: Sequence[str]) -> str:
    """Return what rules about whole programs allow, in a person's words."""
    together = set(patterns) >= OF_FILES
    patterns = [pattern for pattern in patterns if not together or pattern not in OF_FILES]
    code = [pattern.removesuffix(" *") for pattern in patterns if not _limit(pattern)]
    said = [f"`{pattern.removesuffix(' *')}` {_limit(pattern)}" for pattern in patterns if _limit(pattern)]
    if code:
        names = (f"`{one}`{' (any version)' if interpreter_of(one) else ''}" for one in code)
        said.append(f"{', '.join(names)} with any arguments and code (whatever you can do)")
    if together:
        names = (f"`{pattern.removesuffix(' *')}`" for pattern in sorted(OF_FILES))
        said.append(f"changes of files in the workspace and temporary files ({', '.join(names)}, `>`)")
    return "; ".join(said)


def _limit(pattern: str) -> str:
    """Return what a rule about a program with limits allows; empty for one that can run any code."""
    name, *more = pattern.split(" ")
    if name in ("eval", "export", "source") and not pattern.endswith(" *"):
        return f"at the beginning of a line{' (what it prints runs)' if name == 'eval' else ''}"
    if pattern == PUSHES:
        return "but not forced"
    if pattern == BY_NUMBER:
        return "of processes by number, also of those that `lsof` or `pgrep` finds"
    if name == "git":
        return "but not pushes, nor what discards or deletes"
    if name in _FORGES:
        return "but not what deletes (others see what it changes)"
    if name == "ssh":
        return "with any command there (whatever you can do), but not what deletes or ends something by name"
    if name == "curl":
        return "for requests with files of the workspace and temporary ones"
    if name == "scp":
        return "for copies between there and the workspace or temporary files"
    if name in FILE_PROGRAMS:
        return "in the workspace and temporary files"
    return "with any arguments, but not what deletes" if name in _SERVICES and more else ""


def _sourced(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> Whole | None:
    """Return the rule about a script of the workspace that the shell itself runs."""
    if len(words) != 2 or not _NAME.fullmatch(words[1]):
        return None
    inside = all(judge_path(words[1], workspace, write=False, cwd=folder).verdict == "free" for folder in folders)
    return Whole(f"{words[0]} {words[1]} *", code=True) if inside else None


def words_change_files(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True for a command that only makes, changes or moves files in the workspace, or temporary ones."""
    if not words or words[0] not in _CHANGING_FILES:
        return False
    return whole_program_of(words, folders, workspace) is not None


_CHANGING_FILES = CHANGING.keys() - {"chmod"}
"""Commands about files that remove none with content."""


def _any_code(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> Whole | None:
    """Return the rule about a program that may run any code, or of which nothing is known."""
    if pattern := runs_code(words):
        return Whole(f"{words[0]} *" if pattern.count(" ") > 1 else pattern, code=True)
    name = os.path.basename(words[0])
    if words[0] == "fish" and not _COMMANDS.isdisjoint(words):
        return _fish(words)
    if words[0] in _SCRIPT_SHELLS:
        return _script_by_shell(words[1:], folders, workspace)
    if name in _STARTING_ANY | _ALONE or name in MARKS or _only_reads(name):
        return None
    if administers(name, words[1:], workspace) or administers(name, ("x",), workspace):
        return None
    if any(map(_others_see, runs(Part(tuple(map(Piece, words)))))):
        return None
    verbs = [word for word in words[1:] if not word.startswith("-")][:2]
    others = not (_OTHERS_SEE | _DEPLOYING).isdisjoint(verbs) or any(map(_REMOVING.fullmatch, verbs))
    beside = "" if others else _beside(words[0], folders, workspace)
    return Whole(f"{beside or words[0]} *", code=True, also=f"{_SAME.get(words[0], words[0])} *")


def _others_see(words: Sequence[str]) -> bool:
    """Return True for a command of a package manager that changes what others get, or a person's account."""
    verbs = [word for word in words[1:] if not word.startswith("-")][:2]
    # The word after an option may be its value.
    apart = [after for before, after in pairwise(words) if not (before.startswith("-") or after.startswith("-"))][:2]
    return words[0].partition("@")[0] in FETCHING and not _OTHERS_SEE.isdisjoint((*verbs, *apart))


_RUNNERS = {"npm": "npx", "pnpm": "pnpx", "bun": "bunx", "uv": "uvx"}
_SAME = _RUNNERS | {runner: manager for manager, runner in _RUNNERS.items()}
"""Two names of a program that runs any package, and so the other, too: `npm exec npx`, `npx npm test`."""


_DEPLOYING = word_set("deploy release")


_COMMANDS = word_set("-c -ic -Nc --command")


def _fish(words: Sequence[str]) -> Whole | None:
    """Return the rule about fish with any code: it has a language of its own, like `python3 -c`.

    A text in it that names a command with known consequences is not covered.
    """
    texts = [after for word, after in pairwise(words) if word in _COMMANDS]
    parts = [part for text in texts for part in contents(text, completions=False)[0]]
    started = [inner for part in parts if part.words for inner in (part.texts, *runs(part))]
    if any(UNKNOWN in word for word in words) or any(named_consequence(inner, ()) for inner in started if inner):
        return None
    return Whole("fish *", code=True)


def _script_by_shell(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> Whole | None:
    """Return the rule about a script of the workspace that a shell runs: that of a call by its path."""
    given = list(dropwhile(_SHOWING.fullmatch, words))
    if not given or UNKNOWN in given[0] or not all(os.path.isfile(folder / given[0]) for folder in folders):
        return None
    program = given[0] if "/" in given[0] else f"./{given[0]}"
    found = _as_written((program, *given[1:]), folders, workspace)
    return found if found is not None and found.code and _beside(program, folders, workspace) else None


_SCRIPT_SHELLS = word_set("bash sh zsh dash ksh fish")
_SHOWING = re.compile(r"-[euvx]+")
"""Options with which a shell stops at errors, or shows what it runs."""


def _beside(program: str, folders: Sequence[Path], workspace: Workspace) -> str:
    """Return the pattern of the programs beside one that a line calls by its path in the workspace: `./scripts/*`.

    Return an empty text for other programs.
    """
    if "/" not in program or ".." in program.split("/") or program.startswith("~"):
        return ""
    top = workspace.roots[0]
    places = {os.path.normpath(folder / program) for folder in folders}
    found = next(iter(places)) if len(places) == 1 else ""
    if not found.startswith(f"{top}/") or judge_path(found, workspace, write=False).verdict != "free":
        return ""
    inside = os.path.relpath(os.path.dirname(found), top)
    return "./*" if inside == "." else f"./{inside}/*"


def _only_reads(name: str) -> bool:
    """Return True for a program whose purpose is to read: a rule about any code would say too much."""
    shapes = READERS.get(name, ())
    by_exception = all(shape.needs or shape.operands.startswith("=") for shape in shapes)
    return (
        bool(shapes) and not by_exception and name not in ORDINARY and name not in FETCHING and not is_interpreter(name)
    )


def _engine(words: Sequence[str]) -> Whole | None:
    """Return the rule about a command of a container engine: its containers run any code."""
    verb = words[1] if len(words) > 1 else ""
    named = [word for word in words[2:] if not word.startswith("-")][:1]
    removes = any(map(_REMOVING.fullmatch, (verb, *named))) and verb not in ("exec", "cp", "run")
    volumes = verb == "compose" and not {"down", "rm", "-v", "--volumes"}.isdisjoint(words[2:])
    if removes or volumes or not _VERB.fullmatch(verb) or verb in _OTHERS_SEE:
        return None
    return Whole(f"{words[0]} *", code=True)


def _on_machine(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> Whole | None:
    """Return the rule about all commands on another machine (`ssh HOST *`) or copies (`scp HOST *`).

    It covers nothing that deletes, discards or ends something there, or needs other rights.
    """
    if any(UNKNOWN in word for word in words):
        return None
    if words[0] == "scp":
        return _copied(words, folders, workspace)
    there = visit(Command(tuple(words), "", True), workspace.home)
    if there is None or not there.host or there.text is None:
        return None
    parts, whole = contents(there.text)
    hidden = any(not piece.known for part in parts for piece in part.words[:1])
    fed = re.fullmatch(r"(?:ba|z)?sh(?: -[ls]+)*", there.text)
    started = [words for part in parts for words in (part.texts, *runs(part))]
    if not (whole or fed) or hidden or any(is_final(words, workspace) for words in started):
        return None
    if empties_data(there.text):
        return None
    return Whole(f"ssh {there.host} *", exact=True)


def is_final(words: Sequence[str], workspace: Workspace) -> bool:
    """Return True for a command of which nothing can be taken back on another machine, or whose name is unknown."""
    name = os.path.basename("".join(words[:1]))
    why = f"{named_consequence(words, ())}; {administers(name, words[1:], workspace)}"
    verbs = [word for word in words[1:] if not word.startswith("-")][:2]
    removes = name in _ENGINES | _SERVICES and any(map(_REMOVING.fullmatch, verbs))
    stops = name == "systemctl" and not _STOPPING.isdisjoint(words)
    return removes or stops or UNKNOWN in name or any(end in why for end in _FINAL)


def _copied(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> Whole | None:
    fitting = fit((Shape("-qrpC346 -o:path", "text text*"),), list(words[1:]))
    paths = [value for kind, value in fitting[1] if kind == "text"] if not isinstance(fitting, str) else []
    if not isinstance(fitting, str) and not all(
        SETTING.fullmatch(value) for kind, value in fitting[1] if kind == "path"
    ):
        return None
    away = [found for word in paths if (found := _AWAY.fullmatch(word))]
    here = [word for word in paths if ":" not in word]
    hosts = {machine(found[1].rpartition("@")[2]) for found in away}
    if len(hosts) != 1 or "" in hosts or len(away) + len(here) != len(paths):
        return None
    sends = paths[-1] not in here
    if not here or (sends and len(away) > 1) or any(secret_there(found[2], names_only=False) for found in away):
        return None
    free = all(
        _is_sendable(word, folders, workspace) if sends else may_write(word, folders, workspace) for word in here
    )
    return Whole(f"scp {hosts.pop()} *", exact=True) if free else None


def _is_sendable(path: str, folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if a path is a free or temporary file from each of these folders. A folder may hold secrets."""
    return all(
        os.path.isfile(at / path)
        and (
            judge_path(path, workspace, write=False, cwd=at).verdict == "free"
            or is_temporary(f"{at / path}", workspace)
        )
        for at in folders
    )


_AWAY = re.compile(r"((?:[\w.-]+@)?[\w.-]+):([^:]*)")
_FINAL = (
    "deletes",
    "discards",
    "another user",
    "ends processes",
    "permissions",
    "the remote",
    "root's powers",
    "removes",
)
"""Consequences of which nothing can be taken back on another machine."""
_STOPPING = word_set("poweroff reboot halt kexec suspend hibernate rescue emergency isolate mask")
"""Commands to systemd after which the machine may not answer."""


def _service(words: Sequence[str]) -> Whole | None:
    """Return the rule about a command of a client of a service, such as `kubectl get *`."""
    verb = words[1] if len(words) > 1 else ""
    if words[0] not in _SERVICES or not _VERB.fullmatch(verb) or any(UNKNOWN in word for word in words):
        return None
    return None if any(map(_REMOVING.fullmatch, words[1:])) else Whole(f"{words[0]} {verb} *", exact=True)


def _local_request(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> Whole | None:
    """Return the rule about all requests to the one local server that a command of curl queries.

    It covers files of the workspace and temporary ones that the command sends, or writes the answers to.
    """
    server = local_server(words)
    hidden = [word for word in words if UNKNOWN in word and word.startswith(("-", UNKNOWN))]
    rest, arguments = [words[0]], list(words[1:])
    while arguments:
        option = arguments.pop(0)
        value = arguments[0] if arguments and option in _WITH_FILE else ""
        if option in _ANSWERS and value:
            allowed = may_write(value, folders, workspace)
        elif option in _COOKIES and value:
            allowed = "=" in value or may_write(value, folders, workspace)
        elif value.startswith("@"):
            allowed = _is_sendable(value[1:], folders, workspace)
        else:
            rest.append(option)
            continue
        if not allowed:
            return None
        arguments.pop(0)
    if not server or hidden or why_uncovered(f"curl *{server}*", rest, folders, workspace):
        return None
    return Whole(f"curl *{server}*", exact=True)


_ANSWERS = word_set("-o --output -c --cookie-jar -D --dump-header")
"""Options of curl whose file it writes."""
_COOKIES = word_set("-b --cookie")
_WITH_FILE = _ANSWERS | _COOKIES | word_set("-d --data --data-binary --json")
_FORGES = word_set("gh glab")
_SERVICES = (CLIENTS - _FORGES) | word_set("terraform twine")
_ENGINES = word_set("docker podman")
_ACCOUNT = word_set("auth secret variable ssh-key gpg-key config alias extension codespace api")
"""Nouns of a forge's client that are about keys, or start programs."""


def _forge(words: Sequence[str]) -> Whole | None:
    """Return the rule about a forge, `gh *`, or about another repository there, `gh --repo X *`."""
    noun, verb = [*words[1:3], "", ""][:2]
    known = not any(UNKNOWN in word for word in words)
    reads = known and (reads_forge(words) or list(words[2:]) == ["--help"])
    if noun == "api" and not reads:
        return _called(words)
    if not reads and (
        noun in _ACCOUNT or not _VERB.fullmatch(noun) or not _VERB.fullmatch(verb) or _REMOVING.fullmatch(verb)
    ):
        return None
    if any(
        word.startswith(("--delete", "--admin", "--visibility", "--public")) and word != "--delete-branch"
        for word in words
    ):
        return None
    elsewhere = [after for word, after in zip(words, [*words[1:], ""], strict=True) if word in ("-R", "--repo")]
    elsewhere += [word.partition("=")[2] for word in words if word.startswith("--repo=")]
    elsewhere += [word[2:] for word in words if word.startswith("-R") and len(word) > 2]
    if any(not _REPOSITORY.fullmatch(value) for value in elsewhere):
        return None
    pattern = " ".join((words[0], *(f"--repo {value}" for value in elsewhere[:1]), "*"))
    return Whole(pattern, also=f"{words[0]} *" if reads else "")


_REPOSITORY = re.compile(r"[\w.-]+(?:/[\w.-]+)+")


def _called(words: Sequence[str]) -> Whole | None:
    """Return the rule about a request to a forge's interface that only reads, or writes a comment."""
    pairs = list(pairwise(words))
    unknown = [(option, word) for option, word in pairs if UNKNOWN in word]
    # A raw field is sent as it is, but its text could end the query around it.
    raw = all(option in ("-f", "--raw-field") and not word.startswith("query=") for option, word in unknown)
    if raw and writes_forge(words) in (COMMENTS, REVIEW_THREADS):
        return Whole(f"{words[0]} *", exact=not unknown)
    if unknown:
        return None
    methods = {after for word, after in pairs if word in ("-X", "--method")}
    methods |= {match[1] for word in words if (match := _METHOD.fullmatch(word))}
    if methods <= {"GET"} and not any(map(_SENDING.match, words)):
        return Whole(f"{words[0]} *", exact=True)
    found = next((match for word in words[2:] if (match := _COMMENTS.fullmatch(word))), None)
    from_file = any(map(_FROM_FILE.search, words)) or any(word == "--input" and after != "-" for word, after in pairs)
    if found is None or from_file or not methods <= {"POST", "PATCH"}:
        return None
    return Whole(f"{words[0]} {'' if found[1].startswith('{') else f'--repo {found[1]} '}*")


_METHOD = re.compile(r"(?:-X|--method=)(.+)")
_SENDING = re.compile(r"-[fF]|--field|--raw-field|--input")
_FROM_FILE = re.compile(r"=@|--input=")
_COMMENTS = re.compile(
    r"/?repos/([\w.-]+/[\w.-]+|\{owner\}/\{repo\})/(?:pulls|issues)/\d+/(?:comments|reactions)(?:/\d+/replies)?"
)
"""Addresses where comments on pull requests and issues are written."""


_KEEPING = word_set(
    "add commit merge merge-tree cherry-pick revert rebase fetch pull ls-remote clone stash mv am apply init worktree"
)
"""Commands of git of which the repository keeps what they replace."""
_ANY_WORDS = word_set("add commit")
"""Those of them that do no more with whatever words."""
_CHOOSING = word_set("push checkout switch branch tag restore reset rm")
_FORCING = re.compile(
    r"--(?:force.*|mirror|delete|prune|hard|merge|keep|discard-changes|worktree|move|exec.*|interactive|patch|ours|theirs)"
    r"|-[a-zA-Z]*[fdDMWxi][a-zA-Z]*|[+:].+|drop|clear|remove|prune|--"
)
_ADDRESS = re.compile(r"://|@.*:|^[./~]|::")


def _git(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> Whole | None:
    """Return the rule about one of git's commands; it covers nothing that forces, discards or deletes."""
    placed = git_placed(words, folders)
    if placed is None or len(placed[0]) < 2 or any(word.startswith("~") for word in words[: -len(placed[0]) + 1]):
        return None
    (_, verb, *rest), places = placed
    if not all(_is_ours(place, workspace) for place in places):
        return None
    shows = verb == "config" and _shows_settings(rest, places)
    asks = verb == "remote" and rest[:1] in (["show"], ["prune"], ["update"], ["get-url"])
    known_verb = shows or asks or verb in _KEEPING | _CHOOSING
    if not known_verb or any(workspace.git(place).danger for place in places):
        return None
    pattern = PUSHES if verb == "push" else "git *"
    known = not any(UNKNOWN in word for word in rest)
    if starts_another(f"git {verb} *", ("git", verb, *rest), places, workspace):
        return None
    if verb in _ANY_WORDS:
        return Whole(pattern)
    if shows or asks:
        return Whole(pattern, exact=True) if known else None
    options = [word for word in rest if word not in _MERGED.get(verb, ())]
    if not known or any(map(_FORCING.fullmatch, options)) or (verb == "push" and any(map(_ADDRESS.search, rest))):
        return None
    if verb in ("checkout", "restore") and replaces_files(("git", verb, *rest)) and not {"--staged", "-S"} & set(rest):
        return None
    if verb == "checkout" and _names_file(rest, places):
        return None
    if verb in _MOVING_BRANCHES and any(map(_MOVING.fullmatch, rest)):
        return None
    return Whole(pattern, exact=True)


def _shows_settings(words: Sequence[str], places: Sequence[Path]) -> bool:
    """Return True for words of `git config` that show the repository's own settings, if none has credentials."""
    fitting = fit(SETTINGS_SHOWN, words)
    if isinstance(fitting, str) or "--local" not in words or any(kind == "path" for kind, _ in fitting[1]):
        return False
    return not has_secret_settings(places)


def _is_ours(place: Path, workspace: Workspace) -> bool:
    inside = judge_path(str(place), workspace, write=False).verdict == "free"
    return inside or is_temporary(os.path.normpath(place), workspace)


_MOVING_BRANCHES = word_set("branch checkout switch worktree")
_MOVING = re.compile(r"-\w*[BC]\w*")
"""Option with which these make a branch, even in place of another."""
_MERGED: dict[str, tuple[str, ...]] = {
    "fetch": ("--prune", "-p", "--force"),
    "pull": ("--prune",),
    "worktree": ("prune", "-d", "--detach"),
    "checkout": ("--detach",),
    "switch": ("--detach", "-d"),
    "stash": ("-m",),
    "tag": ("-m",),
}
"""Words that force or delete nothing with these commands."""


def _names_file(words: Sequence[str], places: Sequence[Path]) -> bool:
    """Return True if a word of `git checkout` may be a file, which it would replace."""
    return any(os.path.lexists(place / word) for word in words if not word.startswith("-") for place in places)


_PLAIN_FILES: dict[str, tuple[Shape, ...]] = {
    "rm": (Shape("-rRfvd --recursive --force --verbose --dir", "path path*"),),
    "unlink": (Shape("", "path"),),
    "tee": (Shape("-a --append", "path path*"),),
    "ln": (Shape("-sfnvrT --symbolic --force --no-dereference --verbose --relative", "path path"),),
}
FILE_PROGRAMS = _PLAIN_FILES.keys() | CHANGING.keys()
"""Commands about files that they name."""
TO_FILES = "tee *"
"""Pattern of the rule that also covers redirections of commands that only read: it writes what they print."""
OF_FILES = frozenset({TO_FILES, "ln *", *("sed -i *" if name == "sed" else f"{name} *" for name in CHANGING)})
"""Patterns of the rules about commands that change files and remove none, which are offered together."""


def _of_files(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> Whole | None:
    """Return the rule about a command that changes only files that it names, in the workspace or temporary ones."""
    name, *arguments = words
    if any(UNKNOWN in word for word in words):
        return None
    if name == "sed" and "" in arguments[:2]:
        arguments.remove("")  # as on macOS
    pattern = f"{name} -i *" if name == "sed" else f"{name} *"
    if name in CHANGING and changes_inside(words, folders, workspace):
        return Whole(pattern, exact=True)
    fitting = fit((*_PLAIN_FILES.get(name, ()), *CHANGING.get(name, ())), arguments)
    if isinstance(fitting, str) or (name == "sed" and not any(word.startswith("-i") for word in arguments)):
        return None
    paths = [value for kind, value in fitting[1] if kind == "path"]
    removes = name in ("rm", "unlink")
    if removes and any(_empties_shared(word, folder, workspace) for word in paths for folder in folders):
        return None
    if removes:
        paths = [str(path) for word in paths for folder in folders for path in matches(word, folder)]
    if not paths or not all(may_write(path, folders, workspace) for path in paths):
        return None
    lost = removes and any(_is_lost(Path(path), workspace) for path in paths)
    return None if lost else Whole(pattern, exact=True)


def _empties_shared(word: str, folder: Path, workspace: Workspace) -> bool:
    """Return True for a pattern of files that lie directly in a folder of temporary files, where others have theirs."""
    place = os.path.normpath(folder / word)
    wild = not set("*?[{").isdisjoint(os.path.basename(place))
    return wild and is_temporary(place, workspace) and not is_temporary(os.path.dirname(place), workspace)


_ANY_SIZE = UndoCover(sys.maxsize, sys.maxsize)


def _is_lost(path: Path, workspace: Workspace) -> bool:
    """Return True if a path is protected, or holds what is."""
    return not is_temporary(str(path), workspace) and bool(loss(path, replace(workspace, undo=_ANY_SIZE)))


def may_write(path: str, folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if a path is temporary, or free in the workspace from each of these folders."""
    if UNKNOWN in path or not _WRITABLE.fullmatch(path):
        return False
    if is_temporary(path, workspace):
        return judge_path(path, workspace, write=True).verdict in ("free", "outside")
    return all(
        judge_path(path, workspace, write=True, cwd=at).verdict == "free" or _in_temporary(path, at, workspace)
        for at in folders
    )


def _in_temporary(path: str, folder: Path, workspace: Workspace) -> bool:
    return (
        ".." not in path.split("/") and not path.startswith(("/", "~")) and is_temporary(f"{folder}/{path}", workspace)
    )


_WRITABLE = re.compile(r"[\w./@%+,:=~\[\]() -]*")
