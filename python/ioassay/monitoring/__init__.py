"""Contracts and dashboards as data for the agent, and other monitors' formats."""
