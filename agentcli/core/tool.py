"""The port to a tool: a plain async function, described by its signature and a page of prompts/tools."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from agentcli.core.boxed import Boxed
from agentcli.core.codec.encode import dumps
from agentcli.core.dataclass import dataclass
from agentcli.core.message import Image, Status
from agentcli.core.model import LineNumbers, ToolSchema
from agentcli.core.record import TodoItem
from agentcli.core.servers import Servers
from agentcli.core.text.passage import Needles, Passage

Effect = Literal["none", "read", "write", "run", "network", "ask"]
"""What a call may do to the world: nothing (a list, former results), read files, write files, run programs, use the network, ask the user."""


@dataclass(frozen=True, slots=True)
class Traits:
    """Traits of a tool for permissions, planners and front ends, so that none of them needs to know its name."""

    effect: Effect = "run"
    subject: str = ""
    """The input field that permission rules match: a shell command where the effect is `run`, a URL where it is `network`, else a path."""
    reads_files: bool = False
    """It shows the file that its subject names."""
    edits_files: bool = False
    """It changes the file that its subject names."""
    content: str = ""
    """The input field with the whole new content, where it writes a file anew."""
    searches: bool = False
    """It looks for files beneath the folder that its subject names, or the current one."""
    pattern: str = ""
    """The input field with the path pattern that a search follows, out of its folder where the pattern leads elsewhere."""
    name_filter: str = ""
    """The input field with the pattern that names must match to be searched, at any depth."""
    allowed_as: str = ""
    """Another tool, whose allow rules hold for this one as well."""
    recalls: bool = False
    """It shows results of former calls again."""
    polls: bool = False
    """It asks for the state of something that changes by itself: the same call again and again is no mistake."""
    needs_person: bool = False
    """It waits for somebody to answer."""
    presents_plan: bool = False
    """Its call is a plan: who allows it approves the plan and ends plan mode."""
    delegates: bool = False
    """It runs a subagent."""
    for_people: bool = False
    """Its result is of interest to the person, who reads it again."""
    gate: bool = False
    """It reaches the tools of servers; sessions without servers have no use for it."""
    server: str = ""
    """The server that it is a tool of."""
    reads_only: bool = False
    """Its server says that it changes nothing, and the user trusts what it says."""
    dispensable: bool = False
    """A session whose model has a small window goes without it."""
    interacts: bool = False
    """A person is asked about each call, in every mode."""

    @property
    def runs_commands(self) -> bool:
        """True if its subject is a shell command."""
        return self.effect == "run" and bool(self.subject)

    @property
    def fetches(self) -> bool:
        """True if its subject is a URL."""
        return self.effect == "network" and bool(self.subject)

    @property
    def parallel(self) -> bool:
        """True if calls may run at the same time as others."""
        return self.effect in ("none", "read") or self.reads_only


UNKNOWN = Traits()
"""The traits of a tool that nobody knows: it is taken to run programs."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """Result of a tool. `output` is already cut for the model; the whole went to `ToolContext.keep_output`.

    `metadata` may hold `diff` (unified), `additions`, `deletions`, `exit_code`, `path`, `lines`, `created`, `matches`:
    the ledger and the front ends read them; and `seen`, the SHA-256 of each file that the result shows, by path: a resume
    restores `ToolContext.seen` from it.
    """

    output: str
    title: str = ""
    status: Status = "success"
    truncated: bool = False
    output_file: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer offered with a question."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of `ask_user`; free text is always allowed as well."""

    question: str
    header: Annotated[str, "A word or two"] = ""
    choices: Annotated[tuple[Choice, ...], "", "options"] = ()
    multiple: Annotated[bool, "", "multiSelect"] = False


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """`[tools]`: limits of the tools. Sizes in bytes unless said otherwise."""

    read_lines: int = 2_000
    """Maximum lines that `read` returns."""
    read_bytes: int = 51_200
    """Maximum bytes that `read` returns."""
    line_numbers: Literal["auto", LineNumbers] = "auto"
    """When `read` numbers lines: `always`, `never`, or in `ranges` that the model asks for by `offset`. `auto` is `ranges`, but `never` for Gemini, which takes a token for each digit."""
    line_characters: int = 2_000
    """Maximum characters of one line."""
    bash_output: int = 30_000
    """Maximum bytes of a command's output that the model sees; a file keeps all of it."""
    bash_timeout: float = 120.0
    """Seconds after which a command continues in the background, unless the model sets a limit."""
    bash_timeout_max: float = 600.0
    """Maximum seconds that the model may set."""
    bash_idle: float = 300.0
    """Seconds without output after which a command is stopped."""
    bash_secrets: tuple[str, ...] = ()
    """Variables that commands get although their name or value looks like a secret (`NPM_TOKEN`)."""
    output_file: int = 20_000_000
    """Maximum bytes of a command's output that a file keeps."""
    matches: int = 100
    """Maximum results of `grep` and `glob`."""
    pattern_seconds: float = 5.0
    """Maximum seconds of a regular expression in a search of the session."""
    recall_seconds: float = 1.0
    """Seconds after which a search of the session stops and says where to continue."""
    entries: int = 1_000
    """Maximum entries listed of a folder."""
    file_bytes: int = 10_000_000
    """Maximum size of a file to read or edit."""
    fetch_bytes: int = 10_000_000
    """Maximum size of a page that `web_fetch` reads."""
    fetch_seconds: float = 30.0
    """Maximum seconds of a `web_fetch`."""
    fetch_answer_seconds: float = 120.0
    """Maximum seconds for the answer to the `prompt` of `web_fetch`."""
    fetch_addresses: tuple[str, ...] = ()
    """Addresses or networks (`127.0.0.1`, `10.0.0.0/8`) that `web_fetch` may reach although they are not public."""


