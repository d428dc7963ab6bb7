"""Engine on a Ray cluster; Ray is the extra `agentcli[ray]`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from agentcli.batch.remote import call_of, run_one
from agentcli.batch.work import Work
from agentcli.core.errors import ConfigError

RETRIES = 2
"""Times that Ray starts a task again whose worker or node has died."""
AHEAD = 2
"""Tasks in flight for each slot of the cluster: one at work, one that waits, so that a cluster that can grow sees the demand."""
TASK_BYTES = 256 << 20
"""Memory that a task asks Ray for: an agent and its commands."""


class StopFlag:
    """The tokens of starts that are to stop, held by an actor: all nodes can ask it."""

    def __init__(self) -> None:
        self._tokens: set[str] = set()

    def add(self, token: str) -> None:
        """Have a start stop."""
        self._tokens.add(token)

    def holds(self, token: str) -> bool:
        """True if a start is to stop."""
        return token in self._tokens


def run_with_flag(
    flag: Any, task: Mapping[str, Any], attempt: int, token: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Run one start, which stops when the flag holds its token; where the flag is gone its driver is."""
    import ray

    def stopped() -> bool:
        try:
            return bool(ray.get(flag.holds.remote(token), timeout=10))
        except ray.exceptions.GetTimeoutError:
            return False
        except ray.exceptions.RayActorError:
            return True

    return run_one(task, attempt, token, options, stopped)


class RayEngine:
    """Starts as Ray tasks of one CPU. Without an address a cluster of this machine alone is started, and ended with the batch."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError as error:
            raise ConfigError("Ray is not installed. Install agentcli[ray], here and on all nodes.") from error
        self._ray = ray
        address = str(options.get("ray_address") or "local")
        # Not without an address: Ray would then join whatever cluster it finds.
        more = {"num_cpus": int(options["workers"]), "include_dashboard": False} if address == "local" else {}
        try:
            ray.init(address=address, log_to_driver=False, logging_level="error", **more)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise ConfigError(f"The Ray cluster at {address} cannot be joined: {error}") from error
        self._most = int(options["workers"]) if options.get("workers_given") else None
        # On the driver's own node, so that the flag is gone only when the driver is.
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._flag = ray.remote(num_cpus=0, scheduling_strategy=here)(StopFlag).remote()
        self._run = ray.remote(num_cpus=1, max_retries=RETRIES, memory=TASK_BYTES)(run_with_flag)

    def submit(self, work: Work) -> Future[Mapping[str, Any]]:
        """Start it on some node."""
        future: Future[Mapping[str, Any]] = self._run.remote(self._flag, *call_of(work)).future()
        return future

    def stop(self, work: Work, future: Future[Mapping[str, Any]]) -> None:
        """Ask it to stop by the flag that it polls: Ray cannot interrupt a task that waits for a process."""
        self._flag.add.remote(work.token)

    def slots(self) -> int:
        """Twice the CPUs of the cluster as it is now, and no more than the workers where somebody has named their number."""
        slots = max(1, int(self._ray.cluster_resources().get("CPU", 1))) * AHEAD
        return slots if self._most is None else min(slots, self._most)

    def close(self) -> None:
        """Leave the cluster, or end it where it was started for this batch."""
        self._ray.shutdown()
