"""Key bindings, and the help of `?`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from prompt_toolkit.filters import Condition, Filter, vi_insert_mode, vi_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from agentcli.core.errors import ConfigError
from agentcli.core.text.words import one_of
from agentcli.frontends.terminal.input.attachments import mention_of_picture
from agentcli.frontends.terminal.render.input_box import MENU_ROWS
from agentcli.frontends.terminal.style import Theme
from agentcli.system.cells import wrap

if TYPE_CHECKING:
    from agentcli.frontends.terminal.input.editor import Editor
    from agentcli.frontends.terminal.input.handler import KeyAction

KEYS: Mapping[KeyAction, str] = MappingProxyType(
    {
        "search": "c-r",
        "mode": "s-tab",
        "output": "c-o",
        "thinking": "c-t",
        "editor": "c-g",
        "picture": "c-v",
        "background": "c-b",
        "redraw": "c-l",
        "queue": "tab",
    }
)
"""Actions whose key can be set, under `[ui.keys]`, with prompt_toolkit's names of keys (`c-r` is Ctrl-R, `f5`,
`s-tab`).
"""

LINES = 10
"""Lines by which Page Up and Page Down move in a draft."""
LINE = 10_000
"""Maximum characters of a paste in a dialog's line."""

_DESCRIPTIONS: Mapping[KeyAction, str] = {
    "search": "search earlier prompts",
    "mode": "switch mode",
    "output": "transcript: everything unfolded, with search",
    "thinking": "show or fold thinking",
    "editor": "write in your editor",
    "picture": "attach the image on the clipboard",
    "background": "send the running command to the background",
    "redraw": "redraw",
    "queue": "while it works: queue for the end of the turn",
}
_FIXED = (
    ("Enter", "send; while it works: into the running turn, with the next result"),
    ("Alt-Enter", "new line"),
    ("Ctrl-J, \\ Enter", "new line; Shift-Enter too, where supported"),
    ("Esc", "interrupt (keeps what has arrived); twice on an empty line: go back to an earlier prompt"),
    ("Ctrl-C", "interrupt, else clear; twice: exit"),
    ("Ctrl-D", "exit"),
    ("↑ ↓", "take back a queued message; earlier prompts"),
    ("Tab", "complete /commands and @files; Enter runs or takes the marked one"),
    ("Ctrl-Z", "suspend"),
    ("/", "commands"),
    ("@", "attach a file or folder"),
    ("! and !!", "run a shell command, with and without showing it to the model"),
)
_TURNED = "complete /commands and @files; while it works: send into the running turn"
_TAKEN = frozenset(
    {("c-m",), ("c-j",), ("escape",), ("escape", "c-m"), ("c-c",), ("c-d",), ("up",), ("down",), ("c-i",), ("c-z",)}
)
"""Keys of `_FIXED` in prompt_toolkit's names."""
_SENDING = ("enter", "tab", "escape enter")
"""Keys that may queue. If Enter does, Tab sends into the running turn."""
_DIALOG_KEYS = (
    "up", "down", "enter", "escape", "c-c", "c-d", "c-r", "c-x", "tab", "s-tab", "pageup", "pagedown", "home", "end",
)  # fmt: skip
_TAB_KEYS = ("left", "right", "tab", "s-tab", "up", "down", "pageup", "pagedown", "escape", "enter")
"""Keys of open reports, while nothing is typed."""


def help_lines(keys: Mapping[KeyAction, str]) -> list[tuple[str, str]]:
    """Return every key by its readable name, with its action."""
    fixed = dict(_FIXED)
    if keys["queue"] == "enter":
        fixed["Enter"], fixed["Tab"] = "send; while it works: queue for the end of the turn", _TURNED
    actions = [action for action in _DESCRIPTIONS if action != "queue" or keys["queue"] != "enter"]
    return [*fixed.items(), *((readable(keys[action]), _DESCRIPTIONS[action]) for action in actions)]


def help_rows(keys: Mapping[KeyAction, str], columns: int, theme: Theme) -> list[str]:
    """Return the help as rows of at most `columns` cells, with descriptions as a hanging column."""
    listed = help_lines(keys)
    wide = max(len(key) for key, _ in listed) + 2
    return [
        (theme.paint("accent", key) + " " * (wide - len(key)) if n == 0 else " " * wide) + row
        for key, does in listed
        for n, row in enumerate(wrap(does, max(columns - wide, 12)))
    ]


