"""Traces of Recorder (uiuc-hpc) → a profile: the Parquet that its `recorder2parquet` writes, a row for each call.

    recognise   which files and directories are of it
    calls       which function is which operation, and what its arguments say
    order       at which offset calls were that have none, and how they follow each other
    profile     all calls of an application → its profile

Written from Recorder 2.5 (its VERSION; 2.3.3 of its build). Not: Recorder's own binary form, its recorder2text.
"""
