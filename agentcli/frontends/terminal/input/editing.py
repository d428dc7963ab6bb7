"""The user's editor, another program: run on a text or at a line of a file."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from agentcli.core.text.encodings import readable

_OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("code", "code-insiders", "codium", "cursor", "windsurf"), ("-g", "{file}:{line}")),
        **dict.fromkeys(("hx", "helix", "subl", "zed", "zeditor"), ("{file}:{line}",)),
        **dict.fromkeys(("idea", "pycharm", "goland", "webstorm", "clion"), ("--line", "{line}", "{file}")),
    }
)
"""Arguments of editors that do not accept `+LINE FILE`, as vi, nano and emacs do."""


class ExternalEditor:
    """The editor of $VISUAL or $EDITOR in this program's terminal, which paints nothing `elsewhere` meanwhile; `warn`
    prints an error.
    """

    def __init__(
        self, elsewhere: Callable[[], contextlib.AbstractContextManager[None]], warn: Callable[[str], None]
    ) -> None:
        self._elsewhere, self._warn = elsewhere, warn

    async def compose(self, text: str, ending: str = ".md") -> str:
        """Open a text; return the edited text, or warn and return it unchanged if the editor fails."""
        with tempfile.TemporaryDirectory(prefix="agentcli-") as folder:
            file = Path(folder, "text" + ending)
            file.write_text(text, encoding="utf-8")
            code = await self._run(str(file))
            with contextlib.suppress(OSError):
                if code == 0:
                    return readable(file.read_bytes()).rstrip("\n")
        why = f"ended with exit code {code}" if code else "left no text behind"
        self._warn(f"{editor()} {why}, so nothing was changed. Set VISUAL or EDITOR to an editor that works.")
        return text

    async def open_file(self, file: Path, line: int) -> None:
        """Open a file at a line."""
        if code := await self._run(*at_line(editor(), file, line)):
            why = f"{editor()} ended with exit code {code}"
            self._warn(f"{why}. Set VISUAL or EDITOR to an editor that works, or open {file}:{line} yourself.")

    async def _run(self, *arguments: str) -> int:
        """Run the editor; its exit code."""
        from prompt_toolkit.application import in_terminal

        async with in_terminal():
            with self._elsewhere():
                process = await asyncio.create_subprocess_exec("sh", "-c", f'{editor()} "$@"', "sh", *arguments)
                return await process.wait()


def editor(environment: Mapping[str, str] = os.environ) -> str:
    """Return the command of the user's editor."""
    return environment.get("VISUAL") or environment.get("EDITOR") or "vi"


def at_line(command: str, file: Path, line: int) -> tuple[str, ...]:
    """Return the arguments that open a file at a line."""
    program = Path(command.split()[0]).name if command.split() else ""
    return tuple(one.format(file=file, line=line) for one in _OPTIONS.get(program, ("+{line}", "{file}")))
