"""Tasks of a batch, read from JSON lines."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError, UsageError, in_words
from agentcli.core.text.encodings import readable
from agentcli.core.text.words import instead
from agentcli.extras.batch.mirrors import is_url
from agentcli.frontends.features import FEATURES
from agentcli.permissions.rules import in_own_names, parse_rules
from agentcli.program.feature import traits_of
from agentcli.system import probe

LISTS = ("allow", "deny", "env", "settings")
"""Fields of a task that are lists of texts."""
Isolation = Literal["worktree", "clone", "copy", "none"]
ID_CHARACTERS = 64
"""Longest id."""
_ID = re.compile(rf"[A-Za-z0-9._-]{{1,{ID_CHARACTERS}}}")
_KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(
        ("id", "prompt", "prompt_file", "repo", "base", "setup", "check", "model", "system_prompt"), (str,)
    ),
    **dict.fromkeys(("attempts", "max_turns"), (int,)),
    **dict.fromkeys(("max_cost", "max_time"), (int, float)),
    **dict.fromkeys(LISTS, (list,)),
    "meta": (dict, list, str, int, float, bool, type(None)),
}
"""Fields of a line, and the JSON types that they accept."""
_LIMITS = ("max_cost", "max_time", "max_turns")
DEFAULTS = ("check", "setup", "model", "max_cost", "max_turns", "max_time", "allow", "deny", "attempts")
"""Options that are defaults for the tasks' keys of the same names."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task with everything that its run needs. `repo` is an absolute path or a URL; `env` lists variables to pass on.

    `settings` are `NAME=VALUE`. `check_input` is the check's standard input. In a matrix, `of` is the task's original
    id, `variant` the label of the variant, and `repeat` the run's number.
    """

    id: str
    prompt: str
    repo: str
    base: str = "HEAD"
    setup: str = ""
    check: str = ""
    attempts: int = 1
    model: str = ""
    max_cost: float | None = None
    max_time: float | None = None
    max_turns: int | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    meta: Any = field(default=None)
    system_prompt: str = ""
    settings: tuple[str, ...] = ()
    check_input: str = ""
    of: str = ""
    variant: str = ""
    repeat: int = 1

    @property
    def digest(self) -> str:
        """SHA-256 of all fields that decide its result. Limits are not among them: they may be raised after a task reached one."""
        free = ("meta", "attempts", "max_cost", "max_time", "max_turns", "of", "variant", "repeat")
        later = ("system_prompt", "settings", "check_input")  # batches that began before these existed go on
        decisive = {name: value for name, value in asdict(self).items() if name not in free}
        decisive = {name: value for name, value in decisive.items() if name not in later or value}
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


def read_tasks(text: str, folder: Path, defaults: Mapping[str, Any]) -> tuple[Task, ...]:
    """Read the tasks of a file of JSON lines in `folder`.

    Raise InputError with the line number for an invalid line, UsageError for an invalid rule in the defaults.
    """
    _check_rules(defaults)
    tasks: dict[str, Task] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            task = _task(_object(line), folder, defaults)
        except InputError as error:
            raise InputError(f"Line {number}: {error}") from None
        if task.id in tasks:
            raise InputError(f"Line {number}: there is a task {task.id!r} already.")
        tasks[task.id] = task
    if not tasks:
        raise InputError("No tasks: write one JSON object a line, with id and prompt.")
    return tuple(tasks.values())


def text_of(path: Path) -> str:
    """Read a file that the user specified. Raise InputError if it is unreadable."""
    try:
        return readable(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"Can't read {path}: {in_words(error)}.") from error


def each_path(pattern: str, prompt: str, folder: Path, defaults: Mapping[str, Any]) -> tuple[Task, ...]:
    """Return a task for each file that matches a pattern; its path replaces `{path}` in the prompt.

    Raise InputError if no file matches, UsageError for an invalid rule in the defaults.
    """
    _check_rules(defaults)
    paths = sorted(str(path.relative_to(folder)) for path in folder.glob(pattern) if probe.is_file(path))
    if not paths:
        raise InputError(f"No file matches {pattern!r} in {folder}.")
    named = zip(_ids(paths), paths, strict=True)
    return tuple(_task({"id": id, "prompt": prompt.replace("{path}", path)}, folder, defaults) for id, path in named)


def chosen(tasks: Sequence[Task], ids: Iterable[str]) -> tuple[Task, ...]:
    """Return the tasks with these ids, or all without ids. Raise InputError for an unknown id."""
    wanted = list(ids)
    known = [task.id for task in tasks]
    for id in wanted:
        if id not in known:
            raise InputError(f"Unknown task {id!r}.{instead(id, known)}")
    return tuple(task for task in tasks if not wanted or task.id in wanted)


def _object(line: str) -> Mapping[str, Any]:
    try:
        raw: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}.") from None
    if not isinstance(raw, dict):
        raise InputError("not a JSON object.")
    for name, value in raw.items():
        if name not in _KINDS:
            raise InputError(f"unknown key {name!r}.{instead(name, _KINDS)}")
        kinds = _KINDS[name]
        wrong = not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)
        if wrong or (name in _LIMITS and not value >= 0):
            raise InputError(f"{name} cannot be {json.dumps(value)[:60]}.")
        if isinstance(value, list) and kinds == (list,) and not all(isinstance(item, str) for item in value):
            raise InputError(f"{name} is a list of strings.")
    try:
        _check_rules(raw)
    except UsageError as error:
        raise InputError(str(error).removeprefix("--")) from None
    return raw


def _check_rules(given: Mapping[str, Any]) -> None:
    """Raise UsageError for an invalid permission rule, or a rule about an unknown tool."""
    allow, deny = given.get("allow") or (), given.get("deny") or ()
    if allow or deny:
        in_own_names(parse_rules(allow, (), deny, "flag"), traits_of(FEATURES))


def _task(raw: Mapping[str, Any], folder: Path, defaults: Mapping[str, Any]) -> Task:
    if not _ID.fullmatch(raw.get("id", "")) or raw["id"] in (".", ".."):
        raise InputError(f"{raw.get('id', '')!r} is not a valid id: use 1 to 64 letters, digits and `._-`.")
    given = {**{name: value for name, value in defaults.items() if value}, **raw}
    repo = given.pop("repo", ".")
    if not is_url(repo):
        repo = str(Path(folder, Path(repo).expanduser()).resolve())
        if not probe.is_dir(Path(repo)):
            raise InputError(f"the repository {raw.get('repo', '.')} is neither a folder nor a URL.")
    prompt = _prompt(given, folder)
    lists = {name: tuple(given.pop(name, ())) for name in LISTS}
    task = Task(**{**given, **lists, "prompt": prompt, "repo": repo})
    if task.attempts < 1:
        raise InputError("attempts is 1 or more.")
    if task.attempts > 1 and not task.check:
        raise InputError("several attempts need a check that decides which of them is right.")
    return task


def _prompt(given: dict[str, Any], folder: Path) -> str:
    file, text = given.pop("prompt_file", ""), given.pop("prompt", "")
    if file:
        text = text_of(folder / file)
    if not text.strip():
        raise InputError("it has no prompt.")
    return str(text)


def _ids(paths: Sequence[str]) -> Iterable[str]:
    """Yield an id for each path, readable and unique."""
    for path in paths:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", path).strip("-.")[-50:]
        yield f"{name}-{hashlib.sha256(path.encode()).hexdigest()[:8]}"
