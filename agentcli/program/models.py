"""Models of a run: found by name in the table and in configuration, connected on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcli.agent.settings import AgentSettings
from agentcli.context.settings import ContextSettings
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError, CredentialsError, InputError, ModelError
from agentcli.core.message import Usage
from agentcli.core.model import Model, ModelSpec
from agentcli.core.on_demand import OnDemand
from agentcli.program.config import Config
from agentcli.program.config.general import General, McpSettings
from agentcli.program.project import Project
from agentcli.providers import catalog, model_figures, retrying
from agentcli.providers.connect import connect
from agentcli.providers.endpoint_facts import FILE, EndpointMemory
from agentcli.providers.model_figures import Figures
from agentcli.providers.platforms import PLATFORMS
from agentcli.providers.registry import PRESETS, PROVIDERS, SERVERS
from agentcli.providers.settings import (
    BUILT_IN,
    ProviderSettings,
    RetryPolicy,
    address,
    base_url,
    credentials,
    is_plan,
    is_vendor,
    key_variable,
    needs_key,
)
from agentcli.system.key_store import KeyStore, entry_of

if TYPE_CHECKING:
    from agentcli.providers.accounts import Accounts
    from agentcli.providers.endpoint_lists import EndpointList, EndpointLists


@dataclass(frozen=True, slots=True)
class Connected:
    """A connected model, with everything that was used to connect it."""

    model: Model = field(compare=False)
    spec: ModelSpec
    settings: ProviderSettings | None
    retry: RetryPolicy
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Models:
    """Models that configuration and the environment's keys make available."""

    config: Config
    env: Mapping[str, str]
    memory: EndpointMemory = field(default_factory=EndpointMemory)
    """Capabilities that endpoints were found to lack."""
    figures: Figures = field(default_factory=Figures)
    """Windows and prices that the user has read from elsewhere."""
    cache: Path | None = None
    """Folder with the lists of endpoints' models; None if none are stored."""
    stored: Set[str] = frozenset()
    """The variables of `env` that hold stored keys."""
    gates: Path | None = None
    """Folder of the rate gates that all processes share; None if nothing is shared."""
    attended: bool = False
    """True if a person is present, who may start a local server."""
    accounts: Accounts | None = field(default=None, compare=False)
    """The accounts of the run."""
    connected: list[Connected] = field(default_factory=list)
    """Models connected so far: reused, and closed at the end."""
    logins: tuple[Path, Path] | None = None
    """Folders of the stored logins and of their locks; None if none is renewed."""

    @property
    def providers(self) -> Mapping[str, ProviderSettings]:
        """Configured providers by name. Raises ConfigError for an invalid table."""
        return {name: _provider(name, table) for name, table in self.config.providers.items()}

    @property
    def default(self) -> str:
        """The model if none is requested: the configured model, or else a provider's default.

        The provider is the first whose key or address is set. Without any, the name is empty.
        """
        if self.config[General].model:
            return self.config[General].model
        for provider in PROVIDERS.values():
            if any(self.env.get(name) for name in (*provider.key_variables, provider.base_url_variable)):
                return provider.default_model
        return ""

    def spec(self, name: str) -> ModelSpec:
        """Return the spec of a model, including the model that writes its summaries.

        Raises InputError, with similar models, for an unknown name.
        """
        found = self._listed(name)
        mapping = self.config[ContextSettings].compression_model
        writer = mapping.get(found.name) or mapping.get(found.id) or mapping.get("default") or found.summary_model
        prices = self._listed(writer).prices if writer else found.prices
        return replace(found, summary_model=writer, summary_prices=prices)

    def known_spec(self, name: str) -> ModelSpec | None:
        """Return the spec of a session's model; None if no provider or model has this name now."""
        try:
            return self._listed(name)
        except (InputError, ConfigError):
            return None

    def pricing(self) -> Callable[[str, Usage, str], float | None]:
        """Return a function that prices many replies: it looks each model up once for each day.

        It takes a model's name, a usage and its time in ISO form. It returns USD, or None if the price is unknown.
        """

        @cache
        def listed(name: str, day: str) -> ModelSpec | None:
            try:
                return self._listed(name, day)
            except (InputError, ConfigError):
                return None

        def price(name: str, usage: Usage, time: str) -> float | None:
            found = listed(name, time[:10])
            return found.cost(usage, time[:10]) if found else None

        return price

    @property
    def lacking_keys(self) -> Set[str]:
        """Names of the providers that need a key and have none."""
        known = {**BUILT_IN, **self.providers}
        return {name for name, one in known.items() if needs_key(one, self.env) and not key_variable(one, self.env)}

    def alias_faults(self) -> Iterator[str]:
        """Yield the error of each of the user's aliases that names no model."""
        for alias in self.config.aliases:
            try:
                self._listed(alias)
            except (InputError, ConfigError) as error:
                yield str(error)

    def table_faults(self) -> Iterator[str]:
        """Yield the error of each of the user's tables, such as `[models."local/x"]`, that names no model."""
        for name in self.config.models:
            try:
                self._listed(name)
            except (InputError, ConfigError) as error:
                why = str(error).partition(" `agentcli models`")[0]
                yield f'[models."{name}"] has no effect. {why} Name a provider that exists, such as ollama, or define it in [providers].'

    def connect(self, name: str, *, brief: bool = False) -> Model:
        """Connect the model with this name; with `brief` an outage is not waited out.

        A connected model is returned again with its open connections; a script starts from its beginning. Raises
        CredentialsError if a key is missing.
        """
        found = self._connect(name, brief)
        if PROVIDERS[found.spec.kind].takes_key:
            found = next((known for known in self.connected if known == found), found)
        if not any(known is found for known in self.connected):
            self.connected.append(found)
        return found.model

    def _connect(self, name: str, brief: bool) -> Connected:
        spec = self.spec(name)
        settings = self.providers.get(spec.provider)
        accounts = self.accounts
        if accounts is not None and accounts.current:
            accounts.require(settings or BUILT_IN[spec.provider], self.env)
        retry = self.config[RetryPolicy].short if brief or self._has_fallback(spec) else self.config[RetryPolicy]
        model = connect(
            spec,
            settings,
            self.env,
            retry,
            built_in={"demo": _demo},
            memory=self.memory,
            stored=self.stored,
            gates=self.gates,
            attended=self.attended,
            passes_on=partial(_passed_on, accounts, spec.provider),
            renewed=self.renewal(settings or BUILT_IN[spec.provider]),
        )
        return Connected(model, spec, settings, retry, self.env)

    def renewal(self, settings: ProviderSettings) -> Callable[[], str] | None:
        """Return what renews the key of a stored login; None for any other key."""
        if self.logins is None or not is_plan(settings) or key_variable(settings, self.env) not in self.stored:
            return None
        from agentcli.providers.logins import issuer_of, renewal

        entry = entry_of(settings.name, self.accounts.current if self.accounts else "")
        return renewal(*self.logins, entry, issuer_of(settings, self.env))

    def with_valid_keys(self) -> Mapping[str, str]:
        """Return the environment with the keys of logins renewed, for which requests may be sent."""
        valid = dict(self.env)
        for settings in self.with_lists:
            if (renewed := self.renewal(settings)) is not None:
                with suppress(CredentialsError, ModelError):  # the endpoint then says what is wrong with the old key
                    valid[key_variable(settings, self.env)] = renewed()
        return valid

    def defers(self, spec: ModelSpec) -> bool:
        """Return True if this model loads tools found by a search.

        Most gateways refuse that, so `auto` allows it only at the vendor's own address.
        """
        settings = self.providers.get(spec.provider) or BUILT_IN.get(spec.provider)
        if not spec.deferred_tools or settings is None or not is_vendor(settings):
            return False
        own = base_url(settings, self.env).rstrip("/") in ("", PROVIDERS[spec.kind].url)
        return self.config[McpSettings].deferred == "on" or (self.config[McpSettings].deferred == "auto" and own)

    def obstacle(self, name: str) -> InputError | CredentialsError | None:
        """Return the error that prevents connecting the model with this name: it is unknown, or has no key.

        Return None if it can be connected.
        """
        try:
            self._connect(name, False)
        except (InputError, CredentialsError) as error:
            return error
        return None

    def summariser(self, spec: ModelSpec) -> Model:
        """Connect the model that writes the summaries of a session that runs on `spec`.

        Without a model, the ledger supplies a snapshot.
        """
        return self.connect(spec.summary_model or spec.name, brief=True)

    def _has_fallback(self, spec: ModelSpec) -> bool:
        """Return whether another model takes over from this one."""
        name = self.config[AgentSettings].fallback_model
        other = self.known_spec(name) if name else None
        return bool(name) and (other is None or other.name != spec.name)

    def _listed(self, name: str, today: str = "") -> ModelSpec:
        model = catalog.meaning(name, self.config.aliases)
        try:
            found = catalog.spec(model, self._overrides, self.providers, today)
        except InputError as error:
            if model == name:
                raise
            raise InputError(f"The alias {name!r} means {model!r} (models.aliases in config.toml). {error}") from error
        return found if found.known else self.listed_by(found.provider).over(found)

    @property
    def lists(self) -> EndpointLists:
        """Models that endpoints listed."""
        from agentcli.providers.endpoint_lists import FOLDER, EndpointLists

        return EndpointLists(self.cache / FOLDER if self.cache is not None else None)

    def listed_by(self, provider: str) -> EndpointList:
        """Return the models that an endpoint listed when last queried."""
        settings = self.providers.get(provider) or BUILT_IN.get(provider)
        return self.lists.of(provider, address(settings, self.env) if settings is not None else "")

    def listed_specs(self, found: EndpointList) -> Iterator[ModelSpec]:
        """Yield the specs of the models in a list."""
        overrides, providers = self._overrides, self.providers
        for model in found.models:
            spec = catalog.spec(f"{found.provider}/{model}", overrides, providers)
            yield spec if spec.known else found.over(spec)

    @property
    def with_lists(self) -> Sequence[ProviderSettings]:
        """Endpoints to query for their models: the configured ones, and services with a key."""
        configured = [
            each
            for each in self.providers.values()
            if not each.platform and not (is_vendor(each) and not each.base_url)
        ]
        keyed = [
            BUILT_IN[name]
            for name, (_, preset) in PRESETS.items()
            if name not in self.providers and preset.key_variable and self.env.get(preset.key_variable, "").strip()
        ]
        return [*configured, *keyed]

    @property
    def vendors(self) -> Sequence[ProviderSettings]:
        """Vendors with a key, queried on demand for models newer than the table."""
        own = [BUILT_IN[name] for name in SERVERS if name not in {each.name for each in self.with_lists}]
        return [each for each in own if credentials(each, self.env)]

    @property
    def _overrides(self) -> Mapping[str, Mapping[str, Any]]:
        """Return fields of models by name: downloaded figures, overridden by the configuration."""
        if not self.figures.models:
            return self.config.models
        changes = {model.name: model.price_changes for model in catalog.models()}
        read = self.figures.over(changes)
        return {
            name: {**read.get(name, {}), **self.config.models.get(name, {})} for name in {*read, *self.config.models}
        }


