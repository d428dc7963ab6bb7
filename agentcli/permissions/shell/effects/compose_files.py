"""Files of `docker compose`: whether their containers get no more of this machine than folders of the workspace.

Only known keys count as that. A file with another key, or one that is not plain YAML, is asked about each time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from agentcli.permissions.paths import Workspace, below, free_either_way, holds_denied, means_one, resolved
from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.system import probe

if TYPE_CHECKING:
    import yaml

_NAMES = tuple(f"{stem}.{ending}" for stem in ("compose", "docker-compose") for ending in ("yaml", "yml"))
_OVERRIDES = tuple(name.replace(".", ".override.") for name in _NAMES)
Node: TypeAlias = "str | list[Node] | tuple[tuple[str, Node], ...]"
"""A text, a list, or the pairs of a mapping. A key that occurs twice is in it each time."""
_KINDS = word_set("str int float bool null timestamp value merge seq map")
"""The tags that a plain text of YAML has."""
_ODD = re.compile(r"[^\x20-\x7e\n\xa0-\u2027\u202a-\ufefe\uff00-\uffef\U00010000-\U0010ffff]|(?m:^%)")
"""Characters that a program may take for the end of a line, or for nothing; also tabs, and directives."""
_DEEPEST, _MOST_NODES, _MOST_BRACKETS = 20, 4_000, 500
"""Largest depth of a text that is read, its maximum nodes, and its maximum opening brackets, which may be nested."""
_LARGEST = 64_000
"""Maximum bytes of a file that is read."""
_STEERING = re.compile(
    rb"(?<![\w.-])(?:(?:DOCKER|BUILDX|BUILDKIT|LD|DYLD)_\w+|COMPOSE_\w*FILES?|PATH|HOME)[\s\x80-\xff]*[=:]"
)
"""A variable in a `.env` file that chooses other files, another engine or other programs: `A=B` or `A: B`."""


def why_more(named: Sequence[str], folder: Path, workspace: Workspace) -> str:
    """Return why containers of a project may get more than folders of the workspace; empty if they do not.

    `named` are the files that a command in this folder names.
    """
    env = workspace.shell_env() or workspace.command_env
    if any(re.fullmatch(r"COMPOSE_\w*FILES?", name) for name in env):
        return "a variable chooses its files"
    files = [folder / name for name in named] if named else _found(folder, workspace)
    if not files:
        return "it has no compose file in the workspace"
    top = Path(os.path.normpath(files[0].parent))
    for settings in dict.fromkeys((top / ".env", folder / ".env")):
        given = _content(settings) if probe.exists(settings) else b""
        if given is None or _STEERING.search(given):
            return "its .env file may choose another engine or other files"
    return next(filter(None, (_why_of(file, top, workspace) for file in files)), "")


def _found(folder: Path, workspace: Workspace) -> list[Path]:
    """Return the files that compose finds from a folder: there, or in the nearest folder above."""
    for top in (folder, *folder.parents):
        if not below(resolved(top), workspace.resolved_roots):
            return []
        if any(probe.exists(top / name) for name in _NAMES):
            return [top / name for name in (*_NAMES, *_OVERRIDES) if probe.exists(top / name)]
    return []


def _content(path: Path) -> bytes | None:
    """Return the content of a regular file; None if it is too large or can't be read."""
    try:
        return path.read_bytes() if probe.is_file(path) and path.stat().st_size <= _LARGEST else None
    except OSError:
        return None


def _why_of(path: Path, top: Path, workspace: Workspace) -> str:
    free = free_either_way(str(path), workspace, write=False, cwd=workspace.cwd)
    data = _content(path) if free else None
    try:
        found = _read(data.decode()) if data is not None else None
    except UnicodeDecodeError:
        found = None
    if not isinstance(found, tuple):
        return f"{path.name} is not plain"
    key = next(_others(found, _top_level(top, workspace)), "")
    return f"`{key}` in {path.name} may give more than folders of the workspace" if key else ""


def _read(text: str) -> Node | None:
    """Return what a text of YAML contains; None if programs may read another structure in it.

    Tabs, tags, directives, and characters that some take for the end of a line may have that effect.
    """
    import yaml  # 20 ms, only for such a command

    nested, following = text.count("[") + text.count("{"), text.count(",") + text.count("\n")
    if _ODD.search(text.replace("\r\n", "\n")) or nested > _MOST_BRACKETS or following > _MOST_NODES:
        return None
    try:
        found = yaml.compose(text, yaml.SafeLoader)
        return () if found is None else _node(found, [_MOST_NODES])
    except (yaml.YAMLError, _NotPlain, RecursionError):
        return None


class _NotPlain(Exception):
    """A text has more than plain YAML, or too much of it."""


