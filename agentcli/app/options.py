"""The options of a run as one value: the same for the REPL, `-p`, `resume` and `demo`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Flags of a run. Empty and None mean "not given": configuration decides then.

    `then` are said after `prompt`, one after the other; `/compress` and its like are among them carried out. `session` is what `resume` was
    asked for: None for a new session, "" for a choice, "--last" for the newest of this project. `session_id` is the id of a new
    session. `agent` names the definition that the session works by. `handoff` is what comes
    next in a new session that goes on from it; None where it goes on itself.
    """

    prompt: str | None = None
    then: tuple[str, ...] = ()
    print: bool = False
    session: str | None = None
    fork: bool = False
    handoff: str | None = None
    model: str = ""
    mode: str = ""
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    cwd: str = ""
    add_dirs: tuple[str, ...] = ()
    mcp_config: tuple[str, ...] = ()
    output_format: Literal["text", "json", "stream-json"] = "text"
    max_turns: int | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    max_time: float | None = None
    system_prompt: str | None = None
    append_system_prompt: str = ""
    agent: str = ""
    settings: tuple[str, ...] = ()
    no_session: bool = False
    session_id: str = ""
    trust: bool = False
    plain: bool = False
    demo: bool = False

    @property
    def restates_system(self) -> bool:
        """True if this run asks for a system prompt of its own, also where a session goes on that has one."""
        return self.system_prompt is not None or bool(self.append_system_prompt or self.add_dirs or self.agent)

    @property
    def overrides(self) -> Mapping[str, Any]:
        """Settings that flags stand for, by their key in the configuration."""
        given = {"model": self.model, "mode": self.mode}
        return {key: value for key, value in given.items() if value}


LAST = "--last"
