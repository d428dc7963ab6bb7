"""The port to the storage of a session."""

from __future__ import annotations

from typing import Any, cast

import pytest

from agentcli.core.journal import Predecessor


@pytest.mark.parametrize(("seq", "number"), [(9, -1), (8, -2), (1, -9)])
def test_the_records_of_a_session_that_was_handed_off_have_numbers_below_zero(seq: int, number: int) -> None:
    assert Predecessor(cast(Any, None), until=9).number(seq) == number
