"""Features: each can be removed without breaking a turn. None knows another, or a front end."""
