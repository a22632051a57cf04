"""Profiles: what was captured of an application by a recorder, read into the tables of `model`.

A package for each recorder: ours (`records`), Darshan, DFTracer, Recorder; `sources` tells which of them
captured a path.

Not: judging a profile (`analysis.profile`), writing it (`reports.profile`).
"""
