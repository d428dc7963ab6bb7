"""Session updates of the protocol for the events of a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from uuid import uuid4

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    Cost,
    CurrentModeUpdate,
    PlanEntry,
    SessionInfoUpdate,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallStatus,
    ToolCallUpdate,
    UsageUpdate,
    UserMessageChunk,
)

from agentcli.agent.ports import ApprovalRequest
from agentcli.agent.session import AgentSession
from agentcli.core.dataclass import dataclass
from agentcli.core.event import (
    CompactionEnded,
    Event,
    Noticed,
    Pruned,
    Recorded,
    ReplyRestarted,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolStarted,
    UsageReported,
    Waiting,
    Warned,
)
from agentcli.core.history import History
from agentcli.core.message import Message, Text, Thinking, ToolCall, ToolResult
from agentcli.core.record import Record, Title, TodoItem
from agentcli.core.sanitise import replace_surrogates
from agentcli.core.tool import Traits
from agentcli.frontends.acp.diffs import FileText, text_of, usable
from agentcli.frontends.acp.tool_calls import (
    Content,
    diff_content,
    fenced,
    kind_of,
    locations_of,
    path_of,
    proposed_content,
    raw_input,
    result_content,
    text_content,
    traits_of,
)

Update = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStart
    | ToolCallProgress
    | AgentPlanUpdate
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A session as far as its updates show it: open here, or in another program."""

    history: Callable[[], History]
    """Return the state in force now."""
    window: Callable[[], int]
    """Return the size of the model's window in tokens."""
    cwd: Path
    traits: Mapping[str, Traits]
    """The traits of each tool by its name."""
    edited: dict[Path, bytes]
    """Unsaved texts in the editor's buffers from which edits started."""


def shown(session: AgentSession) -> Shown:
    """Return what updates show of an open session."""
    traits = {tool.name: tool.traits for tool in session.core.setup.tools.offered}
    return Shown(
        lambda: session.history, lambda: session.core.model.window, session.cwd, traits, session.core.buffers.edited
    )


class Updates:
    """Updates of one session. It tracks which unfinished calls the editor knows, and which parts of a reply were streamed."""

    def __init__(self, session: Shown) -> None:
        self._session = session
        self._calls: dict[str, ToolCall] = {}
        self._started: set[str] = set()
        self._before: dict[str, FileText] = {}
        self._others = count(1)
        self._todo: Sequence[TodoItem] = ()
        self._new_reply()

    def of(self, event: Event) -> list[Update]:
        """Return the updates for an event; many events have none."""
        match event:
            case TextDelta(text) if text:
                self._said = True
                return [message_chunk(text, self._message)]
            case ThinkingDelta(text) if text:
                self._thought = True
                return [thought_chunk(text, self._thoughts)]
            case ReplyRestarted():
                self._new_reply()
                return []
            case ToolStarted(call, title):
                return [self._running(call, title)]
            case Recorded(record):
                return self._recorded(record)
            case UsageReported(kind="reply", context=used):
                cost = self._session.history().cost
                total = None if cost is None else Cost(amount=cost, currency="USD")
                size = self._session.window()
                return [UsageUpdate(session_update="usage_update", used=used, size=size, cost=total)]
            case _:
                return [thought_chunk(line)] if (line := notice_of(event)) else []

    def asking(self, request: ApprovalRequest) -> tuple[ToolCallStart | None, ToolCallUpdate]:
        """Return the start of the call that waits for the person, and the call as its question shows it.

        The start is None if the editor knows the call. A call of another session, such as a subagent's, gets its own
        id.
        """
        call = request.call
        own = call.call_id in self._calls
        call_id = call.call_id if own else f"{call.call_id}-asked-{next(self._others)}"
        traits = traits_of(call, self._session.traits)
        shown = ToolCallUpdate(
            tool_call_id=call_id,
            title=replace_surrogates(request.title),
            kind=kind_of(traits),
            status="pending",
            content=self._proposal(request),
            locations=locations_of(call, traits, self._session.cwd),
            raw_input=raw_input(call.input),
        )
        if call_id in self._started:
            return None, shown
        self._started.add(call_id)
        start = ToolCallStart(session_update="tool_call", **{**dict(shown), "title": replace_surrogates(request.title)})
        return start, shown

    def is_own(self, call_id: str) -> bool:
        """Return True for a call of this session without a result: its result will come as an event."""
        return call_id in self._calls

    def finished(self, result: ToolResult) -> list[Update]:
        """Return the end of a call, with its start if the editor does not know the call."""
        call = self._calls.pop(result.call_id, None) or ToolCall(result.call_id, result.name, {})
        traits = traits_of(call, self._session.traits)
        status: ToolCallStatus = "failed" if result.failed else "completed"
        content = result_content(result, kind_of(traits))
        before, path = self._before.pop(result.call_id, None), path_of(call, traits, self._session.cwd)
        if before is not None and path is not None and not result.failed:
            diff = diff_content(path, self._unsaved(path) or before, text_of(path))
            content = [diff] if diff else content
        if path is not None:
            self._session.edited.pop(path.resolve(), None)
        end = ToolCallProgress(
            session_update="tool_call_update",
            tool_call_id=result.call_id,
            status=status,
            title=replace_surrogates(result.title) or None,
            content=content or None,
        )
        told = result.call_id in self._started
        start = [] if told else [self._start(call, result.title or result.name, "pending")]
        self._started.discard(result.call_id)
        return [*start, end]

    def plan(self) -> list[Update]:
        """Return the todo list if it has changed: the tool that changes it records it itself."""
        todo = self._session.history().todo
        if todo == self._todo:
            return []
        self._todo = todo
        entries = [
            PlanEntry(content=replace_surrogates(item.content), priority="medium", status=item.status) for item in todo
        ]
        return [AgentPlanUpdate(session_update="plan", entries=entries)]

    def know(self, message: Message) -> None:
        """Record the calls of a reply."""
        self._calls |= {call.call_id: call for call in message.calls}
        self._started -= {call.call_id for call in message.calls}

    def _recorded(self, record: Record) -> list[Update]:
        match record.body:
            case Message(role="assistant") as message:
                self.know(message)
                unsent = unstreamed(message, thoughts=not self._thought, text=not self._said)
                self._new_reply()
                return unsent
            case ToolResult() as result:
                return [*self.finished(result), *self.plan()]
            case Title(title, name) if title or name:
                return [
                    SessionInfoUpdate(session_update="session_info_update", title=replace_surrogates(name or title))
                ]
            case _:
                return []

    def _new_reply(self) -> None:
        self._message, self._thoughts = new_id(), new_id()
        self._said = self._thought = False

    def _running(self, call: ToolCall, title: str) -> Update:
        self._calls[call.call_id] = call
        traits = traits_of(call, self._session.traits)
        path = path_of(call, traits, self._session.cwd)
        if traits.edits_files and path is not None:
            self._before[call.call_id] = text_of(path)
        if call.call_id not in self._started:
            return self._start(call, title, "in_progress")
        return ToolCallProgress(
            session_update="tool_call_update",
            tool_call_id=call.call_id,
            status="in_progress",
            title=replace_surrogates(title),
        )

    def _start(self, call: ToolCall, title: str, status: ToolCallStatus) -> ToolCallStart:
        self._started.add(call.call_id)
        traits = traits_of(call, self._session.traits)
        return ToolCallStart(
            session_update="tool_call",
            tool_call_id=call.call_id,
            title=replace_surrogates(title),
            kind=kind_of(traits),
            status=status,
            locations=locations_of(call, traits, self._session.cwd),
            raw_input=raw_input(call.input),
        )

    def _proposal(self, request: ApprovalRequest) -> list[Content]:
        why: list[Content] = [text_content(request.why)] if request.why else []
        call = request.call
        match request.kind:
            case "plan":
                return [text_content(request.preview), *why]
            case "diff":
                path = path_of(call, traits_of(call, self._session.traits), self._session.cwd)
                shown = proposed_content(path, self._unsaved(path) or text_of(path), request.preview) if path else None
                return [shown or text_content(fenced(request.preview, "diff")), *why]
            case "command":
                return [text_content(fenced(request.preview, "sh")), *why]
            case _:
                return [*([text_content(fenced(request.preview))] if request.preview else []), *why]

    def _unsaved(self, path: Path) -> FileText | None:
        """Return the unsaved text from which an edit started; None if the editor had saved the file."""
        content = self._session.edited.get(path.resolve())
        return None if content is None else usable(content.decode())


