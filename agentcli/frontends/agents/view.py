"""The screen of `agentcli agents` as a value: the sessions, the chosen one, and what a key does. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from agentcli.core.dataclass import dataclass, replace
from agentcli.frontends.serve.machine import OVER, Running

Kind = Literal["answer", "whole", "diff", "merge", "discard", "open", "resume", "stop", "quit"]


@dataclass(frozen=True, slots=True)
class Act:
    """What a key asks for; `given` is the answer to a question."""

    kind: Kind
    session: str = ""
    given: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A line that is being typed: the reason for a no, or an answer in words."""

    title: str
    choice: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """The listed sessions; `chosen` is the id of one of them."""

    rows: Sequence[Running] = ()
    chosen: str = ""
    notice: str = ""
    entry: Entry | None = None
    discards: str = ""
    """The session that another `x` discards."""
    answers: tuple[str, ...] = ()
    """Answers so far, if the question of the chosen session has several."""

    @property
    def row(self) -> Running | None:
        """The chosen session."""
        return next((row for row in self.rows if row.session == self.chosen), None)

    @property
    def question(self) -> Mapping[str, Any] | None:
        """The question of the chosen session."""
        return self.row.questions[0] if self.row is not None and self.row.questions else None

    def listed(self, rows: Sequence[Running]) -> View:
        """Show these sessions. The chosen one stays chosen; if it is gone, its neighbour is."""
        before = self.question
        place = next((n for n, row in enumerate(self.rows) if row.session == self.chosen), 0)
        chosen = self.chosen
        if chosen not in {row.session for row in rows}:
            chosen = rows[min(place, len(rows) - 1)].session if rows else ""
        view = replace(self, rows=rows, chosen=chosen)
        same = before is not None and view.question is not None and before["hash"] == view.question["hash"]
        return view if same else replace(view, entry=None, answers=())

    def moved(self, by: int) -> View:
        """Choose another session."""
        place = next((n for n, row in enumerate(self.rows) if row.session == self.chosen), 0)
        to = min(max(place + by, 0), len(self.rows) - 1)
        chosen = self.rows[to].session if self.rows else ""
        return replace(self, chosen=chosen, answers=(), discards="", notice="")

    def next_waiting(self) -> View:
        """Choose the next session that waits for an answer, if there is one."""
        others = [row.session for row in self.rows if row.state == "waits" and row.session != self.chosen]
        return replace(self, chosen=others[0], answers=()) if others else self


def choices(question: Mapping[str, Any], answered: int = 0) -> Sequence[tuple[str, str]]:
    """Return the choices of a question, each with its label; of several questions, those of the next one."""
    if question["kind"] != "questions":
        return [(each["choice"], each["label"]) for each in question["choices"]]
    return [(each["label"], each["label"]) for each in question["questions"][answered]["choices"]]


def press(view: View, key: str) -> tuple[View, Act | None]:
    """Return the view after a key (its name, or the character), and what it asks for."""
    if view.entry is not None:
        return _typed(view, view.entry, key)
    row = view.row
    discards, view = view.discards, replace(view, discards="", notice="")
    match key:
        case "q" | "c-c" | "c-d" | "escape":
            return view, Act("quit")
        case "up" | "k":
            return view.moved(-1), None
        case "down" | "j":
            return view.moved(1), None
        case "home" | "g":
            return view.moved(-len(view.rows)), None
        case "end" | "G":
            return view.moved(len(view.rows)), None
        case _:
            pass
    if row is None:
        return view, None
    if key.isdecimal() and len(key) == 1:
        return _chosen(view, int(key) - 1)
    acts: Mapping[str, Kind] = {"enter": "open", "d": "diff"}
    if row.questions:
        acts = {**acts, "v": "whole"}
        if key == "t" and row.questions[0]["kind"] == "questions":
            return replace(view, entry=Entry("Answer", "")), None
    if row.shared and (row.background or row.state in ("works", "waits")):
        acts = {**acts, "s": "stop"}
    if row.background and row.state in OVER:
        acts = {**acts, "m": "merge", "r": "resume"}
        if key == "x" and (discards == row.session or not (row.worktree and row.changes)):
            return view, Act("discard", row.session)
        if key == "x":
            lost = f"x again discards {row.worktree} ({row.changes})"
            return replace(view, discards=row.session, notice=lost), None
    return (view, Act(acts[key], row.session)) if key in acts else (view, None)


def _chosen(view: View, number: int) -> tuple[View, Act | None]:
    """Answer with a choice by its number."""
    question = view.question
    if question is None:
        return view, None
    offered = choices(question, len(view.answers))
    if not 0 <= number < len(offered):
        return view, None
    choice, label = offered[number]
    if question["kind"] == "questions":
        return _answered(view, question, choice)
    if choice == "no":
        return replace(view, entry=Entry(label, choice)), None
    return view, Act("answer", view.chosen, {"hash": question["hash"], "choice": choice})


def _answered(view: View, question: Mapping[str, Any], text: str) -> tuple[View, Act | None]:
    answers = (*view.answers, text)
    if len(answers) < len(question["questions"]):
        return replace(view, answers=answers), None
    return replace(view, answers=()), Act("answer", view.chosen, {"hash": question["hash"], "answers": list(answers)})


def _typed(view: View, entry: Entry, key: str) -> tuple[View, Act | None]:
    match key:
        case "escape" | "c-c":
            return replace(view, entry=None), None
        case "enter":
            question, view = view.question, replace(view, entry=None)
            if question is None:
                return view, None
            if question["kind"] == "questions":
                return _answered(view, question, entry.text)
            given = {"hash": question["hash"], "choice": entry.choice, "reason": entry.text}
            return view, Act("answer", view.chosen, given)
        case "backspace":
            return replace(view, entry=replace(entry, text=entry.text[:-1])), None
        case _ if key.isprintable() and len(key) == 1:
            return replace(view, entry=replace(entry, text=entry.text + key)), None
        case _:
            return view, None
