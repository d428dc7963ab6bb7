"""Records of a session: numbered, written once and never changed.

`core/codec/encode.py` writes their fields, and `decode.py` reads them. A new field needs a default, because stored
records lack it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.message import Message, Text, ToolCall, ToolResult, Usage
from agentcli.core.setting import Cost

SCHEMA = 1
"""The newest schema that this program writes; it reads every older one."""

Trigger = Literal["manual", "auto", "overflow"]
CompactionStatus = Literal["compressed", "failed_inflated", "failed_token_count", "failed_summary", "noop"]
Mode = Literal["ask", "auto-edit", "plan", "auto", "yolo"]
Editor = Literal["", "provider"]
"""Who cleared something: agentcli, or the provider."""
MODES: tuple[Mode, ...] = ("ask", "auto-edit", "plan", "auto", "yolo")
MODE_SUMMARIES: Mapping[Mode, str] = {
    "ask": "asks before it changes or runs anything",
    "auto-edit": "edits files in this folder without asking, asks for the rest",
    "plan": "read-only until you approve a plan",
    "auto": "runs low-risk commands without asking",
    "yolo": "asks only before destructive commands and those that need root; deny rules still apply",
}
"""The effect of each mode, for people."""


def in_mode(mode: Mode) -> str:
    """Return the sentence about a mode's effect."""
    return f"{mode.capitalize()} mode: {MODE_SUMMARIES[mode]}."


USUAL_ACCOUNT = "default"
"""Name of the account whose keys have no name."""
TIMED_RULES = "timed rules"
"""Feature name of the records of expiring rules."""
EXTENSION = "extension "
"""Beginning of the feature names of extensions: their states belong to the conversation, and a rewind reverts them."""


@dataclass(frozen=True, slots=True)
class VerbatimText:
    """Text that a compaction carries verbatim: a pinned message, or the prompt of turn `turn`."""

    seq: int
    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class TodoItem:
    """One step of the model's plan."""

    content: str
    status: Literal["pending", "in_progress", "completed"] = "pending"
    active_form: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """The newest recorded state of a feature, and the number of its record."""

    seq: int
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Carry:
    """State of a fold before a compaction, so that a resume reads only the records of the view."""

    usage: Usage = Usage()
    cost: Cost | None = None
    turn: int = 0
    model: str = ""
    mode: str = ""
    policy: str = ""
    title: str = ""
    name: str = ""
    todo: tuple[TodoItem, ...] = ()
    system: tuple[str, ...] = ()
    tools: tuple[Mapping[str, Any], ...] = ()
    calibration: Mapping[str, Any] = field(default_factory=dict)
    pins: tuple[int, ...] | None = None
    cleared: Mapping[str, int] | None = None
    """Pins, and calls with the prune that cleared their output; None in records older than this field."""
    cleared_inputs: Mapping[str, int] = field(default_factory=dict)
    """Calls with the prune that cleared their input."""
    folder: str = ""
    features: Mapping[str, Kept] = field(default_factory=dict)
    account: str = ""


@dataclass(frozen=True, slots=True)
class ProviderSummary:
    """A provider's own summary. Only its model gets `meta` again; all others get its `text`."""

    provider: str
    model: str
    text: str
    meta: Mapping[str, Any]

    @property
    def part(self) -> Text:
        """The message part that contains it."""
        return Text(self.text, synthetic=True, source="compactor", meta=self.meta)


@dataclass(frozen=True, slots=True)
class Compaction:
    """A summary replaced a part of the view; everything that it covered stays on disk.

    Only status `compressed` changes the view.
    """

    trigger: Trigger
    status: CompactionStatus
    policy: str
    covers: tuple[int, int] = (0, 0)
    """First and last seq that were summarised."""
    kept_from: int = 0
    """Seq of the first record that stays unchanged."""
    snapshot: str = ""
    ledger: Mapping[str, Any] = field(default_factory=dict)
    pins: tuple[VerbatimText, ...] = ()
    user_words: tuple[VerbatimText, ...] = ()
    tokens_before: int = 0
    tokens_after: int = 0
    model: str = ""
    usage: Usage = Usage()
    cost: Cost | None = None
    kept: tuple[int, ...] = ()
    """Seqs before `kept_from` that stay verbatim too: primers of `sliding`, steps of `auto` that the work needs."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    """For `regions`: call id → summary that replaces its output; `#seq` → summary that replaces a record's reminders.
    """
    drop_thinking_before: int = 0
    continues: bool = False
    note: str = ""
    carry: Carry = Carry()
    cleared: tuple[str, ...] = ()
    """Calls whose outputs are cleared in the same step, because it rewrites the cache anyway."""
    answer: VerbatimText | None = None
    """The model's newest answer if it was summarised: the user may be replying to it."""
    stands_for: tuple[int, int] = (0, 0)
    """First and last seq that the snapshot represents, former snapshots included."""
    cleared_inputs: tuple[str, ...] = ()
    """Calls whose inputs are cleared in the same step."""
    skills: tuple[VerbatimText, ...] = ()
    """Bodies of skills in use, in their tags."""
    by_provider: ProviderSummary | None = None
    """The provider's own summary; the snapshot adds rules, prompts and facts."""


