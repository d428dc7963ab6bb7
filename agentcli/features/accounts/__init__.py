"""Accounts: several keys of one provider, each with costs of its own."""
