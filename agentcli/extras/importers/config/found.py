"""Configuration of other programs, read into values for our own configuration."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from agentcli.agent.project.places import FILE_BYTES
from agentcli.agent.settings import EFFORTS
from agentcli.core.aliases import own_rule
from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import safe_line
from agentcli.core.text.json_comments import without_comments
from agentcli.core.text.secrets import SECRET, holds_secret, mask
from agentcli.features.hooks.files import DOES, EVENTS, RUN_HERE
from agentcli.providers.settings import BUILT_IN
from agentcli.system import regular_file
from agentcli.system.regular_file import Missing, Unusable

Target = Literal["mcp.json", "hooks.json", "config.toml", "file"]
NEVER_ASKS = "a mode that never asks is not imported; choose one with --mode"
MAX_BYTES = 10_000_000
"""Maximum bytes of another program's settings: some store their history there."""
NOTHING: Mapping[str, str] = {}
_VARIABLE = re.compile(r"\$(?:\{\w+|[A-Z_][A-Z0-9_]*)")
_NO_KEYS = frozenset({"accept", "accept-language", "content-type", "user-agent"})
"""Headers whose values are never keys."""


@dataclass(frozen=True, slots=True)
class Item:
    """One entry to import. `key` is a server's name, an event, a setting, a list of rules, or a path below our config folder."""

    to: Target
    key: str
    value: Any
    source: str
    secrets: tuple[str, ...] = ()
    """Variables that replace secrets and must be set."""


OF_PROJECT = "a project's file can only set rules"
"""Why another setting of a project is skipped."""


@dataclass(slots=True)
class Found:
    """Everything found for one program: items to import, and skipped ones, each with the reason."""

    items: list[Item] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    otherwise: str = "there is no such setting here"
    """Why an unknown setting is skipped."""

    def skip(self, source: str, about: str, why: str) -> None:
        """List something that is not imported."""
        self.skipped.append(safe_line(f"{source}: {about}: {why}"))

    def setting(self, key: str, value: Any, source: str) -> None:
        """Import a setting under our name for it."""
        self.items.append(Item("config.toml", key, value, source))

    def skip_others(
        self, raw: Mapping[str, Any], known: Collection[str], source: str, instead: Mapping[str, str] = NOTHING
    ) -> None:
        """List all settings except the known ones as not imported, those with one reason in one line.

        `instead` says what there is in place of a setting.
        """
        reasons: dict[str, list[str]] = {}
        for key in sorted(key for key in raw if key not in known and not key.startswith("$")):
            reasons.setdefault(instead.get(key, self.otherwise), []).append(key)
        for why, keys in reasons.items():
            self.skip(source, ", ".join(keys), why)

    def server(self, name: str, raw: Any, source: str) -> None:
        """Import a server, with secrets replaced by variables."""
        if not isinstance(raw, Mapping) or not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name):
            self.skip(source, f"server {name}", "its name or its definition is not valid")
            return
        value, secrets = without_secrets(name, raw)
        self.items.append(Item("mcp.json", name, value, source, secrets))

    def rule(self, kind: str, rule: Any, source: str, translated: str | None = None) -> None:
        """Import a permission rule under our name of its tool."""
        own = own_rule(rule) if isinstance(rule, str) and translated is None else translated
        if own:
            self.items.append(Item("config.toml", f"permissions.{kind}", own, source))
        else:
            self.skip(source, f"{kind} {rule}", "there is no such tool here")

    def effort(self, level: Any, source: str) -> None:
        """Import how hard the model thinks, if it is one of our levels."""
        if level in EFFORTS:
            self.items.append(Item("config.toml", "agent.effort", level, source))
        elif level:
            self.skip(source, f"effort {level}", "there is no such level here")

    def model(self, provider: str, name: Any, source: str) -> None:
        """Import the model of a provider that agentcli knows."""
        if isinstance(name, str) and provider in BUILT_IN:
            self.items.append(Item("config.toml", "model", f"{provider}/{name}", source))
        elif name:
            self.skip(source, f"model {name} of {provider}", "`agentcli help models` says how to set up other servers")

    def file(self, path: str, source: Path, text: str | None = None) -> None:
        """Import a text file."""
        try:
            text = read_text(source) if text is None else text
        except Missing:
            return
        except (Unusable, UnicodeDecodeError) as why:
            self.skip(str(source), "the file", _reason(why))
            return
        if text.strip():
            self.items.append(Item("file", path, text, str(source)))


def read_text(path: Path, most: int = FILE_BYTES) -> str:
    """Return the text of a file. Raise Unusable if it is not text."""
    return regular_file.read_text(path, most)


def read_json(path: Path, found: Found, *, comments: bool = False) -> Mapping[str, Any]:
    """Return the object in a JSON file; empty if there is none. List a broken file as skipped."""
    return _read(path, found, lambda text: json.loads(without_comments(text) if comments else text))


def read_toml(path: Path, found: Found) -> Mapping[str, Any]:
    """Return the tables of a TOML file; empty if there is none. List a broken file as skipped."""
    return _read(path, found, tomllib.loads)


def _read(path: Path, found: Found, parse: Callable[[str], Any]) -> Mapping[str, Any]:
    try:
        value = parse(read_text(path, MAX_BYTES))
    except Missing:
        return {}
    except (Unusable, ValueError, RecursionError) as why:
        found.skip(str(path), "the file", _reason(why))
        return {}
    if not isinstance(value, Mapping):
        found.skip(str(path), "the file", "it is not valid")
        return {}
    return value


