"""Statistics of file system servers: counters that were read repeatedly.

    counters    the common model: counters at a time, and differences between two times
    lustre      `lctl get_param` of Lustre 2.8 to 2.17
    cases       the counters as a run
    beside      the counters beside a run of the same time

Between two readings a counter becomes a rate. A counter that falls was reset: that is a gap. A single reading
is a total since the start, not a rate.
"""
