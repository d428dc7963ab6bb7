"""Dialogs, one at a time: the model's questions, pickers, confirmations."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from agentcli.core.sanitise import safe
from agentcli.core.tool import Question
from agentcli.ui.dialogs.dialogs import Cancelled, Choice, Dialog, Outcome, Picked, matching, press
from agentcli.ui.input.editor import Editor
from agentcli.ui.render.cells import wrap
from agentcli.ui.terminal.screen import Screen

PAUSE = 0.5
"""Seconds without a key after which a person who was typing is taken to have seen the question."""
_DROPPED = "Ignored keys typed before this question appeared."


class Asking:
    """Shows dialogs in place of the input. `stop` is called when one is cancelled by Ctrl-C."""

    def __init__(self, screen: Screen, editor: Editor, stop: Callable[[], None], bell: Callable[[str], None]) -> None:
        self._screen, self._editor, self._stop, self._bell = screen, editor, stop, bell
        self.turn = asyncio.Lock()
        self.interrupted = False
        """True if Ctrl-C cancelled the last dialog."""
        self._over: asyncio.Future[Outcome] | None = None
        self._refine: Callable[[str], Dialog] | None = None
        self._again: Callable[[], Dialog] | None = None
        self._deaf_until = 0.0

    async def ask_user(self, questions: Sequence[Question]) -> Sequence[str] | None:
        """Ask the model's questions. Esc skips one, whose answer is empty; no answers if all are skipped, or by Ctrl-C."""
        answers: list[str | None] = []
        async with self.turn:
            self._bell("agentcli asks a question")
            for number, question in enumerate(questions, 1):
                suffix = f" ({number} of {len(questions)})" if len(questions) > 1 else ""
                answer = await self._question(question, suffix)
                if self.interrupted:
                    return ()
                answers.append(answer)
        return () if all(answer is None for answer in answers) else [answer or "" for answer in answers]

    async def pick(self, title: str, choices: Sequence[Choice], start: int = 0) -> int | None:
        """Searchable picker that starts on the item `start`: index of the chosen item; None if cancelled."""
        async with self.turn:
            matches = list(range(len(choices)))

            def refine(query: str) -> Dialog:
                matches[:] = matching(choices, query)
                return Dialog(
                    title, choices=tuple(choices[n] for n in matches), chosen=0 if query else start, entry="search: ",
                    numbered=False, hint="↑↓ Enter · Esc to cancel", empty="No match",
                )  # fmt: skip

            match await self.show(refine(""), refine=refine):
                case Picked(index):
                    return matches[index]
                case _:
                    return None

    async def confirm(self, title: str, body: Sequence[str] = ()) -> bool:
        """Yes-or-no question; no is the default."""
        async with self.turn:
            choices = (Choice("Yes", keys="y"), Choice("No", keys="n"))
            return await self.show(Dialog(title, tuple(body), choices, chosen=1), drop=True) == Picked(0)

    async def enter(self, title: str, text: str, hint: str) -> str | None:
        """One line, `text` to begin with; None if cancelled."""
        async with self.turn:
            body = tuple(
                self._screen.look.theme.paint("dim", row) for row in wrap(safe(hint), self._screen.size.columns - 2)
            )
            dialog = Dialog(safe(title), body if hint else (), entry="> ", hint="Enter to save · Esc to cancel")
            over = await self.show(dialog, text=text)
            return self._editor.line.text if isinstance(over, Picked) else None

    def close(self) -> None:
        """Cancel the open dialog, as Ctrl-C does."""
        if self._over is not None and not self._over.done():
            self._over.set_result(Cancelled(hard=True))

    def press(self, key: str) -> None:
        """Pass a key to the open dialog."""
        dialog = self._screen.state.dialog
        if dialog is None or self._over is None or self._over.done():
            return
        if time.monotonic() < self._deaf_until and key not in ("escape", "c-c"):
            self._deaf_until = time.monotonic() + PAUSE
            self._screen.change(replace(self._screen.state, notice=_DROPPED))
            return
        after = press(dialog, key)
        if isinstance(after, Dialog):
            self._screen.change(replace(self._screen.state, dialog=after))
        else:
            self._over.set_result(after)

    def line_changed(self) -> None:
        """Refine the choices after a change of the dialog's line."""
        if self._refine is not None and self._screen.state.dialog is not None:
            self._screen.change(replace(self._screen.state, dialog=self._refine(self._editor.line.text)))

    def resized(self) -> None:
        """Lay the dialog out for the new terminal size."""
        dialog = self._screen.state.dialog
        if self._again is None or dialog is None:
            return
        anew = replace(self._again(), chosen=dialog.chosen, marked=dialog.marked)
        self._screen.change(replace(self._screen.state, dialog=anew))

    async def show(
        self,
        dialog: Dialog,
        *,
        text: str = "",
        drop: bool = False,
        notice: str = "",
        refine: Callable[[str], Dialog] | None = None,
        again: Callable[[], Dialog] | None = None,
    ) -> Outcome:
        """Show a dialog in place of the input until it is answered; the caller holds `turn`. `drop` discards keys typed before it appeared;
        `refine` returns the dialog for a changed line, `again` for a changed terminal size.
        """  # fmt: skip
        # While the user's editor runs, the keys are the editor's; and a view keeps them until it is closed.
        await self._screen.present()
        self._over = asyncio.get_running_loop().create_future()
        self._screen.flush()
        self._screen.change(replace(self._screen.state, dialog=dialog, notice=notice))
        self._editor.focus(True, text)
        self._refine, self._again = refine, again
        if drop and self._editor.keyboard.drop():
            self._screen.change(replace(self._screen.state, notice=_DROPPED))
        # A user in the middle of a sentence has not read the question yet.
        amid = drop and self._editor.draft.text and time.monotonic() - self._editor.typed_at < PAUSE
        self._deaf_until = time.monotonic() + PAUSE if amid else 0.0
        self._screen.tick()
        try:
            over = await self._over
            self.interrupted = over == Cancelled(hard=True)
            return over
        finally:
            self._over = self._refine = self._again = None
            self._screen.change(replace(self._screen.state, dialog=None))
            self._editor.focus(False)
            self._editor.repaint()

    async def _question(self, question: Question, suffix: str) -> str | None:
        offered = [Choice(choice.label, choice.description) for choice in question.choices]
        title = safe(f"{question.header}: {question.question}" if question.header else question.question) + suffix
        if not offered:
            return await self._free(title)
        hint = (
            "Space to mark · Enter to send · Esc to skip"
            if question.multiple
            else f"1-{len(offered) + 1} or Enter · Esc to skip"
        )
        dialog = Dialog(title, choices=(*offered, Choice("Something else…")), hint=hint, multiple=question.multiple)
        match await self.show(dialog, drop=True):
            case Picked(index, marked):
                chosen = sorted(marked) if question.multiple and marked else [index]
                labels = [question.choices[n].label for n in chosen if n < len(offered)]
                if len(offered) not in chosen:
                    return ", ".join(labels)
                own = await self._free(title)
                return None if own is None else ", ".join(filter(None, [*labels, own]))
            case over:
                self._skipped(over)
                return None

    async def _free(self, title: str) -> str | None:
        match await self.show(Dialog(title, entry="> ", hint="Enter to send · Esc to skip")):
            case Picked():
                return self._editor.line.text
            case over:
                self._skipped(over)
                return None

    def _skipped(self, over: Outcome) -> None:
        """Interrupt the work if it was Ctrl-C that left a question."""
        if over == Cancelled(hard=True):
            self._stop()