def _reason(why: Exception) -> str:
    """Return the reason why a file is left out."""
    if isinstance(why, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return str(why) if isinstance(why, Unusable) else f"can't read it: {why}"


def table(raw: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return an inner object; empty if it is missing or not an object."""
    value: Any = raw
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def texts(value: Any) -> Sequence[str]:
    """Return the texts of a list; empty if the value is not a list."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def without_secrets(server: str, raw: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return a server's definition with a variable in place of each secret, and the names of those variables.

    Any word may be a key, so every literal in the environment and the headers counts as a secret.
    """
    replaced = _Replaced(server)
    return {key: replaced.cleaned(key, value) for key, value in raw.items()}, tuple(dict.fromkeys(replaced.used))


@dataclass(slots=True)
class _Replaced:
    """Variables that have replaced a server's secrets so far."""

    server: str
    used: list[str] = field(default_factory=list)

    def cleaned(self, key: str, value: Any) -> Any:
        """Return a value of the server's definition without secrets."""
        match value:
            case Mapping() if key == "env":
                return _changed(value, self._hidden)
            case Mapping() if key == "headers":
                return _changed(value, self._header)
            case Mapping() if key == "oauth":
                return _changed(value, self._credential)
            case list():
                return [self._argument(one, n) if isinstance(one, str) else one for n, one in enumerate(value)]
            case str() if SECRET in mask(value):
                return self._hidden(self._variable(key), value)
            case _:
                return value

    def _hidden(self, name: str, text: str) -> str:
        if not text or _VARIABLE.search(text):
            return text
        scheme = re.match(r"(?:Bearer|Basic|token)\s+", text, re.IGNORECASE)
        self.used.append(name)
        return f"{scheme[0] if scheme else ''}${{{name}}}"

    def _variable(self, name: str) -> str:
        return re.sub(r"\W", "_", f"{self.server}_{name}").upper().strip("_")

    def _header(self, name: str, text: str) -> str:
        return text if name.lower() in _NO_KEYS else self._hidden(self._variable(name), text)

    def _credential(self, name: str, text: str) -> str:
        is_secret = holds_secret(self._variable(name), text) or SECRET in mask(text)
        return self._hidden(self._variable(name), text) if is_secret else text

    def _argument(self, text: str, place: int) -> str:
        """Return an argument with its secret hidden; in `--name=value`, only the value."""
        option, equals, value = text.partition("=")
        name = option.strip("-")
        if equals and name and (holds_secret(name, value) or SECRET in mask(text)):
            variable = self._variable(name)
            return f"{option}={self._hidden(variable, value) if holds_secret(variable, value) else f'${{{variable}}}'}"
        return self._hidden(self._variable(f"ARG{place}"), text) if SECRET in mask(text) else text


def _changed(texts: Mapping[str, Any], change: Callable[[str, str], str]) -> Mapping[str, Any]:
    return {name: change(name, text) if isinstance(text, str) else text for name, text in texts.items()}


def hook_groups(raw: Any, source: str, found: Found, events: Mapping[str, str], dialect: str = "") -> Iterator[Item]:
    """Yield the groups of hooks in a file, each for our name of its event; Gemini's times are in milliseconds."""
    if not isinstance(raw, Mapping):
        return
    for event, groups in raw.items():
        if event not in events:
            if isinstance(groups, list):
                found.skip(source, f"hooks of {event}", "there is no such event here")
            continue
        for group in groups if isinstance(groups, list) else [groups]:
            hooks = group.get("hooks") if isinstance(group, Mapping) else None
            if not isinstance(hooks, list) or not all(isinstance(hook, Mapping) for hook in hooks):
                found.skip(source, f"an entry of {event}", "it has no list of hooks")
                continue
            objections = [_no_hook(hook, EVENTS[events[event]].kinds) for hook in hooks]
            for hook, why in zip(hooks, objections, strict=True):
                if why:
                    found.skip(source, f"a hook of {event} of type {hook.get('type', 'command')}", why)
            if usable := [hook for hook, why in zip(hooks, objections, strict=True) if not why]:
                yield Item("hooks.json", events[event], _group(group, usable, dialect), source)


def _no_hook(hook: Mapping[str, Any], kinds: Collection[str]) -> str:
    """Return why a hook is not imported; empty if it is."""
    kind = hook.get("type", "command")
    if kind not in DOES:
        return RUN_HERE
    if kind not in kinds:
        return "it never runs at this event"
    if not hook.get(DOES[kind]):
        return f"it has no {DOES[kind]}"
    headers = table(hook, "headers").items()
    if any(name.lower() not in _NO_KEYS and not _VARIABLE.search(str(value)) for name, value in headers):
        return "its headers need variables that allowedEnvVars lists, not keys"
    return ""


def _group(group: Mapping[str, Any], hooks: Sequence[Mapping[str, Any]], dialect: str) -> Mapping[str, Any]:
    return {**group, "hooks": [_in_seconds(hook, dialect) if dialect else hook for hook in hooks]}


def _in_seconds(hook: Mapping[str, Any], dialect: str) -> Mapping[str, Any]:
    timeout = hook.get("timeout")
    seconds = {"timeout": timeout / 1000} if isinstance(timeout, int | float) else {}
    return {**hook, **seconds, "dialect": dialect}
