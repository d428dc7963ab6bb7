"""Every number of the context engine by name, with its default: what `[context]` and `[budget]` in config set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Annotated, Literal, get_args

from agentcli.context.compaction_settings import (
    HandoffSettings,
    LedgerSettings,
    LossSettings,
    NativeSettings,
    SnapshotSettings,
)
from agentcli.core.dataclass import dataclass
from agentcli.core.model import REPLY_TOKENS
from agentcli.core.setting import (
    LIMIT,
    Dollars,
    Messages,
    Part,
    Positive,
    Range,
    Share,
    Tokens,
    Turns,
    setting,
    towards,
)

PolicyName = Literal["auto", "gemini", "opencode", "regions", "sliding", "native", "provider"]
POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)
NATIVE, PROVIDER = "native", "provider"
"""The policies that need a feature of the provider; `missing` in `context/window.py` says which models have it."""
EstimatorName = Literal["calibrated", "gemini", "chars4", "shannon", "tiktoken"]
OwnEstimator = Literal["", "calibrated", "gemini", "chars4", "shannon", "tiktoken"]
"""The estimator of one policy; empty for the one that `context.estimator` names."""
Encoding = Literal["o200k_base", "cl100k_base"]
Lean = Literal["price", "memory"]
Preset = Literal["", "qa", "debugging", "long"]


@dataclass(frozen=True, slots=True)
class PruneSettings:
    """`context.prune.*`: pruning of old tool outputs. Sizes in tokens unless stated otherwise.

    `opencode` uses `protect`, `turns`, `minimum` and `estimator`. `auto` protects less, because the model can recall
    cleared outputs. It edits a warm cache only if that frees enough and pays.
    """

    enabled: bool = setting(True, project="free")
    """Clear old outputs."""
    protect: Tokens = setting(40_000, project="free")
    """`opencode`: newest outputs that stay."""
    minimum: Tokens = setting(20_000, project="free")
    """A prune must free at least this much: with `opencode` always, with `auto` on a warm cache."""
    turns: Turns = setting(2, project="free")
    """`opencode`: newest turns whose outputs all stay."""
    estimator: Literal["chars4", "gemini", "shannon", "calibrated"] = "chars4"
    """Token estimator of opencode's rule."""
    auto_protect: Tokens = setting(10_000, project="free")
    """`auto`: newest outputs that stay unless they are out of date."""
    memory_protect: Tokens = 40_000
    """`auto_protect` if `auto.lean` is `memory`."""
    memory_share: Share = 0.25
    """Upper bound of these tokens on a small window, as a share of the usable window."""
    auto_turns: int = 0
    """`auto`: newest user messages whose outputs stay unless they are out of date; 0: only `auto_protect` decides."""
    horizon: float = 20.0
    """`auto`: requests for which a text is judged. Within them, a prune on a warm cache must pay for itself."""
    patience: float = 2.0
    """What a prune must save within `horizon`, as a multiple of its cost."""
    chance: float = 0.2
    """Chance that the next reply needs a new output of `usual` tokens, and nothing else in view has the same."""
    usual: int = 600
    """Tokens of that output. The chance grows with the root of the size."""
    fading: float = 1.1
    """Power of its age in requests by which that chance falls; above 1."""
    recalled: int = 4_000
    """Most tokens of an output that a recall brings back."""
    file_weight: float = 1.5
    """Uses of a read file, relative to other outputs."""
    edit_weight: float = 16.0
    """Uses of the input of an edit, relative to other outputs."""
    large_prompt: int = 100_000
    """Tokens of a prompt below which a prune on a warm cache must free `large_share` of it."""
    large_share: Share = 0.25
    """Least share of such a prompt that is worth a prune."""
    smallest: int = 100
    """Outputs of fewer tokens are never cleared."""
    inputs: bool = setting(True, project="free")
    """Also clear the inputs of old edits."""
    least: int = 2_000
    """Tokens that even a prune without cost must free, unless the user or the window demands it."""
    protect_share: Share = 0.15
    """Upper bound of `auto_protect` on a small window, as a share of the usable window."""
    minimum_share: Share = 0.0625
    """Upper bound of `minimum` for `auto` on a small window, as a share of the usable window."""
    protected_tools: tuple[str, ...] = setting(("todo", "skill"), project="free")
    """Tools whose outputs are never cleared."""


