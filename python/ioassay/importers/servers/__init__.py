"""Statistics of file systems' servers: counters that were read again and again.

    counters    what all of them have in common: counters at a moment, and what was counted between two moments
    lustre      `lctl get_param` of Lustre 2.8 to 2.17
    cases       the counters as a run
    beside      the counters beside a run of the same minutes

Between two readings a counter becomes a rate. One that falls was reset or restarted: that is a gap. A single reading
says what was counted since its start, which is no rate.
"""