Wrap = Callable[[Sequence[str]], Boxed]
"""Puts a sandbox around an argv."""


@dataclass(frozen=True, slots=True)
class CommandSandbox:
    """Sandbox of a command; without `wrap` it runs unconfined."""

    wrap: Wrap | None = None
    escalate: Callable[[str, str], Awaitable[bool]] | None = None
    """Asks whether a command may run again outside the sandbox: (command, reason)."""
    watch: Callable[[], Callable[[], Sequence[str]]] | None = None
    """Called before a command; what it returns names the protected files that the command has made."""
    hardened: bool = False
    """Whether the command gets the environment of one that nobody was asked about."""
    note: str = ""
    """A line for the model, said with the output."""


NO_SANDBOX = CommandSandbox()
NO_OUTPUT = "(no output)"
"""The output of a call that printed nothing, as the model sees it."""


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """Answer of a small model about a page, with `spent` as metadata; or `trouble`, the reason why there is none."""

    text: str = ""
    trouble: str = ""
    model: str = ""
    spent: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delegation:
    """A piece of work for a subagent. `resume` is the id of one that is to go on; in the `background` its report comes later."""

    description: str
    prompt: str
    agent: str = ""
    resume: str = ""
    background: bool = False


Spawn = Callable[[str, Delegation], Awaitable[ToolOutput]]
"""Runs a subagent: (call id, its work) → its report."""
LeavePlan = Callable[[str], Awaitable[bool]]
"""Leaves plan mode with an approved plan; false where it was not on."""
AnswerPage = Callable[[str, str], Awaitable[PageAnswer]]
"""Answers a prompt from a page's text."""
OpenSkill = Callable[[str, str, str], Awaitable[ToolOutput]]
"""Gives the body of a skill: (call id, name, arguments)."""


class ToolContext(Protocol):
    """Services for a running call; made by the agent for each session, so that tools own no global state."""

    cwd: Path
    roots: tuple[Path, ...]
    """The folders of the workspace, resolved."""
    limits: ToolLimits
    seen: dict[Path, str]
    """SHA-256 of each file's content as the model last saw it in full or in part: replacing the whole of it needs it to be current."""
    env: Mapping[str, str]
    """The environment of commands, before secrets are left out."""
    line_numbers: LineNumbers
    allowed_path: Path | None
    """The resolved path that the call was allowed for, which it may use and no other; None for all beneath the roots."""
    buffers: Mapping[Path, bytes]
    """The content of the files that the call is about and that an editor has not saved yet: it stands for that on disk."""
    sandbox: CommandSandbox
    jobs: object | None
    """The background jobs of the session (`tools.jobs.Jobs`), None where there are none."""
    spawn: Spawn | None
    leave_plan: LeavePlan | None
    answer_page: AnswerPage | None
    open_skill: OpenSkill | None
    servers: Servers | None
    """The servers of the run, None where there are none."""
    variables: Mapping[str, str]
    """Variables that hooks have set for commands."""

    def keep_output(self, call_id: str, output: str | bytes, ending: str = ".txt") -> str:
        """Save a whole output, or a file, and return the path that the model is told; empty for a file where nothing is stored."""
        ...

    def progress(self, call_id: str, text: str) -> None:
        """Show output of a running call."""
        ...

    def todo(self) -> tuple[TodoItem, ...]:
        """The list as it stands."""
        ...

    def set_todo(self, items: Sequence[TodoItem]) -> None:
        """Replace and record the list."""
        ...

    def passages(
        self, needles: Needles = (), call_id: str = "", newest: int | None = None, until: float = math.inf
    ) -> Iterator[Passage]:
        """The passages of this session's records up to number `newest` that may hold the needles, and of this call, newest first.

        Those that do are among them, also what was cleared, summarised or rewound since, and what a fork inherited. Raises
        OutOfTime once `time.monotonic` has passed `until`.
        """
        ...

    def index(self) -> Iterator[float]:
        """Make the parts of the session's index that are missing, one at a time; yields the share that is done."""
        ...

    async def ask(self, questions: Sequence[Question]) -> Sequence[str] | None:
        """The user's answers in order; empty if the user declines, None when nobody is there to answer."""
        ...


Run = Callable[..., Awaitable[ToolOutput]]
Title = Callable[[Mapping[str, Any]], str]
Preview = Callable[[ToolContext, Mapping[str, Any]], str]


def as_json(_: ToolContext, given: Mapping[str, Any]) -> str:
    """The input of a call as JSON."""
    return dumps(dict(given))


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model can call: `run(ctx, call_id, **input)`; everything else about it is derived from this.

    `title` describes a call in one line; `preview` is shown to a person before allowing it, for an edit
    the unified diff, and raises ToolError for one that cannot be made. The input of a `foreign` one is not checked
    here: whoever offers it does that.
    """

    schema: ToolSchema
    run: Run
    traits: Traits
    title: Title = lambda _: ""
    preview: Preview = as_json
    foreign: bool = False

    @property
    def name(self) -> str:
        """The name by which models call it."""
        return self.schema.name


RunTool = Callable[[Tool, ToolContext, str, Mapping[str, Any]], Awaitable[ToolOutput]]
"""Runs a tool: the tool, where it works, the id of the call, its input."""
