"""Types of the documents that the control plane and the engine give each other: plan, events, progress, front end.

They are generated from `ioassay/schemas` (`make generate`), which Rust writes (`crates/protocol`). What is read has been
checked against the same schemas (`store.protocol`), so the types are for mypy and readers: import them under
`TYPE_CHECKING`, because the classes take 20 ms to make. `facts` has what both sides go by, written by Rust too.
"""
