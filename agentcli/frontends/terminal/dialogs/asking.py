"""Dialogs, one at a time: the model's questions, pickers, confirmations."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from prompt_toolkit.keys import Keys

from agentcli.core.errors import AgentError
from agentcli.core.sanitise import safe
from agentcli.core.tasks import run_beside
from agentcli.core.tool import Question
from agentcli.frontends.terminal.dialogs.dialogs import (
    TYPED_AHEAD,
    UNFILTERED,
    Cancelled,
    Dialog,
    Filter,
    Outcome,
    Picked,
    matching,
    press,
)
from agentcli.frontends.terminal.input.editor import Editor
from agentcli.frontends.terminal.input.keys import readable
from agentcli.frontends.terminal.render.input_box import fitted
from agentcli.frontends.terminal.render.pieces import Printed
from agentcli.frontends.terminal.screen import Screen
from agentcli.frontends.terminal.style import Role
from agentcli.program.commands import Choice
from agentcli.system.cells import expand, wrap

PAUSE = 0.5
"""The same for a person who was typing when the question appeared."""
LATE = 1.0
"""Seconds after a command's last key within which its list accepts keys typed ahead."""
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
        self._fit: Callable[[Dialog], Dialog] = lambda dialog: dialog
        self._guarded = False
        """True if keys that were typed ahead are ignored."""
        self._deaf: asyncio.TimerHandle | None = None
        """The end of that, while it lasts."""
        self._quiet, self._text = TYPED_AHEAD, ""

    async def ask_user(self, questions: Sequence[Question]) -> Sequence[str] | None:
        """Ask the model's questions.

        Esc skips one, whose answer is then empty; no answers if all are skipped, or after Ctrl-C.
        """
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
        """Let the person pick from a searchable list, and return the index; None if cancelled.

        The list starts on the item `start`.
        """
        chosen = await self.choose(title, choices, start, {})
        return None if chosen is None else chosen[0]

    async def choose(
        self, title: str, choices: Sequence[Choice], start: int, acts: Mapping[str, str], by: Filter = UNFILTERED
    ) -> tuple[int, str] | None:
        """Let the person pick as with `pick`, and return the index and the key used.

        The key is empty for Enter, otherwise one of `acts`, each with its description. `by` also searches the contents
        of the choices, and may change the title instead at a key.
        """
        titles = [title]

        def turned(key: str) -> str:
            assert by.turns is not None
            titles[0] = by.turns(key)
            return titles[0]

        more = "".join(f" · {readable(key)} {does}" for key, does in acts.items())
        async with self.turn:
            matches = list(range(len(choices)))
            contents = _Contents(by, self._contents_found)

            def refine(query: str) -> Dialog:
                named, held = matching(choices, query), contents.of(query)
                folded = len(choices) - by.shown if by.shown and not query else 0
                named = named[: len(named) - folded]
                matches[:] = [*named, *sorted(held.keys() - set(named))]
                shown = [
                    replace(choices[n], detail=held[n], about="") if n not in named else choices[n] for n in matches
                ]
                return Dialog(
                    titles[0], choices=tuple(shown), chosen=0 if query else start, entry="search: ",
                    numbered=False, hint=f"↑↓ Enter{more}{f' · type to find {folded} more' if folded else ''} · Esc cancel", acts=tuple(acts),
                    empty="Searching…" if contents.busy(query) else "No match", turns=turned if by.turns else None,
                )  # fmt: skip

            # Keys right after a command are meant for its list; a list that appears late must not take them.
            late = time.monotonic() - self._editor.typed_at > LATE
            match await self.show(refine(by.words), text=by.words, refine=refine, drop=late and not by.words):
                case Picked(index, key=key):
                    return matches[index], key
                case _:
                    return None

    async def confirm(self, title: str, body: Sequence[str] = (), style: Role | None = None) -> bool:
        """Ask a yes-or-no question about lines of text in a theme style; no is the default."""
        return await self.decide(title, body, style, ("Yes", "No")) == 0

    async def decide(self, title: str, body: Sequence[str], style: Role | None, labels: Sequence[str]) -> int:
        """Ask for one of these answers and return its index.

        The first one means yes; the last one, the default, means no.
        """
        keys, last = ("y", *[""] * (len(labels) - 2), "n"), len(labels) - 1

        def dialog() -> Dialog:
            theme, columns = self._screen.look.theme, self._screen.size.columns - 4
            rows = [f"  {row}" for line in body for row in wrap(expand(safe(line)), columns)]
            choices = tuple(Choice(label, keys=key) for label, key in zip(labels, keys, strict=True))
            return Dialog(title, tuple(theme.paint(style, row) if style else row for row in rows), choices, chosen=last)

        async with self.turn:
            answer = await self.show(dialog(), drop=True, again=dialog)
            return answer.index if isinstance(answer, Picked) else last

    async def select(self, title: str, items: Sequence[tuple[str, str]]) -> frozenset[int]:
        """Show items with their details, and let the person strike some out. Return the indices of the rest.

        By default, none is left.
        """
        names = [Choice(name) for name, _ in items]
        choices = (*names, Choice("Start the marked ones", keys="y"), Choice("Start none of them", keys="n"))
        marked, chosen, printed = frozenset(range(len(items))), len(items) + 1, set[Hashable]()

        def dialog() -> Dialog:
            theme, columns = self._screen.look.theme, self._screen.size.columns - 4
            rows = [
                row
                for number, (_, details) in enumerate(items, 1)
                for row in wrap(f"{number}. {expand(safe(details))}", columns)
            ]
            body = tuple(theme.paint("warn", f"  {row}") for row in rows)
            hint = "Space or a digit strikes out · Enter on a name, too · Esc starts none"
            return Dialog(title, body, choices, chosen, hint=hint, multiple=True, marked=marked, tickable=len(items))

        async with self.turn:
            while True:
                match await self.show(dialog(), drop=True, again=dialog, what="select", printed=printed):
                    case Picked(index, now) if index < len(items):
                        marked, chosen = now ^ {index}, index
                    case Picked(index, now):
                        return now if index == len(items) else frozenset()
                    case _:
                        return frozenset()

    async def enter(self, title: str, text: str, hint: str) -> str | None:
        """Let the person edit one line that begins as `text`, and return it; None if cancelled."""
        async with self.turn:
            body = tuple(
                self._screen.look.theme.paint("dim", row) for row in wrap(safe(hint), self._screen.size.columns - 2)
            )
            dialog = Dialog(safe(title), body if hint else (), entry="> ", hint="Enter save · Esc cancel")
            over = await self.show(dialog, text=text)
            return self._editor.line.text if isinstance(over, Picked) else None

    def close(self) -> None:
        """Cancel the open dialog, as Ctrl-C does."""
        if self._over is not None and not self._over.done():
            self._over.set_result(Cancelled(hard=True))

    def press(self, key: str) -> None:
        """Pass a key to the open dialog.

        Keys that count as typed ahead, or that come several at once, choose nothing.
        """
        dialog = self._screen.state.dialog
        if dialog is None or self._over is None or self._over.done():
            return
        burst = self._guarded and dialog.entry is None and self._editor.keyboard.burst
        if key != "c-c" and (self._deaf is not None or burst):
            self._ignore()
            return
        after = press(dialog, key)
        if isinstance(after, Dialog):
            self._screen.change(replace(self._screen.state, dialog=after))
        else:
            self._over.set_result(after)

    def line_changed(self) -> None:
        """Refine the choices after a change of the dialog's line."""
        if self._deaf is not None:
            self._ignore()
        if self._refine is not None and self._screen.state.dialog is not None:
            self._screen.change(replace(self._screen.state, dialog=self._refine(self._editor.line.text)))

    def _contents_found(self) -> None:
        """Refine the choices after more were found; the cursor stays."""
        if self._refine is not None and (dialog := self._screen.state.dialog) is not None:
            now = self._refine(self._editor.line.text)
            now = replace(now, chosen=min(dialog.chosen, max(len(now.choices) - 1, 0)))
            self._screen.change(replace(self._screen.state, dialog=now))
            self._editor.repaint()

    def resized(self) -> None:
        """Lay the dialog out for the new terminal size."""
        dialog = self._screen.state.dialog
        if self._again is None or dialog is None:
            return
        now = replace(self._fit(self._again()), chosen=dialog.chosen, marked=dialog.marked)
        self._screen.change(replace(self._screen.state, dialog=now))
        if self._deaf is not None:
            self._deafen()

    async def show(
        self,
        dialog: Dialog,
        *,
        text: str = "",
        drop: bool = False,
        notice: str = "",
        refine: Callable[[str], Dialog] | None = None,
        again: Callable[[], Dialog] | None = None,
        what: Hashable = None,
        printed: set[Hashable] | None = None,
    ) -> Outcome:
        """Show a dialog in place of the input until it is answered; the caller holds `turn`.

        `drop` ignores keys typed ahead; `refine` returns the dialog for a changed line, `again` for a changed terminal
        size. Content too large for the terminal is printed above it, once. `what` identifies this dialog's content.
        `printed` has the contents that related dialogs have printed already.
        """  # fmt: skip
        # While the user's editor runs, it gets the keys. A view keeps them until it is closed.
        await self._screen.present()
        self._over = asyncio.get_running_loop().create_future()
        self._fit = partial(self._fitted, what=what, printed=set() if printed is None else printed)
        self._screen.flush()
        self._screen.change(replace(self._screen.state, dialog=self._fit(dialog), notice=notice))
        self._editor.focus(True, text)
        self._refine, self._text = refine, text
        self._again = (lambda: dialog) if again is None and refine is None else again
        self._screen.tick()
        self._guard(drop)
        try:
            over = await self._over
            self.interrupted = over == Cancelled(hard=True)
            return over
        finally:
            self._leave()

    def _fitted(self, dialog: Dialog, what: Hashable, printed: set[Hashable]) -> Dialog:
        """Print the rows that do not fit into the terminal, and return the dialog without them.

        The person sees everything before an answer.
        """
        short, above = fitted(dialog, self._screen.size, self._screen.look.theme)
        if above and what not in printed:
            printed.add(what)
            self._screen.print(Printed(("", *above)))
            self._screen.flush()
        return short

    def _guard(self, drop: bool) -> None:
        """With `drop`, ignore keys typed before the question could be read."""
        # A user in the middle of a sentence has not read the question yet.
        amid = self._editor.draft.text and time.monotonic() - self._editor.typed_at < PAUSE
        self._guarded, self._quiet = drop, PAUSE if amid else TYPED_AHEAD
        if drop:
            self._deafen()
            if self._drop():
                self._ignore()

    def _leave(self) -> None:
        """Give the keys back to the input."""
        if self._deaf is not None:
            self._deaf.cancel()
        self._over = self._refine = self._again = self._deaf = None
        self._screen.change(replace(self._screen.state, dialog=None))
        self._editor.focus(False)
        self._editor.repaint()

    def _deafen(self) -> None:
        """Treat keys as typed ahead until the keyboard has been idle for a while."""
        if self._deaf is not None:
            self._deaf.cancel()
        self._deaf = asyncio.get_running_loop().call_later(self._quiet, self._hear)

    def _hear(self) -> None:
        """Treat keys as answers from now on, unless some came while this process was busy."""
        if self._drop():
            self._ignore()
            return
        self._deaf = None
        if self._screen.state.dialog is not None and self._editor.line.text != self._text:
            self._editor.line.text = self._text
            self._editor.line.cursor_position = len(self._text)
            self._editor.repaint()

    def _ignore(self) -> None:
        self._screen.change(replace(self._screen.state, notice=_DROPPED))
        self._deafen()

    def _drop(self) -> bool:
        """Discard waiting keys; return True if there were any. Ctrl-C among them still interrupts."""
        keys = self._editor.keyboard.drop()
        if any(key.key == Keys.ControlC for key in keys):
            self.close()
        return bool(keys)

    async def _question(self, question: Question, suffix: str) -> str | None:
        offered = [Choice(choice.label, choice.description) for choice in question.choices]
        title = safe(f"{question.header}: {question.question}" if question.header else question.question) + suffix
        if not offered:
            return await self._free(title, drop=True)
        hint = (
            "Space mark · Enter send · Esc skip" if question.multiple else f"1-{len(offered) + 1} or Enter · Esc skip"
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

    async def _free(self, title: str, drop: bool = False) -> str | None:
        match await self.show(Dialog(title, entry="> ", hint="Enter send · Esc skip"), drop=drop):
            case Picked():
                return self._editor.line.text
            case over:
                self._skipped(over)
                return None

    def _skipped(self, over: Outcome) -> None:
        """Interrupt the work if Ctrl-C ended the question."""
        if over == Cancelled(hard=True):
            self._stop()


class _Contents:
    """Passages of choices that contain a query's words, found in a thread; `found` is called when there are some."""

    def __init__(self, by: Filter, found: Callable[[], None]) -> None:
        self._look, self._found = by.contents, found
        self._known: dict[str, Mapping[int, str]] = {}
        self._wanted, self._looking = "", False

    def of(self, query: str) -> Mapping[int, str]:
        """Return the known passages, and search for them if they are unknown."""
        self._wanted = query.strip()
        if self._look is not None and self.busy(query) and not self._looking:
            self._looking = True
            run_beside(self._fill(self._look))
        return self._known.get(self._wanted, {})

    def busy(self, query: str) -> bool:
        """Return True while the passages of a query are unknown."""
        return self._look is not None and bool(query.strip()) and query.strip() not in self._known

    async def _fill(self, look: Callable[[str], Mapping[int, str]]) -> None:
        try:
            while self._wanted and (words := self._wanted) not in self._known:
                try:
                    self._known[words] = await asyncio.to_thread(look, words)
                except AgentError:
                    self._known[words] = {}
        finally:
            self._looking = False
        self._found()
