"""Published numbers of configurations, compared with the arithmetic: which reading of its units, if any, agrees.

    check       every stated number, and what all of them together allow
    readings    the ways in which one printed number can be meant
    joint       one reading for several numbers, one rate of a brick for several racks, the same thing stated twice
    prices      what a relative price can be relative to
    model       the findings, as types

Not: whether a printed number can be the computed one (`systems.printed`), claims of measured figures
(`systems.claims`), the words for findings (`reports.sizing.published`).
"""
