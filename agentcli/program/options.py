"""Options of a run as one value: the same for the REPL, `-p`, `resume` and `demo`.

Each field that people can set has a `Flag`. It defines the flags of the command line, of its fast path, of `agentcli
acp` and of `agentcli demo`. It also defines the Python API's options and the Harbor adapter's arguments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from agentcli.core.annotation import Choice, Items, Scalar, read, unwrapped
from agentcli.core.dataclass import dataclass, replace

if TYPE_CHECKING:
    from pathlib import Path

    from agentcli.core.record import Mode

Place = Literal["acp", "demo", "harbor"]
"""Programs that take a flag in addition to `agentcli` and `agentcli resume`."""
Kind = Literal["text", "list", "choice", "whole", "decimal", "switch"]
"""Values of a flag: one text, several, one of a few, a number from 0 on, none."""


@dataclass(frozen=True, slots=True)
class Flag:
    """Flag of a run.

    `field`, `type` and `default` come from the field of `Options` that it sets.
    """

    help: str
    """Help in one line."""
    value: str = ""
    """The value's placeholder in the help; empty for a switch."""
    names: tuple[str, ...] = ()
    """Its names, the long name last; without any, the field's name is used."""
    also: tuple[Place, ...] = ()
    """The other programs that take it."""
    file: str = ""
    """Help of a second flag, `--NAME-file FILE`, which reads the value from a file."""
    hidden: bool = False
    needs_print: bool = False
    """True if it works only with -p."""
    field: str = ""
    type: Any = str
    default: Any = None

    @property
    def name(self) -> str:
        """Its name in Python: `max_cost` of `--max-cost`."""
        return self.names[-1].removeprefix("--").replace("-", "_")

    @property
    def kind(self) -> Kind:
        """Kind of its values."""
        match read(self.type):
            case Scalar() as scalar:
                return _KINDS[scalar]
            case Items():
                return "list"
            case _:
                return "choice"

    @property
    def choices(self) -> tuple[str, ...]:
        """Values of a choice; empty for the other kinds."""
        kind = read(self.type)
        return kind.values if isinstance(kind, Choice) else ()


_KINDS: Mapping[Scalar, Kind] = {
    Scalar.TEXT: "text",
    Scalar.FLAG: "switch",
    Scalar.WHOLE: "whole",
    Scalar.NUMBER: "decimal",
}


