"""Darshan's logs, read into a profile (`profiles.model`).

    signatures      how logs, and the text of one, begin
    recognise       which files are logs or the text of one
    log             a log, as it was read from either
    library         logs through PyDarshan, in a process of its own
    reader_process  that process: the C library may crash on a damaged log
    text            what `darshan-parser` prints
    counters        counters of files → operations, sizes
    timelines       HEATMAP and DXT → time line, heat, latencies
    unknown         what logs do not say, in sentences
    profile         logs of a job → its profile

Not: Darshan 2, whose logs have another format; judging a profile (`analysis.profile`).
"""
