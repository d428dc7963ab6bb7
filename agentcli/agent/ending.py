"""The end of a turn that nobody can continue: a reply that only announces a step, open todos and unchecked changes get one reminder each."""

from __future__ import annotations

import re
from collections.abc import Callable

from agentcli.agent.calls.call import Call, Run, Stage
from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionFeature, Unfinished
from agentcli.agent.reply import ReplyBuilder
from agentcli.core.event import Event

LAST_WORD = "Only your last message is read: repeat in it what is needed of this one."
ANNOUNCED = f"You announced a step and did not take it. Take it now, or say that the task is finished. {LAST_WORD}"
WRITTEN_CALL = f"Your reply holds a call written as text, which nothing runs. Make it as a tool call now, or say that the task is finished. {LAST_WORD}"
OPEN_TODOS = f"Your list still has open items:\n{{items}}\nDo them, or correct the list with todo and say what is left undone and why. {LAST_WORD}"
CONFIRM = (
    "Before you end: read the task again and check each requirement by running something, as its tester would. "
    "If all holds, repeat your final answer."
)
STOPPED_SHORT = "The model announced a step and did not take it. Type “continue” to let it proceed."

# Patterns compiled when first used: all of them together would add milliseconds to each start.
_FENCED = r"(?ms)^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1|`[^`\n]+`"
_WRITTEN = r"(?m)^\s*<(?:\w+:)?(?:function_calls|tool_calls?|tool_use|invoke name=|function=)"
_LONE_COMMAND = r"(?s)\s*```(?:bash|sh|shell|console)\n(?:(?!```).)*```\s*"
_SENTENCE_END = r"(?<=[.!?…])[\"')\]*_]*\s+|\n+"
_ANNOUNCEMENT = r"(?i)(?:(?:and|now|next|then|first|so|ok|okay|alright),?\s+)*(?:I(?:['’]ll| will| am going to|['’]m going to)|let me|let['’]s)\b"
_TO_A_PERSON = r"(?i)\byou(?:['’]\w+)?\b"
"""A sentence that speaks to a person (`Let me know if you …`, `I'll leave that to you`) offers or explains, it announces no step."""


def promise(text: str) -> str:
    """Return the reminder that a last reply needs because it only announces a step; empty if it needs none."""
    if re.fullmatch(_LONE_COMMAND, text) or re.search(_WRITTEN, re.sub(_FENCED, "", text)):
        return WRITTEN_CALL
    plain = text.strip().rstrip("*_ ")
    if not plain:
        return ""
    last = re.split(_SENTENCE_END, plain)[-1].lstrip("*_#>- ")
    announces = re.match(_ANNOUNCEMENT, last) is not None and re.search(_TO_A_PERSON, last) is None
    return ANNOUNCED if announces or plain.endswith(":") else ""


class Ending:
    """Objects to the end of a turn, for each reason once. A person is only told, since a person can continue the turn."""

    def __init__(self, core: SessionCore) -> None:
        self._journal, self._alone = core.journal, core.setup.alone
        self._confirms = core.setup.settings.agent.confirm_done
        self._said: set[Callable[[ReplyBuilder], str]] = set()
        self._called = False
        self.changed = False
        """True if a call of this turn may have changed something."""

    def begin(self) -> None:
        """Begin with a new prompt: every reason counts again."""
        self._said.clear()
        self._called = self.changed = False

    def replied(self, reply: ReplyBuilder) -> tuple[Event, ...]:
        """Note whether the turn has called tools."""
        self._called = self._called or reply.has_calls
        return ()

    def before_end(self, reply: ReplyBuilder) -> Unfinished:
        """Return the objection to an end with this reply."""
        if not self._alone:
            return Unfinished(notice=STOPPED_SHORT if promise(reply.text) else "")
        for reason in (self._promised, self._open_todos, self._unchecked):
            if reason not in self._said and (reminder := reason(reply)):
                self._said.add(reason)
                return Unfinished(reminder)
        return Unfinished()

    def _promised(self, reply: ReplyBuilder) -> str:
        return promise(reply.text)

    def _open_todos(self, _: ReplyBuilder) -> str:
        # A turn without calls only answers: a list that an earlier turn left open is not its task.
        left = [item for item in self._journal.history.todo if item.status in ("pending", "in_progress")]
        items = "\n".join(f"- {item.content}" for item in left)
        return OPEN_TODOS.format(items=items) if left and self._called else ""

    def _unchecked(self, _: ReplyBuilder) -> str:
        return CONFIRM if self._confirms and self.changed else ""


class ChangeStage(Stage):
    """Notes the calls that may have changed something."""

    def __init__(self, ending: Ending) -> None:
        self._ending = ending

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            traits = call.its_tool.traits
            if traits.edits_files or (traits.runs_commands and not call.harmless):
                self._ending.changed = True
            return await run(call)

        return ran


def ending_of(core: SessionCore) -> SessionFeature:
    """Return the feature that judges the end of each turn."""
    ending = Ending(core)
    return SessionFeature(
        "end of a turn",
        (ChangeStage(ending),),
        prompted=ending.begin,
        replied=ending.replied,
        before_end=ending.before_end,
    )
