"""Compaction record from a plan and a summary. Pure, without I/O."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field

from agentcli.context.cleared import input_key
from agentcli.context.compaction.carryover import (
    former_compaction,
    skills_in_use,
    typed_texts,
    verbatim_answer,
    verbatim_pins,
    verbatim_prompts,
)
from agentcli.context.compaction_settings import SnapshotSettings
from agentcli.context.ledger.decisions import fitting_decisions
from agentcli.context.ledger.ledger import Ledger, fold_ledger, from_json, to_json
from agentcli.context.loss import priced
from agentcli.context.policies import Policy, policy_named
from agentcli.context.policies.plans import Plan, compactable
from agentcli.context.snapshot.anchors import Source
from agentcli.context.snapshot.changed_code import Edit, changed_code, changed_paths, edits
from agentcli.context.snapshot.form import ROOT, Snapshot, items, parse, uncited
from agentcli.context.snapshot.items import worthwhile
from agentcli.context.snapshot.reconcile import ledger_lines, standing_decisions
from agentcli.context.snapshot.state import Shown, failed_tests, healed_tests, state_only, without_todo
from agentcli.context.snapshot.transcript import sources
from agentcli.context.snapshot.verify import MARK, Evidence
from agentcli.context.tokens.counter import text_pieces
from agentcli.context.view import Block, View, ViewMessage, is_answer, replaced_key
from agentcli.context.window import Window
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.history import History
from agentcli.core.message import Message, Text, ToolCall, ToolResult
from agentcli.core.record import Body, Compaction, ProviderSummary, Record, Trigger, VerbatimText
from agentcli.core.text.secrets import redact
from agentcli.core.text.truncate import ends_of, truncate_middle

_CHARACTERS = 3
"""Characters kept of a clipped output for each token it may have."""


_CHANGED_FILES = 12
"""Most edited files whose present text is read."""
_DECISIONS, _LEAST_DECISIONS = 12, 900
"""Tokens of the usable window for each character of the model's decisions, and characters for them in any window."""


REPEATED = "[The answer below says this again.]"
"""Text in place of an answer that a later answer of its turn repeats."""


