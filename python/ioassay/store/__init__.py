"""Stored directories of every kind and version: the only place that reads or writes them.

Not: statistics, figures, anything that interprets a number.
"""
