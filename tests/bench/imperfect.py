"""A scripted model that slips as real ones do, reads what it gets back, and mends its call only if a real one would.

A task is a list of actions (read, edit, write, run). Before some of them stands a slip: a wrong form of the same action, made first. After each
answer the model looks whether the action is done; if not, it mends the call if the answer tells what was wrong, repeats the slip
once if it does not, and gives up an action that failed too often. Nothing of it knows which program it talks to, but for the tools' names.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentcli.core.message import Stop, ToolCall
from agentcli.providers.scripted.model import Reply, say
from tests.loopback import Asked
from tests.loopback.plan import RAW

MOST_FAILURES = 5
"""Failures of one action after which the model gives up."""
LONGEST_LOOP = 14
"""Times that the model makes a call again if nothing tells it that this leads nowhere."""


@dataclass(frozen=True)
class Dialect:
    """The tools of a program: for each action the name, and the parameters in our order."""

    read: tuple[str, str]
    edit: tuple[str, str, str, str]
    write: tuple[str, str, str]
    run: tuple[str, str]
    by_shell: bool = False
    """True for a program that reads, edits and writes by commands."""
    listed: bool = False
    """True if an edit takes a list of replacements."""
    by_script: bool = False
    """True for a model that reads and runs in scripts of agentcli."""


AGENTCLI = Dialect(("read", "file_path"), ("edit", "file_path", "old_string", "new_string"), ("write", "file_path", "content"), ("bash", "command"))  # fmt: skip
SCRIPTS = replace(AGENTCLI, by_script=True)
CLAUDE = Dialect(("Read", "file_path"), ("Edit", "file_path", "old_string", "new_string"), ("Write", "file_path", "content"), ("Bash", "command"))  # fmt: skip
CODEX = Dialect(("exec_command", "cmd"), ("exec_command", "cmd", "", ""), ("exec_command", "cmd", ""), ("exec_command", "cmd"), by_shell=True)  # fmt: skip
PI = Dialect(("read", "path"), ("edit", "path", "oldText", "newText"), ("write", "path", "content"), ("bash", "command"), listed=True)  # fmt: skip


@dataclass(frozen=True)
class Action:
    """One right step: `kind` with its file and texts. `shown` is in the answer of a read or run that worked."""

    kind: str
    file: str = ""
    old: str = ""
    new: str = ""
    command: str = ""
    shown: str = ""
    twice: str = ""
    """A line of the edit that is in the file more than once, and `changed` what it becomes."""
    changed: str = ""

    def is_done(self, folder: Path, answer: str) -> bool:
        """Tell from the file, or from the answer, whether it is done."""
        path = folder / self.file
        if self.kind == "edit":
            return path.is_file() and self.new in path.read_text()
        if self.kind == "write":
            return path.is_file() and path.read_text().strip() == self.new.strip()
        return self.shown in answer


def right(dialect: Dialect, action: Action, folder: Path, **other: str) -> ToolCall:
    """The right call of an action; `other` replaces its file or texts."""
    file, old, new = other.get("file", action.file), other.get("old", action.old), other.get("new", action.new)
    where = file if file.startswith(("/", "@", "~")) or dialect is not CLAUDE else str(folder / file)
    if dialect.by_script and action.kind in ("read", "run"):
        called = f"bash({action.command!r})" if action.kind == "run" else f"read({file!r})"
        return ToolCall("", "script", {"code": f"print({called})"})
    if action.kind == "run":
        return ToolCall("", dialect.run[0], {dialect.run[1]: action.command})
    if dialect.by_shell:
        return ToolCall("", dialect.run[0], {dialect.run[1]: _by_shell(action.kind, file, old, new)})
    if action.kind == "read":
        return ToolCall("", dialect.read[0], {dialect.read[1]: where})
    if action.kind == "write":
        return ToolCall("", dialect.write[0], {dialect.write[1]: where, dialect.write[2]: new})
    name, path, before, after = dialect.edit
    texts = {before: old, after: new}
    return ToolCall("", name, {path: where, "edits": [texts]} if dialect.listed else {path: where, **texts})


def _by_shell(kind: str, file: str, old: str, new: str) -> str:
    if kind == "read":
        return f"cat {file}"
    if kind == "write":
        return f"cat > {file} <<'EOF'\n{new}\nEOF"
    return f"apply_patch <<'EOF'\n{patch(file, old, new)}EOF"


def patch(file: str, old: str, new: str) -> str:
    """A patch as OpenAI's models write it."""
    removed = "".join(f"-{line}\n" for line in old.splitlines())
    added = "".join(f"+{line}\n" for line in new.splitlines())
    return f"*** Begin Patch\n*** Update File: {file}\n@@\n{removed}{added}*** End Patch\n"


