"""Traces of Recorder (uiuc-hpc) → a profile: the Parquet that its `recorder2parquet` writes, a row for each call.

    recognise   which files and directories are of it
    calls       which function is which operation, and what its arguments say
    profile     all calls of an application, for `traced_calls`

Written from Recorder 2.5 (its VERSION; 2.3.3 of its build). Not: Recorder's own binary form, its recorder2text.
"""
