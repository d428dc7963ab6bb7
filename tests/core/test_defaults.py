"""What a value is if nothing is said about a field: nothing, but for the fields in a table."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

PACKAGES = ("agentcli.core", "agentcli.context", "agentcli.permissions", "agentcli.sessions.storage")
MORE_THAN_NOTHING = {
    "core.text.encodings.Encoding.name": "utf-8",
    "core.text.encodings.Encoding.errors": "strict",
    "core.text.older_encodings._Form.least": 0.75,
    "core.text.older_encodings._Form.own_script": True,
    "core.event.UsageReported.kind": "reply",
    "core.families.Family.line_numbers": "ranges",
    "core.mcp_servers.ElicitedField.kind": "string",
    "core.model.Breakpoint.part": -1,
    "core.model.ModelSpec.window": 200_000,
    "core.model.ModelSpec.max_output": 32_000,
    "core.model.ModelSpec.cache_minimum": 1024,
    "core.model.ModelSpec.cache_lifetime": 300.0,
    "core.model.ModelSpec.cache_lookback": 20,
    "core.model.ModelSpec.cache_explicit": True,
    "core.model.ModelSpec.thinking": "none",
    "core.model.ModelSpec.images": True,
    "core.model.ModelSpec.known": True,
    "core.model.Request.max_output": 32_000,
    "core.record.Compaction.covers": (0, 0),
    "core.record.Compaction.stands_for": (0, 0),
    "core.record.TodoItem.status": "pending",
    "core.record.Undo.target": "compaction",
    "core.tool.ToolLimits.read_lines": 2000,
    "core.tool.ToolLimits.read_bytes": 51_200,
    "core.tool.ToolLimits.line_numbers": "auto",
    "core.tool.ToolLimits.line_characters": 2000,
    "core.tool.ToolLimits.bash_output": 30_000,
    "core.tool.ToolLimits.bash_timeout": 120.0,
    "core.tool.ToolLimits.bash_timeout_max": 600.0,
    "core.tool.ToolLimits.bash_idle": 300.0,
    "core.tool.ToolLimits.output_file": 20_000_000,
    "core.tool.ToolLimits.matches": 100,
    "core.tool.ToolLimits.pattern_seconds": 5.0,
    "core.tool.ToolLimits.recall_seconds": 1.0,
    "core.tool.ToolLimits.web_search": "off",
    "core.tool.ToolLimits.entries": 1000,
    "core.tool.ToolLimits.file_bytes": 10_000_000,
    "core.tool.ToolLimits.fetch_bytes": 10_000_000,
    "core.tool.ToolLimits.fetch_seconds": 30.0,
    "core.tool.ToolLimits.fetch_answer_seconds": 120.0,
    "core.tool.ToolOutput.status": "success",
    "core.tool.Traits.effect": "run",
    "context.cache_health.CacheHealth.thrash": 3,
    "context.cache_health.CacheHealth.missed": (0, 0),
    "context.cache_model.CacheRules.minimum": 1024,
    "context.cache_model.CacheRules.lookback": 20,
    "context.cache_model.CacheRules.lifetime": 300.0,
    "context.cache_model.CacheRules.explicit": True,
    "context.ledger.ledger.CommandFact.status": "success",
    "context.ledger.ledger.CommandFact.runs": 1,
    "context.policies.Policy.stricter": True,
    "context.snapshot.anchors.Source.speaker": "agent",
    "context.snapshot.form.Snapshot.covers": (0, 0),
    "context.tokens.calibration.Calibration.start": 0.34,
    "context.tokens.calibration.Calibration.weight": 5000.0,
    "context.tokens.calibration.Calibration.per_block": 8.0,
    "context.tokens.calibration.Calibration.least": 200.0,
    "context.tokens.calibration._Span.scale": 1.0,
    "context.tokens.estimators.Calibrated.name": "calibrated",
    "context.tokens.estimators.Calibrated.rate": 0.34,
    "context.tokens.estimators.Calibrated.per_block": 8.0,
    "context.tokens.estimators.Chars4.name": "chars4",
    "context.tokens.estimators.Chars4.rate": 1.0,
    "context.tokens.estimators.Gemini.name": "gemini",
    "context.tokens.estimators.Gemini.rate": 1.0,
    "context.tokens.estimators.Shannon.name": "shannon",
    "context.tokens.estimators.Shannon.rate": 1.1,
    "context.tokens.estimators.Shannon.per_message": 5.5,
    "context.view.Block.compactable": True,
    "permissions.facts.CallFacts.changes": True,
    "permissions.denied.git_verdicts.GitVerdict.masked": True,
    "permissions.denied.git_verdicts.GitVerdict.advice": (
        "Use git diff, git show or git log -p: such files are left out of what these show."
    ),
    "permissions.denied.history.Held.known": True,
    "permissions.denied.history._Looked.known": True,
    "permissions.denied.files.Hidden.complete": True,
    "permissions.paths.CommandLimits.characters": 10_000,
    "permissions.paths.CommandLimits.bytes": 131_071,
    "permissions.paths.CommandLimits.parts": 50,
    "permissions.paths.CommandLimits.walk": 5000,
    "permissions.shell.effects.searches.Search.hidden": True,
    "permissions.rules.Rule.origin": "config",
    "permissions.sandbox.box.Box.scratch": "/tmp",
    "permissions.sandbox.box.Box.sockets": True,
    "permissions.sandbox.protected._Folder.stamp": (0, 0),
    "permissions.shell.syntax.parse.Piece.known": True,
    "sessions.storage.records.Loss.cause": "damaged",
    "sessions.storage.records.Reader._next": -1,
}
"""Settings of the context are in `tests/context/test_defaults.py`."""


def test_a_field_is_empty_unless_it_is_in_the_table() -> None:
    found = dict(defaults())
    assert len(found) > 500
    assert {name: value for name, value in found.items() if not empty(value)} == MORE_THAN_NOTHING


def empty(value: Any) -> bool:
    """True for nothing, for another value of these packages, and for a new object or a function."""
    return (
        dataclasses.is_dataclass(value)
        or callable(value)
        or not (isinstance(value, str | int | float | tuple) and value)
    )


def defaults() -> Iterator[tuple[str, Any]]:
    for name in modules():
        for _, owner in inspect.getmembers(importlib.import_module(name), inspect.isclass):
            if owner.__module__ == name and dataclasses.is_dataclass(owner):
                for field in dataclasses.fields(owner):
                    if field.default is not dataclasses.MISSING:
                        yield f"{name.removeprefix('agentcli.')}.{owner.__name__}.{field.name}", field.default


def modules() -> Iterator[str]:
    for package in PACKAGES:
        for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not found.name.endswith("settings"):
                yield found.name