def chosen(keys: Mapping[str, str]) -> Mapping[KeyAction, str]:
    """Return the default keys merged with the configured ones. Raises ConfigError for an unknown action or key, and for a key bound twice."""
    known = dict(KEYS)
    for action, key in keys.items():
        if action not in KEYS:
            raise ConfigError(f"ui.keys has no action {action}.{one_of(action, KEYS)}")
        try:
            pressed = _pressed(key)
        except ValueError as error:
            raise ConfigError(
                f"ui.keys.{action}: there is no key {key}. Write keys like c-r, f5 or escape o."
            ) from error
        if action == "queue" and key in _SENDING:
            known["queue"] = key
            continue
        if pressed in _TAKEN or (len(pressed) == 1 and len(pressed[0]) == 1):
            raise ConfigError(f"ui.keys.{action}: {key} is needed for typing, sending or exiting. Choose another key.")
        known[action] = key  # type: ignore[index]
    for action in keys:
        for other in known:
            if other != action and _pressed(known[other]) == _pressed(known[action]):  # type: ignore[index]
                raise ConfigError(
                    f"ui.keys.{action} and ui.keys.{other} are both {keys[action]}. Give one of them another key."
                )
    return known


def _pressed(key: str) -> tuple[str, ...]:
    """Normalise a key to prompt_toolkit's name. Raises ValueError for an unknown key."""
    bindings = KeyBindings()
    bindings.add(*key.split())(lambda event: None)
    return tuple(str(one.value if isinstance(one, Keys) else one) for one in bindings.bindings[0].keys)


def bind(editor: Editor, actions: Mapping[KeyAction, str] = KEYS) -> None:
    """Bind the keys of an editor; other keys act as in prompt_toolkit's Emacs or vi mode."""
    keys = KeyBindings()
    drafting = Condition(lambda: not editor.handler.asking)
    menu = drafting & Condition(lambda: bool(editor.menu.items))
    _sending(keys, editor, drafting, menu, actions["queue"])
    _leaving(keys, editor, drafting)
    _moving(keys, editor, drafting & ~menu)
    _menu(keys, editor, menu)
    _pasting(keys, editor)
    _dialogs(keys, editor)
    tabbed = drafting & ~menu & Condition(lambda: editor.handler.tabbed and not editor.draft.text)
    for name in _TAB_KEYS:
        keys.add(name, filter=tabbed)(_presses(editor, name))
    _view(keys, editor, actions["output"])
    for action, key in actions.items():
        if action != "queue":
            keys.add(*key.split(), filter=drafting)(_does(editor, action))

    @keys.add("c-x", "c-e", filter=drafting)
    def as_in_a_shell(event: KeyPressEvent) -> None:
        editor.handler.act("editor")

    @keys.add("c-z")
    def suspend(event: KeyPressEvent) -> None:
        editor.suspend()

    editor.application.key_bindings = keys


def _sending(keys: KeyBindings, editor: Editor, drafting: Filter, menu: Filter, queues: str) -> None:
    @keys.add("enter", filter=drafting)
    def send(event: KeyPressEvent) -> None:
        if editor.menu.items and editor.chosen >= 0 and not editor.accept(sends=True):
            return
        if editor.draft.document.text_before_cursor.endswith("\\"):
            editor.draft.delete_before_cursor()
            editor.draft.insert_text("\n")
        elif editor.handler.working and queues != "enter" and editor.draft.text.strip():
            editor.handler.steer(editor.take())
        elif editor.draft.text.strip():
            editor.handler.submit(editor.take())
        elif not editor.draft.text:
            editor.handler.act("queue")

    @keys.add("c-j", filter=drafting)
    @keys.add("escape", "enter", filter=drafting)
    def new_line(event: KeyPressEvent) -> None:
        editor.draft.insert_text("\n")

    ready = Condition(lambda: editor.handler.working and bool(editor.draft.text.strip()))
    other = "tab" if queues == "enter" else queues

    @keys.add(*other.split(), filter=drafting & ~menu & ready)
    def later(event: KeyPressEvent) -> None:
        (editor.handler.steer if queues == "enter" else editor.handler.submit)(editor.take())

    @keys.add("?", filter=drafting & Condition(lambda: not editor.draft.text))
    def list_keys(event: KeyPressEvent) -> None:
        editor.handler.act("keys")


def _leaving(keys: KeyBindings, editor: Editor, drafting: Filter) -> None:
    @keys.add("escape", filter=drafting & ~(vi_mode & vi_insert_mode))
    def interrupt(event: KeyPressEvent) -> None:
        if editor.menu.items:
            editor.close_menu()
        else:
            editor.handler.act("interrupt")

    @keys.add("c-c", filter=drafting)
    def control_c(event: KeyPressEvent) -> None:
        editor.handler.act("break")

    @keys.add("c-d", filter=drafting & Condition(lambda: not editor.draft.text))
    def leave(event: KeyPressEvent) -> None:
        editor.handler.act("leave")

    @keys.add(Keys.SIGINT)
    def signalled(event: KeyPressEvent) -> None:
        editor.handler.act("signal")


