"""Knowledge about programs: their options, what they read, list, start and administer."""
