//! Checksums of a file of tables, which lie beside it in a record.
//!
//! They are a file of their own, not blocks of the tables: so each byte is covered, also those by which readers find tables
//! and blocks, and tables stay as processes wrote them. Each chunk also has where a block begins in it, so that what follows
//! a damaged chunk can still be read.

use crate::layout;

/// How the file begins.
pub const MAGIC: [u8; 8] = *b"ioassayC";
/// Of the layouts below.
pub const VERSION: u32 = 1;
/// The part of a file of tables that has a checksum of its own, in bytes.
pub const CHUNK: usize = 4096;
/// No block begins in the chunk.
pub const NO_BLOCK: u16 = u16::MAX;

layout! {
    /// How a file of checksums begins. A [`ChunkChecksum`] for each chunk follows, and the CRC-32 of all that, in 4 bytes.
    pub struct Checksums {
        /// [`MAGIC`].
        pub magic: [u8; 8],
        /// [`VERSION`].
        pub version: u32,
        /// [`CHUNK`].
        pub chunk_bytes: u32,
        /// Of the file of tables.
        pub bytes: u64,
    }

    /// What is known of a chunk; the last one may be shorter than the others.
    pub struct ChunkChecksum {
        /// CRC-32 (IEEE) of its bytes.
        pub crc32: u32,
        /// Where the first block that begins in it does, from its beginning, or [`NO_BLOCK`].
        pub first_block: u16,
        /// 0.
        pub reserved: u16,
    }
}
