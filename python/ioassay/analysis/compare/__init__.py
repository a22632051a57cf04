"""What one subject does against another: a run or a published system, each as series of rates with their conditions.

`measured` and `published` make subjects, `matching` says which of their series belong together, `ratios` divides,
`unlike` keeps what a reader must know of a ratio, `verdicts` says what can be told from its interval, and `chance` what
many intervals tell together.

Not: differences in configuration and words (`ioassay.reports.compare`).
"""
