"""Commands in containers: a container is asked about once, like another machine, unless a command only reads there.

Building and starting containers is asked about once, too. They must get nothing of this machine but folders of the
workspace. Any other way to make one can give a command the powers of root.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from agentcli.permissions.paths import Workspace, free_either_way, holds_denied, means_one
from agentcli.permissions.rules import IN_CONTAINER, OWN_PROJECT
from agentcli.permissions.shell.effects.other_machine import Visit, only_reads_there
from agentcli.permissions.shell.effects.taking import may_be_made, may_be_taken
from agentcli.permissions.shell.programs.option_grammar import Found, Shape, fit
from agentcli.permissions.shell.programs.services import after_compose_options, reads_service
from agentcli.permissions.shell.syntax.parse import UNKNOWN
from agentcli.system import probe

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_FLAGS = re.compile(r"-[itdT]+|--(?:interactive|tty|detach|no-TTY)")
_VALUED = ("-w", "--workdir", "-u", "--user", "-e", "--env", "--index", "-f", "--format")
"""Options of `exec` and `inspect` that give no more rights than the container has."""
_AGAIN = ("start", "stop", "restart")
"""Commands about a container as it was made."""


def in_container(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> Visit | None:
    """Return the visit of a command to a running container; None for any other command."""
    name, *arguments = words
    if any(UNKNOWN in word for word in words) or name not in ("docker", "podman"):
        return None
    shown = False
    if name == "docker" and (found := _made(arguments, folders, workspace)) is not None:
        return found
    if arguments[:1] == ["compose"]:
        place, inner = _of_project(arguments[1:], folders, workspace)
    else:
        arguments = arguments[arguments[:1] == ["container"] :]
        verb, *rest = arguments or [""]
        if verb == "inspect" and rest[1:2] in (["-f"], ["--format"]):
            rest = [*rest[1:], rest[0]]
        place, inner = _named(rest) if verb in ("exec", "inspect", *_AGAIN) else ("", [])
        place = _copied(rest, folders, workspace) if verb == "cp" else place
        formats = [word.rpartition("=")[2] for word in rest if "{{" in word]
        place = "" if verb == "inspect" and (not formats or any(map(_ALL_OF_IT.search, formats))) else place
        place = "" if bool(inner) != (verb == "exec") else place
        shown = bool(place and inner) and name == "docker" and _only_reads(rest[: -len(inner) - 1], inner)
    if not place:
        return None
    free = shown and _engine_is_here(workspace)
    return Visit(f"{IN_CONTAINER}{place}", _loses(" ".join(inner)), arguments[:1] == ["cp"], free=free)


def _only_reads(options: Sequence[str], inner: Sequence[str]) -> bool:
    """Return True if a command only shows what is in its container, as the container's own user."""
    others = [word for word in options if not _TERMINAL.fullmatch(word)]
    folder = _FOLDER.fullmatch(" ".join(others))
    text = f"cd {folder[1]} && {shlex.join(inner)}" if folder else shlex.join(inner)
    return (not others or folder is not None) and not _loses(text) and not only_reads_there(text, files=True)


_TERMINAL = re.compile(r"-[it]+|--interactive|--tty")
_FOLDER = re.compile(r"(?:-w|--workdir)[ =]([\w./-]+)")


def _engine_is_here(workspace: Workspace) -> bool:
    """Return True if the client talks to the engine of this machine, through a socket in its file system."""
    env, folder = workspace.shell_env() or workspace.command_env, workspace.home / ".docker"
    if env.get("DOCKER_CONTEXT") or env.get("DOCKER_CONFIG"):
        return False
    try:
        settings = folder / "config.json"
        chosen = json.loads(settings.read_bytes()).get("currentContext") if probe.exists(settings) else ""
        host = env.get("DOCKER_HOST", "")
        if not host and chosen not in (None, "", "default"):
            meta = folder / "contexts/meta" / hashlib.sha256(chosen.encode()).hexdigest() / "meta.json"
            host = json.loads(meta.read_bytes())["Endpoints"]["docker"]["Host"]
        return not host or host.startswith("unix://")
    except (OSError, ValueError, AttributeError, LookupError, TypeError):
        return False


