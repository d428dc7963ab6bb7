"""Approval dialogs in the terminal: the whole call is shown, and may be edited first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse
from agentcli.core.codec.encode import dumps
from agentcli.core.errors import UsageError
from agentcli.core.sanitise import safe_line
from agentcli.frontends.terminal.dialogs import proposal
from agentcli.frontends.terminal.dialogs.asking import Asking
from agentcli.frontends.terminal.dialogs.dialogs import Cancelled, Dialog, Edited, Picked
from agentcli.frontends.terminal.input.editor import Editor
from agentcli.frontends.terminal.screen import Screen
from agentcli.permissions.rules import parse_rules
from agentcli.program.commands import Choice
from agentcli.system.cells import clip

Compose = Callable[[str, str], Awaitable[str]]
"""Opens a text in the user's editor; the second argument is the file name's suffix."""
Changed = dict[str, Any] | None
"""Input edited by the user; None if unchanged."""


class Approving:
    """Approval port of the terminal. `stop` is called when a dialog is cancelled by Ctrl-C."""

    def __init__(
        self,
        asking: Asking,
        screen: Screen,
        editor: Editor,
        compose: Compose,
        stop: Callable[[], None],
        bell: Callable[[str], None],
    ) -> None:
        self._asking, self._screen, self._editor = asking, screen, editor
        self._compose, self._stop, self._bell = compose, stop, bell
        self._printed: set[Hashable] = set()

    async def approve(self, ask: ApprovalRequest) -> ApprovalResponse | None:
        """Request approval of a call; shows the whole command or diff."""
        async with self._asking.turn:
            self._bell(f"agentcli asks: {ask.title}")
            self._printed = set()
            answer, changed = await self._ask(ask)
            if self._printed:
                displayed = self._screen.state.displayed | {ask.call.call_id}
                self._screen.change(replace(self._screen.state, displayed=displayed))
            return replace(answer, input=changed)

    async def _ask(self, ask: ApprovalRequest) -> tuple[ApprovalResponse, Changed]:
        changed: Changed = None
        shown, notice = ask, ""
        while True:
            again = partial(self._dialog, shown, changed)
            what = (ask.call.call_id, None if changed is None else dumps(changed))
            over = await self._asking.show(
                again(), drop=True, again=again, notice=notice, what=what, printed=self._printed
            )
            notice = ""
            match over:
                case Cancelled(hard):
                    if hard:
                        self._stop()
                    return ApprovalResponse("no"), changed
                case Edited():
                    changed, invalid = await self._edited(ask, changed)
                    shown, trouble = await proposal.revised(ask, changed)
                    notice = invalid or trouble
                case Picked(index):
                    answer = await self._answer(ask, changed, index)
                    if isinstance(answer, ApprovalResponse):
                        return answer, changed
                    notice = answer

    def _dialog(self, ask: ApprovalRequest, changed: Changed) -> Dialog:
        columns, look = self._screen.size.columns - 2, self._screen.look
        question = proposal.question(ask, changed, look)
        return replace(question, body=(*proposal.preview(ask, columns, look), *question.body))

    async def _answer(self, ask: ApprovalRequest, changed: Changed, index: int) -> ApprovalResponse | str:
        """Return the response for the chosen index, or why to ask again."""
        if ask.kind == "plan":
            chosen = proposal.PLAN[index]
            return await self._refusal() if chosen == "no" else ApprovalResponse(chosen)
        match proposal.answers(ask, changed)[index]:
            case "once":
                return ApprovalResponse("once")
            case "session":
                return ApprovalResponse("session")
            case "folder":
                return ApprovalResponse("folder")
            case "always":
                return ApprovalResponse("always")
            case "all":
                return await self._all(ask)
            case "prefix":
                return await self._to_save(ask.prefixes, "Save this rule for this project?")
            case "programs":
                return ApprovalResponse("programs")
            case "boxed":
                return await self._to_save([ask.boxes], "Save this rule for this project?")
            case "everywhere":
                return await self._to_save([ask.always], "Save this rule for every project?", everywhere=True)
            case _:
                return await self._refusal()

    async def _to_save(self, offered: Sequence[str], title: str, everywhere: bool = False) -> ApprovalResponse | str:
        """Show rules one after the other for editing; return the response that saves them, or why to ask again."""
        rules: list[str] = []
        for rule in offered:
            line = Dialog(title, entry="", hint="Enter save · or add: for 30m, for 10 calls · Esc back")
            if not isinstance(await self._asking.show(line, text=rule), Picked):
                return ""
            rules.append(self._editor.line.text.strip())
        from agentcli.agent.timed_rules import timed

        try:
            parse_rules(allow=[timed(rule)[0] for rule in rules], origin="flag")
        except UsageError as error:
            return str(error)
        return ApprovalResponse("prefix", rules=tuple(rules), everywhere=everywhere)

    async def _all(self, ask: ApprovalRequest) -> ApprovalResponse | str:
        """Approve this call and all others of the reply after showing them; empty to return to the first dialog."""

        def dialog() -> Dialog:
            columns, look = self._screen.size.columns - 2, self._screen.look
            body: list[str] = []
            for number, other in enumerate(ask.others, 2):
                # The preview of a command repeats its title; the reason is what a person does not know yet.
                why = other.why if other.kind == "command" and "\n" not in other.why else ""
                about = safe_line(why) or look.near(safe_line(other.title)) or other.call.name
                heading = look.theme.paint("strong", clip(f"{number}. {about}", columns))
                body += [heading, *proposal.preview(other, columns, look)]
            choices = (Choice(f"Allow {proposal.together(ask)}", keys="ya"), Choice("Ask one by one", keys="n"))
            return Dialog("Also in this reply", tuple(body), choices, chosen=1)

        over = await self._asking.show(dialog(), drop=True, again=dialog, what="others", printed=self._printed)
        return ApprovalResponse("all") if over == Picked(0) else ""

    async def _refusal(self) -> ApprovalResponse | str:
        line = Dialog("No. What should it do instead?", entry="> ", hint="Enter send (may be empty) · Esc back")
        match await self._asking.show(line):
            case Picked():
                return ApprovalResponse("no", self._editor.line.text.strip())
            case Cancelled(hard=True):
                self._stop()
                return ApprovalResponse("no")
            case _:
                return ""

    async def _edited(self, ask: ApprovalRequest, changed: Changed) -> tuple[Changed, str]:
        """Let the person edit the input, and return it with an error message.

        A one-line command is edited in place, anything else in the user's editor.
        """
        part = proposal.editable(ask, changed)
        if part.key == "command" and "\n" not in part.text:
            line = Dialog("Change the command", entry="$ ", hint="Enter save · Esc cancel")
            over = await self._asking.show(line, text=part.text)
            text = self._editor.line.text if isinstance(over, Picked) else part.text
        else:
            text = await self._compose(part.text, part.ending)
        try:
            now = proposal.taken(ask, changed, part, text)
        except ValueError as error:
            return changed, f"Not valid JSON, so nothing is changed: {error}"
        return (changed, "") if now == (ask.call.input if changed is None else changed) else (now, "")
