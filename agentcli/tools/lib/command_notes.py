"""Notes on a command for the model: how it ended, what its sandbox refused, and which program needs a terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from agentcli.core.message import PIPE_CLOSED, exit_in_pipe
from agentcli.core.text.words import plural
from agentcli.core.tool import (
    CommandSandbox,
    ToolLimits,
    ToolOutput,
)
from agentcli.system import probe
from agentcli.system.process import Ended

# Patterns for commands and their outputs, compiled when first used: few commands need all of them.
_QUOTED = r"""(?s)'[^']*'|"(?:[^"\\]|\\.)*\""""
_TERMINAL_PROGRAM = (
    r"(?:^|[;&|({`\n]\s*)(?:(?:\w+=\S*|sudo|env|time|nohup|command|exec|nice|timeout\s+\S+)\s+)*(?:/(?:[\w.]+/)+)?"
    r"(vim?(?!\s+-[eE]s)|nvim(?!\s+(?:-[eE]s|--headless))|nano|pico|emacs(?!\s+--?batch)|top(?!\s+-\S*b)|"
    r"watch|htop|btop|tmux(?!\s+\w)|screen(?!\s+-(?:ls|d))|mc|ranger|lazygit|tig)(?=[\s;&|)}`]|$)(?!\s+(?:--version|--help|-V))"
)
_NO_TERMINAL = (
    r"(?i)not a (?:tty|terminal)|no tty present|inappropriate ioctl|cannot open /dev/tty|/dev/tty: no such device|failed tty get|"
    r"error opening terminal|terminal (?:unknown|is not fully functional)|EOF when reading a line|a terminal is required|"
    r"press \^C at any time to quit|new password:|output is not to a terminal|\[y/n\][)?: ]*$"
)
_BLOCKED = (
    r"(?i)[^\n]*(?:read-only file system|permission denied|operation not permitted|(?-i:\b(?:EROFS|EACCES|EPERM)\b)|(?P<network>"
    r"network is unreachable|could not resolve|name resolution|getaddrinfo|no such host|lookup address|no route to host|"
    r"(?-i:\b(?:ENETUNREACH|EAI_AGAIN|ENOTFOUND)\b)))[^\n]{0,100}"
)
_SETTINGS_KEPT = r"could not (?:write|lock) config file [^\n]*\.git/config: Device or resource busy"
_UNAUTHORISED = r"(?i)[^\n]*(?:\b401\b|\bE401\b|unauthori[sz]ed|ENEEDAUTH|authentication (?:failed|required)|could not read username)[^\n]{0,100}"
_REFUSED = r"(?i)[^\n]*(?:connection refused|(?-i:\bECONNREFUSED\b)|failed to connect|can't connect|could not connect)[^\n]{0,100}"
_BARRED = r"(?i)[^\n]*(?:\b403\b|forbidden|remote rejected|connection timed out)[^\n]{0,100}"
_MISSING = r"(?i)[^\n]*(?:no such file|(?-i:\bENOENT\b)|not found|does not exist|cannot find|can't find)[^\n]*"
_NAMED = r"(?:~|/)[^\s'\"`:,;()<>]+"
READ_ONLY = r"(?i)[^\n]*(?:read-only file system|\bEROFS\b)[^\n]{0,100}"
"""Pattern for the error of a command that wrote where it may only read."""
_PATH = r"[^\s'\"`‘’:,;()<>]*[/.][^\s'\"`‘’:,;()<>]*"
_PORT = r"(?i)(?:localhost|127\.0\.0\.1|\[?::1\]?|0\.0\.0\.0)\"?(?::|,? port:? |\D{0,3}port \(?)(\d{2,5})"
LACKS = "No module named"
"""What Python says of a module that is not installed."""
_NO_MODULE = rf"{LACKS} '?([A-Za-z_]\w*)(?!\w|\.\w)"
"""A missing module. Of a missing part of a package (`a.b`), Python has found the package."""
_ENVIRONMENTS = (".venv", "venv")
_TAIL = 4_000
"""Characters at the end of an output to search for reasons."""
HELD = "[it ran in a sandbox, which {limit}. If that is why it failed: {next}]"
REFUSED = "[network: {hosts}{next}]"
NO_NETWORK = "reaches no network but servers that you started, and hosts that a network(HOST) rule allows"
FETCHING = "; a command that only fetches packages, such as `cargo fetch` or `go mod download`, reaches its registry"
NO_WRITING = "can write only in the workspace and /tmp, and not in .git and other protected files"
NO_SEEING = "sees nothing of the home folder but programs and what the command or rules about read name"
KEPT_IN = "the user did not let it run outside. Do it another way, or leave it out and say so"
NOBODY = "no one can let it run outside. Do it another way, or leave it out and say at the end what could not be run"


