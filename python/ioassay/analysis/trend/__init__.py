"""How rates went over stored runs: `history` puts alike measurements of runs into the order of time, `course` tells
changes, trends and the verdict on the latest run.

Not: how a rate went within a phase (`ioassay.analysis.drift`), words (`ioassay.reports.trend`).
"""
