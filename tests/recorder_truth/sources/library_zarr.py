"""Zarr: many chunk files, written and read by its threads."""

import numpy as np
import zarr

data = np.arange(40_000, dtype="i4").reshape(200, 200)
array = zarr.create_array("data.zarr", shape=data.shape, chunks=(50, 50), dtype=data.dtype)
array[:] = data
again = zarr.open_array("data.zarr", mode="r+")
assert int(again[150, 3]) == 30_003
again[10:60, 10:60] = 7
