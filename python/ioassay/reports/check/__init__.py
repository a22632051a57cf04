"""Verdicts of `ioassay check` in words, on a terminal, as JSON and as JUnit XML. Not: judging (`analysis.check`)."""
