"""Engine on a Ray cluster; Ray is the extra `agentcli[ray]`."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from agentcli.core.errors import ConfigError, UsageError, in_words
from agentcli.core.tasks import when_done
from agentcli.extras.batch.remote import call_of, run_one
from agentcli.extras.batch.work import Work
from agentcli.system.installing import install_extra

RETRIES = 2
"""How often Ray restarts a task whose worker or node has died."""
PROBE_SECONDS, GONE_SECONDS = 2.0, 30.0
"""Seconds between two probes of the head node, and seconds without an answer until it counts as gone. Ray ends this
process after 60 s.
"""
CONNECT_SECONDS = 10.0
"""Time in seconds in which the head node of a cluster must accept a connection."""
AHEAD = 2
"""Tasks in flight per CPU of the cluster. One runs and one waits, so that a growing cluster sees the demand."""
_TOKEN = "If it asks for a token, set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN_PATH to the token file of its nodes."
TASK_BYTES = 256 << 20
"""Memory in bytes that a task requests from Ray: an agent and its commands."""


class StopFlag:
    """Tokens of starts that must stop, in an actor that all nodes can query."""

    def __init__(self) -> None:
        self._tokens: set[str] = set()

    def add(self, token: str) -> None:
        """Request the stop of a start."""
        self._tokens.add(token)

    def holds(self, token: str) -> bool:
        """Return True if a start must stop."""
        return token in self._tokens


def run_with_flag(
    flag: Any, task: Mapping[str, Any], attempt: int, token: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Run one start; stop it when the flag has its token, or when the flag is gone with its driver."""
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
    """Starts as Ray tasks of one CPU. Without an address, a local cluster is started and ends with the batch."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError as error:
            raise ConfigError(
                f"Ray is not installed. Install it here and on all nodes: {install_extra('ray')}"
            ) from error
        self._ray = ray
        address = str(options.get("ray_address") or "local")
        _reach(address)
        # Always pass an address: without one, Ray would join any cluster that it finds.
        more = {"num_cpus": int(options["workers"]), "include_dashboard": False} if address == "local" else {}
        try:
            ray.init(address=address, log_to_driver=False, logging_level="error", **more)
        except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
            why = str(error).strip().partition("\n")[0].rstrip(".")
            raise ConfigError(f"Can't join the Ray cluster at {address}: {why}. {_TOKEN}") from error
        self._most = int(options["workers"]) if options.get("workers_given") else None
        # The flag runs on the driver's own node, so it is gone only when the driver is.
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._waiting: set[Future[Mapping[str, Any]]] = set()
        self._closed, self._gone = threading.Event(), ""
        watched = ray.get_runtime_context().gcs_address
        self._cpus = self._counted()
        for look, *given in ((self._watch, watched), (self._count,)):
            threading.Thread(target=look, args=given, daemon=True).start()
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._flag = ray.remote(num_cpus=0, scheduling_strategy=here)(StopFlag).remote()
        self._run = ray.remote(num_cpus=1, max_retries=RETRIES, memory=TASK_BYTES)(run_with_flag)

    def submit(self, work: Work) -> Future[Mapping[str, Any]]:
        """Start it on some node."""
        ours: Future[Mapping[str, Any]] = Future()
        self._waiting.add(ours)
        theirs = self._run.remote(self._flag, *call_of(work)).future()
        when_done(theirs, partial(self._take, ours, theirs))
        return ours

    def _take(self, ours: Future[Mapping[str, Any]], theirs: Future[Mapping[str, Any]]) -> None:
        self._waiting.discard(ours)
        with suppress(InvalidStateError):  # the cluster has ended, or the future was cancelled
            if error := theirs.exception():
                ours.set_exception(error)
            else:
                ours.set_result(theirs.result())

    def _watch(self, address: str) -> None:
        """Probe the head node, and fail all running starts if it is gone too long. Ray would end this process without a
        message.
        """
        answered = time.monotonic()
        while not self._closed.wait(PROBE_SECONDS):
            try:
                _connect(address)
                answered = time.monotonic()
            except OSError as error:
                if time.monotonic() - answered > GONE_SECONDS:
                    self._gone = f"The Ray cluster is gone: {address} does not answer ({in_words(error)})."
                    break
        for future in [*self._waiting] if self._gone else []:
            with suppress(InvalidStateError):
                future.set_exception(ConnectionError(self._gone))

    def _count(self) -> None:
        """Keep the number of CPUs up to date, in a thread: the call blocks while the head node is unavailable."""
        while not self._closed.wait(PROBE_SECONDS):
            with suppress(self._ray.exceptions.RayError):
                self._cpus = self._counted()

    def _counted(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 1))

    def gone(self) -> str:
        """Return the reason why the cluster is gone (`Engine.gone`)."""
        return self._gone

    def stop(self, work: Work, future: Future[Mapping[str, Any]]) -> None:
        """Request its stop with the flag that it polls: Ray cannot interrupt a task that waits for a process."""
        self._flag.add.remote(work.token)

    def slots(self) -> int:
        """Return twice the cluster's current CPUs, or the number of workers if smaller; 0 once the cluster is gone."""
        if self._gone:
            return 0
        slots = max(1, self._cpus) * AHEAD
        return slots if self._most is None else min(slots, self._most)

    def close(self) -> None:
        """Leave the cluster, or end it if it was started for this batch. Do nothing if it is gone."""
        self._closed.set()
        if not self._gone:
            self._ray.shutdown()


def _reach(address: str) -> None:
    """Raise ConfigError if nothing answers at an address: Ray would retry for minutes."""
    if address in ("local", "auto"):
        return
    try:
        _connect(address)
    except ValueError:
        raise UsageError(f"--ray-address takes HOST:PORT, not {address!r}.") from None
    except OSError as error:
        raise ConfigError(
            f"Can't reach the Ray cluster at {address}: {in_words(error)}. Check the address, and that its head node runs (`ray status`)."
        ) from error


def _connect(address: str) -> None:
    """Connect to an address and disconnect. Raise OSError if nothing answers, ValueError for an invalid address."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    if not parts.hostname or not parts.port:
        raise ValueError(address)
    socket.create_connection((parts.hostname, parts.port), CONNECT_SECONDS).close()
