"""Measures the network's ceiling with iperf3 between clients and servers, before a storage study.

    patterns    pairs of clients and servers
    iperf3      its command lines and its JSON
    flow_ends   starts the two ends of each flow and waits for them
    overlap     concurrent flows → what they carried while all were active
    remarks     reasons why a measurement may be below the network's capacity
    prepare     a request → a directory, once every host has answered
    measure     runs one pattern after the other

Not: the ceilings of a run (`ioassay.analysis.ceilings`), result files
(`ioassay.store`), hosts and commands on them (`ioassay.remote`).
"""
