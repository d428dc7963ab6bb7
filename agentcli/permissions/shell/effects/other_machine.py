"""Commands that reach another machine by its name: what they do there, judged by their own text.

Files of that machine are not known here. Its paths are readable, except for places of credentials and keys.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from pathlib import PurePath, PurePosixPath

from agentcli.core.dataclass import dataclass, replace
from agentcli.permissions.exposed import names_private
from agentcli.permissions.paths import PRIVATE_IN_HOME, canonical, could_name_protected, names_protected
from agentcli.permissions.shell.effects.searches import search_of
from agentcli.permissions.shell.programs.git_table import GIT_READERS, shows_text
from agentcli.permissions.shell.programs.known_programs import limited, word_set
from agentcli.permissions.shell.programs.option_grammar import Found, Shape, fit
from agentcli.permissions.shell.programs.readers import (
    BRACKETS,
    PATHS,
    READERS,
    SEARCHING,
    find_reads,
    shows_no_content,
)
from agentcli.permissions.shell.programs.services import reads_service
from agentcli.permissions.shell.syntax.parse import PLACE, UNKNOWN, Command
from agentcli.permissions.shell.syntax.strict import NotPlain, read_plain
from agentcli.permissions.shell.syntax.written_out import with_home


@dataclass(frozen=True, slots=True)
class Visit:
    """What a command does on another machine."""

    host: str = ""
    """The machine, in the form that rules use; empty if a rule about it would not be enough."""
    why: str = ""
    """Reason to ask although its host is allowed; empty if it only reads there."""
    takes: bool = False
    """True if it takes a file of the workspace there, or puts one here."""
    text: str | None = None
    """The command line that a shell runs there; None if it is none."""
    services: tuple[str, ...] = ()
    """Services that it starts, stops or reloads there. Else it only reads."""
    settled: bool = False
    """True if it acts as files of the workspace say. No command before it in the line may have changed them."""
    free: bool = False
    """True if it needs no rule about its host: it only reads, on this machine."""


def visit(command: Command, home: PurePath, makes: Callable[[str, str], bool] | None = None) -> Visit | None:
    """Return what a command does on another machine; None if it is none that is known here.

    `home` is the person's home folder, whose `.ssh` contains their keys. `makes` returns True if a file of that name may
    be put at a path here.
    """
    match command.words[0]:
        case "ssh":
            return _ssh(command, home)
        case "nc" | "ncat":
            return _probe(command.words)
        case "curl":
            return _request(command.words)
        case "scp" if makes is not None:
            return _fetched(command.words, home, makes)
        case _:
            return None


SETTING = re.compile(
    r"(?:ConnectTimeout|ConnectionAttempts|ServerAliveInterval|ServerAliveCountMax|NumberOfPasswordPrompts)=\d{1,4}"
    r"|(?:BatchMode|IdentitiesOnly|TCPKeepAlive|Compression)=(?:yes|no)|StrictHostKeyChecking=(?:yes|ask|accept-new)"
    r"|(?:PasswordAuthentication|KbdInteractiveAuthentication|ControlMaster|ForwardAgent|ForwardX11|RequestTTY)=no"
    r"|ControlPath=none|LogLevel=(?:QUIET|ERROR|INFO|VERBOSE)",
    re.IGNORECASE,
)
"""Settings of ssh that start no program, forward nothing and check keys as before."""
_FLAGS = frozenset("46qTnxCv")
_USER = re.compile(r"[A-Za-z_][\w.-]*")


def _ssh(command: Command, home: PurePath) -> Visit:
    words = list(command.words[1:])
    if any(UNKNOWN in word for word in words):
        return Visit(why="only the shell knows what it sends")
    if command.joint == "|":
        return Visit(why="it is sent what another command prints")
    words, problem = _after_options(words, home)
    if problem or not words:
        return Visit(why=problem or "it has no host")
    place = words.pop(0)
    user, at, name = place.rpartition("@")
    host = machine(name)
    if not host or (at and not _USER.fullmatch(user)):
        return Visit(why=f"{place} is not a plain host")
    words, problem = _after_options(words, home)
    if problem:
        return Visit(why=problem)
    text = " ".join(words)
    if not words:
        return Visit(host, "it has no command")
    why = only_reads_there(text)
    services = _services_changed(text) if why else ()
    return Visit(host, "" if services else why, text=text, services=services)


def _fetched(words: Sequence[str], home: PurePath, makes: Callable[[str, str], bool]) -> Visit | None:
    """Return the visit of `scp` that fetches one file; None for any other."""
    flags = [word for word in words[1:] if re.fullmatch("-[qpCv46]+", word)]
    named, problem = _after_options([word for word in words[1:] if word not in flags], home)
    if problem or len(named) != 2 or any(UNKNOWN in word for word in words):
        return None
    there, here = named
    place, colon, path = there.partition(":")
    user, at, name = place.rpartition("@")
    host = machine(name)
    plain = colon and ":" not in here and re.fullmatch(r"[\w./~+@%=,-]*[\w.+@%=,-]", path)
    if not host or not plain or (at and not _USER.fullmatch(user)) or not makes(here, path.rpartition("/")[2]):
        return None
    return Visit(host, secret_there(path, names_only=False), takes=True)


def _after_options(words: Sequence[str], home: PurePath) -> tuple[list[str], str]:
    """Return the words after ssh's options, and the reason if an option does more than choose how to connect."""
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        while (word := word[1:]) and word[0] in _FLAGS:
            pass
        if not word:
            continue
        letter, value = word[0], word[1:] or (rest.pop(0) if rest else "")
        fits = {
            "o": bool(SETTING.fullmatch(value.replace(" ", "=", 1))),
            "p": bool(re.fullmatch(r"\d{1,5}", value)),
            "l": bool(_USER.fullmatch(value)),
            "i": is_key(value, home),
        }
        if not fits.get(letter):
            return rest, f"ssh -{letter} {value}".rstrip() + " may do more than connect"
    return rest, ""


