"""Verdicts of `ioassay check` as text: blocks of a document, JSON, JUnit XML.

Not: judging (`ioassay.analysis.regression`, `ioassay.criteria.verdicts`).
"""
