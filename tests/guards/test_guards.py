"""The table of guards holds the figures that are measured now."""

from __future__ import annotations

import re

import pytest

from tests.guards import TABLE, measured, section

LONG = ("deny_rules", "permissions", "sandbox", "server_answers")
"""Guards whose figures take seconds."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.full] if name in LONG else []) for name in measured()]
)
def test_the_table_holds_the_figures_of_a_guard(name: str) -> None:
    assert section(name) in TABLE.read_text(), (
        "a figure has changed: run `python -m tests.guards`, and say why in the commit"
    )


def test_the_table_has_a_section_for_each_module() -> None:
    assert re.findall(r"^## (.+)$", TABLE.read_text(), re.MULTILINE) == measured()
