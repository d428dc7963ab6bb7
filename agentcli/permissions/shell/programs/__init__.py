"""What is known of programs: their options, what they read, list, start and administer."""
