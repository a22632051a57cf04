"""This process and those that it starts: the engine, helpers, limits, Ctrl-C, what is said meanwhile.

Not: processes on other hosts (`remote`, `launchers`).
"""