def needs_terminal(command: str) -> str:
    """Return the program in a command that is useless without a terminal, or an empty text. Quoted text is ignored."""
    found = re.search(_TERMINAL_PROGRAM, re.sub(_QUOTED, "_", command))
    return found.group(1) if found else ""


def credentials_missing(output: str) -> str:
    """Return the line in which a command reports missing credentials; empty if there is none."""
    found = re.search(_UNAUTHORISED, output[-_TAIL:])
    return found.group().strip() if found else ""


def out_of_reach(output: str) -> str:
    """Return the lines that report the lack of a network, another host or a login; empty for none."""
    tail = output[-_TAIL:]
    lines = [found.group() for found in re.finditer(_BLOCKED, tail) if found["network"]]
    lines += [line for line in re.findall(_REFUSED, tail) if not re.search(_PORT, line)]
    return "\n".join([*lines, *re.findall(_UNAUTHORISED, tail), *re.findall(_BARRED, tail)])


def blocked_by_sandbox(command: str, outcome: ToolOutput, sandbox: CommandSandbox) -> str:
    """Return the line with which a failed command reports an error of the sandbox; empty if there is none.

    A refused connection counts only if a program outside serves the port. If a pipe or `$?` hides the failure, only a
    missing network and a read-only file system count.
    """
    failed = outcome.status == "error" and bool(outcome.metadata["exit_code"])
    if not failed and not exit_in_pipe(outcome.metadata) and "$?" not in command:
        return ""
    tail = outcome.output[-_TAIL:]
    for found in re.finditer(_BLOCKED, tail):
        if found["network"] and sandbox.opens_network:
            continue
        if failed or found["network"] or re.search(READ_ONLY, found.group()):
            return found.group().strip()
    if not failed:
        return ""
    for missing, _ in _hidden(tail, sandbox):
        return missing
    refused = re.search(_REFUSED, tail)
    ports = {int(port) for port in re.findall(_PORT, refused.group())} if refused else set()
    return refused.group().strip() if refused and not all(map(sandbox.same_port, ports)) else ""


def is_held(reason: str, sandbox: CommandSandbox, cwd: Path) -> bool:
    """Return True if only the sandbox can have caused an error.

    The path in its line is hidden, or is on a read-only file system inside only. Other errors may have other causes,
    such as the mode of a file.
    """
    if re.search(READ_ONLY, reason):
        named = [cwd / os.path.expanduser(name) for name in re.findall(_PATH, reason)]
        return bool(named) and all(map(_can_be_written, named))
    return any(True for _ in _hidden(reason, sandbox))


def _can_be_written(path: Path) -> bool:
    """Return True if a path is on no read-only file system outside the sandbox."""
    there = next(folder for folder in (path, *path.parents) if probe.exists(folder))
    return not os.statvfs(there).f_flag & os.ST_RDONLY


def _hidden(tail: str, sandbox: CommandSandbox) -> Iterator[tuple[str, str]]:
    """Yield the lines that report a path as missing that the sandbox hides, each with the path."""
    for missing in re.finditer(_MISSING, tail):
        for path in filter(sandbox.unseen, re.findall(_NAMED, missing.group())):
            yield missing.group().strip(), path


def hidden_unless_named(outcome: ToolOutput, sandbox: CommandSandbox) -> str:
    """Return the note on a hidden path that a failed command should have named; empty if there is none."""
    if outcome.status != "error":
        return ""
    hidden = (path for _, path in _hidden(outcome.output[-_TAIL:], sandbox))
    for path in filter(sandbox.nameable, hidden):
        return f"[{path} is hidden from commands that do not name it: pass it as an argument, or in a variable]"
    return ""


def in_environment(output: str, folders: Sequence[Path]) -> str:
    """Return the note on a Python module that only a virtual environment of the project has; empty for none."""
    for module in re.findall(_NO_MODULE, output[-_TAIL:]):
        for place in (folder / name for folder in folders for name in _ENVIRONMENTS):
            packages = place.glob("lib/python3*/site-packages")
            if any(_has_module(each, module) for each in packages):
                return f"[{module} is installed in {place.name}: run it with {place.name}/bin/python]"
    return ""