@dataclass(frozen=True, slots=True)
class Options:
    """Flags of a run, in the order of `--help`.

    Empty and None mean "not given": then configuration decides.

    `then` are prompts after `prompt`; slash commands such as `/compress` are executed. `session` is the argument of
    `resume`: None for a new session, "" for a choice, "--last" for the project's newest. `session_id` is the id of a
    new session. `agent` is the session's agent definition.

    `handoff` describes the next task, with which a new session continues. None continues the session itself.
    """

    prompt: Annotated[
        str | None,
        Flag("answer one prompt and exit; - reads it from stdin", "PROMPT", ("-p", "--prompt"), also=("demo",)),
    ] = None
    print: Annotated[bool, Flag("", also=("demo",), hidden=True)] = False
    model: Annotated[
        str,
        Flag("provider/model or alias, also with an effort: sonnet:high", "MODEL", ("-m", "--model"), also=("acp",)),
    ] = ""
    account: Annotated[
        str,
        Flag(
            "use the keys of this account; of several, NAME,NAME, the next takes over at a rate limit",
            "NAME",
            also=("acp",),
        ),
    ] = ""
    effort: Annotated[
        str, Flag("how hard the model thinks: minimal, low, medium, high, xhigh or max", "LEVEL", also=("acp",))
    ] = ""
    mode: Annotated[str, Flag("ask, auto-edit, plan, auto or yolo", "MODE", also=("acp",))] = ""
    allow: Annotated[
        tuple[str, ...],
        Flag("TOOL(pattern) to run without asking, also `RULE for 30m`; repeatable", "RULE", also=("acp",)),
    ] = ()
    deny: Annotated[tuple[str, ...], Flag("TOOL(pattern) to never run; repeatable", "RULE", also=("acp",))] = ()
    cwd: Annotated[str, Flag("work in this folder", "DIR", ("-C", "--cwd"))] = ""
    add_dirs: Annotated[
        tuple[str, ...], Flag("add a folder to the workspace; repeatable", "DIR", ("--add-dir",), also=("acp",))
    ] = ()
    worktree: Annotated[
        str | None, Flag("work in a new git worktree, on branch agentcli/NAME", "NAME", ("-w", "--worktree"))
    ] = None
    background: Annotated[bool, Flag("start the session without a terminal, and print its id", names=("--bg",))] = False
    mcp_config: Annotated[tuple[str, ...], Flag("also use the MCP servers defined there; repeatable", "FILE|JSON")] = ()
    output_format: Annotated[
        Literal["text", "json", "stream-json"],
        Flag("output of -p: text, json or stream-json", "FORMAT", ("-o", "--output-format"), also=("demo",)),
    ] = "text"
    max_turns: Annotated[int | None, Flag("stop after N requests to the model", "N", also=("acp", "harbor"))] = None
    max_cost: Annotated[float | None, Flag("stop at this cost in USD", "USD", also=("acp", "harbor"))] = None
    max_tokens: Annotated[int | None, Flag("stop after N tokens, input and output", "N", also=("acp", "harbor"))] = None
    max_time: Annotated[float | None, Flag("stop after this time", "SECONDS", also=("acp", "harbor"))] = None
    system_prompt: Annotated[
        str | None, Flag("replace the system prompt", "TEXT", file="replace it with the text of a file")
    ] = None
    append_system_prompt: Annotated[
        str, Flag("add to the system prompt", "TEXT", also=("acp", "harbor"), file="add the text of a file to it")
    ] = ""
    agent: Annotated[str, Flag("use this agent, see `agentcli agents list`", "NAME")] = ""
    settings: Annotated[
        tuple[str, ...], Flag("change a setting for this run; repeatable", "KEY=VALUE", ("--set",), also=("acp",))
    ] = ()
    no_session: Annotated[bool, Flag("do not store the session", also=("acp",))] = False
    session_id: Annotated[str, Flag("give the new session this id, such as a UUID", "ID")] = ""
    fork: Annotated[bool, Flag("resume a copy of the session")] = False
    handoff: Annotated[
        str | None, Flag("with -p: hand the session off to a new one; TEXT says what comes next", "TEXT")
    ] = None
    goal: Annotated[
        str, Flag("work until a check shows that this is reached; may begin with options of /goal", "TEXT")
    ] = ""
    output_schema: Annotated[
        str,
        Flag("with -p: the answer must be JSON that matches the JSON Schema in this file", "FILE", needs_print=True),
    ] = ""
    lock: Annotated[
        str, Flag("warn if model, tools or prompt differ from those of this lock file; with -p: refuse to run", "FILE")
    ] = ""
    extensions: Annotated[
        tuple[str, ...],
        Flag(
            "load an extension, a Python file, for this run; repeatable", "FILE", ("-e", "--extension"), also=("acp",)
        ),
    ] = ()
    no_extensions: Annotated[bool, Flag("load no extensions", also=("acp",))] = False
    trust: Annotated[bool, Flag("trust this folder for this run", also=("acp",))] = False
    plain: Annotated[bool, Flag("print plain lines: no colours, no cursor movement", also=("demo",))] = False
    then: tuple[str, ...] = ()
    session: str | None = None
    demo: bool = False

    @property
    def restates_system(self) -> bool:
        """True if this run sets its own system prompt, even if a continued session has one."""
        return self.system_prompt is not None or bool(self.append_system_prompt or self.add_dirs or self.agent)

    def prompts(self, first: str) -> tuple[str, ...]:
        """Return the run's prompts in order. A goal is set before the `first` prompt, or is the first one itself."""
        goal = (f"/goal {'--wait ' if first else ''}{self.goal}",) if self.goal else ()
        return (*goal, *([first] if first else ()), *self.then)

    @property
    def model_name(self) -> str:
        """The model without an effort after it, as in `sonnet:high`."""
        from agentcli.agent.settings import with_effort  # the parser and lists of sessions need no agent

        return with_effort(self.model)[0]

    @property
    def overrides(self) -> Mapping[str, Any]:
        """Settings set by flags, by their key in the configuration."""
        model = self.model_name
        effort = self.model[len(model) + 1 :]
        given = {"model": model, "mode": self.mode, "agent.effort": self.effort or effort}
        return {key: value for key, value in given.items() if value}


LAST = "--last"
Texts = Sequence[str] | str
"""One value of a repeatable flag, or several."""


class FlagOptions(TypedDict, total=False):
    """The flags that the Python API takes, by their names there, for type checkers."""

    cwd: "str | Path"
    model: str
    account: str
    effort: str
    mode: "Mode"
    allow: Texts
    deny: Texts
    add_dir: "Sequence[str | Path]"
    mcp_config: Texts
    max_turns: int | None
    max_cost: float | None
    max_tokens: int | None
    max_time: float | None
    system_prompt: str | None
    append_system_prompt: str
    agent: str
    set: Mapping[str, Any]
    no_session: bool
    session_id: str
    fork: bool
    output_schema: "str | Path | Mapping[str, Any]"
    trust: bool
    extension: "Sequence[str | Path]"
    no_extensions: bool


@cache
def flags(place: Place | None = None) -> Sequence[Flag]:
    """Return the flags of a run in the order of `--help`, or only the flags that this other program takes."""
    hints = Options.__annotations__  # values, not texts: this module evaluates its annotations
    found = [_completed(each, hints[each.name]) for each in fields(Options) if unwrapped(hints[each.name])[1]]
    return [flag for flag in found if place is None or place in flag.also]


def _completed(field: Any, hint: Any) -> Flag:
    """Return the flag in a field's annotation, completed with the field's name, type and default."""
    kind, [flag] = unwrapped(hint)
    assert isinstance(flag, Flag)
    names = flag.names or ("--" + field.name.replace("_", "-"),)
    return replace(flag, names=names, field=field.name, type=kind, default=field.default)
