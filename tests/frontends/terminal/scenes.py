"""Golden screens as text: `python -m tests.frontends.terminal.scenes` redraws them, to review a change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pyte

from agentcli.agent.ports import ApprovalRequest
from agentcli.core.event import (
    CallDelta,
    Event,
    Recorded,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
    ToolStarted,
    UsageReported,
)
from agentcli.core.message import Message, Text, ToolCall, ToolResult, Usage
from agentcli.core.record import Body, Record, Todo, TodoItem
from agentcli.frontends.terminal.dialogs import proposal
from agentcli.frontends.terminal.paint import Painter
from agentcli.frontends.terminal.render.draw import draw, tail
from agentcli.frontends.terminal.render.facts import Status
from agentcli.frontends.terminal.render.frame import Edit, Size
from agentcli.frontends.terminal.render.input_box import fitted
from agentcli.frontends.terminal.render.markdown import lines as markdown
from agentcli.frontends.terminal.render.scrollback import render
from agentcli.frontends.terminal.render.state import State, update
from agentcli.frontends.terminal.style import DARK, LIGHT, PLAIN, Look
from agentcli.program.commands import Item

FOLDER = Path(__file__).parent / "screens"
SIZES = {"80x24": Size(80, 24), "40x15": Size(40, 15), "200x60": Size(200, 60)}
THEMES = {"dark": DARK, "light": LIGHT, "none": PLAIN}
REPLY = """## What I found: 合計

