"""Settings of a compaction: the snapshot, the hand-off, the ledger, the price of a loss, edits by the provider."""

from __future__ import annotations

from typing import Annotated

from agentcli.core.dataclass import dataclass
from agentcli.core.setting import Positive, Range, Share, Tokens, setting


@dataclass(frozen=True, slots=True)
class SnapshotSettings:
    """`context.snapshot.*`: size and contents of a snapshot.

    What is left out stays on disk, and `recall` reaches it.
    """

    share: Share = 0.06
    """Largest snapshot, as a share of the usable window."""
    unverified: int = 20
    """Maximum sentences of a summary that no record shows; the newest stay."""
    decision_characters: int = 12_000
    """Maximum characters of the model's decisions and of values in its own words; never more than half of `share`."""
    rules_share: Share = 0.2
    """Largest set of the user's rules, as a share of the usable window."""
    knowledge_share: Share = 0.5
    """Maximum knowledge in one reply, as a share of the snapshot's length."""
    files_read: int = 24
    """Maximum files listed as read."""
    files_changed: int = 24
    """Maximum files listed as changed."""
    code_tokens: int = 800
    """Maximum tokens of edits as the files have them now, the newest first."""
    code_share: Share = 0.04
    """Upper bound of these tokens on a small window, as a share of the usable window."""
    folders: int = 12
    """Maximum folders whose other files are counted."""
    commands: int = 120
    """Maximum commands listed."""
    lookups: int = 40
    """Maximum commands listed that only look something up, such as `grep` and `ls`."""
    item_characters: int = 1_000
    """Maximum characters of one item."""
    goal_characters: int = 300
    """Characters of the first prompt used as the goal until a summary names one."""
    sentence_characters: int = 2_000
    """Maximum characters of a sentence; a longer one is not trusted."""
    reply_tokens: int = 16_000
    """Largest reply of the summariser with its scratchpad, in tokens."""
    expected_tokens: int = 1_500
    """Assumed size of that reply in a preview, in tokens."""
    margin: Share = 0.1
    """Share of the summariser's window left free, because token counts are estimates."""
    clips: tuple[int, ...] = (16_000, 6_000, 2_000)
    """Characters to which outputs are cut, step by step, before more than one call is spent."""
    hard_clips: tuple[int, ...] = (800, 300, 100, 40)
    """The same lengths if all calls together leave no room for the rest. Any other text is cut to five times as much.
    """
    kept_tokens: int = 1_500
    """Tokens of the steps that stay which the summariser sees, the newest first."""
    cleared_characters: int = 1_000
    """Characters of a cleared output or input that the summariser sees: its two ends."""
    struck_items: int = 50
    """Maximum struck sentences in the record."""
    struck_characters: int = 400
    """Maximum characters of each of these sentences, and of its reason."""


@dataclass(frozen=True, slots=True)
class HandoffSettings:
    """`context.handoff.*`: size of the handoff to a new session (`/handoff`). Sizes in tokens."""

    tokens: Positive = 5_000
    """Largest snapshot."""
    words: int = 1_500
    """Maximum of the user's own words, without their rules."""
    files_read: int = 20
    """Maximum files listed as read."""
    commands: int = 30
    """Maximum commands listed."""
    reports: int = 12
    """Newest final reports of the model."""
    decision_characters: int = 6_000
    """Maximum characters of the model's decisions and of values in its own words."""
    offered_after: int = 3
    """Compactions after which the session suggests a handoff; 0: never."""


@dataclass(frozen=True, slots=True)
class LedgerSettings:
    """`context.ledger.*`: limits of the ledger, which keeps the newest entries of each kind; the session has all of them."""

    files: int = 5_000
    """Maximum files."""
    commands: int = 5_000
    """Maximum commands listed."""
    command_characters: int = 2_000
    """Maximum characters of one command."""
    reports: int = 40
    """Maximum final reports of the model."""
    report_characters: int = 400
    """Maximum characters of one report."""
    decisions: int = 150
    """Maximum sentences in which the model decided something or stated values."""
    decision_characters: int = 400
    """Maximum characters of such a sentence."""
    rules: int = 100
    """Maximum standing rules in one message."""
    names: int = 600
    """Maximum names of files and symbols."""
    names_each: int = 10
    """Maximum names from one output or message."""
    rule_characters: int = 1_000
    """Maximum characters of a rule; a longer text is taken for a document."""


@dataclass(frozen=True, slots=True)
class LossSettings:
    """`context.loss.*`: the price that `auto` puts on what leaves the view.

    A chance is the probability that a request needs the thing again just after it left. Prices are in units of one fresh token.
    """

    enabled: bool = True
    """Price what is lost, not only tokens. Otherwise a snapshot lists as much as its limits allow, and no names."""
    half_life: Positive = 200
    """Records after which a chance has fallen by half."""
    output_chance: Share = 0.0005
    """Chance of a tool output."""
    command_chance: Share = 0.003
    """Chance of the outcome of a command."""
    lookup_chance: Share = 0.0005
    """Chance of the outcome of a command that only looked something up."""
    report_chance: Share = 0.005
    """Chance of a final report of the model."""
    name_chance: Share = 0.001
    """Chance of a name: a file, a symbol."""
    recall_price: float = 0.0
    """Price of a recall, for the entries of a snapshot; 0: by the model's prices for a prompt of `prompt_tokens`."""
    carry_price: Share = 0.0
    """Price per request of a token in the cache; 0: by the model's prices."""
    prompt_tokens: int = 25_000
    """Tokens of the prompt in which a recall is assumed, for `recall_price`."""
    token_rate: Share = 0.3
    """Tokens per character."""
    names_tokens: int = 1_500
    """Maximum tokens of names in a snapshot."""
    call_tokens: int = 80
    """Tokens that the model writes to ask for a recall."""
    recalled_tokens: int = 1_000
    """Tokens that a recall brings back."""
    phase_share: Share = 0.25
    """Share of the chances that remains at the end of a phase, when earlier work is done."""
    phases: bool = True
    """Compact between two steps of a turn, below the hard mark, if a phase has just ended."""
    questions: bool = True
    """Do not compact below the hard mark while a question of the model is open."""


@dataclass(frozen=True, slots=True)
class NativeSettings:
    """`context.native.*`: context editing, by which the provider itself clears old outputs. Sizes in tokens.

    Outputs of `prune.protected_tools` stay; the inputs of edits are cleared as well unless `prune.inputs` is false.
    """

    trigger: Annotated[int, Range(1, unit="tokens")] = setting(100_000, project="free")
    """Size of the prompt beyond which it clears; at most half of the window."""
    trigger_share: Share = 0.5
    """Upper bound of `trigger` on a small window, as a share of the usable window."""
    keep: Annotated[int, Range(1, unit="tool uses")] = setting(3, project="free")
    """Newest that stay; more if something there is still needed."""
    clear_at_least: Tokens = setting(20_000, project="free")
    """It must free at least this much at once, because the cache is rewritten; at most a quarter of `trigger`."""
    thinking_turns: int = 0
    """Newest turns whose thoughts stay; 0: all, which preserves the cache."""
