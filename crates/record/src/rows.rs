//! Tables as arrays of their structures, as `ioassay-engine tables` prints them and other programs read them: whole, checked, and
//! of one kind after another.
//!
//! Printed are parts, one after another. Each begins with [`Part`]; its rows follow, whole structures even where a
//! table is older and has less of them, then its content. First come all [`PartKind::Lost`] and
//! [`PartKind::FoundTables`], and [`PartKind::End`]. Then come batches of tables, and [`PartKind::End`] again: of each
//! batch a part for each kind of block, by [`crate::table::BlockKind`], then [`PartKind::Tables`].
//!
//! The content of a part of blocks is, as 4 bytes each: for each table of the batch, how many rows there are up to its end; for
//! each row its place in its table; for each row how many bytes follow it. Then these bytes, of all rows.

use crate::layout;

/// What the rows of a part are, where they are not blocks.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// [`LostBytes`].
    Lost = 1 << 16,
    /// [`FoundTable`]s, each with its [`crate::table::Header`].
    FoundTables = (1 << 16) + 1,
    /// [`FoundTable`]s, each with its [`crate::table::Header`]: those whose blocks the parts before were.
    Tables = (1 << 16) + 2,
    /// None: all headers, or all tables, were printed.
    End = (1 << 16) + 3,
}

/// Why no table could be made of bytes.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossCause {
    /// They are damaged.
    Damaged = 1,
    /// Another version wrote them.
    OtherVersion = 2,
    /// The checksums beside the file are damaged themselves: its tables were not verified.
    DamagedChecksums = 3,
    /// They are missing at the end of the file.
    MissingEnd = 4,
}

layout! {
    /// How a part begins.
    pub struct Part {
        /// [`PartKind`] or [`crate::table::BlockKind`].
        pub kind: u32,
        /// Tables of the batch.
        pub tables: u32,
        /// Rows of the part.
        pub rows: u64,
        /// Of the rows.
        pub row_bytes: u64,
        /// Of the content behind them.
        pub content_bytes: u64,
    }

    /// A table that was found in a file.
    pub struct FoundTable {
        /// The number of the file among those that were named.
        pub file: u32,
        /// 1 where the checksums say that some of it is damaged.
        pub is_damaged: u32,
        /// Where it begins in the file.
        pub offset: u64,
        /// Its length in bytes.
        pub length: u64,
        /// Bytes of it that could not be read.
        pub unread_bytes: u64,
    }

    /// Bytes of a file that are in no table.
    pub struct LostBytes {
        /// The number of the file among those that were named.
        pub file: u32,
        /// [`LossCause`].
        pub cause: u32,
        /// Where they begin.
        pub offset: u64,
        /// How many there are.
        pub length: u64,
        /// The version, of a table of another one.
        pub version: u32,
        /// 0.
        pub reserved: u32,
    }
}
