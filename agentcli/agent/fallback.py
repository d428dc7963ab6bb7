"""The model that takes over after another one's permanent failure; connected on demand."""

from __future__ import annotations

from collections.abc import Callable

from agentcli.core.errors import AgentError, Cause, ModelError
from agentcli.core.model import Model, ModelSpec

PASSED_ON: frozenset[Cause] = frozenset({"overloaded", "rate_limit", "server", "network"})
"""Causes of failure, after all retries, that another model need not share."""


class FallbackModel:
    """The model `name`, connected only when another one fails; no fallback without a name.

    `trouble` is the reason why it cannot be used, once known.
    """

    def __init__(self, name: str = "", connect: Callable[[str], Model] | None = None) -> None:
        self.trouble = ""
        self._name = name
        self._connect = connect
        self._model: Model | None = None

    def instead_of(self, spec: ModelSpec, error: ModelError) -> Model | None:
        """Return the model to use after the model with this spec failed.

        Return None if the fallback model would not do better.
        """
        if error.cause not in PASSED_ON:
            return None
        model = self._connected()
        return model if model is not None and model.spec.name != spec.name else None

    def _connected(self) -> Model | None:
        if self._model is None and self._name and self._connect and not self.trouble:
            try:
                self._model = self._connect(self._name)
            except AgentError as error:
                self.trouble = f"{self._name} (agent.fallback_model) cannot take over. {error}"
        return self._model
