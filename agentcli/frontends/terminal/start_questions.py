"""Questions at the start of a session with a person.

The very first start offers to import the settings of other agents. The next question is about trust in the folder. The
others approve each thing that it would start.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from agentcli.core.errors import AgentError
from agentcli.core.sanitise import display_path, safe_line
from agentcli.core.text.words import plural
from agentcli.program.approvals import answers
from agentcli.program.consent import decide, reopened, trust_folder, undecided
from agentcli.program.extras import extra
from agentcli.program.project_rules import entries_without_effect, offered_rules, restrictions
from agentcli.program.trust import what_it_would_load
from agentcli.system import probe
from agentcli.system.paths import replace_file

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.program.approvals import Confirm
    from agentcli.program.definition import Definition
    from agentcli.program.program import Program

Choose = Callable[[str, Sequence[str], Sequence[str]], Awaitable[int]]
"""Asks a question about lines of text; returns the answer's index; the last answer is the default."""
Select = Callable[[str, Sequence[tuple[str, str]]], Awaitable[frozenset[int]]]
"""Asks which of these items, each a name and its details, are meant; returns their indices."""
TRUST = "Trust this folder? It contains settings that change how agentcli works:"
READ_ANYWAY = "Instruction files such as AGENTS.md are read either way."
LOAD, WITHOUT = "Yes, load them", "No, start without them"
START = "What may this project start?"
NOT_LOADED = "Project settings not loaded. To load them once: `agentcli --trust`."
OFFERED = "import-offered"
"""File in the state folder: the settings of other agents were offered for import."""
IMPORT = "Import settings of other agents?"
UNCHANGED = "Their files stay as they are, and keys are not copied. /import shows each entry."
TAKE, LEAVE = "Yes, import them", "No, and don't ask again"
AUTO = "Shift-Tab switches modes; auto runs ordinary commands in the sandbox without asking."
TIGHTENS = "Its rules that deny or ask apply either way"


async def settle(
    program: Program,
    session: AgentSession,
    choose: Choose,
    confirm: Confirm,
    say: Callable[[str], None],
    move_to: Callable[[AgentSession], Awaitable[None]],
    select: Select | None = None,
) -> None:
    """Ask about everything in the folder without an answer, and continue with everything approved.

    With `select`, one question lists everything that the folder would start.
    """
    try:
        if (imported := await _with_imports(program, session, choose, say)) is not session:
            session = imported
            await move_to(session)
        if found := _unloaded(program):
            tightening = restrictions(program, program.traits)
            rules = await _trusted(offered_rules(program, program.traits), tightening, found, choose)
            if rules is None:
                still = f" Its {plural(len(tightening), 'rule')} that deny or ask still apply." if tightening else ""
                say(f"{NOT_LOADED}{still}")
                return
            session = trust_folder(program, session, rules)
            await move_to(session)
            if rules:
                say(
                    f"Saved {_counted(rules)} for this project. `/permissions` lists them, `/permissions remove` takes one back."
                )
            if unused := _without_effect(program):
                say(unused)
        if waiting := undecided(program):
            settled = decide(program, session, await _together(waiting, confirm, select))
            if settled is not session:
                await move_to(settled)
    except AgentError as error:
        say(str(error))


async def _with_imports(
    program: Program, session: AgentSession, choose: Choose, say: Callable[[str], None]
) -> AgentSession:
    """Offer the settings of other agents once; return the session with the imported ones in force."""
    mark = program.dirs.state / OFFERED
    if program.options.no_session or program.options.demo or probe.exists(mark):
        return session
    if not (names := extra("programs with a folder")(program.home, program.given_env)):
        return session
    plan = await asyncio.to_thread(lambda: extra("plan of an import")(program, names))
    if not plan.new:
        return session
    taken = await choose(IMPORT, [*extra("an import in brief")(plan), UNCHANGED], [TAKE, LEAVE]) == 0
    replace_file(mark, "", mode=0o600)
    if taken:
        await asyncio.to_thread(extra("import"), plan, program.dirs.config)
        program.reload()
        left = f" /import lists {len(plan.skipped)} that were left out." if plan.skipped else ""
        say(f"Imported {plural(len(plan.new), 'entry')} to {display_path(program.dirs.config)}.{left}")
        session = reopened(program, session, "Restart agentcli to use what was imported.")
    else:
        say("Nothing was imported. /import does it later.")
    if session.report.status().sandboxed and session.core.approval.mode != "auto":
        say(AUTO)
    return session


def _unloaded(program: Program) -> Sequence[str]:
    """Return the files that trusting the folder would load, one line each; empty if it is trusted or has none."""
    if program.trusted:
        return []
    here = f"{os.path.realpath(program.cwd)}{os.sep}"
    files = [str(found).removeprefix(here) for found in what_it_would_load(program.cwd)]
    return [*files, *program.running_its_code]


def _without_effect(program: Program) -> str:
    """Return a line about the project's entries for other programs that have no effect here.

    Return an empty line if there are none.
    """
    if not (count := entries_without_effect(program)):
        return ""
    have, named = ("has", "names it") if count == 1 else ("have", "lists them")
    which = f"{plural(count, 'entry')} of the project's settings for other programs"
    return f"{which} {have} no effect here; `agentcli doctor` {named}."


async def _trusted(
    rules: Sequence[str], restrictions: Sequence[str], found: Sequence[str], choose: Choose
) -> Sequence[str] | None:
    """Ask for trust in the folder. Return the allow rules that the person accepts, or None without trust.

    A project's allow rules never apply by themselves. A yes saves the rules in the question among the project's
    answers, outside the repository. Rules that the project adds later are not among them.
    """
    listed = (
        [f"Its allow rules, which apply only if you save them: {', '.join(map(safe_line, rules))}"] if rules else []
    )
    listed += [f"{TIGHTENS}: {', '.join(map(safe_line, restrictions))}"] if restrictions else []
    also = [f"Yes, also its {_counted(rules)}"] if rules else []
    match await choose(TRUST, [*found, *listed, READ_ANYWAY], [LOAD, *also, WITHOUT]):
        case 0:
            return ()
        case 1 if rules:
            return rules
        case _:
            return None


def _counted(rules: Sequence[str]) -> str:
    return plural(len(rules), "allow rule")


def end_reason(following: AgentSession) -> str:
    """Return the reason that hooks get for the end of a session, given the session that replaces it."""
    return (
        following.conversation.hooked.source if following.conversation.hooked.source in ("clear", "resume") else "other"
    )


async def _together(
    found: Sequence[Definition], confirm: Confirm, select: Select | None
) -> list[tuple[Definition, bool]]:
    if select is None or len(found) < 2:
        return await answers(found, confirm)
    meant = await select(START, [(str(one), safe_line(one.starts)) for one in found])
    return [(one, number in meant) for number, one in enumerate(found)]
