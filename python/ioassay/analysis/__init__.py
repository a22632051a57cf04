"""Results in, estimates out: rates, percentiles, time lines, verdicts; one file each.

Every function here is pure: the tables of a run (`ioassay.results.schema`) and its document go in, frames or
small frozen dataclasses come out, in base units (bytes/s, operations/s, ns). Not: files, figures, text for a
reader, command lines, globals that change.
"""
