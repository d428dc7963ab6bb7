"""The table of guards holds the figures that are measured now."""

from __future__ import annotations

import re

import pytest

from tests.guards import TABLE, measured, section


@pytest.mark.parametrize("name", measured())
def test_the_table_holds_the_figures_of_a_guard(name: str) -> None:
    assert section(name) in TABLE.read_text(), (
        "a figure has changed: run `python -m tests.guards`, and say why in the commit"
    )


def test_the_table_has_a_section_for_each_module() -> None:
    assert re.findall(r"^## (.+)$", TABLE.read_text(), re.MULTILINE) == measured()
