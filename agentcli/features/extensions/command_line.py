"""`agentcli extensions`: list, begin, add, remove and try extensions."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentcli.core.errors import AgentError, InputError, UsageError
from agentcli.core.sanitise import safe_line
from agentcli.core.text.words import instead
from agentcli.program.command_line import program_of
from agentcli.program.command_line.flags import InFolder, Json, Trust
from agentcli.program.command_line.output import confirmed, say, say_json
from agentcli.program.options import Options
from agentcli.system import probe

if TYPE_CHECKING:
    from agentcli.features.extensions.loading import Extension
    from agentcli.features.extensions.run import LoadedRun
    from agentcli.features.extensions.sources import Source
    from agentcli.program.program import Program

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
Name = Annotated[str, typer.Argument(metavar="NAME", help="the extension's name")]


@app.command("list")
def list_extensions(cwd: InFolder = "", trust: Trust = False, json: Json = False) -> None:
    """List the extensions with what they add, and their faults."""
    program = program_of(Options(cwd=cwd, trust=trust))
    loaded = _loaded(program)
    if json:
        say_json({"extensions": [_as_json(one) for one in loaded.all], "notes": [*loaded.left_out]})
        return
    from agentcli.features.extensions.commands import lines

    for line in lines(loaded, program):
        say(line)
    from agentcli.features.extensions.packages import packages

    added = {one.source.module for one in loaded.all}
    for name, module in packages().items():
        if module not in added:
            say(f"{name}  installed, not added (agentcli extensions add {name})")


@app.command("new")
def new(name: Name) -> None:
    """Write an extension and its test to your folder.

    Every new session loads it from there.
    """
    from agentcli.features.extensions.skeleton import CODE, TEST

    if not name.isidentifier() or name.startswith(("_", "test_")):
        raise UsageError(f"{name!r} cannot be a name. Use letters, digits and `_`.")
    folder = _folder()
    file, test = folder / f"{name}.py", folder / f"test_{name}.py"
    if probe.exists(file) or probe.exists(folder / name):
        raise InputError(f"{file} exists already.")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_text(CODE.replace("NAME", name), encoding="utf-8")
    test.write_text(TEST.replace("NAME", name), encoding="utf-8")
    say(f"Wrote {file} and {test}. Every new session loads it from there; type /extensions reload in a running one.")


@app.command("add")
def add(
    source: Annotated[str, typer.Argument(metavar="PATH|NAME", help="a file, a folder, or an installed package's")],
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
) -> int:
    """Copy an extension to your folder.

    Or switch on that of an installed package. It lists what the extension adds, and asks.
    """
    from agentcli.features.extensions.sources import PACKAGE

    found, folder = _found(source), _folder()
    target = folder / (f"{found.name}{PACKAGE}" if found.module else found.path.name)
    if probe.exists(target):
        raise InputError(f"{target} exists already. Remove it first: agentcli extensions remove {found.name}")
    say(f"Python code of the package {found.module}" if found.module else found.starts)
    if not yes and not confirmed("Add it? It runs with your rights."):
        return 1
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if found.module:
        target.write_text(f"{found.module}\n", encoding="utf-8")
    for name, content in found.files.items():
        file = target / name if found.is_folder else target
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_bytes(content)
    say(f"Added {found.name}.")
    return 0


@app.command("remove")
def remove(name: Name) -> None:
    """Remove an extension from your folder."""
    from agentcli.features.extensions.sources import PACKAGE

    folder = _folder()
    there = [path for path in (folder / f"{name}.py", folder / f"{name}{PACKAGE}", folder / name) if probe.exists(path)]
    if not there or Path(name).name != name:
        raise InputError(
            f"There is no extension {name} in {folder}.{instead(name, [path.stem for path in folder.glob('*.py')])}"
        )
    tests = [path for path in [folder / f"test_{name}.py"] if probe.exists(path)]
    for path in [*there, *tests]:
        shutil.rmtree(path) if probe.is_dir(path) else path.unlink()
    say(f"Removed {name}.")


@app.command("test")
def try_on(
    file: Annotated[str, typer.Argument(metavar="FILE", help="the extension")],
    session: Annotated[str, typer.Argument(metavar="SESSION", help="replay this session's prompts and calls")] = "",
    cwd: InFolder = "",
) -> int:
    """Import an extension, and list what it adds. None of its functions is called.

    The exit code is 1 if the import has a fault. With SESSION, its handlers get the prompts, calls and results of that session, and their answers are listed.
    """
    program = program_of(Options(cwd=cwd, extensions=(file,), no_session=True, model="demo"))
    loaded = _loaded(program)
    made = next(one for one in loaded.all if one.source.place == "flag")
    from agentcli.features.extensions.commands import line

    program.added_commands  # noqa: B018 - finds the faults of commands
    with suppress(AgentError):  # its fault is noted
        loaded.settings_of(made)
    say(line(made, with_fault=False))
    if session and not made.off:
        from agentcli.features.extensions.replay import replayed

        for text in replayed(program, made, session):
            say(text)
    for fault in made.take_untold():
        say(fault)
    return 1 if made.faults else 0


def _found(given: str) -> Source:
    from agentcli.features.extensions.sources import BYTES, INIT, Source, read
    from agentcli.system.regular_file import Unusable

    path = Path(given).expanduser()
    if probe.exists(path):
        try:
            source = read(path.resolve(), "flag", given)
        except Unusable as error:
            raise InputError(f"Can't read {given}: {error}.") from error
        if source is None:
            raise InputError(
                f"{given} is not an extension. Give a .py file of at most {BYTES:,} bytes, or a folder with {INIT}."
            )
        return source
    from agentcli.features.extensions.packages import packages
    from agentcli.program.prompt_files.plugin_source import SCHEMES

    if given.startswith(SCHEMES):
        raise InputError(f"A repository is added as a plugin: agentcli plugins add {safe_line(given)}")
    if module := packages().get(given):
        return Source(given, Path(given), "package", {}, given, module)
    raise InputError(f"There is no file {given}, and no installed package has an extension of that name.")


def _as_json(one: Extension) -> dict[str, object]:
    return {
        "name": one.name,
        "path": str(one.source.path),
        "from": one.source.place,
        "tools": [tool.name for tool in one.tools],
        "commands": [use.name for _, use in one.commands],
        "events": [*dict.fromkeys(use.event for _, use in one.handlers)],
        "faults": one.faults,
    }


def _loaded(program: Program) -> LoadedRun:
    from agentcli.features.extensions.run import run_of

    return run_of(program)


def _folder() -> Path:
    from agentcli.features.extensions.sources import FOLDER
    from agentcli.system.paths import app_dirs

    return app_dirs(os.environ).config / FOLDER
