"""The models of a run: found by name in the table and in configuration, connected when they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agentcli.config import Config
from agentcli.core.errors import ConfigError, CredentialsError, InputError
from agentcli.core.model import Model, ModelSpec
from agentcli.providers import catalog
from agentcli.providers.connect import connect
from agentcli.providers.settings import BASE_URL_VARIABLES, KEY_VARIABLES, ProviderSettings

DEFAULT_MODELS = {"anthropic": "sonnet", "google": "flash"}
"""The model for whoever has a key and says nothing, by provider in the order in which keys are looked for."""


@dataclass(frozen=True, slots=True)
class Models:
    """What configuration, and the keys in the environment, make available."""

    config: Config
    env: Mapping[str, str]

    @property
    def providers(self) -> Mapping[str, ProviderSettings]:
        """The configured providers by name. Raises ConfigError for a table that makes no sense."""
        return {name: _provider(name, table) for name, table in self.config.providers.items()}

    @property
    def default(self) -> str:
        """The model for whoever asks for none: the configured one, else that of the first key there is; empty without any."""
        if self.config.general.model:
            return self.config.general.model
        keys = ((model, (*KEY_VARIABLES[name], BASE_URL_VARIABLES[name])) for name, model in DEFAULT_MODELS.items())
        return next((model for model, names in keys if any(self.env.get(name) for name in names)), "")

    def spec(self, name: str) -> ModelSpec:
        """What is known about a model, and about the one that writes its summaries.

        Raises InputError, naming the near ones, when nothing is.
        """
        found = self._listed(name)
        mapping = self.config.context.compression_model
        writer = mapping.get(found.name) or mapping.get(found.id) or mapping.get("default") or found.summary_model
        prices = self._listed(writer).prices if writer else found.prices
        return replace(found, summary_model=writer, summary_prices=prices)

    def connect(self, name: str) -> Model:
        """The model with this name, ready for requests. Raises CredentialsError where a key is missing."""
        from agentcli.demo.script import model as demo_model

        spec = self.spec(name)
        settings = self.providers.get(spec.provider)
        return connect(spec, settings, self.env, self.config.retry, built_in={"demo": demo_model})

    def obstacle(self, name: str) -> InputError | CredentialsError | None:
        """Why the model with this name cannot be connected: it is not known, or has no key."""
        try:
            self.connect(name)
        except (InputError, CredentialsError) as error:
            return error
        return None

    def summariser(self, spec: ModelSpec) -> Model:
        """The model that writes the summaries of a session that runs on `spec`."""
        return self.connect(spec.summary_model or spec.name)

    def _listed(self, name: str) -> ModelSpec:
        return catalog.spec(name, self.config.models, self.providers)


def _provider(name: str, table: Mapping[str, object]) -> ProviderSettings:
    """A provider from its table, whose settings are of the right types already."""
    kind = table.get("kind", name)
    if kind not in KEY_VARIABLES:
        raise ConfigError(f'providers.{name} needs kind = "anthropic" or kind = "google".')
    return ProviderSettings(name, **{**table, "kind": kind})  # type: ignore[arg-type]