@dataclass(frozen=True, slots=True)
class SummaryTask:
    """Input of a compaction: the plan, the part to summarise, and all facts about it that need no model."""

    plan: Plan
    policy: Policy
    history: History
    window: Window
    gone: tuple[ViewMessage, ...]
    stays: tuple[ViewMessage, ...]
    """The messages that stay in the view."""
    ledger: Ledger
    user_words: tuple[VerbatimText, ...]
    pins: tuple[VerbatimText, ...]
    answer: VerbatimText | None = None
    skills: tuple[VerbatimText, ...] = ()
    edits: Sequence[Edit] = ()
    """Edits in the part to summarise, if the policy shows the code that they changed."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Current texts of the files in `changed`, by path, if they were read."""

    @property
    def view(self) -> View:
        """View before the compaction."""
        return self.window.view

    @property
    def form(self) -> SnapshotSettings:
        """Size limits of a snapshot; the model's decisions take a few per cent of the window at most."""
        form = self.window.settings.snapshot
        room = max(_LEAST_DECISIONS, self.window.usable // _DECISIONS)
        return replace(form, decision_characters=min(form.decision_characters, room))

    @property
    def former(self) -> Compaction | None:
        """Compaction before this one."""
        return former_compaction(self.view)

    @property
    def former_snapshot(self) -> Snapshot | None:
        """Snapshot of the previous compaction; a summary in free form counts as knowledge."""
        text = self.former.snapshot if self.former else ""
        if not text:
            return None
        if f"<{ROOT}" not in text:
            return Snapshot(knowledge=items(text))
        former, ledger = parse(text), self._former_ledger
        decisions = fitting_decisions(ledger.decisions, self.form.decision_characters)
        return replace(former, plan=without_todo(former.plan, ledger.todo), decisions=decisions)

    @property
    def now(self) -> Ledger:
        """Ledger of the whole session, with the part that stays."""
        rules = self.window.settings.ledger
        return fold_ledger(self.ledger, self.history.deeds, self.window.traits, self.history.todo, rules)

    @property
    def shown(self) -> Shown:
        """Facts that a snapshot need not repeat, or that have changed since."""
        stays = self.stays
        typed = (*self.user_words, *(words for message in stays for words in typed_texts(message)))
        texts = (*typed, *((self.answer,) if self.answer else ()))
        kept = frozenset(block.seq for message in stays for block in message.blocks)
        answers = [message.answer for message in stays if message.answer]
        now = self.now
        failed = failed_tests(self.gone, self.window.traits)
        healed = healed_tests((*failed, *_failing(self._former_ledger), *_failing(self.ledger)), now)
        return Shown(
            now, (*(each.text for each in texts), *answers), frozenset(each.seq for each in texts), kept, healed, typed
        )

    @property
    def _former_ledger(self) -> Ledger:
        return from_json(self.former.ledger if self.former else {})

    def priced(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot without lines that are not worth their tokens.

        If the policy prices lines, only those that describe the state of the work stay.
        """
        if not self.policy.priced:
            return snapshot
        short = worthwhile(state_only(snapshot, self.shown), self.ledger, priced(self.window))
        code = changed_code(self.edits, self.texts, self._code_characters, self.ledger.cwd)
        return replace(short, code=redact(code))

    @property
    def changed(self) -> tuple[str, ...]:
        """Paths of the newest edited files whose current text a snapshot shows.

        There are none if the policy has no room for it.
        """
        return changed_paths(self.edits, _CHANGED_FILES)

    @property
    def _code_characters(self) -> int:
        tokens = min(self.form.code_tokens, int(self.window.usable * self.form.code_share))
        return round(tokens / self.window.settings.loss.token_rate) if self.window.settings.loss.token_rate else 0

    @property
    def goal(self) -> str:
        """The user's goal until a summary states one: the first prompt with words, else the very first."""
        typed = [*(words.text for words in self.user_words), *_typed(self.gone)]
        goal = next(filter(_is_worded, typed), next(iter(typed), ""))
        line, longest = " ".join(goal.split()), self.form.goal_characters
        return line if len(line) <= longest else f"{line[: longest - 1]}…"

    @property
    def covers(self) -> tuple[int, int]:
        """First and last seq that the snapshot covers, including the snapshots before it."""
        first, last = min(self.plan.summarised, default=0), max(self.plan.summarised, default=0)
        if self.former is None:
            return first, last
        return min(filter(None, (self.former.stands_for[0], self.former.covers[0], first)), default=0), last

    def evidence(self) -> Evidence:
        """Return the evidence that the summary is verified against."""
        kept = enumerate((*ledger_lines(self.ledger), *_proven(self.former_snapshot)), 1)
        known = (*sources(self.gone), *sources(self.stays), *(Source(line, step=-number) for number, line in kept))
        return Evidence(known, self.form.sentence_characters, self._said(compactable(self.view)))

    @property
    def user_texts(self) -> tuple[VerbatimText, ...]:
        """The user's own words, oldest first: the carried ones, then those in the part to summarise."""
        return self._said(self.gone)

    def _said(self, messages: Iterable[ViewMessage]) -> tuple[VerbatimText, ...]:
        """Return the user's carried words and the user's words in these messages, oldest first."""
        typed = {words.seq: words for message in messages for words in typed_texts(message)}
        carried = {words.seq: words for words in (*self.ledger.rules, *self.user_words)}
        merged = {**carried, **typed}
        return tuple(merged[seq] for seq in sorted(merged))


@dataclass(frozen=True, slots=True)
class Summary:
    """Replacement of the summarised part: a text, or for each call the text in place of its output."""

    text: str = ""
    replaced: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    by_provider: ProviderSummary | None = None
    obsolete: tuple[str, ...] = ()
    """Decisions that it declares obsolete."""


def prepare(plan: Plan, history: History, window: Window, cwd: str = "", earlier: Sequence[Record] = ()) -> SummaryTask:
    """Collect everything about a plan that needs no model; `window` has the view of this history.

    `earlier` are records from before the view, for a session whose previous compaction left no ledger.
    """
    seen, policy = window.view, policy_named(plan.policy)
    messages = compactable(seen)
    going: set[int | str] = {*plan.summarised, *(key for region in plan.regions for key in region)}
    gone = tuple(_reduced(messages, going))
    former = former_compaction(seen)
    ledger = from_json(former.ledger if former else {})
    through = max(plan.summarised, default=0)
    known = fold_ledger(
        replace(ledger, cwd=cwd or ledger.cwd),
        [*earlier, *(entry for entry in history.deeds if entry.seq <= through)],
        window.traits,
        history.todo,
        window.settings.ledger,
    )
    words = former.user_words if former else ()
    if policy.keeps_prompts:
        words = verbatim_prompts(gone, window)
    pins, answer = verbatim_pins(gone, seen), verbatim_answer(gone, window)
    legible = tuple(_with_ends(gone, history, window.settings.snapshot.cleared_characters))
    stays = tuple(_staying(messages, {message.seq for message in gone}, {*plan.needed}))
    skills = skills_in_use(gone, window)
    made = edits(history.entries, through, window.traits, known.cwd, plan.needed) if policy.priced else ()
    return SummaryTask(plan, policy, history, window, legible, stays, known, words, pins, answer, skills, made)


def clipped_parts(prepare: SummaryTask) -> dict[str, str]:
    """Return the outputs, inputs and texts that a plan cuts to their two ends, by their keys in `Plan.clipped`.

    Each has the call that shows all of it. An answer that a later one repeats is only a line.
    """
    longest, going = prepare.window.settings.auto.clipped * _CHARACTERS, set(prepare.plan.clipped)
    found: dict[str, list[Iterable[str]]] = {}
    hows: dict[str, str] = {}
    text: Iterable[str]
    for block in prepare.view.blocks if going else ():
        match block.part:
            case ToolResult(call_id, output=text):
                key, how = call_id, f'id="{call_id}"'
            case ToolCall(call_id, _, given) if input_key(call_id) in going:
                key, text, how = input_key(call_id), text_pieces(given), f'id="{call_id}", role="input"'
            case Text(text) if block.source == "assistant":
                key, how = f"#{block.seq}", f'id="{block.seq}"'
            case _:
                continue
        if key in going:
            found.setdefault(key, []).append(text)
            hows[key] = how
    repeated = dict.fromkeys(prepare.plan.repeated, REPEATED)
    return repeated | {
        key: f"{ends_of(_in_lines(texts), longest)}\n[recall({hows[key]}) shows all of it]"
        for key, texts in found.items()
    }


def _in_lines(texts: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the pieces of the texts, with a line break between two texts."""
    for number, pieces in enumerate(texts):
        yield "\n" if number else ""
        yield from (pieces,) if isinstance(pieces, str) else pieces


def to_record(prepare: SummaryTask, summary: Summary, trigger: Trigger) -> Compaction:
    """Return the record of this compaction, without its figures."""
    plan, former, history = prepare.plan, prepare.former, prepare.history
    stays = not plan.summarised or prepare.policy.form == "regions"
    first = min((entry.seq for entry in history.entries), default=1)
    replaced = dict(former.replaced) if former else {}
    if replaced:
        alive = {key for block in prepare.view.blocks for key in (block.tool_use_id, f"#{block.seq}")}
        alive |= {input_key(call.call_id) for message in prepare.view.messages for call in message.calls}
        replaced = {call: text for call, text in replaced.items() if call in alive}
    covers = (min(plan.summarised, default=0), max(plan.summarised, default=0))
    kept_from = plan.split if plan.split is not None else history.last_seq + 1
    kept = plan.primers or plan.needed
    if stays:
        kept_from, kept = (former.kept_from, former.kept) if former else (first, ())
    return Compaction(
        trigger=trigger,
        status="compressed",
        # The policy that made a snapshot decides how a view shows it.
        policy=former.policy if stays and former and is_answer(former) else plan.policy,
        covers=covers,
        kept_from=kept_from,
        snapshot=summary.text or (former.snapshot if stays and former else ""),
        ledger=to_json(replace(prepare.ledger, decisions=standing_decisions(prepare.ledger, summary.obsolete))),
        pins=prepare.pins,
        user_words=prepare.user_words,
        kept=kept,
        replaced=replaced | dict(summary.replaced),
        cleared=tuple(call for call in plan.cleared if call not in plan.clipped),
        cleared_inputs=plan.cleared_inputs,
        drop_thinking_before=history.last_seq + 1
        if prepare.window.limits.preserved_thinking
        else _thinking_gone(prepare),
        continues=trigger != "manual" and _in_the_middle(prepare.view),
        note=summary.note,
        carry=history.carry,
        answer=prepare.answer,
        skills=prepare.skills,
        stands_for=(former.stands_for if former else (0, 0)) if stays else prepare.covers,
        # Without a new one the old one stays: nothing else contains its content.
        by_provider=summary.by_provider or (former.by_provider if former else None),
    )


def shrinkage(window: Window, later: int) -> float | None:
    """Return the share of a prompt that is gone once it has `later` tokens by the same count.

    Return None if nothing can be counted.
    """
    old = window.estimate(window.view)
    return 1 - later / old if old > 0 and later >= 0 else None


def _reduced(messages: Iterable[ViewMessage], going: Container[int | str]) -> Iterator[ViewMessage]:
    """Yield the messages with only the blocks whose record is named, or that a region names."""
    for message in messages:
        blocks = tuple([block for block in message.blocks if block.seq in going or replaced_key(block) in going])
        if blocks:
            yield message if len(blocks) == len(message.blocks) else replace(message, blocks=blocks)


def _staying(messages: Iterable[ViewMessage], going: Set[int], needed: Set[int]) -> Iterator[ViewMessage]:
    """Yield the messages that stay, and the needed steps of the others."""
    for message in messages:
        if message.seq in going:
            if needed and not needed.isdisjoint([block.seq for block in message.blocks]):
                yield from _reduced((message,), needed)
        elif message.blocks:
            yield message


def _proven(former: Snapshot | None) -> Iterator[str]:
    """Yield the lines of a previous snapshot that were proven when it was made.

    Lines that contain a marked name are left out.
    """
    if former is not None:
        yield former.goal
        lines = map(uncited, (*former.knowledge, *former.files, *former.actions, *former.plan))
        yield from (line for line in lines if MARK not in line)


def _typed(messages: Sequence[ViewMessage]) -> Iterator[str]:
    for message in messages:
        for block in message.blocks:
            if block.source == "user" and isinstance(block.part, Text):
                yield block.part.text


def _failing(ledger: Ledger) -> Sequence[str]:
    return ledger.tests.failing if ledger.tests else ()


def _is_worded(text: str) -> bool:
    """Return True if a prompt states something.

    A slash command, even a misspelt one, states nothing, nor do one or two words.
    """
    return not _COMMAND.match(text) and (len(text.split()) > _FEWEST_WORDS or bool(_UNSPACED.search(text)))


_COMMAND = re.compile(r"\s*/[\w-]*(?:\s|$)")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]{6}")
_FEWEST_WORDS = 2


def _thinking_gone(prepare: SummaryTask) -> int:
    """Return the seq below which earlier edits dropped thinking; their records no longer count after this one."""
    edits = [prepare.former, *(record.body for record in prepare.history.prunes)]
    return max((getattr(edit, "drop_thinking_before", 0) for edit in edits), default=0)


def _in_the_middle(seen: View) -> bool:
    """Return True if the model was working: it waits for results or has just received some."""
    if not seen.messages:
        return False
    last = seen.messages[-1]
    return last.has_results or bool(last.calls)


def _with_ends(messages: Iterable[ViewMessage], history: History, longest: int) -> Iterator[ViewMessage]:
    """Yield the messages with up to `longest` characters of each cleared part instead of its marker."""
    bodies = {entry.seq: entry.body for entry in history.entries}
    for message in messages:
        if True not in [block.cleared for block in message.blocks]:
            yield message
            continue
        blocks = [
            _uncleared(block, bodies.get(block.seq), longest) if block.cleared else block for block in message.blocks
        ]
        yield replace(message, blocks=tuple(blocks))


def _uncleared(block: Block, body: Body | None, longest: int) -> Block:
    part = block.part
    if isinstance(part, ToolResult) and isinstance(body, ToolResult):
        shown = ToolResult(part.call_id, part.name, part.status, truncate_middle(body.output, longest))
        return replace(block, part=shown)
    if isinstance(part, ToolCall) and isinstance(body, Message):
        call = next((call for call in body.calls if call.call_id == part.call_id), part)
        return replace(block, part=replace(call, input=_shortened(call, longest)))
    return block


def _shortened(call: ToolCall, longest: int) -> dict[str, object]:
    return {
        name: truncate_middle(value, longest) if isinstance(value, str) else value for name, value in call.input.items()
    }
