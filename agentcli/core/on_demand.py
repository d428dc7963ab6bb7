"""Parts that most runs do not need: created, with the import of their module, on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


class OnDemand(Generic[T_co]):
    """A part that is created once, at the first call, or as soon as `is_there` reports one."""

    def __init__(self, make: Callable[[], T_co], is_there: Callable[[], object] = bool) -> None:
        self._make, self._is_there = make, is_there
        self._made: T_co | None = None

    def __call__(self) -> T_co:
        """Return the part; create it if there is none yet."""
        if self._made is None:
            self._made = self._make()
        return self._made

    @property
    def now(self) -> T_co | None:
        """The part; None until it is created."""
        return self() if self._made is None and self._is_there() else self._made