def unstreamed(message: Message, *, thoughts: bool = True, text: bool = True) -> list[Update]:
    """Return a reply's thoughts and text as whole chunks."""
    thinking = "\n\n".join(part.text for part in message.parts if isinstance(part, Thinking) and part.text)
    said = "".join(part.text for part in message.parts if isinstance(part, Text))
    updates: list[Update] = [thought_chunk(thinking)] if thoughts and thinking else []
    return [*updates, *([message_chunk(said)] if text and said else [])]


def notice_of(event: Event) -> str:
    """Return an event outside the answer as a line for the person; empty if there is nothing to report."""
    match event:
        case Warned(message) | Noticed(message):
            return message
        case Retrying():
            return event.text()
        case Waiting(delay, reason):
            return f"Waiting {delay:.0f} s: {reason}"
        case CompactionEnded(why=why):
            return why
        case Pruned(call_ids, tokens, why):
            return f"Cleared {len(call_ids)} old outputs ({tokens:,} tokens): {why}"
        case _:
            return ""


def message_chunk(text: str, message_id: str = "") -> AgentMessageChunk:
    """Return a piece of the answer; without an id it is a separate message."""
    block = TextContentBlock(type="text", text=replace_surrogates(text))
    return AgentMessageChunk(session_update="agent_message_chunk", content=block, message_id=message_id or new_id())


def thought_chunk(text: str, message_id: str = "") -> AgentThoughtChunk:
    """Return a piece of the reasoning, or a notice of the program; without an id it is a separate thought."""
    block = TextContentBlock(type="text", text=replace_surrogates(text))
    return AgentThoughtChunk(session_update="agent_thought_chunk", content=block, message_id=message_id or new_id())


def user_chunk(text: str) -> UserMessageChunk:
    """Return a message of the user."""
    block = TextContentBlock(type="text", text=replace_surrogates(text))
    return UserMessageChunk(session_update="user_message_chunk", content=block, message_id=new_id())


def new_id() -> str:
    """Return an id for a message."""
    return str(uuid4())
