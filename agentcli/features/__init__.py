"""Features: each can be taken away without breaking a turn. None knows another, or a front end."""
