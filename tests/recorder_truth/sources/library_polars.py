"""Polars: Parquet, CSV and IPC, whole, by projection, and through a memory map."""

import polars as pl

frame = pl.DataFrame({"number": range(20_000), "text": [str(number % 97) for number in range(20_000)]})
frame.write_parquet("data.parquet", row_group_size=5_000)
frame.write_csv("data.csv")
frame.write_ipc("data.arrow")
assert pl.scan_parquet("data.parquet").select("number").filter(pl.col("number") > 19_990).collect().height == 9
assert pl.read_csv("data.csv").height == pl.scan_ipc("data.arrow").collect().height
