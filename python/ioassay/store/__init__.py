"""Stored directories of every kind and version: the only place that reads or writes them.

Not: statistics, figures, anything that interprets a number.

How to add a kind of directory, and how to change what is stored: docs/development/stored-directories.md.
"""
