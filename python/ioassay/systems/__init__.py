"""Published storage systems and their figures, as data, and whether their claims follow from what was printed.

    builtin     a YAML file for each system: hardware, settings, figures, claims, each with the line it was printed in
    model       what such a file can say
    library     the built-in systems, and how one is found by what was typed
    amounts     a number with its unit, as printed → base units and the interval that its digits leave open
    claims      claims recomputed from printed figures
    rows        figures as a table, for comparing
    document    a system and its claims as JSON documents
    extract     which numbers a text prints in which line, to hold the built-in systems to their sources

Not: measuring, tables for the terminal (`reports.systems`).
"""
