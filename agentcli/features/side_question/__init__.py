"""Side questions: answered from the conversation, and no part of it."""
