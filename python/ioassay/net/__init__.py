"""The network's ceiling: iperf3 between clients and servers, as a storage study begins with it.

    patterns    which client sends to which server
    iperf3      its command lines, and what its JSON says
    flow_ends   the two ends of each flow, started and waited for
    overlap     flows side by side → what they carried while all of them were at work
    remarks     reasons to take a measurement for less than the network's
    prepare     what was asked → a directory, once every host has answered
    measure     all of that, one pattern after the other

Not: what a ceiling means for a run (`ioassay.analysis.ceilings`), files of results
(`ioassay.store`), hosts and commands on them (`ioassay.remote`).
"""
