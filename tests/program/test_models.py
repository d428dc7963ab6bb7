"""The models of a run: one that is connected already is not connected again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.frontends.sections import SCHEMA
from agentcli.program.config import Config
from agentcli.program.config.general import General
from agentcli.program.models import Models, no_key
from agentcli.providers.settings import RetryPolicy
from tests.tables import each_row

CLAUDE = "anthropic/claude-sonnet-5"


def models(env: Mapping[str, str], config: Config | None = None) -> Models:
    return Models(config or Config(SCHEMA), env)


def test_a_model_that_is_connected_already_is_not_connected_again() -> None:
    run = models({"ANTHROPIC_API_KEY": "one"})
    assert run.connect(CLAUDE) is run.connect(CLAUDE)
    assert run.summariser(run.spec(CLAUDE)) is run.summariser(run.spec(CLAUDE))
    assert len(run.connected) == 2, "a summariser waits for less time than the session's own model"


def test_a_model_is_connected_anew_with_another_key() -> None:
    connected = models({"ANTHROPIC_API_KEY": "one"}).connected
    first, second = (Models(Config(SCHEMA), {"ANTHROPIC_API_KEY": key}, connected=connected) for key in ("one", "two"))
    assert first.connect(CLAUDE) is not second.connect(CLAUDE)
    assert first.connect(CLAUDE) is first.connect(CLAUDE)


def test_a_script_begins_anew_each_time_that_it_is_connected(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text('{"replies": [{"text": "hello"}]}')
    run = models({}, Config(SCHEMA, {General: General(model=f"script:{tmp_path}/script.json")}))
    assert run.connect(run.default) is not run.connect(run.default)


def test_the_advice_for_a_start_without_a_key_fits_in_80_columns() -> None:
    assert all(len(line) < 80 for line in no_key().splitlines())


def own(**aliases: str) -> Models:
    return models({"GEMINI_API_KEY": "one"}, Config(SCHEMA, aliases=aliases))


def test_an_alias_of_the_users_means_its_model_wherever_a_model_is_named_and_comes_before_a_built_in_one() -> None:
    run = own(fast="google/gemini-3.8-flash", cheap="fast", sonnet="flash")
    assert [run.spec(name).name for name in ("fast", "cheap", "sonnet")] == ["google/gemini-3.8-flash"] * 3
    assert run.connect("cheap").spec.name == "google/gemini-3.8-flash"
    assert run.spec("opus").name == models({}).spec("opus").name
    assert [*run.alias_faults()] == []


@each_row(
    ("aliases", "says"),
    [
        ({"fast": "fast"}, "The alias 'fast' names no model: fast → fast. Change"),
        ({"fast": "a", "a": "b", "b": "a"}, "The alias 'fast' names no model: fast → a → b → a."),
        ({"fast": "nowhere/x"}, "The alias 'fast' means 'nowhere/x' (models.aliases in config.toml). Unknown provider"),
        ({"fast": "gemini-what"}, None),
        ({"fast": "a", "a": "sonet"}, "The alias 'fast' means 'sonet' (models.aliases in config.toml). Unknown model"),
    ],
)
def test_an_alias_that_means_no_model_says_so(aliases: Mapping[str, str], says: str | None) -> None:
    run = own(**aliases)
    if says is None:
        assert run.spec("fast").name == "google/gemini-what"
        return
    with pytest.raises(InputError, match=re.escape(says)):
        run.spec("fast")
    assert next(run.alias_faults()).startswith(says)
    assert run.known_spec("fast") is None


def test_a_table_of_a_model_without_a_provider_is_named_with_what_to_do() -> None:
    run = models({}, Config(SCHEMA, models={"local/qwen3-coder": {}, "ollama/qwen3-coder": {}}))
    assert [*run.table_faults()] == [
        "[models.\"local/qwen3-coder\"] has no effect. Unknown provider 'local'. Name a provider that exists, such as ollama, "
        "or define it in [providers]."
    ]


def test_a_model_is_not_its_own_fallback_under_an_alias() -> None:
    run = own(fast="google/gemini-3.8-flash")
    patient = replace(run, config=run.config.changed("agent.fallback_model", "fast"))
    other = replace(run, config=run.config.changed("agent.fallback_model", "opus"))
    patience = [each.connect("fast") and each.connected[-1].retry for each in (patient, other)]
    assert patience == [run.config[RetryPolicy], run.config[RetryPolicy].short]