def _node(node: yaml.Node, left: list[int], depth: int = 0) -> Node:
    """Return the content of a node, with its scalars as they are written.

    A mapping has the pairs that are merged into it, too. `left` holds the number of nodes that may still follow: aliases repeat them.
    """
    import yaml

    left[0] -= 1
    kind = node.tag.removeprefix("tag:yaml.org,2002:")
    if left[0] < 0 or depth > _DEEPEST or kind not in _KINDS:
        raise _NotPlain
    if isinstance(node, yaml.ScalarNode):
        return "" if kind == "null" else str(node.value)
    if isinstance(node, yaml.SequenceNode):
        return [_node(item, left, depth + 1) for item in node.value]
    pairs = list[tuple[str, Node]]()
    for key, value in node.value:
        name, given = _node(key, left, depth + 1), _node(value, left, depth + 1)
        if not isinstance(name, str):
            raise _NotPlain
        if key.tag.endswith(":merge"):
            for merged in given if isinstance(given, list) else [given]:
                if not isinstance(merged, tuple):
                    raise _NotPlain
                pairs += merged
        else:
            pairs.append((name, given))
    return tuple(pairs)


_Check = Callable[[Node], Iterator[str]]
"""Yields the keys of a value that may give containers more; nothing for a harmless value."""


def _others(node: Node, known: Mapping[str, _Check]) -> Iterator[str]:
    """Yield the keys of a mapping, or the keys in their values, that may give containers more."""
    if not isinstance(node, tuple):
        if node:
            yield "…"
        return
    for key, value in node:
        check = known.get(key) or (_any if key.startswith("x-") else None)
        inner = next(check(value), "") if check is not None else "…"
        if inner:
            yield key if inner == "…" else inner


def _any(_: Node) -> Iterator[str]:
    return iter(())


def _each(check: _Check, node: Node) -> Iterator[str]:
    """Check each value of a mapping with any keys."""
    values = [value for _, value in node] if isinstance(node, tuple) else []
    if not isinstance(node, tuple) and node:
        yield "…"
    for value in values:
        yield from check(value)


def _in_list(check: _Check, node: Node) -> Iterator[str]:
    """Check each item of a list, or a single value."""
    for item in node if isinstance(node, list) else [node]:
        yield from check(item)


def _text(pattern: str, node: Node) -> Iterator[str]:
    if not isinstance(node, str) or not re.fullmatch(pattern, node):
        yield "…"


def _path(top: Path, workspace: Workspace, write: bool, node: Node) -> Iterator[str]:
    """Check a file or folder of the workspace, known without variables."""
    plain = isinstance(node, str) and node and not re.search(r"[$\\:*?\[]|^~|^[\w.-]+@", node)
    if not plain or not free_either_way(str(node), workspace, write=write, cwd=top):
        yield "…"


def _given(top: Path, workspace: Workspace, write: bool, node: Node) -> Iterator[str]:
    """Check a file or folder that the engine gives to a container, without those of deny rules."""
    yield from _path(top, workspace, write, node)
    if holds_denied(top / str(node), workspace):
        yield "…"


def _inside(top: Path, workspace: Workspace, node: Node) -> Iterator[str]:
    """Check a file with variables, which is in the workspace; it may be one that only its owner reads."""
    plain = isinstance(node, str) and node and not re.search(r"[$\\:*?\[]|^~", node)
    if not plain or not means_one(str(node), top) or not below(resolved(top / str(node)), workspace.resolved_roots):
        yield "…"


def _mount(top: Path, workspace: Workspace, node: Node) -> Iterator[str]:
    """Check a volume: one of the engine's, or a folder of the workspace."""
    if isinstance(node, tuple):
        given = dict(node)
        kind, source = given.get("type"), given.get("source", given.get("src", ""))
        plain = len(given) == len(node) and not given.keys() - _OF_MOUNTS
        if kind == "bind" and plain:
            yield from _given(top, workspace, given.get("read_only") != "true", source)
        elif not plain or kind not in ("volume", "tmpfs") or (source and not _is_volume(source)):
            yield "…"
    elif isinstance(node, str):
        source, colon, rest = node.partition(":")
        named = not node.startswith(("/", "."))
        if named and not (colon and _is_volume(source)):
            yield "…"
        elif colon and not _is_volume(source):
            yield from _given(top, workspace, rest.rpartition(":")[2] != "ro", source)
    else:
        yield "…"


def _is_volume(node: Node) -> bool:
    return isinstance(node, str) and re.fullmatch(_VOLUME, node, re.ASCII) is not None


_VOLUME = r"[A-Za-z0-9][\w.-]+"
"""Pattern of the name of a volume: a single letter is a drive."""