def _has_module(packages: Path, module: str) -> bool:
    """Return True if a folder of packages has a module, or an editable install of that name."""
    return (
        probe.is_dir(packages / module)
        or probe.is_file(packages / f"{module}.py")
        or any(packages.glob(f"{module}-*.dist-info"))
    )


def with_cause(outcome: ToolOutput, reason: str, refused: Sequence[str], after: str, *, gated: bool) -> ToolOutput:
    """Add the refused hosts to a command's output. If `reason` says that it failed by the sandbox, add what to do `after` it.

    `gated` is true if another command, which only fetches packages, would reach their registry.
    """
    hosts = "; ".join(refused[:5])
    found = re.search(_BLOCKED, reason)
    limit = NO_SEEING if re.search(_MISSING, reason) else NO_NETWORK + FETCHING * gated
    if found is not None and not found["network"]:
        limit = NO_WRITING
    by_host = bool(hosts) and limit.startswith(NO_NETWORK)
    notes = (
        [REFUSED.format(hosts=hosts, next=f". If that is why it failed: {after}" * bool(reason and by_host))]
        if hosts
        else []
    )
    if reason and not by_host:
        notes.append(HELD.format(limit=limit, next=after))
    return replace(outcome, output="\n".join([outcome.output.rstrip("\n"), *notes])) if notes else outcome


def with_sandbox_notes(outcome: ToolOutput, sandbox: CommandSandbox) -> ToolOutput:
    """Add notes about the sandbox that the model needs."""
    notes = [sandbox.note, sandbox.if_failed if outcome.status == "error" else ""]
    return (
        replace(outcome, output="\n".join([outcome.output.rstrip("\n"), *filter(None, notes)]))
        if any(notes)
        else outcome
    )


def notes_on(text: str, ended: Ended, seconds: float, limits: ToolLimits) -> list[str]:
    notes = []
    match ended.why:
        case "timeout":
            notes.append(f"[stopped: not done after {seconds:g} s. Give it a longer timeout, or run_in_background]")
        case "idle":
            notes.append(
                f"[stopped: nothing printed for {limits.bash_idle:g} s. If it waited for input: there is none]"
            )
        case "interrupted":
            notes.append("[interrupted by the user; it may or may not have taken effect]")
        case "exit":
            if ended.exit_code != 0:
                notes.append(f"[exit code {ended.exit_code}]" if ended.exit_code is not None else "[killed]")
    if ended.left:
        notes.append(
            f"[stopped what it left running ({plural(ended.left, 'process')}); use run_in_background for what should go on]"
        )
    if ended.exit_code == 0 and re.search(_SETTINGS_KEPT, text[-_TAIL:]):
        notes.append("[the sandbox protects .git/config: git did the rest, and left these settings as they were]")
    if ended.exit_code != 0 and _wanted_terminal(text):
        notes.append("[it seems to want a terminal or input, and there is none: use options such as -y or --batch]")
    return notes


def hidden_in_pipe(exits: Sequence[int]) -> list[str]:
    """Return the note on a part that failed in a pipe that succeeded and printed nothing.

    Code 1 is no failure: searches and comparisons end with it.
    """
    hidden = any(code not in (0, 1, PIPE_CLOSED) for code in exits)
    return [f"[no output; the parts of the pipe ended with {', '.join(map(str, exits))}]"] if hidden else []


def _wanted_terminal(output: str) -> bool:
    """Return True if a program complains about a missing terminal or input."""
    return re.search(_NO_TERMINAL, output[-_TAIL:]) is not None


def made_protected(created: Sequence[str]) -> str:
    """Return the note on protected files that a command created unasked; empty if it created none."""
    return (
        f"[it made protected files: {', '.join(created)}. They may start programs or hold secrets: tell the user]"
        if created
        else ""
    )


def with_protected_files(outcome: ToolOutput, created: Sequence[str]) -> ToolOutput:
    """Add a note on protected files that a command created without approval.

    No sandbox can forbid a name that does not exist yet.
    """
    if not created:
        return outcome
    note = made_protected(created)
    output = "\n".join([outcome.output.rstrip("\n"), note])
    return replace(outcome, output=output, metadata={**outcome.metadata, "protected": list(created)})
