"""This process and its child processes: the engine, helpers, limits, Ctrl-C, verbosity.

Not: processes on other hosts (`remote`, `launchers`).
"""
