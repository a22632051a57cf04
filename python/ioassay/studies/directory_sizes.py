"""The sizes of the files of a directory, as weights: what a dataset is to be like."""

from __future__ import annotations

import os
import stat
from collections import Counter
from functools import cache
from itertools import pairwise

from ioassay.yaml_models.source import quoted

MOST_SIZES = 256
"""Sizes of a histogram. Of more different ones, as many files are together, with their mean."""


@cache
def directory_sizes(directory: str) -> dict[int, int]:
    """How many files below `directory` have each size, ascending; empty files and links are left out. It is counted
    once, so that all cases of a study have the same. Raises `ValueError` for a directory without files, or one that
    cannot be read.
    """
    counted: Counter[int] = Counter()

    def refuse(error: OSError) -> None:
        raise ValueError(f"{quoted(directory)} cannot be counted: {error.strerror}; name a directory with samples")

    for parent, _, names in os.walk(directory, onerror=refuse):
        for name in names:
            status = os.lstat(os.path.join(parent, name))
            if status.st_size > 0 and stat.S_ISREG(status.st_mode):
                counted[status.st_size] += 1
    if not counted:
        raise ValueError(f"{quoted(directory)} has no files; name a directory with samples")
    return dict(sorted(counted.items())) if len(counted) <= MOST_SIZES else _in_groups(counted)


def _in_groups(counted: Counter[int]) -> dict[int, int]:
    """`MOST_SIZES` groups of as many files each, by their mean size."""
    sizes = sorted(counted.elements())
    bounds = [len(sizes) * group // MOST_SIZES for group in range(MOST_SIZES + 1)]
    grouped: Counter[int] = Counter()
    for begin, end in pairwise(bounds):
        if group := sizes[begin:end]:
            grouped[round(sum(group) / len(group))] += len(group)
    return dict(sorted(grouped.items()))