@dataclass(frozen=True)
class Scene:
    """What a slip is made from."""

    dialect: Dialect
    action: Action
    folder: Path

    @property
    def right(self) -> ToolCall:
        """The right call."""
        return right(self.dialect, self.action, self.folder)

    def other(self, **changed: str) -> Reply:
        """A reply with the call changed."""
        return say("", right(self.dialect, self.action, self.folder, **changed))

    def raw(self, change: Callable[[str], str]) -> Reply:
        """A reply whose arguments are this text, which is no JSON."""
        return say("", ToolCall("", self.right.name, {RAW: change(json.dumps(dict(self.right.input)))}))

    def plus(self, **more: Any) -> Reply:
        """A reply with more arguments."""
        return say("", ToolCall("", self.right.name, {**self.right.input, **more}))

    def named(self, name: str, given: Mapping[str, Any] | None = None) -> Reply:
        """A reply with another name, and other arguments."""
        return say("", ToolCall("", name, given if given is not None else dict(self.right.input)))

    @property
    def plain(self) -> dict[str, Any]:
        """The call as JSON with a name and arguments."""
        return {"name": self.right.name, "arguments": dict(self.right.input)}


@dataclass(frozen=True)
class Slip:
    """A slip: its weight, the kinds of actions that it happens at, and the wrong reply.

    `hint` is what an answer must say for a real model to see its mistake at once; by default any error tells.
    """

    name: str
    weight: float
    kinds: str
    wrong: Callable[[Scene], Reply]
    hint: str = r"(?i)error|invalid|not |no |must|unknown|cannot|can't|fail|missing|did you mean|unexpected|expected|already|again|reply|call"
    loops: bool = False
    raw: bool = False


_NAMES_FILE = r"(?i)did you mean|do you mean|similar|exists? (?:at|in)|there (?:is|are)|[\w/]+/{name}"


def _numbered(text: str) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(text.splitlines(), 12))


def _xml(scene: Scene) -> str:
    given = "".join(f'<parameter name="{name}">{value if isinstance(value, str) else json.dumps(value)}</parameter>\n' for name, value in scene.right.input.items())  # fmt: skip
    return f'<function_calls>\n<invoke name="{scene.right.name}">\n{given}</invoke>\n</function_calls>'


def _text_editor(scene: Scene) -> Reply:
    action = scene.action
    given = {"command": "str_replace", "path": action.file, "old_str": action.old, "new_str": action.new}
    return scene.named("str_replace_based_edit_tool", given)


def _misspelt(file: str) -> str:
    stem, dot, end = file.rpartition(".")
    return f"{stem}s{dot}{end}"


def _other_parameters(scene: Scene) -> Reply:
    names = {"file_path": "filePath", "path": "filename", "old_string": "old_str", "new_string": "new_str", "content": "file_text", "command": "cmd", "cmd": "command"}  # fmt: skip
    return scene.named(scene.right.name, {names.get(name, name): value for name, value in scene.right.input.items()})


def _without_last(scene: Scene) -> Reply:
    given = dict(scene.right.input)
    given.pop(list(given)[-1])
    return scene.named(scene.right.name, given)


def _ending(text: str, stop: Stop = "end_turn") -> Callable[[Scene], Reply]:
    return lambda scene: say(text.format(file=scene.action.file), stop=stop)


