"""Port to a tool: a plain async function, described by its signature and a page of prompts/tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar

from agentcli.core.codec.encode import dumps
from agentcli.core.dataclass import dataclass
from agentcli.core.message import Image, Status
from agentcli.core.model import LineNumbers, ToolSchema
from agentcli.core.schema import WireName
from agentcli.core.setting import LOWER, Bytes, Range, Seconds, setting

Effect = Literal["none", "read", "write", "run", "network", "ask"]
"""Effect of a call.

`none` is a call such as a list or a look at earlier results. `read` and `write` concern files, and `run` programs.
"""


@dataclass(frozen=True, slots=True)
class Boxed:
    """A command to start inside a sandbox."""

    argv: Sequence[str]
    files: Mapping[int, bytes] = field(default_factory=dict)
    """Contents of further descriptors by number, at most 60 KB each."""
    read_last: int = 0
    """The number among `files` that the sandbox reads once it is complete; 0 if unknown."""
    again: Callable[[int], Boxed] | None = None
    """Builds the sandbox again if a path vanished before it was complete; None without a sandbox that mounts paths.

    The argument is the part of a line to go on with, counted from 0.
    """
    tells: int = 0
    """The number of a descriptor to which a line in parts writes the part whose sandbox failed; 0 without parts."""


SubjectKind = Literal["", "command", "url", "file", "patch", "folder"]
"""Kind of a subject.

`file` is the path of one file, `patch` names its files, and `folder` is that of a search.
"""


@dataclass(frozen=True, slots=True)
class Subject:
    """The part of a tool's input that permission rules match.

    It is empty for a tool that rules only know by name.
    """

    field: str = ""
    """The input field."""
    kind: SubjectKind = ""
    pattern: str = ""
    """The input field with the path pattern of a search; the pattern may lead out of its folder."""
    name_filter: str = ""
    """The input field with the pattern that the names of searched files must match, at any depth."""
    content: str = ""
    """The input field with the complete new content, if it replaces a file."""
    background: str = ""
    """The input field that runs a command in the background."""
    allowed_as: str = ""
    """Another tool, whose allow rules also apply to this tool."""

    def of(self, given: Mapping[str, Any]) -> Any:
        """Return its value in the input of a call; None if it is not given."""
        return given.get(self.field)

    def text(self, given: Mapping[str, Any]) -> str:
        """Return its value in the input of a call as text; empty if it is not given."""
        return str(given.get(self.field, ""))


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What the agent and front ends do differently for a tool."""

    recalls: bool = False
    """It shows results of earlier calls again."""
    polls: bool = False
    """It polls something that changes by itself, so repeating the same call is not a mistake."""
    needs_person: bool = False
    """It waits for a person's answer."""
    presents_plan: bool = False
    """Its call is a plan: allowing it approves the plan and ends plan mode."""
    delegates: bool = False
    """It runs a subagent."""
    for_people: bool = False
    """Its result interests the user, who reads it again."""
    gate: bool = False
    """It reaches the tools of servers; sessions without servers do not need it."""
    dispensable: bool = False
    """Sessions with a small window do not get it."""
    calls_tools: bool = False
    """It makes calls of other tools; a session lists it only where that pays."""
    announced: bool = False
    """A reminder names it once it is useful; requests do not list it, so their beginning stays the same."""


@dataclass(frozen=True, slots=True)
class ToolServer:
    """The MCP server that offers a tool, and what it says of the tool."""

    name: str
    reads_only: bool = False
    """The tool changes nothing, and the user trusts the server."""
    interacts: bool = False
    """A person must approve each call, in every mode."""
    shadows: bool = False
    """A project's server replaces the user's own server of that name: allow rules of the user's config do not apply."""


