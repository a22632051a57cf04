//! Facts that the control plane goes by too. `ioassay-dev` writes them down for it
//! (`python/ioassay/protocol/facts.py`), so that each is stated once.

pub use crate::measure::doubts::{COLD_SHARE, SHORTEST_PHASE_NS};
pub use crate::plan::{
    A_DAY_NS, LARGEST_CASE_BYTES, LARGEST_TRANSFER_BYTES, LONGEST_SAMPLE_NS, MOST_IN_FLIGHT, MOST_RANKS, MOST_RETRIES,
    MOST_VECTORS, SHORTEST_SAMPLE_NS,
};
