"""Attacks on the whole tool, longer than tests."""
