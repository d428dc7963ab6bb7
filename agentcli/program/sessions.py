"""Sessions of a run: open, resume, fork and hand off, each with its model, mode and context policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcli import __version__
from agentcli.agent.hooks import Source
from agentcli.agent.parts import MakePart
from agentcli.agent.project.prompt_files import AgentKind
from agentcli.agent.report import lifetime
from agentcli.agent.request_builder import keeps_model
from agentcli.agent.session import AgentSession
from agentcli.agent.setup import SessionSetup, in_memory
from agentcli.context.settings import ContextSettings
from agentcli.core.errors import CredentialsError, InputError, ToolError, TrustError, UsageError
from agentcli.core.history import History
from agentcli.core.journal import Journal, Predecessor
from agentcli.core.message import Message, reminder
from agentcli.core.model import ModelSpec
from agentcli.core.record import MODES, Compaction, Mode, Settings
from agentcli.core.text.words import one_of
from agentcli.program.config.general import General
from agentcli.program.models import ModelSource, no_key
from agentcli.program.options import LAST
from agentcli.program.project import Project
from agentcli.sessions.info import Parent, SessionInfo, checked_id, info_to_json
from agentcli.sessions.project import about_gone_folders
from agentcli.sessions.session import Session
from agentcli.sessions.storage.records import Through
from agentcli.system import probe

if TYPE_CHECKING:
    from agentcli.context.compaction.handoff import Handoff


Reading = Callable[[int], Through]
"""Wraps a session's records while it is opened, given their number; for example to show progress."""

_MOVED = "This session now works in {now}. Before, it worked in {before}: its files there have the same names here."
_FOUND = 30
"""Largest number of sessions that are found by their contents."""


def unseen(total: int) -> Through:
    return iter


class Selection:
    """Model, mode and context policy of a session: this run's flags first, then the session's own, then the configured
    ones.
    """

    def __init__(self, project: Project, models: ModelSource) -> None:
        self._project = project
        self._models = models

    @cached_property
    def agent(self) -> AgentKind | None:
        """Return this run's agent definition (`--agent`). Raises UsageError for an unknown name."""
        name = self._project.options.agent
        if not name:
            return None
        from agentcli.agent.delegation.kinds import kind_named

        try:
            return kind_named(name, self._project.prompt_files.agents)
        except ToolError as error:
            raise UsageError(str(error)) from error

    def spec_for(self, history: History) -> ModelSpec:
        """Return the model with which a session would continue.

        Without any key, return the model that answered last: reports need no key.
        """
        try:
            name = self.model_for(history)[0]
        except CredentialsError:
            name = history.answered_by
            if not name:
                raise
        return self._models.now().spec(name)

    def model_for(self, history: History) -> tuple[str, str]:
        """Return the model with which a session would continue.

        The second value is the reason if that is not the session's own model, although no other was requested. A
        session never changes its provider only because a key is missing.
        """
        own = "" if self._project.options.model_name else history.model
        obstacle = self._models.now().obstacle(own) if own else None
        if obstacle is None or isinstance(obstacle, CredentialsError):
            return self._project.options.model_name or history.model or self.model_name(), ""
        other = self._models.now().spec(self.model_name()).name
        return (
            other,
            f"This session cannot continue with {own}. {obstacle} It continues with {other}; -m takes another.",
        )

    def model_name(self) -> str:
        """Return the model of a new session. Raises CredentialsError, with how to set a key, if none is configured.

        Raises TrustError if only the settings of an untrusted folder specify one.
        """
        models, agent = self._models.now(), self.agent
        default = models.default
        if agent and default and not keeps_model(agent.model, models.spec(default)):
            return models.spec(agent.model).name
        if default:
            return default
        if self._project.options.session == "" and (newest := self._project.store.newest(self._project.project)):
            return newest.model  # the person will pick a stored session, each with its own model
        if self._project.folder_config[General].model:
            raise TrustError(
                "No key is set. This folder's settings name a model, but the folder is not trusted. "
                "Check its .agentcli/config.toml, then start with --trust."
            )
        raise CredentialsError(no_key())

    def mode(self, own: str = "") -> Mode:
        """Return the mode of a new session, or of a session with its `own` mode.

        Raises UsageError for an unknown one.
        """
        return mode_named(self._project.options.mode or own or self._project.config[General].mode)

    @property
    def policy_asked(self) -> str:
        """The policy that this run requests with `--set`; empty if session and configuration decide."""
        config = self._project.config
        return config[ContextSettings].policy if config.origins.get("context.policy") == "--set" else ""

    def policy_of(self, history: History) -> str:
        """Return the policy with which a session would continue."""
        return self.policy_asked or history.policy or self._project.config[ContextSettings].policy


