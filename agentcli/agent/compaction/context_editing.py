"""Context editing by the provider: record which old outputs it reports as cleared, so that view and provider agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from agentcli.agent.feature import SessionPart
from agentcli.context.context_editing import boundary, reported, tool_uses
from agentcli.context.settings import NATIVE, PROVIDER
from agentcli.context.window import INSTEAD, fallen_back, missing
from agentcli.core.event import Event, Noticed, Pruned, Recorded
from agentcli.core.message import Message, reminder
from agentcli.core.model import EditsApplied
from agentcli.core.record import Body, Prune

if TYPE_CHECKING:
    from agentcli.agent.reply import ReplyBuilder
    from agentcli.agent.request_builder import RequestBuilder

WARNING = (
    "Old tool results will be cleared from this conversation and a placeholder stands in their place. All of them are kept: "
    'recall(pattern="…") finds what you need again; use it instead of running a call again.'
)
"""Reminder for the model before outputs are cleared for the first time: the provider's placeholder does not mention
`recall`.
"""


class ContextEditing(SessionPart):
    """Context editing in a session with the policy `native`. Changes go through `record`.

    Also reports if the model cannot follow the policy `provider`.
    """

    name = "context editing"

    def __init__(self, builder: RequestBuilder, record: Callable[[Body], Recorded]) -> None:
        self._builder = builder
        self._record = record
        self._told = ""

    def before_request(self) -> Iterator[Event]:
        """Before a request: report a fallback of the policy, prune what the provider no longer clears, warn the model."""
        builder, history = self._builder, self._builder.journal.history
        window = builder.window()
        if window.settings.policy == NATIVE:
            self._told = ""
            foreseen = window.view.foreseen
            if foreseen is not None and foreseen.cleared and not history.held:
                parts = (reminder(WARNING),)
                yield self._record(Message("user", parts, history.turn))
            return
        wanted, spec = builder.settings.policy, builder.spec
        if wanted in (NATIVE, PROVIDER) and self._told != spec.name and missing(wanted, spec):
            self._told = spec.name
            yield Noticed(fallen_back(wanted, spec))
        if history.held or history.held_thinking:
            yield self._record(self._taken_over())

    def _taken_over(self) -> Prune:
        """Return the record that replaces outputs cleared by the provider with agentcli's markers.

        Thoughts bound to the content before them are lost.
        """
        history, spec = self._builder.journal.history, self._builder.model.spec
        calls = tuple(call for call in history.cleared if call in history.held)
        inputs = tuple(call for call in history.cleared_inputs if call in history.held)
        before = history.last_seq + 1 if spec.preserved_thinking else history.held_thinking
        return Prune(calls, 0, "No longer cleared by the provider, but by agentcli.", before, inputs)

    def replied(self, reply: ReplyBuilder) -> Iterator[Event]:
        """After a request, before its reply is recorded: record what the provider cleared.

        A reply that broke off lacks the provider's final report: then the prediction counts.
        """
        window, history = self._builder.window(), self._builder.journal.history
        if window.settings.policy != NATIVE or reply.usage is None:
            return
        if reply.applied is None and reply.stop is None:
            body = window.view.foreseen
        else:
            applied = reply.applied or EditsApplied()
            body = reported(window.view, applied, history, window.settings, window.traits)
            if not applied.tool_uses and boundary(tool_uses(window.view, window.settings)):
                self._builder.clears_nothing = True
                yield Noticed(
                    f"{self._builder.model.spec.name} did not clear the outputs as requested. {INSTEAD[NATIVE]}"
                )
        if body is not None:
            yield self._record(body)
            if body.cleared:
                yield Pruned(body.cleared, body.tokens, body.reason)
