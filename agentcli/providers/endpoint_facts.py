"""Known facts about endpoints: missing capabilities and stated windows, stored in a file for a week."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.system.paths import replace_file

FILE = "endpoints.json"
DAY = 86_400.0
REMEMBERED_DAYS = 7.0
"""Days after which an endpoint is tried again: servers are updated."""
_NOTHING: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Learnt:
    """Findings about one model of one endpoint at `url` (empty for the vendor's own): missing capabilities, each with
    its time.

    Times are in seconds since the epoch; `window` is in tokens, 0 if unknown.
    """

    url: str = ""
    since: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    window: int = 0
    window_since: float = 0.0

    @property
    def lacking(self) -> frozenset[str]:
        """The missing capabilities."""
        return frozenset(self.since)


class EndpointMemory:
    """Findings in a file of the state folder, or, without a path, only in this process.

    `clock` returns seconds since the epoch.
    """

    def __init__(
        self, path: Path | None = None, days: float = REMEMBERED_DAYS, clock: Callable[[], float] = time.time
    ) -> None:
        self.days = days
        self._path, self._clock = path, clock
        self._own: dict[str, Learnt] = {}
        self._seen: tuple[int, dict[str, Learnt]] = (-1, {})

    def known(self, model: str, url: str = "") -> Learnt:
        """Return the findings about the model `provider/id` at this address; none for another address."""
        found = self.all().get(model, Learnt(url))
        return found if found.url == url else Learnt(url)

    def learn(self, model: str, url: str = "", *, lacking: Iterable[str] = (), window: int = 0) -> None:
        """Remember missing capabilities, or a window."""
        now, known = self._clock(), self.known(model, url)
        since = {**known.since, **dict.fromkeys(lacking, now)}
        stated = (window, now) if window else (known.window, known.window_since)
        self._keep(model, Learnt(url, since, *stated))

    def forget(self, model: str, url: str, capabilities: Iterable[str]) -> None:
        """Forget that these capabilities are missing."""
        known, gone = self.known(model, url), set(capabilities)
        since = {name: at for name, at in known.since.items() if name not in gone}
        self._keep(model, Learnt(url, since, known.window, known.window_since))

    def forget_all(self, model: str) -> None:
        """Forget everything about a model."""
        self._keep(model, Learnt())

    def all(self) -> Mapping[str, Learnt]:
        """Return all findings that still count, by model."""
        read = {model: self._fresh(learnt) for model, learnt in (self._read() if self._path else self._own).items()}
        return {model: learnt for model, learnt in read.items() if learnt.since or learnt.window}

    def _fresh(self, learnt: Learnt) -> Learnt:
        oldest = self._clock() - self.days * DAY
        since = {name: at for name, at in learnt.since.items() if at >= oldest}
        fresh = learnt.window_since >= oldest
        return Learnt(learnt.url, since, *((learnt.window, learnt.window_since) if fresh else ()))

    def _keep(self, model: str, learnt: Learnt) -> None:
        self._own = {**self.all(), model: learnt}
        if self._path is not None:
            # Without a writable folder, each run finds out again, nothing worse.
            with contextlib.suppress(OSError):
                values = {name: _to_json(one) for name, one in self._own.items()}
                replace_file(self._path, json.dumps(values, indent=1, sort_keys=True), mode=0o600)

    def _read(self) -> dict[str, Learnt]:
        """Return the findings in the file, which other processes write, too; parse it again after a change."""
        if self._path is None:
            return {}
        try:
            changed = self._path.stat().st_mtime_ns
            if changed != self._seen[0]:
                values = json.loads(self._path.read_bytes())
                self._seen = changed, {str(model): _from_json(value) for model, value in values.items()}
            return self._seen[1]
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return dict(self._own)


def _to_json(learnt: Learnt) -> dict[str, Any]:
    window = {"window": learnt.window, "window_since": learnt.window_since} if learnt.window else {}
    return {"url": learnt.url, "lacking": dict(learnt.since), **window}


def _from_json(value: Mapping[str, Any]) -> Learnt:
    since = {str(name): float(at) for name, at in value["lacking"].items()}
    return Learnt(str(value["url"]), since, int(value.get("window", 0)), float(value.get("window_since", 0.0)))
