"""Development: run some."""
