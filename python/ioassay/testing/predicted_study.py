"""A study predicted on a storage of two bricks with round numbers."""

from __future__ import annotations

from pathlib import Path

from ioassay.sizing.configurations import read
from ioassay.sizing.prediction.model import Prediction
from ioassay.sizing.prediction.predict import predict
from ioassay.sizing.prediction.storage import storage
from ioassay.studies.resolve import resolve
from ioassay.yaml_models.source import parse_source

CATALOGUE = """
name: mine
title: For tests
drives:
  disk:
    title: A disk
    media: hdd
    capacity: {value: 4TB, assumed: round}
    random_read: {value: 100 IOPS, assumed: round}
servers:
  server: {title: A server, memory: 1g}
bricks:
  brick:
    title: Four groups
    drives: [disk]
    drive_count: 40
    redundancy: {layout: raid6, data: 8, groups: 4, chunk: 128k}
    servers: {server: 1}
    measured:
      write: {rate: {value: 4.000 GB/s, assumed: round}, limited_by: RAID controllers}
      read: {rate: {value: 8.000 GB/s, assumed: round}, limited_by: RAID controllers}
metadata:
  module:
    title: A metadata module
    create: {value: 10000 ops/s, assumed: round}
"""

CONFIGURATION = """
name: mine
title: For tests
catalogues: [catalogue.yaml]
configurations:
  two:
    title: Two bricks
    bricks: [{brick: brick, count: 2}]
    metadata: {module: 1}
    scaling: {by: linear, because: round}
    clients: {count: 8, link: {value: 2 GB/s, assumed: round}}
"""

STUDY = """
name: sweep
title: A sweep over clients
question: How far does it scale?
clients: [1, 8]
repetitions: 3
workloads:
  sequential: {title: Sequential, layout: N-N, order: sequential, transfer: 1MiB, total: 8GiB}
  random: {title: Random, layout: N-N, order: random, transfer: 4KiB, total: 8GiB}
  shared: {title: One file, layout: N-1, order: sequential, transfer: 1MiB, total: 8GiB}
steps: [write, read]
"""


def predicted(
    folder: Path, study: str = STUDY, configuration: str = CONFIGURATION, catalogue: str = CATALOGUE
) -> Prediction:
    """Predicts a study, given as text, on the only configuration of another text; both are written into `folder`."""
    (folder / "catalogue.yaml").write_text(catalogue)
    (folder / "config.yaml").write_text(configuration)
    file, storage_catalogue = read(str(folder / "config.yaml"))
    ((name, entry),) = file.configurations.items()
    storage_model = storage(storage_catalogue, name, entry, file.sources)
    return predict(
        resolve(parse_source(study, "study.yaml", "study"), None, []), storage_model, name, entry.title or ""
    )
