"""Context lab: contents of the window, plans of a policy, and the cost of a session under each policy."""
