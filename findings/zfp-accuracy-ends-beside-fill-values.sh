#!/usr/bin/env bash
# hdf5plugin 7.1.0 (PyPI; the ZFP filter of HDF5): the error bound of Zfp(accuracy=...) does not hold for values that
# share a block of 4 x 4 with netCDF's fill value, 9.97e36. They come back as 0 or far off, without an error.
#
# hdf5plugin's documentation calls the parameter the absolute error tolerance. ZFP gives a block one common exponent,
# so beside 1e36 nothing of the size of a temperature is left. Its own FAQ warns of large missing values (question 7);
# the filter's documentation does not. Coasts, orbits' edges and masked cells are bordered by damaged values, which a
# check of a few points does not find. SZ3, a filter of the same package, keeps its bound.
#
# Seen for a field of 64 x 64 (around 280) with a bound of 0.001, and in its middle 10 x 10 fill values:
#   ZFP:      44 of 3996 values beyond the bound, the farthest by some 289; without fill values 0
#   SZ3:      0 with and without
# Needs: python3 with venv.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check hdf5plugin==7.1.0 h5py==3.16.0 numpy==2.4.6

venv/bin/python - << 'END'
import h5py
import hdf5plugin
import numpy

BOUND = 0.001
FILL = numpy.float32(9.969209968386869e36)
steps = numpy.random.default_rng(1).normal(size=(64, 64))
whole = (280 + numpy.cumsum(steps, axis=0)).astype("f4")
masked = whole.copy()
masked[20:30, 20:30] = FILL
filters = {
    "ZFP": hdf5plugin.Zfp(accuracy=BOUND),
    "SZ3": hdf5plugin.SZ3(absolute=BOUND),
}

def errors(values, compression):
    with h5py.File("field.h5", "w") as file:
        file.create_dataset("field", data=values, chunks=values.shape, **compression)
    with h5py.File("field.h5", "r") as file:
        stored = file["field"][:]
    filled = values == FILL
    assert (stored[filled] == FILL).all()
    return numpy.abs(stored[~filled].astype("f8") - values[~filled])

beyond = {}
for name, compression in filters.items():
    for kind, values in (("whole", whole), ("masked", masked)):
        found = errors(values, compression)
        beyond[name, kind] = int((found > BOUND).sum())
        print(f"{name}, {kind}: {beyond[name, kind]} of {found.size} beyond the bound, largest error {found.max():.3g}")
assert beyond.pop(("ZFP", "masked")) == 44
assert errors(masked, filters["ZFP"]).max() > 200
assert not any(beyond.values())
END
