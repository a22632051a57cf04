"""Formats texts: amounts with units, lists of names, words for counts, file names.

`units` parses and prints what people type and store, exactly; `format` prints measured values to three digits. Not:
sentences about results (`reports`), names of what a run measured (`analysis.names`).
"""
