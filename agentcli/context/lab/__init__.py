"""The context lab: what fills the window, what a policy would do, and what each policy would have cost."""
