"""Every number of the context engine by name, with its default: what `[context]` and `[budget]` in config set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Literal, get_args

from agentcli.context.clearing_settings import NativeSettings
from agentcli.context.loss.settings import LossSettings
from agentcli.core.dataclass import dataclass
from agentcli.core.model import REPLY_TOKENS
from agentcli.core.text.ranges import Part, Positive, Share

PolicyName = Literal["auto", "gemini", "opencode", "regions", "sliding", "native"]
POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)
EstimatorName = Literal["calibrated", "gemini", "chars4", "shannon", "tiktoken"]
OwnEstimator = Literal["", "calibrated", "gemini", "chars4", "shannon", "tiktoken"]
"""The estimator of one policy; empty for the one that `context.estimator` names."""
Encoding = Literal["o200k_base", "cl100k_base"]
Preset = Literal["", "qa", "debugging", "long"]


@dataclass(frozen=True, slots=True)
class PruneSettings:
    """`context.prune.*`: clearing of old tool outputs. Sizes in tokens unless said otherwise.

    opencode's rule uses `protect`, `turns`, `minimum` and `estimator`. `auto` protects less, since it can recall what it
    cleared, and edits a warm cache only where that frees enough and pays.
    """

    enabled: bool = True
    """False: no output is ever cleared."""
    protect: int = 40_000
    """opencode: the newest tokens of outputs that stay."""
    minimum: int = 20_000
    """Tokens that a prune must free: always with opencode, on a warm cache with `auto`."""
    turns: int = 2
    """opencode: the newest user messages whose outputs all stay."""
    estimator: Literal["chars4", "gemini", "shannon", "calibrated"] = "chars4"
    """The estimator by which opencode's rule counts."""
    auto_protect: int = 4_000
    """`auto`: the newest tokens of outputs that stay, unless out of date."""
    auto_turns: int = 0
    """`auto`: the newest user messages whose outputs stay, unless out of date; 0: age in tokens alone decides."""
    horizon: float = 20.0
    """Requests within which a prune on a warm cache must pay."""
    patience: float = 1.0
    """Cost of carrying clearable tokens, as a multiple of the cost of the edit, at which it is made."""
    smallest: int = 100
    """Outputs of fewer tokens are never cleared."""
    inputs: bool = True
    """False: only outputs are cleared, never the inputs of old edits."""
    input_least: int = 500
    """Tokens from which the old input of a successful edit is cleared, once its turn has passed, although its file was not touched since."""
    least: int = 2_000
    """Tokens below which even a free edit is not made, unless the user or the window demands it."""
    protect_share: Share = 0.25
    """Upper bound of `auto_protect` on a small window, as a share of what is usable."""
    minimum_share: Share = 0.0625
    """Upper bound of `minimum` for `auto` on a small window, as a share of what is usable."""
    protected_tools: tuple[str, ...] = ("todo", "skill")
    """Tools whose outputs are never cleared, by name."""

    def protected(self, usable: int) -> int:
        """The newest tokens of outputs that `auto` leaves alone in a window of so many."""
        return min(self.auto_protect, int(usable * self.protect_share))

    def worthwhile(self, usable: int) -> int:
        """Tokens that an edit by `auto` must free in a window of so many; never less than `least`."""
        return max(self.least, min(self.minimum, int(usable * self.minimum_share)))


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
    """Tokens of reasoning that a summary costs besides itself."""
    air: Share = 0.8
    """Target size of what is kept, as a share of the soft mark, so that the mark is not met again at once."""
    clipped: int = 400
    """Tokens left of an output that is cut to its two ends."""


@dataclass(frozen=True, slots=True)
class GeminiSettings:
    """`context.gemini.*`: Gemini CLI's compression."""

    estimator: OwnEstimator = ""
    """The estimator of this policy."""
    summary_tokens: int = 2_000
    """Assumed size of a snapshot in estimates, in tokens."""
    threshold: Share = 0.5
    """Size at which it compacts, as a share of the model's limit."""
    preserve: Part = 0.3
    """Newest part that stays, as a share of all characters."""
    pressure: Share = 0.95
    """Share of what is left above which the plan names a new message as a reason."""
    limit: Positive = 1_048_576
    """The limit of a model that `limits` does not name, in tokens."""
    limits: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({"gemini-1.5-pro": 2_097_152}))
    """Limits by model, in tokens."""


@dataclass(frozen=True, slots=True)
class OpencodeSettings:
    """`context.opencode.*`: opencode's compaction. Sizes in tokens."""

    estimator: OwnEstimator = ""
    """The estimator of this policy."""
    summary_tokens: int = 2_000
    """Assumed size of a summary in estimates."""
    output_reserve: int = 32_000
    """The most that is kept free for the reply."""


