"""Compares subjects: runs, published systems and predictions, each as series of rates with their conditions.

    subject            what is compared, and the conditions that differ
    measured_run       a run as a subject
    published_system   a published system, or a prediction, as a subject
    matching           matches their series and points
    predictions        whether measured rates lie within what was predicted
    training           training: the same measures by the same definition
    ratios             ratios of rates with intervals, and the verdict on a series
    multiple_testing   the verdict on many intervals together
    units              the unit of each kind of rate in a series

Not: differences in configuration and words (`ioassay.reports.compare`).
"""
