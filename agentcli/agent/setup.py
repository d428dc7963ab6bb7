"""Setup of a session by the composition root, and the settings that it records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcli.agent.checkpointing import Checkpointer, MakeChanges
from agentcli.agent.hooks import Hooks, Subagent
from agentcli.agent.ports import Approve, AskUser
from agentcli.agent.project.prompt_files import PromptFiles
from agentcli.agent.settings import AgentSettings
from agentcli.agent.spending import RunLimits, Spent
from agentcli.context.settings import BudgetSettings, ContextSettings
from agentcli.context.tokens.estimators import Estimator
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import UsageError
from agentcli.core.journal import Journal, Predecessor
from agentcli.core.mcp_servers import Servers
from agentcli.core.model import Model, ModelSpec, ToolSchema, offers
from agentcli.core.on_demand import OnDemand
from agentcli.core.record import Mode, Settings
from agentcli.core.tool import NO_SANDBOX, Boxed, CommandSandbox, RunTool, Tool, ToolLimits, Traits, Wrap
from agentcli.permissions.denied.files import Hidden
from agentcli.permissions.paths import Exposed, Workspace
from agentcli.permissions.rules import Rule, Rules
from agentcli.tools.jobs import Jobs

if TYPE_CHECKING:
    from agentcli.agent.buffers import EditorFiles
    from agentcli.agent.timed_rules import RunRules, TimedRules
    from agentcli.permissions.network.hosts import DeniedHost, KeptHost
    from agentcli.providers.accounts import Accounts
    from agentcli.sessions.in_memory import MemorySession
    from agentcli.system.worktrees import Worktree

INSTRUCTIONS = "# Instructions of the user and the project"
"""First line of the system prompt's block of instruction files."""
WHERE = "# Where you work"
"""First line of a system prompt's block with its folder, as `Folder: …`."""
RUN_LOCK = "run lock"
"""Feature name of the record with the session's lock."""


@dataclass(frozen=True, slots=True)
class Sandboxes:
    """Sandboxes of commands in one mode."""

    decided: CommandSandbox = NO_SANDBOX
    """For any command that the other fields do not cover."""
    reader: Wrap | None = None
    """For a command that is allowed because it only reads."""
    recorder: CommandSandbox = NO_SANDBOX
    """For a command with which git records something, without a question."""
    permitted: CommandSandbox | None = None
    """For a command that a rule or a person allowed; None if it is `decided`."""
    own: Callable[[Sequence[str], bool], Boxed] | None = None
    """Sandbox of programs in the user's settings that load code of the folder, such as linters.

    The second argument is true if the program may write there.
    """


@dataclass(frozen=True, slots=True)
class StandingInstructions:
    """Instruction files in force: each with its size in tokens, their text as in the system prompt, and notes."""

    files: Sequence[tuple[Path, int]] = ()
    text: str = ""
    notes: Sequence[str] = ()
    """Files that were not imported, each with the reason."""
    imported: Mapping[Path, Path] = field(default_factory=dict)
    """The files that another one imports, each with that one."""


def _no_accounts() -> Accounts:
    raise UsageError("This session has no accounts.")


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """The models that a session can reach."""

    connect: Callable[[str], Model]
    summariser: Callable[[ModelSpec], Model]
    estimator: Callable[[str], Estimator]
    """The token estimator for the policy of that name."""
    defers: Callable[[ModelSpec], bool] = lambda _: False
    """True for a model that loads servers' tools found by a search as its own."""
    spec: Callable[[str], ModelSpec | None] = lambda _: None
    """Spec of a model by name, without connecting; None for an unknown name."""
    accounts: OnDemand[Accounts] = field(default_factory=lambda: OnDemand(_no_accounts))
    """The accounts of the run, shared with its subagents."""