@dataclass(frozen=True, slots=True)
class AutoSettings:
    """`context.auto.*`: assumptions of `auto` when it plans. Sizes in tokens."""

    summary_share: Share = 0.1
    """Expected size of a summary as a share of what it replaces."""
    summary_least: int = 400
    """Smallest expected summary; less than this is not summarised at all."""
    summary_most: int = 4_000
    """Largest expected summary."""
    scratchpad: int = 1_000
    """Tokens of reasoning that a summary costs in addition to its text."""
    air: Share = 0.8
    """Target size of a compaction, as a share of the soft mark. The mark is then not reached again at once."""
    clipped: int = 400
    """Tokens left of an output that is cut to its two ends."""
    lean: Lean = setting("price", project="free")
    """`price`: compact below `soft` if that pays; `memory`: only at `soft` and `hard`, which keeps more and costs more."""


@dataclass(frozen=True, slots=True)
class GeminiSettings:
    """`context.gemini.*`: Gemini CLI's compression."""

    estimator: OwnEstimator = ""
    """Token estimator of `gemini`; empty: `context.estimator`."""
    summary_tokens: int = 2_000
    """Assumed size of a snapshot in estimates, in tokens."""
    threshold: Share = setting(0.5, project="free")
    """Share of the model's limit at which it compacts."""
    preserve: Part = setting(0.3, project="free")
    """Share of all characters that stays: the newest."""
    pressure: Share = 0.95
    """Share of the remaining tokens above which the plan names a new message as its reason."""
    limit: Positive = 1_048_576
    """Limit in tokens of models that `limits` does not name."""
    limits: Mapping[str, int] = setting({"gemini-1.5-pro": 2_097_152}, project="free")
    """Limits in tokens by model; 1,048,576 for others."""


@dataclass(frozen=True, slots=True)
class OpencodeSettings:
    """`context.opencode.*`: opencode's compaction. Sizes in tokens."""

    estimator: OwnEstimator = ""
    """Token estimator of `opencode`; empty: `context.estimator`."""
    summary_tokens: int = 2_000
    """Assumed size of a summary in estimates."""
    output_reserve: int = 32_000
    """Maximum tokens kept free for the reply."""


@dataclass(frozen=True, slots=True)
class RegionSettings:
    """`context.regions.*`: compaction by regions. Shares are of the window."""

    estimator: OwnEstimator = ""
    """Token estimator of `regions`; empty: `context.estimator`."""
    soft: Share = setting(0.70, project="free")
    """Share of the window at which it compacts between turns."""
    hard: Share = setting(0.90, project="free")
    """Share at which it also compacts between two steps of a turn."""
    aim: Share = 0.50
    """Size at which it stops summarising."""
    keep_recent_tokens: Tokens = setting(20_000, project="free")
    """Newest part that stays."""
    keep_recent_turns: Turns = setting(4, project="free")
    """Newest turns that stay."""
    ratio: int = 5
    """A region is summarised to 1/`ratio` of its size."""
    slack: int = 200
    """Tokens by which a summary may exceed that."""
    buffer: int = 4_000
    """Tokens that a request at the hard mark must leave free."""
    large_output: int = 10_000
    """Bytes from which an output is large: those are summarised first."""
    small_output: int = 1_000
    """Bytes below which an output is small: those are summarised last."""

    def summary_of(self, tokens: int) -> int:
        """Return the tokens that a region of `tokens` is summarised to; all of them if `ratio` is no ratio."""
        return tokens // max(1, self.ratio)


