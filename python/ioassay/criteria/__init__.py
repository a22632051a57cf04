"""Acceptance criteria in a file, for `ioassay check`: its keys (`model`), and the verdicts on a run (`verdicts`).

Not: the study's own acceptance (`ioassay.analysis.acceptance`), words (`ioassay.reports.check`).

How to add a limit: docs/development/studies.md.
"""
