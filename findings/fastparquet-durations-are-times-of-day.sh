#!/usr/bin/env bash
# fastparquet 2026.9.0 (PyPI): durations (timedelta64) are written as Parquet's TIME, a time of day. What is longer than
# a day or negative is outside of that type, and the readers disagree about it. fastparquet itself reads it back right.
#
# The Parquet specification defines TIME as time without a date, hence within a day; it has no type for elapsed time,
# for which pandas with pyarrow writes plain integers and their meaning into the schema's metadata. Elapsed times of
# jobs that run for more than 24 hours, of uptimes and of clock differences come out wrong without an error.
#
# Seen for 2, 30 and -1 hours:
#   fastparquet 2 h, 30 h, -1 h      pyarrow 26.0.1  02:00, 06:00, 23:00
#   polars 2.1.0 02:00, null, null   duckdb 2.0.1    an error (30 h), which is right
#   the same durations written by pandas with pyarrow: 2 h, 30 h, -1 h by pyarrow and polars
# Needs: python3 with venv.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check fastparquet==2026.9.0 pandas==3.1.1 pyarrow==26.0.1 \
    polars==2.1.0 duckdb==2.0.1

venv/bin/python - << 'END'
import datetime
import duckdb
import fastparquet
import pandas
import polars
import pyarrow.parquet

hours = [2, 30, -1]
durations = pandas.DataFrame({"elapsed": pandas.to_timedelta(hours, "h")})
fastparquet.write("fastparquet.parquet", durations)
durations.to_parquet("pandas.parquet", engine="pyarrow")

def by_duckdb(path):
    try:
        return [row[0] for row in duckdb.sql(f"select elapsed from '{path}'").fetchall()]
    except duckdb.Error as error:
        return "error" if "within a day" in str(error) else str(error)

readers = {
    "fastparquet": lambda path: fastparquet.ParquetFile(path).to_pandas()["elapsed"].tolist(),
    "pyarrow": lambda path: pyarrow.parquet.read_table(path)["elapsed"].to_pylist(),
    "polars": lambda path: polars.read_parquet(path)["elapsed"].to_list(),
}
read = {
    path: {name: reader(path) for name, reader in readers.items()}
    for path in ("fastparquet.parquet", "pandas.parquet")
}
for path, values in read.items():
    for name, column in values.items():
        print(path, "by", name, [str(value) for value in column])
told = by_duckdb("fastparquet.parquet")
print("fastparquet.parquet by duckdb", told)

right = [datetime.timedelta(hours=number) for number in hours]
clock = [datetime.time(number) for number in (2, 6, 23)]
assert read["pandas.parquet"]["pyarrow"] == read["pandas.parquet"]["polars"] == right
assert read["fastparquet.parquet"]["fastparquet"] == right
assert read["fastparquet.parquet"]["pyarrow"] == clock
assert read["fastparquet.parquet"]["polars"] == [clock[0], None, None]
assert told == "error"
END
