"""How a call's input is checked against a tool's schema."""

from __future__ import annotations

import pytest

from agentcli.core.errors import ToolError
from agentcli.core.schema import check


@pytest.mark.parametrize(("given", "number"), [(5, 5), ("5", 5), (" -5 ", -5), (5.0, 5)])
def test_a_whole_number_is_taken_however_a_model_writes_it(given: object, number: int) -> None:
    assert check({"type": "integer"}, given, "limit") == number


@pytest.mark.parametrize("given", ["²", "--5", "five", "", "9" * 5_000, 1.5, True, None, []])
def test_what_is_no_whole_number_is_told_to_the_model(given: object) -> None:
    with pytest.raises(ToolError, match="limit must be a whole number"):
        check({"type": "integer"}, given, "limit")