def is_key(path: str, home: PurePath) -> bool:
    """Return True for a file directly in the person's folder of keys, which ssh only uses."""
    text = f"{home}{path[1:]}" if path.startswith("~/") else path
    return re.fullmatch(rf"{re.escape(str(home))}/\.ssh/[\w-][\w.-]*", text) is not None


_LABEL = r"[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?"
_HOST_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_METADATA = ("metadata", "instance-data", "localhost", "ip6-localhost", "ip6-loopback", "localdomain")
_METADATA_SHARED = "100.100.100.200"
"""Metadata service of Alibaba Cloud, in the addresses that carriers share."""


def machine(name: str) -> str:
    """Return the name or IPv4 address of another machine in the form that rules use.

    Return an empty text for this machine, for metadata services, and for every other notation of an address.
    """
    host = name.lower().removesuffix(".")
    if address := private_address(host):
        return address
    try:
        return host if ipaddress.IPv4Address(host).is_global else ""
    except ValueError:
        pass
    last = host.rpartition(".")[2]
    if len(host) > 253 or not _HOST_NAME.fullmatch(host) or re.fullmatch(r"\d+|0x[0-9a-f]*", last):
        return ""
    here = socket.gethostname().lower()
    if host in (here, here.partition(".")[0], f"{here}.local") or host.partition(".")[0] in _METADATA:
        return ""
    return "" if last in _METADATA else host


def private_address(host: str) -> str:
    """Return an IPv4 address of a private network, or of one that carriers and VPNs share.

    Return an empty text for any other one, for this machine, and for metadata services.
    """
    try:
        address = ipaddress.IPv4Address(host)
    except ValueError:
        return ""
    networks = map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"))
    return host if host != _METADATA_SHARED and any(address in network for network in networks) else ""


def _probe(words: Sequence[str]) -> Visit | None:
    """Return the visit of a look whether a port is open."""
    fitting = fit((Shape("-zvn46 -w:number -G:number", "text number"),), words[1:])
    if isinstance(fitting, str) or ("option", "-z") not in fitting[1]:
        return None
    host = next((machine(value) for kind, value in fitting[1] if kind == "text"), "")
    return Visit(host) if host else None


