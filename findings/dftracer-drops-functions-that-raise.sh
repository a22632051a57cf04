#!/usr/bin/env bash
# dftracer 2.2.0 with pydftracer 2.0.6 (PyPI): a Python function that is annotated with @dft_fn.log leaves no event if it
# ends by an exception, although its reads and writes are in the trace. What its decorator writes, it writes after the
# function has returned; there is no `finally`.
#
# So steps that are retried (a checkpoint on a full disk, a batch with a damaged sample, a StopIteration that ends an
# epoch) are missing from the times of the application, while their bytes are booked on whatever encloses them. A trace
# in which only the successful attempts have events looks like a fast one.
#
# Seen: three calls that return leave three events `good`; three calls that raise leave no event `bad`, and six opens of
# the file that both write are there.
# Needs: python3 with venv.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check dftracer==2.2.0 pydftracer==2.0.6

cat > steps.py << 'END'
import os
from dftracer.python import dft_fn, dftracer

trace = dftracer.initialize_log("trace", "data", -1)
annotated = dft_fn("APP")

def write():
    descriptor = os.open("data/file", os.O_CREAT | os.O_WRONLY)
    os.write(descriptor, b"x" * 1000)
    os.close(descriptor)

@annotated.log
def good():
    write()

@annotated.log
def bad():
    write()
    raise OSError("the disk is full")

for _ in range(3):
    good()
    try:
        bad()
    except OSError:
        pass
trace.finalize()
END

mkdir data
DFTRACER_ENABLE=1 DFTRACER_INC_METADATA=1 DFTRACER_TRACE_COMPRESSION=0 venv/bin/python steps.py
events() { cat trace*.pfw | grep --count --fixed-strings "\"name\":\"$1\",\"cat\":\"$2\"" || true; }
good=$(events good APP) bad=$(events bad APP)
opened=$(cat trace*.pfw | grep --count '"name":"open[^"]*","cat":"POSIX"' || true)
echo "events: good $good, bad $bad; opens $opened"
test "$good" = 3
test "$bad" = 0
test "$opened" = 6
