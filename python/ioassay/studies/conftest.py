"""A small study to vary, for the tests of this folder."""

import pytest

SMALL = """\
name: small
title: A small study
question: How fast?
settings:
  clients: [1, 2, 4]
  total: 8MiB
scales:
  tiny:
    total: 4MiB
clients: ${clients}
steps:
  - write
  - pause: 1s
  - cold-cache: [fadvise]
  - read
workloads:
  big:
    title: Big
    layout: N-N
    order: sequential
    transfer: 1MiB
    total: ${total}
figures:
  - {title: Write, workloads: [big], operation: write, unit: GB/s}
summary:
  - {label: Big, workload: big, unit: GB/s}
acceptance:
  - {measure: slowest_operation, at_most: 2s, because: stalls}
"""


@pytest.fixture
def small() -> str:
    return SMALL