@dataclass(frozen=True, slots=True)
class Toolset:
    """Tools of a session: `offered` to the model, and run by `run`."""

    offered: Sequence[Tool]
    traits: Mapping[str, Traits]
    """Traits of all existing tools, including those that sessions do not have."""
    run: RunTool
    brought: Sequence[Tool] = ()
    """Tools of an embedding program: a resumed session gets their current version."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """The system prompts and instructions of a session."""

    system: Callable[[ModelSpec, Mode], tuple[str, ...]]
    """System prompt of a session that begins now, with this model and in this mode."""
    lasting: Callable[[ModelSpec, Mode], tuple[str, ...]] = lambda *_: ()
    """The same without facts about the folder and the moment."""
    system_of: Callable[[str, ModelSpec, Mode], tuple[str, ...]] = lambda text, *_: (text,)
    """System prompt of a session whose definition has its own text."""
    reread: Callable[[], StandingInstructions] = lambda: StandingInstructions()
    """Reads the instruction files as they are now."""
    restated: bool = False
    """True if this run requests its own system prompt, whatever the session has recorded."""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """The settings of a session, by theme."""

    context: ContextSettings
    budget: BudgetSettings
    agent: AgentSettings
    limits: ToolLimits


@dataclass(frozen=True, slots=True)
class Permissions:
    """Initial permissions of a session, and the files for saving further ones."""

    rules: Rules
    save_rules: Callable[[Sequence[Rule]], None]
    """Saves allow rules for the project."""
    save_everywhere: Callable[[Sequence[str]], None] = lambda _: None
    """Saves allow rules for every project."""
    answered: Callable[[Sequence[Rule], bool], None] = lambda *_: None
    """Tells the sandbox which rules of the session a person has added (True) or dropped (False)."""
    add_folder: Callable[[Path], None] = lambda _: None
    """Adds a folder to the workspace, of which `Workspace.added` then tells."""
    add_work_tree: Callable[[Path], None] = lambda _: None
    """Adds a work tree that the session has made to `Workspace.made`, and to the workspace if it lies outside."""
    timed: OnDemand[TimedRules] | None = None
    """Timed rules of the parent session; None for a session with its own."""
    run: RunRules | None = None
    """The timed rules of this run's flags."""
    trusted: bool = False
    """True if the user trusts the folder: calls that touch subfolders bring their instruction files."""
    sandboxes: Callable[[Mode, Hidden, bool, Exposed], Sandboxes] = lambda *_: Sandboxes()
    """Sandboxes of commands in a mode, with the paths hidden from them.

    The third argument is true for a command that must not run outside. The last is what it sees outside the workspace.
    """
    sandbox: str = ""
    """State of the sandbox, one word for the status line."""
    kept_hosts: Callable[[], Sequence[KeptHost]] = tuple
    """Returns the rules with which the person has let hosts through since the last call."""
    denied_hosts: Callable[[], Sequence[DeniedHost]] = tuple
    """Returns the hosts that were denied since the last call, each once in a run. Hosts that the person refused are left out."""


@dataclass(frozen=True, slots=True)
class Person:
    """The person who is asked."""

    approve: Approve
    ask: AskUser
    attended: bool = True
    """False if no person can allow a call."""
    editor: EditorFiles | None = None
    """The editor that runs the session, if its buffers are readable."""


def in_memory(
    past: Journal | None = None, *, predecessor: Predecessor | None = None, session_id: str = ""
) -> MemorySession:
    """Make a session that is kept only in memory: see MemorySession."""
    # Most runs need none.
    from agentcli.sessions.in_memory import MemorySession

    return MemorySession(past, predecessor=predecessor, session_id=session_id)


def no_worktree(_: str) -> Worktree:
    """Raise NoWorktree: for sessions that have no place for one."""
    from agentcli.system.worktrees import NoWorktree

    raise NoWorktree("this session has no place for one")


Children = Callable[[Journal, int], Sequence[tuple[str, str]]]
"""Ids of the subagents that a session has started since its record with this number, oldest first.

Each comes with its first prompt.
"""


@dataclass(frozen=True, slots=True)
class SubagentSetup:
    """The sessions and worktrees of subagents."""

    child: Callable[[Journal], Journal] = lambda _: in_memory()
    """Creates the session of a subagent."""
    reopen: Callable[[Journal, str], Journal | None] = lambda *_: None
    """Opens a former subagent's session by its id, to continue it; None if the id is unknown."""
    children: Children = lambda _, since: ()
    """The subagents that a session has started since one of its records."""
    worktree: Callable[[str], Worktree] = no_worktree
    """Makes a worktree for a subagent, by its call's id. Raises NoWorktree."""
    former_worktree: Callable[[Path], Worktree | None] = lambda _: None
    """Finds a former subagent's worktree by its folder; None if it was removed."""


@dataclass(frozen=True, slots=True)
class Parent:
    """Parts that a subagent inherits from its parent session; empty for any other session."""

    depth: int = 0
    """Level of this session: 0, or for a subagent the number of sessions above it."""
    identity: Subagent | None = None
    """The identity that hooks get, for a subagent."""
    above: Callable[[], tuple[Spent, Spent]] | None = None
    """Spending of the parent's session and task."""
    session: str = ""
    """The id of the parent's session."""
    agent: str = ""
    """The name of the subagent's definition."""
    checkpointer: Checkpointer | None = None
    """The parent's checkpointer: a subagent's changes are undone in the parent's session."""
    looks: bool = False
    """True for a subagent whose commands may only read."""
    told: set[str] = field(default_factory=set, compare=False)
    """Warnings that the person got from the sessions above; each session adds its own."""


@dataclass(frozen=True, slots=True)
class RunSetup:
    """Options of this run of the program for a session."""

    policy: str = ""
    """The requested policy, whatever the session has recorded."""
    limits: Callable[[], RunLimits] = RunLimits
    one_turn: bool = False
    """True if the first turn is the last: it waits for its background subagents.

    No later turn could collect their reports.
    """
    notes: Sequence[str] = ()
    """Notes for the person about the settings."""
    strict: bool = False
    lock: Mapping[str, Any] | None = None
    """The lock that it is held to; see `agentcli.agent.run_lock`."""