@dataclass(frozen=True, slots=True)
class RegionSettings:
    """`context.regions.*`: compaction by regions. Shares are of the window."""

    estimator: OwnEstimator = ""
    """The estimator of this policy."""
    soft: Share = 0.70
    """Size from which it compacts at a turn boundary."""
    hard: Share = 0.90
    """Size from which it also compacts between two tool steps."""
    aim: Share = 0.50
    """Size at which it stops summarising."""
    keep_recent_tokens: int = 20_000
    """Newest tokens that stay."""
    keep_recent_turns: int = 4
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
        """Tokens that a region of so many is summarised to; all of them where `ratio` is no ratio."""
        return tokens // max(1, self.ratio)


@dataclass(frozen=True, slots=True)
class SlidingSettings:
    """`context.sliding.*`: a sliding window of messages. Shares are of `budget`."""

    estimator: OwnEstimator = ""
    """The estimator of this policy."""
    primers: int = 3
    """Messages kept in front."""
    recents: int = 20
    """Newest messages kept."""
    trigger: Share = 0.75
    """Size at which it compacts."""
    aim: Share = 0.375
    """Size after a compaction."""
    window: int = 0
    """Messages beyond which it compacts whatever their size; 0: no such limit."""
    budget: int = 0
    """Tokens that shares refer to; 0: what is usable."""
    task_budget: int = 0
    """Tokens that stand in for `budget` while that is 0; 0: none."""
    max_history: int = 0
    """The most messages that are ever kept; 0: no such limit."""
    summary_tokens: int = 400
    """Largest summary, in tokens; what is longer is cut."""
    temperature: float = 0.2
    """Sampling temperature of the summariser, where the model takes one."""


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """`context.cache.*`: use and health of the provider's cache."""

    milestone: int = 2_000
    """Tokens from which a tool result is worth a cache breakpoint."""
    thrash: int = 3
    """Cache misses in a row that are reported to the user."""


@dataclass(frozen=True, slots=True)
class TiktokenSettings:
    """`context.tiktoken.*`: OpenAI's tokenizer."""

    encodings: tuple[Encoding, ...] = ("o200k_base", "cl100k_base")
    """Vocabularies in the order in which they are looked for on disk."""
    rate: float = 1.0
    """Tokens of the model in use for one of the vocabulary's."""


@dataclass(frozen=True, slots=True)
class SnapshotSettings:
    """`context.snapshot.*`: size and contents of a snapshot.

    What is left out stays on disk, and `recall` reaches it.
    """

    share: Share = 0.15
    """Largest snapshot, as a share of the usable window."""
    rules_share: Share = 0.2
    """Largest set of the user's rules, as a share of the usable window."""
    knowledge_share: Share = 0.5
    """The most knowledge in one reply, as a share of the snapshot's length."""
    files_read: int = 120
    """The most files read."""
    files_changed: int = 200
    """The most files changed."""
    commands: int = 120
    """The most commands."""
    lookups: int = 40
    """The most of these that only look something up, as `grep` and `ls` do."""
    item_characters: int = 1_000
    """Characters of one item."""
    goal_characters: int = 300
    """Characters of the first prompt that stand for the goal until a summary names one."""
    sentence_characters: int = 2_000
    """Characters beyond which a sentence is not believed."""
    reply_tokens: int = 16_000
    """Largest reply of the summariser with its scratchpad, in tokens."""
    expected_tokens: int = 1_500
    """Assumed size of that reply in a preview, in tokens."""
    margin: Share = 0.1
    """Share of the summariser's window left free, since tokens are estimated."""
    clips: tuple[int, ...] = (16_000, 6_000, 2_000)
    """Characters to which outputs are cut, step by step, before more than one call is spent."""
    hard_clips: tuple[int, ...] = (800, 300, 100, 40)
    """The same once even all calls do not hold the rest; any other text is cut to five times as much."""
    cleared_characters: int = 1_000
    """Characters that the summariser is shown of an output or input that was cleared: its two ends."""
    struck_items: int = 50
    """The most struck sentences in the record."""
    struck_characters: int = 160
    """Characters of each of them, and of its reason."""


@dataclass(frozen=True, slots=True)
class HandoffSettings:
    """`context.handoff.*`: size of the hand-over to a new session. Sizes in tokens."""

    tokens: Positive = 5_000
    """Largest snapshot in it."""
    words: int = 1_500
    """The user's own words in it, beside their rules."""
    files_read: int = 20
    """The most files read."""
    commands: int = 30
    """The most commands."""
    reports: int = 12
    """The newest final reports of the model."""
    offered_after: int = 3
    """Compactions after which a session offers one; 0: never."""


