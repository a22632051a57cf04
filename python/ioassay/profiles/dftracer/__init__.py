"""Traces of DFTracer → a profile: one JSON object a line, `.pfw` or `.pfw.gz`, a file for each process.

    recognise   which files are traces
    lines       their lines, also of those that are cut or damaged
    calls       which function is which operation, and what a line says of a call
    regions     what an application annotated, and which call is in it
    profile     all calls of an application, for `traced_calls`

Written from traces of dftracer 2.2 (its format 20003), and from what the format of 1.x and 2.0 documents: letters for
phases, `[` first. Not: its aggregated traces (DFTRACER_ENABLE_AGGREGATION).
"""
