"""Side questions: answered from the conversation, but not part of it."""
