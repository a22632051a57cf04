"""safetensors: written whole, read through a map, whole and in slices."""

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

save_file({"weights": np.arange(100_000, dtype="f4"), "bias": np.ones(10, dtype="f4")}, "data.safetensors")
assert load_file("data.safetensors")["weights"][99_999] == 99_999
with safe_open("data.safetensors", framework="np") as file:
    assert file.get_slice("weights")[10:20].sum() == 145
