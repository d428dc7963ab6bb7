"""Puts questions to the person, one at a time: approvals, the model's questions, pickers."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from agentcli.agent.ports import Answer, Ask
from agentcli.core.sanitise import safe
from agentcli.core.tool import Question
from agentcli.ui import diff
from agentcli.ui.blocks import Block
from agentcli.ui.cells import clip, expand, wrap
from agentcli.ui.dialogs import Cancelled, Edited, Outcome, Picked, matching, press
from agentcli.ui.prompt import Editor
from agentcli.ui.screen import Screen
from agentcli.ui.view import Choice, Dialog, Printed

Compose = Callable[[str, str], Awaitable[str]]
"""Let the person change a text in their own editor; the second is the file name's ending."""


PAUSE = 0.5
"""Seconds without a key after which a person who was typing is taken to have seen the question."""
_DROPPED = "Keys that were typed before the question could be read were dropped."


class Asking:
    """Dialogs over the input. `stop` is called when one is left by Ctrl-C."""

    def __init__(
        self, screen: Screen, editor: Editor, compose: Compose, stop: Callable[[], None], bell: Callable[[str], None]
    ) -> None:
        self._screen, self._editor, self._compose, self._stop, self._bell = screen, editor, compose, stop, bell
        self._turn = asyncio.Lock()
        self._over: asyncio.Future[Outcome] | None = None
        self._refine: Callable[[str], Dialog] | None = None
        self._deaf_until = 0.0

    async def approve(self, ask: Ask) -> Answer | None:
        """Ask whether a call may run; shows the whole command or diff."""
        async with self._turn:
            self._bell(f"agentcli asks: {ask.title}")
            changed: dict[str, Any] | None = None
            chosen = 3 if ask.kind != "plan" else 0
            while True:
                over = await self._show(self._approval(ask, changed, chosen), drop=True)
                match over:
                    case Cancelled(hard):
                        if hard:
                            self._stop()
                        return Answer("no")
                    case Edited():
                        changed = await self._edited(ask, changed)
                    case Picked(index):
                        answer = await self._answer(ask, index)
                        if answer is not None:
                            return replace(answer, input=changed)

    async def ask_user(self, questions: Sequence[Question]) -> Sequence[str] | None:
        """Put the model's questions; None when the person declines to answer."""
        answers: list[str] = []
        async with self._turn:
            self._bell("agentcli asks a question")
            for question in questions:
                answer = await self._question(question)
                if answer is None:
                    return None
                answers.append(answer)
        return answers

    async def pick(self, title: str, choices: Sequence[Choice], label: str = "search: ") -> int | None:
        """Let the person choose one by typing a part of it; its number, or None."""
        async with self._turn:
            shown = list(range(len(choices)))

            def refine(query: str) -> Dialog:
                shown[:] = matching(choices, query)
                return Dialog(
                    title, choices=tuple(choices[n] for n in shown), entry=label, numbered=False,
                    hint="Enter chooses · Up and Down move · Esc leaves",
                )  # fmt: skip

            match await self._show(refine(""), refine=refine):
                case Picked(index) if index >= 0:
                    return shown[index]
                case _:
                    return None

    async def confirm(self, title: str, body: Sequence[str] = (), yes: str = "Yes", no: str = "No") -> bool:
        """A question with two answers; the default is no."""
        async with self._turn:
            choices = (Choice(yes, keys="y"), Choice(no, keys="n"))
            return await self._show(Dialog(title, tuple(body), choices, chosen=1), drop=True) == Picked(0)

    def close(self) -> None:
        """Nobody will answer any more."""
        if self._over is not None and not self._over.done():
            self._over.set_result(Cancelled())

    def press(self, key: str) -> None:
        """A key for the open dialog."""
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

    def typed(self) -> None:
        """The line changed: choices that depend on it are made anew."""
        if self._refine is not None and self._screen.state.dialog is not None:
            self._screen.change(replace(self._screen.state, dialog=self._refine(self._editor.line.text)))

    async def _show(
        self, dialog: Dialog, *, text: str = "", drop: bool = False, refine: Callable[[str], Dialog] | None = None
    ) -> Outcome:
        # While the person is in their editor, its keys are not ours to take.
        await self._screen.here.wait()
        self._over = asyncio.get_running_loop().create_future()
        self._screen.flush()
        self._screen.change(replace(self._screen.state, dialog=dialog, notice=""))
        self._editor.focus(True, text)
        self._refine = refine
        if drop and self._editor.keyboard.drop():
            self._screen.change(replace(self._screen.state, notice=_DROPPED))
        # Whoever is in the middle of a sentence has not read the question yet.
        amid = drop and self._editor.draft.text and time.monotonic() - self._editor.typed_at < PAUSE
        self._deaf_until = time.monotonic() + PAUSE if amid else 0.0
        self._screen.tick()
        try:
            return await self._over
        finally:
            self._over = self._refine = None
            self._screen.change(replace(self._screen.state, dialog=None))
            self._editor.focus(False)
            self._editor.repaint()

    def _approval(self, ask: Ask, changed: dict[str, Any] | None, chosen: int) -> Dialog:
        body = self._fitting(self._preview(ask, changed))
        if ask.why:
            columns = self._screen.size.columns - 2
            body += [self._screen.look.theme.paint("dim", row) for row in wrap(safe(ask.why), columns)]
        title = safe(ask.title) or ask.call.name
        if ask.kind == "plan":
            return Dialog(
                title, tuple(body), _PLAN, chosen, hint="e edits the plan · Esc goes on planning", editable=True
            )
        always = safe(ask.always)
        choices: tuple[Choice, ...] = (
            Choice("Yes, once", keys="y"),
            Choice("Yes, for this session"),
            Choice(f"Always: {always}" if always else "Always (no rule would cover just this)"),
            Choice("No, and tell it what to do instead", keys="n"),
        )
        if ask.others:
            choices += (
                Choice(f"Yes, and to all {len(ask.others) + 1} of this reply (shows the others first)", keys="a"),
            )
        hint = f"1-{len(choices)}, y, n · e edits it first · Esc says no"
        return Dialog(title, tuple(body), choices, chosen, hint=hint, editable=True)

    def _fitting(self, body: list[str]) -> list[str]:
        """A body for a dialog. What does not fit goes to the scrollback, whole: nothing is approved that was not shown."""
        if len(body) <= max(self._screen.size.rows - 10, 3):
            return body
        self._screen.print(Printed(("", *body)))
        self._screen.flush()
        return [self._screen.look.theme.paint("dim", f"  ({len(body)} lines, shown above)")]

    def _preview(self, ask: Ask, changed: dict[str, Any] | None) -> list[str]:
        look, columns = self._screen.look, self._screen.size.columns - 2
        if changed is not None:
            text = (
                json.dumps(changed, indent=2, ensure_ascii=False)
                if ask.kind != "command"
                else str(changed.get("command", ""))
            )
        else:
            text = ask.preview
        if ask.kind == "diff" and changed is None:
            return ["  " + row for row in diff.lines(text, columns - 2, look.theme)]
        if ask.kind == "plan":
            from agentcli.ui.markdown import lines

            plan = text if changed is None else str(changed.get("plan", text))
            return lines(Block(safe(plan), gap=False), columns, look)
        mark = "$ " if ask.kind == "command" else ""
        return ["  " + row for row in wrap(mark + expand(safe(text)), columns - 2)]

    async def _answer(self, ask: Ask, index: int) -> Answer | None:
        if ask.kind == "plan":
            if index > 1:
                return await self._refusal()
            # For the session means that edits of the whole plan are approved; once, that each is still asked about.
            return Answer("session" if index == 0 else "once")
        match index:
            case 0:
                return Answer("once")
            case 1:
                return Answer("session")
            case 2:
                return Answer("always") if ask.always else None
            case 4:
                return await self._all(ask)
            case _:
                return await self._refusal()

    async def _all(self, ask: Ask) -> Answer | None:
        """Yes to this call and all others of the reply, once those were shown; None to go back to the one."""
        body: list[str] = []
        for number, other in enumerate(ask.others, 2):
            heading = clip(f"{number}. {safe(other.title) or other.call.name}", self._screen.size.columns - 2)
            body += ["", self._screen.look.theme.paint("strong", heading), *self._preview(other, None)]
        choices = (Choice(f"Yes, to all {len(ask.others) + 1}", keys="ya"), Choice("One after another", keys="n"))
        dialog = Dialog("The rest of this reply", tuple(self._fitting(body)), choices, chosen=1)
        return Answer("all") if await self._show(dialog, drop=True) == Picked(0) else None

    async def _refusal(self) -> Answer | None:
        line = Dialog("No. What should it do instead?", entry="> ", hint="Enter sends, also when empty · Esc goes back")
        match await self._show(line):
            case Picked():
                return Answer("no", self._editor.line.text.strip())
            case Cancelled(hard=True):
                self._stop()
                return Answer("no")
            case _:
                return None

    async def _edited(self, ask: Ask, changed: dict[str, Any] | None) -> dict[str, Any] | None:
        """The input after the person changed it: a command in place, anything else in their editor."""
        now = dict(ask.call.input) if changed is None else changed
        if ask.kind == "command" and isinstance(now.get("command"), str) and "\n" not in now["command"]:
            over = await self._show(
                Dialog("Change the command", entry="$ ", hint="Enter takes it · Esc leaves it"), text=now["command"]
            )
            return {**now, "command": self._editor.line.text} if isinstance(over, Picked) else changed
        if ask.kind == "plan":
            return {**now, "plan": await self._compose(str(now.get("plan", ask.preview)), ".md")}
        text = await self._compose(json.dumps(now, indent=2, ensure_ascii=False), ".json")
        try:
            value = json.loads(text)
        except ValueError as error:
            self._screen.change(replace(self._screen.state, notice=f"Not valid JSON, so nothing is changed: {error}"))
            return changed
        return value if isinstance(value, dict) else changed

    async def _question(self, question: Question) -> str | None:
        offered = [Choice(safe(choice.label), safe(choice.description)) for choice in question.choices]
        title = safe(f"{question.header}: {question.question}" if question.header else question.question)
        if not offered:
            return await self._free(title)
        hint = "space marks · Enter takes the marked" if question.multiple else "a digit, or Enter · Esc declines"
        dialog = Dialog(title, choices=(*offered, Choice("Something else…")), hint=hint, multiple=question.multiple)
        match await self._show(dialog, drop=True):
            case Picked(index, marked):
                chosen = sorted(marked) if question.multiple and marked else [index]
                if len(offered) in chosen:
                    return await self._free(title)
                return ", ".join(question.choices[n].label for n in chosen)
            case Cancelled(hard=True):
                self._stop()
                return None
            case _:
                return None

    async def _free(self, title: str) -> str | None:
        match await self._show(Dialog(title, entry="> ", hint="Enter answers · Esc declines")):
            case Picked():
                return self._editor.line.text
            case _:
                return None


_PLAN = (
    Choice("Yes, and let it edit without asking (auto-edit)", keys="y"),
    Choice("Yes, and ask before each change"),
    Choice("No, and tell it what to change", keys="n"),
)