class ModelSource:
    """Makes a run's `Models` for its current configuration and keys; they share connections."""

    def __init__(self, project: Project, attended: bool) -> None:
        """`attended`: a person is present, who may start a local server."""
        self._project, self._attended = project, attended
        self._connected: list[Connected] = []
        self._keyed: tuple[str, Mapping[str, str], Mapping[str, str]] = ("", {}, {})

    @cached_property
    def accounts(self) -> OnDemand[Accounts]:
        """Accounts of the run. Raises InputError for an invalid account name."""
        project = self._project

        def make() -> Accounts:
            from agentcli.providers.accounts import Accounts, by_folder

            here = by_folder(project.config[General].accounts, project.cwd, project.home)
            return Accounts(KeyStore(project.dirs.config), project.options.account, here)

        return OnDemand(make, lambda: project.options.account or project.config[General].accounts)

    @cached_property
    def _memory(self) -> EndpointMemory:
        """Capabilities found missing on endpoints, stored in the state folder unless this run writes nothing."""
        project = self._project
        return EndpointMemory(None if project.options.no_session else project.dirs.state / FILE)

    def now(self) -> Models:
        """Return the models that configuration and keys make available."""
        project = self._project
        seen = model_figures.load(project.dirs.state / model_figures.FILE)
        env = self._environment()
        stored = frozenset(dict(env.items() - project.given_env.items()))
        gates = None if project.options.no_session else project.dirs.state / retrying.FOLDER
        return Models(
            project.config,
            env,
            self._memory,
            seen,
            project.dirs.cache,
            stored,
            gates,
            self._attended,
            self.accounts.now,
            self._connected,
            (project.dirs.config, project.dirs.state),
        )

    def _environment(self) -> Mapping[str, str]:
        """Return the environment with the current account's keys, which are read once."""
        accounts, env = self.accounts.now, self._project.env
        if accounts is None or not accounts.current:
            return env
        account = accounts.current
        if self._keyed[:2] != (account, env):
            configured = Models(self._project.config, env).providers
            self._keyed = (account, env, accounts.environment(env, {**BUILT_IN, **configured}))
        return self._keyed[2]

    async def close(self) -> None:
        """Close the connections of all models."""
        connected, self._connected[:] = [*self._connected], []
        for each in connected:
            await close_model(each.model)


