"""Tuning: what a system's settings are, which of them hold it back, changing them with proof and with a way back.

    snapshot    everything that one node says of its storage, live or captured (`ioassay-engine capture`)
    system      a snapshot as storage engineers speak of it: devices, mounts, Lustre parameters; one file per subject
    path        the way of an I/O from the application to the disk, with its size on each layer
    rules       what is known of a setting: condition, value, reason, risk, source; one file each
    settings    names of settings, reading and setting them
    choices     which word is in force where all are shown
    journal     what was changed, written before it is changed; `apply`, `rollback` and `verify` go by it
    attempt     one attempt at an experiment, resumable, whatever ends it; `study_runs` are its runs
    sweep       experiments: settings and study keys as axes, interleaved trials, an answer with intervals
    io500       the IO500 tuned in five steps

Not: measuring (`execution`), intervals (`analysis.intervals`), what a report looks like (`reports.tuning`).
"""
