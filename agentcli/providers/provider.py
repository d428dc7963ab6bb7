"""A provider: its wire format and vendor, its names for what it may refuse, and the presets of known servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from types import MappingProxyType

from agentcli.core.dataclass import dataclass
from agentcli.core.model import ModelSpec


@dataclass(frozen=True, slots=True)
class Wording:
    """An optional field in refusals, as patterns in lower case.

    `names` match the field's whole name, as in `thinking.budget_tokens`. `stated` match whole sentences with other
    wordings that reject the field.
    """

    names: str
    stated: str = ""


@dataclass(frozen=True, slots=True)
class Preset:
    """A server of a known program or service.

    `key_variable` is the environment variable of its key, empty for a local server. `start` is the command that starts
    a local server. `key_site` is the site that makes keys. `plan`: requests use a person's subscription, by a login.
    """

    name: str
    title: str
    base_url: str
    key_variable: str = ""
    start: str = ""
    key_site: str = ""
    plan: bool = False

    @property
    def is_local(self) -> bool:
        """True for a server that the user runs on this machine."""
        return bool(self.start)


_NO_ALIASES: Mapping[str, str] = MappingProxyType({})
_NO_FIELDS: Mapping[str, Wording] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A wire format and its vendor."""

    title: str = ""
    """The vendor's name for people."""
    adapter: str
    """`module:name` of the factory from spec, settings, key and base URL to a Model."""
    fields: Mapping[str, Wording] = field(default_factory=lambda: _NO_FIELDS)
    """The wire format's names of the capabilities that an endpoint may lack, for `capabilities.stated_in`."""
    sdk: str = ""
    """The SDK's package."""
    sdk_unused: tuple[str, ...] = ()
    """Parts of the SDK that no request needs, by their names below the package."""
    extra: str = ""
    """The extra of this package that installs the SDK, if it is not always installed."""
    url: str = ""
    """Default base URL."""
    models_path: str = ""
    """Path that answers without a key, if only to refuse."""
    key_variables: tuple[str, ...] = ()
    """Environment variables of the key; the first that is set wins, as in the SDK. Empty if it accepts no key."""
    key_prefix: str = ""
    """Characters that every key of the vendor begins with."""
    key_header: str = ""
    """Header that carries the key."""
    request_headers: Mapping[str, str] = field(default_factory=lambda: _NO_ALIASES)
    """Further headers that every request needs."""
    key_advice: tuple[str, str] = ("", "")
    """The variable that a user without a key should set, and why."""
    base_url_variable: str = ""
    base_url_advice: str = ""
    """The reason to set that variable, for servers without a key."""
    default_model: str = ""
    """The model for a user who has a key and names none."""
    listed: Callable[[], tuple[ModelSpec, ...]] = tuple
    """Makes the models with known figures, strongest first: a program needs those of few vendors."""
    aliases: Mapping[str, str] = field(default_factory=lambda: _NO_ALIASES)
    unknown: ModelSpec
    """Spec assumed for a model that is not in `models`."""
    also: tuple[str, ...] = ()
    """Other names of the vendor that people use: its models' names."""
    prefixes: tuple[str, ...] = ()
    """Prefixes of the vendor's own model ids, for names without a provider."""
    unsaid: str = ""
    """Prefix of its model ids that people, and displayed names, omit."""
    unknown_own: ModelSpec | None = None
    """Spec assumed for the vendor's own models, if different."""
    presets: tuple[Preset, ...] = ()
    """Known servers of this wire format that need no configuration."""
    summary_model: str = ""
    """The vendor's cheap model for summaries; empty to use the model itself."""

    @property
    def models(self) -> tuple[ModelSpec, ...]:
        """Models with known figures, strongest first."""
        return self.listed()

    @property
    def takes_key(self) -> bool:
        """True for a server, which a `[providers.<name>]` table may configure; false for a script."""
        return bool(self.key_variables)

    def key_headers(self, key: str) -> Mapping[str, str]:
        """Return the headers that carry a key."""
        return {self.key_header: f"Bearer {key}" if self.key_header == "Authorization" else key, **self.request_headers}

    def owns(self, model: str) -> bool:
        """Return True for an id of one of the vendor's own models."""
        return model.startswith(self.prefixes)

    def assumed(self, model: str) -> ModelSpec:
        """Return the spec assumed for an id that is not in `models`."""
        return self.unknown_own if self.unknown_own and self.owns(model) else self.unknown
