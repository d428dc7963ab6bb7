"""Checks after edits: commands by glob, whose new findings go to the model with the result of the edit."""
