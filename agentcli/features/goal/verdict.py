"""The verdict of a check on a goal."""

from __future__ import annotations

from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.message import Usage


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check: `why` is a line; `warning` is for the person; `output` is more text for the model.

    `unknown` if the check gave no verdict: it hung, or the judging model failed. `model` was paid `usage` and `cost` for it.
    """

    answer: Literal["reached", "not yet", "impossible", "unknown", "interrupted"]
    why: str
    warning: str = ""
    output: str = ""
    model: str = ""
    usage: Usage = Usage()
    cost: float | None = None
