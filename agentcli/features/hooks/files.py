"""Hooks, and the JSON files that define them in Claude Code's format: read as values, without running anything."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError
from agentcli.core.sanitise import safe_line
from agentcli.core.text.words import instead, one_of
from agentcli.program.definition import Definition
from agentcli.system.regular_file import Missing, Unusable, read_text

if TYPE_CHECKING:
    from agentcli.features.hooks.settings import HookSettings
    from agentcli.program.prompt_files.plugins import PluginHooks


Dialect = Literal["claude", "gemini"]
Kind = Literal["command", "http", "prompt"]

ASKED_TIMEOUT = 30.0
"""Time limit of a question to a model in seconds."""
TIMEOUT = 60.0
"""Time limit of a hook in seconds, unless its file or its event sets another."""


@dataclass(frozen=True, slots=True)
class EventKind:
    """A kind of event at which hooks run. `SessionHooks` has a method that fires it; in `Hooks` it does nothing."""

    gemini: str = ""
    """Gemini CLI's name for it, if it has one."""
    timeout: float = TIMEOUT
    """Time limit of its hooks in seconds."""
    has_subject: bool = True
    """False if its hooks run for any matcher."""
    can_block: bool = True
    """False if nothing can be blocked: then a hook's reason goes to the person."""
    kinds: frozenset[Kind] = frozenset({"command", "http", "prompt"})
    """Types of its hooks."""


_NO_PROMPT: frozenset[Kind] = frozenset({"command", "http"})
EVENTS: Mapping[str, EventKind] = MappingProxyType(
    {
        "SessionStart": EventKind("SessionStart", can_block=False, kinds=frozenset({"command"})),
        "SessionEnd": EventKind("SessionEnd", timeout=5.0, can_block=False, kinds=_NO_PROMPT),
        "UserPromptSubmit": EventKind("BeforeAgent", timeout=30.0, has_subject=False),
        "PreToolUse": EventKind("BeforeTool"),
        "PermissionRequest": EventKind(),
        "PostToolUse": EventKind("AfterTool"),
        "PostToolUseFailure": EventKind(),
        "Notification": EventKind("Notification", can_block=False, kinds=_NO_PROMPT),
        "SubagentStart": EventKind(can_block=False, kinds=_NO_PROMPT),
        "SubagentStop": EventKind(),
        "Stop": EventKind("AfterAgent", has_subject=False),
        "StopFailure": EventKind(kinds=_NO_PROMPT),
        "PreCompact": EventKind("PreCompress", kinds=_NO_PROMPT),
        "PostCompact": EventKind(can_block=False, kinds=_NO_PROMPT),
    }
)
"""Events at which hooks run."""
GEMINI_EVENTS: Mapping[str, str] = MappingProxyType({name: kind.gemini for name, kind in EVENTS.items() if kind.gemini})
"""Gemini CLI's names of events, by ours."""
PRE_COMPRESS = "PreCompress"
"""Older name of PreCompact in config.toml; its hooks get the session's folder as transcript."""
_KNOWN = (*EVENTS, PRE_COMPRESS)
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "event": str,
    "command": str,
    "matcher": str,
    "timeout": (int, float),
}
MAX_BYTES = 1_000_000
"""Largest size of a file of hooks, in bytes."""
_NAMES = re.compile(r"[\w ,|-]+")
_CONDITION = re.compile(r"[^()\s]+(?:\(.*\))?", re.DOTALL)
"""Form of an `if`: a tool, or a tool with a pattern in parentheses."""
FIELDS: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {
        "command": (str,),
        "timeout": (int, float),
        "if": (str,),
        "strict": (bool,),
        "async": (bool,),
        "args": (list,),
        "dialect": (str,),
        "allowedEnvVars": (list,),
        "url": (str,),
        "headers": (dict,),
        "prompt": (str,),
        "model": (str,),
        "continueOnBlock": (bool,),
    }
)
"""Fields of a hook that have an effect, with their types."""
DOES: Mapping[str, str] = MappingProxyType({"command": "command", "http": "url", "prompt": "prompt"})
"""Types of hooks, with the field that says what each does."""
RUN_HERE = "only command, http and prompt run here"


