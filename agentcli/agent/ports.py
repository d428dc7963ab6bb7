"""Values between the agent and a front end: prompts, approvals, questions, facts for the status line."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from agentcli.agent.project.prompt_files import PromptFiles, Skill, Template
from agentcli.core.dataclass import dataclass
from agentcli.core.event import Emit, TurnEnded
from agentcli.core.mcp_servers import CALL, SEARCH, KeepFile, not_connected, server_of
from agentcli.core.message import Part, ToolCall
from agentcli.core.model import ToolSchema
from agentcli.core.tool import Question, Tool, Traits
from agentcli.permissions.rules import Rules

Interruptible = Callable[[asyncio.Event, Emit], Awaitable[object]]
"""Long work that has not begun: call it with the event that interrupts it, and the reader of its events."""

RunTurn = Callable[[asyncio.Event, Emit], Awaitable[TurnEnded]]
"""A turn that has not begun. Its end is its last event, and the only TurnEnded."""


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A question about a call that only a person may allow."""

    call: ToolCall
    title: str
    why: str
    """The reason, with a line for each command of a longer line."""
    preview: str
    """The whole command, a unified diff, or the whole input."""
    kind: Literal["command", "diff", "input", "plan"] = "input"
    always: str = ""
    """The exact rule that the choice "always" would save; empty if no rule may be saved."""
    unsaved: str = ""
    """The reason why no rule may be saved."""
    prefixes: tuple[str, ...] = ()
    """Wider rules that the choice "prefix" would save, one for each program of the command: `bash(npm run *)`."""
    programs: tuple[str, ...] = ()
    """Rules about whole programs that the choice "programs" would save, `bash(npm *)`, or about all changes elsewhere."""
    boxes: str = ""
    """The rule for every command that the sandbox contains, saved with `prefix`. Empty if this call would still ask."""
    folders: tuple[Path, ...] = ()
    """Folders that the choice "folder" would add to the workspace of this session."""
    session: str = ""
    """The exact rule that the choice "session" would add; empty if the question is asked each time."""
    grants: tuple[str, ...] = ()
    """Rules that the choice "session" would add instead, about a host, a push or reading: `network(HOST)`."""
    lasting: bool = False
    """True if the first answer is about the session: calls like this one would then run unasked."""
    edits: bool = False
    """True if the choice "session" allows all edits in the workspace by switching to mode auto-edit."""
    others: tuple[ApprovalRequest, ...] = ()
    """Later calls of the same reply that will be asked about as well, in order."""
    revise: Callable[[Mapping[str, Any]], Awaitable[ApprovalRequest]] | None = None
    """Builds the request for the call with another input, if it may be changed. Raises ToolError if the input is invalid."""


@dataclass(frozen=True, slots=True)
class ApprovalResponse:
    """A person's decision about a call.

    `once`, `session` and `always` (in this project) are about the call as it is. `prefix` and `programs` are about others
    like it, too. `folder` allows it once and adds its folders to the workspace. With a `no`, `reason` goes to the model. `compact`
    approves a plan like `session`, and compacts the conversation before the plan is carried out.

    `all` allows this call once and all `others` of the question as shown. `input` replaces the call's input if the
    person edited the proposal.
    """

    choice: Literal["once", "session", "always", "prefix", "programs", "folder", "all", "compact", "no"]
    reason: str = ""
    input: Mapping[str, Any] | None = None
    rules: tuple[str, ...] = ()
    """With `prefix` or `programs`, the rules to save instead of the offered ones; the person may have edited them."""
    everywhere: bool = False
    """True to save the rules for every project, not only for this one."""


Approve = Callable[[ApprovalRequest], Awaitable[ApprovalResponse | None]]
"""Ask a person about one call. None if nobody can answer: the call is denied and listed."""

AskUser = Callable[[Sequence[Question]], Awaitable[Sequence[str] | None]]
"""Ask the user the model's questions.

Return the answers in order, an empty sequence if the user declines, None if no user can answer.
"""


class TextEditor(Protocol):
    """A person's editor, whose buffers may be newer than the files on disk. Paths are resolved."""

    @property
    def saves(self) -> bool:
        """True if it can be asked to save a file."""
        ...

    async def text(self, path: Path) -> str | None:
        """Return the text of a file with its unsaved changes; None if the editor does not provide it."""
        ...

    async def save(self, path: Path, text: str) -> bool:
        """Put a text into a file and save it; return False if that failed."""
        ...