@dataclass(frozen=True, slots=True)
class Traits:
    """Traits of a tool for permissions, planners and front ends, so that none of them needs to know its name."""

    effect: Effect = "run"
    subject: Subject = Subject()
    behaviour: Behaviour = Behaviour()
    server: ToolServer | None = None

    @property
    def runs_commands(self) -> bool:
        """True if its subject is a shell command."""
        return self.subject.kind == "command"

    @property
    def fetches(self) -> bool:
        """True if its subject is a URL."""
        return self.subject.kind == "url"

    @property
    def reads_files(self) -> bool:
        """True if it shows the file that its subject names."""
        return self.effect == "read" and self.subject.kind == "file"

    @property
    def edits_files(self) -> bool:
        """True if it changes the file that its subject names, or the files of its patch."""
        return self.effect == "write" and self.subject.kind in ("file", "patch")

    @property
    def patches(self) -> bool:
        """True if its subject is a patch."""
        return self.subject.kind == "patch"

    @property
    def searches(self) -> bool:
        """True if it looks for files beneath the folder that its subject names, or the current one."""
        return self.subject.kind == "folder"

    @property
    def touches_files(self) -> bool:
        """True if it reads, edits or searches files."""
        return self.reads_files or self.edits_files or self.searches

    @property
    def parallel(self) -> bool:
        """True if calls may run at the same time as others."""
        if self.behaviour.calls_tools:
            return False
        return self.effect in ("none", "read") or (self.server is not None and self.server.reads_only)


UNKNOWN = Traits()
"""Traits of an unknown tool, which is assumed to run programs."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """Result of a tool. `output` is already truncated for the model; the whole went to `ToolContext.keep_output`.

    `metadata` may contain `diff` (unified), `additions`, `deletions`, `exit_code`, `path`, `lines`, `created`,
    `matches`, which the ledger and the front ends read. `seen` maps each path that the result shows to the file's
    SHA-256; a resume restores the files seen from it.
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
    """A question of `ask_user`; free text is always allowed, too."""

    question: str
    header: Annotated[str, "A word or two"] = ""
    choices: Annotated[tuple[Choice, ...], WireName("options")] = ()
    multiple: Annotated[bool, WireName("multiSelect")] = False


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """`[tools]`: limits of the tools. Sizes in bytes unless stated otherwise."""

    # Results of searches, pages and functions of the Python API: `RESULT_BYTES` in tools/lib/truncate.py.
    read_lines: Annotated[int, Range(1, unit="lines")] = setting(2_000, project="tighten", tighter=LOWER)
    """Maximum that `read` returns."""
    read_bytes: Annotated[int, Range(1, unit="bytes")] = setting(51_200, project="tighten", tighter=LOWER)
    """Maximum that `read` and `recall` return at once."""
    line_numbers: Literal["auto", LineNumbers] = setting("auto", project="free")
    """When `read` numbers lines; `ranges`: if the model gives an `offset`; `auto`: `never` for Gemini, else `ranges`."""
    line_characters: int = 2_000
    """Maximum characters of one line."""
    bash_output: Bytes = setting(30_000, project="tighten", tighter=LOWER)
    """Maximum of the output of a command or an MCP tool that the model sees. A file keeps all of it."""
    bash_timeout: Seconds = setting(120.0, project="tighten", tighter=LOWER)
    """Time after which a command continues in the background, unless the model sets one."""
    bash_timeout_max: Seconds = setting(600.0, project="tighten", tighter=LOWER)
    """Maximum that the model may set."""
    bash_idle: Seconds = setting(300.0, project="tighten", tighter=LOWER)
    """Time without output after which a command is stopped."""
    bash_secrets: tuple[str, ...] = setting((), project="never")
    """Variables that commands get although they look like secrets (`NPM_TOKEN`)."""
    output_file: int = 20_000_000
    """Maximum bytes of a command's output that a file keeps."""
    matches: Annotated[int, Range(1, unit="results")] = setting(100, project="tighten", tighter=LOWER)
    """Maximum of `grep`, `glob` and `recall`."""
    pattern_seconds: Seconds = setting(5.0, project="tighten", tighter=LOWER)
    """Maximum for a regular expression in a search of the session."""
    recall_seconds: float = 1.0
    """Seconds after which a search of the session stops and reports where to continue."""
    entries: int = 1_000
    """Maximum entries listed of a folder."""
    file_bytes: Bytes = setting(10_000_000, project="tighten", tighter=LOWER)
    """Maximum size of a file to read or edit."""
    fetch_bytes: int = 10_000_000
    """Maximum size of a page that `web_fetch` reads."""
    fetch_seconds: Seconds = setting(30.0, project="tighten", tighter=LOWER)
    """Maximum for `web_fetch`."""
    fetch_answer_seconds: float = 120.0
    """Maximum seconds for the answer to the `prompt` of `web_fetch`."""
    fetch_addresses: tuple[str, ...] = setting((), project="never")
    """Addresses or networks that are not public (`10.0.0.0/8`) but `web_fetch` and `network(HOST)` rules may reach."""
    scripts: Literal["auto", "on", "off"] = setting("auto", project="never")
    """Offer `script`, with which the model calls tools from Python: `auto` where MCP servers bring many tools."""
    web_search: str = setting("off", project="never")
    """`off`, `vendor` (the provider's own search), `brave`, `tavily`, `searxng` and its address, or `extension`."""