_ERRORS_OF_FILES = r"(?i)not exist|no such|not found|unknown|invalid|did you mean"
_ERRORS_OF_TEXTS = r"(?i)not (?:in|found)|no match|could not find|failed|does not (?:match|contain)|nearest|closest"
SLIPS: Sequence[Slip] = (
    Slip("cut JSON", 2, "edit write", lambda s: s.raw(lambda text: text[: len(text) * 2 // 3]), raw=True),
    Slip("a comma too much", 1, "read edit run", lambda s: s.raw(lambda text: text[:-1] + ",}"), raw=True),
    Slip("single quotes", 1, "read run", lambda s: s.raw(lambda text: text.replace('"', "'")), raw=True),
    Slip("a newline in a string", 2, "edit write", lambda s: s.raw(lambda text: text.replace("\\n", "\n")), raw=True),
    Slip("JSON in a fence", 1, "read run", lambda s: s.raw(lambda text: f"```json\n{text}\n```"), raw=True),
    Slip("JSON in JSON", 1, "read edit run", lambda s: s.raw(json.dumps), raw=True),
    Slip("null for optional", 2, "read", lambda s: s.plus(offset=None, limit=None)),
    Slip("numbers as text", 2, "read", lambda s: s.plus(offset="1", limit="200")),
    Slip("a flag as text", 1, "edit", lambda s: s.plus(replace_all="false")),
    Slip("a name of another program", 1, "read", lambda s: s.named("read_file", {"path": s.action.file})),
    Slip("the editor of another program", 2, "edit", _text_editor),
    Slip("the shell of another program", 2, "run", lambda s: s.named("shell", {"command": ["bash", "-lc", s.action.command]})),
    Slip("the terminal of another program", 1, "run", lambda s: s.named("run_terminal_cmd", {"command": s.action.command, "is_background": False})),
    Slip("the patch of another program", 2, "edit", lambda s: s.named("apply_patch", {"input": patch(s.action.file, s.action.old, s.action.new)})),
    Slip("other parameters", 2, "read edit write run", _other_parameters),
    Slip("a parameter too many", 1, "read run", lambda s: s.plus(explanation="I look at it first.")),
    Slip("a parameter missing", 1, "edit write", _without_last),
    Slip("a namespace before the name", 1, "read edit run", lambda s: s.named(f"functions.{s.right.name}")),
    Slip("a folder left out", 6, "read edit", lambda s: s.other(file=Path(s.action.file).name), _ERRORS_OF_FILES),
    Slip("another root", 3, "read edit", lambda s: s.other(file=f"/repo/{s.action.file}"), _ERRORS_OF_FILES),
    Slip("a name misspelt", 2, "read edit", lambda s: s.other(file=_misspelt(s.action.file)), _ERRORS_OF_FILES),
    Slip("a prefix of diffs", 1, "read edit", lambda s: s.other(file=f"b/{s.action.file}"), _ERRORS_OF_FILES),
    Slip("an @ before the path", 1, "read", lambda s: s.other(file=f"@{s.action.file}"), _ERRORS_OF_FILES),
    Slip("not unique", 4, "edit", lambda s: s.other(old=s.action.twice, new=s.action.changed), r"(?i)unique|occur|\d+ (?:times|match)|multiple"),
    Slip("other blanks", 8, "edit", lambda s: s.other(old="\n".join(f"  {line}" for line in s.action.old.splitlines())), _ERRORS_OF_TEXTS),
    Slip("a line recalled wrongly", 8, "edit", lambda s: s.other(old=s.action.old.replace(" = ", "  = ").replace("return", "return  ")), _ERRORS_OF_TEXTS),
    Slip("line numbers in the text", 2, "edit", lambda s: s.other(old=_numbered(s.action.old)), _ERRORS_OF_TEXTS),
    Slip("the same text twice", 1, "edit", lambda s: s.other(new=s.action.old), r"(?i)same|identical|no change|must be different"),
    Slip("an escape too many", 2, "edit", lambda s: s.other(old=s.action.old.replace("\n", "\\n"), new=s.action.new.replace("\n", "\\n")), _ERRORS_OF_TEXTS),
    Slip("code left out", 1, "write", lambda s: s.other(new=f"{s.action.new.splitlines()[0]}\n# ... rest of the code ...\n"), r"(?i)placeholder|omitted|whole|rest of"),
    Slip("a call in tags", 2, "read edit run", lambda s: say(f"<tool_call>\n{json.dumps(s.plain)}\n</tool_call>")),
    Slip("a call in XML", 2, "read edit run", lambda s: say(_xml(s))),
    Slip("a call in a fence", 1, "read run", lambda s: say(f"```json\n{json.dumps(s.plain)}\n```")),
    Slip("a call with a mark", 1, "read run", lambda s: say(f"[TOOL_CALLS]{json.dumps([s.plain])}")),
    Slip("a promise", 4, "edit write run", _ending("The cause is in {file}. Let me fix it now.")),
    Slip("an empty reply", 2, "read edit run", lambda _: Reply()),
    Slip("a reply cut off", 2, "edit write", lambda s: say("Now the change.", s.right, stop="max_tokens")),
    Slip("the same call again", 2, "read", lambda s: say("", s.right), r"(?i)made this call|same (?:call|result)|repeat|unchanged since|already", loops=True),
)  # fmt: skip
"""The slips with their weights. Those of paths, blanks and lines have the rates of errors in 28,466 recorded calls; the others are guesses."""
SCRIPT_SLIPS: Sequence[Slip] = (
    Slip("open in a script", 4, "read", lambda s: say("", ToolCall("", "script", {"code": f"print(open({s.action.file!r}).read())"}))),
    Slip("a process in a script", 2, "run", lambda s: say("", ToolCall("", "script", {"code": f"import subprocess\nprint(subprocess.run({s.action.command!r}, shell=True, capture_output=True, text=True).stdout)"}))),
    Slip("nothing printed", 4, "read run", lambda s: say("", ToolCall("", "script", {"code": str(s.right.input["code"]).removeprefix("print(").removesuffix(")")}))),
    Slip("the tool's own parameters in a script", 3, "read", lambda s: say("", ToolCall("", "script", {"code": f"print(read(file_path={s.action.file!r}, offset=1))"}))),
)  # fmt: skip
"""Slips of a model that writes scripts, with guessed weights."""


@dataclass
class Imperfect:
    """The plan of one task for the endpoint. `steps` are actions, each with the slip before it, if any."""

    dialect: Dialect
    folder: Path
    steps: Sequence[tuple[Action, Slip | None]]
    characters: int = 0
    requests: int = 0
    ended: str = ""
    _at: int = 0
    _tries: int = 0
    _slipped: int = 0
    _seen: bool = False
    _searched: bool = False

    def __call__(self, asked: Asked) -> Reply:
        """The next reply."""
        if not asked.json.get("tools"):
            return say("A title")
        self.characters += len(asked.body)
        self.requests += 1
        return self._next(answer(asked))

    def _is_done(self, told: str) -> bool:
        if self._at == len(self.steps) or not self._tries:
            return False
        # What it saw once it knows, also if a later answer does not show it again.
        self._seen = self._seen or self.steps[self._at][0].is_done(self.folder, told)
        return self._seen and not self._loops(told)

    def _next(self, told: str) -> Reply:
        while self._is_done(told):
            self._at, self._tries, self._slipped, self._searched, self._seen = self._at + 1, 0, 0, False, False
        if self._at == len(self.steps):
            self.ended = "done"
            return say("The task is done; the check prints ok.")
        action, slip = self.steps[self._at]
        self._tries += 1
        if self._tries > (LONGEST_LOOP if slip and slip.loops else MOST_FAILURES):
            self.ended = "gave up"
            return say(f"I could not finish: {action.kind} of {action.file or action.command} fails.")
        scene = Scene(self.dialect, action, self.folder)
        if slip is not None and self._slips(slip, told):
            self._slipped += 1
            return slip.wrong(scene)
        if slip is not None and slip.hint == _ERRORS_OF_FILES and action.file not in told and not self._searched:
            # Nothing names the right file: it looks for it, as a real model does.
            self._searched = True
            look = replace_action(action, "run", command=f"find . -name '{Path(action.file).name[:4]}*'")
            return say("", right(self.dialect, look, self.folder))
        return say("", scene.right)

    def _slips(self, slip: Slip, told: str) -> bool:
        if not self._slipped:
            return True
        if slip.loops:
            return not re.search(slip.hint, told)
        return self._slipped < 2 and not re.search(slip.hint, told)

    def _loops(self, told: str) -> bool:
        slip = self.steps[self._at][1]
        return slip is not None and slip.loops and not re.search(slip.hint, told) and self._slipped < LONGEST_LOOP


def replace_action(action: Action, kind: str, command: str) -> Action:
    """Another action at the same place."""
    return Action(kind, action.file, command=command, shown="./")


def answer(asked: Asked) -> str:
    """The text of what came since the model's last reply, on any wire."""
    texts: list[str] = []
    for turn in reversed(asked.turns):
        if turn.get("role") in ("assistant", "model") or turn.get("type") in (
            "function_call",
            "reasoning",
            "custom_tool_call",
        ):
            break
        texts.insert(0, " ".join(_texts(turn)))
    return "\n".join(texts)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [
            text
            for name, each in value.items()
            if name not in ("id", "type", "role", "name", "call_id", "tool_use_id", "tool_call_id")
            for text in _texts(each)
        ]
    if isinstance(value, Sequence):
        return [text for each in value for text in _texts(each)]
    return []


@dataclass(frozen=True)
class Task:
    """A small project: its files before and after, the prompt, and the actions that lead there."""

    name: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    prompt: str
    actions: Sequence[Action]

    def is_solved(self, folder: Path) -> bool:
        """Tell whether each file is as it should be."""
        return all(
            (folder / file).is_file() and (folder / file).read_text().strip() == text.strip()
            for file, text in self.after.items()
        )


_THEMES = [
    "cart",
    "invoice",
    "ledger",
    "basket",
    "ticket",
    "parcel",
    "booking",
    "garden",
    "recipe",
    "library",
    "weather",
    "tariff",
    "voucher",
    "payroll",
    "stock",
    "route",
    "menu",
    "census",
    "clinic",
    "orchard",
]


def tasks() -> Sequence[Task]:
    """The twenty tasks."""
    return [_task(name, number) for number, name in enumerate(_THEMES)]


def _task(name: str, number: int) -> Task:
    rate, wrong = number + 7, number + 3
    module, units, check = f"{name}s/{name}.py", f"{name}s/units.py", "check.py"
    body = f'''"""Sums of a {name}."""

from {name}s.units import RATE


def net(prices):
    total = 0
    for price in prices:
        total += price
    return total


def deposit(prices):
    total = 0
    for price in prices:
        total += price
    return total * {wrong}


def gross(prices):
    total = 0
    for price in prices:
        total += price
    return total * {wrong}


def label(prices):
    return "{name}: " + str(net(prices))
'''
    twice, changed = f"    return total * {wrong}", "    return total * RATE"
    rest = "\n\n\ndef label(prices):"
    old, new = twice + rest, changed + rest
    label_old, label_new = f'    return "{name}: " + str(net(prices))', f'    return f"{name}: {{gross(prices)}}"'
    figures = f'"""Figures of a {name}."""\n\nRATE = {wrong}\nUNIT = "piece"\n'
    before = {module: body, units: figures, f"{name}s/__init__.py": "", "README.md": f"# {name}\n"}
    test = f"from {name}s.{name} import gross, label\n\nassert gross([1, 2]) == {3 * rate}\nassert label([1, 2]) == '{name}: {3 * rate}'\nprint('all is well')\n"
    after = {
        module: body.replace(old, new).replace(label_old, label_new),
        units: figures.replace(f"RATE = {wrong}", f"RATE = {rate}"),
        check: test,
    }
    actions = (
        Action("read", module, shown="def label(prices)"),
        Action("edit", module, old, new, twice=twice, changed=changed),
        Action("edit", module, label_old, label_new),
        Action("read", units, shown="UNIT ="),
        Action("edit", units, f'RATE = {wrong}\nUNIT = "piece"', f'RATE = {rate}\nUNIT = "piece"'),
        Action("write", check, new=test),
        Action("run", command="python3 check.py", shown="all is well"),
    )
    prompt = f"Fix {module}: gross must use RATE, which is {rate}, and label must show the gross sum. Write check.py, which checks both, and run it."
    return Task(name, before, after, prompt, actions)


def with_slips(
    task: Task, seed: int, each: int, raw: bool, slips: Sequence[Slip] = SLIPS
) -> Sequence[tuple[Action, Slip | None]]:
    """The actions of a task, `each` of them with a slip, chosen by weight; the first slip goes through the table, so that none is left out."""
    chosen: dict[int, Slip] = {}
    draw = random.Random(seed)
    usable = [slip for slip in slips if raw or not slip.raw]
    wanted = [usable[(2 * seed) % len(usable)], usable[(2 * seed + 1) % len(usable)]]
    while len(chosen) < each:
        slip = wanted.pop(0) if wanted else draw.choices(usable, [one.weight for one in usable])[0]
        places = [at for at, action in enumerate(task.actions) if at not in chosen and _fits(slip, action)]
        if places:
            chosen[draw.choice(places)] = slip
    return [(action, chosen.get(at)) for at, action in enumerate(task.actions)]


def _fits(slip: Slip, action: Action) -> bool:
    if action.kind not in slip.kinds.split():
        return False
    if slip.name == "not unique":
        return bool(action.twice)
    return slip.name not in ("an escape too many", "a newline in a string") or "\n" in action.old + action.new
