"""Input box: the input with its menu, or a dialog with its choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agentcli.core.sanitise import is_needed_joiner
from agentcli.frontends.terminal.render.frame import Edit
from agentcli.frontends.terminal.style import Theme
from agentcli.system.cells import clip, width, wrap

if TYPE_CHECKING:
    from agentcli.frontends.terminal.dialogs.dialogs import Dialog
    from agentcli.frontends.terminal.render.frame import Size

MENU_ROWS = 8
DETAIL_ROWS = 2
"""Rows for the chosen menu item's details, if the list has no room for them."""
LEAST_DETAIL = 8
"""Cells that details need at least."""
CHOICE_ROWS = 12
"""Maximum rows of choices that a dialog shows at once; fewer on a low screen."""


RULED = 10
"""Minimal rows of the terminal for a rule above the input."""


def rule(columns: int, theme: Theme) -> str:
    """Return a horizontal rule across the whole width."""
    return theme.paint("dim", "─" * columns)


def input_lines(edit: Edit, size: Size, theme: Theme, below: str = "") -> tuple[list[str], tuple[int, int]]:
    """Return the input's lines under its rule, and the cursor's position in them.

    Its menu follows, or else the line `below`.
    """
    columns = max(size.columns - 3, 4)
    rows, (row, column) = rows_of(edit.text, columns, edit.cursor)
    limit = max((size.rows - 4) // 2, 1)
    first = min(max(0, row - limit + 1), max(0, len(rows) - limit)) if len(rows) > limit else 0
    mark = theme.paint("accent", (edit.mark or "> ").rstrip()) + " "
    lines = [(mark if n == 0 else "  ") + line for n, line in enumerate(rows)][first : first + limit]
    above = [rule(size.columns - 1, theme)] if size.rows >= RULED else []
    menu = _menu(edit, size, theme) or ([below] if below else [])
    return [*above, *lines, *menu], (len(above) + row - first, column + 2)


def _menu(edit: Edit, size: Size, theme: Theme) -> list[str]:
    room = min(MENU_ROWS, max(size.rows - 6, 1))
    first = max(0, min(edit.chosen - room // 2, len(edit.menu) - room))
    wide = min(max((width(item.name) for item in edit.menu), default=0), size.columns // 2)
    rows = [
        _option(item.name, item.detail, first + n == edit.chosen, wide, size.columns - 1, theme)
        for n, item in enumerate(edit.menu[first : first + room])
    ]
    below = len(edit.menu) - first - room
    chosen = edit.menu[edit.chosen] if 0 <= edit.chosen < len(edit.menu) else None
    if chosen is not None and width(chosen.detail) > size.columns - wide - 5:
        # The list is too narrow for it.
        more = wrap(chosen.detail, size.columns - 5)[:DETAIL_ROWS]
        rows += [theme.paint("dim", f"    {row}") for row in more]
    rest = "and more" if edit.cut else f"{below} more" if below > 0 else ""
    return [*rows, *([theme.paint("dim", f"  … {rest}")] if rest else [])]


def _option(label: str, detail: str, chosen: bool, wide: int, columns: int, theme: Theme) -> str:
    label = clip(label, wide)
    free = columns - width(label) - 4
    # If there is no room next to the longest label, there may be next to this one.
    gap = wide - width(label) if free - (wide - width(label)) > LEAST_DETAIL else 0
    line = clip(f"{'❯' if chosen else ' '} {label}" + " " * gap, columns)
    rest = columns - width(line) - 2
    option = theme.paint("accent", line) if chosen else line
    return option + "  " + theme.paint("dim", clip(detail, rest)) if detail and rest > LEAST_DETAIL else option


def lowest(lines: list[str], cursor: tuple[int, int], limit: int) -> tuple[list[str], tuple[int, int]]:
    """Return at most `limit` lines around the cursor, preferring the lower ones."""
    cut = max(len(lines) - limit, 0)
    if cursor[0] < cut:
        return lines[cursor[0] : cursor[0] + limit], (0, cursor[1])
    return lines[cut:], (cursor[0] - cut, cursor[1])


def dialog_lines(
    dialog: Dialog, edit: Edit, size: Size, theme: Theme, notice: Sequence[str] = ()
) -> tuple[list[str], tuple[int, int]]:
    """Return a dialog's lines under its rule, then the notice's lines, and the cursor's position in them.

    If the terminal is too low, only the title and the lines around the cursor remain. Questions are `fitted` before, so
    they stay complete.
    """  # fmt: skip
    heading, lines, cursor = _laid_out(dialog, edit, size, theme)
    lines += notice
    limit = max(size.rows - 1, 2)
    if len(lines) <= limit:
        return lines, cursor
    title = _title(dialog, size.columns - 1, theme, limit // 2)
    low, (row, column) = lowest(lines[heading:], (max(cursor[0] - heading, 0), cursor[1]), limit - len(title))
    return [*title, *low], (len(title) + row, column)


def fitted(dialog: Dialog, size: Size, theme: Theme) -> tuple[Dialog, list[str]]:
    """Shorten the dialog to fit into the terminal, and return it with the rows to print above it.

    A part without room goes above in full: first the body, then the title, then the choices.
    """
    if _fits(dialog, size, theme):
        return dialog, []
    columns = size.columns - 1
    short, above = dialog, [*dialog.body]
    if above:
        short = replace(dialog, body=(_above(len(above), columns, theme),))
        if _fits(short, size, theme):
            return short, above
    heading = [theme.paint("strong", row) for row in wrap(dialog.title, columns)]
    above = [*heading, *([dialog.note] if dialog.note else []), *above]
    title = clip(" ".join(dialog.title.split()), max(columns - 4, 1))
    short = replace(dialog, title=title, note="", body=(_above(len(above), columns, theme),))
    if not _fits(short, size, theme) and dialog.numbered:
        wide = _label_width(dialog, columns)
        for n in range(len(dialog.choices)):
            above += _choice_lines(replace(dialog, chosen=-1), n, wide, columns, theme)
    return short, above


def _above(count: int, columns: int, theme: Theme) -> str:
    return theme.paint("dim", clip(f"  ({count} line{'s' * (count != 1)}, shown above)", columns))


def _fits(dialog: Dialog, size: Size, theme: Theme) -> bool:
    """Return True if the whole dialog fits, except for choices of a searched list and details of unselected choices."""
    _, lines, _ = _laid_out(dialog, Edit(), size, theme)
    shown = len(dialog.choices) if dialog.numbered else 0
    # With fewer rows left, choices would be scrolled. One choice brings the blank rows around them.
    one = tuple(replace(choice, label="", detail="") for choice in dialog.choices[: min(shown, 1)])
    bare = len(_laid_out(replace(dialog, choices=one, chosen=0), Edit(), size, theme)[1]) - len(one)
    return len(lines) < size.rows and bare + min(shown, CHOICE_ROWS) < size.rows


def _laid_out(dialog: Dialog, edit: Edit, size: Size, theme: Theme) -> tuple[int, list[str], tuple[int, int]]:
    """Return the number of lines of the heading, all lines, and the cursor's position in them."""
    columns = size.columns - 1
    lines = [""] if size.rows >= ROOMY else []
    lines += _heading(dialog, columns, theme)
    heading = len(lines)
    lines += [clip(row, columns) for row in dialog.body]
    lines += [""] if dialog.body and dialog.choices and size.rows >= ROOMY else []
    cursor = (len(lines) - 1, 0)
    if dialog.entry is not None:
        rows, (row, column) = rows_of(edit.text, max(columns - width(dialog.entry) - 2, 8), edit.cursor)
        start = len(lines)
        lines += [(dialog.entry if n == 0 else " " * width(dialog.entry)) + line for n, line in enumerate(rows)]
        cursor = (start + row, width(dialog.entry) + column)
    wide = _label_width(dialog, columns)
    hint = _hint(dialog, wide, columns, theme)
    if hint and dialog.numbered and dialog.choices and size.rows >= ROOMY:
        hint = ["", *hint]
    free = size.rows - 1 - len(lines) - len(hint)
    room = max(min(free, CHOICE_ROWS), 3)
    first = max(0, min(dialog.chosen - room // 2, len(dialog.choices) - room))
    shown = range(len(dialog.choices))[first : first + room]
    for n, rows in zip(shown, _choices(dialog, shown, free, wide, columns, theme), strict=True):
        if n == dialog.chosen and dialog.entry is None:
            cursor = (len(lines), 0)
        lines += rows
    if dialog.empty and not dialog.choices:
        lines.append(theme.paint("dim", clip(f"  {dialog.empty}", columns)))
    lines += hint
    return heading, lines, cursor


def _hint(dialog: Dialog, wide: int, columns: int, theme: Theme) -> list[str]:
    """Return the lines below the choices: about the chosen one, then the hint."""
    hint = [theme.paint("dim", row) for row in wrap(dialog.hint, columns - 2)] if dialog.hint else []
    if not dialog.numbered and any(width(choice.detail) > columns - wide - 4 for choice in dialog.choices):
        whole = dialog.choices[dialog.chosen].detail  # it may be cut beside its label
        hint[:0] = [theme.paint("dim", row) for row in wrap(whole, columns - 2)[:DETAIL_ROWS] or [""]]
    if any(choice.about for choice in dialog.choices):
        about = wrap(dialog.choices[dialog.chosen].about, columns - 2)[:DETAIL_ROWS]
        hint[:0] = [*about, *[""] * (DETAIL_ROWS - len(about))]  # the list must not jump from choice to choice
    return [f"  {row}" for row in hint]


def _title(dialog: Dialog, columns: int, theme: Theme, limit: int) -> list[str]:
    """Return the title without the note, on at most `limit` rows."""
    heading = _heading(replace(dialog, note=""), columns, theme)
    if len(heading) == 1:
        return heading
    rows = wrap(dialog.title, columns)
    if len(rows) > limit:
        rows[limit - 1 :] = [clip("".join(rows[limit - 1 :]), columns)]
    return [theme.paint("strong", row) for row in rows]


def _label_width(dialog: Dialog, columns: int) -> int:
    """Return the number of cells for the labels of the choices. In a list without numbers, details get a third of the row next to long labels."""
    longest = max((width(choice.label) for choice in dialog.choices), default=0)
    if dialog.numbered:
        return min(longest + 5, columns * 3 // 4)
    if longest + 2 <= columns * 3 // 4 or columns < LABELS_ALONE:
        return min(longest + 2, columns)
    details = max((width(choice.detail) for choice in dialog.choices), default=0)
    return min(longest + 2, columns - 4 - min(details, columns // 3))


LABELS_ALONE = 48
"""Minimum cells of a list without numbers for details beside long labels.

In fewer cells the ends of model names would be cut off, and all models would look alike.
"""
ROOMY = 20
"""Minimal rows of the terminal for a blank row above a dialog, one above its choices and one below them."""


def _heading(dialog: Dialog, columns: int, theme: Theme) -> list[str]:
    """Return a rule with the title in it and the note at its end.

    A title that does not fit goes below the rule.
    """
    title, note = dialog.title, dialog.note
    left, right = f"─ {title} ", f" {note} ─" if note else ""
    free = columns - width(left) - width(right)
    if free >= 2:
        return [theme.paint("dim", "─ ") + theme.paint("strong", title) + theme.paint("dim", f" {'─' * free}{right}")]
    if note and columns - width(left) >= 2:
        below = [theme.paint("dim", row) for row in wrap(note, columns)]
        return [*_heading(replace(dialog, note=""), columns, theme), *below]
    rows = [theme.paint("strong", row) for row in wrap(title, columns)]
    return [rule(columns, theme), *rows, *(theme.paint("dim", row) for row in (wrap(note, columns) if note else []))]


def _choices(dialog: Dialog, shown: range, free: int, wide: int, columns: int, theme: Theme) -> list[list[str]]:
    """Return the rows of each choice. If not all fit, drop details except the selected choice's, then all: the question stays readable."""
    for detailed in (set(shown), {dialog.chosen}, set[int]()):
        choices = [*dialog.choices]
        for n in {*shown} - detailed:
            choices[n] = replace(choices[n], detail="")
        fitted = replace(dialog, choices=tuple(choices))
        blocks = [_choice_lines(fitted, n, wide, columns, theme) for n in shown]
        if sum(map(len, blocks)) <= free:
            break
    return blocks


def _choice_lines(dialog: Dialog, n: int, wide: int, columns: int, theme: Theme) -> list[str]:
    choice, chosen = dialog.choices[n], n == dialog.chosen
    tick = ("[x] " if n in dialog.marked else "[ ] ") if dialog.can_tick(n) else ""
    if not dialog.numbered:
        return [_option(choice.label, choice.detail, chosen, wide, columns, theme)]
    number = f"{'❯' if chosen else ' '} {n + 1}. {tick}"
    rows = _hanging(number, choice.label, columns)
    if choice.keys and len(rows) == 1 and width(rows[0]) <= wide < columns - 3:
        rows[0] += " " * (wide + 2 - width(rows[0])) + theme.paint("dim", choice.keys[0])
    rows = [theme.paint("accent", row) for row in rows] if chosen else rows
    if not choice.detail:
        return rows
    place = max(wide, width(rows[0])) + 2
    if len(rows) == 1 and columns - place >= DETAIL:
        first, *more = wrap(choice.detail, columns - place)
        gap = " " * (place - width(rows[0]))
        return [rows[0] + gap + theme.paint("dim", first), *(" " * place + theme.paint("dim", row) for row in more)]
    return [
        *rows,
        *(" " * width(number) + theme.paint("dim", row) for row in wrap(choice.detail, columns - width(number))),
    ]


DETAIL = 24
"""Minimal cells for the details of choices beside their labels; with fewer, they go below."""


def _hanging(mark: str, text: str, columns: int) -> list[str]:
    """Return the text after a mark, on as many rows as it needs: every letter of a permission rule counts."""
    rows = wrap(text, max(columns - width(mark), 8))
    return [(mark if n == 0 else " " * width(mark)) + row for n, row in enumerate(rows)]


def rows_of(text: str, columns: int, cursor: int) -> tuple[list[str], tuple[int, int]]:
    """Return the input as rows of at most `columns` cells, and the position of the cursor."""
    rows: list[str] = []
    row: list[str] = []
    used, place = 0, (0, 0)
    for n, char in enumerate(text):
        visible = char.isprintable() or char == "\n" or is_needed_joiner(text, n)
        cell = "    " if char == "\t" else char if visible else "·"
        if char != "\n" and used + width(cell) > columns:
            rows.append("".join(row))
            row, used = [], 0
        if n == cursor:
            place = (len(rows), used)
        if char == "\n":
            rows.append("".join(row))
            row, used = [], 0
            continue
        row.append(cell)
        used += width(cell)
    if cursor >= len(text):
        place = (len(rows), used)
    return [*rows, "".join(row)], place
