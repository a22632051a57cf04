"""The effects of failing drives: how long a rebuild takes, how often drives fail, and the chance of data loss.

`rebuild` says how long a failed drive takes, `chain` how likely a group is lost and `failures` all of it for a
configuration. Not: which drives protect each other (`capacity.redundancy`), how slow a rebuilding system is (`rates`).
"""
