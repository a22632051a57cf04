"""HDF5: contiguous, chunked and compressed data sets, attributes, a partial read, and the core driver's image."""

import h5py
import numpy as np

data = np.arange(200_000, dtype="f8").reshape(400, 500)
with h5py.File("data.h5", "w") as file:
    file.create_dataset("contiguous", data=data)
    file.create_dataset("chunked", data=data, chunks=(50, 100), compression="gzip")
    file["chunked"].attrs["unit"] = "m"
    file.flush()
with h5py.File("data.h5", "r+") as file:
    assert float(file["contiguous"][7, 9]) == 3509
    assert file["chunked"][::100, ::50].shape == (4, 10)
    del file["contiguous"]
with h5py.File("core.h5", "w", driver="core", backing_store=True) as file:
    file["small"] = data[:10]