_OF_MOUNTS = word_set("type source src target dst destination read_only consistency volume tmpfs")
_HARMLESS = word_set("""
attach cap_drop command container_name cpu_count cpu_percent cpu_shares cpu_quota cpu_period cpus cpuset depends_on dns dns_opt
dns_search domainname entrypoint environment expose extra_hosts healthcheck hostname image init labels links mac_address
mem_limit mem_reservation mem_swappiness memswap_limit pids_limit platform ports profiles pull_policy read_only restart
scale shm_size stdin_open stop_grace_period stop_signal tmpfs tty ulimits user working_dir
""")
"""Keys of a service that concern only the container itself, and ports that it opens."""
_OF_DEPLOYING = word_set("mode replicas endpoint_mode labels placement restart_policy update_config rollback_config")
_OF_BUILDS = word_set("args target labels platforms shm_size tags no_cache pull dockerfile_inline")
_NETWORK_NAME = r"(?!host$)[\w.-]+"


def _top_level(top: Path, workspace: Workspace) -> Mapping[str, _Check]:
    """Return the known keys of a file."""
    reads, file = partial(_given, top, workspace, False), partial(_inside, top, workspace)
    name = partial(_text, _NETWORK_NAME)
    build: dict[str, _Check] = {
        **dict.fromkeys(_OF_BUILDS, _any),
        "context": partial(_context, top, workspace),
        "dockerfile": partial(_text, r"(?!/)(?!.*\.\.)[\w./-]+"),
    }
    resources = dict.fromkeys(("cpus", "memory", "pids"), _any)
    deploy: dict[str, _Check] = {
        **dict.fromkeys(_OF_DEPLOYING, _any),
        "resources": partial(_each, partial(_others, known=resources)),
    }
    # Another driver lets the engine itself connect to a socket or a port of this machine.
    logging: dict[str, _Check] = {"driver": partial(_text, "json-file|local|none|journald"), "options": _any}
    env_file = partial(_others, known={"path": file, "required": _any, "format": _any})
    service: dict[str, _Check] = {
        **dict.fromkeys(_HARMLESS, _any),
        "build": partial(_build, top, workspace, build),
        "deploy": partial(_others, known=deploy),
        "logging": partial(_others, known=logging),
        "env_file": partial(_in_list, lambda node: env_file(node) if isinstance(node, tuple) else file(node)),
        "extends": partial(_others, known={"service": partial(_text, r"[\w.-]+")}),
        "network_mode": partial(_text, r"bridge|none|service:[\w.-]+"),
        "networks": _any,
        "secrets": _any,
        "configs": _any,
        "security_opt": partial(_in_list, partial(_text, r"no-new-privileges(?:[:=]true)?")),
        "volumes": partial(_in_list, partial(_mount, top, workspace)),
    }
    given = partial(_each, partial(_others, known={"file": reads, "external": _any, "name": _any, "content": _any}))
    flag = partial(_text, "true|false")
    volume: dict[str, _Check] = {
        "driver": partial(_text, "local"),
        "external": flag,
        "name": partial(_text, _VOLUME),
        "labels": _any,
    }
    network: dict[str, _Check] = {
        "driver": partial(_text, "bridge"),
        "external": flag,
        "name": name,
        "labels": _any,
        "internal": _any,
    }
    return {
        "version": _any,
        "name": _any,
        "services": partial(_each, partial(_others, known=service)),
        "volumes": partial(_each, partial(_others, known=volume)),
        "networks": lambda node: _networks(node, network),
        "secrets": given,
        "configs": given,
    }


def _networks(node: Node, known: Mapping[str, _Check]) -> Iterator[str]:
    """Check networks, whose own names count as well: `host` is the machine's."""
    if isinstance(node, tuple) and any(key == "host" for key, _ in node):
        yield "host"
    yield from _each(partial(_others, known=known), node)


def _build(top: Path, workspace: Workspace, known: Mapping[str, _Check], node: Node) -> Iterator[str]:
    """Check a build: its keys, or only its folder, and the file with its steps."""
    given = dict(node) if isinstance(node, tuple) else {"context": node}
    yield from _others(tuple(given.items()) if not isinstance(node, tuple) else node, known)
    file = os.path.join(str(given.get("context", ".")), str(given.get("dockerfile", "Dockerfile")))
    if not free_either_way(file, workspace, write=False, cwd=top):
        yield "dockerfile"


def _context(top: Path, workspace: Workspace, node: Node) -> Iterator[str]:
    """Check the folder of a build."""
    yield from _path(top, workspace, False, node)
    if isinstance(node, str) and not probe.is_dir(top / node):
        yield "…"