Wrap = Callable[[Sequence[str]], Boxed]
"""Wraps an argv in a sandbox."""


@dataclass(frozen=True, slots=True)
class LinePart:
    """A part of a command line with its own sandbox."""

    text: str
    joint: str = ""
    """The operator before it: `&&`, `||`, `|` or `;`."""
    records: bool = False
    """True if git commits something in it: its sandbox lets only git write to the repository."""
    after_others: bool = False
    """True if git runs after a part that runs other programs, which may have created a repository."""
    outside: bool = False
    """True if it runs outside the sandbox, with no program of the workspace."""
    keeps: bool = False
    """True if it writes the output of the part before it into a file, with that part's exit code."""


@dataclass(frozen=True, slots=True)
class CommandSandbox:
    """Sandbox of a command; without `wrap` it runs unconfined."""

    wrap: Wrap | None = None
    escalate: Callable[[str, str], Awaitable[bool | None]] | None = None
    """Asks whether a command may run again outside the sandbox: (command, reason). None if nobody can answer."""
    watch: Callable[[bool], Callable[[], Sequence[str]]] | None = None
    """Called before a command, with true for one in the background.

    Afterwards, call its result for the protected files that the command created.
    """
    hardened: bool = False
    """True if the command gets the environment of commands without approval."""
    note: str = ""
    """A line for the model, added to the output."""
    if_failed: str = ""
    """A line for the model, added to the output of a failed command."""
    outside: Wrap | None = None
    """The remaining wrapper of a command that runs again outside the sandbox."""
    unseen: Callable[[str], bool] = lambda _: False
    """Returns True if a path leads to something in the home folder that the sandbox hides."""
    nameable: Callable[[str], bool] = lambda _: False
    """Returns True if the sandbox would show a hidden path to a command that names it."""
    opens_network: bool = False
    """True if commands reach the whole network."""
    refused_hosts: Callable[[], Mapping[str, bool]] = dict
    """Returns why hosts were not reached since the last call, each with True if a command may reach it outside.

    Hosts that the user does not allow are left out.
    """
    late_hosts: Callable[[str], Awaitable[Sequence[str]]] | None = None
    """Waits for the answers about hosts that a command asked for before it ended, and returns them for the model."""
    fetches: Callable[[str], bool] = lambda _: False
    """Returns True for a command that the network was opened to, without the user's credentials."""
    gated: bool = False
    """True if commands that only fetch packages reach hosts on a list."""
    same_port: Callable[[int], bool] = lambda _: True
    """Returns True if a command reaches the same thing at a local port as outside the sandbox."""
    parts: tuple[LinePart, ...] = ()
    """Parts of a line that run apart: by `recorder` if git commits in it, by `leaving` outside, else by `wrap`."""
    recorder: Wrap | None = None
    leaving: Wrap | None = None
    """The part of the sandbox that holds around the parts that run outside."""
    held: Callable[[str, str], object] = lambda *_: None
    """Called if the sandbox made a command fail and nobody can answer: (command, line of its output)."""


