"""Attacks on ioassay: thousands of variations of everything that it reads, and of the ways in which a command ends.

`python -m tests.attack` runs them (`make attack`), `tests/test_attack.py` a short part. A family is one file with a
function that makes one variation from a random generator. A variation is repeated by its family, seed and index.
"""
