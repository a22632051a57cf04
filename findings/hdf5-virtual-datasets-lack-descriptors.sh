#!/usr/bin/env bash
# HDF5 2.0.0 in h5py 3.16.0 (PyPI): a virtual dataset reads as fill values where its source files could not be opened
# because the process has no file descriptor left. No error, no warning; the read returns and its shape is right.
#
# HDF5 1.14.5's introduction to virtual datasets promises the fill value for a source file that is missing. Here no
# file is missing: every source stays open until the virtual dataset is closed, and what exceeds `ulimit -n` (1024 by
# default in most sessions and batch jobs) counts as missing. Detectors and ensembles that write a file for each
# process or module have more. The zeros look like data, and the same program is right on a node with a higher limit.
# Other failures are told: a source that a writer has locked raises an error.
#
# Seen with 200 sources, each one row of its own number: at 256 descriptors 200 rows are right; at 100, 95 are right
# and 105 are 0; read in pieces of 50 rows with the file reopened for each, at 100 descriptors, 200 are right.
# Needs: python3 with venv.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check h5py==3.16.0 numpy==2.4.6

cat > write.py << 'END'
import h5py
import numpy
layout = h5py.VirtualLayout((200, 10), "f4")
for number in range(200):
    with h5py.File(f"source{number}.h5", "w") as file:
        file["rows"] = numpy.full(10, number + 1, "f4")
    layout[number] = h5py.VirtualSource(f"source{number}.h5", "rows", (10,))
with h5py.File("all.h5", "w") as file:
    file.create_virtual_dataset("rows", layout)
END

# Prints how many rows hold their number and how many hold zeros.
cat > read.py << 'END'
import sys
import h5py
import numpy
rows = []
step = int(sys.argv[1])
for start in range(0, 200, step):
    with h5py.File("all.h5", "r") as file:
        rows.append(file["rows"][start : start + step])
rows = numpy.concatenate(rows)
expected = numpy.arange(1, 201, dtype="f4")[:, None]
print((rows == expected).all(axis=1).sum(), "right,", (rows == 0).all(axis=1).sum(), "zeros")
END

cat > locked.py << 'END'
import subprocess
import sys
import h5py
with h5py.File("source5.h5", "r+"):
    read = subprocess.run([sys.executable, "read.py", "200"], capture_output=True, text=True)
print("error" if read.returncode and "unable to lock file" in read.stderr else "no error")
END

venv/bin/python write.py
read_with() { (ulimit -Sn "$1"; venv/bin/python -W error read.py "$2" 2>&1); }
enough=$(read_with 256 200) few=$(read_with 100 200) pieces=$(read_with 100 50)
locked=$(venv/bin/python locked.py)
echo "256 descriptors: $enough; 100: $few; 100, in pieces: $pieces; a locked source: $locked"
test "$enough" = "200 right, 0 zeros"
test "$pieces" = "200 right, 0 zeros"
test "$locked" = error
read -r right _ zeros _ <<< "$few"
test "$right" -lt 100
test "$zeros" -gt 100
test $((right + zeros)) = 200
