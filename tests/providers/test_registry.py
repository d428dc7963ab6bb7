"""The table of providers."""

from __future__ import annotations

from importlib import import_module

from agentcli.providers.catalog import spec
from agentcli.providers.provider import Provider
from agentcli.providers.registry import PROVIDERS
from tests.tables import each_row


@each_row("kind", PROVIDERS)
def test_an_entry_names_an_adapter_that_is_there_and_models_of_its_own_kind(kind: str) -> None:
    provider = PROVIDERS[kind]
    module, _, name = provider.adapter.partition(":")
    assert callable(getattr(import_module(module), name))
    assert {model.kind for model in (*provider.models, provider.unknown)} == {kind}


@each_row("provider", PROVIDERS.values())
def test_every_name_that_an_entry_gives_means_a_model_with_figures(provider: Provider) -> None:
    for name in (*provider.aliases, *filter(None, (provider.default_model, provider.summary_model))):
        assert spec(name).known
