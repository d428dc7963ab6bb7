"""`agentcli plugins`: add, update, list, remove, enable and disable plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentcli.core.errors import InputError
from agentcli.core.sanitise import safe_line
from agentcli.core.text.words import none_of
from agentcli.frontends.opening import project_of
from agentcli.program.command_line.flags import Json
from agentcli.program.command_line.output import confirmed, say_json
from agentcli.program.command_line.printing import Column, print_styled, print_table
from agentcli.program.options import Options

if TYPE_CHECKING:
    from agentcli.program.prompt_files.installed_plugins import Installed, Plugins

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", help="the plugin's name")]


@app.command("add")
def add(
    source: Annotated[
        str,
        typer.Argument(
            metavar="PATH|URL[@REF][#NAME]",
            help="a folder or the address of a git repository; NAME: a folder in it, or a plugin of its marketplace",
        ),
    ],
    link: Annotated[bool, typer.Option("--link", help="use the folder in place instead of copying it")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
) -> int:
    """Add a plugin.

    It lists what the plugin would start and allow, and its tokens in each request, and asks. Plugins of Claude Code and extensions of Gemini CLI both work.
    """
    from agentcli.frontends.cli.plugin_contents import contents

    plugins = _plugins()
    with plugins.candidate(source) as plugin:
        version = f" {plugin.version}" if plugin.version else ""
        print_styled([(f"{plugin.name}{version}", "bold"), (f"  {plugin.description}", "")])
        for line in contents(plugin):
            print_styled([(f"  {safe_line(line)}", "")])
        if not yes and not confirmed("Add it?"):
            return 1
        plugins.add(plugin, source, link)
    print_styled([(f"Added {plugin.name}. New sessions have it.", "")])
    return 0


@app.command("update")
def update(
    name: Annotated[str, typer.Argument(metavar="NAME", help="only this plugin")] = "",
    check: Annotated[
        bool, typer.Option("--check", help="only list what would change; exit code 1 if anything")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
) -> int:
    """Update plugins from where they were added.

    It lists what changes in each, and asks. Linked plugins are always up to date. A disabled plugin stays disabled.
    """
    plugins = _plugins()
    code = 0
    for one in plugins.chosen(name):
        try:
            code = max(code, _updated(plugins, one, check, yes))
        except InputError as error:
            print_styled([(f"{one.name}: ", "bold"), (str(error), "")])
            code = 1
    return code


def _updated(plugins: Plugins, one: Installed, check: bool, yes: bool) -> int:
    """Update one plugin; return 1 if it was not updated although a newer one exists."""
    from agentcli.frontends.cli.plugin_contents import differences

    with plugins.candidate(one.source) as plugin:
        if plugin.name != one.name:
            raise InputError(
                f"{safe_line(one.source)} is now the plugin {plugin.name}. Add that, and remove {one.name}."
            )
        if not plugins.is_new(plugin):
            print_styled([(f"{one.name} is up to date.", "")])
            return 0
        print_styled([(one.name, "bold"), ("  changes:", "")])
        for line in differences(one.plugin, plugin):
            print_styled([(f"  {safe_line(line)}", "")])
        if check or not (yes or confirmed(f"Update {one.name}?")):
            return 1
        plugins.add(plugin, one.source, link=False, enabled=one.enabled)
    print_styled([(f"Updated {one.name}. New sessions have it.", "")])
    return 0


@app.command("list")
def list_plugins(json: Json = False) -> None:
    """List the plugins that were added."""
    every = _plugins().installed()
    if json:
        say_json(
            [{"name": one.name, "enabled": one.enabled, "source": one.source, "trouble": one.trouble} for one in every]
        )
        return
    if not every:
        print_styled([(none_of("plugins", "plugins"), "")])
        return
    columns = (Column("name", style="bold"), Column("state"), Column("from", wraps=True))
    states = [one.trouble or ("enabled" if one.enabled else "disabled") for one in every]
    print_table(columns, [[one.name, state, safe_line(one.source)] for one, state in zip(every, states, strict=True)])


@app.command("remove")
def remove(name: Name) -> None:
    """Remove a plugin."""
    _plugins().remove(name)
    print_styled([(f"Removed {safe_line(name)}.", "")])


@app.command("enable")
def enable(name: Name) -> None:
    """Switch a plugin on."""
    _plugins().enable(name, True)


@app.command("disable")
def disable(name: Name) -> None:
    """Switch a plugin off."""
    _plugins().enable(name, False)


def _plugins() -> Plugins:
    from agentcli.program.prompt_files.installed_plugins import Plugins

    return Plugins(project_of(Options()).dirs)
