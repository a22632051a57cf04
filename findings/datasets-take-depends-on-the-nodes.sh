#!/usr/bin/env bash
# Hugging Face datasets 5.2.0 (PyPI): which samples `take(n)` and `skip(n)` of a streamed dataset select depends on the
# number of nodes. If that is a factor of the number of shards, split_dataset_by_node gives whole shards to each node,
# and each takes or skips n / nodes samples at the beginning of its own shards.
#
# The documentation offers the pair to split a dataset: take returns the first n examples, skip omits them; it warns of
# shuffle alone. So a job that trains on skip(n) with 4 nodes has trained on most of the take(n) that one process
# evaluates, and a restart with another number of nodes trains on what was held out before. The counts are right, and
# no warning comes. Pull request 6965 made it so in 2024; issue 8568 was about skip after the split.
#
# Seen for 8 shards of 100 samples, held out: take(100), trained on: skip(100), each by split_dataset_by_node:
#   nodes                                                  1     2     3     4     8
#   held out by these nodes, among the first 100         100    50   100    25    13
#   held out by one process, trained on                    0    50     0    75    87
#   the same with strategy="examples"                      0     0     0     0     0
#   held out by 4 nodes, trained on by 2: 50
# Needs: python3 with venv.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check datasets==5.2.0 pyarrow==26.0.1

HF_HOME=$scratch/home HF_HUB_OFFLINE=1 venv/bin/python -W error::UserWarning - << 'END'
import pyarrow
import pyarrow.parquet
from datasets import load_dataset
from datasets.distributed import split_dataset_by_node

SHARDS, ROWS, HELD_OUT = 8, 100, 100
for shard in range(SHARDS):
    numbers = range(shard * ROWS, (shard + 1) * ROWS)
    pyarrow.parquet.write_table(pyarrow.table({"sample": list(numbers)}), f"{shard}.parquet")
files = [f"{shard}.parquet" for shard in range(SHARDS)]
samples = load_dataset("parquet", data_files=files, split="train", streaming=True)
assert samples.num_shards == SHARDS

def of_all_nodes(dataset, nodes, strategy="auto"):
    parts = [split_dataset_by_node(dataset, rank, nodes, strategy) for rank in range(nodes)]
    read = [row["sample"] for part in parts for row in part]
    assert len(read) == len(set(read))
    return set(read)

held_out = {row["sample"] for row in samples.take(HELD_OUT)}
assert held_out == set(range(HELD_OUT))
seen = {}
for nodes in (1, 2, 3, 4, 8):
    taken = of_all_nodes(samples.take(HELD_OUT), nodes)
    trained = of_all_nodes(samples.skip(HELD_OUT), nodes)
    by_examples = of_all_nodes(samples.skip(HELD_OUT), nodes, "examples")
    assert len(trained) == SHARDS * ROWS - HELD_OUT
    seen[nodes] = len(taken), len(taken & held_out), len(held_out & trained), len(held_out & by_examples)
    print(f"{nodes} nodes: of %d held out %d are among the first 100; trained on: %d, by examples %d" % seen[nodes])
assert seen == {
    1: (100, 100, 0, 0), 2: (100, 50, 50, 0), 3: (100, 100, 0, 0), 4: (100, 25, 75, 0), 8: (100, 13, 87, 0)
}  # fmt: skip
restarted = len(of_all_nodes(samples.take(HELD_OUT), 4) & of_all_nodes(samples.skip(HELD_OUT), 2))
print(f"held out by 4 nodes, trained on by 2: {restarted}")
assert restarted == 50
END
