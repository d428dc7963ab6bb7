"""Tries mutants in children of one process that has loaded the tests, so that each costs no more than the tests that it needs.

It is a plugin of pytest. A child puts the code of the mutant into the function that has it, also writes the mutant to the file, for
programs that a test starts, and runs tests until one fails.
"""

from __future__ import annotations

import gc
import importlib
import os
import resource
import select
import signal
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from types import CodeType, FunctionType

import pytest

from tests.bench.line_map import function_of
from tests.bench.mutations import Mutant

LATE = "too late"
"""The test that is named if the tests of a mutant do not end."""
SECONDS = 900
"""Longest run of the tests of a mutant."""
MEMORY = 4 << 30
"""Bytes of data that a child may have."""


class Trials:
    """Gives those who ask for it the result of tests on a mutant."""

    def __init__(self, work: Callable[[Trials], None], modules: Iterable[str]) -> None:
        """`modules` are the mutants' modules; a test may import one only while it runs."""
        self._work, self._modules = work, modules
        self._items: dict[str, list[pytest.Item]] = defaultdict(list)
        self._functions: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Have the mutants tried instead of running the tests."""
        for item in session.items:
            self._items[function_of(item.nodeid)].append(item)
        for name in self._modules:
            importlib.import_module(name)
        for each in gc.get_objects():
            if isinstance(each, FunctionType):
                self._functions[_key(each.__code__)].append(each)
        # A file with an import error counts as a failed test: without this, it would kill every mutant.
        session.testsfailed = 0
        gc.freeze()
        self._work(self)
        return True

    def loaded(self, mutant: Mutant) -> bool:
        """Return whether the code of a mutant can be put into functions that are loaded."""
        functions = self._functions.get(_key(mutant.code), []) if mutant.code else []
        return bool(functions) and all(
            each.__code__.co_freevars == mutant.code.co_freevars for each in functions if mutant.code
        )

    def failing(self, mutant: Mutant | None, tests: Sequence[str]) -> str:
        """Return the first of the tests that fails on a mutant, or on the unchanged source; an empty text if all pass."""
        items = [item for test in tests for item in self._items.get(test, ())]
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            self._run(mutant, items, writing)
        os.close(writing)
        try:
            return _last_word(reading)
        finally:
            os.close(reading)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def _run(self, mutant: Mutant | None, items: Sequence[pytest.Item], told: int) -> None:
        """Run tests in the child until one fails, and tell each that begins; a blank line is the end."""
        try:
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            null = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(null, stream)
            if mutant is not None and mutant.code is not None:
                for function in self._functions[_key(mutant.code)]:
                    function.__code__ = mutant.code
            for item, after in pairwise([*items, None]):
                assert item is not None
                os.write(told, f"{function_of(item.nodeid)}\n".encode())
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                if item.session.testsfailed:
                    return
            os.write(told, b"\n")
        finally:
            os._exit(0)


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _last_word(reading: int) -> str:
    """Read what a child tells until it ends: the test in which it ended, or an empty text."""
    told = b""
    while select.select([reading], [], [], SECONDS)[0]:
        if not (more := os.read(reading, 65536)):
            return told.removesuffix(b"\n").rpartition(b"\n")[2].decode() if not told.endswith(b"\n\n") else ""
        told += more
    return LATE
