"""Accounts: several keys of one provider, each with separate costs."""
