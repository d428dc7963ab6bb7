"""The slash command of accounts, and `doctor`'s report on them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

from agentcli.core.errors import InputError
from agentcli.core.record import USUAL_ACCOUNT
from agentcli.core.sanitise import safe_line
from agentcli.program.commands import Acted, Context, Item, Output, Said, command
from agentcli.program.feature import Row
from agentcli.program.project import Project
from agentcli.system.key_store import KeyStore, account_names


def _stored(context: Context) -> Sequence[Item]:
    accounts = context.session.core.setup.models.accounts()
    return [Item(name) for name in accounts.stored(context.session.core.model.provider)]


@command("Model and permissions", at_once=("",), arguments=_stored, former="account")
async def account(context: Context, names: str) -> AsyncIterator[Output]:
    """Show or switch the account whose key is used: /model account [NAME|default]

    `agentcli auth set PROVIDER --name NAME` stores the key of an account. Several names, separated by commas: the next one takes over at a
    rate limit. The session records the account, and costs are counted for each. See /help models.
    """
    session = context.session
    accounts, provider = session.core.setup.models.accounts(), session.core.model.provider
    if names:
        yield Acted(session.switch(account=names))
    order = accounts.order
    also = (
        f", then {', '.join(name for name in order if name != accounts.current)} at a rate limit"
        if len(order) > 1
        else ""
    )
    stored = ", ".join(accounts.stored(provider)) or "none"
    yield Said([f"Account: {accounts.current or 'default'}{also}. Stored for {provider}: {stored}."])


def rows(program: Project, folders: Mapping[str, str]) -> Iterator[Row]:
    """Report the accounts that the configuration assigns to folders, and whether a key is stored for each."""
    stored = [entry.partition("/") for entry in KeyStore(program.dirs.config).places()]
    for name, where in _named(folders).items():
        providers = sorted(provider for provider, _, account in stored if account == name)
        if not where:
            yield "account", False, safe_line(name)
        elif providers:
            yield f"account {name}", True, f"for {where}; stored for {', '.join(providers)}"
        else:
            yield f"account {name}", False, f"for {where}: no key is stored: agentcli auth set PROVIDER --name {name}"


def _named(folders: Mapping[str, str]) -> Mapping[str, str]:
    """Return the folders of each account with its own key; for invalid names, the reason without a folder."""
    found: dict[str, list[str]] = {}
    for folder, text in folders.items():
        try:
            for name in account_names(text):
                found.setdefault(name, []).append(safe_line(folder))
        except InputError as error:
            found[f"{folder} in `accounts`: {error}"] = []
    return {name: ", ".join(where) for name, where in found.items() if name != USUAL_ACCOUNT}


COMMANDS = (account,)
