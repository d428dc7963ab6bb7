"""The common beginning of two sequences is found without looking into what is the same object in both."""

from __future__ import annotations

from agentcli.core.history import common
from tests.tables import each_row


class Unlooked:
    """An object that must not be compared."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise AssertionError("it was compared")


ONE, TWO = Unlooked(), Unlooked()


@each_row(
    ("first", "second", "count"),
    [
        ((), (ONE,), 0),
        ((ONE, TWO), (ONE, TWO), 2),
        ((ONE, TWO, 3), (ONE, TWO), 2),
        ((ONE, TWO), [ONE, TWO, 3], 2),
        ((ONE, 2, TWO), (ONE, 3, TWO), 1),
        ((ONE, [2], 3), (ONE, [2], 4), 2),
        ((1, ONE), (2, ONE), 0),
    ],
)
def test_the_common_beginning_ends_with_the_first_difference(
    first: tuple[object, ...], second: tuple[object, ...] | list[object], count: int
) -> None:
    assert common(first, second) == count
