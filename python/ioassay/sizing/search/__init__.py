"""Requirements → the configurations that meet them best.

    model         what a search finds, as types

Not: what a configuration holds and does (`sizing.evaluate`).
"""
