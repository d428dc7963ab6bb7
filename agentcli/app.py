"""The program around a session: configuration, store, models and tools put together. The only place that knows them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from agentcli import __version__
from agentcli.agent.allowance import Allowance
from agentcli.agent.cover import Makes
from agentcli.agent.desk import OpenDesk
from agentcli.agent.outfit import Outfit, environment
from agentcli.agent.permissions import Place, Rules
from agentcli.agent.permissions.rules import parse_rules
from agentcli.agent.ports import Answer, Approve, Ask, AskUser
from agentcli.agent.sandbox import Sandbox, choose
from agentcli.context.estimators import Estimator, estimator
from agentcli.context.policies.sliding import resolve
from agentcli.context.settings import ContextSettings
from agentcli.context.tokens import Counts
from agentcli.core.errors import ConfigError, CredentialsError, InputError, TrustError, UsageError
from agentcli.core.history import History
from agentcli.core.journal import Journal
from agentcli.core.message import ToolCall
from agentcli.core.model import Model, ModelSpec, ToolSchema
from agentcli.core.record import MODES, Mode, Settings
from agentcli.core.tool import Question
from agentcli.ground import Ground, folder_named
from agentcli.integrations.instructions import Instructions, instructions
from agentcli.options import LAST, Options
from agentcli.providers import catalog
from agentcli.providers.connect import connect
from agentcli.providers.settings import BASE_URL_VARIABLES, KEY_VARIABLES, ProviderSettings
from agentcli.resources import prompt
from agentcli.sessions.changes import Changes
from agentcli.sessions.info import Info
from agentcli.sessions.memory import MemorySession
from agentcli.sessions.session import Session
from agentcli.sessions.store import Store
from agentcli.sessions.survey import SKIPPED
from agentcli.tools._search import files
from agentcli.tools.previews import preview
from agentcli.tools.table import run, tools

DEFAULT_MODELS = {"anthropic": "sonnet", "google": "flash"}
"""The model for whoever has a key and says nothing, by provider in the order in which keys are looked for."""


async def nobody(_: Ask) -> Answer | None:
    """The approver of a run without a person."""
    return None


async def no_answer(_: Sequence[Question]) -> Sequence[str] | None:
    """What `ask_user` gets where nobody is there."""
    return None


class Program(Ground):
    """Everything of one run of agentcli. Parts are made when they are first needed."""

    def __init__(self, options: Options, env: Mapping[str, str] | None = None) -> None:
        """Raises UsageError for a folder that is not there, ConfigError for configuration that is wrong."""
        super().__init__(options, env)
        if options.mode:
            _mode(options.mode)
        self.reload()
        self.approve: Approve = nobody
        self.ask: AskUser = no_answer

    @cached_property
    def store(self) -> Store:
        """The session store, as the configuration wants it."""
        return Store(self.places.sessions, interval=self.config.sessions.save_every)

    @cached_property
    def providers(self) -> Mapping[str, ProviderSettings]:
        """The configured providers by name. Raises ConfigError for a table that makes no sense."""
        return {name: _provider(name, table) for name, table in self.config.providers.items()}

    def new(self) -> OpenDesk:
        """A fresh session in the current folder."""
        return self.desk(self._fresh())

    def begin(self) -> OpenDesk:
        """The session that the command line asks for."""
        match self.options.session:
            case None:
                return self.new()
            case selector:
                return self.resume(self.chosen(selector))

    def chosen(self, selector: str) -> Info:
        """The session that `resume` names. Raises InputError when there is none."""
        if selector == LAST:
            newest = self.store.newest(self.project)
            if newest is None:
                raise InputError("This project has no session yet. Start one with `agentcli`.")
            return newest
        if not selector:
            raise InputError("Which session? Give an id, a unique beginning of one, or a name; or use --last.")
        return self.store.find(selector, self.project)

    def resume(self, info: Info) -> OpenDesk:
        """Go on with a session, or with a copy of it."""
        copied = self.options.fork and not self.options.no_session
        return self.open(self.store.fork(info) if copied else info)

    def open(self, info: Info) -> OpenDesk:
        """A session as it was left, or with `--no-session` a copy in memory. Raises SessionBusy when it is open elsewhere."""
        aloof = self.options.no_session
        session = self.store.open(info.project_id, info.id, read_only=aloof)
        return self.desk(MemorySession(session) if aloof else session)

    def desk(self, journal: Journal) -> OpenDesk:
        """An open session, ready to work: with the model and mode it had, unless this run asks for others."""
        history = journal.history
        spec = self.spec_for(history)
        mode = _mode(self.options.mode or history.mode or self.config.general.mode)
        if history.model and (spec.name, mode) != (history.model, history.mode):
            journal.append(Settings(spec.name, mode))
        return OpenDesk(journal, self._outfit(), self.connect(spec.name), mode)

    def history(self, selector: str) -> History:
        """The history of a session that is only looked at."""
        info = self.chosen(selector)
        return self.store.open(info.project_id, info.id, read_only=True).history

    def spec_for(self, history: History) -> ModelSpec:
        """The model that a session would go on with."""
        return self.spec(self.options.model or history.model or self.model_name())

    def policy_of(self, history: History) -> str:
        """The policy that a session would go on with."""
        return self.policy_asked or history.policy or self.config.context.policy

    def counts_for(self, history: History, policy: str = "") -> Counts:
        """Counts as a policy makes them, by default the session's own, that know what this session's replies have taught."""
        counts = Counts(self._estimator(policy or self.policy_of(history)))
        counts.for_request(self.spec_for(history).id, history.system, self.tools_of(history))
        counts.learn(history)
        return counts

    def tools_of(self, history: History) -> Sequence[ToolSchema]:
        """The tools that a session's requests begin with."""
        return [ToolSchema(tool["name"], tool["description"], tool["parameters"]) for tool in history.tools]

    def spec(self, name: str) -> ModelSpec:
        """What is known about a model, and about the one that writes its summaries. Raises InputError, naming the near ones, when nothing is."""
        found = self._listed(name)
        mapping = self.config.context.compression_model
        writer = mapping.get(found.name) or mapping.get(found.id) or mapping.get("default") or found.summary_model
        prices = self._listed(writer).prices if writer else found.prices
        return replace(found, summary_model=writer, summary_prices=prices)

    def _listed(self, name: str) -> ModelSpec:
        return catalog.spec(name, self.config.models, self.providers)

    def connect(self, name: str) -> Model:
        """The model with this name, ready for requests. Raises CredentialsError where a key is missing."""
        spec = self.spec(name)
        from agentcli.demo.script import model as demo_model

        settings = self.providers.get(spec.provider)
        return connect(spec, settings, self.env, self.config.retry, built_in={"demo": demo_model})

    def _summariser(self, spec: ModelSpec) -> Model:
        """The model that writes the summaries of a session that runs on `spec`."""
        return self.connect(spec.summary_model or spec.name)

    def _outfit(self) -> Outfit:
        config = self.config
        files = instructions(self.cwd, self.places.config, config.agent.instruction_bytes)
        counts = Counts(self._estimator(config.context.policy))
        return Outfit(
            connect=self.connect,
            summariser=self._summariser,
            estimator=self._estimator,
            tools=tools(),
            run=run,
            system=self._system(files),
            context=self.context,
            budget=config.budget,
            agent=config.agent,
            hooks=config.hooks,
            limits=config.tools,
            rules=self.rules(),
            place=self.place(),
            tool_options=self._tool_options,
            changes=self._changes,
            policy=self.policy_asked,
            sandbox=self.sandbox.state,
            approve=self.approve,
            ask=self.ask,
            preview=preview,
            save_rule=self._save_rule,
            instructions=[(file.path, counts.text(file.text)) for file in files],
            allowance=self._allowance,
            notes=config.warnings,
        )

    @cached_property
    def roots(self) -> tuple[Path, ...]:
        """The folders that belong to the workspace, the current one first. Raises UsageError for one that is not there."""
        return (self.cwd, *map(folder_named, (*self.config.general.add_dirs, *self.options.add_dirs)))

    def place(self) -> Place:
        """What permission decisions need to know of where we are."""
        own = (self.places.config, self.places.data, self.places.state)
        home = Path(self.env.get("HOME") or Path.home())
        return Place(self.cwd, self.roots, home, own, sandboxed=self.sandbox.working)

    @cached_property
    def sandbox(self) -> Sandbox:
        """What holds commands on this machine. Raises AgentError where one is required and none works."""
        return choose(self.config.general.sandbox)

    def mode(self) -> Mode:
        """The mode that a new session begins in. Raises UsageError for one that does not exist."""
        return _mode(self.options.mode or self.config.general.mode)

    def _tool_options(self, mode: Mode) -> Mapping[str, Any]:
        """Settings of single tools. What a person or a rule allowed runs as it was allowed; the box holds what nobody was asked about."""
        fetch = {"web_fetch": {"allow_addresses": _networks(self.config.tools.fetch_addresses)}}
        if not self.sandbox.working or (mode != "auto" and self.config.general.sandbox != "require"):
            return {"bash": {}, **fetch}
        place = self.place()

        def wrap(argv: Sequence[str]) -> Sequence[str]:
            return self.sandbox.wrap(argv, place, network=self.config.general.sandbox_network)

        async def escalate(command: str, reason: str) -> bool:
            call = ToolCall("escalate", "bash", {"command": command})
            answer = await self.approve(Ask(call, "Run it again outside the sandbox?", reason, command, "command"))
            return answer is not None and answer.choice != "no"

        return {"bash": {"wrap": wrap, "escalate": escalate}, **fetch}

    def rules(self) -> Rules:
        """The permission rules of configuration and flags."""
        given = self.config.permissions
        configured = parse_rules(given.allow, given.ask, given.deny, "config")
        return configured + parse_rules(self.options.allow, (), self.options.deny, "flag")

    def _system(self, files: Sequence[Instructions]) -> tuple[str, ...]:
        options = self.options
        base = options.system_prompt if options.system_prompt is not None else prompt("system.md")
        blocks = [base, environment(self.cwd, self.roots)]
        if files:
            texts = (f"## {file.path}\n{file.text}" for file in files)
            head = "# Instructions of the user and the project\nThe later ones go before the earlier ones."
            blocks.append("\n\n".join((head, *texts)))
        return tuple(block for block in (*blocks, options.append_system_prompt) if block)

    @property
    def vocabularies(self) -> Path:
        """The folder in which tiktoken's vocabularies are looked for, before its own cache."""
        return self.places.cache / "tiktoken"

    def _estimator(self, policy: str) -> Estimator:
        context = self.config.context
        return estimator(context.estimator_of(policy), [self.vocabularies], context.tiktoken)

    def _allowance(self) -> Allowance:
        options = self.options
        return Allowance(options.max_turns, options.max_cost, options.max_tokens, options.max_time)

    def _fresh(self) -> Journal:
        return MemorySession() if self.options.no_session else self.store.create(self.cwd, version=__version__)

    def _save_rule(self, rule: str) -> None:
        from agentcli.config_file import add_to_list

        add_to_list(self.places.config_file, "permissions", "allow", rule)

    def model_name(self) -> str:
        """The model of a new session. Raises CredentialsError, saying how to set a key, when nothing says which.

        Raises TrustError where a folder that is not trusted would say it.
        """
        if self.config.general.model:
            return self.config.general.model
        for provider, model in DEFAULT_MODELS.items():
            if any(self.env.get(name) for name in (*KEY_VARIABLES[provider], BASE_URL_VARIABLES[provider])):
                return model
        if self.folder_says.general.model:
            raise TrustError(
                "No key is set. The settings of this folder name a model, but the folder is not trusted. "
                "Look at its .agentcli/config.toml, then start with --trust."
            )
        raise CredentialsError(NO_KEY)

    @property
    def policy_asked(self) -> str:
        """The policy that this run asks for by `--set`; empty where it leaves the choice to session and configuration."""
        return self.config.context.policy if self.config.origins.get("context.policy") == "--set" else ""

    @property
    def context(self) -> ContextSettings:
        """The context settings with the preset worked in: what this run asks for goes before it, environment and config after."""
        context, origins = self.config.context, self.config.origins
        if not context.preset:
            return context

        def given(*places: str) -> dict[str, Any]:
            prefix = "context.sliding."
            keys = [
                key for key, origin in origins.items() if key.startswith(prefix) and (origin in places) == bool(places)
            ]
            return {key.removeprefix(prefix): self.config.get(key) for key in keys}

        run, environment = given("--set", "flag"), given("environment")
        files = {key: value for key, value in given().items() if key not in run and key not in environment}
        return replace(context, sliding=resolve(run, context.preset, environment, files))

    def reload(self) -> None:
        """Read the configuration again: a folder that is trusted now has its say."""
        self.__dict__.pop("config", None)
        _ = self.config

    def _changes(self, journal: Journal) -> Makes | None:
        """How a session takes the states of files; None for one that is not kept."""
        if not isinstance(journal, Session) or not self.config.checkpoints.seconds:
            return None
        kept = self.store.checkpoints(journal, self.roots, listing=_listing, limits=self.config.checkpoints)
        return lambda append: Changes(journal, kept, append)


