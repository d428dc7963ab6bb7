"""Background commands whose output wakes the model."""
