"""Events of a run for other programs: one table for the lines of `stream-json` and for the Python API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

from agentcli.core.codec.encode import usage_to_json
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError
from agentcli.core.message import Role, Status, Usage
from agentcli.core.record import CompactionStatus, Trigger
from agentcli.frontends.run.findings import Finding

SCHEMA_VERSION = 1

Json = dict[str, Any]


def now() -> str:
    """Return the time in the format of events: ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class RunEvent:
    """An event of a run. `type` is its kind in JSON; every other field keeps its name there."""

    type: ClassVar[str] = ""
    timestamp: str = field(default_factory=now, kw_only=True, compare=False)
    """ISO 8601 in UTC."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """An MCP server of the run and the state of its connection."""

    name: str
    status: str


@dataclass(frozen=True, slots=True)
class InitEvent(RunEvent):
    """The run begins."""

    type: ClassVar[str] = "init"
    schema_version: int
    session_id: str
    model: str
    cwd: str
    mode: str
    tools: tuple[str, ...]
    mcp_servers: tuple[ServerStatus, ...]
    sandbox: str
    """The sandbox of commands: `bubblewrap`, `landlock`, `seatbelt` or `no sandbox`."""


@dataclass(frozen=True, slots=True)
class MessageEvent(RunEvent):
    """Text of the user or the model; with `delta` a piece of a message that follows whole."""

    type: ClassVar[str] = "message"
    role: Role
    text: str
    delta: bool = field(default=False, metadata={"optional": True})


@dataclass(frozen=True, slots=True)
class ThinkingEvent(RunEvent):
    """Reasoning of the model; with `delta` a piece of a thought that follows whole."""

    type: ClassVar[str] = "thinking"
    text: str
    delta: bool = False


@dataclass(frozen=True, slots=True)
class ToolCallEvent(RunEvent):
    """A call that the model makes."""

    type: ClassVar[str] = "tool_call"
    id: str
    name: str
    input: Mapping[str, Any]
    within: str = field(default="", metadata={"optional": True})
    """Id of the call of `script` that makes it."""


@dataclass(frozen=True, slots=True)
class ToolResultEvent(RunEvent):
    """The one answer to a call."""

    type: ClassVar[str] = "tool_result"
    id: str
    name: str
    status: Status
    output: str
    truncated: bool = False
    within: str = field(default="", metadata={"optional": True})
    """Id of the call of `script` that made its call."""


@dataclass(frozen=True, slots=True)
class PermissionEvent(RunEvent):
    """The decision on a call, with the rule that made it."""

    type: ClassVar[str] = "permission"
    id: str
    name: str
    decision: Literal["allow", "deny", "ask"]
    rule: str
    why: str = ""
    host: str = field(default="", metadata={"optional": True})
    """For a decision about the network: the host that the call's command may not reach."""


@dataclass(frozen=True, slots=True)
class UsageEvent(RunEvent):
    """Tokens of one request. `cost` is in USD, None if prices are unknown; `context` the tokens in the window."""

    type: ClassVar[str] = "usage"
    input: int
    output: int
    reasoning: int
    cache_read: int
    cache_write: int
    cost: float | None
    context: int
    kind: str = "reply"


@dataclass(frozen=True, slots=True)
class PruneEvent(RunEvent):
    """Old outputs of the calls `cleared` were removed from the window."""

    type: ClassVar[str] = "prune"
    cleared: tuple[str, ...]
    tokens: int
    why: str


@dataclass(frozen=True, slots=True)
class CompactionEvent(RunEvent):
    """The conversation was summarised, or would not be."""

    type: ClassVar[str] = "compaction"
    trigger: Trigger
    status: CompactionStatus
    policy: str
    tokens_before: int
    tokens_after: int
    why: str


@dataclass(frozen=True, slots=True)
class RetryEvent(RunEvent):
    """A request failed and is made again in `delay` seconds.

    With attempt 0, the request has not failed: it waits before it is made.
    """

    type: ClassVar[str] = "retry"
    attempt: int
    delay: float
    reason: str


@dataclass(frozen=True, slots=True)
class WarningEvent(RunEvent):
    """A warning to the user; the work continues."""

    type: ClassVar[str] = "warning"
    message: str


@dataclass(frozen=True, slots=True)
class Denial:
    """A call that was not allowed, or a host that its command may not reach, with the rule and reason."""

    id: str
    name: str
    input: Mapping[str, Any]
    rule: str
    why: str
    allow: tuple[str, ...] = field(default=(), metadata={"optional": True})
    """Rules with which `--allow` would allow the call in the next run; empty if none is known."""


@dataclass(frozen=True, slots=True)
class Result(RunEvent):
    """The end of a run, its last event. `text` is the answer, `cost` in USD, `turns` counts the model's replies."""

    type: ClassVar[str] = "result"
    status: Literal["success", "error"]
    subtype: str
    """`done`, or the cause: usage, credentials, input, config, limit, context, untrusted, transient, failed, incomplete,
    refused, hook_blocked, interrupted, terminated."""
    text: str
    session_id: str
    turns: int
    duration_ms: int
    usage: Usage
    cost: float | None
    permission_denials: tuple[Denial, ...]
    error: str | None
    exit_code: int
    verified: bool | None = None
    """Whether calls of the session show what the text claims, such as that tests pass; None if it claims nothing."""
    findings: tuple[Finding, ...] | None = field(default=None, metadata={"optional": True})
    """Findings of a review, requested by `-p "/review"`; None in any other run."""

    @property
    def denials(self) -> tuple[Denial, ...]:
        """The calls that were not allowed."""
        return self.permission_denials

    def raise_for_status(self) -> Result:
        """Return the result itself if the run succeeded. Raises AgentError, with its exit code, if not."""
        if self.status == "success":
            return self
        error = AgentError(self.error or f"The run has ended: {self.subtype}.")
        error.exit_code = self.exit_code
        raise error


AnyEvent = (
    InitEvent
    | MessageEvent
    | ThinkingEvent
    | ToolCallEvent
    | ToolResultEvent
    | PermissionEvent
    | UsageEvent
    | PruneEvent
    | CompactionEvent
    | RetryEvent
    | WarningEvent
    | Result
)
"""All events of a run, as a closed union."""


def to_json(event: RunEvent) -> Json:
    """Return the object for an event in `stream-json`."""
    return {"type": event.type, "timestamp": event.timestamp, **_fields(event)}


def _fields(value: RunEvent | Denial | ServerStatus | Finding) -> Json:
    return {
        each.name: _plain(given)
        for each in fields(value)
        if each.name != "timestamp"
        and ((given := getattr(value, each.name)) != each.default or "optional" not in each.metadata)
    }


def _plain(value: Any) -> Any:
    match value:
        case Usage():
            return usage_to_json(value)
        case Denial() | ServerStatus() | Finding():
            return _fields(value)
        case tuple():
            return [_plain(item) for item in value]
        case Mapping():
            return dict(value)
        case _:
            return value
