"""Published storage systems and their figures, as data, and whether their claims follow from what was printed.

    builtin        a YAML file for each system: hardware, settings, figures, claims, and the lines that print them
    model          what such a file can say
    library        the built-in systems, and how one is found by what was typed
    amounts        a number with its unit, as printed → base units and the interval that its digits leave open
    printed        whether a printed number can be the one that was computed
    claims         claims recomputed from printed figures
    formulas       a checked claim as a line of arithmetic
    figure_table   figures as a table, for comparing
    document       a system and its claims as JSON documents
    extract        which numbers a text prints in which line, to hold the built-in systems to their sources
    reference      the reference page of such a file

Not: measuring, tables for the terminal (`reports.systems`).

How to add a system: docs/development/importers.md.
"""
