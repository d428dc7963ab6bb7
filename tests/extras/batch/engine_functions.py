"""Functions for `--engine`, as a person would write them."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any


def threads(options: Mapping[str, Any]) -> Executor:
    """A pool of threads."""
    return ThreadPoolExecutor(options["workers"])


def processes(options: Mapping[str, Any]) -> Executor:
    """A pool of processes."""
    return ProcessPoolExecutor(options["workers"], mp_context=get_context("forkserver"))


def nothing(options: Mapping[str, Any]) -> object:
    """No executor."""
    return options
