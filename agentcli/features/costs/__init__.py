"""Costs explained: the causes of a turn's cost, and sums by day, project, model and tool."""