_CURL = re.compile(
    r"-[sSfIkvi4]+|--(?:silent|show-error|fail|head|include|compressed|ipv4|insecure)"
    r"|--(?:retry|max-time|connect-timeout)=\d+|-m\d+"
)
_WITH_NUMBER = frozenset({"-m", "--max-time", "--connect-timeout", "--retry"})
_ADDRESS = re.compile(r"http://([\d.]+)(?::\d{1,5})?(?:/[\w.~%!$&()*+,;=:@/?-]*)?")
_PUBLIC_ADDRESS = re.compile(r"https://(\w[\w.-]*)(?::443)?(?:/[\w.~%!$&()*+,;=:@/?-]*)?")
_GIVEN = frozenset({"-d", "--data", "--data-raw", "--data-binary", "--json", "-H", "--header", "-X", "--request"})
"""Options of curl with a text to send."""


def _request(words: Sequence[str]) -> Visit | None:
    """Return the visit of a plain request to an address of a private network, which the proxy does not forward.

    A text of the line itself may also go to one public host.
    """
    hosts: list[str] = []
    sends = False
    waiting = list(reversed(words[1:]))
    while waiting:
        word = waiting.pop()
        if found := _ADDRESS.fullmatch(word):
            hosts.append(private_address(found[1]))
        elif found := _PUBLIC_ADDRESS.fullmatch(word):
            hosts.append(_public(found[1]))
        elif word in _GIVEN and waiting and _is_plain_text(word, waiting[-1]):
            sends = sends or word not in ("-H", "--header")
            waiting.pop()
        elif (
            (word in _WITH_NUMBER and waiting and waiting[-1].isdecimal())
            or (word == "-o" and waiting and waiting[-1] == "/dev/null")
            or (
                word in ("-w", "--write-out")
                and waiting
                and not waiting[-1].startswith("@")
                and "%output" not in waiting[-1]
            )
        ):
            waiting.pop()
        elif not _CURL.fullmatch(word):
            return None
    one = hosts[0] if len(hosts) == 1 else ""
    return Visit(one) if one and sends != bool(private_address(one)) else None


def _public(host: str) -> str:
    """Return the name of a public host as rules write it; empty for a name of this network."""
    return machine(host) if "." in host and not private_address(host) else ""


def _is_plain_text(option: str, value: str) -> bool:
    """Return True for a text of the line itself that curl sends: `@` would name a file."""
    if option in ("-X", "--request"):
        return value in ("POST", "GET")
    return not value.startswith("@") and UNKNOWN not in value


def only_reads_there(text: str, *, files: bool = False) -> str:
    """Return why a command line may do more than read on another machine; empty if it only reads.

    With `files`, it may only show files, processes and what a server there answers, with plain programs.
    """
    return _line_problem(text, "", files)


_HOME_THERE = "/home/unknown"
"""The home folder of a person on another machine."""
_ROUNDS = 50
"""Maximum rounds of a loop that are judged one by one."""


def _line_problem(text: str, folder: str, files: bool) -> str:
    """Return why a command line may do more than read there in a folder; an empty one is not known."""
    text = with_home(text, _HOME_THERE)
    commands = read_plain(text)
    if isinstance(commands, NotPlain):
        return commands.why
    for command in commands:
        if why := next(filter(None, (_problem(each, folder, files) for each in _rounds(command))), ""):
            return why
        if command.words[0] == "cd":
            folder = _joined(folder, command.words[1])
    return ""


def _services_changed(text: str) -> tuple[str, ...]:
    """Return the services that a command line starts, stops or reloads there; none if it may do more than that."""
    commands = read_plain(with_home(text, _HOME_THERE))
    found: list[str] = []
    folder = ""
    for command in () if isinstance(commands, NotPlain) else commands:
        words = _unwrapped(command.words)
        units = _units(words) if command.bare and not command.loop and command.joint != "|" else ()
        found += units
        if not units and _problem(command, folder, files=False):
            return ()
        if command.words[0] == "cd":
            folder = _joined(folder, command.words[1])
    return tuple(dict.fromkeys(found))


def _units(words: Sequence[str]) -> Sequence[str]:
    """Return the services that a command of `systemctl` starts, stops or reloads; none for any other command."""
    rest = [word for word in words if word not in ("--no-pager", "--quiet", "-q")]
    if rest[:1] != ["systemctl"] or rest[1:2] == [] or rest[1] not in _STARTING_AND_STOPPING:
        return ()
    units = [word.removesuffix(".service") for word in rest[2:]]
    return units if all(map(_UNIT.fullmatch, units)) else ()


