"""Modes and settings that an editor offers for a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acp.schema import (
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from agentcli.agent.session import AgentSession
from agentcli.core.record import MODE_SUMMARIES, MODES

MODE, MODEL, EFFORT = "mode", "model", "effort"
"""Ids of the settings."""
DEFAULT = "default"
"""Value of the effort that leaves the choice to the model."""
_EFFORTS = ("low", "medium", "high", "max")
_NAMES: Mapping[str, str] = {"ask": "Ask", "auto-edit": "Auto-edit", "plan": "Plan", "yolo": "Yolo", "auto": "Auto"}

ConfigOptions = list[SessionConfigOptionSelect | SessionConfigOptionBoolean]


def modes(session: AgentSession, sandboxed: bool) -> SessionModeState:
    """Return the modes; `auto` only if a sandbox works."""
    offered = [mode for mode in MODES if mode != "auto" or sandboxed or session.core.approval.mode == "auto"]
    listed = [SessionMode(id=mode, name=_NAMES[mode], description=MODE_SUMMARIES[mode]) for mode in offered]
    return SessionModeState(current_mode_id=session.core.approval.mode, available_modes=listed)


def config_options(session: AgentSession, sandboxed: bool, models: Sequence[str]) -> ConfigOptions:
    """Return mode and model, and effort if the model can think."""
    model = session.core.model.name
    options: ConfigOptions = [
        SessionConfigOptionSelect(
            id=MODE,
            name="Mode",
            description="What runs without asking",
            category="mode",
            type="select",
            current_value=session.core.approval.mode,
            options=[
                SessionConfigSelectOption(value=mode.id, name=mode.name, description=mode.description)
                for mode in modes(session, sandboxed).available_modes
            ],
        ),
        SessionConfigOptionSelect(
            id=MODEL,
            name="Model",
            category="model",
            type="select",
            current_value=model,
            options=[SessionConfigSelectOption(value=each, name=each) for each in _with(models, model)],
        ),
    ]
    if session.core.model.thinking != "none":
        options.append(_effort_option(session.core.builder.effort or DEFAULT))
    return options


def _effort_option(effort: str) -> SessionConfigOptionSelect:
    efforts = _with((DEFAULT, *_EFFORTS), effort)
    return SessionConfigOptionSelect(
        id=EFFORT,
        name="Effort",
        description="How much the model thinks",
        category="thought_level",
        type="select",
        current_value=effort,
        options=[SessionConfigSelectOption(value=each, name=each.capitalize()) for each in efforts],
    )


def _with(values: Sequence[str], current: str) -> Sequence[str]:
    return values if current in values else (current, *values)
