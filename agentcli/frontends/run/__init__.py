"""What a run gives to programs: its events as JSON, its result, and the findings of a review."""
