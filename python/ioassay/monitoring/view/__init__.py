"""The terminal's view of what agents say, without any server.

    documents   lines of JSON → documents, checked field by field
    state       documents → what jobs, nodes, rules and devices do in the latest second
    terminal    that state → tables for a terminal of some size
    sources     where lines come from: a pipe, or the growing files of several nodes

Not: the loop, options, starting an agent (`cli.watch.view`).
"""
