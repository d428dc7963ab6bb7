"""The slash command of accounts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from agentcli.program.commands import Acted, Context, Item, Output, Said, Terminal, command


def _stored(context: Terminal) -> Sequence[Item]:
    accounts = context.session.core.setup.models.accounts()
    return [Item(name) for name in accounts.stored(context.session.model.provider)]


@command("Model and permissions", at_once=("",), arguments=_stored)
async def account(context: Context, names: str) -> AsyncIterator[Output]:
    """Show or switch the account whose key is used: /account [NAME|default]

    `agentcli auth set PROVIDER --name NAME` stores the key of an account. Several names, separated by commas: the next one takes over at a
    rate limit. The session records the account, and costs are counted for each. See /help models.
    """
    session = context.session
    accounts, provider = session.core.setup.models.accounts(), session.model.provider
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


COMMANDS = (account,)
