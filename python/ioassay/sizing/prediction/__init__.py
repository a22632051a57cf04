"""The expected results of a study on a configuration: a rate with a range for each point of its sweeps.

    spots       a study → what it times, without a target
    storage     what a configuration gives to a prediction
    queueing    a closed network of stations: what its throughput is between
    curve       what a run that is attached to a brick measured, scaled
    data        reads and writes of files
    metadata    operations on empty files
    predict     all of it together, and what cannot be predicted

Not: measuring (`ioassay.execution`), what a configuration does at most (`sizing.rates`), words, files and figures
(`ioassay.reports.prediction`), holding measurements against it (`ioassay.analysis.compare`).
"""
