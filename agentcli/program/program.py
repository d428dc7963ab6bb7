"""The program around a session: configuration, store, models and tools put together. The only place that knows them all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agentcli.agent.checkpointing import MakeChanges
from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart
from agentcli.agent.hooks import Hooks
from agentcli.agent.project.instructions import Instructions, InstructionSet, instruction_set, standing_rules
from agentcli.agent.settings import AgentSettings
from agentcli.agent.setup import (
    MakeHooks,
    ModelAccess,
    Person,
    Prompts,
    RunSetup,
    SessionSettings,
    SessionSetup,
    StandingInstructions,
    SubagentSetup,
    Toolset,
)
from agentcli.agent.spending import RunLimits
from agentcli.context.settings import BudgetSettings, ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Estimator, estimator
from agentcli.core.history import History
from agentcli.core.journal import Journal
from agentcli.core.mcp_servers import Servers
from agentcli.core.model import ModelSpec, ToolSchema
from agentcli.core.on_demand import OnDemand
from agentcli.core.record import Body, Mode
from agentcli.core.tool import Tool, Traits
from agentcli.permissions.denied.files import naming_nothing
from agentcli.program.config.schema import Schema
from agentcli.program.feature import Feature, FoundHooks, RunPart, tools_of, traits_of
from agentcli.program.front_end import FrontEnd
from agentcli.program.models import Models, ModelSource
from agentcli.program.options import Options
from agentcli.program.project import Project
from agentcli.program.sessions import Selection, SessionOpener, mode_named
from agentcli.program.system_prompt import Surroundings, environment, instruction_text, system_blocks
from agentcli.program.workspace import WorkspacePolicy
from agentcli.providers.settings import BUILT_IN
from agentcli.resources import prompt
from agentcli.sessions.info import new_id
from agentcli.sessions.session import Session
from agentcli.sessions.settings import SKIPPED, CheckpointLimits
from agentcli.system.key_store import KeyStore
from agentcli.tools.registry import run

if TYPE_CHECKING:
    from agentcli.permissions.started import Started
    from agentcli.program.command import Command
    from agentcli.program.definition import Definition
    from agentcli.program.feature import WrapTurn
    from agentcli.sessions.checkpoints.changes import Changes
    from agentcli.sessions.checkpoints.file_states import Kind
    from agentcli.system.worktrees import Worktree


P = TypeVar("P", bound=RunPart)


class Program(Project):
    """Everything of one run of agentcli, which a front end may start. Parts are created on demand."""

    def __init__(
        self,
        options: Options,
        features: Sequence[Feature[Program]],
        schema: Callable[[], Schema],
        env: Mapping[str, str] | None = None,
        front_end: FrontEnd | None = None,
    ) -> None:
        """Raise UsageError if the folder does not exist, ConfigError if the configuration is invalid."""
        super().__init__(options, schema, env)
        if options.mode:
            mode_named(options.mode)
        self.features = features
        self.reload()
        self.front_end = front_end if front_end is not None else FrontEnd()
        self.parts = [part for feature in self.active if (part := feature.part(self)) is not None]
        """What the features keep for the run."""
        self.traits: dict[str, Traits] = dict(traits_of(features))
        """The traits of all tools that there are."""
        self._know(self.brought)
        self.workspace_policy = WorkspacePolicy(self, self.front_end.approve, self.traits, self._started)
        self._models = ModelSource(self, self.front_end.attended)
        self.selection = Selection(self, self._models)
        session_parts = [partial(self._session_part, feature) for feature in features]
        self.sessions = SessionOpener(self, self.selection, self._models, self._setup, session_parts)

    @property
    def active(self) -> Sequence[Feature[Program]]:
        """The features that the settings switch on."""
        return [feature for feature in self.features if feature.on(self)]

    def part(self, kind: type[P]) -> P | None:
        """Return the run's part of this class; None without its feature."""
        return next((part for part in self.parts if isinstance(part, kind)), None)

    @property
    def brought(self) -> Sequence[Tool]:
        """Tools of the embedding program, and of the parts of the run."""
        return (*self.front_end.tools, *(tool for part in self.parts for tool in part.tools()))

    @property
    def added_commands(self) -> Sequence[Command]:
        """Slash commands that the parts of the run add now."""
        return [one for part in self.parts for one in part.commands()]

    def _know(self, tools: Sequence[Tool]) -> None:
        self.traits.update({tool.name: tool.traits for tool in tools})

    def _session_part(self, feature: Feature[Program], core: SessionCore) -> SessionPart | None:
        return feature.session(self, core) if feature.on(self) else None

    @property
    def models(self) -> Models:
        """The models that configuration and keys make available."""
        return self._models.now()

    async def close(self) -> None:
        """Close the resources of this run's sessions: model connections and MCP servers."""
        await self._models.close()
        await asyncio.to_thread(self.close_parts)
        self.workspace_policy.close()

    def start_parts(self) -> None:
        """Begin in the background what the run's sessions will need, such as MCP servers."""
        for part in self.parts:
            part.start()

    def close_parts(self) -> None:
        """End what features started for the run."""
        for part in self.parts:
            part.close()

    def counts_for(self, history: History, policy: str) -> TokenCounter:
        """Return a token counter for a policy, the session's own if `policy` is empty, calibrated by the session's
        replies.
        """
        counts = TokenCounter(self._estimator(policy or self.selection.policy_of(history)))
        counts.use_model(
            self.selection.spec_for(history).id, history.system, [*map(ToolSchema.recorded, history.tools)]
        )
        counts.learn(history)
        return counts

    @property
    def vocabularies(self) -> Path:
        """Folder to search for tiktoken's vocabularies, before its own cache."""
        return self.dirs.cache / "tiktoken"

    def reload(self) -> None:
        """Read the configuration again: a newly trusted folder then takes effect."""
        self.__dict__.pop("config", None)
        self.__dict__.pop("prompt_files", None)
        self.__dict__.pop("plugins", None)
        _ = self.config
        if stored := KeyStore(self.dirs.config).keys():
            known = {**BUILT_IN, **Models(self.config, self.given_env).providers}
            if stored.keys() - known.keys():
                known = {**{one.name: one for feature in self.features for one in feature.keyed()}, **known}
            from agentcli.program.keys import with_keys

            self.env = with_keys(self.given_env, known, stored)

    def _new_worktree(self, _: str) -> Worktree:
        from agentcli.system.worktrees import add_worktree

        return add_worktree(self.cwd, self.worktrees / new_id(), self.given_env)

    def _former_worktree(self, inner: Path) -> Worktree | None:
        from agentcli.system.worktrees import former_worktree

        return former_worktree(self.cwd, inner, self.worktrees, self.given_env)

    def instruction_files(self) -> InstructionSet:
        """Read the instruction files in force."""
        limit, home = self.config[AgentSettings].instruction_bytes, Path(self.env.get("HOME") or Path.home())
        found = instruction_set(self.cwd, self.dirs.config, home, trusted=self.trusted, limit=limit)
        brought = [plugin.instructions(limit) for plugin in self.plugins[0]]
        rules = standing_rules(self.cwd, home, limit) if self.trusted else InstructionSet()
        every = (*brought, found, rules)
        files = [file for each in every for file in each.files]
        denied = {file.path: rule for file in files if (rule := self.workspace_policy.unreadable(file.path))}
        notes = [note for each in every for note in each.notes]
        notes += [f"{path} is not read: the rule {rule} forbids it" for path, rule in denied.items()]
        return InstructionSet(tuple(file for file in files if file.path not in denied), tuple(notes))

    def _instructions(self) -> StandingInstructions:
        counter = TokenCounter(self._estimator(self.config[ContextSettings].policy))
        found = self.instruction_files()
        return StandingInstructions(
            [(file.path, counter.text(file.text)) for file in found.files],
            instruction_text(found.files),
            found.notes,
            {file.path: file.imported_by for file in found.files if file.imported_by is not None},
        )

    def _started(self) -> Sequence[Started]:
        return [one for feature in self.active for one in feature.started(self)]

    def definitions(self) -> Sequence[Definition]:
        """Return everything that the files of the project would start; nothing if the folder is not trusted."""
        return [one for feature in self.active for one in feature.definitions(self)] if self.trusted else []

    def wraps(self) -> Sequence[WrapTurn]:
        """Return what features wrap around a run's turns. Raises InputError."""
        return [wrap for feature in self.active for wrap in feature.wraps(self)]

    def _setup(self, notes: Sequence[str]) -> SessionSetup:
        config, workspace_policy = self.config, self.workspace_policy
        files, hooks, connected = self.instruction_files().files, self._found_hooks(), self._servers()
        servers = connected
        if self.selection.agent is not None:
            from agentcli.agent.delegation.kinds import servers_for

            servers = servers_for(self.selection.agent, connected)
        front_end, brought = self.front_end, self.brought
        self._know(brought)
        return SessionSetup(
            models=self._model_access(),
            tools=Toolset(self.tools_with(servers is not None), self.traits, run, brought),
            prompts=self._prompts(files),
            settings=SessionSettings(
                config[ContextSettings],
                config[BudgetSettings],
                self.agent_settings,
                workspace_policy.limits,
            ),
            permissions=workspace_policy.permissions(),
            person=Person(front_end.approve, front_end.ask, front_end.attended, front_end.editor),
            workspace=workspace_policy.workspace(),
            subagents=SubagentSetup(
                child=self.sessions.child,
                reopen=self.sessions.reopen,
                children=self.sessions.children,
                worktree=self._new_worktree,
                former_worktree=self._former_worktree,
            ),
            run=self._run_setup((*notes, *self._notes(hooks.notes))),
            hooks=hooks.make,
            prompt_files=self.look_for_prompt_files,
            servers=servers,
            changes=self._changes,
        )

    def _found_hooks(self) -> FoundHooks:
        found = [hooks for feature in self.active if (hooks := feature.hooks(self)) is not None]
        make = next((hooks.make for hooks in found if hooks.make is not None), None)
        for around in [hooks.around for hooks in found if hooks.around is not None]:
            make = _around(make, around)
        return FoundHooks(make, [note for hooks in found for note in hooks.notes])

    def _servers(self) -> Servers | None:
        return next((servers for part in self.parts if (servers := part.servers()) is not None), None)

    def _model_access(self) -> ModelAccess:
        now = self.models
        return ModelAccess(
            lambda name: self.models.connect(name),  # with the account that is then in use
            lambda spec: self.models.summariser(spec),
            self._estimator,
            now.defers,
            now.known_spec,
            self._models.accounts,
        )

    def _prompts(self, files: Sequence[Instructions]) -> Prompts:
        return Prompts(
            system=partial(self.system_prompt, files),
            lasting=partial(self.system_prompt, files, lasting=True),
            system_of=partial(self._system_prompt_of, files),
            reread=self._instructions,
            restated=self.options.restates_system,
        )

    def _rules_that_match_nothing(self) -> Sequence[str]:
        """Return the warning about rules that deny or ask about missing paths, once a day, for a person."""
        rules, traits = self.workspace_policy.rules(), self.traits.items()
        files = {name for name, one in traits if one.reads_files or one.edits_files}
        about = [rule for rule in (*rules.deny, *rules.ask) if rule.tool in files]
        if self.front_end.one_turn or not about:
            return ()
        names = dict.fromkeys(map(str, naming_nothing(about, self.workspace_policy.workspace())))
        if not names:
            return ()
        from agentcli.program.daily import FILE, first_today

        text = f"These rules match nothing now: {', '.join(names)}. They apply once such a file exists."
        today = date.today().isoformat()
        return [text] if self.options.no_session or first_today(self.dirs.state / FILE, text, today) else ()

    def _run_setup(self, notes: Sequence[str]) -> RunSetup:
        options = self.options
        return RunSetup(
            policy=self.selection.policy_asked,
            limits=lambda: RunLimits(options.max_turns, options.max_cost, options.max_tokens, options.max_time),
            one_turn=self.front_end.one_turn,
            notes=[*notes, *self._rules_that_match_nothing()],
            lock=self._lock(),
        )

    def _lock(self) -> Mapping[str, Any] | None:
        if not self.options.lock:
            return None
        from agentcli.agent.run_lock import read_lock

        return read_lock(self.options.lock)

    def _notes(self, hooks: Sequence[str]) -> Sequence[str]:
        """Return notes for the person about settings, extensions, hooks and servers before the first prompt."""
        trouble = filter(None, [self.workspace_policy.saved.rules()[1]])
        return (
            *self.config.warnings,
            *trouble,
            *self.prompt_files.left_out,
            *hooks,
            *(note for part in self.parts for note in part.notes()),
            *self._unstarted(),
        )

    def _unstarted(self) -> Iterator[str]:
        """Yield warnings about programs that are not started because nobody can approve them."""
        if self.front_end.attended:
            return
        if self.trusted:
            from agentcli.program.approvals import not_started

            texts = [not_started(self.approvals.refused(self.definitions()))]
        else:
            texts = [part.unread() for part in self.parts]
        yield from filter(None, texts)

    def tools_with(self, servers: bool) -> Sequence[Tool]:
        """Return a session's tools, including those that reach servers if there are any."""
        lacking = {"skill"} if not any(skill.for_model for skill in self.prompt_files.skills.values()) else set()
        offered = [
            tool
            for tool in tools_of([one for one in self.active if one.offers(self)])
            if tool.name not in lacking and (servers or not tool.traits.behaviour.gate)
        ]
        offered = [
            tool for tool in offered if self.config[AgentSettings].subagents or not tool.traits.behaviour.delegates
        ]
        offered = [*offered, *self.brought]
        if self.selection.agent is None:
            return offered
        from agentcli.agent.delegation.kinds import tools_for

        return tools_for(self.selection.agent, offered, depth=0)

    @property
    def agent_settings(self) -> AgentSettings:
        """Settings of a turn, including those of this run's agent definition."""
        configured = self.config[AgentSettings]
        if self.selection.agent is None:
            return configured
        from agentcli.agent.delegation.kinds import settings_for

        return settings_for(self.selection.agent, configured)

    def system_prompt(
        self,
        files: Sequence[Instructions],
        model: ModelSpec,
        mode: Mode,
        own_text: str | None = None,
        lasting: bool = False,
    ) -> tuple[str, ...]:
        """Return the system prompt of a session that begins now.

        `own_text` replaces the program's text. With `lasting`, facts about the folder are left out.
        """
        policy, options = self.workspace_policy, self.options
        family = model.family.prompt
        small = self.agent_settings.is_small(model.window)
        own = (prompt("system-small.md" if small else "system.md"), *([prompt(family)] if family else []))
        here = Surroundings(
            self.cwd,
            self.given_env,
            self.roots,
            policy.sandbox.kind if policy.sandbox.working else "",
            self.front_end.attended,
        )
        given = own_text if own_text is not None else options.system_prompt
        if given is None and self.selection.agent:
            given = self.selection.agent.prompt or None
        base = own if given is None else (given,)
        parts = [feature.prompt(self, model) for feature in self.active]
        parts += [] if here.attended else [prompt("headless.md")]
        facts = "" if lasting else environment(here, mode)
        return system_blocks(base, files, parts, facts, options.append_system_prompt)

    def _system_prompt_of(
        self, files: Sequence[Instructions], own_text: str, model: ModelSpec, mode: Mode
    ) -> tuple[str, ...]:
        return self.system_prompt(files, model, mode, own_text)

    def _estimator(self, policy: str) -> Estimator:
        context = self.config[ContextSettings]
        return estimator(context.estimator_of(policy), [self.vocabularies], context.tiktoken)

    def _changes(self, journal: Journal) -> MakeChanges | None:
        """Return the factory of a session's checkpoints; None for a session without them."""
        if not isinstance(journal, Session) or not self.config[CheckpointLimits].seconds:
            return None
        interrupted = self.store.interrupted(journal)
        return lambda append: OnDemand(partial(self._changes_of, journal, append), lambda: interrupted)

    def _changes_of(self, session: Session, append: Callable[[Body], object]) -> Changes:
        from agentcli.sessions.checkpoints.changes import Changes

        checkpoints = self.store.checkpoints(
            session,
            self.first_roots,
            added=lambda: self.added,
            listing=covered,
            limits=self.config[CheckpointLimits],
            objection=self.workspace_policy.objection,
        )
        return Changes(session, checkpoints, append)


def _around(make: MakeHooks | None, around: Callable[[Hooks], Hooks]) -> MakeHooks:
    """Return what makes a session's hooks with another feature's around them."""

    def made(journal: Journal, setup: SessionSetup, mode: Callable[[], Mode], model: Callable[[], ModelSpec]) -> Hooks:
        return around(make(journal, setup, mode, model) if make is not None else Hooks())

    return made


def covered(base: Path, most: int) -> Iterable[tuple[str, Kind]]:
    """Return the files of a workspace that a checkpoint covers, and those that it omits."""
    from agentcli.tools.lib.gitignore import everything

    return everything(base, SKIPPED, most)