_STARTING_AND_STOPPING = ("start", "stop", "restart", "reload", "try-restart", "reload-or-restart")
_UNIT = re.compile(r"[a-z0-9][a-z0-9_-]*(?:@[a-z0-9_-]+)?")
"""Name of a service: a target or a mount has a dot."""


def _rounds(command: Command) -> list[Command]:
    """Return a command once for each round of its loop, unless only the other machine knows the loop's words."""
    if command.loop is None or any(command.loop.globs) or len(command.loop.words) > _ROUNDS:
        return [command]
    return [
        replace(command, words=tuple(word.replace(PLACE, value) for word in command.words), loop=None)
        for value in command.loop.words
    ]


def _joined(folder: str, path: str) -> str:
    return path if path.startswith(("/", "~")) or not folder else f"{folder}/{path}"


def _problem(command: Command, folder: str, files: bool) -> str:
    """Return why a command may do more than read there in a folder; an empty one is not known."""
    words = limited(command.words) if files else _unwrapped(command.words)
    if not command.bare or command.loop or not words:
        return f"{command.words[0]} is not known"
    name, arguments = words[0], list(words[1:])
    if name in BRACKETS and arguments[-1:] == [BRACKETS[name]]:
        name, arguments = "test", arguments[:-1]
    if reads_service(words) and (not files or name == "curl"):
        return ""
    # A login shell would run files of a home folder, which may be the workspace's.
    if name in ("bash", "sh", "zsh") and len(arguments) > 1 and arguments[:-1] in _GIVEN_TEXT[: 1 if files else None]:
        return _line_problem(arguments[-1], folder, files)
    if name == "cd":
        plain = len(arguments) == 1 and not arguments[0].startswith("-")
        return secret_there(arguments[0], names_only=True) if plain else "cd without a plain folder"
    if name == "find":
        found = (
            find_reads(arguments)
            if not any(word.startswith(("-exec", "-ok")) for word in arguments)
            else "find starts programs"
        )
        return found if isinstance(found, str) else _paths_problem(folder, found, files, names_only=True)
    if name == "git" and not files:
        return _git_problem(arguments, folder)
    fitting = fit(READERS[name], arguments) if READERS.get(name) else f"{name} may change something"
    if isinstance(fitting, str):
        return f"{name} may change something"
    shape, found = fitting
    if shape.unless:
        return f"{name} may start other programs"
    if name in SEARCHING and search_of(name, arguments, found) is not None:
        return _recursive_problem(name, found)
    return _paths_problem(folder, found, files, names_only=shows_no_content(words))


_GIVEN_TEXT = (["-c"], ["-lc"], ["-l", "-c"])
"""Options of a shell before a text of commands."""


def _unwrapped(words: Sequence[str]) -> Sequence[str]:
    """Return a command without `sudo`, `timeout` and the like before it: it may do no more than the command."""
    rest = list(words)
    while rest := list(limited(rest)):
        if rest[0] == "sudo":
            del rest[0]
            while rest and rest[0] in ("-n", "-u"):
                del rest[: 2 if rest[0] == "-u" else 1]
            if rest and rest[0].startswith("-"):
                return ()
        else:
            return rest
    return ()


def _git_problem(arguments: Sequence[str], folder: str) -> str:
    rest = list(arguments)
    while rest and rest[0] in ("-C", "--no-pager"):
        folder = _joined(folder, rest[1]) if rest[0] == "-C" and len(rest) > 1 else folder
        del rest[: 2 if rest[0] == "-C" else 1]
    fitting = fit(GIT_READERS[rest[0]], rest[1:]) if rest and rest[0] in GIT_READERS else "git may change something"
    if isinstance(fitting, str):
        return "git may change something"
    revisions = [value for kind, value in fitting[1] if kind in PATHS and kind != "behind"]
    files = [value for kind, value in fitting[1] if kind == "behind"] or [each.partition(":")[2] for each in revisions]
    # What it tracks in a folder is not known here.
    if shows_text(rest[0], fitting[1]) and not (files and all("." in PurePosixPath(path).name for path in files)):
        return "git may show any tracked file"
    return _paths_problem(folder, fitting[1], False, names_only=False)