@dataclass(frozen=True, slots=True)
class SessionSetup:
    """Dependencies and settings of a session, from the composition root."""

    models: ModelAccess
    tools: Toolset
    prompts: Prompts
    settings: SessionSettings
    permissions: Permissions
    person: Person
    workspace: Workspace
    subagents: SubagentSetup = field(default_factory=SubagentSetup)
    parent: Parent = field(default_factory=Parent)
    run: RunSetup = field(default_factory=RunSetup)
    hooks: MakeHooks | None = None
    """Makes a session's hooks from settings and files; None if there are none."""
    prompt_files: Callable[[], PromptFiles] = PromptFiles
    """Current skills, slash commands and kinds of agents."""
    servers: Servers | None = None
    """MCP servers of the run; None if none is configured."""
    jobs: Callable[[], Jobs] = Jobs
    changes: Callable[[Journal], MakeChanges | None] = lambda _: None
    today: Callable[[], date] = date.today

    @property
    def alone(self) -> bool:
        """True if nobody can continue a finished turn.

        That is so in a subagent, in a run of one turn, and without a person.
        """
        return bool(self.parent.depth) or self.run.one_turn or not self.person.attended


MakeHooks = Callable[[Journal, SessionSetup, Callable[[], Mode], Callable[[], ModelSpec]], Hooks]
"""Makes the hooks of a session with this journal and setup; the functions return its mode and its model."""


def beginning(
    setup: SessionSetup, model: ModelSpec, mode: Mode, more: Sequence[ToolSchema] = (), lasting: bool = False
) -> Settings:
    """Return the settings recorded just before a session's first request.

    Its system prompt and tools stay the same from then on. `more` are further tools that it sees from the start,
    such as those of servers.

    A small window gets fewer tools and a shorter prompt. Both stay even if the window shrinks later. It may shrink
    because of another model. A server may also report a loaded model's window only with its first reply.

    An unattended run gets no tool that waits for a person. With `lasting`, the prompt has no facts about the folder,
    which take time.
    """
    offered = (
        tool.schema
        for tool in _fitting(setup, model)
        if (setup.person.attended or not tool.traits.behaviour.needs_person) and not tool.traits.behaviour.announced
    )
    raw = tuple(tool.raw for tool in (*offered, *more))
    accounts = setup.models.accounts.now
    system = (setup.prompts.lasting if lasting else setup.prompts.system)(model, mode)
    return Settings(
        model.name,
        mode,
        setup.settings.context.policy,
        system,
        raw,
        account=accounts.current if accounts is not None else "",
    )


def _fitting(setup: SessionSetup, model: ModelSpec) -> Sequence[Tool]:
    return fitting(setup.tools.offered, model, setup.settings.agent)


def fitting(tools: Sequence[Tool], model: ModelSpec, settings: AgentSettings) -> Sequence[Tool]:
    """Return the tools for a session with this model: its family's, as many as its window can afford.

    A tool that calls others is not among them: see `SessionPart.upfront`.
    """
    small, names = settings.is_small(model.window), frozenset(tool.name for tool in tools)
    return [
        tool
        for tool in tools
        if offers(model.family, tool.name, names, freely=model.writes_freely)
        and not (small and tool.traits.behaviour.dispensable)
        and not tool.traits.behaviour.calls_tools
    ]


def changed_beginning(setup: SessionSetup, journal: Journal, model: ModelSpec, mode: Mode) -> list[Settings]:
    """Return the settings to record when a session with a beginning is resumed."""
    history = journal.history
    if not history.system:
        return []
    asked = setup.run.policy if setup.run.policy != history.policy else ""
    system = _restated(setup, history.system, model, mode)
    now = _with_brought(setup.tools.brought, (*history.tools, *_for_person(setup, model, history.tools)))
    tools = () if now == tuple(history.tools) else now
    return [Settings(policy=asked, system=system, tools=tools)] if asked or system or tools else []


def _for_person(
    setup: SessionSetup, model: ModelSpec, recorded: Sequence[Mapping[str, Any]]
) -> Sequence[Mapping[str, Any]]:
    """Return the tools that wait for a person, if a session that began without a person has one now."""
    waiting = [tool for tool in _fitting(setup, model) if tool.traits.behaviour.needs_person]
    had = {tool.name for tool in waiting} & {raw["name"] for raw in recorded}
    return [tool.schema.raw for tool in waiting] if setup.person.attended and not had else []


def _with_brought(brought: Sequence[Tool], recorded: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Return the recorded tools, with an embedding program's current tools replacing former ones of the same names."""
    names = {tool.name for tool in brought}
    return (*(raw for raw in recorded if raw["name"] not in names), *(tool.schema.raw for tool in brought))


def _restated(setup: SessionSetup, recorded: tuple[str, ...], model: ModelSpec, mode: Mode) -> tuple[str, ...]:
    """Return the system prompt that replaces the recorded one, if this run requests it or works in another folder."""
    here = any(block.startswith(WHERE) and f"\nFolder: {setup.workspace.cwd}\n" in block for block in recorded)
    if here and not setup.prompts.restated:
        return ()
    fresh = setup.prompts.system(model, mode)
    return fresh if fresh != recorded else ()
