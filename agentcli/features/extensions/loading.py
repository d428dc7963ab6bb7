"""Extensions as imported: their tools, commands and handlers, and the faults that their code had."""

from __future__ import annotations

import importlib.util
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import field
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from agentcli.core.annotation import fields_of
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError, ConfigError
from agentcli.core.sanitise import safe_line
from agentcli.core.text.truncate import clip
from agentcli.core.tool import Tool
from agentcli.extension.marks import MARK, Around, Command, Engine, Handler, Settings
from agentcli.features.extensions.sources import INIT, Source
from agentcli.features.extensions.worker import Hung, Worker
from agentcli.program.config.coerce import Layer, coerce
from agentcli.program.definition import Definition
from agentcli.system import probe
from agentcli.tools.function_tool import FunctionTool

IMPORT_SECONDS = 10.0
"""Seconds that the import of an extension may take."""
MOST_FAULTS = 3
"""Faults after which an extension is off until it is loaded again."""
PREFIX = "agentcli_extension_"
"""Beginning of the names of extensions' modules."""
FAULT = 300
"""Characters of a fault's text."""


Handling = tuple[Any, Handler]
"""A function with its use for an event."""


@dataclass(slots=True)
class Extension:
    """An imported extension. `handlers` and `commands` are functions with their uses, in the order of the file."""

    source: Source
    module: ModuleType | None = None
    tools: tuple[FunctionTool, ...] = ()
    commands: tuple[tuple[Any, Command], ...] = ()
    handlers: tuple[Handling, ...] = ()
    around: tuple[Any, ...] = ()
    """Functions around the turns of a run."""
    engine: Any = None
    """The function that answers the tool `web_search`, if any."""
    settings: type | None = None
    faults: list[str] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    """Faults that the person has not seen."""
    calls: int = 0
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """Its name."""
        return self.source.name

    @property
    def off(self) -> bool:
        """True after too many faults, or if it could not be imported."""
        return self.module is None or len(self.faults) >= MOST_FAULTS

    def fault(self, error: BaseException | str, doing: str) -> None:
        """Note a fault. The person sees each kind once."""
        text = error if isinstance(error, str) else described(error, self.source)
        line = safe_line(clip(f"Extension {self.name}, {doing}: {text}", FAULT))
        if line not in self.faults:
            self.untold.append(line)
        self.faults.append(line)
        if len(self.faults) == MOST_FAULTS and self.module is not None:
            self.untold.append(
                f"Extension {self.name} is off after {MOST_FAULTS} faults. /extensions reload loads it again."
            )

    def take_untold(self) -> Sequence[str]:
        """Return the faults that the person has not seen."""
        told, self.untold = self.untold, []
        return told


class Loaded(ABC):
    """The extensions of a run, as sessions use them. `all` holds them in order, also if their import failed."""

    worker: Worker
    all: list[Extension]

    def active(self) -> Sequence[Extension]:
        """Return the extensions that are not off."""
        return [one for one in self.all if not one.off]

    def named(self, name: str) -> Extension | None:
        """Return an extension that is not off, by name."""
        return next((one for one in self.active() if one.name == name), None)

    @abstractmethod
    def settings_of(self, extension: Extension) -> Any:
        """Return the settings of an extension."""

    def present_tools(self) -> Sequence[Tool]:
        """Return the tools of the extensions that are loaded; none by default."""
        return ()

    def waiting(self) -> Sequence[Definition]:
        """Return the project's extensions that are not approved; none by default."""
        return ()

    def refresh(self) -> bool:
        """Load what has changed; return True if something was loaded again. By default nothing changes."""
        return False


def described(error: BaseException, source: Source) -> str:
    """Return an error in a line with the place in the extension's file."""
    if isinstance(error, Hung):
        return "it took too long and was given up"
    place = f" ({source.path.name}:{line})" if (line := _line(error, source)) else ""
    words = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    said = words if isinstance(error, AgentError) else f"{type(error).__name__}: {words}".removesuffix(": ")
    return f"{said.removesuffix('.')}{place}."