async def close_model(model: Model) -> None:
    """Close the connections of a model, if it has any."""
    close = getattr(model, "close", None)
    if close is not None:
        await close()


def _demo(spec: ModelSpec) -> Model:
    from agentcli.program.demo import model

    return model(spec)


def _passed_on(accounts: Accounts | None, provider: str, error: ModelError) -> bool:
    return accounts is not None and accounts.passes_on(error, provider)


def no_key() -> str:
    """Advice for a user without a key: how to set one, and how to do without."""
    vendors = [PROVIDERS[kind] for kind in SERVERS]
    advice = [
        *(vendor.key_advice for vendor in vendors if any(vendor.key_advice)),
        *((vendor.base_url_variable, vendor.base_url_advice) for vendor in vendors if vendor.base_url_advice),
    ]
    wide = max(len(variable) for variable, _ in advice)
    return "\n".join(
        (
            "No API key is set. Store one with `agentcli auth set PROVIDER`, or set one:",
            *(f"  export {f'{variable}=…':{wide + 5}}{gives}" for variable, gives in advice),
            "For a model on this machine: agentcli models --local",
            "To see it work without a key: agentcli demo",
        )
    )


def _provider(name: str, table: Mapping[str, object]) -> ProviderSettings:
    """Build a provider from its table, whose settings have valid types.

    A preset's table changes only the fields that it contains.
    """
    if name in PRESETS and table.get("kind", PRESETS[name][0]) == PRESETS[name][0]:
        return replace(BUILT_IN[name], **table)  # type: ignore[arg-type]
    kind = table.get("kind", name)
    if kind not in SERVERS:
        kinds = " or ".join(f'kind = "{each}"' for each in SERVERS)
        raise ConfigError(f"providers.{name} needs {kinds}.")
    platform = str(table.get("platform", ""))
    if platform and PLATFORMS[platform].kind != kind:
        raise ConfigError(
            f'providers.{name}: platform = "{platform}" is for kind = "{PLATFORMS[platform].kind}", not "{kind}".'
        )
    return ProviderSettings(name, **{**table, "kind": kind})  # type: ignore[arg-type]
