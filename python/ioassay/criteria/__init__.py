"""Criteria of acceptance in a file of their own, for `ioassay check`: what it can say (`model`), whether a run meets it
(`verdicts`).

Not: the study's own acceptance (`ioassay.analysis.acceptance`), words (`ioassay.reports.check`).

How to add a limit: docs/development/studies.md.
"""
