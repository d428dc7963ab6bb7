"""The features of a session, in one list: what each adds to its calls, prompts and notices."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from itertools import chain

from agentcli.agent.approval import no_hooks
from agentcli.agent.calls.approval import ApprovalStage
from agentcli.agent.calls.buffers import BufferStage
from agentcli.agent.calls.call import Stage
from agentcli.agent.calls.checkpoint import CheckpointStage
from agentcli.agent.calls.finish import Finish
from agentcli.agent.calls.hooks import HookStage
from agentcli.agent.calls.nested_instructions import NestedStage
from agentcli.agent.calls.prepare import Prepare
from agentcli.agent.calls.sandbox import SandboxStage
from agentcli.agent.calls.stages import CallStages
from agentcli.agent.core import SessionCore
from agentcli.agent.delegation.subagents import OpenChild, Subagents
from agentcli.agent.nested_instructions import NestedSkills, nested_of
from agentcli.agent.page_questions import PageReader
from agentcli.agent.plan_mode import PlanMode
from agentcli.agent.setup import Standing
from agentcli.core.dataclass import dataclass
from agentcli.core.event import Event
from agentcli.extensions.catalogue import Catalogue
from agentcli.extensions.session import SessionExtensions
from agentcli.mcp.loading_stage import LoadingStage
from agentcli.mcp.server_tools import ServerTools
from agentcli.tools.exit_plan import Planning
from agentcli.tools.skill import Skills
from agentcli.tools.task import Delegates
from agentcli.tools.web_fetch import Reader


async def no_fact() -> str:
    """Return no reminder."""
    return ""


@dataclass(frozen=True, slots=True)
class Feature:
    """Parts that a package adds to a session; everything but the name may be empty."""

    name: str
    stages: Sequence[Stage] = ()
    """Stages that its calls pass."""
    fact: Callable[[], Awaitable[str]] = no_fact
    """A reminder for the model, which is said again with a prompt once the view no longer says it."""
    listing: Callable[[], str] = str
    """A reminder for the model that is given once."""
    news: Callable[[], Sequence[str]] = tuple
    """Events outside of the conversation since the last call, for the model."""
    notices: Callable[[], Iterable[Event]] = tuple
    """Notices for the person before a turn."""
    closed: Callable[[], None] = lambda: None
    """Stops the feature's processes and tasks when the session is closed."""


class Features:
    """The features of one session. Stages, reminders and notices come in the order of `all`."""

    def __init__(self, core: SessionCore, open_child: OpenChild) -> None:
        setup, journal, traits = core.setup, core.journal, core.traits
        estimator = partial(setup.models.estimator, setup.settings.context.policy)
        self.servers = ServerTools(setup.servers, traits, estimator)
        self.instructions = Standing(setup, journal)
        self.nested = nested_of(core)
        roots = setup.workspace.resolved_roots if setup.permissions.trusted else ()
        skills = NestedSkills(journal, setup.workspace.cwd, roots)
        prepare = Prepare({tool.name: tool for tool in setup.tools.offered}, self.servers, setup.workspace.cwd)
        finish = Finish(core.record, core.approval.repeats, prepare)
        hooks = HookStage(core.hooks, core.printed, setup.person.attended) if core.hooks.hooks else None
        ask_hooks = hooks.request if hooks is not None else no_hooks
        nested = [NestedStage(self.nested, skills, prepare)] if self.nested is not None else []
        with_stages = [
            Feature("tools", (prepare,)),
            Feature("jobs", news=core.jobs.news, closed=core.jobs.abandon),
            Feature("hooks", [hooks] if hooks is not None else (), closed=core.hooks.close),
            Feature("approval", (ApprovalStage(core.approval, prepare, ask_hooks),)),
            Feature("instructions", nested, fact=self.instructions.changed),
            Feature("results", (finish,)),
            Feature(
                "mcp",
                [LoadingStage(setup, self.servers, core.builder)] if setup.servers is not None else (),
                listing=partial(self.servers.catalogue_for, core),
                news=self.servers.changes,
                notices=self.servers.warnings,
            ),
            Feature("sandbox", (SandboxStage(setup, core.approval),)),
            Feature("buffers", [BufferStage(core.buffers)] if setup.person.editor is not None else ()),
            Feature("checkpoints", [CheckpointStage(core.checkpointer)] if core.checkpointer is not None else ()),
        ]
        self.stages = CallStages(core, prepare, finish, [*chain.from_iterable(one.stages for one in with_stages)])
        catalogue = Catalogue(core, skills)
        self.subagents = Subagents(core, catalogue, open_child)
        self.extensions = SessionExtensions(core, catalogue, self.stages, self.subagents)
        self.all: Sequence[Feature] = [
            *with_stages,
            Feature("skills and commands", fact=catalogue.refresh, news=catalogue.touched),
            Feature("subagents", fact=self.subagents.interrupted, notices=self.subagents.notices),
        ]
        core.ctx.offer(Delegates, self.subagents)
        core.ctx.offer(Planning, PlanMode(core))
        core.ctx.offer(Reader, PageReader(core))
        core.ctx.offer(Skills, self.extensions)

    async def facts(self) -> Sequence[str]:
        """Return the reminders that are due as long as the view does not have them."""
        return [await one.fact() for one in self.all]

    def listings(self) -> str:
        """Return the lists that the model is given once."""
        return "\n".join(filter(None, [one.listing() for one in self.all]))

    def news(self) -> Sequence[str]:
        """Return notices for the model of events outside of the conversation."""
        return [line for one in self.all for line in one.news()]

    def notices(self) -> Iterable[Event]:
        """Return notices for the person before a turn."""
        return chain.from_iterable(one.notices() for one in self.all)

    def close(self) -> None:
        """End what features have running."""
        for one in self.all:
            one.closed()