The total is wrong in `cart.py`, see [the notes](https://example.org/notes/a-long-address-that-needs-its-room) or https://example.org/b.

1. first
2. second, with **bold** words that go on until the line is full and must be wrapped under its number
   - nested 👩\u200d💻
- [x] read it
- [ ] mend it

| file | lines | what |
|:-----|------:|------|
| cart.py | 120 | the total, 合計 |
| prices.py | 7 | `discount`, which begins at eleven pieces instead of ten, as the comment above it says |

```python
def total(self) -> int:
    return sum(self.prices)  # 合計
```

> A word of caution: <Foo> is not HTML.

"""
DIFF = "--- a/shop/cart.py\n+++ b/shop/cart.py\n@@ -10,3 +10,4 @@ class Cart:\n     def total(self):\n-        return sum(self.prices)\n+        prices = [item.price for item in self.items]\n+        return sum(prices)\n \n"
EDIT = ToolCall("c2", "edit", {"file_path": "/repo/shop/cart.py", "old_string": "a", "new_string": "b"})
MAKE = ToolCall("c3", "bash", {"command": "make check"})


@cache
def scenes() -> Mapping[str, str]:
    """Return the text of each screen by its name; the screens of one size have their styles too."""
    return dict(_scenes())


def _scenes() -> Iterator[tuple[str, str]]:
    for size_name, size in SIZES.items():
        for name, state, edit in (
            (("answer", answer(), Edit("also the docs", 13))),
            ("question", question(size), Edit()),
            ("idle", idle(), typing()),
        ):
            yield f"{name}-{size_name}", "\n".join(shown(state, edit, size, Look(PLAIN, folder="/repo"), False))
    for theme_name, theme in THEMES.items():
        yield (
            f"answer-{theme_name}",
            "\n".join(shown(answer(), Edit(), SIZES["80x24"], Look(theme, folder="/repo"), True)),
        )


def answer() -> State:
    """A turn that still goes on."""
    outputs = "\n".join(f"test {n} passed" for n in range(20)) + "\nsrc/cart.py:12: wrong total\n[exit code 2]"
    results = (
        ToolResult("c1", "read", "success", "x\n" * 120, title="Read /repo/shop/cart.py", metadata={"lines": 120}),
        ToolResult(
            "c2",
            "edit",
            "success",
            "",
            title="Edit /repo/shop/cart.py",
            metadata={"diff": DIFF, "additions": 2, "deletions": 1},
        ),
        ToolResult(
            "c3", "bash", "error", outputs, title="$ make check", started=1.0, ended=5.0, metadata={"exit_code": 2}
        ),
        ToolResult("c4", "bash", "denied", "The user said no: use make", title="$ rm -rf build"),
    )
    events: list[Event] = [
        Recorded(_record(Message("user", (Text("Mend the total, please: 合計"),)))), ThinkingDelta("Let me see."), TextDelta(REPLY),
        Recorded(_record(Message("assistant", (Text(REPLY), EDIT)))), *(Recorded(_record(result)) for result in results),
        Recorded(_record(Todo((TodoItem("read it", "completed"), TodoItem("mend it", "in_progress", "Mending it"), TodoItem("test it"))))),
        UsageReported(Usage(input=12_345, output=678), 0.02, 12_345), TextDelta("Now the tests run again."), CallDelta("c5", "bash", "{"),
        Recorded(_record(Message("assistant", (Text("Now the tests run again."), MAKE)))),
        ToolStarted(MAKE, "$ make check"), ToolProgress("c3", "test 1 passed\ntest 2 passed\n"),
    ]  # fmt: skip
    state = State(status=STATUS).begin("Working", 0.0)
    for now, event in enumerate(events):
        state = update(state, event, float(now))
    return replace(state, queue=("then the docs", "and the\nchangelog"), steering=("keep it short",))


def question(size: Size) -> State:
    """An approval."""
    ask = ApprovalRequest(
        EDIT, "Edit /repo/shop/cart.py", "it changes a file", DIFF, "diff", "edit(./shop/cart.py)", edits=True
    )

    async def revise(_: Mapping[str, Any]) -> ApprovalRequest:
        return ask

    look = Look(PLAIN, folder="/repo")
    asked = proposal.question(replace(ask, revise=revise), None, look)
    body = proposal.preview(ask, size.columns - 2, look)
    dialog, _ = fitted(replace(asked, body=(*body, *asked.body)), size, look.theme)
    return replace(idle(), dialog=dialog)


def idle() -> State:
    """A finished turn."""
    state = State(status=STATUS)
    for event in (TextDelta("Done, and shown to work.\n\n"),):
        state = update(state, event, 0.0)
    return state


def typing() -> Edit:
    """A draft with its menu."""
    return Edit(
        "/co",
        3,
        (Item("/compress", "make room now"), Item("/context", "draw the window"), Item("/cost", "per model and day")),
        0,
    )


def shown(state: State, edit: Edit, size: Size, look: Look, styled: bool) -> list[str]:
    """The last rows of the scrollback and the screen, as a terminal shows them."""
    screen = pyte.Screen(size.columns, 90)
    painter = Painter(pyte.Stream(screen).feed)
    live = draw(state, edit, size, look, tail(state, size, look, markdown), 75.0)
    painter.paint(render(state.finished, size.columns, look, markdown), live.lines, live.cursor)
    rows = [_row(screen, n, styled) for n in range(90)]
    while rows and not rows[-1]:
        rows.pop()
    return [*rows, f"cursor at {screen.cursor.y}, {screen.cursor.x}"]


STATUS = Status(
    "demo/demo",
    "ask",
    42_000,
    100_000,
    soft=70_000,
    prunes=30_000,
    hit_rate=0.87,
    cost=0.02,
    jobs=1,
    sandbox="bubblewrap",
    branch="main",
)


def _row(screen: pyte.Screen, number: int, styled: bool) -> str:
    cells = [screen.buffer[number][column] for column in range(screen.columns)]
    if not styled:
        return "".join(cell.data for cell in cells).rstrip()
    parts = []
    for look, run in groupby(cells, _look):
        text = "".join(cell.data for cell in run)
        parts.append(f"⟨{look}⟩{text}⟨/⟩" if look and text.strip() else text)
    return "".join(parts).rstrip()


def _look(cell: pyte.screens.Char) -> str:
    names = [name for name, on in (("bold", cell.bold), ("italic", cell.italics), ("underline", cell.underscore)) if on]
    return " ".join([*names, *([cell.fg] if cell.fg != "default" else [])])


def _record(body: Body) -> Record:
    return Record(1, "1", "2026-01-01T00:00:00Z", "", body)


def _write(found: Sequence[tuple[str, str]]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in found:
        (FOLDER / f"{name}.txt").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    _write(list(scenes().items()))
