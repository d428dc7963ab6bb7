"""The plan of a compaction: the common result of all policies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

PlanTrigger = Literal["soft", "hard", "overflow", "manual"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The effect of a policy on a view now, not carried out.

    `trigger` is None when nothing calls for it; `split` the seq of the first record that stays as it is, or None when
    nothing is summarised. `summarised`, `kept` and `pinned` are seqs, `cleared` call ids. Tokens are estimates.
    `reasons` are lines for people.
    """

    policy: str
    trigger: PlanTrigger | None = None
    split: int | None = None
    summarised: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()
    cleared: tuple[str, ...] = ()
    pinned: tuple[int, ...] = ()
    tokens_before: int = 0
    tokens_after_estimate: int = 0
    reasons: tuple[str, ...] = ()
    regions: tuple[tuple[str, ...], ...] = ()
    """For `regions`: groups of call ids, each to be replaced by one summary."""
    clipped: tuple[str, ...] = ()
    """Those of `cleared` whose outputs keep their two ends, because they are new and only too large."""
    primers: tuple[int, ...] = field(default=())
    """For `sliding`: seqs from before `split` that stay verbatim in front of the summary."""
    optional: bool = False
    """Whether only the price speaks for it: no mark has been passed."""

    @property
    def does_something(self) -> bool:
        """True if carrying it out changes the view."""
        return bool(self.summarised or self.clipped)
