//! A file set for tests, which say only what they are about.

use ioassay_protocol::plan::data::{FileSet, Layout, Payload};

/// A file of one transfer of one byte for each rank.
pub fn file_set() -> FileSet {
    FileSet {
        layout: Layout::FilePerRank,
        ranks: None,
        files_per_rank: 1,
        transfer_bytes: 1,
        block_bytes: 1,
        segments: 1,
        offset_bytes: 0,
        payload: Payload::Zero {},
    }
}