NO_KEY = """\
No API key is set, so there is no model to talk to. Set one and start again:
  export ANTHROPIC_API_KEY=…    for Claude (console.anthropic.com)
  export GEMINI_API_KEY=…       for Gemini (aistudio.google.com)
  export ANTHROPIC_BASE_URL=…   for a local server (Ollama, llama.cpp, vLLM)
Or see it work without any key: agentcli demo"""


def _networks(given: Sequence[str]) -> Sequence[str]:
    """Addresses and networks as they were given. Raises ConfigError for what is neither."""
    if given:
        import ipaddress

        for network in given:
            try:
                ipaddress.ip_network(network, strict=False)
            except ValueError as error:
                raise ConfigError(f"tools.fetch_addresses: {error}. Write 127.0.0.1 or 10.0.0.0/8.") from error
    return given


def _listing(base: Path) -> Iterable[str]:
    """The files of the workspace that a checkpoint covers: none that is ignored, or made again by a command."""
    return (name for name in files(base) if SKIPPED.isdisjoint(name.split("/")))


def _mode(name: str) -> Mode:
    if name not in MODES:
        raise UsageError(f"There is no mode {name!r}. There are: {', '.join(MODES)}.")
    return name


def _provider(name: str, table: Mapping[str, Any]) -> ProviderSettings:
    """A provider from its table, whose settings are of the right types already."""
    kind = table.get("kind", name)
    if kind not in KEY_VARIABLES:
        raise ConfigError(f'providers.{name} needs kind = "anthropic" or kind = "google".')
    return ProviderSettings(name, **{**table, "kind": kind})
