"""`agentcli plugins`: add, list, remove, enable and disable plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentcli.app.options import Options
from agentcli.cli.confirming import confirmed
from agentcli.cli.flags import Json
from agentcli.cli.output import say_json
from agentcli.cli.printing import Column, print_styled, print_table
from agentcli.core.sanitise import safe_line

if TYPE_CHECKING:
    from agentcli.extensions.installed_plugins import Plugins

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", help="the plugin's name")]


@app.command("add")
def add(
    source: Annotated[
        str, typer.Argument(metavar="PATH|URL[@REF]", help="a folder, or the address of a git repository")
    ],
    link: Annotated[bool, typer.Option("--link", help="use the folder in place instead of copying it")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
) -> int:
    """Add or update a plugin.

    It lists what the plugin would start and allow, and asks. Plugins of Claude Code and extensions of Gemini CLI both work.
    """
    from agentcli.extensions.plugins import contents

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
        print_styled([("No plugin was added.", "")])
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
    from agentcli.app.project import ProjectContext
    from agentcli.extensions.installed_plugins import Plugins

    return Plugins(ProjectContext(Options()).dirs)