@dataclass(frozen=True, slots=True)
class LedgerSettings:
    """`context.ledger.*`: limits of the ledger, the newest of each kind; the transcript has all of it."""

    files: int = 5_000
    """The most files."""
    commands: int = 5_000
    """The most commands."""
    command_characters: int = 2_000
    """Characters of one command."""
    reports: int = 40
    """The most final reports of the model."""
    report_characters: int = 400
    """Characters of one report."""
    rules: int = 100
    """The most standing rules in one message."""
    names: int = 600
    """The most names of files and symbols."""
    names_each: int = 10
    """The most of them from one output or message."""
    rule_characters: int = 1_000
    """Characters beyond which a rule is taken for a document."""


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
    """`context.*`. Shares are of the usable window, sizes in tokens unless said otherwise."""

    policy: PolicyName = "auto"
    """The compaction policy in force."""
    preset: Preset = ""
    """A preset of `sliding`, see PRESETS; empty for none."""
    autocompact: bool = True
    """False: compaction only when the user asks for it."""
    soft: Share = 0.70
    """Size from which it compacts at a turn boundary."""
    hard: Share = 0.90
    """Size from which it also compacts between two tool steps."""
    preserve: Share = 0.3
    """Newest part that `auto` keeps, as a share of the tokens of all messages."""
    keep_recent: int = 12_000
    """Newest tokens that no policy with a split of its own (`auto`, `sliding`) summarises."""
    keep_recent_share: Share = 0.125
    """Upper bound of these on a small window."""
    keep_answer_tokens: int = 4_000
    """Size to which the model's newest answer is cut in the middle where it must be carried beside a summary."""
    min_shrink: Share = 0.10
    """A compaction that frees a smaller share of the prompt is dropped."""
    retry_growth: float = 0.10
    """Growth of the view, as a share, before an unasked retry of one that failed or freed too little."""
    fit: Share = 0.97
    """A view beyond this share does not count as fitting, since tokens are estimated."""
    keep_user_tokens: int = 20_000
    """The user's own words that survive a compaction verbatim."""
    keep_user_share: Share = 0.2
    """Upper bound of these on a small window."""
    keep_piece_share: Share = 0.5
    """Size beyond which a single one of these texts is cut to its two ends."""
    pins_share: Share = 0.25
    """Pins that hold more than this are reported."""
    max_summary_calls: int = 3
    """Calls of the summariser for one compaction, at most."""
    compact_horizon: float = 20.0
    """Requests within which a compaction below the soft mark must pay; 0: only at the marks."""
    compact_floor: Share = 0.20
    """Size from which `auto` compacts at a turn boundary where that pays."""
    compact_least: int = 20_000
    """Tokens that such a compaction must take away."""
    compact_price: float = 0.0
    """Price of a summariser's token as a share of the session model's; 0: as the model table says."""
    output_reserve: int = REPLY_TOKENS
    """The most that is kept free for the reply."""
    compression_model: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Model that writes the summaries, by model of the session; `default` for all others."""
    estimator: EstimatorName = "calibrated"
    """The estimator of every policy without its own."""
    large_input_tokens: int = 25_000
    """User input above this goes to a file."""
    large_input_share: Share = 0.25
    """The same for a small window."""
    large_input_lines: int = 20
    """Lines of each end that stand in its place."""
    large_input_line: int = 500
    """Characters of each of these lines."""
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

    def recent(self, usable: int) -> int:
        """The newest tokens that stay in a window of so many."""
        return min(self.keep_recent, int(usable * self.keep_recent_share))

    def estimator_of(self, policy: str) -> EstimatorName:
        """The estimator of this policy: its own, or the common one."""
        own: Mapping[str, OwnEstimator] = {
            "gemini": self.gemini.estimator,
            "opencode": self.opencode.estimator,
            "regions": self.regions.estimator,
            "sliding": self.sliding.estimator,
        }
        return own.get(policy) or self.estimator


@dataclass(frozen=True, slots=True)
class BudgetLimit:
    """Limit of one scope."""

    tokens: int = 0
    """Tokens; 0: no limit."""
    cost: float = 0.0
    """USD; 0: no limit."""
    mode: Literal["hard", "soft", "approval"] = "hard"
    """At the end `hard` refuses, `soft` warns, `approval` asks."""


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """`budget.*`: budgets in tokens and USD. Shares are of the budget."""

    session: BudgetLimit = BudgetLimit()
    """Limit of the session."""
    task: BudgetLimit = BudgetLimit()
    """Limit of a task: one prompt."""
    agent: BudgetLimit = BudgetLimit()
    """Limit of an agent: a subagent."""
    warn_at: Share = 0.80
    """Share used above which the user is warned, once."""
    tell_below: Share = 0.20
    """Share left below which the model is told."""
    pressure_from: tuple[Share, ...] = (0.80, 0.85, 0.90, 0.95)
    """Shares used from which the next request is held."""
    pressure_seconds: tuple[float, ...] = (0.05, 0.3, 0.75, 1.5)
    """Seconds to hold it, in the same places as `pressure_from`."""
