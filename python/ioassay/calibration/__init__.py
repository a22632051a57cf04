"""Sizes that suit a target and a node, so that a study ends within a time limit.

    probe     a second of I/O on the target: how fast it is, what a case costs beside its phases
    sizes     speeds and a time limit → the settings of the study `quick`
    processes how many ranks to start on this node

Not: measuring (`execution`), what the study does (`studies/builtin/quick.yaml`), the command line (`cli.quick`).
"""
