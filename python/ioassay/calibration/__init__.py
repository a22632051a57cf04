"""Chooses sizes for a target and a node, so that a study fits into a time limit.

    probe     a second of I/O on the target: its speed, and the overhead of a case
    sizes     the number of ranks; speeds and a time limit → the settings of the study `quick`

Not: measuring (`execution`), the study itself (`studies/builtin/quick.yaml`), the command line (`cli.quick`).
"""
