"""How rates went over stored runs.

    history            alike measurements of runs, in the order of time
    change_detection   changes, trends and the verdict on the latest run

Not: how a rate went within a phase (`ioassay.analysis.drift`), words (`ioassay.reports.trend`).
"""
