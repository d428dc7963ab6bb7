"""Lock files: the beginning of a run's requests, so that another run can be required to match."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from agentcli import __version__
from agentcli.agent.setup import WHERE
from agentcli.core.errors import InputError
from agentcli.core.history import History

FORMAT = 1
"""The version of the format."""
_SECTION = re.compile(r"^(?=#{1,2} )", re.MULTILINE)
_ENTRY = re.compile(r"- ([\w.-]+(?::[\w.-]+)*)")
_LISTS = ("# Skills", "# Agents")
"""Sections with one entry a line; each entry is compared."""
_NAME = 60
"""Characters of the name of a section."""

Json = Mapping[str, Any]


def lock_of(history: History, model: str, mode: str, version: str = __version__) -> Json:
    """Return the lock of a session, without its folder and circumstances, which differ from machine to machine."""
    return {
        "lock": FORMAT,
        "agentcli": version,
        "model": model,
        "mode": mode,
        "policy": history.policy,
        "tools": tool_digests(history.tools),
        "prompt": {name: digest(text) for name, text in sections(history.system)},
    }


def read_lock(file: str) -> Json:
    """Return the lock in a file. Raises InputError for any other file."""
    try:
        found = json.loads(Path(file).read_bytes())
    except OSError as error:
        raise InputError(f"Can't read {file}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not JSON.") from error
    tables = ("tools", "prompt")
    if not isinstance(found, dict) or not all(isinstance(found.get(name), dict) for name in tables):
        raise InputError(f"{file} is not a lock file. `agentcli sessions lock SESSION` writes one.")
    if found.get("lock") != FORMAT:
        raise InputError(f"{file} has a format that this version can't read. Create it again.")
    return found


def require_same(lock: Json, now: Json) -> None:
    """Raise InputError, listing the differences, if a run does not match its lock."""
    found = [*differences(lock, now)]
    if found:
        raise InputError("\n".join(["This run differs from its lock file:", *(f"- {line}" for line in found)]))


def differences(lock: Json, now: Json) -> Iterator[str]:
    """Yield the differences of a run from its lock, one a line."""
    for name in ("agentcli", "model", "mode", "policy"):
        if lock.get(name) != now[name]:
            yield f"{name}: {now[name]}, locked {lock.get(name)}"
    for table, what in (("tools", "tool"), ("prompt", "prompt")):
        for name, change in changes(lock[table], now[table]):
            yield f"{what}: {name} {_WORDS[change]}"


Change = Literal["new", "gone", "changed"]
_WORDS: Mapping[Change, str] = {"new": "is new", "gone": "is missing", "changed": "has changed"}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, Change]]:
    """Yield the names with different values in order, each with what changed."""
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            yield name, "new" if name not in before else "gone" if name not in after else "changed"


def sections(system: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the sections of a system prompt with their names; files below the session's folder by relative path."""
    folder = next((found[1] for block in system if (found := re.search(r"^Folder: (.+)$", block, re.MULTILINE))), "")
    seen: dict[str, int] = {}
    for block in system:
        if block.startswith(WHERE):
            continue
        for section in _SECTION.split(block.replace(f"{folder}/", "") if folder else block):
            for name, text in _entries(section):
                seen[name] = seen.get(name, 0) + 1
                yield (name if seen[name] == 1 else f"{name} ({seen[name]})"), text


def tool_digests(tools: Iterable[Json]) -> Mapping[str, str]:
    """Return the hash of each tool by its name."""
    return {str(tool["name"]): digest(json.dumps(tool, sort_keys=True)) for tool in tools}


def digest(text: str) -> str:
    """Return the hash of a text."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _entries(section: str) -> Iterator[tuple[str, str]]:
    """Yield a section with its name, or the entries of a list of skills or agents."""
    title = section.strip().partition("\n")[0]
    if not title:
        return
    rest = []
    for line in section.split("\n"):
        entry = _ENTRY.match(line) if title in _LISTS else None
        if entry is None:
            rest.append(line)
        else:
            yield f"{title.lstrip('# ').lower()}: {entry[1]}", line
    yield title.lstrip("# ")[:_NAME], "\n".join(rest).strip()
