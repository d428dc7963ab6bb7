"""Deny rules for files that a person adds: attachments, resources of MCP servers, slash commands from files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from agentcli.agent.ports import Prompt
from agentcli.agent.setup import Sandboxes, SessionSetup
from agentcli.core.dataclass import replace
from agentcli.core.errors import InputError
from agentcli.core.message import File, Image
from agentcli.core.record import Mode
from agentcli.core.text.words import plural
from agentcli.core.tool import Boxed, CommandSandbox, Wrap
from agentcli.permissions.denied.files import NOTHING, denial_of, paths_named, reading_denials
from agentcli.permissions.git_config import repository
from agentcli.permissions.paths import EXPOSED_NOTHING, resolved
from agentcli.permissions.rules import Rule, Rules

_SECTION = re.compile(r"(?m)^(?=diff --)")
_FILE = re.compile(r"(?:--- |\+\+\+ |rename from |rename to |copy from |copy to |diff --\w+ )(.+)")
_ESCAPED = re.compile(r"\\([0-7]{3})")
_LINES = re.compile(r":\d+(?:-\d+)?$")


def require_readable(prompt: Prompt, rules: Rules, setup: SessionSetup) -> None:
    """Require that deny rules allow reading every file, folder and image of a prompt. Raises InputError if not."""
    given = [part.path for part in prompt.parts if isinstance(part, File | Image) and part.path]
    denials = reading_denials(rules.deny, setup.tools.traits) if given else ()
    if not denials:
        return
    for name in given:
        for path in dict.fromkeys((*paths_named(name), _LINES.sub("", name))):
            if rule := denial_of(path, denials, setup.workspace):
                raise InputError(
                    f"{path} is not sent: {_forbidden(rule)}. Remove it from the prompt, or change the rule."
                )


def require_readable_uri(uri: str, rules: Rules, setup: SessionSetup) -> None:
    """Require that deny rules allow reading an address's file. Raises InputError if not."""
    denials = reading_denials(rules.deny, setup.tools.traits)
    paths = paths_named(uri) if denials else ()
    if rule := next(filter(None, (denial_of(path, denials, setup.workspace) for path in paths)), None):
        raise InputError(f"{uri} is not read: {_forbidden(rule)}. Remove it from the prompt, or change the rule.")


def readable_changes(diff: str, rules: Rules, setup: SessionSetup) -> str:
    """Return a diff without the files that deny rules keep from being read.

    git prints the diff from the top of the repository.
    """
    denials = reading_denials(rules.deny, setup.tools.traits)
    if not denials or not diff:
        return diff
    top = next(iter(repository(resolved(setup.workspace.cwd))), setup.workspace.cwd)
    sections = _SECTION.split(diff)
    kept = [
        section
        for section in sections
        if not any(denial_of(top / name, denials, setup.workspace) for name in _names(section))
    ]
    note = f"[left out: {plural(len(sections) - len(kept), 'file')} that deny rules keep from being read]\n"
    return "".join(kept) + (note if len(kept) < len(sections) else "")


def _names(section: str) -> Iterator[str]:
    """Yield the files that a diff's section may be about."""
    head = section.partition("\n@@")[0]
    for line in head.split("\n"):
        if not (found := _FILE.match(line)):
            continue
        for name in (found[1], *found[1].split(" b/"), *found[1].split(' "b/')):
            plain = name.rstrip("\t").strip('"')
            plain = (
                _ESCAPED.sub(lambda escape: chr(int(escape[1], 8)), plain)
                .encode("latin-1", "replace")
                .decode("utf-8", "replace")
            )
            yield from (plain, plain.partition("/")[2] or plain)


def shared_command(command: str, argv: Sequence[str], rules: Rules, mode: Mode, setup: SessionSetup) -> Boxed:
    """Prepare a person's own command whose output the model sees: files of deny rules are hidden from it.

    Raises InputError if it would show such a file.
    """
    if not reading_denials(rules.deny, setup.tools.traits):
        return Boxed(argv)
    outside = shared_sandbox(command, rules, mode, setup).outside
    return outside(argv) if outside is not None else Boxed(argv)


def shared_sandbox(command: str, rules: Rules, mode: Mode, setup: SessionSetup) -> CommandSandbox:
    """Return the mode's sandbox for a person's own command whose output the model sees.

    Raises InputError like `shared_command`.
    """
    return shared_sandboxes(command, rules, mode, setup).decided


def shared_sandboxes(command: str, rules: Rules, mode: Mode, setup: SessionSetup) -> Sandboxes:
    """Return the sandboxes of the mode for such a command."""
    denials = reading_denials(rules.deny, setup.tools.traits)
    if not denials:
        return setup.permissions.sandboxes(mode, NOTHING, False, EXPOSED_NOTHING)
    from agentcli.permissions.denied.commands import judge_reading, named_by
    from agentcli.permissions.shell.command_line import analyse

    line = analyse(command, setup.workspace)
    denial = judge_reading(line, denials, setup.workspace)
    if rule := named_by(line, denials, setup.workspace) or denial.rule:
        raise InputError(f"{_forbidden(rule)}, and the model would see it. !!{command} shows it only to you.")
    sandboxes = setup.permissions.sandboxes(mode, denial.hidden, False, EXPOSED_NOTHING)
    if denial.instead is None:
        return sandboxes
    note = f"[left out of what git shows, by deny rules: {', '.join(denial.left_out)}]"
    narrowed = f"printf '%s\\n' {shlex.quote(note)}\n{denial.instead.text}"

    def replaced(argv: Sequence[str]) -> list[str]:
        return [narrowed if word == command else word for word in argv]

    def within(wrap: Wrap | None) -> Wrap:
        return lambda argv: (wrap or Boxed)(replaced(argv))

    def own(argv: Sequence[str], writes: bool) -> Boxed:
        return sandboxes.own(replaced(argv), writes) if sandboxes.own is not None else Boxed(replaced(argv))

    decided = replace(sandboxes.decided, wrap=within(sandboxes.decided.wrap), outside=within(sandboxes.decided.outside))
    return replace(sandboxes, decided=decided, own=own)


def _forbidden(rule: Rule) -> str:
    return f"the rule {rule} from {rule.origin} keeps it from being read"
