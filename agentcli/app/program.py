"""The program around a session: configuration, store, models and tools put together. The only place that knows them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli import __version__
from agentcli.agent.checkpointing import Makes
from agentcli.agent.delegation.kinds import kind_named, settings_for, tools_for
from agentcli.agent.extensions.turn import keeps_model
from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Approve, AskUser
from agentcli.agent.report import lifetime
from agentcli.agent.session import AgentSession
from agentcli.agent.setup import SessionSetup, StandingInstructions
from agentcli.agent.spending import RunLimits
from agentcli.app.hooks import loaded
from agentcli.app.keys import KeyStore, with_keys
from agentcli.app.models import Models, no_key
from agentcli.app.options import LAST, Options
from agentcli.app.project import ProjectContext
from agentcli.app.servers import RunServers
from agentcli.app.starting import unstarted
from agentcli.app.system_prompt import Surroundings, environment, standing, system_blocks
from agentcli.app.workspace import WorkspacePolicy
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Estimator, estimator
from agentcli.core.errors import CredentialsError, InputError, ToolError, TrustError, UsageError
from agentcli.core.history import History
from agentcli.core.journal import Journal, Predecessor
from agentcli.core.model import ModelSpec, ToolSchema
from agentcli.core.record import MODES, Mode, Settings
from agentcli.core.tool import Question, Tool
from agentcli.integrations.extensions.agents import AgentKind
from agentcli.integrations.extensions.discover import catalogue
from agentcli.integrations.instructions import Instructions, InstructionSet, instruction_set
from agentcli.integrations.worktrees import add_worktree
from agentcli.providers import figures, gate
from agentcli.providers.memory import FILE, EndpointMemory
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.settings import BUILT_IN
from agentcli.resources import prompt
from agentcli.sessions.checkpoints.changes import Changes
from agentcli.sessions.checkpoints.file_states import SKIPPED, Kind
from agentcli.sessions.ids import checked_id, new_id
from agentcli.sessions.info import Parent, SessionInfo
from agentcli.sessions.memory import MemorySession
from agentcli.sessions.project import about_gone_folders
from agentcli.sessions.session import Session
from agentcli.sessions.store import Store
from agentcli.tools.lib.gitignore import everything
from agentcli.tools.registry import TRAITS, run, tools

if TYPE_CHECKING:
    from agentcli.context.compaction.handover import Handover


async def nobody(_: ApprovalRequest) -> ApprovalResponse | None:
    """The approver of a run without a person."""
    return None


async def no_answer(_: Sequence[Question]) -> Sequence[str] | None:
    """The answer to `ask_user` where nobody is there: None."""
    return None


class Program(ProjectContext):
    """Everything of one run of agentcli. Parts are made when they are first needed."""

    def __init__(self, options: Options, env: Mapping[str, str] | None = None) -> None:
        """Raises UsageError for a folder that is not there, ConfigError for configuration that is wrong."""
        super().__init__(options, env)
        if options.mode:
            _mode(options.mode)
        self.given_env = self.env
        """The environment without the stored keys."""
        self.reload()
        self.approve: Approve = nobody
        self.ask: AskUser = no_answer
        self.servers = RunServers(
            self, lambda: self.given_env, lambda asked: self.ask(asked), lambda: self.workspace_policy.roots
        )
        self.workspace_policy = WorkspacePolicy(self, lambda ask: self.approve(ask))

    @cached_property
    def store(self) -> Store:
        """The session store, as the configuration wants it."""
        return Store(self.dirs.sessions, interval=self.config.sessions.save_every)

    @cached_property
    def memory(self) -> EndpointMemory:
        """What endpoints were found to lack; kept in the state folder unless this run writes nothing."""
        return EndpointMemory(None if self.options.no_session else self.dirs.state / FILE)

    @property
    def models(self) -> Models:
        """The models that configuration and keys make available."""
        seen = figures.load(self.dirs.state / figures.FILE)
        stored = frozenset(dict(self.env.items() - self.given_env.items()))
        gates = None if self.options.no_session else self.dirs.state / gate.FOLDER
        return Models(self.config, self.env, self.memory, seen, stored, gates)

    def new(self) -> AgentSession:
        """A fresh session in the current folder."""
        return self.session_for(self._fresh())

    def _fresh(self, session_id: str = "") -> Journal:
        if self.options.no_session:
            return MemorySession(session_id=session_id and checked_id(session_id))
        return self.store.create(self.cwd, version=__version__, session_id=session_id)

    def begin(self) -> AgentSession:
        """The session that the command line asks for."""
        match self.options.session:
            case None:
                return self.session_for(self._fresh(self.options.session_id))
            case selector:
                return self.resume(self.chosen(selector))

    def chosen(self, selector: str) -> SessionInfo:
        """The session that `resume` names. Raises InputError when there is none."""
        if selector == LAST:
            newest = self.store.newest(self.project)
            if newest is None:
                hint = about_gone_folders(self.store.root)
                raise InputError(f"This project has no session yet. Start one with `agentcli`. {hint}".rstrip())
            return newest
        if not selector:
            raise InputError("Which session? Give an id, a unique prefix, or a name, or use --last.")
        return self.store.find(selector, self.project)

    def resume(self, info: SessionInfo) -> AgentSession:
        """Go on with a session, or with a copy of it."""
        copied = self.options.fork and not self.options.no_session
        return self.open(self.store.fork(info) if copied else info)

    def open(self, info: SessionInfo) -> AgentSession:
        """A session as it was left, or with `--no-session` a copy in memory. Raises SessionBusy when it is open elsewhere."""
        aloof = self.options.no_session
        session = self.store.open(info.project_id, info.id, read_only=aloof)
        return self.session_for(MemorySession(session) if aloof else session, self._from_elsewhere(info))

    def session_for(self, journal: Journal, notes: Sequence[str] = ()) -> AgentSession:
        """An open session, ready to work: with the model and mode it had, unless this run asks for others.

        `notes` are said to the person before anything else, with those about the settings.
        """
        history = journal.history
        name, why = self._model_for(history)
        spec = self.models.spec(name)
        mode = _mode(self.options.mode or history.mode or self.config.general.mode)
        if history.model and (spec.name, mode) != (history.model, history.mode):
            journal.append(Settings(spec.name, mode, why=why))
        setup = self._setup([*notes, *filter(None, (why, lifetime(spec, date.today().isoformat())))])
        return AgentSession(journal, setup, self.models.connect(spec.name), mode)

    def hand_over(self, session: AgentSession, made: Handover) -> AgentSession:
        """A new session that goes on from another with this hand-over; `session` stays as it is."""
        journal = session.journal
        if not isinstance(journal, Session) or self.options.no_session:
            fresh = MemorySession(predecessor=Predecessor(journal, made.until))
            fresh.append(made.beginning)
            return self.session_for(fresh)
        origin = Parent(journal.id, made.until, "handoff")
        stored = self.store.create(self.cwd, parent=origin, version=__version__)
        stored.append(made.beginning)
        return self.session_for(stored)

    def past(self, selector: str) -> Session:
        """A session to look at, which nothing is written to."""
        info = self.chosen(selector)
        return self.store.open(info.project_id, info.id, read_only=True)

    def spec_for(self, history: History) -> ModelSpec:
        """The model that a session would go on with."""
        return self.models.spec(self._model_for(history)[0])

    def _model_for(self, history: History) -> tuple[str, str]:
        """The model that a session would go on with, and why it is not its own where nobody asked for another.

        A session of another program names models that need not be configured here. One of ours never changes to another provider only
        because a key is missing.
        """
        own = "" if self.options.model else history.model
        obstacle = self.models.obstacle(own) if own else None
        imported = not history.system
        if obstacle is None or (isinstance(obstacle, CredentialsError) and not (imported and self.models.default)):
            return self.options.model or history.model or self.model_name(), ""
        other = self.models.spec(self.model_name()).name
        return other, f"This session cannot go on with {own}. {obstacle} It goes on with {other}; -m takes another."

    def model_name(self) -> str:
        """The model of a new session. Raises CredentialsError, saying how to set a key, when nothing says which.

        Raises TrustError where a folder that is not trusted would say it.
        """
        default = self.models.default
        if self.agent and default and not keeps_model(self.agent.model, self.models.spec(default)):
            return self.models.spec(self.agent.model).name
        if default:
            return default
        if self.options.session == "" and (newest := self.store.newest(self.project)):
            return newest.model  # one of the past sessions will be chosen, and each has its own
        if self.folder_config.general.model:
            raise TrustError(
                "No key is set. This folder's settings name a model, but the folder is not trusted. "
                "Check its .agentcli/config.toml, then start with --trust."
            )
        raise CredentialsError(no_key())

    def mode(self) -> Mode:
        """The mode that a new session begins in. Raises UsageError for one that does not exist."""
        return _mode(self.options.mode or self.config.general.mode)

    @property
    def policy_asked(self) -> str:
        """The policy that this run asks for by `--set`; empty where it leaves the choice to session and configuration."""
        return self.config.context.policy if self.config.origins.get("context.policy") == "--set" else ""

    def policy_of(self, history: History) -> str:
        """The policy that a session would go on with."""
        return self.policy_asked or history.policy or self.config.context.policy

    def counts_for(self, history: History, policy: str = "") -> TokenCounter:
        """Counts as a policy makes them, by default the session's own, that know what this session's replies have taught."""
        counts = TokenCounter(self._estimator(policy or self.policy_of(history)))
        counts.use_model(self.spec_for(history).id, history.system, self.tools_of(history))
        counts.learn(history)
        return counts

    def tools_of(self, history: History) -> Sequence[ToolSchema]:
        """The tools that a session's requests begin with."""
        return [*map(ToolSchema.recorded, history.tools)]

    @property
    def vocabularies(self) -> Path:
        """The folder in which tiktoken's vocabularies are looked for, before its own cache."""
        return self.dirs.cache / "tiktoken"

    def reload(self) -> None:
        """Read the configuration again: a folder that is trusted now has its say."""
        self.__dict__.pop("config", None)
        self.__dict__.pop("extensions", None)
        self.__dict__.pop("plugins", None)
        _ = self.config
        if stored := KeyStore(self.dirs.config).keys():
            configured = Models(self.config, self.given_env).providers
            self.env = with_keys(self.given_env, {**BUILT_IN, **configured}, stored)

    def instruction_files(self) -> InstructionSet:
        """The instruction files in force, read now."""
        limit, home = self.config.agent.instruction_bytes, Path(self.env.get("HOME") or Path.home())
        found = instruction_set(self.cwd, self.dirs.config, home, trusted=self.trusted, limit=limit)
        brought = [plugin.standing(limit) for plugin in self.plugins[0]]
        return replace(found, files=(*filter(None, brought), *found.files)) if any(brought) else found

    def _standing(self) -> StandingInstructions:
        counter = TokenCounter(self._estimator(self.config.context.policy))
        found = self.instruction_files()
        return StandingInstructions(
            [(file.path, counter.text(file.text)) for file in found.files],
            standing(found.files),
            found.notes,
            {file.path: file.imported_by for file in found.files if file.imported_by is not None},
        )

    def _from_elsewhere(self, info: SessionInfo) -> Sequence[str]:
        """A notice of the folder that a session comes from, if that is not this project's."""
        if info.project_id == self.project.id and self.project.elsewhere(info) is None:
            return ()
        gone = "" if Path(info.directory).is_dir() else ", which is gone"
        return (f"This session was started in {info.directory}{gone}. It continues in {self.cwd}.",)

    def _setup(self, notes: Sequence[str]) -> SessionSetup:
        config, workspace_policy, options = self.config, self.workspace_policy, self.options
        files = self.instruction_files().files
        hooks = loaded(self)
        servers = self.servers.connected()
        return SessionSetup(
            connect=self.models.connect,
            summariser=self.models.summariser,
            estimator=self._estimator,
            tools=self.tools_with(servers is not None),
            traits=TRAITS,
            run=run,
            system=lambda model, mode: self.system_prompt(files, model, mode),
            context=config.context,
            budget=config.budget,
            agent=settings_for(self.agent, config.agent) if self.agent else config.agent,
            hooks=config.hooks,
            file_hooks=hooks.hooks,
            limits=workspace_policy.limits,
            rules=workspace_policy.rules(),
            workspace=workspace_policy.workspace(),
            sandboxes=workspace_policy.sandboxes,
            changes=self._changes,
            child=self._child,
            worktree=lambda _: add_worktree(self.cwd, self.dirs.cache / "worktrees" / new_id(), self.given_env),
            reopen=self._reopen,
            policy=self.policy_asked,
            restated=options.restates_system,
            sandbox=workspace_policy.sandbox.state,
            approve=self.approve,
            attended=self.approve is not nobody,
            ask=self.ask,
            save_rule=workspace_policy.save_rule,
            reread=self._standing,
            trusted=self.trusted,
            system_of=lambda text, model, mode: self.system_prompt(files, model, mode, text),
            extensions=self.look_for_extensions,
            run_limits=lambda: RunLimits(options.max_turns, options.max_cost, options.max_tokens, options.max_time),
            mcp=config.mcp,
            servers=servers,
            notes=(
                *notes,
                *config.warnings,
                *self.extensions.left_out,
                *hooks.notes,
                *self.servers.problems,
                *unstarted(self, attended=self.approve is not nobody),
            ),
        )

    def tools_with(self, servers: bool) -> Sequence[Tool]:
        """The tools of a session, with those that reach servers if there are any."""
        lacking = {"skill"} if not any(skill.for_model for skill in self.extensions.skills.values()) else set()
        offered = [tool for tool in tools() if tool.name not in lacking and (servers or not tool.traits.gate)]
        offered = [tool for tool in offered if self.config.agent.subagents or not tool.traits.delegates]
        return tools_for(self.agent, offered, depth=0) if self.agent else offered

    @cached_property
    def agent(self) -> AgentKind | None:
        """The definition that this run works by (`--agent`). Raises UsageError where there is none of that name."""
        try:
            return kind_named(self.options.agent, self.extensions.agents) if self.options.agent else None
        except ToolError as error:
            raise UsageError(str(error)) from error

    def system_prompt(
        self, files: Sequence[Instructions], model: ModelSpec, mode: Mode, own_text: str | None = None
    ) -> tuple[str, ...]:
        """The system prompt of a session that begins now, with `own_text` in place of the program's."""
        policy, options = self.workspace_policy, self.options
        family = PROVIDERS[model.kind].family_prompt if model.kind in PROVIDERS else ""
        own = (prompt("system.md"), *([prompt(family)] if family else []))
        here = Surroundings(
            self.cwd, policy.roots, policy.sandbox.kind if policy.sandbox.working else "", self.approve is not nobody
        )
        given = own_text if own_text is not None else options.system_prompt
        if given is None and self.agent:
            given = self.agent.prompt or None
        base = own if given is None else (given,)
        found = self.extensions
        listed = catalogue(found.skills, found.agents if self.config.agent.subagents else {}, model.window)
        return system_blocks(base, files, listed, environment(here, mode), options.append_system_prompt)

    def _estimator(self, policy: str) -> Estimator:
        context = self.config.context
        return estimator(context.estimator_of(policy), [self.vocabularies], context.tiktoken)

    def _child(self, parent: Journal) -> Journal:
        """The session of a subagent; one that is not kept where its parent is not."""
        if not isinstance(parent, Session):
            return MemorySession()
        origin = Parent(parent.id, parent.history.last_seq, "subagent")
        return self.store.create(self.cwd, parent=origin, version=__version__)

    def _reopen(self, parent: Journal, id: str) -> Journal | None:
        """The session of a former subagent of `parent`. Raises SessionBusy while it is open elsewhere."""
        if not isinstance(parent, Session):
            return None
        info = next((info for info in self.store.list(self.project) if info.id == id), None)
        if info is None or info.parent is None or (info.parent.session, info.parent.kind) != (parent.id, "subagent"):
            return None
        return self.store.open(info.project_id, info.id)

    def _changes(self, journal: Journal) -> Makes | None:
        """The factory of a session's checkpoints; None for a session that is not stored."""
        if not isinstance(journal, Session) or not self.config.checkpoints.seconds:
            return None
        checkpoints = self.store.checkpoints(
            journal, self.workspace_policy.roots, listing=covered, limits=self.config.checkpoints
        )
        return lambda append: Changes(journal, checkpoints, append)


def covered(base: Path, most: int) -> Iterable[tuple[str, Kind]]:
    """The files of a workspace that a checkpoint covers, and those that it leaves out."""
    return everything(base, SKIPPED, most)


def _mode(name: str) -> Mode:
    if name not in MODES:
        raise UsageError(f"There is no mode {name!r}. Use one of: {', '.join(MODES)}.")
    return name
