"""`agentcli auth`: stored keys of providers, typed or from a login."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
Provider = Annotated[
    str,
    typer.Argument(
        metavar="PROVIDER",
        help="anthropic, google, openai, openrouter or another provider; brave or tavily for web search",
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


@app.command("login")
def log_in(
    provider: Annotated[str, typer.Argument(metavar="PROVIDER", help="chatgpt, openrouter")],
    account: Account = "",
) -> None:
    """Log in to a provider in your browser.

    The key that it gives is stored as by `set`. Over ssh, paste the address that the browser ends at.
    With chatgpt, requests use your ChatGPT plan. For providers without a login, this says where to make a key.
    """
    from agentcli.frontends.cli import stored_keys

    stored_keys.log_in(provider, account)


@app.command("list")
def list_keys() -> None:
    """List providers and where their keys come from."""
    from agentcli.frontends.cli import stored_keys

    stored_keys.list_keys()


@app.command("logout")
@app.command("remove")
def remove_key(provider: Provider, account: Account = "") -> None:
    """Remove a stored key."""
    from agentcli.frontends.cli import stored_keys

    stored_keys.remove_key(provider, account)
