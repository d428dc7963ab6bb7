"""Goals: work over turns until a check shows that a goal is reached."""
