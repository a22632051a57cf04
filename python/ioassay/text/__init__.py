"""What texts are made of: amounts with units, lists of names, words for counts, names for files.

`units` parses and prints what people type and store, exactly; `format` prints measured values to three digits. Not:
sentences about results (`reports`), names of what a run measured (`analysis.names`).
"""
