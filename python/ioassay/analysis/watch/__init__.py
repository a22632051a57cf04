"""What the clients moved, and what their nodes and the servers did in the same seconds.

    devices     which block devices and interfaces count, so that no byte counts twice
    seconds     the hosts, second by second
    phases      the same for each phase, as rates and in proportion to what the clients moved
    counted     the same for counters of file systems that were imported
    timeline    clients and hosts on one axis of time

All of it goes by the hosts' own clocks: they have to agree to well under a second, as any cluster's do.

Not: reading what agents reported (`ioassay.store.watched`), what is worth a finding (`ioassay.analysis.findings`).
"""
