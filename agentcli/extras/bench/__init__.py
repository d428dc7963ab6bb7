"""Evaluation: sets of tasks with checks, run as a batch, with rates and intervals. Nothing else imports it."""
