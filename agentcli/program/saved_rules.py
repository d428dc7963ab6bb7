"""Rules that the choice "always" saved for one project, stored beside its sessions, never in the repository."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentcli.core.errors import AgentError, ConfigError, InputError
from agentcli.permissions.rules import Rule, Rules, parse_rule
from agentcli.program.trust import read_own
from agentcli.sessions.project import project_id, project_root
from agentcli.system.locked_file import update
from agentcli.system.paths import replace_file

FILE = "rules.json"
"""The file in the project's folder of the session store."""
DAMAGED = "rules.json.damaged"
"""The old text, if it was unreadable when a rule was saved."""

_Saved = list[dict[str, Any]]


class SavedRules:
    """Rules saved in one folder of a project; their paths are relative to it. Worktrees of a repository share them."""

    def __init__(self, sessions: Path, directory: Path) -> None:
        """`sessions` is the folder of the session store."""
        top, here = project_root(directory), Path(os.path.realpath(directory))
        self.file = sessions / project_id(directory) / FILE
        self._below = str(here.relative_to(top)) if here.is_relative_to(top) else "."

    def rules(self) -> tuple[Rules, str]:
        """Return the rules in force in this folder, and an error.

        The error says which rule is unusable, or that the file is.
        """
        try:
            known = _read(self.file)
        except ConfigError as error:
            return Rules(), str(error)
        rules = Rules()
        for one in known:
            text, written, whole = one.get("rule"), one.get("written") is True, one.get("whole") is True
            if not isinstance(text, str) or not self._is(one, text):
                continue
            try:
                rule = parse_rule(text, "your answers")
                rules += Rules((replace(rule, proposed=not written, whole=whole and not written),))
            except AgentError as error:
                return rules, f"{self.file}: {error}"
        return rules, ""

    def listed(self) -> Sequence[str]:
        """Return the texts of the rules saved in this folder. Raises ConfigError if the file is unusable."""
        return self._texts(_read(self.file))

    def add(self, rules: Sequence[Rule]) -> None:
        """Save rules, each once, marking those that a person wrote and those about whole programs.

        A rule about a whole program takes the place of a narrower one with the same text.

        Raises ConfigError for a file that others may write, StoreError if the disk refuses.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")

        def entry(rule: Rule) -> dict[str, Any]:
            kept = {"rule": str(rule), "below": self._below, "since": now}
            return kept | ({"whole": True} if rule.whole else {} if rule.proposed else {"written": True})

        def added(known: _Saved) -> _Saved:
            whole = {str(rule) for rule in rules if rule.whole}
            kept = [one for one in known if not any(self._is(one, text) and _is_narrow(one) for text in whole)]
            new = {str(rule): rule for rule in rules if str(rule) not in self._texts(kept)}
            return [*kept, *map(entry, new.values())]

        self._change(added)

    def remove(self, rule: str) -> None:
        """Remove a rule. Raises InputError if it is not saved here, else like `add`."""
        saved = self.listed()
        if rule not in saved:
            listed = f" Saved here: {', '.join(saved)}." if saved else " None is saved here."
            raise InputError(f"The rule {rule} is not saved for this project.{listed}")
        self._change(lambda known: [one for one in known if not self._is(one, rule)])

    def _is(self, one: dict[str, Any], rule: object) -> bool:
        return one.get("rule") == rule and one.get("below") == self._below

    def _texts(self, known: _Saved) -> list[str]:
        return [one["rule"] for one in known if one.get("below") == self._below and isinstance(one.get("rule"), str)]

    def _change(self, change: Callable[[_Saved], _Saved]) -> None:
        def changed(_: str) -> str:
            # Read again, with the checks for files that allow programs to run.
            text = read_own(self.file, _OTHERWISE)
            try:
                known = _parsed(text or _EMPTY, self.file)
            except ConfigError:
                replace_file(self.file.with_name(DAMAGED), text or "", mode=0o600)
                known = []
            return json.dumps({"schema": 1, "rules": change(known)}, indent=1, ensure_ascii=True) + "\n"

        update(self.file, changed)


def _is_narrow(one: dict[str, Any]) -> bool:
    return one.get("written") is not True and one.get("whole") is not True


_OTHERWISE = "The rules saved for this project have no effect"
_EMPTY = '{"rules": []}'


def _read(file: Path) -> _Saved:
    return _parsed(read_own(file, _OTHERWISE) or _EMPTY, file)


def _parsed(text: str, file: Path) -> _Saved:
    try:
        return [dict(one) for one in json.loads(text)["rules"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigError(f"{file} is damaged. {_OTHERWISE}; fix or remove it.") from error
