#!/usr/bin/env bash
# safetensors 0.8.0 (PyPI): loading a model of 64 MiB from cold storage shows in no counter of reads, and in hardly any
# of faults. It maps the file and copies out of the map; the kernel's fault handler and read-ahead fetch it.
#
# `rchar` and `syscr` of /proc/self/io (what most job accounting and "bytes read" panels take), Darshan's POSIX module
# and strace see the header alone, or nothing. Major faults, which tools use as the sign of reads through maps, are a
# handful for 16,384 pages. Only `read_bytes` of /proc/self/io has the 64 MiB, and it also counts what any other way of
# reading brought in, and nothing where the page cache was warm or the file system is in user space (FUSE).
#
# Seen on Linux 6.18, ext4: rchar 101 (the reading of the counters included), read_bytes 67,112,960, 1 major fault.
# Needs: python3 with venv, a file system with storage behind it in TMPDIR (on tmpfs it says so and fails).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check safetensors==0.8.0 numpy==2.4.6

venv/bin/python - << 'END'
import os
import numpy
from safetensors.numpy import save_file
rows = numpy.arange(16 << 20, dtype="f4")
save_file({"weights": rows}, "model.safetensors")
descriptor = os.open("model.safetensors", os.O_RDONLY)
os.fsync(descriptor)
os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
END

venv/bin/python - << 'END'
import resource
import numpy
from safetensors.numpy import load_file

def counters():
    lines = dict(line.split(": ") for line in open("/proc/self/io").read().splitlines())
    return {name: int(lines[name]) for name in ("rchar", "read_bytes")} | {
        "major faults": resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    }

before = counters()
total = float(load_file("model.safetensors")["weights"].sum(dtype="f8"))
after = counters()
found = {name: after[name] - before[name] for name in before}
print(found)
size = 64 << 20
assert total == sum(range(0, 16 << 20, 1 << 20)) * (1 << 20) + 16 * sum(range(1 << 20))
assert found["read_bytes"] >= size, "the page cache was warm, or the file system does not count reads"
assert found["rchar"] < 64 << 10
assert found["major faults"] < 100
END
