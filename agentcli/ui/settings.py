"""What of the terminal can be set in config, under [ui]."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from agentcli.core.errors import ConfigError
from agentcli.ui import links, theme
from agentcli.ui.look import Look
from agentcli.ui.view import Status


@dataclass(frozen=True, slots=True)
class Settings:
    """How the terminal looks and behaves.

    `links` says whether addresses are links: always, never, or auto, where the terminal is known to follow them.

    `notify_after` is in seconds of work, `idle_after` in seconds without; `state` the folder for the prompt history;
    `status` names the facts of the status line (model, mode, jobs, context, cost, budget, cache, extra, branch,
    sandbox, session); `status_command` prints the extra one. `keys` are those of `agentcli.ui.keys.KEYS` that the
    person wants elsewhere.
    """

    state: Path | None = None
    theme: str = "auto"
    vi: bool = False
    thinking: bool = False
    output_lines: int = 5
    diff_lines: int = 60
    tail_rows: int = 14
    links: str = "auto"
    notify: str = "auto"
    notify_after: float = 20.0
    idle_after: float = 30.0
    paste_lines: int = 8
    paste_characters: int = 1_000
    history: int = 5_000
    replay: int = 12
    keys: Mapping[str, str] = field(default_factory=dict)
    status: str = ""
    status_command: str = ""

    @property
    def look(self) -> Look:
        """The part that drawing needs."""
        colours = theme.choose(self.theme, os.environ)
        linked = links.known(self.links, os.environ)
        return Look(colours, self.thinking, self.output_lines, self.diff_lines, self.tail_rows, links=linked)


def from_config(setting: Callable[[str], Any], state: Path | None) -> Settings:
    """The settings found under `ui.`; what is absent (None) keeps its default. Raises ConfigError for a fact that does not exist."""
    names = [one.name for one in fields(Settings) if one.name != "state"]
    found = {name: value for name in names if (value := _found(setting, f"ui.{name}")) is not None}
    unknown = sorted(set(found.get("status", "").split()) - set(Status().shown))
    if unknown:
        raise ConfigError(f"ui.status knows no {unknown[0]!r}. There are: {', '.join(Status().shown)}.")
    return Settings(state=state, **found)


def _found(setting: Callable[[str], Any], key: str) -> Any:
    # The host's table of settings may not hold everything that this front end could be told.
    try:
        return setting(key)
    except ConfigError:
        return None
