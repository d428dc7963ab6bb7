"""The models of a run: one that is connected already is not connected again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agentcli.app.models import Models, no_key
from agentcli.config import Config
from agentcli.config.general import General

CLAUDE = "anthropic/claude-sonnet-5"


def models(env: Mapping[str, str], config: Config | None = None) -> Models:
    return Models(config or Config(), env)


def test_a_model_that_is_connected_already_is_not_connected_again() -> None:
    run = models({"ANTHROPIC_API_KEY": "one"})
    assert run.connect(CLAUDE) is run.connect(CLAUDE)
    assert run.summariser(run.spec(CLAUDE)) is run.summariser(run.spec(CLAUDE))
    assert len(run.connected) == 2, "a summariser waits for less time than the session's own model"


def test_a_model_is_connected_anew_with_another_key() -> None:
    connected = models({"ANTHROPIC_API_KEY": "one"}).connected
    first, second = (Models(Config(), {"ANTHROPIC_API_KEY": key}, connected=connected) for key in ("one", "two"))
    assert first.connect(CLAUDE) is not second.connect(CLAUDE)
    assert first.connect(CLAUDE) is first.connect(CLAUDE)


def test_a_script_begins_anew_each_time_that_it_is_connected(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text('{"replies": [{"text": "hello"}]}')
    run = models({}, Config(general=General(model=f"script:{tmp_path}/script.json")))
    assert run.connect(run.default) is not run.connect(run.default)


def test_the_advice_for_a_start_without_a_key_fits_in_80_columns() -> None:
    assert all(len(line) < 80 for line in no_key().splitlines())