def _paths_problem(folder: str, found: Found, mounted: bool, *, names_only: bool) -> str:
    """Return why one of the paths may lead to a secret. If `mounted`, any folder may hold another system."""
    for kind, value in found:
        if kind in PATHS or kind == "glob":
            text = value.rpartition(":")[2] if kind in ("rev", "range") else value
            # If `cd` fails, the path begins elsewhere.
            named = (text, _joined(folder, text))
            for path in dict.fromkeys((*named, *(below for each in named for below in _endings(each) if mounted))):
                if why := secret_there(path, names_only=names_only):
                    return why
    return ""


def _endings(path: str) -> list[str]:
    """Return the ends of a path from each of its folders on, as paths of a system mounted there."""
    parts = [part for part in path.split("/") if part not in ("", ".", "~")]
    return [f"/{'/'.join(parts[start:])}" for start in range(len(parts) - 1)]


_SAMPLES = (
    "id_rsa",
    "id_ed25519",
    "server.key",
    "key.pem",
    "credentials",
    "secrets.yaml",
    "shadow",
    "passwords.txt",
    "cert.pfx",
)
_READABLE_TREES = ("/etc/nginx", "/etc/apache2", "/etc/systemd", "/lib/systemd", "/etc/cron", "/var/log", "/usr")
_OF_SYSTEM = re.compile(r"/(?:etc|var|run|sys|proc|dev|boot)(?:/|$)")
_PUBLIC = re.compile(
    r"/etc/(?:nginx|apache2|systemd|cron[\w.]*|logrotate\.d|sites-\w+)/.*|/var/(?:log|www)/.*"
    r"|/etc/(?:hosts|hostname|os-release|issue|fstab|resolv\.conf|crontab|passwd|group|timezone|lsb-release|debian_version|ssh/sshd_config)"
)
"""Paths of the system's folders whose contents are no secret; other files there may be."""
_PROC = re.compile(r"/proc/(?:loadavg|meminfo|cpuinfo|version|uptime|mounts|stat|net/\w+)")
_HOLDING = {parts[-1] for parts in PRIVATE_IN_HOME} - {"git"}


def secret_there(path: str, *, names_only: bool) -> str:
    """Return why a path of another machine may lead to credentials or keys; with `names_only`, only its name is shown."""
    plain = str(PurePosixPath(path.replace("//", "/")))
    if ".." in plain.split("/") or "~" in plain[1:] or (plain.startswith("~") and plain[1:2] not in ("", "/")):
        return f"{path} is not known"
    if names_only:
        return ""
    parts = plain.split("/")
    private = names_protected(plain, write=False) or names_private(plain) or could_name_protected(plain)
    closed = _OF_SYSTEM.match(plain) and not (_PUBLIC.fullmatch(plain) or _PROC.fullmatch(plain))
    closed = closed or (plain.startswith("/") and not set("*?[{").isdisjoint(plain.split("/")[1]))
    if private or closed or not _HOLDING.isdisjoint(map(canonical, parts)):
        return f"{path} could be a secret"
    wild = next((part for part in parts if set(part) & set("*?[{")), "")
    if wild and (wild.startswith((".", "[", "{")) or any(fnmatch.fnmatchcase(name, wild) for name in _SAMPLES)):
        known = plain.startswith(("/etc/nginx/", "/etc/apache2/", "/etc/systemd/", "/var/log/"))
        return "" if known and wild == parts[-1] == "*" else f"{path} could match a secret"
    return ""


_ONLY_NAMES = {
    "rg": ("-l", "-c", "-q"),
    "diff": ("-q",),
    **dict.fromkeys(word_set("grep egrep fgrep"), ("-l", "-L", "-c", "-q")),
}
"""Options with which a search shows no text of the files."""


def _recursive_problem(name: str, found: Found) -> str:
    tops = [value for kind, value in found if kind == "path"]
    if any(("option", option) in found for option in _ONLY_NAMES.get(name, ())):
        return ""
    if tops and all(top.startswith(_READABLE_TREES) and ".." not in top for top in tops):
        return ""
    return f"{name} may show any file of a folder there"
