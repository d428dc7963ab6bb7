"""`agentcli auth`: stored keys of providers."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
Provider = Annotated[
    str,
    typer.Argument(
        metavar="PROVIDER", help="anthropic, google, openai, or a configured provider; brave or tavily for web search"
    ),
]


Account = Annotated[str, typer.Option("--name", metavar="ACCOUNT", help="the key of this account, see --account")]


@app.command("set")
def set_key(
    provider: Provider,
    account: Account = "",
    untried: Annotated[bool, typer.Option("--no-check", help="store the key without checking it")] = False,
) -> None:
    """Check and store a provider's key.

    If the package `keyring` is installed, the key goes to the system's keyring. Otherwise it goes to a file that only
    you can read. With piped input, the key is read from stdin.
    """
    from agentcli.frontends.cli import stored_keys

    stored_keys.set_key(provider, account, untried)


@app.command("list")
def list_keys() -> None:
    """List providers and where their keys come from."""
    from agentcli.frontends.cli import stored_keys

    stored_keys.list_keys()


@app.command("remove")
def remove_key(provider: Provider, account: Account = "") -> None:
    """Remove a stored key."""
    from agentcli.frontends.cli import stored_keys

    stored_keys.remove_key(provider, account)
