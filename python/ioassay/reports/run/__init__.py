"""The report of a run, in every format, and what is published of it. Not: its estimates (`ioassay.analysis`)."""
