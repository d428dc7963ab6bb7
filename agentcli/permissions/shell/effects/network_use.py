"""Commands of network programs that the sandbox can hold.

Some query only local servers, and the sandbox has its own loopback. Others only fetch, and a proxy lets through hosts
on a list.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from agentcli.permissions.git_config import git_folders, work_tree_of
from agentcli.permissions.network.hosts import hosts_in
from agentcli.permissions.shell.programs.known_programs import as_pip, command_name, word_set
from agentcli.permissions.shell.programs.option_grammar import Shape, fit
from agentcli.permissions.shell.syntax.parse import UNKNOWN

_HOST = r"(?:localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1?\])"
_ADDRESS = re.compile(
    rf"(?:(?P<scheme>[a-z]+)://)?(?:[^\s/@]*@)?{_HOST}(?::(?P<port>\d{{1,5}}|{UNKNOWN}))?(?P<rest>[/?#].*)?\Z",
    re.I | re.S,
)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*://", re.I)
_PORTS = {"https": 443, "wss": 443}


def network_problem(words: Sequence[str], loopback: Callable[[int], bool] | None) -> str:
    """Return the reason to ask about a network program's command.

    It is empty if the command reaches the same in the sandbox as outside. `loopback` answers this for a port; None if
    the sandbox reaches no server at all.
    """
    ports = ports_asked(words[1:])
    if loopback is None or ports is None:
        return f"{command_name(words)} uses the network"
    served = next((port for port in ports if not loopback(port)), None)
    return f"{words[0]} asks port {served}, which a program outside the sandbox serves" if served is not None else ""


def ports_asked(arguments: Sequence[str]) -> list[int] | None:
    """Return the local ports in the words, as far as known.

    Return None if they refer to no local server, or to another machine.
    """
    found: list[int] = []
    named = False
    for word, after in pairwise((*arguments, "")):
        address = _ADDRESS.match(word)
        if address is None:
            if _ELSEWHERE.match(word):
                return None
            continue
        follows = after if not address["scheme"] and not address["rest"] and after.isdecimal() else ""
        port = address["port"] or follows or _PORTS.get((address["scheme"] or "").lower(), 80)
        # A port that only the shell knows: the refused connection shows if it was served outside.
        found += [] if port == UNKNOWN else [int(port)]
        named = True
    return found if named else None


def server_of(word: str) -> str:
    """Return the local server in an address, `http://localhost:3000`; empty for any other word."""
    found = re.match(rf"https?://{_HOST}(?::\d{{1,5}})?(?=[/?#]|\Z)", word, re.IGNORECASE)
    return found.group() if found else ""


def local_server(words: Sequence[str]) -> str:
    """Return the one local server that a command queries, or a rule's pattern contains.

    Return an empty text if there is not exactly one.
    """
    servers = {server_of(word.strip("*")) for word in words if _ELSEWHERE.match(word.strip("*"))}
    return servers.pop() if len(servers) == 1 else ""


_FETCHING = word_set(
    "npm pnpm yarn bun npx bunx pnpx corepack pip pip3 uv uvx poetry pdm pipenv cargo go gem bundle composer mix curl wget"
)
_TELLING = word_set("""
publish unpublish login logout adduser whoami owner access dist-tag token team ping star unstar deprecate undeprecate push upload yank
signin signout hook profile org hex.publish cert owners
""")
"""Subcommands that tell a server something, or act on it in the person's name."""
_LISTING = word_set("owner access dist-tag team")
"""Such subcommands that have a list: `npm owner ls`."""
_CURL = re.compile(r"-[sSfLkOJIiv#gN46]+|--(?:silent|show-error|fail|fail-with-body|location|remote-name|remote-header-name|head|include|compressed|progress-bar|no-progress-meter|globoff|ipv4|http1\.1)|--(?:retry|max-time|connect-timeout|max-redirs)=?\d*|-[mo]|--output|\d+")  # fmt: skip
_WGET = re.compile(
    r"-[qcNSOP46]+|-nv|-nc|--(?:quiet|no-verbose|continue|timestamping|no-clobber|spider)|--(?:tries|timeout)=\d+|-[tT]|\d+"
)
_URL = re.compile(r"https?://[\w.-]+(?::(?:443|80))?(?:/[^\s?]*(?:\?[\w.~%!$&'()*+,;=:@/-]{1,200})?)?")
"""Addresses without a query of which the shell fills in a part: it could carry data away."""
_HEADER = re.compile(r"[A-Za-z][\w-]*: ?[^@\n][^\n]*")
_FORMAT = re.compile(r"(?!@)(?:[^%]|%%|%\{[a-z_]+\}|%(?![{o]))*", re.DOTALL)
"""What curl prints after a request: neither out of a file nor into one."""
_FROM_REMOTE: dict[str, tuple[Shape, ...]] = {
    "fetch": (
        Shape(
            "-pqtvn4 --all --prune --tags --no-tags --quiet --verbose --dry-run --depth=number --unshallow --progress --no-progress",
            "remote? branch*",
        ),
        Shape("-qv --quiet --verbose --depth=number", "remote pulled"),
    ),
    "pull": (
        Shape(
            "-pqvr --prune --quiet --verbose --ff-only --no-rebase --rebase[=word] --autostash --no-autostash --no-edit --stat --no-stat --tags",
            "remote? branch?",
        ),
    ),
    "clone": (
        Shape(
            "-qvn --quiet --verbose --no-checkout --depth=number --depth:number --branch=word --branch:word -b:word --single-branch "
            "--no-single-branch --no-tags --bare --mirror --filter=word --filter:word --sparse --progress --no-progress",
            "remote path",
        ),
    ),
    "ls-remote": (
        Shape("-qht --quiet --heads --branches --tags --refs --symref --exit-code --get-url", "remote? text*"),
    ),
}
_ANY_FROM_REMOTE = re.compile(rf"\bgit\b.*\b(?:{'|'.join(_FROM_REMOTE)})\b")
_REMOTE_URL = re.compile(r"(?m)^\s*url\s*=\s*(\S+)")


