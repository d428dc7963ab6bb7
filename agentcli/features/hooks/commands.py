"""The slash command of hooks, and the reports on them. They show hooks in force, hooks that wait for approval, and
problems of their files.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

from agentcli.agent.project.places import folders
from agentcli.agent.session import AgentSession
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import UsageError
from agentcli.core.sanitise import safe_line
from agentcli.core.text.words import none_of
from agentcli.features.hooks.files import Hook, configured
from agentcli.features.hooks.loaded import loaded, project_hooks
from agentcli.features.hooks.settings import HookSettings
from agentcli.program.approvals import answers
from agentcli.program.commands import Context, Output, Said, command
from agentcli.program.consent import decide, undecided
from agentcli.program.feature import Row
from agentcli.program.project import Project

NO_HOOKS = none_of("hooks", "hooks")


@command("Extensions", at_once=True, former="hooks")
async def hooks(context: Context, argument: str) -> AsyncIterator[Output]:
    """List the hooks with their files and last results: /extensions hooks [approve]

    Hooks are commands that run at events of the session: `agentcli help hooks`. `/extensions hooks approve` asks again about each hook or
    server of this project that was declined or not yet approved. `agentcli hooks test` runs hooks on an event of your choice.
    """
    if argument not in ("", "approve"):
        raise UsageError("/extensions hooks takes only `approve`, or no argument.")
    if not argument:
        yield Said(await asyncio.to_thread(lines, context.program, context.session))
        return
    terminal = context.only_in_terminal("/extensions hooks approve")
    found = undecided(context.program, declined=True)
    if not found:
        yield Said(["Nothing in this project needs your approval."])
        return
    given = await answers(found, terminal.confirm)
    settled = decide(context.program, context.session, given)
    if settled is not context.session:
        await terminal.move_to(settled)
    approved = [str(one) for one, yes in given if yes]
    yield Said([f"Approved: {'; '.join(approved)}." if approved else "Nothing was approved."])


@dataclass(frozen=True, slots=True)
class Listed:
    """One hook in a list: `state` is `active`, or why it does not run."""

    hook: Hook
    state: str


def listed(program: Project) -> tuple[list[Listed], Sequence[str]]:
    """Return all hooks in order of precedence, with notes about skipped entries."""
    found = loaded(program)
    own = [*configured(program.config[HookSettings]), *found.hooks]
    waiting = [hook for hook in project_hooks(program).hooks if not program.approvals.allows(hook.definition)]
    return [*(Listed(hook, "active") for hook in own), *(Listed(hook, "not approved") for hook in waiting)], found.notes


def lines(program: Project, session: AgentSession) -> list[str]:
    """Describe a session's hooks to people, with the last result of each."""
    hooks, notes = listed(program)
    shown = [_line(one, session.core.hooks.last.get(one.hook, "")) for one in hooks]
    if any(one.state != "active" for one in hooks):
        shown.append("/extensions hooks approve asks about unapproved ones.")
    return [*(shown or [NO_HOOKS]), *notes]


def rows(program: Project) -> Iterator[Row]:
    """Return doctor's rows (name, fine or not, detail): one for each hook, and one for each problem."""
    hooks, notes = listed(program)
    for note in notes:
        yield "hooks", False, note
    for one in hooks:
        about = f"{_on(one.hook)} of {one.hook.source}: {safe_line(one.hook.line)}"
        missing = _missing(one.hook, program)
        state = f"{missing} was not found" if missing and one.state == "active" else one.state
        yield f"hook {one.hook.name}", state == "active", f"{about} ({state})"


def _missing(hook: Hook, program: Project) -> str:
    """Return the missing program or script that a hook would start, by its full path; empty if none is missing."""
    if hook.kind != "command":
        return ""
    root = str(hook.folder or next(iter(folders(program.cwd))))
    known = {**program.given_env, "CLAUDE_PROJECT_DIR": root, "AGENTCLI_PROJECT_DIR": root, **dict(hook.env)}
    first, *others = [_filled(word, known) for word in hook.words] or [""]
    path = known.get("PATH")
    if hook.args is not None or _PLAIN.fullmatch(first):
        builtin = hook.args is None and first in _BUILT_IN
        if not builtin and shutil.which(str(program.cwd / first) if "/" in first else first, path=path) is None:
            return safe_line(first)
    scripts = (word for word in others if word.startswith("/") and _SCRIPT.search(word) and not os.path.exists(word))
    return safe_line(next(scripts, ""))


def _filled(word: str, known: Mapping[str, str]) -> str:
    """Expand the known variables in a word of a command line."""
    return re.sub(r"\$\{?(\w+)\}?", lambda found: known.get(found[1], found[0]), word)


_PLAIN = re.compile(r"[\w./+-]+")
_SCRIPT = re.compile(r"\.(?:py|sh|bash|zsh|js|mjs|ts|rb|pl)$")
_BUILT_IN = frozenset({
    ".", ":", "[", "cd", "command", "echo", "eval", "exec", "exit", "export", "false", "if", "for", "case", "while",
    "until", "printf", "read", "set", "source", "test", "true", "type", "ulimit", "umask", "unset",
})  # fmt: skip
"""Words that the shell itself knows."""


def _on(hook: Hook) -> str:
    return f"{hook.event} {safe_line(hook.matcher)}" if hook.matcher not in ("", "*") else hook.event


def _line(one: Listed, result: str) -> str:
    last = f" · last: {result}" if result else ""
    state = "" if one.state == "active" else f" · {one.state}"
    return f"{_on(one.hook)}  {safe_line(one.hook.line)}  ({one.hook.source}){state}{last}"


COMMANDS = (hooks,)
