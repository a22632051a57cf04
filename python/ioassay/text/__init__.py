"""What texts are made of: amounts with units, lists of names, words for counts, names for files.

Not: sentences about results (`reports`), how an estimate reads (`reports.format`).
"""
