"""Regressions and trends of rates over stored runs.

    history            comparable measurements of runs, in the order of time
    change_detection   changes, trends and the verdict on the latest run

Not: how a rate went within a phase (`ioassay.analysis.drift`), words (`ioassay.reports.trend`).
"""