def _line(error: BaseException, source: Source) -> int:
    """Return the line in the extension's files where an error arose; 0 if it is unknown."""
    if isinstance(error, SyntaxError) and error.lineno:
        return error.lineno
    line, trace = 0, error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        line = trace.tb_lineno if str(module).startswith(PREFIX + source.name) else line
        trace = trace.tb_next
    return line


class _Content(SourceFileLoader):
    """Imports the content that was read, not what the file holds now, and no compiled file beside it."""

    def __init__(self, name: str, source: Source) -> None:
        super().__init__(name, str(source.path))
        self._content = next(iter(source.files.values()))

    def path_stats(self, path: Any) -> Any:
        raise OSError("no compiled file is read or written")

    def get_data(self, path: Any) -> bytes:
        return self._content


def load(source: Source, worker: Worker, cache: Path | None = None) -> Extension:
    """Import an extension. If that fails, the fault is noted in it. Copies of folders are kept in `cache`."""
    made = Extension(source)
    forget(source.name)
    try:
        module = worker.wait(worker.begin(source.name, _imported, source, cache), IMPORT_SECONDS)
        _take(made, module)
        made.module = module
    except Exception as error:  # noqa: BLE001 - code of others may raise anything
        made.fault(error, "import")
        forget(source.name)
    return made


def forget(name: str) -> None:
    """Remove the modules of an extension."""
    own = PREFIX + name
    for each in [module for module in sys.modules if module == own or module.startswith(f"{own}.")]:
        del sys.modules[each]


def _imported(source: Source, cache: Path | None) -> ModuleType:
    name = PREFIX + source.name
    if source.module:
        return importlib.import_module(source.module)
    if source.is_folder:
        assert cache is not None
        folder = _copied(source, cache)
        spec = importlib.util.spec_from_file_location(name, folder / INIT, submodule_search_locations=[str(folder)])
    else:
        spec = importlib.util.spec_from_file_location(name, source.path, loader=_Content(name, source))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _copied(source: Source, cache: Path) -> Path:
    """Return a private copy of the files that were read: the project's own may change before each import."""
    folder = cache / "extensions" / source.digest
    for name, content in source.files.items():
        file = folder / name
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not probe.is_file(file) or file.read_bytes() != content:
            scratch = file.with_name(f"{file.name}.{os.getpid()}")
            scratch.write_bytes(content)
            scratch.replace(file)
    return folder


def _take(made: Extension, module: ModuleType) -> None:
    """Find the tools, commands and handlers of a module."""
    values = [value for name, value in vars(module).items() if not name.startswith("__")]
    made.tools = tuple(dict.fromkeys(value for value in values if isinstance(value, FunctionTool)))
    uses = [*dict.fromkeys(pair for value in values for pair in _uses(value))]
    made.commands = tuple((value, use) for value, use in uses if isinstance(use, Command))
    made.handlers = tuple((value, use) for value, use in uses if isinstance(use, Handler))
    made.around = tuple(value for value, use in uses if isinstance(use, Around))
    made.engine = next((value for value, use in uses if isinstance(use, Engine)), None)
    made.settings = next((value for value, use in uses if isinstance(use, Settings)), None)
    for tool in made.tools:
        tool.owner = made.name


def _uses(value: Any) -> Iterator[tuple[Any, object]]:
    marks = getattr(value, MARK, ()) if callable(value) else ()
    yield from ((value, mark) for mark in marks if isinstance(marks, tuple))


def settings_of(made: Extension, given: Any) -> Any:
    """Return an extension's settings: its dataclass with the values of its table. Raise ConfigError for a wrong type or a missing value."""
    table = given if isinstance(given, dict) else {}
    if made.settings is None:
        return dict(table)
    slots = {slot.name: slot for slot in fields_of(made.settings)}
    layer = Layer("config.toml", {})
    prefix = f"extensions.{made.name}"
    values = {name: coerce(f"{prefix}.{name}", slots[name].kind, table[name], layer) for name in table if name in slots}
    lists = {name: [*value] for name, value in values.items() if slots[name].is_list}
    if missing := [slot.name for slot in slots.values() if slot.required and slot.name not in values]:
        raise ConfigError(f"{prefix}.{missing[0]} is not set, and has no default.")
    return made.settings(**{**values, **lists})
