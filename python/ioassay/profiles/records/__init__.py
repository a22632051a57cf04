"""Records: what the recorder captured of an application, read into a profile (`profiles.model`).

    directory   a record directory, and tables without one
    tables      tables, as the engine reads them out of bytes that nobody vouches for
    profile     all tables of all records, reduced to a profile while they are read
    processes   what was a process: its images, its last command, the kernel's counters
    timelines   rows of seconds → time line, heat, sums of each process
    files       names, and the transfers on them → files
    grouped     rows that are added up while they come

Tables are read one at a time, and rows of seconds are added up at once: thousands of processes need no more memory than
a few. Not: the format (`crates/record`, `protocol.record_layout`), judging a profile (`analysis.profile`).
"""
