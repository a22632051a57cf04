"""DuckDB: a database with its write-ahead log, Parquet written and scanned."""

import duckdb

with duckdb.connect("data.duckdb") as database:
    database.execute("set threads = 2")
    database.execute("create table t as select range as a, range % 7 as b from range(50000)")
    database.execute("copy t to 'data.parquet'")
    database.execute("update t set b = 8 where a % 3 = 0")
    database.execute("checkpoint")
with duckdb.connect("data.duckdb", read_only=True) as database:
    assert database.execute("select count(*) from t where b = 8").fetchone() == (16667,)
    assert database.execute("select max(a) from 'data.parquet'").fetchone() == (49999,)