def _of_project(arguments: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> tuple[str, list[str]]:
    """Return the containers of a compose project as rules name them, and the command in one of them."""
    rest = after_compose_options(arguments)
    options = arguments[: len(arguments) - len(rest)]
    if not rest or any(word.startswith(("-p", "--project-name")) for word in options):
        return "", []
    files = [word.partition("=")[2] or word for word in options if not word.startswith("-") or "=" in word]
    named = [(word, at) for word in (".", *files) for at in folders]
    if not all(free_either_way(word, workspace, write=False, cwd=at) for word, at in named):
        return "", []
    if reads_service(("docker", "compose", *arguments)):
        return OWN_PROJECT, []
    if rest[0] in _AGAIN:
        return (OWN_PROJECT, []) if all(map(_NAME.fullmatch, rest[1:])) else ("", [])
    service, inner = _named(rest[1:]) if rest[0] == "exec" else ("", [])
    return (OWN_PROJECT, inner) if service and inner else ("", [])


def _made(arguments: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> Visit | None:
    """Return the visit of a command that builds, starts, stops, removes or shows containers.

    They must get nothing of this machine but folders of the workspace. Return None for any other command.
    """
    if not _engine_is_here(workspace):
        return None
    if arguments[:1] == ["compose"]:
        return _of_files(arguments[1:], folders, workspace)
    rest = arguments[arguments[:1] in (["image"], ["container"], ["buildx"]) :]
    verb = rest[0] if rest else ""
    if verb == "pull" and not isinstance(fit((_PULL,), rest[1:]), str):
        return Visit(f"{IN_CONTAINER}{OWN_PROJECT}")
    shape = {"build": _BUILD, "run": _RUN}.get(verb)
    found = fit((shape,), rest[1:]) if shape is not None else ""
    if isinstance(found, str):
        return None
    values, operands = _values(found[1])
    if not all(_is_bounded(option, value, at, workspace) for option, value in values for at in folders):
        return None
    if verb == "build":
        inside = all(_is_context(operands[0], at, workspace) for at in folders)
        return Visit(f"{IN_CONTAINER}{OWN_PROJECT}", takes=True, settled=True) if inside else None
    return Visit(f"{IN_CONTAINER}{OWN_PROJECT}", _loses(" ".join(operands[1:])), takes=True, settled=True)


def _of_files(arguments: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> Visit | None:
    """Return the visit of a command of compose that acts as the project's files say."""
    rest = after_compose_options(arguments)
    options = arguments[: len(arguments) - len(rest)]
    reads = reads_service(("docker", "compose", *arguments))
    shape = _COMPOSE.get(rest[0]) if rest else None
    found = fit((shape,), rest[1:]) if shape is not None else ""
    if not rest or (isinstance(found, str) and not reads) or any(map(_OTHER_PROJECT.match, options)):
        return None
    values, operands = ([], []) if isinstance(found, str) else _values(found[1])
    if not all(_is_bounded(option, value, at, workspace) for option, value in values for at in folders):
        return None
    named = [after for before, after in pairwise(options) if before in ("-f", "--file")]
    named += [word.partition("=")[2] for word in options if word.startswith(("-f=", "--file="))]
    from agentcli.permissions.shell.effects.compose_files import why_more  # 3 ms, only for such a command

    why = next(filter(None, (why_more(named, folder, workspace) for folder in folders)), "")
    if why and (reads or rest[0] in _AGAIN):
        return None  # containers as they were made
    if reads:
        return Visit(f"{IN_CONTAINER}{OWN_PROJECT}", free=True, settled=True)
    why = why or (_loses(" ".join(operands[1:])) if rest[0] == "run" else "")
    return Visit(f"{IN_CONTAINER}{OWN_PROJECT}", why, takes=True, settled=True)


def _values(found: Found) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the options with their values, and the operands."""
    values: list[tuple[str, str]] = []
    operands: list[str] = []
    option = ""
    for kind, value in found:
        if kind == "option":
            values += [(option, "")] if option else []
            option = value
        elif option and kind == "text":
            values.append((option, value if option.startswith("--") else value.removeprefix("=")))  # `-e=A` is `-e A`
            option = ""
        else:
            values += [(option, "")] if option else []
            option = ""
            operands.append(value)
    return values + ([(option, "")] if option else []), operands


def _is_bounded(option: str, value: str, folder: Path, workspace: Workspace) -> bool:
    """Return True if an option gives a container or a build no more than the workspace."""
    match option:
        case "-e" | "--env" | "--build-arg":
            return "=" in value  # else it is one of this machine's variables
        case "--network" | "--net":
            return _NAME.fullmatch(value) is not None and value != "host"
        case "-v" | "--volume":
            source, colon, rest = value.partition(":")
            volume = _VOLUME.fullmatch(source) if colon else source.startswith("/")
            return bool(volume) or (bool(colon) and _is_mountable(source, rest.endswith(":ro"), folder, workspace))
        case "--mount":
            given = dict(part.partition("=")[::2] for part in value.split(","))
            source = given.get("source", given.get("src", ""))
            plain = len(given) == value.count(",") + 1 and not given.keys() - _OF_MOUNTS
            if given.get("type") == "bind":
                return plain and _is_mountable(source, given.get("readonly") in ("", "true"), folder, workspace)
            return (
                plain and given.get("type") in ("volume", "tmpfs") and (not source or bool(_VOLUME.fullmatch(source)))
            )
        case "-f" | "--file" | "--env-file" | "--iidfile":
            return option != "--iidfile" and free_either_way(value, workspace, write=False, cwd=folder)
        case "--security-opt":
            return value in ("no-new-privileges", "no-new-privileges:true")
        case _:
            return True


def _is_mountable(source: str, read_only: bool, folder: Path, workspace: Workspace) -> bool:
    plain = source.startswith(("/", ".")) and "\\" not in source and not holds_denied(folder / source, workspace)
    return plain and free_either_way(source, workspace, write=not read_only, cwd=folder)


def _is_context(path: str, folder: Path, workspace: Workspace) -> bool:
    """Return True for a folder of the workspace, which a build gets."""
    paths = (path, os.path.join(path, "Dockerfile"))
    free = all(free_either_way(one, workspace, write=False, cwd=folder) for one in paths)
    return free and ":" not in path and probe.is_dir(folder / path)


_VOLUME = re.compile(r"[A-Za-z0-9][\w.-]+")
"""Name of a volume: a single letter is a drive."""
_OF_MOUNTS = frozenset({"type", "source", "src", "target", "dst", "destination", "readonly"})
_OTHER_PROJECT = re.compile(r"-p|--project-name")
_PULL = Shape("-q --quiet --platform=text", "object")
_BUILD = Shape(
    "-q -t:text -f:text --tag=text --file=text --build-arg=text --target=text --no-cache --pull --quiet --progress=text --platform=text "
    "--label=text --load --rm --force-rm --compress",
    "object",
)
_RUN = Shape(
    "-itdP -e:text -p:text -w:text -u:text -v:text -l:text -h:text -m:text --rm --interactive --tty --detach --init --read-only "
    "--publish-all --env=text --publish=text --workdir=text --user=text --volume=text --mount=text --label=text --hostname=text "
    "--memory=text --cpus=text --shm-size=text --name=text --entrypoint=text --platform=text --pull=text --restart=text --network=text "
    "--net=text --env-file=text --tmpfs=text --cap-drop=text --security-opt=text --stop-timeout=text --expose=text --quiet",
    "object object*",
    manner="ended",
)
_STARTING = (
    "-d --detach --build --no-build --no-deps --force-recreate --no-recreate --remove-orphans --wait --wait-timeout=text -t:text "
    "--timeout=text --scale=text --pull=text --quiet-pull --no-color --no-log-prefix --abort-on-container-exit --exit-code-from=text "
    "--no-start --always-recreate-deps --attach-dependencies --quiet-build"
)
_COMPOSE = {
    "up": Shape(_STARTING, "name*"),
    "create": Shape(_STARTING, "name*"),
    "start": Shape("--wait --wait-timeout=text", "name*"),
    **dict.fromkeys(("stop", "restart"), Shape("-t:text --timeout=text --no-deps", "name*")),
    "down": Shape("-t:text --timeout=text --remove-orphans", "name*"),
    "rm": Shape("-fs --force --stop", "name*"),
    "build": Shape(
        "-q --no-cache --pull --quiet --parallel --progress=text --build-arg=text --with-dependencies", "name*"
    ),
    "pull": Shape("-q --quiet --ignore-pull-failures --include-deps --policy=text", "name*"),
    "run": Shape(
        "-TditP -e:text -w:text -u:text --rm --no-TTY --detach --interactive --no-deps --env=text --workdir=text --user=text --name=text "
        "--entrypoint=text --service-ports --use-aliases --build --quiet-pull --quiet --remove-orphans",
        "name object*",
        manner="ended",
    ),
}
"""Commands of compose whose options give nothing that the project's files do not. None removes a volume."""


def _named(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Return the container or service that words name after known options, and the words behind it."""
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        option, equals, value = rest.pop(0).partition("=")
        if _FLAGS.fullmatch(option) and not equals:
            continue
        if option not in _VALUED or not (equals or rest):
            return "", []
        value = value if equals else rest.pop(0)
        # Without a value, the variable is one of this machine's.
        if option in ("-e", "--env") and "=" not in value:
            return "", []
    return (rest[0], rest[1:]) if rest and _NAME.fullmatch(rest[0]) else ("", [])


_REMOVED = re.compile(r"\brm\s+([^;&|\n]*)")
_DATA = re.compile(
    r"\b(?:drop|truncate)\s+\w|\bdrop_?(?:db|database)\b|\bflush(?:all|db)\b|\bdelete\s+from\b(?![^;]*\bwhere\b)"
    r"|\bdb:(?:drop|reset|wipe)|\bmigrate(?::| )(?:fresh|reset)\b",
    re.IGNORECASE,
)
"""Words with which a command empties a database."""


_SECRETS = re.compile(
    r"\b(?:printenv|environ|id_rsa|id_ed25519)\b|(?:^|[;&|(\s'])(?:env|set|export(?: -p)?)\s*(?:$|[|;&'])|/run/secrets"
    r"|\.(?:env|pem|key|netrc|npmrc)\b|\.(?:ssh|aws)/|(?:SECRET|PASSWORD|PASSWD|TOKEN|PRIVATE_KEY|ACCESS_KEY|API_KEY)"
)
"""Words with which a command may show credentials of a container."""
_ALL_OF_IT = re.compile(r"Env|\.Config\s*\}\}|(?:json\s+)?\.\s*\}\}")
"""Parts of a format of `inspect` that show the environment."""


_HOST = re.compile(
    r"\b(?:nsenter|unshare|chroot|mount|docker|podman|nerdctl|kubectl|shutdown|reboot)\b|/proc/1/|/host\b"
)
"""Words with which a command may leave a container that has more rights than others."""


def empties_data(text: str) -> bool:
    """Return True if a command line may empty or remove a database."""
    return _DATA.search(text) is not None


def _loses(text: str) -> str:
    """Return why a command in a container asks each time, such as removing data or showing secrets; else empty."""
    if _HOST.search(text):
        return "it may reach this machine from there"
    if _SECRETS.search(text):
        return "it may show secrets there"
    if empties_data(text):
        return "it may remove data there"
    for found in _REMOVED.findall(text):
        words = found.split()
        several = "*" in found or any(re.match(r"-\w*[rR]|--recursive", word) for word in words)
        if several and not all(word.startswith(("-", "/tmp/")) and ".." not in word for word in words):
            return "it removes folders there"
    return ""


def _copied(arguments: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    """Return the container of a copy of one file from or into the workspace; else an empty text."""
    named = [word for word in arguments if word not in ("-a", "-q", "-aq", "--archive", "--quiet")]
    if len(named) != 2 or any(word.startswith("-") for word in named):
        return ""
    out = ":" in named[0]
    there, here = named if out else reversed(named)
    container, _, path = there.partition(":")
    if not path or ":" in here or not _NAME.fullmatch(container):
        return ""
    if out:
        free = all(may_be_made(here, os.path.basename(path), folder, workspace) for folder in folders)
    else:
        free = all(may_be_taken(here, folder, workspace) for folder in folders)
    return container if free and all(means_one(here, folder) for folder in folders) else ""
