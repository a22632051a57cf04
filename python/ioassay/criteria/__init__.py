"""Criteria of acceptance in a file of their own, for `ioassay check`. Not: judging a run by them (`analysis.check`)."""
