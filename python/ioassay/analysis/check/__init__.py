"""Judges a run in continuous integration: against a baseline (`regression`), by a file of criteria (`criteria`).

Not: the study's own acceptance (`ioassay.analysis.acceptance`), words, files.
"""
