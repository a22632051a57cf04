#!/usr/bin/env bash
# adios2 2.12.1.1001 (PyPI, ADIOS2 2.12): numpy arrays that are not contiguous in C order are written as if they were,
# by Stream.write as by the engine's put. No error: the shape is right, the elements are those that lie side by side in
# memory from the array's first on. It affects transposed and Fortran-ordered arrays, columns, every second element.
#
# The docstrings of `write` ask for no layout and take the shape from the array. It was reported in 2019
# (ADIOS2 issue 1705, closed as stale), and the new binding of 2.12 has it still. Simulations pass slices without their
# ghost cells, and fields transposed for Fortran. h5py, given the same arrays, writes what they hold.
#
# Seen: of 5 layouts of a 4 x 6 array adios2 writes 1 right (C order), by both ways; h5py writes 5 right.
# Needs: python3 with venv.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check adios2==2.12.1.1001 h5py==3.16.0 numpy==2.4.6

venv/bin/python - << 'END'
import adios2
import h5py
import numpy

field = numpy.arange(24.0).reshape(4, 6)
layouts = {
    "C order": field,
    "transposed": field.T,
    "Fortran order": numpy.asfortranarray(field),
    "left half": field[:, :3],
    "every second column": field[:, ::2],
}

def by_stream(values):
    with adios2.Stream("stream.bp", "w") as stream:
        stream.write("field", values, list(values.shape), [0, 0], list(values.shape))
    return "stream.bp"

def by_engine(values):
    adios = adios2.Adios()
    io = adios.declare_io("io")
    variable = io.define_variable("field", values, list(values.shape), [0, 0], list(values.shape))
    engine = io.open("engine.bp", adios2.bindings.Mode.Write)
    engine.begin_step()
    engine.put(variable, values)
    engine.end_step()
    engine.close()
    return "engine.bp"

def read(path):
    with adios2.Stream(path, "r") as stream:
        for _ in stream.steps():
            return stream.read("field")

def through_h5py(values):
    with h5py.File("field.h5", "w") as file:
        file["field"] = values
        return file["field"][:]

ways = {
    "Stream.write": lambda values: read(by_stream(values)),
    "Engine.put": lambda values: read(by_engine(values)),
    "h5py": through_h5py,
}
right = {}
for way, store in ways.items():
    stored = {name: store(values) for name, values in layouts.items()}
    assert all(stored[name].shape == layouts[name].shape for name in layouts)
    right[way] = [name for name in layouts if numpy.array_equal(stored[name], layouts[name])]
    print(f"{way}: right for {', '.join(right[way])}")
assert right["Stream.write"] == right["Engine.put"] == ["C order"]
assert right["h5py"] == list(layouts)
END