@dataclass(frozen=True, slots=True)
class Hook:
    """A command that runs at every event of one name with a matching subject, for at most `timeout` seconds.

    Of another `kind`, `command` is the address to which the event is sent, or the question to a model.

    `matcher` is empty or `*` for all, or names separated by `,` or `|`. Any other text is a regular expression to
    search for. With `args` the command is a program that gets them, else a shell line.
    """

    event: str
    command: str
    matcher: str = ""
    timeout: float = 30.0
    args: tuple[str, ...] | None = None
    condition: str = ""
    """Rule such as `Bash(git *)` that the tool's call must match as well (`if`)."""
    strict: bool = False
    """True if any failure blocks, not only exit code 2."""
    background: bool = False
    """True if it runs in the background (`async`) and decides nothing."""
    source: str = "config.toml"
    """The file that defines it, as the person knows it."""
    project: bool = False
    """True if a project defines it: it may deny and ask, but not allow."""
    dialect: Dialect = "claude"
    """The program it was written for, whose names of events and tools it gets."""
    folder: Path | None = None
    """Value of `CLAUDE_PROJECT_DIR`; None for the root of the repository."""
    env: tuple[tuple[str, str], ...] = ()
    """Further variables of its environment."""
    secrets: tuple[str, ...] = ()
    """Variables that a project's hook sees although they contain secrets, or that headers may name (`allowedEnvVars`)."""
    kind: Kind = "command"
    headers: tuple[tuple[str, str], ...] = ()
    model: str = ""
    """Name of the model to ask; empty for the session's cheap one."""
    goes_on: bool = False
    """True if the turn continues after a no of the model (`continueOnBlock`)."""

    @property
    def name(self) -> str:
        """File name of its script, or else of its program; the host or the type of another hook."""
        if self.kind != "command":
            return safe_line(urlsplit(self.command).netloc if self.kind == "http" else self.kind)[:60]
        words = [
            word for word in self.words if not re.search(r"[\s=]", word)
        ]  # no assignment, header or text of another shell
        scripts = [word for word in words if re.search(r"\.\w{1,5}$", word) and not word.startswith("-")]
        chosen = (scripts or words or ["hook"])[0]
        return safe_line(chosen.rstrip("/").rpartition("/")[2])[:60] or "hook"

    @property
    def words(self) -> Sequence[str]:
        """Words of the command line, as far as known without a shell."""
        return [*(_words(self.command) if self.args is None else [self.command]), *(self.args or ())]

    @property
    def line(self) -> str:
        """The exact command line, address or question."""
        if self.kind == "http":
            return f"POST {self.command}" + "".join(f" {name}: {value}" for name, value in self.headers)
        if self.kind == "prompt":
            return f"ask {self.model or 'the cheap model'}: {self.command}"
        return self.command if self.args is None else shlex.join([self.command, *self.args])

    def matches(self, event: str, subjects: Sequence[str]) -> bool:
        """Return True if the hook runs at this event, whose subject has any of these names."""
        if event != self.event:
            return False
        if self.matcher in ("", "*") or (event in EVENTS and not EVENTS[event].has_subject):
            return True
        if _NAMES.fullmatch(self.matcher):
            names = {name.strip() for name in re.split("[,|]", self.matcher)}
            return not names.isdisjoint(subjects)
        return any(re.search(self.matcher, subject) for subject in subjects)

    @property
    def definition(self) -> Definition:
        """Its definition, for the approval of a person."""
        content = {
            "event": self.event,
            "matcher": self.matcher,
            "command": self.command,
            "args": None if self.args is None else [*self.args],
            "timeout": self.timeout,
            "if": self.condition,
            "strict": self.strict,
            "async": self.background,
            "dialect": self.dialect,
            **({"allowedEnvVars": [*self.secrets]} if self.secrets else {}),
            **({} if self.kind == "command" else self._elsewhere),
        }
        on = f"{self.event} {self.matcher}" if self.matcher not in ("", "*") else self.event
        on += f"; sees {', '.join(self.secrets)} of your environment" if self.secrets else ""
        return Definition("hook", f"{self.name} ({on})", self.source, self.line, content)

    @property
    def _elsewhere(self) -> Mapping[str, object]:
        """Further fields of its definition if it is not a command."""
        return {
            "type": self.kind,
            "headers": dict(self.headers),
            "model": self.model,
            "continueOnBlock": self.goes_on,
        }


@dataclass(frozen=True, slots=True)
class HookFile:
    """Hooks of one file, and notes for the person about skipped ones."""

    hooks: tuple[Hook, ...] = ()
    notes: tuple[str, ...] = ()
    urls: tuple[str, ...] | None = None
    """Addresses that hooks may be sent to (`allowedHttpHookUrls`); None for all."""
    variables: tuple[str, ...] | None = None
    """Variables that their headers may have (`httpHookAllowedEnvVars`); None for all that they list."""


