"""Approvals, questions and pickers for a line-based terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse
from agentcli.core.tool import Question
from agentcli.frontends.plain.lines import LineTerminal
from agentcli.frontends.terminal.dialogs import proposal
from agentcli.frontends.terminal.dialogs.dialogs import Filter, matching
from agentcli.program.commands import Choice

_ANSWERS = {
    "1": "once",
    "y": "once",
    "yes": "once",
    "2": "session",
    "3": "always",
    "4": "no",
    "n": "no",
    "no": "no",
    "": "no",
}

_PLAN = {
    "1": "edits",
    "y": "edits",
    "yes": "edits",
    "2": "once",
    "3": "compact",
    "4": "no",
    "n": "no",
    "no": "no",
    "": "no",
}


class PlainAsking:
    """Approval and question ports, pickers and entries of the plain terminal."""

    def __init__(self, terminal: LineTerminal) -> None:
        self._terminal = terminal

    async def approve(self, ask: ApprovalRequest) -> ApprovalResponse:
        """Request approval of a call; the whole command or diff is printed first."""
        changed: dict[str, Any] | None = None
        self._show(ask, changed)
        while True:
            always = ask.always if changed is None else ""
            answer = await self._terminal.answer(f"{self._offered(ask, always, changed is not None)}? ")
            word = answer.strip().lower() if answer is not None else "no"
            match (_PLAN if ask.kind == "plan" else _ANSWERS).get(word, word):
                case "edits" if ask.kind == "plan":
                    # "For the session" approves all edits of the plan; otherwise each still asks.
                    return ApprovalResponse("session", input=changed)
                case "compact" if ask.kind == "plan":
                    return ApprovalResponse("compact", input=changed)
                case "once":
                    return ApprovalResponse("once", input=changed)
                case "8" | "f" if ask.folders and changed is None:
                    return ApprovalResponse("folder")
                case "session" if changed is None and proposal.may_last(ask):
                    return ApprovalResponse("session")
                case "6" | "w" if ask.prefixes and changed is None:
                    return ApprovalResponse("prefix")
                case "10" | "p" if ask.programs and changed is None:
                    return ApprovalResponse("programs")
                case "9" | "s" if ask.boxes and changed is None:
                    return ApprovalResponse("prefix", rules=(ask.boxes,))
                case "always" if always:
                    return ApprovalResponse("always")
                case "7" if always and ask.kind != "diff":
                    return ApprovalResponse("always", everywhere=True)
                case "5" | "all" if ask.others:
                    if await self._all(ask):
                        return ApprovalResponse("all", input=changed)
                case "e" | "edit" if self._line(ask) is not None:
                    before, changed = changed, await self._edited(ask, changed)
                    if changed != before:
                        shown, trouble = await proposal.revised(ask, changed)
                        self._show(shown, changed)
                        self._terminal.say(*filter(None, [trouble]))
                case "no":
                    message = await self._terminal.ask("What should it do instead? ") if answer is not None else ""
                    return ApprovalResponse("no", message or "")
                case _:
                    self._terminal.say("Please answer with one of the numbers.")

    async def ask_user(self, questions: Sequence[Question]) -> Sequence[str] | None:
        """Ask the model's questions; None at the end of input."""
        answers = []
        for question in questions:
            self._terminal.say("", question.question)
            self._terminal.say(*(f"{n}. {one.label}  {one.description}" for n, one in enumerate(question.choices, 1)))
            answer = await self._terminal.answer("Answer: ")
            if answer is None:
                return None
            number = int(answer) if answer.strip().isdecimal() else 0
            known = 0 < number <= len(question.choices)
            answers.append(question.choices[number - 1].label if known else answer)
        return answers

    async def confirm(self, title: str, body: Sequence[str] = ()) -> bool:
        """Ask a yes-or-no question; no is the default."""
        self._terminal.say(title, *body)
        return (await self._terminal.answer("y or n? ") or "").strip().lower() in ("y", "yes")

    async def decide(self, title: str, body: Sequence[str], labels: Sequence[str]) -> int:
        """Ask for one of these answers by its number, y or n, and return its index.

        The last answer is the default.
        """
        self._terminal.say(title, *body)
        offered = ", ".join(f"{n} {label[0].lower()}{label[1:]}" for n, label in enumerate(labels, 1))
        word = (await self._terminal.answer(f"{offered}? ") or "").strip().lower()
        known = {str(n): n - 1 for n in range(1, len(labels) + 1)} | {"y": 0, "yes": 0}
        return known.get(word, len(labels) - 1)

    async def choose(self, title: str, choices: Sequence[Choice], by: Filter) -> tuple[int, str] | None:
        """Let the person pick by number among the choices found by `by`; the only key here is Enter."""
        places = [*range(len(choices))]
        if by.words:
            held = by.contents(by.words) if by.contents is not None else {}
            named = matching(choices, by.words)
            places = [*named, *sorted(held.keys() - set(named))]
            choices = [choices[n] if n in named else replace(choices[n], detail=held[n]) for n in places]
        self._terminal.say(title, *(f"{n}. {one.label}  {one.detail}" for n, one in enumerate(choices, 1)))
        answer = await self._terminal.answer("Number, or nothing to keep it: ") or ""
        number = int(answer) if answer.strip().isdecimal() else 0
        return (places[number - 1], "") if 0 < number <= len(choices) else None

    async def enter(self, title: str, text: str = "", hint: str = "") -> str | None:
        """Ask for one line; nothing cancels."""
        self._terminal.say(title, *filter(None, [hint, text and f"Now: {text}"]))
        return await self._terminal.ask("New, or nothing to keep it: ") or None

    def _show(self, ask: ApprovalRequest, changed: Mapping[str, Any] | None = None) -> None:
        preview = proposal.arguments(ask) or ([proposal.NO_CHANGE] if ask.kind == "diff" else [])
        text = ask.call.input.get("description")
        description = [text] if ask.kind == "command" and isinstance(text, str) else []
        self._terminal.say(
            "", proposal.needed(proposal.title(ask, changed, self._terminal.look)), *description, *preview
        )
        self._terminal.say(
            *filter(
                None,
                (
                    ask.why,
                    f"No rule can be saved for it: {ask.unsaved}."
                    if ask.unsaved and not (ask.boxes or ask.prefixes or ask.programs)
                    else "",
                ),
            )
        )

    def _offered(self, ask: ApprovalRequest, always: str, changed: bool) -> str:
        if ask.kind == "plan":
            return "1 yes and let it edit without asking, 2 yes and ask before each change, 3 compact and carry it out without asking, 4 no"
        session = f"2 y{proposal.for_session(ask)[1:]}".replace(",", "")
        offers = [session] if proposal.may_last(ask) and not changed else []
        folder = f"8 yes and add {proposal.added(ask, self._terminal.look)} to this session"
        offers += [folder] if ask.folders and not changed else []
        offers.insert(len(offers) if ask.lasting else 0, "1 yes")
        offers += [f"3 a{proposal.always(ask)[1:]}"] if always else []
        offers += ["4 no"] + ([f"5 all {len(ask.others) + 1} of this reply"] if ask.others else [])
        wider = f"6 always allow {proposal.wider(ask.prefixes)}"
        offers += [wider] if ask.prefixes and not changed else []
        offers += [f"10 a{proposal.always_programs(ask)[1:]}"] if ask.programs and not changed else []
        offers += [f"9 a{proposal.BOXED[1:]}"] if ask.boxes and not changed else []
        offers += (
            [f"7 always allow {proposal.covered(always)} in every project"] if always and ask.kind != "diff" else []
        )
        return ", ".join([*offers, "e edit it"] if self._line(ask) is not None else offers)

    def _line(self, ask: ApprovalRequest) -> proposal.Text | None:
        """Return the editable part if it is one line; else None."""
        if ask.revise is None:
            return None
        part = proposal.editable(ask, None)
        return part if part.key and "\n" not in part.text.rstrip("\n") and len(part.text) < 1000 else None

    async def _edited(self, ask: ApprovalRequest, changed: dict[str, Any] | None) -> dict[str, Any] | None:
        part = proposal.editable(ask, changed)
        self._terminal.say(f"It is: {part.text.rstrip()}")
        text = await self._terminal.ask("Instead, or nothing to keep it: ")
        if not text:
            return changed
        return proposal.taken(ask, changed, part, text)

    async def _all(self, ask: ApprovalRequest) -> bool:
        """Print the other calls of the reply and ask whether to allow them, too."""
        for other in ask.others:
            self._show(other)
        return await self.confirm(f"Allow all {len(ask.others) + 1}?")
