"""Every number of the context engine by name, with its default: what `[context]` and `[budget]` in config set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, get_args

from agentcli.core.model import REPLY_TOKENS
from agentcli.core.ranges import Positive, Share

PolicyName = Literal["auto", "gemini", "opencode", "regions", "sliding"]
POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)
EstimatorName = Literal["calibrated", "gemini", "chars4", "shannon", "tiktoken"]
OwnEstimator = Literal["", "calibrated", "gemini", "chars4", "shannon", "tiktoken"]
"""The estimator of one policy; empty for the one that `context.estimator` names."""
Encoding = Literal["o200k_base", "cl100k_base"]
Preset = Literal["", "qa", "debugging", "long"]


@dataclass(frozen=True, slots=True)
class PruneSettings:
    """`context.prune.*`: which old outputs are cleared. Sizes in tokens, `turns` in user messages, `horizon` in requests.

    opencode's rule: the newest `protect` tokens of outputs stay, and all of the newest `turns`; less than `minimum` is
    not worth the trouble; `estimator` is what it counts by. `auto` protects less, since it can recall what it cleared:
    the newest `auto_protect` tokens, and what is not out of date in the newest `auto_turns`; on a small window no more
    than `protect_share` of it, and `minimum_share` is enough there. It prunes on a warm cache only if that frees more
    than `minimum`, pays within `horizon` requests, and once carrying the tokens has cost `patience` times what the edit
    costs; never an output of fewer than `smallest` tokens, and even for nothing not less than `least` at once, unless
    the user or the window demands it.
    """

    enabled: bool = True
    protect: int = 40_000
    minimum: int = 20_000
    turns: int = 2
    estimator: Literal["chars4", "gemini", "shannon", "calibrated"] = "chars4"
    auto_protect: int = 10_000
    auto_turns: int = 1
    horizon: float = 20.0
    patience: float = 1.0
    smallest: int = 100
    least: int = 2_000
    protect_share: Share = 0.25
    minimum_share: Share = 0.0625
    protected_tools: tuple[str, ...] = ("todo", "skill")

    def protected(self, usable: int) -> int:
        """The newest tokens of outputs that `auto` leaves alone in a window of so many."""
        return min(self.auto_protect, int(usable * self.protect_share))

    def worthwhile(self, usable: int) -> int:
        """What is worth an edit there; less on a small window, but never fewer tokens than are worth telling."""
        return max(self.least, min(self.minimum, int(usable * self.minimum_share)))


@dataclass(frozen=True, slots=True)
class AutoSettings:
    """`context.auto.*`: what `auto` takes for granted when it plans. Tokens, unless said otherwise.

    A summary is expected to take `summary_share` of what it replaces, no less than `summary_least` and no more than
    `summary_most`, and `scratchpad` besides itself; less than `summary_least` is not summarised at all. What is kept
    aims at `air` of the soft mark, so that the work can go on before the mark is met again; `clipped` is what is left
    of an output that is cut to its two ends.
    """

    summary_share: Share = 0.1
    summary_least: int = 400
    summary_most: int = 4_000
    scratchpad: int = 1_000
    air: Share = 0.8
    clipped: int = 400


@dataclass(frozen=True, slots=True)
class GeminiSettings:
    """`context.gemini.*`: shares of the model's limit; `pressure` of what is left when a new message comes in. A snapshot is
    taken for `summary_tokens` in estimates.
    """

    estimator: OwnEstimator = ""
    summary_tokens: int = 2_000
    threshold: Share = 0.5
    preserve: Share = 0.3
    pressure: Share = 0.95
    limit: Positive = 1_048_576
    limits: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({"gemini-1.5-pro": 2_097_152}))


@dataclass(frozen=True, slots=True)
class OpencodeSettings:
    """`context.opencode.*`: what is kept free for the reply, at most, and what a summary is taken for in estimates, in tokens."""

    estimator: OwnEstimator = ""
    summary_tokens: int = 2_000
    output_reserve: int = 32_000


@dataclass(frozen=True, slots=True)
class RegionSettings:
    """`context.regions.*`: shares of the window; sizes of what stays in tokens and turns, of outputs in bytes.

    A region is summarised to 1/`ratio` of its size; `slack` is what a summary may exceed that by, `buffer` what a request
    at the hard mark must leave free, both in tokens.
    """

    estimator: OwnEstimator = ""
    soft: Share = 0.70
    hard: Share = 0.90
    aim: Share = 0.50
    keep_recent_tokens: int = 20_000
    keep_recent_turns: int = 4
    ratio: int = 5
    slack: int = 200
    buffer: int = 4_000
    large_output: int = 10_000
    small_output: int = 1_000

    def summary_of(self, tokens: int) -> int:
        """Tokens that a region of so many is summarised to; all of them where `ratio` is no ratio."""
        return tokens // max(1, self.ratio)


@dataclass(frozen=True, slots=True)
class SlidingSettings:
    """`context.sliding.*`: messages kept in front and behind, and when: shares of `budget` tokens (0: what is usable).

    `window` is how many messages are enough whatever their size (0: no such limit), `max_history` how many may ever be kept.
    """

    estimator: OwnEstimator = ""
    primers: int = 3
    recents: int = 20
    trigger: Share = 0.75
    aim: Share = 0.375
    window: int = 0
    budget: int = 0
    task_budget: int = 0
    max_history: int = 0
    summary_tokens: int = 400


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """`context.cache.*`: how the provider's cache is used and watched.

    A tool result of `milestone` tokens is worth ending a cached prefix with; `thrash` misses in a row are told to the user.
    """

    milestone: int = 2_000
    thrash: int = 3


@dataclass(frozen=True, slots=True)
class TiktokenSettings:
    """`context.tiktoken.*`: the vocabularies in the order in which they are looked for on disk, and how many tokens of the model
    at hand one of theirs is worth.
    """

    encodings: tuple[Encoding, ...] = ("o200k_base", "cl100k_base")
    rate: float = 1.0


@dataclass(frozen=True, slots=True)
class SnapshotSettings:
    """`context.snapshot.*`: the most items of each kind in a snapshot, and the shares of the usable window that it and the
    user's rules may fill; `knowledge_share` is what of that length one reply may fill with knowledge.

    What is left out stays on disk, and `recall` reaches it. The first `goal_characters` that were typed stand for the
    goal while nobody has put it better; a sentence of more than `sentence_characters` is not believed. A reply with its
    scratchpad may take `reply_tokens`, and is taken for `expected_tokens` in a preview; `margin` is the share of the
    summariser's window that is left free because tokens are estimated. Where the part that goes is too long for it,
    outputs are cut to each of `clips` characters before more calls than one are spent, and to `hard_clips` (any other
    text to five times as much) once even all calls do not hold the rest. The record keeps `struck_items` sentences that
    were struck, with `struck_characters` of each and of the reason.
    """

    share: Share = 0.15
    rules_share: Share = 0.2
    knowledge_share: Share = 0.5
    files_read: int = 120
    files_changed: int = 200
    commands: int = 120
    item_characters: int = 1_000
    goal_characters: int = 300
    sentence_characters: int = 2_000
    reply_tokens: int = 16_000
    expected_tokens: int = 1_500
    margin: Share = 0.1
    clips: tuple[int, ...] = (16_000, 6_000, 2_000)
    hard_clips: tuple[int, ...] = (800, 300, 100, 40)
    struck_items: int = 50
    struck_characters: int = 160


@dataclass(frozen=True, slots=True)
class LedgerSettings:
    """`context.ledger.*`: what is remembered without any model, the newest of each kind; the transcript has all of it.

    Of a command so many characters, of the model's last reports as well. Of one message no more than `rules` standing
    rules count, and none of more than `rule_characters`: that is a document.
    """

    files: int = 5_000
    commands: int = 5_000
    command_characters: int = 2_000
    reports: int = 40
    report_characters: int = 400
    rules: int = 100
    rule_characters: int = 1_000


PRESETS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "qa": MappingProxyType({"primers": 2, "recents": 10, "window": 30, "budget": 25_000}),
        "debugging": MappingProxyType({"primers": 5, "recents": 30, "window": 100, "budget": 75_000}),
        "long": MappingProxyType({"window": 75, "task_budget": 300_000, "max_history": 1_000}),
    }
)
"""What a preset sets of `sliding`; what a run asks for itself goes before it, environment and config come after."""


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """`context.*`. Shares are of what the model's window leaves usable, sizes in tokens unless said otherwise.

    `keep_user_tokens` of the user's own words and all pins survive a compaction, the words within `keep_user_share` of
    a small window, and a single text beyond `keep_piece_share` of it by its two ends; pins above `pins_share` of the
    window are reported. A compaction that frees less than `min_shrink` is dropped; after one that failed or freed so
    little, none is tried unasked until the view has grown by `retry_growth` or passed another mark. A view beyond `fit`
    of what is usable does not count as fitting, since tokens are estimated.

    From `compact_floor` on, `auto` also compacts at a turn boundary when that pays within `compact_horizon` requests
    (0: only at the marks) and takes away `compact_least` tokens or more. `compact_price` is what a token costs with the
    model that writes the summaries, as a share of its price with the session's own (0: as the model table says).

    What the user sends above `large_input_tokens`, or above `large_input_share` of a small window, goes to a file;
    `large_input_lines` of each end stand in its place, cut to `large_input_line` characters. Within
    `exact_count_margin` of a mark, as a share of what is usable, the provider is asked for its own count, and waited
    for `exact_count_seconds`.
    """

    policy: PolicyName = "auto"
    preset: Preset = ""
    autocompact: bool = True
    soft: Share = 0.70
    hard: Share = 0.90
    preserve: Share = 0.3
    min_shrink: Share = 0.10
    retry_growth: float = 0.10
    fit: Share = 0.97
    keep_user_tokens: int = 20_000
    keep_user_share: Share = 0.2
    keep_piece_share: Share = 0.5
    pins_share: Share = 0.25
    max_summary_calls: int = 3
    compact_horizon: float = 20.0
    compact_floor: Share = 0.20
    compact_least: int = 20_000
    compact_price: float = 0.0
    output_reserve: int = REPLY_TOKENS
    compression_model: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    estimator: EstimatorName = "calibrated"
    large_input_tokens: int = 25_000
    large_input_share: Share = 0.25
    large_input_lines: int = 20
    large_input_line: int = 500
    exact_count_margin: Share = 0.03
    exact_count_seconds: float = 5.0
    prune: PruneSettings = PruneSettings()
    snapshot: SnapshotSettings = SnapshotSettings()
    ledger: LedgerSettings = LedgerSettings()
    tiktoken: TiktokenSettings = TiktokenSettings()
    cache: CacheSettings = CacheSettings()
    auto: AutoSettings = AutoSettings()
    gemini: GeminiSettings = field(default_factory=GeminiSettings)
    opencode: OpencodeSettings = OpencodeSettings()
    regions: RegionSettings = RegionSettings()
    sliding: SlidingSettings = SlidingSettings()

    def estimator_of(self, policy: str) -> EstimatorName:
        """What counts under this policy: its own estimator, or the common one."""
        own: Mapping[str, OwnEstimator] = {
            "gemini": self.gemini.estimator,
            "opencode": self.opencode.estimator,
            "regions": self.regions.estimator,
            "sliding": self.sliding.estimator,
        }
        return own.get(policy) or self.estimator


@dataclass(frozen=True, slots=True)
class BudgetLimit:
    """What one scope may spend, in tokens and USD; 0 is no limit. At the end `hard` refuses, `soft` warns, `approval` asks."""

    tokens: int = 0
    cost: float = 0.0
    mode: Literal["hard", "soft", "approval"] = "hard"


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """`budget.*`: limits of the session, of a task (one prompt) and of an agent (a subagent). Shares are of the budget.

    The user is warned once at `warn_at`, the model told when less than `tell_below` is left. Where a share of
    `pressure_from` is used, the next request is held for the seconds in the same place of `pressure_seconds`.
    """

    session: BudgetLimit = BudgetLimit()
    task: BudgetLimit = BudgetLimit()
    agent: BudgetLimit = BudgetLimit()
    warn_at: Share = 0.80
    tell_below: Share = 0.20
    pressure_from: tuple[Share, ...] = (0.80, 0.85, 0.90, 0.95)
    pressure_seconds: tuple[float, ...] = (0.05, 0.3, 0.75, 1.5)