def within(hooks: Sequence[Hook], limits: HookFile) -> tuple[tuple[Hook, ...], tuple[str, ...]]:
    """Return the hooks that a file's lists of addresses and variables allow, with a note about each other one."""
    kept, notes = list[Hook](), list[str]()
    for hook in hooks:
        if hook.kind == "http" and limits.urls is not None and not _is_listed(hook.command, limits.urls):
            notes.append(f"{hook.source}: {safe_line(hook.command)} is not among allowedHttpHookUrls: it is left out.")
        elif hook.kind == "http" and limits.variables is not None:
            kept.append(replace(hook, secrets=tuple(name for name in hook.secrets if name in limits.variables)))
        else:
            kept.append(hook)
    return tuple(kept), tuple(notes)


def _is_listed(url: str, patterns: Sequence[str]) -> bool:
    return any(re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), url) for pattern in patterns)


def read_hooks(
    path: Path,
    source: str,
    *,
    project: bool = False,
    folder: Path | None = None,
    env: Mapping[str, str] | None = None,
    dialect: Dialect = "claude",
) -> HookFile:
    """Return a file's hooks in order; `source` is its name in messages. A missing file has none.

    A file of Gemini CLI (`dialect`) uses its names of events, and times in milliseconds.
    """
    source = safe_line(source)
    try:
        raw = json.loads(read_text(path, MAX_BYTES))
    except Missing:
        return HookFile()
    except Unusable as why:
        return _broken(source, str(why))
    except json.JSONDecodeError as error:
        return HookFile(notes=(f"{source} line {error.lineno}: {error.msg} — nothing in it takes effect.",))
    except (ValueError, RecursionError):
        return _broken(source, "it is not usable JSON")
    if not isinstance(raw, dict):
        return _broken(source, "it contains no JSON object")
    if raw.get("disableAllHooks") is True:
        return HookFile(notes=(f"{source} switches its hooks off (disableAllHooks).",))
    variables = tuple((env or {}).items())
    base = Hook("", "", source=source, project=project, folder=folder, env=variables, dialect=dialect)
    found = _hooks_in(raw.get("hooks", {}), base)
    lists = [raw.get(name) for name in ("allowedHttpHookUrls", "httpHookAllowedEnvVars")]
    urls, names = (tuple(map(str, each)) if isinstance(each, list) else None for each in lists)
    return replace(found, urls=urls, variables=names)


def bundled_hooks(given: PluginHooks) -> HookFile:
    """Return the hooks of a plugin, from its files and its manifest."""
    dialect: Dialect = "gemini" if given.gemini else "claude"
    found = [read_hooks(path, given.source, env=given.variables, dialect=dialect) for path in given.files]
    found += [_in_manifest(table, given) for table in given.tables]
    hooks, notes = [one.hooks for one in found], [one.notes for one in found]
    return HookFile(tuple(chain.from_iterable(hooks)), tuple(dict.fromkeys(chain.from_iterable(notes))))


def _in_manifest(raw: object, given: PluginHooks) -> HookFile:
    inner = raw.get("hooks", raw) if isinstance(raw, dict) else raw
    return _hooks_in(inner, Hook("", "", source=safe_line(given.source), env=tuple(given.variables.items())))


def _hooks_in(raw: object, base: Hook) -> HookFile:
    reading = _Reading(base, [], [])
    reading.events(raw)
    return HookFile(tuple(reading.hooks), tuple(dict.fromkeys(reading.notes)))