def _moving(keys: KeyBindings, editor: Editor, drafting: Filter) -> None:
    """Bind the keys that move in a draft without a menu."""

    @keys.add("up", filter=drafting)
    def earlier(event: KeyPressEvent) -> None:
        document = editor.draft.document
        queued = editor.handler.recall() if not document.text else None
        if queued is not None:
            editor.put(queued)
        else:
            editor.draft.auto_up()

    several_lines = Condition(lambda: "\n" in editor.draft.text)

    @keys.add("pageup", filter=drafting & several_lines)
    def page_up(event: KeyPressEvent) -> None:
        editor.draft.cursor_up(LINES)

    @keys.add("pagedown", filter=drafting & several_lines)
    def page_down(event: KeyPressEvent) -> None:
        editor.draft.cursor_down(LINES)

    idle = Condition(lambda: not (editor.handler.working and editor.draft.text.strip()))

    @keys.add("tab", filter=drafting & idle)
    def indent(event: KeyPressEvent) -> None:
        editor.draft.insert_text("    ")


def _menu(keys: KeyBindings, editor: Editor, menu: Filter) -> None:
    @keys.add("c-p", filter=menu)
    @keys.add("up", filter=menu)
    def up(event: KeyPressEvent) -> None:
        editor.move(-1)

    @keys.add("c-n", filter=menu)
    @keys.add("down", filter=menu)
    def down(event: KeyPressEvent) -> None:
        editor.move(1)

    @keys.add("pageup", filter=menu)
    def page_up(event: KeyPressEvent) -> None:
        editor.page(-MENU_ROWS)

    @keys.add("pagedown", filter=menu)
    def page_down(event: KeyPressEvent) -> None:
        editor.page(MENU_ROWS)

    @keys.add("tab", filter=menu)
    def complete(event: KeyPressEvent) -> None:
        editor.accept()


def _pasting(keys: KeyBindings, editor: Editor) -> None:
    @keys.add(Keys.BracketedPaste)
    def paste(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer is editor.draft and not event.data:
            # Terminals send this when a clipboard without text is pasted.
            editor.handler.act("picture")
        elif buffer is editor.draft:
            buffer.insert_text(mention_of_picture(event.data) or editor.pastes.fold(event.data))
        else:
            buffer.insert_text(event.data[:LINE].replace("\r", " ").replace("\n", " "))


def _dialogs(keys: KeyBindings, editor: Editor) -> None:
    asking = Condition(lambda: bool(editor.handler.asking))
    choosing = Condition(lambda: editor.handler.asking in ("choice", "view"))
    for name in _DIALOG_KEYS:
        keys.add(name, filter=asking)(_presses(editor, name))

    for name, meant in {"c-n": "down", "c-p": "up"}.items():
        keys.add(name, filter=asking)(_presses(editor, meant))

    empty = Condition(lambda: not editor.line.text)
    for name in ("left", "right"):
        keys.add(name, filter=asking & empty)(_presses(editor, name))

    # An Alt-Enter read as Esc would discard the typed text.
    @keys.add("escape", "enter", filter=asking & ~choosing)
    @keys.add("c-j", filter=asking & ~choosing)
    def new_line(event: KeyPressEvent) -> None:
        editor.line.insert_text("\n")

    @keys.add("c-g", filter=asking)
    def edit(event: KeyPressEvent) -> None:
        editor.handler.press("c-g")

    @keys.add(Keys.Any, filter=choosing)
    def letter(event: KeyPressEvent) -> None:
        editor.handler.press(event.data)


def _view(keys: KeyBindings, editor: Editor, opens: str) -> None:
    """Bind the keys of a view.

    The key that opens the transcript also closes it, and opens it over a question.
    """
    viewing = Condition(lambda: editor.handler.asking == "view")
    for name in ("backspace", "c-u", "c-l"):
        keys.add(name, filter=viewing)(_presses(editor, name))
    keys.add("c-f", filter=viewing)(_presses(editor, "pagedown"))
    keys.add("c-b", filter=viewing)(_presses(editor, "pageup"))
    keys.add(*opens.split(), filter=viewing)(_presses(editor, "close"))
    choosing = Condition(lambda: editor.handler.asking == "choice")
    keys.add(*opens.split(), filter=choosing)(_does(editor, "output"))


def _does(editor: Editor, action: KeyAction) -> Callable[[KeyPressEvent], Any]:
    def handler(event: KeyPressEvent) -> None:
        editor.handler.act(action)

    return handler


def _presses(editor: Editor, name: str) -> Callable[[KeyPressEvent], Any]:
    def handler(event: KeyPressEvent) -> None:
        editor.handler.press(name)

    return handler


_ARROWS = {"left": "←", "right": "→", "up": "↑", "down": "↓"}


def readable(key: str) -> str:
    """Return a key as people write it: `Ctrl-R`."""
    if key in _ARROWS:
        return _ARROWS[key]
    names = {"c-": "Ctrl-", "s-": "Shift-", "escape ": "Alt-"}
    for short, long in names.items():
        if key.startswith(short):
            return long + key.removeprefix(short).capitalize()
    return key.capitalize()
