"""Price of a loss: the chance that something is needed again, against the cost of carrying it.

Both depend on signs that a phase of the work has just ended. An open question of the model counts, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from agentcli.context.compaction_settings import LossSettings
from agentcli.context.ledger.command_results import is_test_run
from agentcli.context.view import View, ViewMessage
from agentcli.context.window import Window, output_ratio
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.tool import UNKNOWN, Traits

Answered = tuple[ToolCall, ToolResult]


def open_question(view: View) -> bool:
    """Return True if the newest message is a prompt that replies to a question of the model."""
    messages = view.messages
    if not messages or not messages[-1].is_prompt or _changes_subject(messages[-1]):
        return False
    answer = next((message.answer for message in reversed(messages) if message.answer), "")
    return bool(re.search(_QUESTION, answer[-_TAIL:]))


def phase_end(view: View, tools: Mapping[str, Traits]) -> str:
    """Return the sign that a phase of the work has just ended, or an empty text."""
    if not view.messages:
        return ""
    last = view.messages[-1]
    if last.is_prompt and _changes_subject(last):
        return "the subject changes"
    step = _newest_step(view)
    if any(_commits(call, result, tools) for call, result in step):
        return "a commit was made"
    if any(_completes(call, result) for call, result in step):
        return "the todo list is done"
    return "the tests pass again" if _turned_green(view, step, tools) else ""


def _changes_subject(prompt: ViewMessage) -> bool:
    texts = [getattr(block.part, "text", "") for block in prompt.blocks if block.source == "user"]
    return any(re.match(_NEW_SUBJECT, text) for text in texts)


def _newest_step(view: View) -> list[Answered]:
    """Return the calls with results in the newest message, or in the one before a newest prompt."""
    at = next((n for n in range(len(view.messages) - 1, -1, -1) if view.messages[n].calls), None)
    if at is None:
        return []
    if any(message.is_prompt for message in view.messages[at + 1 : -1]):
        return []
    return _answered(view.messages[at:])


def _answered(messages: Iterable[ViewMessage]) -> list[Answered]:
    calls: dict[str, ToolCall] = {}
    found = []
    for message in messages:
        calls |= {call.call_id: call for call in message.calls}
        parts = [block.part for block in message.blocks]
        found += [
            (calls[part.call_id], part) for part in parts if isinstance(part, ToolResult) and part.call_id in calls
        ]
    return found


def _succeeded(result: ToolResult) -> bool:
    return not result.failed and not result.metadata.get("exit_code")


def _command(call: ToolCall, tools: Mapping[str, Traits]) -> str:
    traits = tools.get(call.name, UNKNOWN)
    return str(traits.subject.of(call.input) or "") if traits.runs_commands else ""


def _commits(call: ToolCall, result: ToolResult, tools: Mapping[str, Traits]) -> bool:
    return _succeeded(result) and bool(re.search(_COMMIT, _command(call, tools)))


def _completes(call: ToolCall, result: ToolResult) -> bool:
    todos = call.input.get("todos")
    items = todos if isinstance(todos, list | tuple) else ()
    states = [item.get("status") for item in items if isinstance(item, Mapping)]
    return _succeeded(result) and bool(states) and all(state == "completed" for state in states)


def _turned_green(view: View, step: Iterable[Answered], tools: Mapping[str, Traits]) -> bool:
    """Return True if the step ran tests that pass and the run of tests before it failed."""
    new = {call.call_id for call, _ in _tests(step, tools)}
    if not new:  # most steps run no tests, and a long view takes long to read
        return False
    tried = [(call.call_id, _succeeded(result)) for call, result in _tests(_answered(view.messages), tools)]
    return len(tried) > 1 and tried[-1][0] in new and tried[-1][1] and not tried[-2][1]


def _tests(answered: Iterable[Answered], tools: Mapping[str, Traits]) -> list[Answered]:
    return [(call, result) for call, result in answered if is_test_run(_command(call, tools))]


_TAIL = 400
"""Characters at the end of an answer to search for a question."""
_QUESTION = r"[?？؟][\s*_`\"'”’»)\]]*\Z"
_COMMIT = r"\bgit(?: -C \S+)? commit\b"
_NEW_SUBJECT = (
    r"(?i)\s*(?:/clear\b|new (?:task|topic|subject)\b|next (?:task|topic|thing)\b|something (?:else|different)\b|"
    r"(?:a |on a )different (?:task|topic|subject)\b|forget (?:all |about )?(?:that|this|it)\b|"
    r"(?:let'?s|now let'?s|we can) (?:move on|start over|start fresh)\b|moving on\b|start(?:ing)? (?:over|afresh|fresh)\b|"
    r"(?:neues|anderes|nächstes) thema\b|etwas (?:ganz )?anderes\b|autre (?:sujet|chose)\b|passons à\b|"
    r"otro tema\b|otra cosa\b|pasemos a\b)"
)


def faded(chance: float, age: int, loss: LossSettings) -> float:
    """Return a chance per request after `age` more records: it halves with each half-life."""
    return chance * math.pow(0.5, age / loss.half_life)


def is_worth(characters: int, chance: float, loss: LossSettings) -> bool:
    """Return True if carrying this many characters costs less than the recalls that it saves.

    Both costs are per request, in fresh tokens.
    """
    return characters * loss.token_rate * loss.carry_price <= chance * loss.recall_price


def recall_cost(tokens: int, window: Window) -> float:
    """Return the cost of one recall in fresh tokens, in a prompt of `tokens`.

    A recall costs one more request, and the text that it returns.
    """
    (write, read), output = window.limits.price_ratios, output_ratio(window.limits.prices)
    loss = window.settings.loss
    return tokens * read + loss.call_tokens * output + loss.recalled_tokens * write


def priced(window: Window) -> LossSettings:
    """Fill in the prices that are not set from the model's own prices.

    They are 4,150 and 0.1 for most Claude models.
    """
    loss = window.settings.loss
    return replace(
        loss,
        recall_price=loss.recall_price or recall_cost(loss.prompt_tokens, window),
        carry_price=loss.carry_price or window.limits.price_ratios[1],
        names_tokens=min(loss.names_tokens, max(0, int((window.usable - _TOO_SMALL) * _NAMES))),
    )


_TOO_SMALL, _NAMES = 20_000, 0.01
"""Usable tokens of a window without names in its snapshots, and the share of further tokens for names."""


def expected_recalls(window: Window, gone: Iterable[int]) -> float:
    """Return the expected recalls per request once these records are summarised. Out-of-date outputs are never needed again."""
    loss, going = window.settings.loss, frozenset(gone)
    outdated = window.superseded.outputs
    newest = max((block.seq for block in window.view.blocks), default=0)
    chance = sum(
        faded(loss.output_chance, newest - block.seq, loss)
        for block in window.view.blocks
        if block.seq in going
        and isinstance(block.part, ToolResult)
        and not block.cleared
        and block.tool_use_id not in outdated
    )
    return chance * (loss.phase_share if phase_end(window.view, window.traits) else 1.0)
