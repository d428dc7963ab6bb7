"""What can be done with the draft besides editing it: find an earlier prompt, use another editor, attach a picture, keep it."""

from __future__ import annotations

from pathlib import Path

from agentcli.core.errors import AgentError
from agentcli.ui import clipboard
from agentcli.ui.console import Console
from agentcli.ui.dialogs import Choice
from agentcli.ui.memory import Memory

SEARCHED = 1_000
"""Characters of an earlier prompt that are searched and shown."""


class Drafting:
    """`folder` is where prompts, drafts and pictures lie; without one they last as long as the program. `limit` prompts are kept."""

    def __init__(self, console: Console, folder: Path | None, limit: int) -> None:
        self._console, self._editor, self._folder = console, console.editor, folder
        self.memory = Memory(folder, limit)

    def bring_back(self) -> None:
        """What was typed in a program that broke off comes back into its session, else behind the Up key."""
        own, others = self.memory.lost(self._console.desk.journal.id)
        if own and not self._editor.draft.text:
            self._console.draft(own)
            self._console.notice("This is what you were typing when the session broke off.")
        elif own:
            self.memory.remember(own)
        if others or (own and self._editor.draft.text != own):
            self._console.notice("What was typed in a session that broke off is behind Up.")
        self._editor.remember(self.memory.texts)

    def keep(self) -> None:
        """Have the draft on disk as it is now."""
        self.memory.keep(self._editor.pastes.unfold(self._editor.draft.text), self._console.desk.journal.id)

    def leave(self) -> None:
        """A draft that is not sent is a prompt of the past from now on."""
        if self._editor.draft.text.strip():
            self.memory.remember(self._editor.take())
        self.memory.close()

    async def search(self) -> None:
        """Choose from the earlier prompts of all sessions and projects, newest first."""
        seen = self.memory.newest_first
        choices = [Choice(one.text[:SEARCHED].replace("\n", " ⏎ "), one.folder) for one in seen]
        chosen = await self._console.pick("Earlier prompts", choices)
        if chosen is not None:
            self._console.draft(seen[chosen].text)

    async def edit(self) -> None:
        """Write on in the person's own editor."""
        self._console.draft(await self._console.compose(self._editor.pastes.unfold(self._editor.draft.text)))

    async def attach(self) -> None:
        """Attach the picture that is on the clipboard."""
        if self._folder is None:
            return
        try:
            self._editor.attach(await clipboard.save_picture(self._folder / "pictures"))
        except AgentError as error:
            self._console.notice(str(error))
