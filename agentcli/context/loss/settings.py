"""Every number of the price of a loss by name, with its default."""

from __future__ import annotations

from agentcli.core.dataclass import dataclass
from agentcli.core.text.ranges import Positive, Share


@dataclass(frozen=True, slots=True)
class LossSettings:
    """`context.loss.*`: the price that `auto` puts on what leaves the view.

    Chances are those that a request wants the thing again, just after it left. Prices are in units of one fresh token.
    """

    enabled: bool = True
    """False: nothing is priced but tokens; a snapshot lists as much as its limits allow, and names no names."""
    half_life: Positive = 200
    """Records after which a chance has halved."""
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
    """Price of a recall, for what a snapshot lists; 0: as the model's prices give it in a prompt of `prompt_tokens`."""
    carry_price: Share = 0.0
    """Price of a token that stands in the cache, for each request; 0: as the model's prices give it."""
    prompt_tokens: int = 25_000
    """Tokens of the prompt in which a recall is assumed, for `recall_price`: a window soon after a compaction."""
    token_rate: Share = 0.3
    """Tokens of a character."""
    names_tokens: int = 1_500
    """The most names in a snapshot, in tokens."""
    call_tokens: int = 80
    """Tokens that the model writes to ask for a recall."""
    recalled_tokens: int = 1_000
    """Tokens that a recall brings back."""
    phase_share: Share = 0.25
    """Share of the chances that is left at the end of a phase: what came before is done."""
    phases: bool = True
    """False: between two steps of a turn nothing is compacted before the hard mark, also where a phase has just ended."""
    questions: bool = True
    """False: it may also compact while a question of the model is open, below the hard mark."""
