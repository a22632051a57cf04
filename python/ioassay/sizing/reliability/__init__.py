"""What failing drives mean: how long a rebuild takes, how often drives fail, and how likely data are lost meanwhile.

`groups` says which drives protect each other, `rebuild` how long a failed one takes, `chain` how likely a group is lost
and `failures` all of it for a configuration. Not: how slow a rebuilding system is (`rates`).
"""
