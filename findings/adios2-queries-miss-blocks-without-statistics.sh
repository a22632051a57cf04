#!/usr/bin/env bash
# adios2 2.12.1.1001 (PyPI, ADIOS2 2.12), engine BP5: a query skips every block that was written with StatsLevel=0 and
# returns nothing, without an error. Minimum and maximum of such a variable are stated as well, as 0 and 0, although
# none was stored. StatsLevel=0 is the documented way of saving the cost of the statistics of each block.
#
# Where statistics are written, a NaN at the start of a block spoils the block's minimum and with it the query. NaN
# inside a block is passed over, as it should be. A fill value of NaN at a coast or in a ghost cell is enough.
#
# Seen for the values 0 to 9 and the query "below 10", which all satisfy:
#   default:                 1 block found, minimum 0, maximum 9
#   StatsLevel=0:            0 blocks found, minimum 0, maximum 0
#   0 replaced by NaN:       1 block found, minimum 9, maximum 9 (the smallest is 1)
#   5 replaced by NaN:       1 block found, minimum 0, maximum 9
#   0 by NaN, "below 5":     0 blocks found, although 1 to 4 are there
# Needs: python3 with venv.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check adios2==2.12.1.1001 numpy==2.4.6

venv/bin/python - << 'END'
import adios2
import numpy

def write(path, values, parameters):
    adios = adios2.Adios()
    io = adios.declare_io("write")
    io.set_engine("BP5")
    io.set_parameters(parameters)
    variable = io.define_variable("field", values, [10], [0], [10])
    engine = io.open(path, adios2.bindings.Mode.Write)
    engine.begin_step()
    engine.put(variable, values)
    engine.end_step()
    engine.close()

def found(path, below):
    with open("query.xml", "w") as file:
        file.write(
            '<adios-query><io name="read"><var name="field"><boundingbox start="0" count="10"/>'
            f'<op value="AND"><range compare="LT" value="{below}"/></op></var></io></adios-query>'
        )
    adios = adios2.Adios()
    engine = adios.declare_io("read").open(path, adios2.bindings.Mode.Read)
    engine.begin_step()
    blocks = adios2.bindings.Query("query.xml", engine.impl).GetResult()
    engine.end_step()
    engine.close()
    return len(blocks)

def limits(path):
    with adios2.FileReader(path) as reader:
        variable = reader.available_variables()["field"]
    return float(variable["Min"]), float(variable["Max"])

def seen(path, values, below=10, **parameters):
    write(path, values, parameters)
    with adios2.Stream(path, "r") as stream:
        for _ in stream.steps():
            assert numpy.array_equal(stream.read("field"), values, equal_nan=True)
    result = found(path, below), *limits(path)
    print(f"{path}: blocks below {below}: %d, minimum %g, maximum %g" % result)
    return result

whole = numpy.arange(10.0)
first, inside = whole.copy(), whole.copy()
first[0] = inside[5] = numpy.nan
assert seen("default", whole) == (1, 0, 9)
assert seen("none", whole, StatsLevel="0") == (0, 0, 0)
assert seen("first", first) == (1, 9, 9)
assert seen("inside", inside) == (1, 0, 9)
assert seen("first-5", first, below=5) == (0, 9, 9)
END