class SessionOpener:
    """Opens the sessions of a run, stored or in memory. `setup` makes a session's parts, given notes for the person."""

    def __init__(
        self,
        project: Project,
        selection: Selection,
        models: ModelSource,
        setup: Callable[[Sequence[str]], SessionSetup],
        features: Sequence[MakePart],
    ) -> None:
        self._project = project
        self._options = project.options
        self._selection = selection
        self._models = models
        self._setup, self._features = setup, features
        self.choosing = self._options.session == ""
        """True until the person has chosen the session that `agentcli resume` opens."""
        self.wanted = ""
        """The search words for choosing it, if they are not a session's name; empty otherwise."""

    def new(self, source: Source = "startup") -> AgentSession:
        """Start a new session in the current folder."""
        return self.session_for(self._fresh(), source=source)

    def begin(self, reading: Reading = unseen) -> AgentSession:
        """Open the session that the command line asks for."""
        match self._options.session:
            case None:
                return self.session_for(self._fresh(self._options.session_id))
            case selector:
                return self.resume(self.chosen(selector), reading)

    def begin_with_choice(self, reading: Reading = unseen) -> AgentSession:
        """Do the same at a terminal; open a new session if the person must choose one first."""
        selector = self._options.session
        self.wanted = selector if selector and selector != LAST and self._may_mean(selector) else ""
        if not self.wanted and selector != "":
            return self.begin(reading)
        if not self.wanted:
            self.chosen(LAST)  # there is one to choose
        self.choosing = True
        return self.new()

    def named(self, selector: str) -> AgentSession:
        """Open a session by id, unique prefix or name.

        A chosen session opens as the command line requests, for example as a copy. Raises InputError if it is unknown,
        and SessionBusy if it is open elsewhere.
        """
        info = self._project.store.find(selector, self._project.project)
        session = self.resume(info) if self.choosing else self.open(info)
        self.choosing = False
        return session

    def fork(self, session: AgentSession) -> AgentSession:
        """Open a copy of a session, independent of it from here on."""
        store = self._project.store
        return self.open(store.fork(store.find(session.journal.id)), "fork")

    def listed(self) -> Sequence[Mapping[str, Any]]:
        """Return `session.json` of this project's sessions, newest first; `place` is the folder of a session from elsewhere."""
        store = self._project.store
        project = store.project(self._project.cwd)  # another place may have got its first session meanwhile
        return [{**info_to_json(info), "place": str(project.elsewhere(info) or "")} for info in store.list(project)]

    def passages(self, words: str) -> Mapping[str, str]:
        """Return a passage of each session of this project that contains all the words, by the session's id."""
        from agentcli.sessions.search import search

        store = self._project.store
        found = search(store.root, words, store.project(self._project.cwd).ids, limit=_FOUND, hits=1)
        return {one.info.id: one.hits[0].text for one in found if one.hits}

    def _may_mean(self, words: str) -> bool:
        """Return True if these words are no session's name, or several sessions', but stored titles or contents contain
        them.
        """
        store, project = self._project.store, self._project.project
        try:
            store.find(words, project)
        except InputError:
            titles = (f"{info.name} {info.title}".lower() for info in store.list(project))
            return any(words.lower() in title for title in titles) or bool(self.passages(words))
        return False

    def chosen(self, selector: str) -> SessionInfo:
        """Return the session that `resume` specifies. Raises InputError if it is unknown."""
        if selector == LAST:
            newest = self._project.store.newest(self._project.project)
            if newest is None:
                hint = about_gone_folders(self._project.store.root)
                raise InputError(f"This project has no session yet. Start one with `agentcli`. {hint}".rstrip())
            return newest
        if not selector:
            raise InputError("Which session? Give an id, a unique prefix, or a name, or use --last.")
        return self._project.store.find(selector, self._project.project)

    def resume(self, info: SessionInfo, reading: Reading = unseen) -> AgentSession:
        """Continue a session, or a copy of it."""
        if self._options.fork and not self._options.no_session:
            return self.open(self._project.store.fork(info), "fork", reading)
        return self.open(info, reading=reading)

    def open(self, info: SessionInfo, source: Source = "resume", reading: Reading = unseen) -> AgentSession:
        """Open a session as it was left, or with `--no-session` a copy in memory. Raises SessionBusy if it is open elsewhere."""
        aloof = self._options.no_session
        session = self._project.store.open(info.project_id, info.id, aloof, reading(info.records))
        elsewhere = self._from_elsewhere(info)
        notes = (*elsewhere, *self._not_taken_over(session))
        opened = self.session_for(in_memory(session) if aloof else session, notes, source)
        if elsewhere:
            opened.conversation.pending.append(reminder(_MOVED.format(now=self._project.cwd, before=info.directory)))
        return opened

    def session_for(self, journal: Journal, notes: Sequence[str] = (), source: Source | None = None) -> AgentSession:
        """Prepare an open session for work, with its model and mode unless this run requests others.

        `notes` are shown to the person first, with the notes about the settings.
        """
        history = journal.history
        if history.account or self._models.accounts.now is not None:
            self._models.accounts().resume(history.account)
        name, why = self._selection.model_for(history)
        models = self._models.now()
        spec = models.spec(name)
        mode = self._selection.mode(history.mode)
        if history.model and (spec.name, mode) != (history.model, history.mode):
            journal.append(Settings(spec.name, mode, why=why))
        setup = self._setup([*notes, *filter(None, (why, self._lifetime(spec)))])
        return AgentSession(journal, setup, models.connect(spec.name), mode, source, self._features)

    def _lifetime(self, spec: ModelSpec) -> str:
        """Return the warning that a model is retired, or soon will be, once a day."""
        today = date.today().isoformat()
        ends = lifetime(spec, today)
        if not ends or self._options.no_session:
            return ends
        from agentcli.program.daily import FILE, first_today

        return ends if first_today(self._project.dirs.state / FILE, ends, today) else ""

    def hand_off(self, session: AgentSession, handoff: Handoff) -> AgentSession:
        """Start a new session that continues another with this handoff; `session` stays unchanged."""
        journal = session.journal
        if not isinstance(journal, Session) or self._options.no_session:
            fresh = in_memory(predecessor=Predecessor(journal, handoff.until))
            fresh.append(handoff.beginning)
            return self.session_for(fresh, source="clear")
        origin = Parent(journal.id, handoff.until, "handoff")
        stored = self._project.store.create(self._project.cwd, parent=origin, version=__version__)
        stored.append(handoff.beginning)
        return self.session_for(stored, source="clear")

    def past(self, selector: str, reading: Reading = unseen) -> Session:
        """Open a session read-only."""
        info = self.chosen(selector)
        return self._project.store.open(info.project_id, info.id, True, reading(info.records))

    def child(self, parent: Journal) -> Journal:
        """Create the session of a subagent; in memory if the parent is not stored."""
        if not isinstance(parent, Session):
            return in_memory()
        origin = Parent(parent.id, parent.history.last_seq, "subagent")
        return self._project.store.create(self._project.cwd, parent=origin, version=__version__)

    def reopen(self, parent: Journal, id: str) -> Journal | None:
        """Open the session of a former subagent of `parent`; None if unknown. Raises SessionBusy if it is open elsewhere."""
        if not isinstance(parent, Session):
            return None
        info = next((info for info in self._project.store.list(self._project.project) if info.id == id), None)
        if info is None or info.parent is None or (info.parent.session, info.parent.kind) != (parent.id, "subagent"):
            return None
        return self._project.store.open(info.project_id, info.id)

    def children(self, parent: Journal, since: int) -> Sequence[tuple[str, str]]:
        """Return the ids and first prompts of the subagents that a session has started since its record `since`, oldest
        first.
        """
        if not isinstance(parent, Session):
            return ()
        infos = sorted(self._project.store.list(self._project.project), key=lambda info: info.id)
        own = (info for info in infos if info.parent and _is_sent(info.parent, parent.id, since))
        opened = (self._project.store.open(info.project_id, info.id, read_only=True) for info in own)
        return [(session.id, _first_prompt(session)) for session in opened]

    def _fresh(self, session_id: str = "") -> Journal:
        if self._options.no_session:
            return in_memory(session_id=session_id and checked_id(session_id))
        return self._project.store.create(self._project.cwd, version=__version__, session_id=session_id)

    def _from_elsewhere(self, info: SessionInfo) -> Sequence[str]:
        """Return a notice of a session's folder, if it is not this project's."""
        if info.project_id == self._project.project.id and self._project.project.elsewhere(info) is None:
            return ()
        gone = "" if probe.is_dir(Path(info.directory)) else ", which is gone"
        return (f"This session was started in {info.directory}{gone}. It continues in {self._project.cwd}.",)

    def _not_taken_over(self, session: Session) -> Sequence[str]:
        """Return a notice of imported settings without effect, before an imported session first continues."""
        if not session.info.foreign or session.history.system:
            return ()
        model, mode = _said_elsewhere(session)
        options, configured = self._options, self._project.config[General]
        left = [
            *([f"the mode {mode} (--mode sets one)"] if mode and mode != (options.mode or configured.mode) else ()),
            *([f"the model {model} (-m sets one)"] if model and not options.model else ()),
            *(["its changes to files (/undo reaches back to here)"] if any(session.records_of("checkpoint")) else ()),
        ]
        return (
            (f"This session was imported, so only its text counts. Not taken over: {', '.join(left)}.",) if left else ()
        )


def _said_elsewhere(session: Session) -> tuple[str, str]:
    """Return the last model and mode in a session's imported records."""
    said = [
        record.body.carry if isinstance(record.body, Compaction) else record.body
        for kind in ("compaction", "settings")
        for record in session.records_of(kind)
        if record.seq <= session.info.foreign and isinstance(record.body, Compaction | Settings)
    ]
    models, modes = [each.model for each in said if each.model], [each.mode for each in said if each.mode]
    return models[-1] if models else "", modes[-1] if modes else ""


def _is_sent(origin: Parent, session: str, since: int) -> bool:
    """Return True if this is the origin of a subagent that a session has started since its record `since`."""
    return (origin.session, origin.kind) == (session, "subagent") and origin.seq >= since


def _first_prompt(session: Session) -> str:
    bodies = (record.body for record in session.records())
    first = next((body for body in bodies if isinstance(body, Message) and body.is_prompt), None)
    return first.text if first is not None else ""


def mode_named(name: str) -> Mode:
    """Return the permission mode of this name. Raises UsageError for an unknown one."""
    if name not in MODES:
        raise UsageError(f"Unknown mode {name!r}.{one_of(name, MODES)}")
    return name
