"""Verdicts of `ioassay check` in words: blocks of a document, JSON, JUnit XML.

Not: judging (`ioassay.analysis.regression`, `ioassay.criteria.verdicts`).
"""
