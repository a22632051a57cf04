"""Activity of client nodes and servers in the same seconds as the clients' I/O.

    devices     which block devices and interfaces are counted, so that no byte counts twice
    seconds     activity of the hosts, second by second
    phases      activity in each phase, as rates and relative to the bytes of the clients
    counted     imported counters of file systems in each phase
    timeline    clients and hosts on one axis of time

All times are those of the hosts' clocks, which must agree to well under a second.

Not: reading the agents' documents (`ioassay.store.watched`), findings (`ioassay.analysis.findings`).
"""
