"""The public names of the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import agentcli


def test_every_name_of_the_stub_is_there_and_no_other() -> None:
    stub = Path(agentcli.__file__).with_suffix(".pyi").read_text()
    named = {name: module for module, name in re.findall(r"^from agentcli\.([\w.]+) import (\w+)", stub, re.MULTILINE)}
    assert named == agentcli._NAMES
    for name in named:
        assert getattr(getattr(agentcli, name), "__name__", name) == name
        assert name in dir(agentcli)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = agentcli.nothing  # type: ignore[attr-defined]


def test_the_package_says_that_it_is_typed() -> None:
    assert Path(agentcli.__file__).with_name("py.typed").exists()
