"""What is said of a session besides its work: what of it was lost, what is assumed of its model, which mode it is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentcli.core.journal import Journal
from agentcli.core.model import ModelSpec
from agentcli.core.record import Mode

LOSSES_TOLD = 5
"""Lost records that are named when a session is opened."""
MODE_WORDS: Mapping[Mode, str] = {
    "ask": "Edits and commands are put to the user from now on before they run.",
    "auto-edit": "Edits inside the workspace run without asking from now on; commands are still put to the user.",
    "plan": (
        "Plan mode is on: read and search only, change nothing. Work out a plan and present it with the exit_plan tool; "
        "the user decides whether to carry it out."
    ),
    "yolo": "Calls run without asking from now on, unless a rule of the user forbids them.",
    "auto": "Commands run without asking inside the sandbox from now on.",
}
"""What the model is told when the mode changes."""


def lost(journal: Journal) -> Sequence[str]:
    """What could not be read of a session, in a line; none where it is whole."""
    told, more = journal.notes[:LOSSES_TOLD], len(journal.notes) - LOSSES_TOLD
    if not told:
        return ()
    listed = "; ".join([*told, *([f"and {more:,} more"] if more > 0 else [])])
    return (
        f"Not all of this session could be read: {listed}. It goes on without; `agentcli sessions check` says more.",
    )


def assumed(model: ModelSpec) -> str:
    """What is taken for granted of a model that is in no table."""
    return (
        f"{model.name} is in no table: a window of {model.window:,} tokens and replies of up to {model.max_output:,} are assumed, at an "
        f'unknown price. Say what it has in config: [models."{model.name}"] window, max_output, prices.'
    )
