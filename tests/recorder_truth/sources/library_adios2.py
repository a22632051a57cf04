"""ADIOS2: a BP5 directory of several steps, written and read."""

import adios2
import numpy as np

with adios2.Stream("data.bp", "w") as stream:
    for _ in stream.steps(5):
        values = np.full(1000, stream.current_step(), dtype="f8")
        stream.write("values", values, [1000], [0], [1000])
with adios2.Stream("data.bp", "r") as stream:
    for _ in stream.steps():
        assert stream.read("values")[999] == stream.current_step()
