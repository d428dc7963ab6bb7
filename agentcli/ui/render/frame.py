"""The values of one frame: the terminal's size, the text being edited with its completions, and the lines to paint."""

from __future__ import annotations

from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import safe_line


@dataclass(frozen=True, slots=True)
class Item:
    """One completion: `label` is inserted as it is; `name` and `detail` are displayed, both sanitised. Enter sends one that `runs`."""

    label: str
    detail: str = ""
    runs: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "detail", safe_line(self.detail))

    @property
    def name(self) -> str:
        """The label for a terminal."""
        return safe_line(self.label)


@dataclass(frozen=True, slots=True)
class Edit:
    """Text being edited: the draft, or the line of a dialog. `chosen` is -1 while no menu item is chosen; a menu that is `cut` holds
    the first matches only.
    """

    text: str = ""
    cursor: int = 0
    menu: tuple[Item, ...] = ()
    chosen: int = -1
    mark: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Size:
    """The terminal, in cells."""

    columns: int
    rows: int


@dataclass(frozen=True, slots=True)
class Live:
    """Live lines, fewer than the terminal's rows, and the cursor's position in them."""

    lines: tuple[str, ...]
    cursor: tuple[int, int]