NO_SANDBOX = CommandSandbox()
DECLINED = "The user said no"
"""Beginning of the result of a declined call, for the model."""
NO_OUTPUT = "(no output)"
"""Output of a call that printed nothing, as the model sees it."""


def not_judged(_: str) -> str:
    """Return why a call that was not judged may not follow a redirect."""
    return "it was not judged"


@dataclass(frozen=True, slots=True)
class CallScope:
    """Scope of one call: what it may touch and use, as decided before it runs."""

    allowed_paths: tuple[Path, ...] = ()
    """The resolved paths for which the call was allowed; it may use no others. Empty for everything below the roots."""
    hidden: tuple[Path, ...] = ()
    """Files and folders below a searched folder that rules protect from reading."""
    sandbox: CommandSandbox = NO_SANDBOX
    folder: Path | None = None
    """The folder in which a command starts; None for the session's own."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables that hooks have set for commands."""
    buffers: Mapping[Path, bytes] = field(default_factory=dict)
    """Unsaved editor content of the files that the call concerns: it replaces the content on disk."""
    objection: Callable[[str], str] = not_judged
    """The reason why the call may not follow a redirect to another address.

    It is empty if the rules treat it like the call's own address.
    """


Service = TypeVar("Service")


class ToolContext(Protocol):
    """Services for a running call. The agent makes them for each session, so tools need no global state."""

    cwd: Path
    env: Mapping[str, str]
    """The environment of commands, before secrets are removed."""
    limits: ToolLimits
    scope: CallScope

    @property
    def roots(self) -> tuple[Path, ...]:
        """Resolved folders of the workspace, which may grow during the session."""
        ...

    def keep_output(self, call_id: str, output: str | bytes, ending: str = ".txt") -> str:
        """Save a whole output, or a file, and return the path for the model.

        For a file, the path is empty if nothing is stored.
        """
        ...

    def progress(self, call_id: str, text: str) -> None:
        """Show output of a running call."""
        ...

    def service(self, kind: type[Service]) -> Service | None:
        """Return the session's service of a type, which the tool that needs it defines; None if the session has none."""
        ...


Run = Callable[..., Awaitable[ToolOutput]]
Title = Callable[[Mapping[str, Any]], str]
Preview = Callable[[ToolContext, Mapping[str, Any]], str]


def as_json(_: ToolContext, given: Mapping[str, Any]) -> str:
    """Return the input of a call as JSON."""
    return dumps(dict(given))


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model can call."""

    schema: ToolSchema
    run: Run
    """Called as `run(ctx, call_id, **input)`."""
    traits: Traits
    title: Title = lambda _: ""
    """Describes a call in one line."""
    preview: Preview = as_json
    """Text for a person before approval; a unified diff for an edit. Raises ToolError if the edit is impossible."""
    foreign: bool = False
    """The server that offers the tool checks its input."""
    unlisted: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schemas of the parameters that it takes but its schema does not list."""

    @property
    def name(self) -> str:
        """The name by which models call it."""
        return self.schema.name

    @property
    def takes(self) -> Mapping[str, Any]:
        """The JSON Schema of all that it takes."""
        listed = self.schema.parameters
        return {**listed, "properties": {**listed["properties"], **self.unlisted}} if self.unlisted else listed


RunTool = Callable[[Tool, ToolContext, str, Mapping[str, Any]], Awaitable[ToolOutput]]
"""Runs a tool: the tool, its context, the id of the call, its input."""