@dataclass(frozen=True, slots=True)
class Prune:
    """The outputs of `call_ids` and the inputs of `inputs` are shown to the model as a marker from now on."""

    call_ids: tuple[str, ...]
    tokens: int
    """Number of tokens that this frees."""
    reason: str
    drop_thinking_before: int = 0
    """Thinking in assistant messages with a smaller seq is dropped too.

    An edit before a preserved thinking block invalidates the block.
    """
    inputs: tuple[str, ...] = ()
    outcomes: Mapping[str, str] = field(default_factory=dict)
    """By call id, the line in the marker about how a command ended."""
    by: Editor = ""
    """`provider` if the provider cleared all this from the previous request.

    It clears it again from each request that contains it.
    """
    restored: tuple[str, ...] = ()
    """Calls that the provider shows again."""

    @property
    def cleared(self) -> tuple[str, ...]:
        """The calls with a cleared output or input."""
        return tuple(dict.fromkeys((*self.call_ids, *self.inputs)))


@dataclass(frozen=True, slots=True)
class Undo:
    """Undoes the compaction, prune or undo at `seq`; or, for `rewind`, everything after `seq`.

    `usage` and `cost` of the removed records stay spent.
    """

    seq: int
    target: Literal["compaction", "prune", "rewind", "undo"] = "compaction"
    usage: Usage = Usage()
    cost: Cost | None = None


@dataclass(frozen=True, slots=True)
class Pin:
    """The message at `seq` is never summarised or cleared."""

    seq: int


@dataclass(frozen=True, slots=True)
class Unpin:
    """The message at `seq` is an ordinary one again."""

    seq: int


@dataclass(frozen=True, slots=True)
class Retry:
    """A request failed and was made again after `delay` seconds.

    At `attempt` 0, it was delayed before it was first made.
    """

    attempt: int
    delay: float
    reason: str


@dataclass(frozen=True, slots=True)
class Title:
    """Title of the session: `title` by agentcli, `name` by the user. An empty field keeps the previous value.

    `usage` and `cost` belong to the `model` that wrote the title, if a model did.
    """

    title: str = ""
    name: str = ""
    model: str = ""
    usage: Usage = Usage()
    cost: Cost | None = None


@dataclass(frozen=True, slots=True)
class Todo:
    """The todo list from now on, whole."""

    items: tuple[TodoItem, ...]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Files as they were before a change, kept under `checkpoints/`; opaque to the context engine."""

    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """The model, mode or policy was switched. An empty field leaves the former value."""

    model: str = ""
    """`provider/id`"""
    mode: str = ""
    policy: str = ""
    system: tuple[str, ...] = ()
    """Begins every request, together with `tools`.

    They are recorded so that a resumed session sends the same bytes. Instruction files or this program may have changed
    since then.
    """
    tools: tuple[Mapping[str, Any], ...] = ()
    """Name, description and parameters of each tool."""
    why: str = ""
    """Set if the switch was not requested."""
    folder: str = ""
    """Absolute path of the folder where commands start from now on."""
    account: str = ""
    """Name of the account that pays from now on; `USUAL_ACCOUNT` is the usual key."""


@dataclass(frozen=True, slots=True)
class FeatureState:
    """State of a feature from now on, complete; only the feature reads its `data`. If a model produced it, `model`
    spent `usage` and `cost`.
    """

    feature: str
    data: Mapping[str, Any]
    model: str = ""
    usage: Usage = Usage()
    cost: Cost | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Something went wrong that the reader of the session should know (kind `error`). Contains the usage of a useless
    reply.
    """

    message: str
    where: str = ""
    usage: Usage = Usage()
    cost: Cost | None = None


@dataclass(frozen=True, slots=True)
class InnerCall:
    """A call that a running call made, with its result. The view does not contain it."""

    within: str
    """Id of the running call."""
    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True)
class Unknown:
    """A record of a kind that this version does not know; stays on disk and is skipped."""

    kind: str
    raw: Mapping[str, Any]


Body = (
    Message
    | ToolResult
    | Compaction
    | Prune
    | Undo
    | Pin
    | Unpin
    | Retry
    | Title
    | Todo
    | Checkpoint
    | Settings
    | FeatureState
    | Failure
    | InnerCall
    | Unknown
)

KINDS: dict[type, str] = {
    Message: "message",
    ToolResult: "tool_result",
    Compaction: "compaction",
    Prune: "prune",
    Undo: "undo",
    Pin: "pin",
    Unpin: "unpin",
    Retry: "retry",
    Title: "title",
    Todo: "todo",
    Checkpoint: "checkpoint",
    Settings: "settings",
    FeatureState: "feature",
    Failure: "error",
    InnerCall: "inner_call",
}
"""Name of each kind in files. `Unknown` has its own."""


@dataclass(frozen=True, slots=True)
class Record:
    """A body with its place in the session. `time` is ISO 8601 in UTC; `prev` the SHA-256 of the record file before it."""

    seq: int
    id: str
    time: str
    prev: str
    body: Body

    @property
    def kind(self) -> str:
        """The kind as written in the file and in its name."""
        return self.body.kind if isinstance(self.body, Unknown) else KINDS[type(self.body)]
