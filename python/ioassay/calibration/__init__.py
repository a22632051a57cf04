"""Chooses sizes for a target and a node, so that a study fits into a time limit.

    probe     a second of I/O on the target: its speed, and the overhead of a case
    sizes     speeds and a time limit → the settings of the study `quick`
    processes the number of ranks on this node

Not: measuring (`execution`), the study itself (`studies/builtin/quick.yaml`), the command line (`cli.quick`).
"""