@dataclass(frozen=True, slots=True)
class SlidingSettings:
    """`context.sliding.*`: a sliding window of messages. Shares are of `budget`."""

    estimator: OwnEstimator = ""
    """Token estimator of `sliding`; empty: `context.estimator`."""
    primers: Messages = setting(3, project="free")
    """Oldest that stay."""
    recents: Messages = setting(20, project="free")
    """Newest that stay."""
    trigger: Share = setting(0.75, project="free")
    """Share of `budget` at which it compacts."""
    aim: Share = setting(0.375, project="free")
    """Share of `budget` that is left after a compaction."""
    window: Messages = setting(0, project="free")
    """Maximum before it compacts, whatever their size; 0: no limit."""
    budget: Tokens = setting(0, project="free")
    """Tokens that the shares refer to; 0: the usable window."""
    task_budget: int = 0
    """Tokens used as `budget` while that is 0."""
    max_history: Messages = setting(0, project="free")
    """Maximum ever kept; 0: no limit."""
    summary_tokens: int = 400
    """Maximum tokens of a summary; a longer one is cut."""
    temperature: float = 0.2
    """Sampling temperature of the summariser, if the model accepts one."""


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """`context.cache.*`: use and health of the provider's cache."""

    milestone: int = 2_000
    """Tokens from which a tool result is worth a cache breakpoint."""
    thrash: int = 3
    """Cache misses in a row that are reported to the user."""
    warm_cost: Dollars = setting(0.5, project="never")
    """Most USD that a session spends on keeping its cache warm while it waits for you; 0: nothing."""


@dataclass(frozen=True, slots=True)
class TiktokenSettings:
    """`context.tiktoken.*`: OpenAI's tokenizer."""

    encodings: tuple[Encoding, ...] = ("o200k_base", "cl100k_base")
    """Vocabularies in the order in which they are looked for on disk."""
    rate: float = 1.0
    """Tokens of the model in use per token of the vocabulary."""