def _broken(source: str, why: str) -> HookFile:
    return HookFile(notes=(f"{source}: {why} — nothing in it takes effect.",))


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reader of one file; `base` has the fields that all its hooks share."""

    base: Hook
    hooks: list[Hook]
    notes: list[str]

    def events(self, raw: Any) -> None:
        if not isinstance(raw, dict):
            self._note('"hooks" is not an object: none of its hooks run.')
            return
        gemini = GEMINI_EVENTS if self.base.dialect == "gemini" else {}
        own = {foreign: name for name, foreign in gemini.items()}
        for name, groups in raw.items():
            event = own.get(name, str(name))
            if event not in EVENTS:
                near = instead(event, EVENTS)
                self.notes.append(f"Event {safe_line(event)[:60]} is not supported; its hooks never run.{near}")
            elif not isinstance(groups, list):
                self._note(f"{event} is not a list: its hooks do not run.")
            else:
                for group in groups:
                    self.hooks.extend(self._group(event, group))

    def _group(self, event: str, group: Any) -> Iterator[Hook]:
        entries = group.get("hooks") if isinstance(group, dict) else None
        matcher = group.get("matcher", "") if isinstance(group, dict) else None
        if not isinstance(entries, list) or not isinstance(matcher, str | None):
            self._note(f'{event} has an entry without a list "hooks": it is left out.')
            return
        matcher = matcher or ""
        try:
            re.compile(matcher if matcher != "*" else "")
        except (re.error, RecursionError) as error:
            self._note(
                f"the matcher {safe_line(matcher)[:60]!r} is not a regular expression ({error}): its hooks are left out."
            )
            return
        for entry in entries:
            kind = entry.get("type", "command") if isinstance(entry, dict) else ""
            if kind not in DOES:
                self._note(f"hooks of type {safe_line(str(kind))[:40] or '?'} are left out: {RUN_HERE}.")
            elif kind not in EVENTS[event].kinds:
                self._note(f"hooks of type {kind} never run at {event}: they are left out.")
            elif (hook := self._hook(event, matcher, entry)) is not None:
                yield hook

    def _hook(self, event: str, matcher: str, entry: Mapping[str, Any]) -> Hook | None:
        wrong = [key for key, kinds in FIELDS.items() if key in entry and not _is(entry[key], kinds)]
        args, secrets = entry.get("args"), entry.get("allowedEnvVars") or ()
        if not all(isinstance(one, str) for one in secrets):
            wrong = ["allowedEnvVars"]
        if not wrong and entry.get("if") and not _CONDITION.fullmatch(entry["if"].strip()):
            wrong = ["if"]
        kind: Kind = entry.get("type", "command")
        does = entry.get(DOES[kind])
        if kind == "http" and does and urlsplit(does).scheme not in ("http", "https"):
            wrong = ["url"]
        if wrong or not does or not all(isinstance(one, str) for one in args or ()):
            self._note(
                f"a hook of {event} has no usable {wrong[0] if wrong else 'args' if args else DOES[kind]}: it is left out."
            )
            return None
        gemini = self.base.dialect == "gemini"
        default = ASKED_TIMEOUT if kind == "prompt" else EVENTS[event].timeout
        timeout = float(entry["timeout"]) / (1000 if gemini else 1) if "timeout" in entry else default
        return Hook(
            event=event,
            command=does,
            matcher=matcher,
            timeout=timeout if timeout > 0 else TIMEOUT,
            args=None if args is None else tuple(args),
            condition=entry.get("if", ""),
            strict=entry.get("strict", False),
            background=entry.get("async", False),
            source=self.base.source,
            project=self.base.project,
            dialect="gemini" if entry.get("dialect") == "gemini" else self.base.dialect,
            folder=self.base.folder,
            env=self.base.env,
            secrets=tuple(secrets),
            kind=kind,
            headers=tuple((str(name), str(value)) for name, value in entry.get("headers", {}).items()),
            model=entry.get("model", ""),
            goes_on=entry.get("continueOnBlock", False),
        )

    def _note(self, text: str) -> None:
        self.notes.append(f"{self.base.source}: {text}")


def _is(value: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def configured(settings: HookSettings) -> tuple[Hook, ...]:
    """Return the configured hooks. Raises ConfigError for an invalid one."""
    first = (Hook(PRE_COMPRESS, settings.pre_compress, timeout=settings.timeout),) if settings.pre_compress else ()
    return (*first, *(_hook(entry, settings.timeout) for entry in settings.commands))


def _hook(entry: Mapping[str, Any], timeout: float) -> Hook:
    if wrong := [key for key, value in entry.items() if not isinstance(value, _TYPES.get(key, ()))]:
        raise ConfigError(f"hooks: {wrong[0]} = {entry[wrong[0]]!r} is not valid. A hook has {', '.join(_TYPES)}.")
    hook = Hook(**{"event": "", "command": "", "timeout": timeout, **entry})
    if hook.event not in _KNOWN:
        raise ConfigError(f"hooks: there is no event {hook.event!r}.{one_of(hook.event, _KNOWN)}")
    if not hook.command:
        raise ConfigError(f"hooks: a hook for {hook.event} has no command.")
    try:
        re.compile(hook.matcher if hook.matcher != "*" else "")
    except re.error as error:
        raise ConfigError(f"hooks: the matcher {hook.matcher!r} is not a regular expression: {error}.") from error
    return hook