def may_fetch(line: str) -> bool:
    """Return False for a line that surely names none of these programs."""
    return any(program in line for program in _FETCHING) or _ANY_FROM_REMOTE.search(line) is not None


def remote_problem(words: Sequence[str], folders: Sequence[Path]) -> str:
    """Return why the sandbox cannot hold a command of git that needs a remote; or an empty string.

    The proxy speaks HTTPS only, and a refspec could replace a branch.
    """
    shapes = _FROM_REMOTE.get(words[1], ())
    fitting = fit(shapes, list(words[2:])) if shapes else ""
    if isinstance(fitting, str):
        return f"{command_name(words)} uses the network"
    if any(value.startswith("https://") for kind, value in fitting[1] if kind == "remote"):
        return ""
    tops = {work_tree_of(folder) or folder for folder in folders}
    name = next((value for kind, value in fitting[1] if kind == "remote"), "")
    urls = [url for top in tops for url in _urls(top, name)]
    return (
        ""
        if urls and all(url.startswith("https://") for url in urls)
        else f"git reaches {f'the remote {name}' if name else 'a remote'} by another way than HTTPS"
    )


def _urls(top: Path, name: str) -> list[str]:
    """Return the addresses of a repository's remote of this name, of all without a name or with another."""
    try:
        _, common = git_folders(top)
        text = (common / "config").read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return []
    own = re.findall(rf'(?m)^\s*\[remote "{re.escape(name)}"\][^\[]*', text) if name else []
    return _REMOTE_URL.findall("".join(own) or text)


def hosts_read(words: Sequence[str]) -> frozenset[str]:
    """Return the public hosts from which curl only prints what they answer; none for any other command."""
    prints = not any(
        re.match(r"-[a-zA-Z#0-9]*[oOJ]|--(?:output|remote-)", word) and after != os.devnull
        for word, after in pairwise((*words[1:], ""))
    )
    return hosts_in(words[1:]) if words[0] == "curl" and prints and only_fetches(words) else frozenset()


def only_fetches(words: Sequence[str]) -> bool:
    """Return True for a command that sends nothing but its request.

    Package managers, curl and wget are known.
    """
    program, *arguments = as_pip(tuple(words))
    if program not in _FETCHING:
        return False
    if program in ("curl", "wget"):
        options = _CURL if program == "curl" else _WGET
        named = [word for word in arguments if _URL.fullmatch(word)]
        return bool(named) and all(
            _URL.fullmatch(word)
            or options.fullmatch(word)
            or (
                program == "curl"
                and (
                    word in ("-H", "--header", "-w", "--write-out")
                    or (before in ("-H", "--header") and _HEADER.fullmatch(word))
                    or (before in ("-w", "--write-out") and _FORMAT.fullmatch(word))
                )
            )
            or (before in ("-o", "--output", "-O", "-P") and ("/" not in word[:1] or word == os.devnull))
            for before, word in zip(("", *arguments), arguments, strict=False)
        )
    lists = arguments[:1] and arguments[0] in _LISTING and arguments[1:2] and arguments[1].startswith("ls")
    return _TELLING.isdisjoint(arguments[1:] if lists else arguments)
