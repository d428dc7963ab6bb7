"""The program put together: what configuration makes of models."""

from pathlib import Path

import pytest

from agentcli.app.options import Options
from agentcli.app.program import Program
from agentcli.core.errors import InputError


def program(tmp_path: Path, *settings: str) -> Program:
    env = {
        name: str(tmp_path) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    }
    return Program(Options(cwd=str(tmp_path), settings=settings), env)


def test_a_model_knows_what_its_summaries_cost(tmp_path: Path) -> None:
    opus = program(tmp_path).models.spec("anthropic/claude-opus-4-5")
    cheap = program(tmp_path).models.spec(opus.summary_model)
    assert opus.prices
    assert cheap.prices
    assert opus.summary_prices == cheap.prices
    assert cheap.prices.input < opus.prices.input


def test_the_model_that_is_configured_for_summaries_counts_instead(tmp_path: Path) -> None:
    given = program(tmp_path, "context.compression_model.default=anthropic/claude-opus-4-5")
    haiku = given.models.spec("anthropic/claude-haiku-4-5")
    assert haiku.summary_model == "anthropic/claude-opus-4-5"
    assert haiku.summary_prices == given.models.spec("anthropic/claude-opus-4-5").prices
    with pytest.raises(InputError, match="There is no provider 'nobody'"):
        program(tmp_path, "context.compression_model.default=nobody/nothing").models.spec("anthropic/claude-haiku-4-5")
