"""The view of agents' documents in a terminal, without a server.

    documents   lines of JSON → documents, checked field by field
    state       documents → jobs, nodes, rules and devices in the latest second
    terminal    state → tables for a terminal of any size
    sources     lines from a pipe, or from the growing files of several nodes

Not: the loop, options, starting an agent (`cli.watch.view`).
"""
