"""Results in, estimates out: rates, percentiles, time lines, verdicts; one file each.

    series, axes         what is measured at every point of a sweep, and in what the points differ
    rates, run_units     rates at the points, their medians, and the units in which a run's report prints them
    names                what workloads, cases and points are called
    peak_sustained       the two numbers that a sweep comes down to
    scalability          the Universal Scalability Law fitted to a sweep; `saturation`: the same question of a survey
    intervals            how well repetitions tell a median or a ratio; `moderated_variance` where there are few
    stop_rule            whether a point has been repeated often enough
    latency              percentiles from histograms
    timeline, drift      the rate within a phase, and its trends, changes and stalls; `trend_tests`: also over runs
    stragglers           ranks and nodes that finish last
    phase_times          where the ranks' time went
    ceilings             what the network allows, and rates above that
    doubts               the doubts of a run, grouped by kind
    io500                its score; `printed_scores`: whether a printed one follows from its phases
    acceptance           a run by its study's criteria; `regression`: against a baseline
    finding, findings/   what all of that comes down to, one kind a file
    compare/, trend/     runs and systems against one another; runs in the order of time

Every function here is pure: the tables of a run (`ioassay.store.schema`) and its document go in, frames or
small frozen dataclasses come out, in base units (bytes/s, operations/s, ns). Not: files, figures, text for a
reader, command lines, globals that change.
"""
