"""Limits of retrying: which failed requests are repeated, after how long a wait, and when to give up."""

from __future__ import annotations

from dataclasses import replace

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import OUTAGES, ModelError
from agentcli.core.setting import setting
from agentcli.core.text.ranges import Requests, Seconds

OTHER_ATTEMPTS = 5
"""Maximum requests for a fault that is no outage, such as a reply that violates the wire format: time alone does not cure it."""
ASKED_JITTER = 0.1
"""Maximum share of a requested wait that is added at random, so that waiting clients do not all return at the same moment."""
BEGUN_ATTEMPTS = 5
"""Maximum replies to one request that may begin and break off.

Each is paid for, and the cause (a proxy, a size limit) may recur at the same place.
"""
UNSTARTED_PATIENCE = 3.0
"""Seconds for which requests are repeated, without a person, to a local server that does not run or a host that does not exist: both may appear."""
ASKED_AT_LEAST = 1.0
"""Seconds: a shorter wait that a provider asks for is replaced by our own, which grows."""
SHORT_PATIENCE = 30.0
"""Seconds, as `patience`, if there is a substitute for the model."""
JITTER = 0.25
"""Maximum share of a wait that is taken off at random."""
_MOST_DOUBLINGS = 30


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`[retry]`: limits of retrying. Times in seconds; the wait doubles from `first` to `longest`."""

    patience: Seconds = setting(600.0, project="never")
    """Limits on repeating requests that fail (overload, network, rate limits)."""
    attempts: Requests = setting(0, project="never")
    """Maximum, the first included; 0: by `patience`. A reply that has begun is asked for five times at most."""
    first: Seconds = setting(0.5, project="never")
    """The first wait; each further one is twice as long."""
    longest: Seconds = setting(15.0, project="never")
    """The longest wait."""

    @property
    def short(self) -> RetryPolicy:
        """The policy if there is a substitute: a fallback model, or a snapshot made without a model."""
        return replace(self, patience=min(self.patience, SHORT_PATIENCE))

    @property
    def unattended(self) -> RetryPolicy:
        """The policy, without a person, for a server that does not run or whose name has no address."""
        return replace(self, patience=min(self.patience, UNSTARTED_PATIENCE))

    def delay(
        self, attempt: int, error: ModelError, chance: float, elapsed: float = 0.0, begun: int = 0
    ) -> float | None:
        """Return the seconds to wait after failed attempt number `attempt` (from 1), or None to give up.

        `chance` is in [0, 1), `elapsed` the seconds since the first failure, `begun` the number of replies so far that
        had begun.
        """
        most = self.attempts or (0 if error.cause in OUTAGES else OTHER_ATTEMPTS)
        if not error.retryable or 0 < most <= attempt or begun >= BEGUN_ATTEMPTS:
            return None
        asked = error.retry_after or 0.0
        wait = self._wait(attempt, asked, chance)
        least = asked if asked >= ASKED_AT_LEAST else wait
        return wait if elapsed + least <= self.patience else None

    def _wait(self, attempt: int, asked: float, chance: float) -> float:
        if asked >= ASKED_AT_LEAST:
            return asked * (1 + ASKED_JITTER * chance)
        growing = self.first * 2.0 ** min(attempt - 1, _MOST_DOUBLINGS)
        return max(asked, min(self.longest, growing) * (1 - JITTER * chance))