PRESETS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "qa": MappingProxyType({"primers": 2, "recents": 10, "window": 30, "budget": 25_000}),
        "debugging": MappingProxyType({"primers": 5, "recents": 30, "window": 100, "budget": 75_000}),
        "long": MappingProxyType({"window": 75, "task_budget": 300_000, "max_history": 1_000}),
    }
)
"""Fields of `sliding` by preset; flags override them, and they override environment and config."""


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """`context.*`. Shares are of the usable window, sizes in tokens unless stated otherwise."""

    policy: PolicyName = setting("auto", project="free")
    """Policy that keeps the context small."""
    preset: Preset = setting("", project="free")
    """Values for `sliding` by kind of work; empty: none."""
    autocompact: bool = setting(True, project="free")
    """Compact automatically; otherwise only `/compress` does."""
    soft: Share = setting(0.70, project="free")
    """Share of the usable window at which it compacts between turns."""
    hard: Share = setting(0.90, project="free")
    """Share at which it also compacts between two steps of a turn."""
    preserve: Share = 0.3
    """Newest part that `auto` keeps, as a share of all messages' tokens."""
    keep_recent: Tokens = setting(12_000, project="free")
    """Newest part that `auto` and `sliding` do not summarise; at most ⅛ of the window."""
    keep_recent_share: Share = 0.125
    """Upper bound of these tokens on a small window."""
    keep_answer_tokens: int = 4_000
    """Maximum tokens of the newest answer kept beside a summary; a longer one is cut in the middle."""
    min_shrink: Share = setting(0.10, project="free")
    """Share of the prompt that a compaction must free, or it is dropped."""
    retry_growth: float = 0.10
    """Growth of the view, as a share, before a compaction that failed or freed too little is tried again automatically."""
    fit: Share = 0.97
    """Maximum share that counts as fitting the window: token counts are only estimates."""
    keep_user_tokens: Tokens = setting(20_000, project="never")
    """Your own words that survive a compaction verbatim; at most a fifth of the window."""
    keep_user_share: Share = 0.2
    """Upper bound of these tokens on a small window."""
    whole_user_share: Share = 0.05
    """Share of the usable window up to which your newest prompts stay whole.

    A line of each older prompt stays, and sentences that may still apply.
    """
    keep_piece_share: Share = 0.25
    """Share of these tokens beyond which one text is cut to its two ends."""
    pins_share: Share = 0.25
    """Pins that hold more than this are reported."""
    max_summary_calls: int = 3
    """Maximum calls of the summariser for one compaction."""
    compact_horizon: Annotated[float, Range(unit="requests")] = setting(20.0, project="free")
    """Within how many requests a compaction below `soft` must pay for itself; 0: none there."""
    compact_floor: Share = 0.20
    """Size from which `auto` compacts between turns if that pays."""
    compact_least: int = 20_000
    """Tokens that such a compaction must free."""
    compact_price: float = 0.0
    """Price of a summariser's token as a share of the session model's; 0: by the model table."""
    output_reserve: int = REPLY_TOKENS
    """Maximum tokens kept free for the reply."""
    compression_model: Mapping[str, str] = setting({}, project="free")
    """Model that writes the summaries, by model of the session; `default` for all others."""
    estimator: EstimatorName = setting("calibrated", project="free")
    """Method by which tokens are estimated."""
    large_input_tokens: Tokens = 25_000
    """Input up to this size stays whole even if the window is full, unless a small window has no room."""
    large_input_share: Share = 0.25
    """Share of the free window up to which larger input stays whole. Beyond it, the person may put it into a file."""
    large_input_lines: int = 20
    """Lines of each end that take its place."""
    large_input_line: int = 500
    """Maximum characters of each of these lines."""
    exact_count_margin: Share = 0.03
    """Distance from a mark within which the provider is asked for its own count."""
    exact_count_seconds: float = 5.0
    """Seconds to wait for that count."""
    prune: PruneSettings = PruneSettings()
    snapshot: SnapshotSettings = SnapshotSettings()
    handoff: HandoffSettings = HandoffSettings()
    ledger: LedgerSettings = LedgerSettings()
    tiktoken: TiktokenSettings = TiktokenSettings()
    cache: CacheSettings = CacheSettings()
    auto: AutoSettings = AutoSettings()
    loss: LossSettings = field(default_factory=LossSettings)
    gemini: GeminiSettings = field(default_factory=GeminiSettings)
    opencode: OpencodeSettings = OpencodeSettings()
    regions: RegionSettings = RegionSettings()
    sliding: SlidingSettings = SlidingSettings()
    native: NativeSettings = NativeSettings()

    def protected(self, usable: int) -> int:
        """Return the newest tokens of outputs that `auto` never clears in a window of so many usable tokens."""
        rules = self.prune
        if self.auto.lean == "memory":
            return min(rules.memory_protect, int(usable * rules.memory_share))
        return min(rules.auto_protect, int(usable * rules.protect_share))

    def recent(self, usable: int) -> int:
        """Return the newest tokens that stay in a window of so many usable tokens."""
        return min(self.keep_recent, int(usable * self.keep_recent_share))

    def estimator_of(self, policy: str) -> EstimatorName:
        """Return the estimator of this policy: its own, or the common one."""
        own: Mapping[str, OwnEstimator] = {
            "gemini": self.gemini.estimator,
            "opencode": self.opencode.estimator,
            "regions": self.regions.estimator,
            "sliding": self.sliding.estimator,
        }
        return own.get(policy) or self.estimator


@dataclass(frozen=True, slots=True)
class BudgetLimit:
    """Limits of one scope."""

    tokens: Tokens = setting(0, project="tighten", tighter=LIMIT)
    """Limit; 0: none."""
    cost: Dollars = setting(0.0, project="tighten", tighter=LIMIT)
    """Limit; 0: none."""
    mode: Literal["hard", "soft", "approval"] = setting(
        "hard", project="tighten", tighter=towards("soft", "approval", "hard")
    )
    """At the limit `hard` refuses, `soft` warns, `approval` asks."""


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """`budget.*`: budgets in tokens and USD. Shares are of the budget."""

    session: BudgetLimit = BudgetLimit()
    """Limits of a session."""
    task: BudgetLimit = BudgetLimit()
    """Limits of a task: one prompt."""
    agent: BudgetLimit = BudgetLimit()
    """Limits of a subagent."""
    warn_at: Share = setting(0.80, project="never")
    """Share of a budget at which you are warned, once."""
    tell_below: Share = 0.20
    """Remaining share of a budget below which the model is notified."""
    pressure_from: tuple[Share, ...] = (0.80, 0.85, 0.90, 0.95)
    """Shares used from which the next request is held."""
    pressure_seconds: tuple[float, ...] = (0.05, 0.3, 0.75, 1.5)
    """Seconds to hold it, one for each share in `pressure_from`."""