@dataclass(frozen=True, slots=True)
class TurnGrants:
    """Changes by a skill or slash command for one turn: permission rules, the model, its effort."""

    rules: Rules = Rules()
    model: str = ""
    effort: str = ""

    def __add__(self, other: TurnGrants) -> TurnGrants:
        """Return both together; the first model and effort hold."""
        return TurnGrants(self.rules + other.rules, self.model or other.model, self.effort or other.effort)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A message of the user."""

    text: str
    """The typed text, for titles and history."""
    parts: tuple[Part, ...] = ()
    """Text and attachments in the order to send."""
    typed: bool = True
    """False if no person wrote it: then nothing in it is a slash command."""
    grants: TurnGrants = TurnGrants()
    own: str | None = None
    """The person's part of a longer text; None for all of it."""
    again: bool = False
    """True if the previous turn failed and the request is sent once more. The prompt is recorded only if the history
    ends with a reply.
    """


AGAIN = Prompt("Continue.", typed=False, again=True)
"""The prompt that sends the last request of a failed turn once more."""


class PromptSource(ABC):
    """Port to prompts and resources of servers, which a person's prompt may mention."""

    @abstractmethod
    def named(self, text: str) -> bool:
        """Return True if a prompt begins with `/name` of a server's prompt."""

    @abstractmethod
    async def attached(self, prompt: Prompt, keep: KeepFile, check: Callable[[str], None]) -> Prompt:
        """Return the prompt, preceded by every resource that it mentions as `@server:uri`.

        Raises InputError for an unreadable resource, and the errors of `check` for an address.
        """

    @abstractmethod
    async def expanded(self, prompt: Prompt, keep: KeepFile) -> Prompt:
        """Return the prompt with a server's texts if it begins with a server's prompt; else unchanged.

        Raises InputError.
        """


class SessionPromptFiles:
    """Skills, slash commands and kinds of agents that files define for a session. Here are none."""

    @property
    def found(self) -> PromptFiles:
        """The files found by the last search."""
        return PromptFiles()

    def entry(self, name: str) -> Skill | Template | None:
        """Return the skill or command that the person means by `/name`."""
        return None

    def mentioned(self, text: str) -> Sequence[Skill | Template]:
        """Return the skills, and the commands of files, that a text mentions as `$skill` or `/name` anywhere, in order."""
        return ()

    def is_entry(self, text: str) -> bool:
        """Return True if a prompt begins with `/name` of a skill, a command, or a server's prompt."""
        return False

    async def expanded(self, prompt: Prompt) -> Prompt:
        """Return the prompt with the texts of all commands, skills and servers' prompts in it.

        Raises InputError if a text is unreadable, or contains a command that may not run.
        """
        return prompt

    async def with_skills(self, names: Sequence[str], prompt: Prompt) -> Prompt:
        """Return the prompt with the bodies of these skills before it; skip unknown names."""
        return prompt


_NOT_CONFIGURED = "No MCP servers are configured here, so there is no tool {}."


class FoundTools:
    """Tools of servers, which a session finds over time. Here are no servers."""

    def __init__(self, traits: dict[str, Traits]) -> None:
        """`traits` holds the traits of all tools. A tool that is found adds its own."""
        self.traits, self.found = traits, dict[str, Tool]()

    @property
    def names(self) -> Sequence[str]:
        """The names of all tools of servers."""
        return ()

    async def find(self, name: str) -> Tool | str:
        """Return the tool of that name, waiting while its server connects; or why there is none."""
        if name == SEARCH:
            return _NOT_CONFIGURED.format(name)
        return not_connected(server_of(name), "it is not configured here")

    async def no_server_tool(self, given: Mapping[str, Any]) -> str:
        """Return why a call of the gate means no tool."""
        return _NOT_CONFIGURED.format(CALL)

    def upfront(self) -> Sequence[ToolSchema]:
        """Return the tools that the model sees from the start."""
        return ()


@dataclass(frozen=True, slots=True)
class StatusFacts:
    """Facts for the status line about a session, its window aside."""

    sandbox: str = ""
    """State of the sandbox, one word."""
    prunes: int = 0
    """Tokens in the window from which it is pruned; 0 if it is never pruned by itself."""
    hit_rate: float | None = None
    """Share of all input that came from the cache, 0 to 1; None before the first request."""
    budget: float | None = None
    """Share used of the budget that is used most; None if none is set."""
    jobs: int = 0
    """Number of jobs in the background."""
    early: int = 0
    """Tokens in the window from which it is compacted if that pays; 0 for never."""
    compacts: int = 0
    """Tokens in the window from which it is compacted before a prompt is answered; 0 for never."""
    compacts_in_turn: int = 0
    """Tokens in the window from which it is also compacted between two steps of a turn; 0 for never."""
    folder: str = ""
    """The folder in which commands start; empty for the session's own."""

    @property
    def sandboxed(self) -> bool:
        """True if commands can run in a sandbox here, so that mode auto asks less."""
        return self.sandbox not in ("", "no sandbox")


@dataclass(frozen=True, slots=True)
class WindowUsage:
    """Usage of the context window in tokens: the size of the next request, and its maximum size."""

    used: int
    usable: int
