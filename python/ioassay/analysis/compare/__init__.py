"""What one subject does against another: a run, a published system or a prediction, each as series of rates with
their conditions.

    subject            what is compared, and what two rates were not measured alike in
    measured_run       a run as a subject
    published_system   a published system, or a prediction, as a subject
    matching           which of their series, and of their points, belong together
    predictions        whether measured rates lie within what was predicted
    ratios             how many times as fast the other is, and what its intervals tell
    multiple_testing   what many intervals tell together
    units              the unit of each kind of rate in a series

Not: differences in configuration and words (`ioassay.reports.compare`).
"""
