"""Fill templates with arguments, command output, and files; each command and file is judged like a call of the model."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from agentcli.agent.calls.execute import CallStages
from agentcli.agent.core import SessionCore
from agentcli.agent.project.places import read_text
from agentcli.context.inject import wrap
from agentcli.core.errors import InputError
from agentcli.core.event import ToolProgress
from agentcli.core.message import GOES_ON, File, Part, Text, ToolCall
from agentcli.core.tool import NO_OUTPUT
from agentcli.permissions.rules import exact
from agentcli.program.prompt_files.template import Argument, Arguments, FileName, Shell, Variable, takes_arguments
from agentcli.program.prompt_files.template import Part as TemplatePart
from agentcli.system import probe
from agentcli.system.regular_file import Unusable

SHELLS = 20
"""Commands in one template at most."""
SHELL_SECONDS = 120
FILE_CHARACTERS = 100_000
"""Characters of an attached file at most."""
_NAME_CHARACTERS = 4_000


class Filler:
    """Fills the parts of one template. `what` is its name in messages: `Command /x`."""

    def __init__(self, what: str, core: SessionCore, call_id: str) -> None:
        stages = core.ctx.service(CallStages)
        assert stages is not None
        self._what, self._core, self._stages, self._call_id = what, core, stages, call_id
        self._commands = 0

    async def fill(self, parts: Sequence[TemplatePart], given: Arguments, ending: str) -> tuple[Part, ...]:
        """Return the parts of a message: the text, filled with command output and files, and attached files before it.

        `ending` is added to a template that takes no arguments. Raises InputError for a command that may not run, or
        fails.
        """
        attached: list[Part] = []
        done: list[Part] = []
        for part in parts:
            match part:
                case Shell(inner, quoted, may_fail):
                    command = "".join(given.fill(one, quoted) for one in inner)
                    output = await self._output(command, may_fail)
                    done.append(Text(wrap("shell-output", output, command=command), True, "inline"))
                case FileName(inner, inline):
                    name = "".join(given.fill(one) for one in inner)
                    file = await self._file(name)
                    if file is not None and inline:
                        done.append(Text(wrap("file", file.text, path=file.path), True, "inline"))
                        continue
                    if file is not None:
                        attached.append(file)
                    done.append(Text(f"@{{{name}}}" if inline else f"@{name}"))
                case str() | Argument() | Variable():
                    done.append(Text(given.fill(part)))
        if ending and not takes_arguments(parts):
            done.append(Text(ending))
        return (*attached, *_joined(done))

    async def _output(self, command: str, may_fail: bool) -> str:
        """Return the output of a command that a file requests; for a failed command only if it may fail."""
        self._commands += 1
        if self._commands > SHELLS:
            raise InputError(f"{self._what} has more than {SHELLS} commands in it. Take some out.")
        if not self._stages.has("bash"):
            raise InputError(f"{self._what} wants to run `{command}`, but there is no bash here.")
        call = ToolCall(
            f"{self._call_id}-{self._commands}", "bash", {"command": command, "timeout": SHELL_SECONDS * 1000}
        )
        permitted = await self._stages.permitted(call)
        if permitted.why_refused:
            if not self._core.setup.person.attended:
                advice = f"allow it with --allow 'bash({exact(command)})'"
                why = permitted.event.why if permitted.event else permitted.why_refused.rstrip(".")
                raise InputError(f"{self._what} wants to run {command}; {advice}. {why}.")
            raise InputError(f"{self._what} was not run, since it wants to run {command}: {permitted.why_refused}")
        result = (await self._stages.run_unrecorded(permitted)).output
        assert result is not None
        self._drop_progress(call.call_id)
        failed = may_fail and result.status == "error" and result.metadata.get("exit_code")
        if (result.status != "success" and not failed) or result.metadata.get("job"):
            raise InputError(f"{self._what} was not sent, since {command} failed:\n{result.output}")
        return "" if result.output == NO_OUTPUT else result.output.rstrip("\n")

    def _drop_progress(self, call_id: str) -> None:
        """Remove the progress of a command that is not a call of a reply from the output of running tools."""
        printed = self._core.printed
        for event in printed.take():
            if not (isinstance(event, ToolProgress) and event.call_id == call_id):
                printed.add(event)

    async def _file(self, name: str) -> File | None:
        """Return the file of that name.

        Return None if it does not exist or may not be read: then the name is just a word.
        """
        if not self._stages.has("read") or not name or len(name) > _NAME_CHARACTERS:
            return None
        path = self._core.ctx.cwd / os.path.expanduser(name)
        try:
            if not probe.is_file(path):
                return None
        except (OSError, ValueError):
            return None
        call = ToolCall(f"{self._call_id}-file", "read", {"file_path": str(path)})
        permitted = await self._stages.permitted(call)
        if permitted.why_refused or not permitted.paths:
            return None
        return await asyncio.to_thread(_read, permitted.paths[0])


def _read(path: Path) -> File | None:
    try:
        text = read_text(path)
    except Unusable:
        return None
    cut = GOES_ON if len(text) > FILE_CHARACTERS else ""
    return File("text/plain", str(path), text[:FILE_CHARACTERS] + cut)


def _joined(parts: Sequence[Part]) -> list[Part]:
    """Join neighbouring texts of one kind."""
    result: list[Part] = []
    for part in parts:
        last = result[-1] if result else None
        if isinstance(part, Text) and isinstance(last, Text) and not part.synthetic and not last.synthetic:
            result[-1] = Text(last.text + part.text)
        elif not isinstance(part, Text) or part.text:
            result.append(part)
    return result
