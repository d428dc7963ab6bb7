"""Dialogs as values and their key handling: pure functions, so every path can be tested."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from agentcli.core.dataclass import dataclass
from agentcli.program.commands import Choice

TYPED_AHEAD = 0.3
"""Seconds without a key before a visible question takes an answer: earlier keys were meant for something else."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The initial words of a searched list, and where to search besides its labels."""

    words: str = ""
    contents: Callable[[str], Mapping[int, str]] | None = None
    """Returns the matching passage for each choice whose contents have the words.

    It may take long, and runs in a thread.
    """
    shown: int = 0
    """Number of first choices listed without words; the others are found by words. 0 for all."""
    turns: Callable[[str], str] | None = None
    """Returns the title after one of the further keys, none of which ends the list then; None: each ends it."""


UNFILTERED = Filter()


@dataclass(frozen=True, slots=True)
class Dialog:
    """A question in place of the input."""

    title: str
    body: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    chosen: int = 0
    entry: str | None = None
    """Label of a line to type in."""
    hint: str = ""
    numbered: bool = True
    """If true, choices answer to digits; if `multiple`, several choices can be picked."""
    multiple: bool = False
    editable: bool = False
    """If true, the proposal can be changed first."""
    marked: frozenset[int] = frozenset()
    note: str = ""
    """Text at the right of the title."""
    empty: str = ""
    """Replaces the choices of a search without matches; then Enter does nothing."""
    tickable: int = 0
    """Number of first choices of a `multiple` dialog that can be ticked; the others act. 0 for all."""
    acts: tuple[str, ...] = ()
    """Keys that end a searched list on the choice under the cursor, for another action than Enter's."""
    turns: Callable[[str], str] | None = None
    """Returns the title after one of these keys, none of which ends the list then."""

    def can_tick(self, number: int) -> bool:
        """Return whether a choice can be ticked."""
        return self.multiple and (not self.tickable or number < self.tickable)


@dataclass(frozen=True, slots=True)
class Picked:
    """Answer to a dialog."""

    index: int
    """Index of the choice; -1 for the typed line."""
    marked: frozenset[int] = frozenset()
    """The ticked choices of a multiple dialog."""
    key: str = ""
    """The pressed key of `acts`; empty for Enter."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Cancelled without an answer; `hard`: by Ctrl-C, which also interrupts the work."""

    hard: bool = False


@dataclass(frozen=True, slots=True)
class Edited:
    """Request to edit the proposal."""


Outcome = Picked | Cancelled | Edited


def press(dialog: Dialog, key: str) -> Dialog | Outcome:
    """Return the dialog after a key (its name, or the character), or its outcome."""
    if (
        named := next((n for n, choice in enumerate(dialog.choices) if key and choice.shortcut == key), None)
    ) is not None:
        return Picked(named)
    if key in dialog.acts and dialog.choices:
        return replace(dialog, title=dialog.turns(key)) if dialog.turns else Picked(dialog.chosen, key=key)
    match key:
        case "escape" | "c-d":
            return Cancelled()
        case "c-c":
            return Cancelled(hard=True)
        case "up" | "s-tab":
            return _moved(dialog, -1)
        case "down" | "tab" | "c-r":
            return _moved(dialog, 1)
        case "pageup":
            return _moved(dialog, -10, around=False)
        case "pagedown":
            return _moved(dialog, 10, around=False)
        case "enter":
            return _entered(dialog)
        case "c-g":
            return Edited()
        case _:
            return dialog if dialog.entry is not None else _letter(dialog, key)


def start_of(names: Sequence[str], now: str) -> int:
    """Return the index of the item on which a picker starts.

    It starts on the current item, if that is listed, so that a hasty Enter changes nothing.
    """
    return names.index(now) if now in names else 0


def matching(choices: Sequence[Choice], query: str) -> list[int]:
    """Return the indices of the choices that contain every word of the query, in order."""
    words = query.lower().split()
    return [
        n
        for n, choice in enumerate(choices)
        if all(word in f"{choice.label} {choice.detail}".lower() for word in words)
    ]


def _entered(dialog: Dialog) -> Dialog | Outcome:
    if dialog.choices:
        return Picked(dialog.chosen, dialog.marked)
    return dialog if dialog.entry is None or dialog.empty else Picked(-1)


def _letter(dialog: Dialog, key: str) -> Dialog | Outcome:
    if dialog.can_tick(dialog.chosen) and key == " ":
        return replace(dialog, marked=dialog.marked ^ {dialog.chosen})
    if dialog.numbered and key.isdecimal() and 0 < int(key) <= len(dialog.choices):
        if dialog.can_tick(int(key) - 1):
            return replace(dialog, chosen=int(key) - 1, marked=dialog.marked ^ {int(key) - 1})
        return Picked(int(key) - 1, dialog.marked)
    for n, choice in enumerate(dialog.choices):
        if key and key.lower() in choice.keys:
            return Picked(n, dialog.marked)
    return Edited() if dialog.editable and key.lower() == "e" else dialog


def _moved(dialog: Dialog, step: int, around: bool = True) -> Dialog:
    if not dialog.choices:
        return dialog
    to = dialog.chosen + step
    last = len(dialog.choices) - 1
    return replace(dialog, chosen=to % (last + 1) if around else min(max(to, 0), last))
