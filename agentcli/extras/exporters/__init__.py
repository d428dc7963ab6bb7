"""Sessions in the formats of other agents, which resume them."""
