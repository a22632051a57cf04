"""Results in, estimates out: rates, percentiles, time lines, verdicts; one file each.

    series, axes         the series measured at every point of a sweep, and the axes in which points differ
    rates, run_units     rates at the points, their medians, and the units in which a run's report prints them
    names                names of workloads, cases and points
    peak_sustained       peak and sustained rate of a sweep
    scalability          the Universal Scalability Law fitted to a sweep; `saturation`: saturation of a survey
    intervals            confidence intervals of medians and ratios; `moderated_variance`: for few repetitions
    stop_rule            whether a point has been repeated often enough
    latency              percentiles from histograms
    timeline, drift      the rate within a phase, and its trends, changes and stalls; `trend_tests`: also over runs
    stragglers           ranks and nodes that finish last
    phase_times          how the ranks spent their time
    ceilings             upper bounds from network measurements, and rates above them
    doubts               the doubts of a run, grouped by kind
    io500                its score; `printed_scores`: whether printed scores follow from their phases
    acceptance           verdicts by the study's criteria; `regression`: verdicts against a baseline
    finding, findings/   conclusions with evidence and remedies, a file for each kind
    compare/, trend/     comparisons of runs and systems; runs in the order of time

Every function here is pure: the tables of a run (`ioassay.store.schema`) and its document go in, frames or
small frozen dataclasses come out, in base units (bytes/s, operations/s, ns). Not: files, figures, text for a
reader, command lines, globals that change.
"""
