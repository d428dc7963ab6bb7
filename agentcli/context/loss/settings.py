"""Every number of the price of a loss by name, with its default."""

from __future__ import annotations

from agentcli.core.dataclass import dataclass
from agentcli.core.text.ranges import Positive, Share


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
